"""Groups of situations with the same decisions, ready to be stacked: any compiled games, and streets in bulk.

A compiled game brings its own public tree. Rivers are not compiled one by one: their hands are ranked and
their tables made for all of them at once; the decisions follow from the betting alone. Turns and flops have
the decisions of rivers too: they end with the street, and a value function has the rest.
"""

import dataclasses
import functools
from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

import jax
import numpy as np
import pyspiel

from ps_cfr_spiel.arguments import check_option
from ps_cfr_spiel.backend.array_shapes import PyTree
from ps_cfr_spiel.backend.device import platform, precision, to_device
from ps_cfr_spiel.batches.batch_program import order_here
from ps_cfr_spiel.cards.poker import Betting, Situation, cards, compatible, strengths
from ps_cfr_spiel.compilation.compiler import (
  LineIndex,
  StreetEnds,
  build_tree,
  fastest_leaves,
  make_decisions,
  street_ends,
)
from ps_cfr_spiel.options import CPU, HANDS
from ps_cfr_spiel.resolving.subgames import RangedLeaves
from ps_cfr_spiel.tree import (
  Array,
  BoardTraversal,
  BoardTypes,
  DenseLeaves,
  LeafEvaluator,
  NativeLeaves,
  PlayerTree,
  PublicTree,
  ShowdownLeaves,
  check_two_players,
  pad_types,
  padded_size,
  streamed,
)

Arrays = TypeVar("Arrays")
LEAVES = ("auto", "native", "showdown", "dense")
DEAD = (len(cards.WHOLE_DECK), len(cards.WHOLE_DECK) + 1)  # the cards of dead hands

Players = tuple[PlayerTree, PlayerTree]


@runtime_checkable
class StreetValues(Protocol):
  """A value function of the boards after a street, such as `learning.NetworkValues` of boards."""

  @property
  def cards(self) -> int:
    """The number of cards on the boards where it serves."""
    ...

  @property
  def deck(self) -> tuple[int, ...]:
    """All cards of the hold'em that it is for."""
    ...

  @property
  def beyond(self) -> PyTree:
    """The part of the evaluators of `street_leaves` that all boards share: a pytree."""
    ...

  def worths(self, given: Situation) -> np.ndarray:
    """float64[2, 1326]: the mean wins of the hands of such a board, in chips, if both players play well."""
    ...

  def street_leaves(
    self,
    situations: Sequence[Situation],
    hands: np.ndarray,
    ranges: Sequence[np.ndarray],
    ends: tuple[np.ndarray, np.ndarray],
  ) -> LeafEvaluator:
    """The evaluators of situations with the same betting, stacked on the device, without `beyond`.

    `hands` are int[n, H], numbers in `cards.ALL_HANDS`; `ranges` of each player [n, H]; `ends` the stakes of
    the street's ends and the values of its folds, [n, L] each. Each has a method `settle`, which fixes the
    values beyond at both players' reach of the leaves, and `checked`, the hands' values without bets.
    """
    ...


class Group(NamedTuple):
  """Situations with the same decisions."""

  members: list[int]  #: their positions in the given list
  players: Players  #: the decisions
  #: all leaf evaluators, every array with the spots in front. Copies of the last member fill
  #: the stack.
  leaves: LeafEvaluator
  weights: tuple[np.ndarray, np.ndarray]  #: of each player [spots, H], as in `Spots`
  #: of each player int[members, H], each hand's number in `cards.ALL_HANDS`, -1 of dead hands; None for a
  #: game's own types.
  hands: tuple[np.ndarray, np.ndarray] | None
  types: list[tuple[int, int]]  #: number of live types of each member and player; they come first
  stream: BoardTraversal | None = None  #: of rivers with native leaves, which all share


def groups(
  items: Sequence[Situation | pyspiel.Game],
  leaves: str,
  hands: str,
  dtype: str,
  room: int,
  values: StreetValues | None = None,
) -> list[Group]:
  """All situations, in groups, each a stack with `room` for spots; other arguments as for `solve_batch`."""
  streets = [(k, item) for k, item in enumerate(items) if isinstance(item, Situation)]
  games = [(k, item) for k, item in enumerate(items) if not isinstance(item, Situation)]
  return [*_streets(streets, leaves, hands, dtype, room, values), *_games(games, leaves, dtype, room)]


def _filled(arrays: Arrays, room: int) -> Arrays:
  """A pytree of arrays [N, ...] as [room, ...]; the last entry is repeated."""
  host = platform() == CPU  # where each shape would be compiled on its own

  def fill(x):
    return (np.asarray(x) if host else x)[np.minimum(np.arange(room), len(x) - 1)]

  return jax.tree.map(fill, arrays)


# --- Any games ------------------------------------------------------------------------------------


