"""Trees that stand for another one: a tree, and the way there and back for a player's tables.

A solver may run on another tree than the game's: with dead types (`padding`), without locked rows (`locks`),
with one row for all boards that differ in names of suits (`compiler.suit_isomorphism`). Each is a `Variant`,
and `then` composes them left to right. A subgame (`subgames`) has rows of its game's tree too, and shares
`take_rows` and `put_rows`.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from ps_cfr_spiel.backend.array_shapes import Int, Shaped
from ps_cfr_spiel.tree.public_tree import PublicTree

Tables = Sequence[Shaped[np.ndarray, "_A _rows _n"]]  # of one player for each block; n is H in a strategy
Conversion = Callable[[int, Tables], list[np.ndarray]]
Rows = Sequence[tuple[Int[np.ndarray, "_n 2"], Int[np.ndarray, "_A _n"]]]  # see `take_rows`


class Variant(NamedTuple):
  """A tree that stands for a game's.

  Both ways are functions of modules, with arguments bound by `partial`, so that solvers can be pickled.
  """

  tree: PublicTree  #: the variant, without labels
  #: (player, tables of the game's tree) -> tables of the variant's.
  there: Conversion
  #: (player, tables of the variant's tree) -> tables of the game's; the inverse, where the variant has rows.
  back: Conversion

  @classmethod
  def of(cls, tree: PublicTree) -> "Variant":
    """The game's own tree."""
    return cls(tree, _unchanged, _unchanged)

  def then(self, following: "Variant") -> "Variant":
    """A variant of this variant, as one of the game. It does not hold on to this variant's tree."""
    (_, there, back), (tree, further, nearer) = self, following
    return Variant(tree, partial(_in_turn, there, further), partial(_in_turn, nearer, back))


def _unchanged(player: int, tables: Tables) -> list[np.ndarray]:
  return list(tables)


def _in_turn(first: Conversion, second: Conversion, player: int, tables: Tables) -> list[np.ndarray]:
  return second(player, first(player, tables))


def take_rows(shapes: Sequence[tuple[int, ...]], rows: Rows, tables: Tables) -> list[np.ndarray]:
  """Rows of another tree as tables of blocks of these shapes, (A, rows, ...): [A, rows, n] of each.

  `rows` has for each block the (block, row) in the other tree of its first n rows, int[n, 2], and the numbers
  of their actions there, int[A, n]. Rows beyond the first n are uniform.
  """
  blocks = []
  for (actions, count, *_), (source, action) in zip(shapes, rows, strict=True):
    shape = actions, count, tables[0].shape[2]
    block = np.full(shape, 1 / actions) if len(source) < count else np.empty(shape)
    for k in np.unique(source[:, 0]):
      rows_of_table = np.flatnonzero(source[:, 0] == k)
      block[:, rows_of_table] = tables[k][action[:, rows_of_table], source[rows_of_table, 1]]
    blocks.append(block)
  return blocks


def put_rows(rows: Rows, blocks: Tables, tables: Tables) -> list[np.ndarray]:
  """The tables of another tree with some rows from `blocks`; actions that these do not have get 0.

  Arguments as in `take_rows`. Tables without such rows are not copied.
  """
  result = list(tables)
  for block, (source, action) in zip(blocks, rows, strict=True):
    for k in np.unique(source[:, 0]):
      rows_of_table = np.flatnonzero(source[:, 0] == k)
      if len(rows_of_table) == tables[k].shape[1]:  # all rows
        result[k] = np.zeros(tables[k].shape, tables[k].dtype)
      else:
        result[k] = tables[k].copy() if result[k] is tables[k] else result[k]
        result[k][:, source[rows_of_table, 1]] = 0
      result[k][action[:, rows_of_table], source[rows_of_table, 1]] = block[:, rows_of_table]
  return result
