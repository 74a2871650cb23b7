"""Situations to learn from: public states with ranges and the values that a teacher found; their files.

A *draw* gives ranges to all public states at once, one or several times. Draws are numbered, and depend on
the seed and their number; situations of one draw are not independent of each other.
"""

import dataclasses
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ps_cfr_spiel import storage
from ps_cfr_spiel.arguments import check_instance, check_list

Ranges = tuple[np.ndarray, np.ndarray]
ROUNDING = 1e-3  # by how much the sum of a range may be off one
LARGEST = 1e15  # of values: sums of their squares are numbers of float32


@dataclasses.dataclass(frozen=True, eq=False)
class Situations:
  """Solved situations of a game, n of them in K public states.

  Attributes:
    card: game, teacher, seed and so on; shards of one data set have the same.
    public_states: int[K], ascending.
    possible: for each player bool[K, M], see `places.Slots`.
    place: int32[n], index of each situation's public state.
    ranges: for each player float32[n, M], of sum one.
    values: for each player float32[n, M], counterfactual, for ranges of sum one.
    draw: int32[n], the number of the draw; those of one draw are not independent.
  """

  card: dict[str, Any]
  public_states: np.ndarray
  possible: Ranges
  place: np.ndarray
  ranges: Ranges
  values: Ranges
  draw: np.ndarray

  def __len__(self) -> int:
    """How many situations there are."""
    return len(self.place)

  def save(self, path: str | os.PathLike) -> None:
    """Writes a shard; OSError if it cannot be written."""
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
  def load(cls, *paths: str | os.PathLike) -> "Situations":
    """Reads shards of one data set.

    Raises:
      OSError: a file cannot be read.
      ValueError: a file is damaged or of another kind, holds what is not finite, or is of another data set
        than the first.
    """
    return cls.join([cls._read(path) for path in paths])

  @classmethod
  def _read(cls, path: str | os.PathLike) -> "Situations":
    file = storage.read(path)
    header = dict(file.header)
    if header["kind"] != "examples":
      raise ValueError(f"{path} holds {header['kind']}, not situations.")
    found = file.arrays(_expected(header.pop("count"), header.pop("places"), header.pop("slots")))
    possible, ranges, values = (
      (found[f"{name}0"], found[f"{name}1"]) for name in ("possible", "range", "value")
    )
    card = {key: x for key, x in header.items() if key not in ("format", "format_version", "kind", "version")}
    read = cls(card, found["public_states"], possible, found["place"], ranges, values, found["draw"])
    if wrong := read.obstacle():
      raise ValueError(f"{path} is damaged: {wrong}.")
    return read

  def obstacle(self) -> str | None:
    """Why nobody could learn from these situations."""
    expected = _expected(len(self), len(self.public_states), self._slots)
    if wrong := misshapen(self._arrays(), expected) or unsound(self.ranges, self.values):
      return wrong
    if (np.diff(self.public_states, prepend=-1) <= 0).any():
      return "its public states do not ascend"
    if ((self.place < 0) | (self.place >= len(self.public_states))).any():
      return "place names public states that it does not have"
    for i, (own, possible) in enumerate(zip(self.ranges, self.possible, strict=True)):
      if own[~possible[self.place]].any():
        return f"ranges of player {i} have infostates where chance and the opponent bring nobody"
    return None

  @classmethod
  def join(cls, shards: Iterable["Situations"]) -> "Situations":
    """One data set of its shards; ValueError if there are none, or they are not of one."""
    shards = cls._listed("shards", shards)
    first = shards[0]
    for number, shard in enumerate(shards):
      if shard.card != first.card or not np.array_equal(shard.public_states, first.public_states):
        raise ValueError(f"Shard {number} is of another data set: {shard.card}, not {first.card}.")
    return cls._joined(shards)

  @classmethod
  def mixed(cls, sets: Iterable["Situations"]) -> "Situations":
    """One data set of several, of other seeds and ranges; draws are numbered on.

    Raises:
      ValueError: there are none, or they are not of the same game, public states and teacher.
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
      numbered.append(dataclasses.replace(part, draw=part.draw - part.draw.min(initial=0) + draws))
      draws = int(numbered[-1].draw.max(initial=draws - 1)) + 1
    card = {name: first.card[name] for name in ("game", "teacher")}
    parts = [part for s in sets for part in s.card.get("mixed", [s.card])]
    return dataclasses.replace(cls._joined(numbered), card={**card, "mixed": parts})

  @classmethod
  def _listed(cls, name: str, given: Any) -> list["Situations"]:
    """What an iterable gives; ValueError if that is nothing, or something else than situations."""
    if not (parts := check_list(name, given)):
      raise ValueError(f"There are no situations; {name} must have at least one.")
    return [check_instance(f"Each of {name}", part, cls) for part in parts]

  @classmethod
  def _joined(cls, shards: Sequence["Situations"]) -> "Situations":
    """Rows of all of them, with what else the first has."""
    pair = lambda name: tuple(np.concatenate([getattr(s, name)[i] for s in shards]) for i in (0, 1))  # noqa: E731
    place, draw = (np.concatenate([getattr(s, name) for s in shards]) for name in ("place", "draw"))
    return dataclasses.replace(
      shards[0], place=place, draw=draw, ranges=pair("ranges"), values=pair("values")
    )


def _expected(n: int, k: int, slots: Sequence[int]) -> dict[str, storage.Shape]:
  """Shapes and dtypes of the arrays of n situations in K public states."""
  single, whole, flag = (np.dtype(t) for t in (np.float32, np.int32, bool))
  expected: dict[str, Any] = {"public_states": ((k,), np.dtype(np.int64)), "place": ((n,), whole)}
  expected["draw"] = ((n,), whole)
  for i in (0, 1):
    expected[f"possible{i}"] = ((k, slots[i]), flag)
    expected |= {f"{name}{i}": ((n, slots[i]), single) for name in ("range", "value")}
  return expected


def misshapen(arrays: Mapping[str, np.ndarray], expected: Mapping[str, storage.Shape]) -> str | None:
  """Which array is not of the shape that is expected, or of another kind of numbers, of whatever width."""
  for name, (shape, dtype) in expected.items():
    found = arrays[name]
    if found.shape != shape or found.dtype.kind != dtype.kind:
      return f"{name} is {found.dtype}{list(found.shape)}, expected {dtype}{list(shape)}"
  return None


def unsound(ranges: Ranges, *values: Ranges) -> str | None:
  """Which situation has a range [n, M] that is no distribution, or values [n, M] that are not sound."""
  for i, own in enumerate(ranges):
    distribution = (own >= 0).all(1) & (np.abs(own.sum(1) - 1) <= ROUNDING)  # false of nan
    sound = np.all([(np.abs(pair[i]) <= LARGEST).all(1) for pair in values], 0)
    laws = {"range is no distribution": distribution, f"values are not all within {LARGEST:g}": sound}
    for fault, kept in laws.items():
      if not kept.all():
        return f"in situation {np.argmin(kept)} player {i}'s {fault}"
  return None
