"""The solutions of many situations, in memory or in a folder of files that NumPy alone reads.

A file holds a *chunk*, consecutive situations. `docs/batches.md` describes it.
"""

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, SupportsIndex, TypeAlias, overload

import numpy as np
import pyspiel

from ps_cfr_spiel import storage
from ps_cfr_spiel.arguments import JSON
from ps_cfr_spiel.cards.poker import Situation, cards, parse_rake
from ps_cfr_spiel.compilation.compiler import build_tree
from ps_cfr_spiel.policy import TreePolicy

Pair = Sequence[np.ndarray]  # of each player
Strategies = Sequence[list[np.ndarray]]
Item: TypeAlias = Situation | pyspiel.Game  # a game is not of a river
Given: TypeAlias = Situation | Mapping[str, JSON] | str | pyspiel.Game  # by a user; see `solve_batch`

ONE_EACH = ("value", "best_response", "exploitability", "iterations")  # of a `Solution`
UNITS = {
  "number": "the situation's number, from 0",
  "value": "to player 0, in chips or the game's unit",
  "best_response": "to players 0 and 1, of a best response to the other's average strategy",
  "exploitability": "the mean of both players' gains by these, without rake of best_response",
  "iterations": "number of iterations",
  "board": "the cards, 4 * rank + suit, from 2c = 0 to As = 51",
  "pot": "chips",
  "stack": "chips of each player at the start of the hand, half of the pot included",
  "ranges": "of players 0 and 1, probabilities of the 1,326 hands; entry a (a - 1) / 2 + b for cards a > b",
  "values": "of players 0 and 1, for each hand the sum, over the opponent's hands that share no card "
  "with it, of the opponent's range x chips won since the hand began",
  "checked": "the same if both players check from there on",
  "rake": "share of the pot that is raked",
  "cap": "most chips that are raked, 0 without a cap",
}


class Solution(NamedTuple):
  """The solution of one situation, in chips or the game's own utility.

  Attributes:
    value: to player 0 when both follow their average strategies.
    best_response: to each player, of a best response to the other's.
    exploitability: mean of the gains by these; in a zero-sum game the mean of best_response.
    iterations: their number.
    values: of each player, counterfactual values of the types at the root under the average strategies. For a
      river, turn or flop float32[1326], in the order of `cards.ALL_HANDS`, not multiplied by the player's own
      range, and 0 for hands that were left out; see `UNITS`. For another game [H], as in
      `tree.action_values`.
    strategies: of each player the average strategy, [A, rows, H] for each block of the public tree; None if
      they were not kept.
    hands: of each player int[H], numbers of the types in `cards.ALL_HANDS`; None for a game's own types.
    checked: of turns and flops, the values if both players check from there on; otherwise None.
    others: the value to player 1, in a tuple; None in a zero-sum game, where it is -value.
  """

  value: float
  best_response: tuple[float, float]
  exploitability: float
  iterations: int
  values: Pair
  strategies: Strategies | None
  hands: Pair | None
  checked: Pair | None = None
  others: tuple[float] | None = None


