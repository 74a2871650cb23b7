"""Locked rows: where a player must play a given strategy, and the tree of what is left to decide.

A locked row is taken out of its player's forest: what followed it hangs on the player's choice before, and
the leaves below it count the probability that the player comes through, as they count chance. So solvers,
best responses and exploitability are those of the locked game, and know nothing of locks.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.tree.forest import make_forest
from ps_cfr_spiel.tree.leaves import pick
from ps_cfr_spiel.tree.public_tree import Array, LeafEvaluator, Parts, PlayerTree, PublicTree
from ps_cfr_spiel.tree.sequences import decision_sequences, sequence_choices


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class LockedLeaves:
  """Leaves to which players come with a given probability, whatever they decide.

  Attributes:
    inner: the evaluator of the leaves.
    through: for each player parts [L_k, H], the product of the probabilities of locked choices on the way.
  """

  kind: ClassVar[str] = "locked"
  inner: LeafEvaluator
  through: tuple[Parts, Parts]

  def __call__(self, player: int, opponent_reach: Parts, own_reach: Parts | None = None) -> list[Array]:
    """See `tree.LeafEvaluator`."""
    own, other = self.through[player], self.through[1 - player]
    mine = None if own_reach is None else _times(own_reach, own)
    return _times(self.inner(player, _times(opponent_reach, other), mine), own)

  def sampled(self, player: int, leaf: Array, reach: Array) -> Array:
    """See `tree.LeafEvaluator`."""
    own, other = (jnp.concatenate(self.through[i])[leaf] for i in (player, 1 - player))
    return self.inner.sampled(player, leaf, reach * other) * own

  def take(self, leaves: Sequence[np.ndarray]) -> "LockedLeaves":
    """See `tree.LeafEvaluator`."""
    first, second = (
      [pick(part, numbers) for part, numbers in zip(parts, leaves, strict=True)] for parts in self.through
    )
    return LockedLeaves(self.inner.take(leaves), (first, second))


class Locked(NamedTuple):
  """A tree without its locked rows.

  Attributes:
    tree: the locked game, without labels.
    kept: for each player and block of this tree int[rows, 2], (block, row) in the game's tree.
    tables: for each player a strategy of the game's tree, [A, rows, H] for each block, in which only the
      locked rows say something.
  """

  tree: PublicTree
  kept: tuple[list[np.ndarray], list[np.ndarray]]
  tables: tuple[list[np.ndarray], list[np.ndarray]]

  def whole(self, player: int, blocks: Sequence[np.ndarray]) -> list[np.ndarray]:
    """A strategy of the locked game as one of the game's tree."""
    tables = [table.copy() for table in self.tables[player]]
    for block, rows in zip(blocks, self.kept[player], strict=True):
      for k in np.unique(rows[:, 0]):
        here = np.flatnonzero(rows[:, 0] == k)
        tables[k][:, rows[here, 1]] = block[:, here]
    return tables


def lock_rows(tree: PublicTree, rows: Mapping[int, np.ndarray]) -> Locked:
  """Takes rows out of a tree.

  Args:
    tree: of a whole game, with labels.
    rows: the strategies [A, H] of the locked rows, by their numbers in `Labels.decisions`.
  """
  forests, kept, tables, through = zip(*(_without(tree, player, rows) for player in (0, 1)), strict=True)
  return Locked(PublicTree(forests, LockedLeaves(tree.leaves, through)), kept, tables)


def _without(tree: PublicTree, player: int, rows: Mapping[int, np.ndarray]):
  """One player's forest without the locked rows, and their parts of `Locked` and `LockedLeaves`."""
  forest, decisions = tree.players[player], list(tree.names.decisions)
  own = np.array([n for n, d in enumerate(decisions) if d.player == player], int)
  place = np.array([(decisions[n].block, decisions[n].row) for n in own], int).reshape(-1, 2)
  actions = np.array([len(decisions[n].legal_actions) for n in own], int)
  locked = np.isin(own, list(rows))

  # Each sequence leads back to the last one on its way that is not of a locked row; parents come first.
  links = [link + start for link, start in _links(forest)]
  above = np.concatenate([np.zeros(0, int), *links])[_row_numbers(forest, place)]
  sequences, choices = decision_sequences(tree)[own], sequence_choices(tree, player)
  free = np.arange(len(choices))
  for k in np.flatnonzero(locked)[np.argsort(above[locked])]:
    free[sequences[k, : actions[k]]] = free[above[k]]

  # What is left, numbered anew; -1 is the root.
  number = np.full(len(decisions) + 1, -1)
  number[own[~locked]] = np.arange((~locked).sum())
  choices = choices[free]
  choices[:, 0] = number[choices[:, 0]]
  leaves = np.split(choices[forest.leaf.index], np.cumsum(forest.leaf.children)[:-1])
  smaller, places = make_forest(choices[above[~locked]], actions[~locked], leaves, forest.types)
  kept = [place[~locked][places[:, 0] == k] for k in range(len(smaller.block_shapes))]

  table = [np.full(shape, 1 / shape[0]) for shape in forest.block_shapes]
  factors = [np.ones(shape) for shape in forest.block_shapes]
  for n, (k, row) in zip(own[locked], place[locked].tolist(), strict=True):
    table[k][:, row] = factors[k][:, row] = rows[int(n)]
  return smaller, kept, table, _through(forest, factors)


def _links(forest: PlayerTree) -> list[tuple[np.ndarray, int]]:
  """For each level its link, and the number of the sequence from which that counts."""
  starts = np.cumsum([forest.roots, *(sum(a * n for a, n in level.shapes) for level in forest.levels)])
  return [(level.link.index, start) for level, start in zip(forest.levels, [0, *starts[:-2]], strict=False)]


def _row_numbers(forest: PlayerTree, place: np.ndarray) -> np.ndarray:
  """int[n]: the numbers of rows, given as (block, row), counted through all blocks."""
  rows = np.cumsum([0, *(n for _, n, _ in forest.block_shapes)])
  return rows[place[:, 0]] + place[:, 1]


def _through(forest: PlayerTree, factors: Sequence[np.ndarray]) -> list[np.ndarray]:
  """`LockedLeaves.through` of a player: `sequence_reach` of the factors at the leaves, on the host."""
  above = [np.ones((forest.roots, forest.types))]
  reach, blocks = list(above), iter(factors)
  for level in forest.levels:
    rows = np.split(np.concatenate(above)[level.link.index], np.cumsum(level.link.children)[:-1])
    above = [(r[None] * next(blocks)).reshape(-1, forest.types) for r in rows]
    reach += above
  return np.split(np.concatenate(reach)[forest.leaf.index], np.cumsum(forest.leaf.children)[:-1])


def _times(parts: Parts, factors: Parts) -> list[Array]:
  return [part * factor for part, factor in zip(parts, factors, strict=True)]