def _games(items: Sequence[tuple[int, pyspiel.Game]], leaves: str, dtype: str, room: int) -> list[Group]:
  alike: dict[Hashable, list[tuple[int, tuple[int, int], PublicTree]]] = defaultdict(list)
  for k, game in items:
    tree = build_tree(game, leaves)
    check_two_players(tree, "batches")
    first, second = tree.players
    padded = pad_types(tree).tree
    alike[_structure(padded)].append((k, (first.types, second.types), padded))
  return [_stack(members, dtype, room) for members in alike.values()]


def _structure(tree: PublicTree) -> Hashable:
  """The common part of the trees of a group: decisions, and the shapes of the evaluators' arrays."""
  arrays, shape = jax.tree.flatten(tree.players)
  tables, kind = jax.tree.flatten(tree.leaves)
  return shape, tuple(map(np.ndarray.tobytes, arrays)), kind, tuple(map(np.shape, tables))


def _stack(members: Sequence[tuple[int, tuple[int, int], PublicTree]], dtype: str, room: int) -> Group:
  places, types, trees = (list(x) for x in zip(*members, strict=True))
  players = trees[0].players
  leaves = _filled(jax.tree.map(lambda *x: np.stack(x), *(tree.leaves for tree in trees)), room)
  first, second = (np.ones((room, player_tree.types)) for player_tree in players)
  with precision(dtype):
    return Group(places, players, to_device(leaves, dtype), (first, second), None, types)


# --- Streets --------------------------------------------------------------------------------------


class _Street(NamedTuple):
  """A river, turn or flop in a list."""

  place: int  #: its position
  situation: Situation
  hands: tuple[np.ndarray, np.ndarray]  #: each player's, int[H], numbers in `cards.ALL_HANDS`
  betting: Betting
  ends: tuple[StreetEnds, StreetEnds]  #: the showdowns and folds of the betting


def _streets(
  items: Sequence[tuple[int, Situation]],
  leaves: str,
  hands: str,
  dtype: str,
  room: int,
  values: StreetValues | None,
) -> list[Group]:
  check_option("leaves", leaves, LEAVES if items else (leaves,))
  alike: dict[Hashable, list[_Street]] = defaultdict(list)
  for k, street in items:
    lines = street.betting
    if values is not None and not lines.zero_sum:
      raise ValueError(
        f"rake={street.rake}: values of the next street are for zero-sum games; leave out rake, or solve the "
        "turn or flop to the end by PSCFRSolver (the command solve)."
      )
    showdowns, folds = ends = _ends(lines)  # with rake a showdown is among both
    decisions = lines.parent, lines.action, lines.player, showdowns.line, folds.line
    columns = lines.zero_sum, tuple(column.tobytes() for column in decisions)
    live = np.flatnonzero(cards.unblocked(street.board))
    first, second = (live, live) if hands == HANDS[0] else (weights.nonzero()[0] for weights in street.ranges)
    if values is None:
      kind: Hashable = padded_size(len(first)), padded_size(len(second))
    else:  # chips are left at the same ends
      first = second = _with_others(np.union1d(first, second), live)
      kind = len(first), tuple((showdowns.utility < street.stack).tolist())
    alike[columns, kind].append(_Street(k, street, (first, second), lines, ends))
  if values is not None:
    return [_stack_streets(same, values, dtype, room) for same in alike.values()]
  return [_stack_rivers(same, leaves, dtype, room) for same in alike.values()]


def _with_others(some: np.ndarray, live: np.ndarray) -> np.ndarray:
  """Numbers of hands, and others of a board up to a padded size, ascending: they share compiled code."""
  others = np.setdiff1d(live, some)
  return np.sort(np.append(some, others[: padded_size(len(some)) - len(some)]))


def _stack_streets(streets: Sequence[_Street], values: StreetValues, dtype: str, room: int) -> Group:
  """A group of turns or flops with the same lines of betting, and chips left at the same ends."""
  numbers = np.array([street.hands[0] for street in streets])
  ranges, weights = _ranges(streets, (numbers, numbers))
  showdown_payoff, fold_payoff = _payoffs(streets)
  given = [street.situation for street in streets]
  with precision(dtype):
    evaluator = _filled(values.street_leaves(given, numbers, ranges, (showdown_payoff, fold_payoff)), room)
  types = numbers.shape[1], numbers.shape[1]
  return Group(
    [street.place for street in streets],
    _decisions(streets[0].betting, types),
    evaluator,
    (_filled(weights[0], room), _filled(weights[1], room)),
    (numbers, numbers),
    [types] * len(streets),
  )


