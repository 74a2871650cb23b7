"""Card games with public cards to come, for accelerators: the boards of a street are an axis of its tables.

The tables of a street are [actions, lines, boards, hands]. Links between lines are constant numbers of
slabs, [boards, hands] (`evaluators.board_streets`). When public cards come, reach is copied along the axis
of boards and values are added up along it, so nothing is scattered, and sums have one order. Of boards that
differ in names of suits one stands for all (`Boards`): one index a street, `back`, says for every card that
may come which board, and which of its hands, has the values.
"""

import dataclasses
import itertools
from collections.abc import Sequence
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.backend.array_shapes import Float, Int, Shaped
from ps_cfr_spiel.tree.arrays import Array, Parts
from ps_cfr_spiel.tree.evaluators.board_leaves import BoardLeaves
from ps_cfr_spiel.tree.evaluators.board_streets import (
  Group,
  PlayerStreets,
  player_streets,
  renamed_columns,
  ways_back,
)
from ps_cfr_spiel.tree.evaluators.streaming import with_boards
from ps_cfr_spiel.tree.leaf_evaluator import LeafEvaluator
from ps_cfr_spiel.tree.player_passes import Reach, column_of, tables_of
from ps_cfr_spiel.tree.public_tree import PublicTree
from ps_cfr_spiel.tree.strategy_values import evaluation_by
from ps_cfr_spiel.tree.traverse import max_actions, normalise, sum_actions

Pieces = Sequence[
  tuple[Float[Array, "_n _boards H"], Sequence[int]]
]  # slabs of values, and their places above
Tables = TypeVar("Tables")  # of a bucket or a group, a pytree of arrays [n, rows, H]


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class BoardAxis:
  """The streets of a game whose boards are an axis, for solvers by XLA; a `Traversal`."""

  #: for each street but the first the board above each; None: the same number below each, side by side.
  above: tuple[Int[Array, " _boards"] | None, ...]
  #: for each player and street but the first: by board above, card that comes and hand, the place of its
  #: values among boards and hands; None where each board stands for itself.
  back: tuple[tuple[Int[Array, " _places"] | None, ...], tuple[Int[Array, " _places"] | None, ...]]
  players: tuple[PlayerStreets, PlayerStreets] = dataclasses.field(metadata={"static": True})

  @property
  def passes(self) -> tuple["BoardPasses", "BoardPasses"]:
    """The passes over each player's decisions."""
    return BoardPasses(self, 0), BoardPasses(self, 1)

  def worth(
    self,
    leaves: LeafEvaluator,
    averages: Sequence[Sequence[Shaped[Array, "..."] | None]],
  ) -> Float[Array, " _numbers"]:
    """See `Traversal`."""
    strategies = []
    for passes, arrays in zip(self.passes, averages, strict=True):
      given = [x for x in arrays if x is not None]
      if given and given[0].ndim == 3:
        tables = given
      else:
        total = given[0] - given[1] if len(given) > 1 else -given[0]
        tables = tables_of(total, self.players[passes.player].buckets)
      strategies.append(passes.split([normalise(table) for table in tables]))
    result = evaluation_by(self.passes, leaves, strategies)
    return jnp.stack([*result.best_response, result.value, *(result.others or ())])