class Solutions(Sequence[Solution]):
  """The solutions of a batch by number; those in files are read on demand.

  Attributes:
    situations: as given.
  """

  def __init__(
    self,
    situations: Sequence[Given],
    read: Callable[[Given], Item],
    chunks: Sequence[Path | list[Solution]],
    size: int,
  ):
    """Take chunks of `size` situations, each its solutions or its file; `read` makes an `Item` of one."""
    self.situations = situations
    self._read, self._chunks, self._size = read, list(chunks), size

  def __len__(self) -> int:
    return len(self.situations)

  @overload
  def __getitem__(self, number: SupportsIndex) -> Solution: ...

  @overload
  def __getitem__(self, number: slice) -> list[Solution]: ...

  def __getitem__(self, number: SupportsIndex | slice) -> Solution | list[Solution]:
    if isinstance(number, slice):
      return [self[k] for k in range(len(self))[number]]
    number = range(len(self))[operator.index(number)]
    chunk, first = self._chunks[number // self._size], number // self._size * self._size
    if isinstance(chunk, Path):
      chunk = _read_chunk(chunk, chunk.stat().st_mtime_ns, range(first, min(first + self._size, len(self))))
    return chunk[number - first]

  def policy(self, number: int) -> TreePolicy:
    """The average strategies of a situation as an OpenSpiel policy.

    ValueError if they were not kept, or their file is damaged.
    """
    solution, item = self[number], self._read(self.situations[number])
    if solution.strategies is None:
      raise ValueError("The strategies were not saved; solve with strategies=True.")
    if solution.checked is not None:
      raise ValueError("A strategy that ends with a turn or flop is no policy; read solution.strategies.")
    game = item.game() if isinstance(item, Situation) else item
    tree, strategies = build_tree(game), solution.strategies
    if solution.hands is not None:
      dealt = [held.numbers for held in game.ranges]
      columns = [np.searchsorted(has, wanted) for has, wanted in zip(solution.hands, dealt, strict=True)]
      strategies = [[s[:, :, at] for s in blocks] for blocks, at in zip(strategies, columns, strict=True)]
    shapes = [player.block_shapes for player in tree.players]
    if (given := [[block.shape for block in blocks] for blocks in strategies]) != shapes:
      raise ValueError(
        f"The strategies of situation {number} are damaged: blocks {given}, expected {shapes}."
      )
    return TreePolicy(game, tree.names, strategies, {"iterations": solution.iterations})


@functools.lru_cache(maxsize=2)
def _read_chunk(path: Path, stamp: int, numbers: range) -> list[Solution]:
  """The solutions of these situations, a whole file; `stamp` is the file's time of writing."""
  stored, n = storage.read(path), len(numbers)
  single = np.dtype(np.float32)
  expected: dict[str, storage.Shape] = {
    "number": ((n,), np.dtype(np.int64)),
    "value": ((n,), single),
    "best_response": ((n, 2), single),
    "exploitability": ((n,), single),
    "iterations": ((n,), np.dtype(np.int32)),
  }
  whole = [name for name in ("values", "checked") if name in stored.shapes]
  expected |= dict.fromkeys(whole, ((n, 2, len(cards.ALL_HANDS)), single))
  arrays = stored.arrays({**stored.shapes, **expected})
  both = arrays["best_response"]
  others = [_numbered(arrays, f"others.{number}") for number in numbers]
  # What both players get together, 0 in a zero-sum game.
  sums = [
    value + other[0].item() if other else 0.0 for value, other in zip(arrays["value"], others, strict=True)
  ]
  gains = both.mean(1) - np.array(sums) / 2
  if not np.allclose(arrays["exploitability"], gains, 1e-3, 1e-3 * np.abs(both).max(initial=0)):
    raise ValueError(f"{path} is damaged: exploitability is not the mean of the gains by best_response.")
  solutions = []
  for k, number in enumerate(numbers):
    strategies = [_numbered(arrays, f"strategy.{number}.{i}") for i in (0, 1)]
    values = arrays["values"][k] if "values" in arrays else _numbered(arrays, f"values.{number}")
    hands = _numbered(arrays, f"hands.{number}")
    if arrays["number"][k] != number or len(values) != 2 or len(hands) not in (0, 2):
      raise ValueError(f"{path} is damaged: it lacks situation {number}.")
    value, best, mean, iterations = (arrays[name][k].tolist() for name in ONE_EACH)
    kept = tuple(strategies) if any(strategies) else None
    checked = tuple(arrays["checked"][k]) if "checked" in arrays else None
    solved = (value, tuple(best), mean, iterations, tuple(values), kept, tuple(hands) or None, checked)
    solutions.append(Solution(*solved, (others[k][0].item(),) if others[k] else None))
  return solutions


def _numbered(arrays: Mapping[str, np.ndarray], name: str) -> list[np.ndarray]:
  """The arrays called name.0, name.1, ..."""
  blocks: list[np.ndarray] = []
  while f"{name}.{len(blocks)}" in arrays:
    blocks.append(arrays[f"{name}.{len(blocks)}"])
  return blocks


def write_chunk(
  path: Path, header: Mapping[str, JSON], first: int, items: Sequence[Item], solutions: Sequence[Solution]
) -> None:
  """Write the solutions of consecutive situations, from number `first`; `header` describes the method."""
  arrays: dict[str, np.ndarray] = {
    "number": np.arange(first, first + len(items)),
    **{name: np.array([s._asdict()[name] for s in solutions], np.float32) for name in ONE_EACH},
    "iterations": np.array([s.iterations for s in solutions], np.int32),
  }
  rivers = [item for item in items if isinstance(item, Situation)]
  together = 0 < len(rivers) == len(items)
  if together:
    ranges = np.stack([item.ranges for item in rivers])
    arrays |= {
      "board": np.array([item.board for item in rivers], np.int8),
      "pot": np.array([item.pot for item in rivers]),
      "stack": np.array([item.stack for item in rivers]),
      "ranges": (ranges / ranges.sum(-1, keepdims=True)).astype(np.float32),
      "values": np.array([s.values for s in solutions], np.float32),
    }
    if (shares := np.array([parse_rake(item.rake, item.cap).share for item in rivers])).any():
      arrays |= {"rake": shares, "cap": np.array([item.cap for item in rivers])}
    if solutions[0].checked is not None:
      arrays["checked"] = np.array([s.checked for s in solutions], np.float32)
  for number, solution in enumerate(solutions, start=first):
    if solution.others is not None:
      arrays[f"others.{number}.0"] = np.array(solution.others[0], np.float32)
    for i in (0, 1):
      if not together:
        arrays[f"values.{number}.{i}"] = solution.values[i]
      if solution.strategies is not None:
        arrays |= {f"strategy.{number}.{i}.{k}": x for k, x in enumerate(solution.strategies[i])}
        if solution.hands is not None:
          arrays[f"hands.{number}.{i}"] = solution.hands[i].astype(np.int16)
  units = {name: text for name, text in UNITS.items() if name in arrays}
  storage.write(path, "examples", {**header, "arrays": units}, arrays)
