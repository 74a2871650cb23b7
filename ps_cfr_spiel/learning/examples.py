"""Examples: solved situations, that is public states with ranges and a teacher's values; their files.

A *draw* gives ranges to all public states at once, one or several times. Draws are numbered, and depend on
the seed and their number; examples of one draw are not independent of each other.
"""

import dataclasses
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ps_cfr_spiel import storage
from ps_cfr_spiel.arguments import check_instance, check_list

Ranges = tuple[np.ndarray, np.ndarray]
ROUNDING = 1e-3  # largest error of the sum of a range
LARGEST = 1e15  # of values: float32 holds sums of their squares
HELD_OUT = 20  # one draw in this number is for validation


@dataclasses.dataclass(frozen=True, eq=False)
class Examples:
  """Solved situations of a game, n of them in K public states."""

  card: dict[str, Any]  #: game, teacher, seed and so on; shards of one data set have the same
  public_states: np.ndarray  #: int[K], ascending
  possible: Ranges  #: for each player bool[K, M], see `places.Slots`
  place: np.ndarray  #: int32[n], index of each example's public state
  ranges: Ranges  #: for each player float32[n, M], of sum one
  values: Ranges  #: for each player float32[n, M], counterfactual, for ranges of sum one
  draw: np.ndarray  #: int32[n], the number of the draw; examples of one draw are not independent

  def __len__(self) -> int:
    return len(self.place)

  def save(self, path: str | os.PathLike) -> None:
    """Write a shard; OSError if it cannot be written."""
    header = {**self.card, "count": len(self), "places": len(self.public_states), "slots": self._slots}
    storage.write(path, "examples", header, self._arrays())

  @property
  def _slots(self) -> list[int]:
    return [p.shape[1] for p in self.possible]

  def _arrays(self) -> dict[str, np.ndarray]:
    pairs = {"possible": self.possible, "range": self.ranges, "value": self.values}
    arrays = {f"{name}{i}": pair[i] for name, pair in pairs.items() for i in (0, 1)}
    return {"public_states": self.public_states, "place": self.place, "draw": self.draw, **arrays}

  @classmethod
  def load(cls, *paths: str | os.PathLike) -> "Examples":
    """Read shards of one data set.

    OSError if a file cannot be read; ValueError if it is damaged, of another kind or data set, or holds
    invalid numbers.
    """
    return cls.join([cls._read(path) for path in paths])

  @classmethod
  def _read(cls, path: str | os.PathLike) -> "Examples":
    file = storage.read(path)
    header = dict(file.header)
    if header["kind"] != "examples" or not {"count", "places", "slots"} <= header.keys():
      raise ValueError(f"{path} holds {file.content}, not those of public states.")
    found = file.arrays(_expected(header.pop("count"), header.pop("places"), header.pop("slots")))
    possible, ranges, values = (
      (found[f"{name}0"], found[f"{name}1"]) for name in ("possible", "range", "value")
    )
    card = {key: x for key, x in header.items() if key not in (*storage.STAMP, "version")}
    read = cls(card, found["public_states"], possible, found["place"], ranges, values, found["draw"])
    if wrong := read.fault():
      raise ValueError(f"{path} is damaged: {wrong}.")
    return read

  def fault(self) -> str | None:
    """The reason why a network cannot learn from these examples, or None."""
    expected = _expected(len(self), len(self.public_states), self._slots)
    if wrong := misshapen(self._arrays(), expected) or unsound(self.ranges, self.values):
      return wrong
    if (np.diff(self.public_states, prepend=-1) <= 0).any():
      return "its public states do not ascend"
    if ((self.place < 0) | (self.place >= len(self.public_states))).any():
      return "place has indices beyond its public states"
    for i, (own, possible) in enumerate(zip(self.ranges, self.possible, strict=True)):
      if own[~possible[self.place]].any():
        return f"ranges of player {i} include infostates that chance and the opponent exclude"
    return None

  def rows(self, at: np.ndarray) -> "Examples":
    """Some examples, by number."""
    ranges, values = ((pair[0][at], pair[1][at]) for pair in (self.ranges, self.values))
    return dataclasses.replace(self, place=self.place[at], draw=self.draw[at], ranges=ranges, values=values)

  @classmethod
  def join(cls, shards: Iterable["Examples"]) -> "Examples":
    """Join shards of one data set; ValueError without shards, or for shards of several sets."""
    shards = cls._listed("shards", shards)
    first = shards[0]
    for number, shard in enumerate(shards):
      if shard.card != first.card or not np.array_equal(shard.public_states, first.public_states):
        raise ValueError(f"Shard {number} is of another data set: {shard.card}, not {first.card}.")
    return cls._joined(shards)

  @classmethod
  def mixed(cls, sets: Iterable["Examples"]) -> "Examples":
    """Join several data sets with different seeds and ranges; draws are renumbered.

    ValueError without sets, or if they differ in the game, public states or teacher.
    """
    sets = cls._listed("sets", sets)
    first, numbered, draws = sets[0], [], 0
    for number, part in enumerate(sets):
      for name in ("game", "teacher"):
        if part.card[name] != first.card[name]:
          raise ValueError(
            f"Data set {number} has another {name}: {part.card[name]}, not {first.card[name]}."
          )
      if not np.array_equal(part.public_states, first.public_states):
        raise ValueError(f"Data set {number} is of other public states of {first.card['game']}.")
      consecutive = np.unique(part.draw, return_inverse=True)[1].astype(np.int32)
      numbered.append(dataclasses.replace(part, draw=consecutive + draws))
      draws = int(numbered[-1].draw.max(initial=draws - 1)) + 1
    card = {name: first.card[name] for name in ("game", "teacher")}
    parts = [part for s in sets for part in s.card.get("mixed", [s.card])]
    return dataclasses.replace(cls._joined(numbered), card={**card, "mixed": parts})

  @classmethod
  def _listed(cls, name: str, given: Any) -> list["Examples"]:
    """The examples in an iterable, as a list; ValueError if it is empty or has other elements."""
    if not (parts := check_list(name, given)):
      raise ValueError(f"{name} is empty; it must have at least one element.")
    return [check_instance(f"Each of {name}", part, cls) for part in parts]

  @classmethod
  def _joined(cls, shards: Sequence["Examples"]) -> "Examples":
    """The rows of all shards, with the other fields of the first."""
    pair = lambda name: tuple(np.concatenate([getattr(s, name)[i] for s in shards]) for i in (0, 1))  # noqa: E731
    place, draw = (np.concatenate([getattr(s, name) for s in shards]) for name in ("place", "draw"))
    return dataclasses.replace(
      shards[0], place=place, draw=draw, ranges=pair("ranges"), values=pair("values")
    )