def _stack_rivers(rivers: Sequence[_Street], leaves: str, dtype: str, room: int) -> Group:
  """A group of rivers with the same lines of betting and numbers of types, dead ones included."""
  first, second = rivers[0].hands
  types = padded_size(len(first)), padded_size(len(second))
  boards = np.array([river.situation.board for river in rivers])
  numbers = [np.full((len(rivers), n), -1) for n in types]
  for i, rows in enumerate(numbers):
    for row, river in zip(rows, rivers, strict=True):
      row[: len(river.hands[i])] = river.hands[i]
  dead = [rows < 0 for rows in numbers]
  hands = [
    np.where(gone[..., None], DEAD, cards.ALL_HANDS[rows]) for rows, gone in zip(numbers, dead, strict=True)
  ]
  # Dead hands never count, so any strength and range will do; use the last hand's.
  ranks = [strengths(boards, cards.ALL_HANDS[numbers[0]])]
  ranks.append(
    ranks[0] if np.array_equal(numbers[0], numbers[1]) else strengths(boards, cards.ALL_HANDS[numbers[1]])
  )
  form = BoardTypes(
    (np.where(dead[0], 0.0, 1.0), np.where(dead[1], 0.0, 1.0)), (hands[0], hands[1]), (ranks[0], ranks[1])
  )
  ranges, weights = _ranges(rivers, numbers)
  showdown_payoff, fold_payoff = _payoffs(rivers)
  form, showdown_payoff, fold_payoff, ranges, weights = _filled(
    (form, showdown_payoff, fold_payoff, ranges, weights), room
  )
  with precision(dtype):
    if leaves == "auto":  # a CPU takes one river after the other
      leaves = fastest_leaves(types[0] * types[1], 1 if order_here() == "map" else len(rivers))
    if leaves == "dense":
      # On the host the matrices would take longer than the solution.
      evaluator: LeafEvaluator = _dense(*to_device((form, showdown_payoff, fold_payoff), dtype))
      for i, column in enumerate(to_device([x[:, None] for x in ranges], dtype)):
        evaluator = RangedLeaves(evaluator, (column, column), i)
    else:  # its weights of the opponent's hands are apart from those of the own
      made = (NativeLeaves if leaves == "native" else ShowdownLeaves).create(
        form, showdown_payoff, fold_payoff, 1.0
      )
      first, second = made.views
      views = (
        dataclasses.replace(first, weight=first.weight * ranges[1]),
        dataclasses.replace(second, weight=second.weight * ranges[0]),
      )
      evaluator = to_device(dataclasses.replace(made, views=views), dtype)
  return Group(
    [river.place for river in rivers],
    _decisions(rivers[0].betting, types),
    evaluator,
    (weights[0], weights[1]),
    (numbers[0], numbers[1]),
    [(len(river.hands[0]), len(river.hands[1])) for river in rivers],
    _traversal(rivers[0].betting, types) if isinstance(evaluator, NativeLeaves) else None,
  )


def _ranges(
  rivers: Sequence[_Street], numbers: Sequence[np.ndarray]
) -> tuple[Sequence[np.ndarray], Sequence[np.ndarray]]:
  """Each player's ranges [N, H], of sum 1; and these over the probability that chance can deal the hands.

  The second makes the values of hands add up to the game's: value = sum of range x value / probability.
  """
  both = np.stack([river.situation.ranges for river in rivers])
  both = both / both.sum(-1, keepdims=True)
  possible = (both[:, 0] * compatible(both[:, 1])).sum(-1, keepdims=True)
  ranges = [np.take_along_axis(both[:, i], numbers[i], -1) for i in (0, 1)]
  return ranges, [weights / possible for weights in ranges]


def _payoffs(streets: Sequence[_Street]) -> tuple[np.ndarray, np.ndarray]:
  """The stakes of the showdowns, and the values of the folds, [N, L] each, in the order of the leaves."""
  showdowns, folds = zip(*(street.ends for street in streets), strict=True)
  return np.array([end.utility for end in showdowns]), np.array([end.utility for end in folds])


@functools.lru_cache(maxsize=64)  # streets share their betting
def _ends(lines: Betting) -> tuple[StreetEnds, StreetEnds]:
  ((showdowns, folds),) = street_ends(lines)
  return showdowns, folds


@functools.lru_cache(maxsize=64)
def _decisions(lines: Betting, types: tuple[int, int]) -> Players:
  """Each player's decisions on a street, with these numbers of types."""
  first, second = make_decisions(LineIndex(lines, (1,)), [_ends(lines)], types)[0]
  return first.grouped(), second.grouped()


@functools.lru_cache(maxsize=64)
def _traversal(lines: Betting, types: tuple[int, int]) -> BoardTraversal:
  """The traversal of all rivers with these lines and numbers of types, made for one with dead hands alone."""
  showdowns, folds = _ends(lines)
  nothing, hands = ([np.full((n, *shape), x) for n in types] for shape, x in (((), 0), ((2,), DEAD)))
  form = BoardTypes((nothing[0], nothing[1]), (hands[0], hands[1]), (nothing[0], nothing[1]))
  leaves = NativeLeaves.create(form, showdowns.utility, folds.utility, 1.0)
  stream = streamed(PublicTree(_decisions(lines, types), leaves)).stream
  assert isinstance(stream, BoardTraversal)
  return stream


@jax.jit
@jax.vmap
def _dense(form: BoardTypes, showdown_payoff: Array, fold_payoff: Array) -> DenseLeaves:
  return DenseLeaves.create(form, showdown_payoff, fold_payoff, 1.0)
