"""The compilation of a game's own form into a `PublicTree`, without visiting a history.

A Bayesian game (Kovařík et al. 2021, Definition 2) has a method `bayesian_form()` that returns plain data
(`forms`). With public cards to come, a row is a line of betting with one runout, and every row has all types
of the deal at the root.
"""

import functools
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import jax
import numpy as np
import pyspiel

from ps_cfr_spiel.backend.device import platform
from ps_cfr_spiel.backend.native import why_unavailable
from ps_cfr_spiel.cards.poker import Betting
from ps_cfr_spiel.compilation.compiler.dealt_boards import CHUNK
from ps_cfr_spiel.compilation.compiler.form_labels import FormLabels
from ps_cfr_spiel.compilation.compiler.forms import LineIndex, PublicStateIndex
from ps_cfr_spiel.options import CPU
from ps_cfr_spiel.tree import (
  AllInLeaves,
  BoardLeaves,
  Boards,
  BoardTypes,
  DenseLeaves,
  LeafEvaluator,
  NativeLeaves,
  PlayerTree,
  PublicTree,
  ShowdownLeaves,
  is_batched,
  joined,
  make_forest,
)

FormLeaves = DenseLeaves | ShowdownLeaves | NativeLeaves
LEAVES: dict[str, type[FormLeaves]] = {
  "dense": DenseLeaves,
  "showdown": ShowdownLeaves,
  "native": NativeLeaves,
}
FEW_PAIRS = 400  # of types, up to which matrices are the fastest evaluator (benchmarks/engineering/leaves.py)


class StreetEnds(NamedTuple):
  """Some of the n ends of a street on one of its boards: a part of the leaves."""

  line: np.ndarray  #: int[n], the line of the last action
  #: float64[n], the payoff of a showdown or an all-in, or a fold's, to player 0; a fold's is [n, 2], to each
  #: player, in a general-sum game.
  utility: np.ndarray

  def take(self, kept: np.ndarray) -> "StreetEnds":
    """Those with some numbers."""
    return StreetEnds(self.line[kept], self.utility[kept])


def build_bayesian(game: pyspiel.Game, lines: PublicStateIndex, leaves: str = "auto") -> PublicTree:
  """Compile a form from its public states; see `build_tree`."""
  first, second = lines.form.weights
  streets = street_ends(lines.betting)
  forests, places = make_decisions(lines, streets, (len(first), len(second)))
  boards, evaluator = _boards(lines, forests, places), make_leaves(lines, leaves, streets)
  return PublicTree(forests, evaluator, FormLabels.create(game, lines, places), boards)


def make_decisions(
  lines: LineIndex, streets: Sequence[tuple[StreetEnds, ...]], types: tuple[int, int]
) -> tuple[tuple[PlayerTree, PlayerTree], tuple[np.ndarray, np.ndarray]]:
  """Each player's decisions, and int[rows, 2], the (block, row) of each row, line by line.

  `streets` are of `street_ends`, `types` the numbers of types. The leaves are the ends of each street, the
  showdowns first, board by board.
  """
  parts = [part.line for street in streets for part in street]

  def of_player(player: int) -> tuple[PlayerTree, np.ndarray]:
    rows = np.flatnonzero(lines.betting.player == player)
    choices = lines.last_choices(player)
    return make_forest(
      choices(*lines.places(rows)),
      np.repeat(lines.betting.num_actions[rows], lines.sizes[rows]),
      [choices(*lines.board_by_board(part)) for part in parts],
      types[player],
    )

  (first, first_places), (second, second_places) = of_player(0), of_player(1)
  return (first, second), (first_places, second_places)