def _expected(n: int, k: int, slots: Sequence[int]) -> dict[str, storage.Shape]:
  """Shapes and dtypes of the arrays of n examples in K public states."""
  single, whole, flag = (np.dtype(t) for t in (np.float32, np.int32, bool))
  expected: dict[str, Any] = {"public_states": ((k,), np.dtype(np.int64)), "place": ((n,), whole)}
  expected["draw"] = ((n,), whole)
  for i in (0, 1):
    expected[f"possible{i}"] = ((k, slots[i]), flag)
    expected |= {f"{name}{i}": ((n, slots[i]), single) for name in ("range", "value")}
  return expected


def misshapen(arrays: Mapping[str, np.ndarray], expected: Mapping[str, storage.Shape]) -> str | None:
  """The first array with a wrong shape, or another kind of numbers (of any width), as text; None without."""
  for name, (shape, dtype) in expected.items():
    found = arrays[name]
    if found.shape != shape or found.dtype.kind != dtype.kind:
      return f"{name} is {found.dtype}{list(found.shape)}, expected {dtype}{list(shape)}"
  return None


def unsound(ranges: Ranges, *values: Ranges) -> str | None:
  """The first range [n, M] that is not a distribution, or unsound values [n, M], as text; None without."""
  for i, own in enumerate(ranges):
    distribution = (own >= 0).all(1) & (np.abs(own.sum(1) - 1) <= ROUNDING)  # false for nan
    sound = np.all([(np.abs(pair[i]) <= LARGEST).all(1) for pair in values], 0)
    laws = {"range is not a distribution": distribution, f"values are not all within {LARGEST:g}": sound}
    for fault, kept in laws.items():
      if not kept.all():
        return f"in example {np.argmin(kept)} player {i}'s {fault}"
  return None


def held_out(examples: Any) -> np.ndarray:
  """bool[n]: the examples for validation."""
  return examples.draw % HELD_OUT == 0
