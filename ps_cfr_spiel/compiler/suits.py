"""Suit isomorphism: the tree that a solver runs on has one row for all boards that differ in names of suits.

A form with public cards may say which renamings of its cards change nothing (`PublicCardsForm.swaps`). They
make runouts into one another; of each orbit the first runout stands for the others. Reach goes down to the
rows that are kept, as ever. Values come up as the sum over the orbit, each member's columns permuted
(`tree.Orbit`). The tree of the host, and with it labels, policies and files, has all rows;
`FoldedTree.unfold` leads back.
"""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ps_cfr_spiel.compiler.form_labels import Deals, FormLabels
from ps_cfr_spiel.compiler.forms import Lines
from ps_cfr_spiel.tree import BoardLeaves, Level, Link, Orbit, PlayerTree, PublicTree, sequence_numbers


class OrbitMap(NamedTuple):
  """Which of n rows stand for which.

  Attributes:
    row: int[n], the row that stands for each; a row that is kept stands for itself.
    swap: int[n], the renaming that makes that row into this one; 0, which changes nothing, where it is kept.
  """

  row: np.ndarray
  swap: np.ndarray

  @property
  def kept(self) -> np.ndarray:
    """bool[n]: rows that stand for themselves."""
    return self.row == np.arange(len(self.row))

  @property
  def number(self) -> np.ndarray:
    """int[n]: the number, among the rows that are kept, of the one that stands for each."""
    return (np.cumsum(self.kept) - 1)[self.row]


def orbit_maps(lines: Lines) -> tuple[OrbitMap, ...] | None:
  """For each street which runouts stand for which; None if each stands for itself."""
  swaps = getattr(lines.form, "swaps", None)
  if swaps is None or len(swaps) == 1:
    return None
  found = []
  for runouts in lines.runouts:
    # A runout as a number, in whose order they are listed; and what each renaming makes of each, int[S, B].
    digits = swaps.shape[1] ** np.arange(runouts.shape[1])[::-1]
    images = np.searchsorted(runouts @ digits, swaps[:, runouts] @ digits)
    first = images.min(0)
    found.append(OrbitMap(first, (images[:, first] == np.arange(len(runouts))).argmax(0)))
  return tuple(found)


def columns(lines: Lines, player: int) -> np.ndarray:
  """int32[S, H]: for each renaming the type that becomes each type, and whose column becomes its column."""
  swaps, cards = lines.form.swaps, lines.form.cards[player]
  base = (swaps.shape[1], 1)
  codes = np.sort(cards, 1) @ base
  order = np.argsort(codes)
  images = order[np.searchsorted(codes[order], np.sort(swaps[:, cards], 2) @ base)]  # what each type becomes
  return np.argsort(images, 1).astype(np.int32)


@dataclasses.dataclass(frozen=True, eq=False)
class FoldedTree:
  """A tree with the rows that are kept, and the way back.

  Attributes:
    tree: for the device; without labels.
    rows: for each player and block of the whole tree which of its rows stand for which.
    columns: for each player int32[S, H]; see `columns`.
  """

  tree: PublicTree
  rows: tuple[tuple[OrbitMap, ...], ...]
  columns: tuple[np.ndarray, ...]

  def unfold(self, player: int, tables: Sequence[np.ndarray]) -> list[np.ndarray]:
    """A player's tables of the whole tree, [n, rows, H] for each block, from those of this one."""
    found = []
    for table, stand in zip(tables, self.rows[player], strict=True):
      rows = np.asarray(table)[:, stand.number]
      found.append(np.take_along_axis(rows, self.columns[player][stand.swap][None], 2))
    return found

  def fold(self, player: int, tables: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The inverse of `unfold`: what the rows that are kept have."""
    return [np.asarray(x)[:, stand.kept] for x, stand in zip(tables, self.rows[player], strict=True)]


def fold_suits(tree: PublicTree) -> FoldedTree | None:
  """The tree with one row for each orbit; None if no two rows are alike, or the tree is of another kind."""
  labels, leaves = tree.names, tree.leaves
  if not (isinstance(labels, FormLabels) and isinstance(leaves, BoardLeaves)):
    return None
  assert isinstance(labels.source, Deals)
  lines = labels.source.lines
  boards = orbit_maps(lines)
  if boards is None:
    return None
  counts = zip(boards, leaves.leaves, strict=True)
  parts = [_leaves(board, count) for board, both in counts for count in both]
  rows = tuple(_rows(lines, boards, player, places) for player, places in enumerate(labels.places))
  swaps = columns(lines, 0), columns(lines, 1)
  first, second = (_forest(tree.players[i], rows[i], parts, swaps[i]) for i in (0, 1))
  kept = leaves.on_boards([np.flatnonzero(board.kept) for board in boards])
  return FoldedTree(PublicTree((first, second), kept), rows, swaps)


def _leaves(board: OrbitMap, count: int) -> OrbitMap:
  """Of a part of the leaves, which has `count` of each board, board by board."""
  row = board.row[:, None] * count + np.arange(count)
  return OrbitMap(row.ravel(), np.repeat(board.swap, count))


def _rows(lines: Lines, boards: Sequence[OrbitMap], player: int, places: np.ndarray) -> tuple[OrbitMap, ...]:
  """For each block which rows stand for which; `places` is int[R, 2], (block, row in block)."""
  streets = lines.street[lines.form.player == player].tolist()
  starts = np.cumsum([0, *(lines.boards[street] for street in streets)])
  empty = [np.zeros(0, int)]
  row = np.concatenate(empty + [start + boards[s].row for start, s in zip(starts, streets, strict=False)])
  swap = np.concatenate(empty + [boards[s].swap for s in streets])
  found = []
  for block in range(places[:, 0].max(initial=-1) + 1):
    members = np.flatnonzero(places[:, 0] == block)
    order = members[np.argsort(places[members, 1])]  # by their place in the block
    found.append(OrbitMap(places[row[order], 1], swap[order]))
  return tuple(found)


def _forest(
  tree: PlayerTree, rows: Sequence[OrbitMap], leaves: Sequence[OrbitMap], swaps: np.ndarray
) -> PlayerTree:
  """A player's decisions with the rows and leaves that are kept."""
  roots = np.ones(tree.roots, bool), np.arange(tree.roots)
  levels, above, sizes, block = [], roots, (tree.roots,), 0
  for level in tree.levels:
    here = rows[block : block + len(level.actions)]
    levels.append(Level(_link(level.link, above, sizes, here, swaps), level.actions))
    above, sizes = _sequences(level.shapes, here, 0)
    block += len(level.actions)
  shapes = [(actions, count) for actions, count, _ in tree.block_shapes]
  (kept, number), sizes = _sequences(shapes, rows, tree.roots)
  kept[: tree.roots], number[: tree.roots] = roots
  leaf = _link(tree.leaf, (kept, number), (tree.roots, *sizes), leaves, swaps)
  return PlayerTree(tuple(levels), leaf, tree.types)


def _sequences(
  shapes: Sequence[tuple[int, int]], rows: Sequence[OrbitMap], roots: int
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[int, ...]]:
  """Of the sequences of some blocks: which are kept, their new numbers, and how many each block keeps.

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

  Args:
    link: between all rows.
    parents: bool, int, of all parent rows: which are kept, and their new numbers.
    sizes: how many are kept in each part of the parents.
    children: of each part of the children.
    swaps: the player's `columns`.
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
  of, under, by = (x.astype(np.int32) for x in members)
  return dataclasses.replace(smaller, orbit=Orbit(of, under, by, swaps))