def _boards(
  lines: PublicStateIndex, forests: Sequence[PlayerTree], places: Sequence[np.ndarray]
) -> Boards | None:
  """The boards of a form with public cards; `places` of each player's rows, (block, row)."""
  streets = len(lines.boards)
  if streets == 1:
    return None
  numbers = [np.arange(count) for count in lines.boards]
  above = [numbers[s] // (lines.boards[s] // lines.boards[max(s - 1, 0)]) for s in range(streets)]
  starts = np.cumsum([0, *lines.boards])
  rows = []
  for player, (forest, place) in enumerate(zip(forests, places, strict=True)):
    line, runout = lines.places(np.flatnonzero(lines.betting.player == player))
    boards_of_rows = tuple(np.zeros(count, np.int32) for _, count, _ in forest.block_shapes)
    for block, board in enumerate(boards_of_rows):
      inside = place[:, 0] == block
      board[place[inside, 1]] = (starts[lines.betting.street[line]] + runout)[inside]
    rows.append(boards_of_rows)
  return Boards(tuple(above), tuple(rows), np.arange(starts[-1] + 1), np.zeros(starts[-1], int))


def street_ends(betting: Betting) -> list[tuple[StreetEnds, StreetEnds]]:
  """The showdowns (or all-ins with cards to come) and folds of each street, or of each kind of showdown.

  A showdown that has fixed payoffs too, as from a pot that is raked, is among both: one leaf pays the
  winner, the other the fixed part.
  """
  ends = betting.ends
  # A showdown after an all-in belongs to the street of the all-in.
  acting = betting.last_acting
  street = betting.street[acting] + betting.showdown_index[ends]
  played = betting.showdown_payoff[ends] != 0

  def part(chosen: np.ndarray, utility: np.ndarray) -> StreetEnds:
    return StreetEnds(acting[chosen], utility[ends[chosen]])

  fixed = ~played | betting.fold_payoff[ends].any(1)
  won, folded = betting.showdown_payoff, betting.fold_payoff
  folded = folded[:, 0] if betting.zero_sum else folded
  return [
    (part((street == s) & played, won), part((street == s) & fixed, folded))
    for s in range(max(betting.streets, betting.showdowns))
  ]


def make_leaves(
  lines: PublicStateIndex, kind: str, streets: Sequence[tuple[StreetEnds, StreetEnds]]
) -> LeafEvaluator:
  """The leaf evaluator of this kind; see `leaves_of`."""
  form = lines.form
  evaluator = LEAVES[leaves_of(lines, kind)]
  if len(lines.boards) == 1:
    types = [BoardTypes(form.weights, form.cards, (a, b)) for a, b in zip(*lines.dealt.strength, strict=True)]
    if len(streets) == 1:
      ((showdowns, folds),) = streets
      return evaluator.create(types[0], showdowns.utility, folds.utility)
    made = [[evaluator.create(t, a.utility, b.utility)] for t, (a, b) in zip(types, streets, strict=True)]
    return BoardLeaves.create(made, [(len(first.line), len(second.line)) for first, second in streets])
  return LazyBoardLeaves(lines, evaluator, streets, [np.arange(count) for count in lines.boards])


class LazyBoardLeaves(BoardLeaves):
  """The leaves of a form with public cards, on the host: their tables are made when they are read.

  A solver that folds suits makes those of the boards that it keeps, and a report of the tree's size none.
  JAX takes them for `BoardLeaves`.
  """

  native: ClassVar[bool] = True

  def __init__(
    self,
    lines: PublicStateIndex,
    evaluator: type[FormLeaves],
    ends: Sequence[tuple[StreetEnds, StreetEnds]],
    numbers: Sequence[np.ndarray],
  ):
    """Make it of the ends of each street, on the boards with these numbers there, int[B]."""
    counts = tuple(map(len, numbers))
    leaves = tuple((len(showdowns.line), len(folds.line)) for showdowns, folds in ends)
    vars(self).update(boards=counts, leaves=leaves, batched=is_batched(evaluator.kind, counts))
    self.lines, self.evaluator, self.ends, self.numbers = lines, evaluator, ends, numbers

  @property
  def zero_sum(self) -> bool:
    return self.lines.betting.zero_sum

  @functools.cached_property
  def streets(self) -> tuple[LeafEvaluator, ...]:
    """See `BoardLeaves`."""
    return tuple(map(self._on_street, range(len(self.numbers))))

  def on_boards(self, boards: Sequence[np.ndarray]) -> "LazyBoardLeaves":
    """See `BoardLeaves`."""
    numbers = [number[kept] for number, kept in zip(self.numbers, boards, strict=True)]
    return LazyBoardLeaves(self.lines, self.evaluator, self.ends, numbers)

  def take(self, leaves: Sequence[np.ndarray]) -> BoardLeaves:
    """See `BoardLeaves`; native tables stay unmade where all boards of each street keep the same ends.

    Those of `ShowdownLeaves` have a shape by all boards, with which cuts share compiled code.
    """
    numbers, ends = [], []
    for street, (number, of_street) in enumerate(zip(self.numbers, self.ends, strict=True)):
      parts = list(zip(leaves[2 * street : 2 * street + 2], of_street, strict=True))
      board = np.concatenate([part // max(len(every.line), 1) for part, every in parts], 1)
      kept = [part % max(len(every.line), 1) for part, every in parts]
      alike = all((of_board == of_board[:1]).all() for of_board in (*kept, board.T))
      if self.evaluator is not NativeLeaves or not alike or (board < 0).any():
        return BoardLeaves(self.streets, self.boards, self.leaves, self.batched).take(leaves)
      numbers.append(number[board.max(1, initial=0)])
      ends.append(tuple(every.take(of_board[0]) for of_board, (_, every) in zip(kept, parts, strict=True)))
    return LazyBoardLeaves(self.lines, self.evaluator, ends, numbers)

  def _on_street(self, street: int) -> LeafEvaluator:
    """The evaluator of a street; its arrays have an axis in front, the boards."""
    lines, numbers, (showdowns, folds) = self.lines, self.numbers[street], self.ends[street]
    form, total, last = lines.form, lines.dealt.total, street == len(self.numbers) - 1
    # Strengths exist on the last street only; above it the evaluator gets the folds alone.
    showdown_payoff = showdowns.utility if last else np.zeros(0)

    def on_boards(number: np.ndarray) -> LeafEvaluator:
      first, second = (w * ~lines.dealt.dead[i][street][number] for i, w in enumerate(form.weights))
      nothing = (np.zeros_like(first, np.int32), np.zeros_like(second, np.int32))
      strength = (lines.dealt.strength[0][number], lines.dealt.strength[1][number]) if last else nothing
      types = BoardTypes((first, second), form.cards, strength)
      shown, folded = (np.broadcast_to(x, (len(number), *x.shape)) for x in (showdown_payoff, folds.utility))
      return self.evaluator.create(types, shown, folded, total * lines.dealt.orders(street))

    step = 1 if self.evaluator is DenseLeaves else CHUNK  # the matrices of one board are large enough
    inner = joined([on_boards(numbers[start : start + step]) for start in range(0, len(numbers), step)])
    if last or not len(showdowns.line):
      return inner
    ways = lines.dealt.orders(len(self.numbers) - 1)
    shares = form.weights[0] / total, form.weights[1] / ways
    first, second, payoff = (np.tile(x, (len(numbers), 1)) for x in (*shares, showdowns.utility))
    return _LazyAllInLeaves(lines, street, numbers, (first, second), payoff, inner)


class _LazyAllInLeaves(AllInLeaves):
  """The leaves of a street above the last one, whose matrices are made when they are read.

  A traversal by the native library does not read them, and those of a flop take seconds.
  """

  native: ClassVar[bool] = True

  def __init__(
    self,
    lines: PublicStateIndex,
    street: int,
    numbers: np.ndarray,
    weights: tuple[np.ndarray, np.ndarray],
    showdown_payoff: np.ndarray,
    folds: LeafEvaluator,
  ):
    """Make it of the boards of a street with some numbers, int[B]; the others as in `AllInLeaves`."""
    vars(self).update(weights=weights, showdown_payoff=showdown_payoff, folds=folds)
    self.lines, self.street, self.numbers = lines, street, numbers

  @functools.cached_property
  def net_wins(self) -> np.ndarray:
    """See `AllInLeaves`."""
    lines = self.lines
    dtype = np.int16 if lines.dealt.orders(len(lines.boards) - 1) < 2**15 else np.int32
    boards = [
      lines.dealt.net_wins(self.street, number) * lines.dealt.disjoint for number in self.numbers.tolist()
    ]
    return np.stack(boards, dtype=dtype, casting="unsafe")


def _of_boards(leaves: BoardLeaves) -> tuple[tuple[Any], tuple[Any, ...]]:
  return (leaves.streets,), (leaves.boards, leaves.leaves, leaves.batched)


def _of_all_ins(leaves: AllInLeaves) -> tuple[tuple[Any, ...], None]:
  return (leaves.net_wins, leaves.weights, leaves.showdown_payoff, leaves.folds), None


def _boards_made(sizes: tuple[Any, ...], streets: tuple[Any]) -> BoardLeaves:
  return BoardLeaves(*streets, *sizes)


def _all_ins_made(_: None, tables: tuple[Any, ...]) -> AllInLeaves:
  return AllInLeaves(*tables)


jax.tree_util.register_pytree_node(LazyBoardLeaves, _of_boards, _boards_made)
jax.tree_util.register_pytree_node(_LazyAllInLeaves, _of_all_ins, _all_ins_made)


def leaves_of(lines: PublicStateIndex, kind: str) -> str:
  """The kind of leaf evaluator; for "auto" the fastest."""
  if kind != "auto":
    return kind
  return fastest_leaves(len(lines.form.weights[0]) * len(lines.form.weights[1]), len(lines.boards))


def fastest_leaves(pairs: int, boards: int) -> str:
  """The kind of evaluator that suits the device for pairs of types on some boards at once.

  Matrices are for few hands, and on accelerators for one board.
  """
  if pairs <= FEW_PAIRS:
    return "dense"
  if not why_unavailable():
    return "native"
  matrices = boards == 1 and (pairs <= 150_000 or platform() != CPU)
  return "dense" if matrices else "showdown"
