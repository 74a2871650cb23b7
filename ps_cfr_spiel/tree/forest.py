"""Sorts one player's decisions into the levels and blocks that `traverse` runs on."""

from collections.abc import Mapping, Sequence

import numpy as np

from ps_cfr_spiel.tree.public_tree import Level, Link, PlayerTree
from ps_cfr_spiel.tree.sequences import ranks, sequence_numbers, sequence_starts

Capacity = Mapping[tuple[int, int], int]  # (own depth, number of actions) -> rows of that block


def row_depths(parents: np.ndarray) -> np.ndarray:
  """int[R]: own decisions above each row; `parents` as in `make_forest`."""
  depth = np.zeros(len(parents), int)
  for r in range(len(parents)):
    if parents[r, 0] >= 0:
      depth[r] = depth[parents[r, 0]] + 1
  return depth


def block_sizes(depth: np.ndarray, actions: np.ndarray) -> dict[tuple[int, int], int]:
  """Rows of each block, by (own depth, number of actions), in order."""
  keys, sizes = np.unique(np.stack([depth, actions]), axis=1, return_counts=True)
  return {(d, a): n for d, a, n in zip(*keys.tolist(), sizes.tolist(), strict=True)}


def make_forest(
  parents: np.ndarray,
  actions: np.ndarray,
  leaves: Sequence[np.ndarray],
  types: int,
  roots: int = 1,
  capacity: Capacity | None = None,
) -> tuple[PlayerTree, np.ndarray]:
  """Sorts one player's decision rows into levels and blocks.

  Args:
    parents: int[R, 2], for each row the player's last choice before it as (row, action number), or
      (-1, k) for none since root k ((-1, -1) is the first root too); parents before children.
    actions: int[R], number of actions.
    leaves: for each part of the leaves int[L_k, 2], the player's last choice, as in `parents`.
    types: H.
    roots: number of roots.
    capacity: rows of each block, at least as many as there are; the rest hang idly on the first root, so that
      forests of several sizes have one shape. By default what is needed.

  Returns:
    The forest, and int[R, 2]: (block, row in block) of each row.
  """
  rows, depth = len(actions), row_depths(parents)
  blocks = dict(sorted((capacity or block_sizes(depth, actions)).items()))
  number = {key: k for k, key in enumerate(blocks)}
  block = np.array([number[key] for key in zip(depth.tolist(), actions.tolist(), strict=True)], int)
  place = ranks(block)
  shapes = [(a, size) for (_, a), size in blocks.items()]
  starts, sizes = sequence_starts(shapes, roots), np.array([size for _, size in shapes], int)
  lengths = np.diff(starts)  # sequences of each block

  def sequences(choice):
    row, action = choice.T
    after = sequence_numbers(shapes, block[row], place[row], action, roots) if rows else 0
    return np.where(row < 0, np.maximum(action, 0), after)

  levels, above, start = [], [roots], 0
  for d in sorted({d for d, _ in blocks}):
    here = [number[key] for key in blocks if key[0] == d]
    index = np.full(sum(sizes[here]), start)
    for k, offset in zip(here, np.cumsum(sizes[here]) - sizes[here], strict=True):
      members = np.flatnonzero(block == k)
      index[offset + place[members]] = sequences(parents[members])
    link = Link.create(index - start, above, sizes[here].tolist())
    levels.append(Level(link, tuple(a for e, a in blocks if e == d)))
    above, start = lengths[here].tolist(), int(starts[here[0]])
  leaf = Link.create(
    np.concatenate([sequences(part) for part in leaves]),
    [roots, *lengths.tolist()],
    [len(part) for part in leaves],
  )
  return PlayerTree(tuple(levels), leaf, types), np.stack([block, place], 1)
