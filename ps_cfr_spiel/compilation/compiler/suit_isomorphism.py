"""Suit isomorphism: the tree that a solver runs on has one row for all boards that differ in names of suits.

A form with public cards may list the renamings of its cards that change nothing (`BayesianForm.swaps`).
They make runouts into one another; of each orbit the first runout stands for the others. Reach goes down to
the rows that are kept. Values come up as the sum over the orbit, each member's columns permuted
(`tree.Orbit`). Locks that distinguish suits leave the renamings under which they stay the same.
"""

import dataclasses
from collections.abc import Sequence
from functools import partial

import numpy as np

from ps_cfr_spiel.compilation.compiler.dealt_boards import OrbitMap, orbit_maps, renamed_runouts
from ps_cfr_spiel.compilation.compiler.form_labels import FormLabels, FormOrigin
from ps_cfr_spiel.compilation.compiler.forms import PublicStateIndex
from ps_cfr_spiel.tree import (
  BoardLeaves,
  Boards,
  Level,
  Link,
  Orbit,
  PlayerTree,
  PublicTree,
  Variant,
  sequence_numbers,
)


def columns(lines: PublicStateIndex, player: int, swaps: np.ndarray) -> np.ndarray:
  """int32[S, H]: for each renaming the type that becomes each type, and whose column becomes its column."""
  cards = lines.form.cards[player]
  base = (swaps.shape[1], 1)
  codes = np.sort(cards, 1) @ base
  order = np.argsort(codes)
  becomes = order[np.searchsorted(codes[order], np.sort(swaps[:, cards], 2) @ base)]
  return np.argsort(becomes, 1).astype(np.int32)


def fold_suits(tree: PublicTree, over: Variant | None = None) -> Variant:
  """The tree with one row for each orbit, if any rows are alike; else the tree itself.

  `over` is a variant of the tree to fold instead, with rows taken out; on its way back it may fill these with
  locked strategies. Renamings that change a locked strategy are left out. Nothing is folded where leaves have
  several copies (`tree.locks`), of which boards may have unlike numbers.
  """
  over, labels, leaves = Variant.of(tree) if over is None else over, tree.names, tree.leaves
  if not (isinstance(labels, FormLabels) and isinstance(leaves, BoardLeaves)):
    return over
  if any(a.leaf.children != b.leaf.children for a, b in zip(over.tree.players, tree.players, strict=True)):
    return over
  assert isinstance(labels.source, FormOrigin)
  lines = labels.source.lines
  swaps = _symmetries(lines, tree, labels.places, over)
  boards = lines.dealt.orbits if swaps is lines.form.swaps else orbit_maps(lines.dealt, swaps)
  if swaps is None or boards is None:
    return over
  parts = [_leaves(board, count) for board, both in zip(boards, leaves.leaves, strict=True) for count in both]
  rows = [_rows(lines, boards, i, places, tree, over) for i, places in enumerate(labels.places)]
  permuted = columns(lines, 0, swaps), columns(lines, 1, swaps)
  first, second = (_forest(over.tree.players[i], rows[i], parts, permuted[i]) for i in (0, 1))
  kept = over.tree.leaves.on_boards([np.flatnonzero(board.kept) for board in boards])
  if kept is None:
    return over
  smaller = PublicTree(
    (first, second),
    kept,
    boards=None if over.tree.boards is None else _boards(over.tree.boards, boards, rows),
  )
  return over.then(Variant(smaller, partial(_folded, rows), partial(_unfolded, rows, permuted)))


def _folded(
  rows: Sequence[Sequence[OrbitMap]], player: int, tables: Sequence[np.ndarray]
) -> list[np.ndarray]:
  return [x[:, stand.kept] for x, stand in zip(tables, rows[player], strict=True)]


def _unfolded(
  rows: Sequence[Sequence[OrbitMap]],
  permuted: Sequence[np.ndarray],
  player: int,
  tables: Sequence[np.ndarray],
) -> list[np.ndarray]:
  unfolded = []
  for table, stand in zip(tables, rows[player], strict=True):
    every = np.empty((len(table), len(stand.number), table.shape[2]), table.dtype)
    for swap in np.unique(stand.swap):  # a few; each copies its part of the table alone
      renamed = np.flatnonzero(stand.swap == swap)
      every[:, renamed] = table[:, stand.number[renamed]][..., permuted[player][swap]]
    unfolded.append(every)
  return unfolded


def _symmetries(
  lines: PublicStateIndex, tree: PublicTree, places: Sequence[np.ndarray], over: Variant
) -> np.ndarray | None:
  """The renamings, int[S, cards], that change no strategy which the way back from a variant fills in."""
  swaps = lines.form.swaps
  if swaps is None or over.tree is tree:
    return swaps
  streets = range(len(lines.dealt.runouts))
  images, same = (
    [renamed_runouts(lines.dealt, street, swaps) for street in streets],
    np.ones(len(swaps), bool),
  )
  for player in (0, 1):
    nothing = [np.full(shape, np.nan) for shape in over.tree.players[player].block_shapes]
    tables, permuted = over.back(player, nothing), columns(lines, player, swaps)
    start = 0
    for street in lines.betting.street[lines.betting.player == player].tolist():
      block, rows = places[player][start : start + lines.boards[street]].T  # of one line on all boards
      start += lines.boards[street]
      locked = tables[block[0]][:, rows]
      for s in np.flatnonzero(same) if not np.isnan(locked).all() else ():
        same[s] = np.array_equal(locked[:, images[street][s]], locked[:, :, permuted[s]], equal_nan=True)
  return swaps[same]


def _leaves(board: OrbitMap, count: int) -> OrbitMap:
  """The orbits of a part of the leaves, which has `count` of each board, board by board."""
  row = board.row[:, None] * count + np.arange(count, dtype=np.int32)
  return OrbitMap(row.ravel(), np.repeat(board.swap, count))


