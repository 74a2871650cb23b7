"""The numbers of sequences, cells, slots and rows.

*Sequences* of one player: the roots (empty sequences) first, then block by block, and inside a block action
by action, so that a block's values [A, rows, H] are its sequences [A * rows, H] without a copy:

  number(block, row, action) = roots + sequences of all blocks before + action * rows + row.

With `roots=0` the count starts at the first of the blocks given, as a link between two levels wants it.

*Cells* are the infostates in which a player decides, of both players: block by block, player 0's first, and
inside a block row by row, so that a block is a slice [A, rows * H] of a table [A, cells]:

  number(block, row, type) = cells of all blocks before + row * H + type.

*Slots* are the same entries of one player alone in the order of buckets (`PlayerTree.join`): bucket by
bucket, and inside a bucket row by row, so that a bucket is a slice [A, rows * H] of a table [A, slots]. A
slot where the player cannot be, as a type that no deal leaves, is no infostate.

Functions take the *shapes* of blocks, (A, rows) or (A, rows, H) of each, as `PlayerTree.block_shapes` gives
them, or a `PublicTree` with labels, and return NumPy arrays; D is the number of `Labels.decisions`.
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from ps_cfr_spiel.backend.array_shapes import Int, Shaped
from ps_cfr_spiel.tree.arrays import Array
from ps_cfr_spiel.tree.public_tree import PlayerTree, PublicTree

Shapes = Sequence[tuple[int, ...]]  # of each block (A, rows, ...)
Integers: TypeAlias = int | np.integer | Int[np.ndarray, "..."]


def sequence_starts(shapes: Shapes, roots: int = 1) -> Int[np.ndarray, " _blocks"]:
  """The number of each block's first sequence; the last entry counts all sequences."""
  return roots + np.cumsum([0, *(shape[0] * shape[1] for shape in shapes)])


def sequence_numbers(
  shapes: Shapes, block: Integers, row: Integers, action: Integers, roots: int = 1
) -> Int[np.ndarray, "..."]:
  """The numbers of sequences (block, row in the block, action), integers or arrays that broadcast."""
  rows = np.array([shape[1] for shape in shapes], int)
  return np.asarray(sequence_starts(shapes, roots)[block] + action * rows[block] + row)


def split_types(numbers: Int[Array, " m"], types: int) -> Int[Array, " {numbers.size*types}"]:
  """Sequences once every row of H types has become H rows, type after type.

  A block (A, rows, H) turns into (A, rows * H, 1), and sequence s becomes s * H + type.
  """
  return (numbers[:, None] * types + np.arange(types)).ravel()


def decision_sequences(tree: PublicTree) -> Int[np.ndarray, "D A"]:
  """The sequences of every decision, each numbered in the forest of its own player.

  A is the most actions of any decision; numbers beyond a decision's own actions are meaningless.
  """
  table = tree.names.decision_table
  count, most = table.legal.shape
  numbers = np.zeros((count, most), int)
  for player, forest in enumerate(tree.players):
    members = np.flatnonzero(table.player == player)
    if len(members):
      block, row = table.block[members][:, None], table.row[members][:, None]
      numbers[members] = sequence_numbers(forest.block_shapes, block, row, np.arange(most))
  return numbers


def sequence_choices(tree: PublicTree, player: int) -> Int[np.ndarray, "S 2"]:
  """The choice (decision, number of the action) that each of a player's sequences ends with.

  (-1, -1) for the empty sequence. The inverse of `decision_sequences`.
  """
  table, numbers = tree.names.decision_table, decision_sequences(tree)
  choices = np.full((sequence_starts(tree.players[player].block_shapes)[-1], 2), -1)
  chosen = np.arange(numbers.shape[1]) < (table.actions * (table.player == player))[:, None]
  choices[numbers[chosen]] = np.stack(np.nonzero(chosen), 1)
  return choices


def cell_starts(players: Sequence[Shapes]) -> tuple[Int[np.ndarray, " _blocks"], ...]:
  """For each player the number of each block's first cell, and the first after them all."""
  starts, total = [], 0
  for shapes in players:
    starts.append(total + np.cumsum([0, *(rows * types for _, rows, types in shapes)]))
    total = starts[-1][-1]
  return tuple(starts)


def first_cells(tree: PublicTree) -> list[int]:
  """The cell of type 0 in each of the D decisions; the other types follow it."""
  starts = cell_starts([player.block_shapes for player in tree.players])
  table, types = tree.names.decision_table, np.array([player.types for player in tree.players])
  first = [
    int(starts[i][block]) for i, block in zip(table.player.tolist(), table.block.tolist(), strict=True)
  ]
  return (np.array(first, int) + table.row * types[table.player]).tolist()


def slot_starts(forest: PlayerTree) -> Int[np.ndarray, " _blocks"]:
  """The number of each block's first slot, and the number of slots."""
  tables = np.cumsum([0, *(rows * types for _, rows, types in forest.bucket_shapes)])
  starts = [tables[bucket] + row * forest.types for bucket, row in forest.places]
  return np.array([*starts, tables[-1]], int)


def slot_tables(
  forest: PlayerTree, values: Shaped[np.ndarray, " slots"]
) -> list[Shaped[np.ndarray, "_rows H"]]:
  """Values of all slots as tables of each bucket."""
  shapes = [shape[1:] for shape in forest.bucket_shapes]
  ends = np.cumsum([rows * types for rows, types in shapes])
  parts = np.split(values, ends[:-1]) if shapes else []
  return [x.reshape(shape) for x, shape in zip(parts, shapes, strict=True)]


def ranks(groups: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
  """The number of elements before each one that have its group, which is not negative.

  Gives the row in its block to each row, or the number of an action to each choice of a row.
  """
  order = np.argsort(groups, kind="stable")
  count = np.bincount(groups)
  rank = np.empty(len(groups), int)
  rank[order] = np.arange(len(groups)) - np.repeat(np.cumsum(count) - count, count)
  return rank
