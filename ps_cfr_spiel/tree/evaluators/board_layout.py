"""A tree's rows and leaves in the order of its boards, as the native library reads them (`stream.cc`).

`Boards` has the board of each row, and how boards follow each other. A *unit* is a board with the rows and
leaves that are dealt there, or a part of a river's betting (`betting_parts`). A player's sequences have
addresses in a stack, which begins with the root's; then come those of the first unit, the *trunk*, of a unit
below it, and so on.

An all-in with cards to come is a showdown on every board of the last street below. A row without a decision,
a *pass*, leads there on each street between, so that renamed suits are added up street by street.
"""

from typing import NamedTuple

import numpy as np

from ps_cfr_spiel.backend.array_shapes import Float, Int
from ps_cfr_spiel.tree.arrays import Array
from ps_cfr_spiel.tree.evaluators.board_leaves import AllInLeaves, BoardLeaves
from ps_cfr_spiel.tree.evaluators.showdown_sweep import NativeLeaves
from ps_cfr_spiel.tree.leaf_evaluator import LeafEvaluator
from ps_cfr_spiel.tree.public_tree import Boards, PlayerTree
from ps_cfr_spiel.tree.sequences import sequence_starts


class PlayerLayout(NamedTuple):
  """A player's rows and leaves, in the order of boards; items are all rows, and then all leaves."""

  buckets: Int[Array, "K 3"]  #: of each bucket the actions, the rows, and its first sequence in a column
  #: table (-1: a pass), row in it, address of the sequence above, of the first action.
  rows: Int[Array, "R 4"]
  leaves: Int[Array, " L"]  #: the address of each leaf's sequence
  utility: Float[Array, " L"]  #: the payoff of a showdown or of a fold
  #: start, parent, swap, columns: as in `player_passes.Members`, with addresses for sequences; an
  #: item without members counts for the one sequence above it, as nearly all leaves do.
  start: Int[Array, " _"]
  parent: Int[Array, " M"]
  swap: Int[Array, " M"]
  columns: Array
  #: known: the addresses of leaves in the trunk whose values no reach changes, and these values.
  known_at: Int[Array, " m"]
  known: Float[Array, "m _H"]


def folds_of(street: LeafEvaluator) -> LeafEvaluator:
  """The evaluator of the folds of a street."""
  return street.folds if isinstance(street, AllInLeaves) else street


def native_folds(street: LeafEvaluator) -> NativeLeaves:
  """The same in a tree with a traversal."""
  folds = folds_of(street)
  assert isinstance(folds, NativeLeaves)
  return folds


class Units(NamedTuple):
  """The units of a tree, each followed by those below it."""

  street: Int[np.ndarray, " U"]
  board: Int[np.ndarray, " U"]  #: its number on the street
  above: Int[np.ndarray, " U"]  #: the unit above; -1 for the first
  rows: tuple[Int[np.ndarray, " R0"], Int[np.ndarray, " R1"]]  #: the unit of each row of the players

  @property
  def depth(self) -> Int[np.ndarray, " U"]:
    """The number of units above each."""
    depth = np.zeros(len(self.above), int)
    for unit, above in enumerate(self.above.tolist()[1:], start=1):
      depth[unit] = depth[above] + 1
    return depth


def units_of(boards: Boards) -> tuple[Units, Int[np.ndarray, " _boards"]]:
  """Boards as units, and the unit of each board."""
  starts, below = boards.starts, [[] for _ in range(boards.starts[-1])]
  over = np.full(len(below), -1)
  for street, above in enumerate(boards.above[1:], start=1):
    over[starts[street] : starts[street + 1]] = starts[street - 1] + above
    for b, up in enumerate(above.tolist()):
      below[starts[street - 1] + up].append(starts[street] + b)
  order, waiting = [], [0]
  while waiting:
    board = waiting.pop()
    order.append(board)
    waiting += below[board][::-1]
  street = np.searchsorted(starts, order, side="right") - 1
  unit = np.empty(len(order), int)
  unit[order] = np.arange(len(order))
  above = np.append(-1, unit[over[order[1:]]])
  first, second = (unit[np.concatenate([np.zeros(0, int), *blocks])] for blocks in boards.rows)
  return Units(street, np.array(order) - np.array(starts)[street], above, (first, second)), unit


