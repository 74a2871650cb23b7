"""Streets of a card game as constant numbers of slabs, for passes with boards as an axis (`board_passes`).

A line of betting is the same on all boards, so links between its decisions concern whole *slabs*, arrays
[boards, hands]. A *group* has a player's decisions of one street that have the same number of actions and of
the player's own decisions before them. It is a part of a block, and in a bucket's table some runs of rows.

The slabs of a player on a street are numbered: first those that *enter* it, of sequences played earlier (on
the first street the empty one), then those of each group, action by action.
"""

import itertools
from typing import NamedTuple

import numpy as np

from ps_cfr_spiel.backend.array_shapes import Int
from ps_cfr_spiel.tree.public_tree import Boards, PlayerTree


class Group(NamedTuple):
  """The decisions of a player on a street at one depth, with the same number of actions."""

  actions: int
  lines: int
  bucket: int  #: of which it is a part
  runs: tuple[tuple[int, int], ...]  #: of its rows in the bucket, line by line: the first row and the number
  above: tuple[int, ...]  #: for each line the slab of the sequence before it


class Street(NamedTuple):
  """A player's slabs on a street."""

  boards: int
  enter: tuple[int, ...]  #: the slabs of the street before that enter this one; of the first street (0,)
  groups: tuple[Group, ...]  #: by depth
  shown: tuple[int, ...]  #: the slab above each showdown or all-in of a board
  folds: tuple[int, ...]  #: the same of each fold

  @property
  def starts(self) -> list[int]:
    """The first slab of each group."""
    sizes = [group.actions * group.lines for group in self.groups]
    return list(itertools.accumulate(sizes, initial=len(self.enter)))[:-1]


class PlayerStreets(NamedTuple):
  """All that is constant of a player's decisions."""

  types: int
  buckets: tuple[tuple[int, int, int], ...]  #: (A, rows, H) of each bucket
  streets: tuple[Street, ...]


def player_streets(player: PlayerTree, boards: Boards, number: int) -> PlayerStreets:
  """A player's slabs and groups, from the rows and links of the tree."""
  counts, starts, places = list(map(len, boards.above)), boards.starts, player.places
  # A number for every slab of the player, the root's first, its street, and the slab of every sequence.
  streets, of_sequence, slabs = [np.full(1, -1)], [np.zeros(1, int)], 1
  parts: list[tuple[int, int, Int[np.ndarray, " _"], int]] = []  # street, block, rows, the first slab
  for block, ((actions, count, _), board) in enumerate(
    zip(player.block_shapes, boards.rows[number], strict=True)
  ):
    street, slab = np.searchsorted(starts, board, side="right") - 1, np.zeros((actions, count), int)
    for s in np.unique(street).tolist():
      rows = np.flatnonzero(street == s)
      lines = len(rows) // counts[s]
      assert np.array_equal(board[rows], starts[s] + np.tile(np.arange(counts[s]), lines))
      slab[:, rows] = np.repeat(slabs + np.arange(actions * lines).reshape(actions, -1), counts[s], 1)
      parts.append((s, block, rows, slabs))
      streets.append(np.full(actions * lines, s))
      slabs += actions * lines
    of_sequence.append(slab.ravel())
  street_of, slab_of = np.concatenate(streets), np.concatenate(of_sequence)

  # The slab above every row, and above every leaf of a board.
  rows_above = np.split(slab_of[np.concatenate([np.zeros(0, int), *player.above()])], _ends(player))
  leaf = np.split(slab_of[player.leaf.index], np.cumsum(player.leaf.children)[:-1])
  ends = [
    _alike(part.reshape(counts[k // 2], -1)) if len(part) else np.zeros(0, int) for k, part in enumerate(leaf)
  ]
  above = [_alike(rows_above[block][rows].reshape(-1, counts[s]).T) for s, block, rows, _ in parts]

  made, before = [], {0: 0}  # the number on the street before of each slab
  for s in range(len(counts)):
    below = [up for up, (t, *_) in zip(above, parts, strict=True) if t >= s] + ends[2 * s :]
    needed = np.unique(np.concatenate(below))
    enter = [0] if s == 0 else needed[street_of[needed] < s].tolist()
    numbers = {slab: k for k, slab in enumerate(enter)}
    groups = []
    for up, (t, block, rows, first) in zip(above, parts, strict=True):
      if t == s:
        actions = player.block_shapes[block][0]
        numbers |= {first + k: len(numbers) + k for k in range(actions * len(up))}
        bucket, offset = places[block]
        groups.append((Group(actions, len(up), bucket, _runs(offset + rows), ()), up))
    numbered = lambda slabs, numbers=numbers: tuple(numbers[slab] for slab in slabs.tolist())  # noqa: E731
    made.append(
      Street(
        counts[s],
        tuple(before[slab] for slab in enter),
        tuple(group._replace(above=numbered(up)) for group, up in groups),
        *(numbered(ends[2 * s + k]) for k in (0, 1)),
      )
    )
    before = numbers
  return PlayerStreets(player.types, tuple(player.bucket_shapes), tuple(made))


def _ends(player: PlayerTree) -> Int[np.ndarray, " _"]:
  """The ends of all blocks but the last among the player's rows."""
  return np.cumsum([rows for _, rows, _ in player.block_shapes])[:-1]


def _alike(slabs: Int[np.ndarray, "boards n"]) -> Int[np.ndarray, " n"]:
  """The slab above each of n lines, which is the same on all boards."""
  assert (slabs == slabs[:1]).all()
  return slabs[0]


def _runs(rows: Int[np.ndarray, " n"]) -> tuple[tuple[int, int], ...]:
  """Ascending rows as runs: the first row and the number of each."""
  runs = np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1)
  return tuple((int(run[0]), len(run)) for run in runs)


def renamed_columns(player: PlayerTree) -> Int[np.ndarray, "swaps H"]:
  """For each renaming the hand from which each comes; without folded suits that of no renaming."""
  links = [*(level.link for level in player.levels), player.leaf]
  columns = [link.orbit.columns for link in links if link.orbit is not None]
  return np.asarray(columns[0]) if columns else np.arange(player.types)[None]


def ways_back(
  boards: Boards, street: int, columns: Int[np.ndarray, "swaps H"]
) -> Int[np.ndarray, " _places"] | None:
  """See `BoardAxis.back`."""
  above, start = boards.above[street], boards.starts[street]
  first, last = boards.start[start : start + len(above)], boards.start[start + 1 : start + 1 + len(above)]
  if (last - first == 1).all() and (np.diff(above) >= 0).all():
    return None
  order = np.argsort(above, kind="stable")
  board = np.repeat(order, (last - first)[order])
  swap = np.concatenate([boards.swap[first[b] : last[b]] for b in order])
  # The same number of cards may come after every board.
  assert len(set(np.bincount(above[board]).tolist())) == 1
  return (board[:, None] * columns.shape[1] + columns[swap]).astype(np.int32).ravel()