@dataclasses.dataclass(frozen=True)
class BoardPasses:
  """Like `PlayerPasses`, with tables for groups, [A, lines * boards, H], in place of buckets."""

  axis: BoardAxis
  player: int

  @property
  def _of(self) -> PlayerStreets:
    return self.axis.players[self.player]

  @property
  def _groups(self) -> list[Group]:
    return [group for street in self._of.streets for group in street.groups]

  @property
  def shapes(self) -> list[tuple[int, int, int]]:
    """(A, lines * boards, H) of each group."""
    return [
      (group.actions, group.lines * street.boards, self._of.types)
      for street in self._of.streets
      for group in street.groups
    ]

  def split(self, buckets: Sequence[Tables]) -> list[Tables]:
    """Tables of buckets as those of groups."""

    def part(runs: Sequence[tuple[int, int]], table: Shaped[Array, "_n _rows H"]) -> Array:
      parts = [table[:, first : first + count] for first, count in runs]
      return parts[0] if len(parts) == 1 else jnp.concatenate(parts, 1)

    return [
      jax.tree.map(lambda table, runs=group.runs: part(runs, table), buckets[group.bucket])
      for group in self._groups
    ]

  def join(self, tables: Sequence[Tables]) -> list[Tables]:
    """The inverse of `split`."""

    def whole(bucket: int, *parts: Shaped[Array, "_n _rows H"]) -> Array:
      runs = []
      for group, part in zip((g for g in self._groups if g.bucket == bucket), parts, strict=True):
        ends = np.cumsum([0, *(count for _, count in group.runs)]).tolist()
        pairs = zip(group.runs, itertools.pairwise(ends), strict=True)
        runs += [(first, part[:, start:end]) for (first, _), (start, end) in pairs]
      ordered = [part for _, part in sorted(runs, key=lambda run: run[0])]
      return ordered[0] if len(ordered) == 1 else jnp.concatenate(ordered, 1)

    of_bucket = [
      [table for group, table in zip(self._groups, tables, strict=True) if group.bucket == bucket]
      for bucket in range(len(self._of.buckets))
    ]
    return [
      jax.tree.map(lambda *parts, bucket=bucket: whole(bucket, *parts), *parts)
      for bucket, parts in enumerate(of_bucket)
    ]

  def split_column(self, column: Shaped[Array, "S H"]) -> Shaped[Array, "S H"]:
    """A column (`column_of`) of buckets as one of groups."""
    return column_of(self.split(tables_of(column, self._of.buckets)), self._of.types)

  def join_column(self, column: Shaped[Array, "S H"]) -> Shaped[Array, "S H"]:
    """The inverse of `split_column`."""
    return column_of(self.join(tables_of(column, self.shapes)), self._of.types)

  def down(self, strategy: Sequence[Float[Array, "_A _rows H"]]) -> Reach:
    """Reach of every sequence, in tables; `leaves` makes that of the leaves where it is read."""
    played, tables = [], iter(strategy)
    # The first slab has the numbers' dtype, as arrays are made here.
    slabs: list[Array] = [jnp.ones((1, 1, self._of.types), strategy[0].dtype if strategy else None)]
    for s, street in enumerate(self._of.streets):
      slabs = [self._entering(s, slabs)]
      for group in street.groups:
        table, above = next(tables), _pick(slabs, group.above)
        reach = above[None] * table.reshape(group.actions, *above.shape)
        played.append(reach.reshape(table.shape))
        slabs.append(reach.reshape(-1, *above.shape[1:]))
    return played, ()

  def leaves(self, reach: Reach) -> Parts:
    """See `Passes`. They are rows of the tables, so a loop carries these alone."""
    played, _ = reach
    parts, tables = [], iter(played)
    slabs: list[Array] = [jnp.ones((1, 1, self._of.types), played[0].dtype if played else None)]
    for s, street in enumerate(self._of.streets):
      slabs = [self._entering(s, slabs)]
      slabs += [next(tables).reshape(-1, street.boards, self._of.types) for _ in street.groups]
      for index in (street.shown, street.folds):  # an evaluator has the leaves of each board side by side
        parts.append(_pick(slabs, index).swapaxes(0, 1).reshape(-1, self._of.types))
    return parts

  def _entering(self, street: int, slabs: Sequence[Float[Array, "_n _boards H"]]) -> Array:
    """The slabs of the street before that enter a street, on its boards."""
    entering = _pick(slabs, self._of.streets[street].enter)
    return entering if street == 0 else self._to_boards(street, entering)

  def up(
    self, strategy: Sequence[Float[Array, "_A _rows H"]] | None, leaf_values: Parts
  ) -> tuple[list[Float[Array, "_A _rows H"]], Float[Array, "1 H"]]:
    """Values of all actions, for each group, and of the root; see `Passes.up`."""
    values: list[Array] = []  # from the last group to the first
    tables = None if strategy is None else iter(reversed(strategy))
    crossing: list[tuple[Array, Sequence[int]]] = []
    for s, street in reversed([*enumerate(self._of.streets)]):
      shape = street.boards, self._of.types
      pieces = crossing
      for part, owner in zip(leaf_values[2 * s :], (street.shown, street.folds), strict=False):
        if owner:
          slabs = part.reshape(shape[0], len(owner), shape[1]).swapaxes(0, 1)
          # In memory, with hands side by side: otherwise each reader would gather them from afar.
          pieces = [*pieces, (jax.lax.optimization_barrier(slabs), owner)]
      for group, start in reversed([*zip(street.groups, street.starts, strict=True)]):
        total = _sums(pieces, start, group.actions * group.lines, shape)
        total = total.reshape(group.actions, -1, shape[1])
        values.append(total)
        best = max_actions(total) if tables is None else sum_actions(next(tables) * total)
        pieces = [*pieces, (best.reshape(group.lines, *shape), group.above)]
      entered = _sums(pieces, 0, len(street.enter), shape)
      crossing = [(entered if s == 0 else self._from_boards(s, entered), street.enter)]
    ((root, _),) = crossing
    return values[::-1], root[0]

  def _to_boards(self, street: int, slabs: Float[Array, "_n _boards H"]) -> Float[Array, "_n _boards_ H"]:
    """Slabs of the street before on the boards of a street."""
    above, (count, boards, types) = self.axis.above[street - 1], slabs.shape
    if above is not None:
      return jnp.take(slabs, above, axis=1)
    below = self._of.streets[street].boards
    copied = jnp.broadcast_to(slabs[:, :, None], (count, boards, below // boards, types))
    return copied.reshape(count, below, types)

  def _from_boards(self, street: int, slabs: Float[Array, "_n _boards_ H"]) -> Float[Array, "_n _boards H"]:
    """Values of slabs on the street before: sums over the cards that may come."""
    back, (count, _, types) = self.axis.back[self.player][street - 1], slabs.shape
    if back is not None:
      slabs = jnp.take(slabs.reshape(count, -1), back, axis=1, mode="clip")
    return slabs.reshape(count, self._of.streets[street - 1].boards, -1, types).sum(2)


def _pick(
  slabs: Sequence[Shaped[Array, "_n boards H"]], index: Sequence[int]
) -> Shaped[Array, "_m boards H"]:
  """Some slabs, by their numbers through all arrays; such as lie side by side in one array are a slice."""
  starts = np.cumsum([0, *map(len, slabs)])
  used = sorted({int(k) for k in np.searchsorted(starts, index, "right") - 1})
  arrays = [slabs[k] for k in used] or [slabs[0]]
  joined = arrays[0] if len(arrays) == 1 else jnp.concatenate(arrays)
  numbers = np.concatenate([np.zeros(0, int), *(np.arange(starts[k], starts[k + 1]) for k in used)])
  return _rows(joined, np.searchsorted(numbers, index))


def _rows(array: Shaped[Array, "_n ..."], index: Int[np.ndarray, " m"]) -> Shaped[Array, "m ..."]:
  """Some of the first axis, by constant numbers."""
  first = int(index[0]) if len(index) else 0
  if np.array_equal(index, first + np.arange(len(index))):
    return array[first : first + len(index)]
  return array[index]


def _sums(pieces: Pieces, start: int, count: int, shape: tuple[int, int]) -> Float[Array, "{count} boards H"]:
  """The sums of the slabs that go to each of `count` numbers from `start` on, one gather after the other."""
  total = None
  for values, owners in pieces:
    at = np.asarray(owners) - start
    left = np.flatnonzero((at >= 0) & (at < count))
    while len(left):
      numbers, first = np.unique(at[left], return_index=True)
      source = np.zeros(count, int)
      source[numbers] = left[first]
      term = _rows(values, source)
      if len(numbers) < count:
        term = jnp.where(np.isin(np.arange(count), numbers)[:, None, None], term, 0)
      total = term if total is None else total + term
      left = np.delete(left, first)
  if total is None:
    return jnp.zeros((count, *shape), pieces[0][0].dtype if pieces else None)
  return total


def on_axis(tree: PublicTree) -> PublicTree:
  """The tree with its `BoardAxis` if it is a card game's; without cards to come it gets one board.

  All boards of a street are evaluated in one call. Else the tree itself.
  """
  made = with_boards(tree)
  boards, leaves = made.boards, made.leaves
  if boards is None or not isinstance(leaves, BoardLeaves):
    return tree
  counts = list(map(len, boards.above))
  first, second = (player_streets(player, boards, i) for i, player in enumerate(made.players))
  above = [
    None if len(set(np.bincount(up).tolist())) == 1 and (np.diff(up) >= 0).all() else up.astype(np.int32)
    for up in boards.above[1:]
  ]
  columns = [renamed_columns(player) for player in made.players]
  back = [tuple(ways_back(boards, s, of_player) for s in range(1, len(counts))) for of_player in columns]
  axis = BoardAxis(tuple(above), (back[0], back[1]), (first, second))
  at_once = BoardLeaves(leaves.streets, leaves.boards, leaves.leaves, batched=True)
  return dataclasses.replace(made, leaves=at_once, stream=axis)