class Ends(NamedTuple):
  """The passes of all-ins, P, and the leaves, L, in the order of boards, showdowns before folds."""

  #: int[P, 3], unit, all-in (its number among leaves, -1 if the pass above leads to it), board.
  passes: np.ndarray
  above: np.ndarray  #: int[P], the pass above; -1 for none
  unit: np.ndarray  #: int[L], of each leaf
  fold: np.ndarray  #: bool[L]
  leaf: np.ndarray  #: int[L], its number among the tree's leaves; -1 below a pass
  below: np.ndarray  #: int[L], the pass above; -1 for none
  board: np.ndarray  #: int[L], counted through all streets
  utility: np.ndarray  #: float[2, L], to each player; of a showdown to the winner

  def in_parts(self, part: Int[np.ndarray, " L"]) -> "Ends":
    """The same on one board, by the part of each leaf, in the order of the tree's leaves."""
    unit = part[self.leaf]
    order = np.lexsort((self.fold, unit))
    taken = [x[order] for x in (unit, self.fold, self.leaf, self.below, self.board)]
    return Ends(self.passes, self.above, *taken, utility=self.utility[:, order])

  @classmethod
  def of(cls, leaves: BoardLeaves, boards: Boards, unit: np.ndarray) -> "Ends":
    """All passes and leaves of a tree; `unit` of each board."""
    starts, last, first = boards.starts, len(leaves.boards) - 1, 0
    passes, above, ends = [], [], []
    open_, payoffs = np.zeros((1, 0), int), np.zeros(0)  # the passes of each board, and their payoffs
    nothing = np.zeros(0, int)
    for s, (street, count, (shown, folds)) in enumerate(
      zip(leaves.streets, leaves.boards, leaves.leaves, strict=True)
    ):
      assert isinstance(street, AllInLeaves | NativeLeaves)
      numbers = np.arange(count)
      # All-ins of earlier streets, and then those, or the showdowns, of this one.
      coming = open_[boards.above[s]] if s else open_
      leaves_of_boards = first + np.arange(count * shown).reshape(count, shown)
      leaf = np.concatenate([np.full(coming.shape, -1), leaves_of_boards], 1)
      up = np.concatenate([coming, np.full(leaves_of_boards.shape, -1)], 1)
      showdown_payoff = np.asarray(street.showdown_payoff)[0][:shown] if shown else np.zeros(0)
      payoffs = np.concatenate([payoffs, showdown_payoff])
      if s < last:
        board = np.broadcast_to(starts[s] + numbers[:, None], leaf.shape)
        open_ = len(np.concatenate([nothing, *above])) + np.arange(leaf.size).reshape(leaf.shape)
        passes.append(np.stack([unit[board.ravel()], leaf.ravel(), board.ravel()], 1))
        above.append(up.ravel())
      else:
        ends.append((leaf, up, np.broadcast_to(payoffs, (2, *leaf.shape)), numbers, s, False))
      first += count * shown
      inner = native_folds(street)
      fold_payoff = np.stack([np.asarray(inner.fold_payoff_of(i))[:, :folds] for i in (0, 1)])
      leaf = first + np.arange(count * folds).reshape(count, folds)
      ends.append((leaf, np.full(leaf.shape, -1), fold_payoff, numbers, s, True))
      first += count * folds
    columns, utility = [[], [], [], []], []
    for leaf, up, pays, numbers, s, fold in ends:
      board = np.broadcast_to(starts[s] + numbers[:, None], leaf.shape)
      for column, x in zip(columns, (board, np.full(leaf.shape, fold), leaf, up), strict=True):
        column.append(np.ravel(x))
      utility.append(pays.reshape(2, -1))
    board, fold, leaf, up = map(np.concatenate, columns)
    order = np.lexsort((fold, unit[board]))
    taken = [x[order] for x in (unit[board], fold, leaf, up, board)]
    lines = np.concatenate(passes) if passes else np.zeros((0, 3), int)
    utilities = np.concatenate(utility, 1)[:, order]
    return cls(lines, np.concatenate([nothing, *above]), *taken, utility=utilities)