def _rows(
  lines: PublicStateIndex,
  boards: Sequence[OrbitMap],
  player: int,
  places: np.ndarray,
  tree: PublicTree,
  over: Variant,
) -> tuple[OrbitMap, ...]:
  """The orbits of a variant's rows, for each block; `places` is int[R, 2], (block, row) in `tree`."""
  streets = lines.betting.street[lines.betting.player == player].tolist()
  starts = np.cumsum([0, *(lines.boards[street] for street in streets)])
  empty = [np.zeros(0, int)]
  row = np.concatenate(empty + [start + boards[s].row for start, s in zip(starts, streets, strict=False)])
  swap = np.concatenate(empty + [boards[s].swap for s in streets])
  numbers = [np.zeros((actions, count, 1)) for actions, count, _ in tree.players[player].block_shapes]
  for block, table in enumerate(numbers):
    members = np.flatnonzero(places[:, 0] == block)
    table[:, places[members, 1], 0] = members
  maps = []
  for table in over.there(player, numbers):
    # The variant's rows, by their numbers in `places`; orbits stay together.
    kept = table[0, :, 0].astype(int)
    order = np.argsort(kept)
    stands = order[np.searchsorted(kept[order], row[kept])].astype(np.int32)
    maps.append(OrbitMap(stands, swap[kept]))
  return tuple(maps)


def _boards(boards: Boards, orbits: Sequence[OrbitMap], rows: Sequence[Sequence[OrbitMap]]) -> Boards:
  """The boards that are kept, and of the rows that are kept; `orbits` of each street."""
  above, lengths, swaps, renumbered, before = [], [], [], [], None
  for up, orbit in zip(boards.above, orbits, strict=True):
    kept = orbit.kept
    above.append(np.zeros(1, int) if before is None else before.number[up[kept]])
    below = np.ones(1, bool) if before is None else before.kept[up]  # boards that continue one that is kept
    order = np.flatnonzero(below)[np.argsort(orbit.number[below], kind="stable")]
    lengths.append(np.bincount(orbit.number[below], minlength=int(kept.sum())))
    swaps.append(orbit.swap[order])
    renumbered.append(sum(map(len, above[:-1])) + orbit.number)
    before = orbit
  number = np.concatenate(renumbered)
  row_boards = [
    tuple(number[board[stand.kept]] for board, stand in zip(of, stands, strict=True))
    for of, stands in zip(boards.rows, rows, strict=True)
  ]
  start = np.cumsum([0, *np.concatenate(lengths)])
  return Boards(tuple(above), tuple(row_boards), start, np.concatenate(swaps))


def _forest(
  tree: PlayerTree, rows: Sequence[OrbitMap], leaves: Sequence[OrbitMap], swaps: np.ndarray
) -> PlayerTree:
  roots = np.ones(tree.roots, bool), np.arange(tree.roots)
  levels, above, sizes, block = [], roots, (tree.roots,), 0
  for level in tree.levels:
    level_rows = rows[block : block + len(level.actions)]
    levels.append(Level(_link(level.link, above, sizes, level_rows, swaps), level.actions))
    above, sizes = _sequences(level.shapes, level_rows, 0)
    block += len(level.actions)
  shapes = [(actions, count) for actions, count, _ in tree.block_shapes]
  (kept, number), sizes = _sequences(shapes, rows, tree.roots)
  kept[: tree.roots], number[: tree.roots] = roots
  leaf = _link(tree.leaf, (kept, number), (tree.roots, *sizes), leaves, swaps)
  return PlayerTree(tuple(levels), leaf, tree.types)


def _sequences(
  shapes: Sequence[tuple[int, int]], rows: Sequence[OrbitMap], roots: int
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[int, ...]]:
  """The sequences of some blocks: those kept, their new numbers, and the count that each block keeps.

  The first two have room for roots in front.
  """
  kept = [int(stand.kept.sum()) for stand in rows]
  smaller = [(actions, count) for (actions, _), count in zip(shapes, kept, strict=True)]
  alive, number = [np.zeros(roots, bool)], [np.zeros(roots, int)]
  for block, ((actions, _), stand) in enumerate(zip(shapes, rows, strict=True)):
    action = np.arange(actions)[:, None]
    alive.append(np.tile(stand.kept, actions))
    number.append(sequence_numbers(smaller, block, stand.number, action, roots).ravel())
  return (np.concatenate(alive), np.concatenate(number)), tuple(a * n for a, n in smaller)


def _link(
  link: Link,
  parents: tuple[np.ndarray, np.ndarray],
  sizes: Sequence[int],
  children: Sequence[OrbitMap],
  swaps: np.ndarray,
) -> Link:
  """The link between the rows that are kept.

  `parents` has of all parent rows whether they are kept, bool, and their new numbers, int; `sizes` is the
  count kept in each part.
  """
  counts = [int(stand.kept.sum()) for stand in children]
  starts = np.cumsum([0, *counts])
  numbered = [start + stand.number for start, stand in zip(starts, children, strict=False)]
  source, kept = np.concatenate(numbered), np.concatenate([stand.kept for stand in children])
  swap = np.concatenate([stand.swap for stand in children])
  alive, number = parents
  below = alive[link.index]  # all rows below parents that are kept; those that are kept are among them
  smaller = Link.create(number[link.index[kept]], sizes, counts)
  if not swap[below].any():
    return smaller
  members = (source[below], number[link.index[below]], swap[below])
  order = np.argsort(members[0], kind="stable")  # as `Orbit.source` wants it
  of, under, by = (x[order].astype(np.int32) for x in members)
  return dataclasses.replace(smaller, orbit=Orbit(of, under, by, swaps))
