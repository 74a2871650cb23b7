"""Locked rows, in which a player must play a given strategy, and the tree of the other decisions.

A locked row is taken out of its player's forest: all that followed it hangs on the player's choice before,
and the leaves below it count the probability that the player comes through, as they count chance. So solvers,
best responses and exploitability are those of the locked game, and know nothing of locks.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.tree.forest import make_forest
from ps_cfr_spiel.tree.leaves import check_two_players, pick
from ps_cfr_spiel.tree.padding import fill
from ps_cfr_spiel.tree.public_tree import Array, LeafEvaluator, Parts, PublicTree
from ps_cfr_spiel.tree.sequences import decision_sequences, sequence_choices, sequence_starts
from ps_cfr_spiel.tree.variants import Variant, put_rows, take_rows


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class LockedLeaves(LeafEvaluator):
  """Leaves that players reach with a given probability that no decision changes."""

  kind: ClassVar[str] = "locked"
  inner: LeafEvaluator  #: the evaluator of the leaves
  #: for each player parts [L_k, H], the product of the probabilities of locked choices on the way.
  through: tuple[Parts, Parts]

  def __call__(self, player: int, opponent_reach: Parts, own_reach: Parts | None = None) -> list[Array]:
    own, other = self.through[player], self.through[1 - player]
    mine = None if own_reach is None else _times(own_reach, own)
    return _times(self.inner(player, _times(opponent_reach, other), mine), own)

  def sampled(self, player: int, leaf: Array, reach: Array) -> Array:
    own, other = (jnp.concatenate(self.through[i])[leaf] for i in (player, 1 - player))
    return self.inner.sampled(player, leaf, reach * other) * own

  def take(self, leaves: Sequence[np.ndarray]) -> "LockedLeaves":
    first, second = (
      [pick(part, numbers) for part, numbers in zip(parts, leaves, strict=True)] for parts in self.through
    )
    return LockedLeaves(self.inner.take(leaves), (first, second))

  def widen(self, types: Sequence[int]) -> "LockedLeaves | None":
    """See `tree.pad_types`."""
    inner = getattr(self.inner, "widen", lambda types: None)(types)
    first, second = ([fill(x, n) for x in own] for own, n in zip(self.through, types, strict=True))
    return None if inner is None else LockedLeaves(inner, (first, second))

  def on_boards(self, boards: Sequence[np.ndarray]) -> "LockedLeaves":
    """See `BoardLeaves.on_boards`, which the inner evaluator must have."""
    inner: Any = self.inner
    counts = [(here, count) for here, both in zip(boards, inner.leaves, strict=True) for count in both]
    kept = [(here[:, None] * count + np.arange(count)).ravel() for here, count in counts]
    first, second = ([x[k] for x, k in zip(own, kept, strict=True)] for own in self.through)
    return LockedLeaves(inner.on_boards(boards), (first, second))


def lock_rows(tree: PublicTree, rows: Mapping[int, np.ndarray]) -> Variant:
  """The tree without its locked rows; on the way back these get the locked strategies.

  `rows` has the strategies [A, H] of the locked rows, by their numbers in `Labels.decisions`.
  """
  check_two_players(tree, "locks")
  forests, kept, tables, through = zip(*(_without(tree, player, rows) for player in (0, 1)), strict=True)
  return Variant(
    PublicTree(forests, LockedLeaves(tree.leaves, through)),
    lambda player, given: take_rows(forests[player].block_shapes, kept[player], given),
    lambda player, blocks: put_rows(kept[player], blocks, tables[player]),
  )


def _without(tree: PublicTree, player: int, rows: Mapping[int, np.ndarray]):
  """One player's forest without the locked rows; its rows as `take_rows` wants them; two kinds of tables.

  The locked strategies, [A, rows, H] for each block of the game's tree, uniform elsewhere; and
  `LockedLeaves.through`.
  """
  forest, decisions = tree.players[player], list(tree.names.decisions)
  own = np.array([n for n, d in enumerate(decisions) if d.player == player], int)
  place = [(decisions[n].block, decisions[n].row) for n in own]
  actions = np.array([len(decisions[n].legal_actions) for n in own], int)
  locked = np.isin(own, list(rows))

  # Each sequence leads back to the last one on its way that is not of a locked row; parents come first.
  ends = np.cumsum([rows for _, rows, _ in forest.block_shapes])
  over = np.split(np.concatenate([np.zeros(0, int), *forest.above()]), ends[:-1])
  above = np.array([over[k][row] for k, row in place], int)
  sequences, choices = decision_sequences(tree)[own], sequence_choices(tree, player)
  free = np.arange(len(choices))
  for k in np.flatnonzero(locked)[np.argsort(above[locked])]:
    free[sequences[k, : actions[k]]] = free[above[k]]

  # The rows that are left, numbered anew; -1 is the root.
  number = np.full(len(decisions) + 1, -1)
  number[own[~locked]] = np.arange((~locked).sum())
  choices = choices[free]
  choices[:, 0] = number[choices[:, 0]]
  leaves = np.split(choices[forest.leaf.index], np.cumsum(forest.leaf.children)[:-1])
  smaller, places = make_forest(choices[above[~locked]], actions[~locked], leaves, forest.types)
  left = np.array(place, int).reshape(-1, 2)[~locked]
  kept = []
  for block, (count, *_) in enumerate(smaller.block_shapes):
    source = left[places[:, 0] == block]
    kept.append((source, np.repeat(np.arange(count)[:, None], len(source), 1)))

  table = [np.full(shape, 1 / shape[0]) for shape in forest.block_shapes]
  factors = [np.ones(shape) for shape in forest.block_shapes]
  for n, (k, row) in zip(own[locked], np.array(place, int).reshape(-1, 2)[locked].tolist(), strict=True):
    table[k][:, row] = factors[k][:, row] = rows[int(n)]

  # `sequence_reach` of the factors, on the host.
  starts = sequence_starts(forest.block_shapes, forest.roots)
  reach = np.ones((starts[-1], forest.types))
  for start, factor, rows_above in zip(starts, factors, over, strict=False):
    reach[start : start + rows_above.size * len(factor)] = (factor * reach[rows_above]).reshape(
      -1, forest.types
    )
  through = np.split(reach[forest.leaf.index], np.cumsum(forest.leaf.children)[:-1])
  return smaller, kept, table, through


def _times(parts: Parts, factors: Parts) -> list[Array]:
  return [part * factor for part, factor in zip(parts, factors, strict=True)]
