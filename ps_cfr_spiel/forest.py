"""Sorts one player's decisions into the levels and blocks that `traverse` runs on."""

from collections.abc import Sequence

import numpy as np

from ps_cfr_spiel.tree import Level, Link, PlayerTree


def make_forest(
  parents: np.ndarray, actions: np.ndarray, leaves: Sequence[np.ndarray], types: int
) -> tuple[PlayerTree, np.ndarray]:
  """Sorts one player's decision rows into levels and blocks.

  Args:
    parents: int[R, 2], for each row the player's last choice before it as (row, action number), or
      (-1, -1) for none; parents before children.
    actions: int[R], number of actions.
    leaves: for each part of the leaves int[L_k, 2], the player's last choice, as in `parents`.
    types: H.

  Returns:
    The forest, and int[R, 2]: (block, row in block) of each row.
  """
  rows = len(actions)
  depth = np.zeros(rows, int)
  for r in range(rows):
    if parents[r, 0] >= 0:
      depth[r] = depth[parents[r, 0]] + 1
  keys, block = np.unique(np.stack([depth, actions]), axis=1, return_inverse=True)
  block = block.reshape(-1)
  sizes = np.bincount(block, minlength=keys.shape[1])
  order = np.argsort(block, kind="stable")
  place = np.empty(rows, int)
  place[order] = np.arange(rows) - np.repeat(np.cumsum(sizes) - sizes, sizes)
  lengths = sizes * keys[1]  # sequences of each block
  first = 1 + np.cumsum(lengths) - lengths  # number of each block's first sequence; the empty one is 0

  def sequences(choice):
    row, action = choice.T
    number = first[block[row]] + action * sizes[block[row]] + place[row] if rows else 0
    return np.where(row < 0, 0, number)

  levels, above, start = [], [1], 0
  for d in range(depth.max(initial=-1) + 1):
    blocks = np.flatnonzero(keys[0] == d)
    members = order[np.isin(block[order], blocks)]
    link = Link.create(sequences(parents[members]) - start, above, sizes[blocks].tolist())
    levels.append(Level(link, tuple(keys[1, blocks].tolist())))
    above, start = lengths[blocks].tolist(), int(first[blocks[0]])
  leaf = Link.create(
    np.concatenate([sequences(part) for part in leaves]),
    [1, *lengths.tolist()],
    [len(part) for part in leaves],
  )
  return PlayerTree(tuple(levels), leaf, types), np.stack([block, place], 1)
