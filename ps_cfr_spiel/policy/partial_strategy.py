"""A strategy in some public states alone, for files of a part of a policy, and for locks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyspiel

from ps_cfr_spiel.policy.paths import find_public_state
from ps_cfr_spiel.tree import Decision, Labels

if TYPE_CHECKING:
  from ps_cfr_spiel.tree import PublicTree  # JAX

BELOW = "..."  # at the end of a line: include all states below it


class PartialStrategy(NamedTuple):
  """The strategies of the players who act in some public states."""

  public_states: tuple[int, ...]  #: their numbers
  #: float64[n], the strategies [A, H] of their rows, one after the other; of a lock zeros for free types.
  probabilities: np.ndarray

  def rows(self, tree: PublicTree) -> dict[int, np.ndarray]:
    """The strategies [A, H] by the rows' numbers in `Labels.decisions`; ValueError if they do not fit."""
    labels, count = tree.names, len(tree.names.public_states)
    known = [s for s in self.public_states if 0 <= s < count]
    numbers = [n for s in known for n in labels.public_states[s].decisions]
    decisions = [labels.decisions[n] for n in numbers]
    shapes = [(len(d.legal_actions), tree.players[d.player].types) for d in decisions]
    ends = np.cumsum([0, *(actions * types for actions, types in shapes)])
    if len(known) < len(self.public_states) or self.probabilities.shape != (ends[-1],):
      raise ValueError(f"The strategies of public states do not fit {labels.game}; use its own tree.")
    parts = np.split(self.probabilities, ends[1:-1])
    return {n: part.reshape(shape) for n, part, shape in zip(numbers, parts, shapes, strict=False)}

  def tables(self, tree: PublicTree) -> list[list[np.ndarray]]:
    """A strategy for each player, [A, rows, H] for each block; uniform in all other rows."""
    tables = [[np.full(shape, 1 / shape[0]) for shape in player.block_shapes] for player in tree.players]
    for n, strategy in self.rows(tree).items():
      decision = tree.names.decisions[n]
      tables[decision.player][decision.block][:, decision.row] = strategy
    return tables


def partial_strategy(
  game: pyspiel.Game, labels: Labels, lines: Sequence[str], table: Callable[[Decision], np.ndarray]
) -> PartialStrategy:
  """The strategy on the way to some lines and at them, from that of each row, [A, H]."""
  states = labels.public_states
  numbers = [s for s in lines_states(game, labels, lines) if states[s].decisions]
  flat = [table(labels.decisions[n]).ravel() for s in numbers for n in states[s].decisions]
  return PartialStrategy(tuple(numbers), np.concatenate([np.zeros(0), *flat]))


def lines_states(game: pyspiel.Game, labels: Labels, lines: Sequence[str]) -> list[int]:
  """The public states on the way to some lines and at them, ascending, as for `TreePolicy.save`."""
  if isinstance(lines, str) or not lines:
    raise ValueError(f"lines must be a list of at least one line, got {lines!r}.")
  states, numbers = labels.public_states, set()
  for path in lines:
    number = find_public_state(game, labels, path.removesuffix(BELOW))
    below = [number]
    while path.endswith(BELOW) and below:
      numbers.update(below)
      below = [child for s in below for child in labels.children[s]]
    while number >= 0:
      numbers.add(number)
      number = states[number].parent
  return sorted(numbers)


def left_out(labels: Labels, public_states: Collection[int]) -> frozenset[int]:
  """The public states with a decision at or below them that these public states do not include."""
  kept, numbers = set(public_states), set[int]()
  for decision in labels.decisions:
    number = decision.public_state
    if number in kept:
      continue
    while number >= 0 and number not in numbers:
      numbers.add(number)
      number = labels.public_states[number].parent
  return frozenset(numbers)


def types_header(rows: Mapping[int, np.ndarray]) -> list[str]:
  """The types that locks hold, for the header of a file: bits in hexadecimal, "" for all."""
  held = [strategy.any(0) for strategy in rows.values()]
  return ["" if types.all() else np.packbits(types).tobytes().hex() for types in held]


def types_in(header: str, types: int) -> np.ndarray:
  """bool[types]: those in an entry of `types_header`; ValueError if it is of another number of types."""
  if not header:
    return np.ones(types, bool)
  packed = np.frombuffer(bytes.fromhex(header), np.uint8)
  if len(packed) != -(-types // 8):
    raise ValueError(f"a lock of {8 * len(packed)} types at most does not fit {types} types")
  return np.unpackbits(packed, count=types).astype(bool)
