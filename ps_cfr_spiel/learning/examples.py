"""Examples: solved situations, that is public states with ranges and a teacher's values; their files.

A *draw* gives ranges to all public states at once, one or several times. Draws are numbered, and depend on
the seed and their number; examples of one draw are not independent of each other.
"""

import dataclasses
import os
from collections.abc import Iterable, Sequence

import numpy as np

from ps_cfr_spiel import storage
from ps_cfr_spiel.arguments import JSON, check_instance, check_list
from ps_cfr_spiel.learning.boards.board_features import BoardFeatures
from ps_cfr_spiel.learning.features import Features, Pair, misshapen, unsound
from ps_cfr_spiel.learning.state_features import StateFeatures
from ps_cfr_spiel.learning.tensors.tensor_features import TensorFeatures, wide

FEATURES: dict[str, type[Features]] = {
  kind.NAME: kind for kind in (StateFeatures, BoardFeatures, TensorFeatures)
}


@dataclasses.dataclass(frozen=True, eq=False)
class Examples:
  """Solved situations, n of them, with M columns of each player: infostates, or hands of hold'em."""

  card: dict[str, JSON]  #: game, teacher, seed and so on; shards of one data set have the same
  features: Features  #: a network's knowledge of their public states
  #: [n, ...] by name, what `features` take from each example: see `StateFeatures` and `BoardFeatures`.
  inputs: dict[str, np.ndarray]
  ranges: Pair  #: for each player float32[n, M], of sum one
  #: for each player float32[n, M], counterfactual, for ranges of sum one; of boards in pots.
  values: Pair
  draw: np.ndarray  #: int[n], the number of the draw; examples of one draw are not independent

  def __len__(self) -> int:
    return len(self.draw)

  def save(self, path: str | os.PathLike) -> None:
    """Write a shard; OSError if it cannot be written, ValueError for boards, which `solve_batch` writes."""
    header, arrays = self.features.in_examples()
    if self.features.NAME != StateFeatures.NAME:
      header["features"] = self.features.NAME
    header["count"] = len(self)
    storage.write(path, "examples", {**self.card, **header}, {**arrays, **self._arrays()})

  def _arrays(self) -> dict[str, np.ndarray]:
    pairs = {"range": self.ranges, "value": self.values}
    return {
      **self.inputs,
      "draw": self.draw,
      **{f"{name}{i}": pairs[name][i] for name in pairs for i in (0, 1)},
    }

  @classmethod
  def load(cls, *paths: str | os.PathLike) -> "Examples":
    """Read shards of one data set of a game; for boards see `load_examples`.

    OSError if a file cannot be read; ValueError if it is damaged, of another kind or data set, or holds
    invalid numbers.
    """
    return cls.join([cls._read(path) for path in paths])

  @classmethod
  def _read(cls, path: str | os.PathLike) -> "Examples":
    file = storage.read(path)
    header = dict(file.header)
    if header["kind"] != "examples" or not {"count", "slots"} <= header.keys():
      raise ValueError(f"{path} holds {file.content}, not those of public states.")
    if (name := header.pop("features", StateFeatures.NAME)) not in FEATURES:
      raise ValueError(f"{path}: examples have the features {name!r}; known are {', '.join(FEATURES)}.")
    count = header.pop("count")
    unread, stored = FEATURES[name].unread(header)
    arrays = file.arrays({**stored, **unread.shapes(count), **_shapes(count, unread.hands)})
    features = unread.with_arrays(arrays)
    inputs = {name: arrays[name] for name in features.shapes(count)}
    ranges, values = ((arrays[f"{name}0"], arrays[f"{name}1"]) for name in ("range", "value"))
    card = {key: x for key, x in header.items() if key not in (*storage.STAMP, "version")}
    examples = cls(card, features, inputs, ranges, values, arrays["draw"])
    if wrong := examples.fault():
      raise ValueError(f"{path} is damaged: {wrong}.")
    return examples

  def fault(self) -> str | None:
    """The reason why a network cannot learn from these examples, or None."""
    count = len(self.ranges[0])
    expected = {**self.features.shapes(count), **_shapes(count, self.features.hands)}
    wrong = misshapen(self._arrays(), expected) or unsound(self.ranges, self.values)
    return wrong or self.features.fault(self)

  def rows(self, at: np.ndarray) -> "Examples":
    """Some examples, by number."""
    ranges, values = ((pair[0][at], pair[1][at]) for pair in (self.ranges, self.values))
    inputs = {name: x[at] for name, x in self.inputs.items()}
    return dataclasses.replace(self, inputs=inputs, draw=self.draw[at], ranges=ranges, values=values)

  @classmethod
  def join(cls, shards: Iterable["Examples"]) -> "Examples":
    """Join shards of one data set; ValueError without shards, or for shards of several sets."""
    shards = cls._listed("shards", shards)
    first = shards[0]
    for number, shard in enumerate(shards):
      if shard.card != first.card or first.features.unlike(shard.features):
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
      if wrong := first.features.unlike(part.features):
        raise ValueError(f"Data set {number} is of {first.card['game']}, but its public states {wrong}.")
      consecutive = np.unique(part.draw, return_inverse=True)[1].astype(np.int32)
      numbered.append(dataclasses.replace(part, draw=consecutive + draws))
      draws = int(numbered[-1].draw.max(initial=draws - 1)) + 1
    card = {name: first.card[name] for name in ("game", "teacher")}
    parts = [part for s in sets for part in s.card.get("mixed", [s.card])]
    return dataclasses.replace(cls._joined(numbered), card={**card, "mixed": parts})

  @classmethod
  def _listed(cls, name: str, given: Iterable["Examples"]) -> list["Examples"]:
    """The examples in an iterable, as a list; ValueError if it is empty or has other elements."""
    if not (parts := check_list(name, given)):
      raise ValueError(f"{name} is empty; it must have at least one element.")
    return [check_instance(f"Each of {name}", part, cls) for part in parts]

  @classmethod
  def _joined(cls, shards: Sequence["Examples"]) -> "Examples":
    """The rows of all shards, with the other fields of the first."""
    first, second = (max(s.features.hands[i] for s in shards) for i in (0, 1))
    shards = [s._widened((first, second)) for s in shards]
    ranges, values = (
      (np.concatenate([first for first, _ in pairs]), np.concatenate([second for _, second in pairs]))
      for pairs in ([s.ranges for s in shards], [s.values for s in shards])
    )
    inputs = {name: np.concatenate([s.inputs[name] for s in shards]) for name in shards[0].inputs}
    draw = np.concatenate([s.draw for s in shards])
    return dataclasses.replace(shards[0], inputs=inputs, draw=draw, ranges=ranges, values=values)

  def _widened(self, columns: tuple[int, int]) -> "Examples":
    """The same with at least this many columns, of features that have no fixed number."""
    if columns == self.features.hands:
      return self
    ranges, values = ((wide(p[0], columns[0]), wide(p[1], columns[1])) for p in (self.ranges, self.values))
    features, inputs = self.features.with_columns(columns), self.features.widened(self.inputs, columns)
    return dataclasses.replace(self, features=features, inputs=dict(inputs), ranges=ranges, values=values)


def _shapes(count: int, slots: Sequence[int]) -> dict[str, storage.Shape]:
  """Shapes and dtypes of the arrays that all examples have, for M of each player."""
  shapes: dict[str, storage.Shape] = {"draw": ((count,), np.dtype(np.int32))}
  for i in (0, 1):
    shapes |= {f"{name}{i}": ((count, slots[i]), np.dtype(np.float32)) for name in ("range", "value")}
  return shapes