def layout_of(
  player: PlayerTree, boards: Boards, number: int, units: Units, ends: Ends, known: Array
) -> tuple[PlayerLayout, np.ndarray, tuple[int, int]]:
  """A player's layout, the unit of each of its rows, and the sizes of the trunk and of the stack."""
  shapes, tables = player.block_shapes, player.bucket_shapes
  count, passes = sum(rows for _, rows, _ in shapes), len(ends.passes)
  of_block = np.repeat(np.arange(len(shapes)), [rows for _, rows, _ in shapes])
  in_block = np.concatenate([np.zeros(0, int), *(np.arange(rows) for _, rows, _ in shapes)])
  actions = np.append(np.array([a for a, _, _ in shapes], int)[of_block], np.ones(passes, int))
  at = np.append(units.rows[number], ends.passes[:, 0])
  order = np.argsort(at, kind="stable")  # a unit's rows stay in the order of levels; passes come last

  # Addresses: within the unit, and behind those of the units above.
  ahead = np.cumsum(actions[order]) - actions[order]
  first = np.searchsorted(at[order], at[order])
  ends_of = 1 + np.bincount(at, actions, len(units.above)).astype(int)
  for unit, above in enumerate(units.above.tolist()[1:], start=1):
    ends_of[unit] += ends_of[above] - 1
  begin = np.append(1, ends_of[units.above[1:]])
  address = np.zeros(len(order) + 1, int)  # of each row's first action; the last is of no row
  address[order] = ahead - ahead[first] + begin[at[order]]

  # The address of every sequence, numbered block by block.
  sequences, row = [np.zeros(1, int)], 0
  for a, rows, _ in shapes:
    sequences.append((address[row : row + rows] + np.arange(a)[:, None]).ravel())
    row += rows
  sequence = np.concatenate(sequences)
  sequences_above = np.concatenate([np.zeros(0, int), *player.above()])
  passing = np.where(
    ends.above >= 0, address[count + ends.above], sequence[player.leaf.index[ends.passes[:, 1]]]
  )
  leaves = np.where(ends.below >= 0, address[count + ends.below], sequence[player.leaf.index[ends.leaf]])
  places = np.array(player.places, int).reshape(-1, 2)
  lines = np.concatenate(
    [
      np.stack(
        [places[of_block, 0], places[of_block, 1] + in_block, sequence[sequences_above], address[:count]], 1
      ),
      np.stack([np.full(passes, -1), np.zeros(passes, int), passing, address[count:-1]], 1),
    ]
  )
  above = np.concatenate([lines[order, 2], leaves])
  members = _members(player, boards, ends, sequence, order, above)
  starts = sequence_starts(tables, roots=0)[:-1]
  buckets = np.array([(a, rows, start) for (a, rows, _), start in zip(tables, starts, strict=True)])
  table, ordered, at_leaves = (x.astype(np.int32) for x in (buckets.reshape(-1, 3), lines[order], leaves))
  known_at = sequence[player.leaf.index[len(player.leaf.index) - len(known) :]].astype(np.int32)
  layout = PlayerLayout(table, ordered, at_leaves, ends.utility[number], *members, known_at, known)
  return layout, at[order], (int(ends_of[0]), int(ends_of.max()))


def _members(
  player: PlayerTree, boards: Boards, ends: Ends, sequence: np.ndarray, order: np.ndarray, above: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
  """start, parent, swap, columns of `PlayerLayout`; `order` of the rows, and the sequence above each item."""
  links, count = [*(level.link for level in player.levels), player.leaf], len(order)
  folded = [link.orbit for link in links if link.orbit is not None]
  if not folded:
    nothing = np.zeros(0, np.int32)
    return nothing, nothing, nothing, np.zeros((0, player.types), np.int32)
  # The members of rows and of the tree's leaves, as the links have them, and those of boards for passes.
  starts, ends_, parents, swaps, begin = [], [], [], [], 0
  for link, base in zip(links, (*player.link_starts, 0), strict=True):
    m = len(link.index)
    orbit = link.orbit
    source = np.arange(m) if orbit is None else np.asarray(orbit.source)
    parents.append(sequence[base + (link.index if orbit is None else np.asarray(orbit.parent))])
    swaps.append(np.zeros(m, int) if orbit is None else np.asarray(orbit.swap))
    starts.append(begin + np.searchsorted(source, np.arange(m)))
    ends_.append(begin + np.searchsorted(source, np.arange(m), side="right"))
    begin += len(source)
  rows = sum(len(x) for x in starts[:-1])
  first, last = np.concatenate(starts), np.concatenate(ends_)
  parent, swap = np.concatenate(parents), np.concatenate(swaps)
  where = np.concatenate(
    [
      np.append(np.arange(rows), np.where(ends.above >= 0, -1, rows + ends.passes[:, 1]))[order],
      np.where(ends.below >= 0, -1, rows + ends.leaf),
    ]
  )
  board = np.concatenate([np.append(np.zeros(rows, int), ends.passes[:, 2])[order], ends.board])
  linked = where >= 0
  lengths = np.where(linked, (last - first)[where], np.diff(boards.start)[board])
  origin = np.where(linked, first[where], boards.start[board])
  start = np.cumsum([0, *lengths])
  item = np.repeat(np.arange(len(lengths)), lengths)
  at = origin[item] + np.arange(start[-1]) - start[item]
  by_link = linked[item]
  found_parent, found_swap = above[item].copy(), np.zeros(len(item), int)
  found_parent[by_link], found_swap[by_link] = parent[at[by_link]], swap[at[by_link]]
  found_swap[~by_link] = boards.swap[at[~by_link]]
  assert count + len(ends.leaf) == len(lengths)
  told = (lengths != 1)[item] | (found_swap != 0) | (found_parent != above[item])
  start = np.append(0, np.cumsum(told))[start]
  first, second, third = (x.astype(np.int32) for x in (start, found_parent[told], found_swap[told]))
  return first, second, third, np.asarray(folded[0].columns, np.int32)
