r"""A player's decisions, sorted into the levels and blocks that `traverse` runs on.

A forest of three rows with two actions each, with the numbers of its sequences (see `sequences`). The rows of
level 1 are in one block, whose sequences are numbered action by action:

             0                  the root: the empty sequence
             |
           row 0                level 0, block 0: one row
          /     \
         1       2              its sequences
         |       |
       row 1   row 2            level 1, block 1: two rows
       /   \   /   \
      3     5 4     6           its sequences: action 0 of both rows, then action 1

`make_forest` is given the last choice (row, action) before each row and before each leaf. With a leaf after
each of the sequences 3, 5, 4, 6 these are

  parents = [(-1, 0), (0, 0), (0, 1)], actions = [2, 2, 2], leaves = [[(1, 0), (1, 1), (2, 0), (2, 1)]]

and the links become `levels[0].link.index` = [0]; `levels[1].link.index` = [0, 1], counted from the first
sequence of the level above, which is 1; and `leaf.index` = [3, 5, 4, 6], counted from the root.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from ps_cfr_spiel.backend.array_shapes import Int
from ps_cfr_spiel.tree.public_tree import Level, Link, PlayerTree
from ps_cfr_spiel.tree.sequences import ranks, sequence_numbers, sequence_starts

Capacity = Mapping[
  tuple[int, int], int
]  # (the player's decisions above, number of actions) -> rows of a block


def row_depths(parents: Int[np.ndarray, "R 2"]) -> Int[np.ndarray, " R"]:
  """The player's decisions above each row; `parents` as in `make_forest`."""
  depth: list[int] = []
  for above in parents[:, 0].tolist():
    depth.append(depth[above] + 1 if above >= 0 else 0)
  return np.array(depth, int)


def block_sizes(depth: Int[np.ndarray, " R"], actions: Int[np.ndarray, " R"]) -> dict[tuple[int, int], int]:
  """Rows of each block, by (depth of `row_depths`, number of actions), in order."""
  keys, sizes = np.unique(np.stack([depth, actions]), axis=1, return_counts=True)
  return {(d, a): n for d, a, n in zip(*keys.tolist(), sizes.tolist(), strict=True)}


def make_forest(
  parents: Int[np.ndarray, "R 2"],
  actions: Int[np.ndarray, " R"],
  leaves: Sequence[Int[np.ndarray, "_L 2"]],
  types: int,
  roots: int = 1,
  capacity: Capacity | None = None,
) -> tuple[PlayerTree, Int[np.ndarray, "R 2"]]:
  """Sort one player's decision rows into levels and blocks.

  Args:
    parents: for each row the player's last choice before it as (row, action number), or
      (-1, k) for none since root k ((-1, -1) means the first root too); parents before children.
    actions: number of actions.
    leaves: for each part of the leaves the player's last choice, as in `parents`.
    types: H.
    capacity: rows of each block, not fewer than needed; the others hang idly on the first root, so that
      forests of several sizes have one shape. None: the number needed.

  Returns:
    The forest, and (block, row in block) of each row.
  """
  # Blocks: rows of one depth and number of actions, in this order. A row's place is its number in its block.
  rows, depth = len(actions), row_depths(parents)
  blocks = dict(sorted((capacity or block_sizes(depth, actions)).items()))
  number = {key: k for k, key in enumerate(blocks)}
  block = np.array([number[key] for key in zip(depth.tolist(), actions.tolist(), strict=True)], int)
  place = ranks(block)
  # The number of the sequence that each choice (row, action) ends with, before the rows and then before the
  # leaves; that of the root `action` if there is no row. Every link counts with these.
  shapes, sizes = [(a, size) for (_, a), size in blocks.items()], np.array([*blocks.values()], int)
  starts = sequence_starts(shapes, roots)
  row, action = np.concatenate([parents, *leaves]).T
  after = sequence_numbers(shapes, block[row], place[row], action, roots) if rows else 0
  sequence = np.where(row < 0, np.maximum(action, 0), after)
  # Levels: a link from each row, in the order of blocks and places, to its sequence in the level above. Idle
  # rows keep the first one, `start`.
  lengths = np.diff(starts)  # sequences of each block
  levels, above, start = [], [roots], 0
  for d in sorted({d for d, _ in blocks}):
    of_depth = [number[key] for key in blocks if key[0] == d]
    index = np.full(sum(sizes[of_depth]), start)
    for k, offset in zip(of_depth, np.cumsum(sizes[of_depth]) - sizes[of_depth], strict=True):
      members = np.flatnonzero(block == k)
      index[offset + place[members]] = sequence[members]
    link = Link.create(index - start, above, sizes[of_depth].tolist())
    levels.append(Level(link, tuple(a for e, a in blocks if e == d)))
    above, start = lengths[of_depth].tolist(), int(starts[of_depth[0]])
  # Leaves hang on sequences of any level.
  leaf = Link.create(sequence[rows:], [roots, *lengths.tolist()], [len(part) for part in leaves])
  return PlayerTree(tuple(levels), leaf, types), np.stack([block, place], 1)
