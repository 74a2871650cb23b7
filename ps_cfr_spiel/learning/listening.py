"""The ranges in the questions of searches to a value function, overheard in searches that use it.

A network is good where it was trained, and the ranges in a search depend on the network. So data are drawn in
the searches that the network itself leads (Ross, Gordon and Bagnell 2011; for public belief states Brown et
al. 2020). A draw is a chain of searches from the start of the game down to all public states of both players,
with a random number of iterations, strategies perturbed on the way, and current strategies overheard at a few
of the iterations.

In hold'em random turns are searched with the values so far, and some rivers beyond, with the ranges of the
questions about them, are solved and learned from: a network of rivers is asked about ranges that depend on
its betting (`rivers_met`).
"""

import dataclasses
from collections.abc import Callable

import jax
import numpy as np

from ps_cfr_spiel import cfr
from ps_cfr_spiel.arguments import check_count, check_derived, check_instance
from ps_cfr_spiel.backend.device import precision, run_to, to_device
from ps_cfr_spiel.batches import RandomSituations
from ps_cfr_spiel.cards.poker import Situation, cards
from ps_cfr_spiel.cfr import SolverState
from ps_cfr_spiel.learning.boards.board_features import lines_of
from ps_cfr_spiel.learning.boards.places import Drawn, FrontierStates, Ranges
from ps_cfr_spiel.learning.boards.ranges import NOISE, RangeSampler, perturbed
from ps_cfr_spiel.reports import progress_bar
from ps_cfr_spiel.resolving.search import (
  Lookahead,
  Problem,
  Searcher,
  SearchSettings,
  ValueFunction,
  asked_ranges,
)
from ps_cfr_spiel.resolving.subgames import EchoedRanges, Subgames, with_beyond
from ps_cfr_spiel.tree import PublicTree

OVERHEARD = 4  # overheard iterations of a search of a turn


@dataclasses.dataclass(frozen=True)
class SearchSampler(RangeSampler):
  """The ranges in searches with a lookahead of one decision."""

  values: ValueFunction  #: value function beyond their lookahead
  most: int = 300  #: maximum of a search's iterations; at least 10
  overheard: int = 8  #: number of overheard iterations of each search

  def __post_init__(self):
    check_derived("values", self.values, ValueFunction, "CFRValues()")
    check_count("most", self.most, 10)
    check_count("overheard", self.overheard, 1)

  def bind(self, frontier: FrontierStates, seed: int) -> Callable[[int], list[Drawn]]:
    searcher = Listener(frontier.subgames, self.values)

    def at(group: int, mark: int) -> Ranges:
      """The ranges of a group in the questions at an iteration; even ranges without a question."""
      shape = [(p.roots, p.types) for p in frontier.cuts[group].tree.players]
      heard = searcher.heard.get(tuple(frontier.groups[group]))
      first, second = (np.zeros(s) for s in shape) if heard is None else heard[mark]
      return frontier.ranges(group, (first, second))

    def draw(number: int) -> list[Drawn]:
      random = np.random.default_rng([seed, number])
      searcher.marks = marks = drawn_marks(random, self.most, self.overheard)
      searcher.heard, share = {}, random.choice(NOISE)
      for player in (0, 1):
        search = searcher.start(player)
        for states in searcher.problems.passes(player):
          first, second = (perturbed(table, share, random) for table in search.tables)
          search = searcher.resolve(search._replace(tables=(first, second)), states)
      return [[at(g, k) for g in range(len(frontier.groups))] for k in range(len(marks))]

    return draw


def drawn_marks(random: np.random.Generator, most: int, count: int) -> list[int]:
  """Iterations to overhear, ascending: more of the early ones, of a search of 10 to `most` iterations."""
  longest = 10 ** random.uniform(1, np.log10(most) + 1e-9)
  marks = np.sort(longest ** random.random(count)).astype(int)
  return (marks + np.arange(count)).tolist()  # each later than the one before


class Listener(Searcher):
  """A searcher that notes the questions to its value function."""

  def __init__(self, subgames: Subgames, values: ValueFunction, lookahead: Lookahead = 1):
    """Searches of the default kind, looking one decision ahead by default."""
    values = check_derived("value_function", values, ValueFunction, "CFRValues()")
    super().__init__(subgames, SearchSettings(iterations=1, lookahead=lookahead, value_function=values))
    self.marks: list[int] = []  #: the overheard iterations, ascending; a search ends with the last
    #: by the public states of a frontier, for each mark the ranges [F, H] of both players.
    self.heard: dict[tuple[int, ...], list[Ranges]] = {}

  def run(self, problem: Problem, tree: PublicTree) -> SolverState:
    state, heard = self.first(problem, tree), []
    frontier = tuple(problem.subgame.frontier_states)
    asked = dataclasses.replace(tree, leaves=with_beyond(tree.leaves, EchoedRanges())) if frontier else tree

    def step(iterations: int) -> None:
      nonlocal state
      state = jax.block_until_ready(self.iterate(tree, state, iterations))

    for _ in run_to(step, self.marks):
      if frontier:
        with precision("float32"):
          strategies = to_device(tuple(cfr.current_strategy(tree, state)), "float32")
          first, second = (np.asarray(x, float) for x in asked_ranges(asked, strategies))
        heard.append((first, second))
    if frontier:
      self.heard[frontier] = heard
    return state


def rivers_met(
  values: ValueFunction,
  turns: RandomSituations,
  each: int = 20,
  most: int = 300,
  progress: bool | None = None,
) -> list[Situation]:
  """Collect rivers that searches of random turns of hold'em ask about, with all hands.

  Args:
    values: value function beyond the turn; `NetworkValues`, or any other of whole rivers.
    turns: the turns to search; draws on one depend on their seed and its number alone.
    each: number of rivers from a turn.
    most: maximum of a search's iterations; at least 10.
    progress: show a progress bar; None: on a terminal or in a notebook, after two seconds.

  Returns `each` rivers for each turn, turn by turn, for `solve_batch`; ValueError for a wrong argument.
  """
  check_count("each", each, 1)
  check_count("most", most, 10)
  check_derived("values", values, ValueFunction, "NetworkValues")
  check_instance("turns", turns, RandomSituations)
  if turns.options.cards != cards.BOARD_SIZE - 1:
    raise ValueError(f"turns are {cards.STREETS[turns.options.cards]}s; give RandomSituations with cards=4.")
  rivers: list[Situation] = []
  for number in progress_bar(progress, iterable=range(len(turns)), unit="turn", desc="Searching"):
    random = np.random.default_rng([turns.options.seed, number, 1])  # a stream apart from that of the turn
    searcher = Listener(Subgames.of(turns[number].game()), values, "round")
    searcher.marks = drawn_marks(random, most, OVERHEARD)
    searcher.start(number % 2)
    rivers += _taken(searcher, random, turns.options.bets, each)
  return rivers


def _taken(searcher: Listener, random: np.random.Generator, bets: str, each: int) -> list[Situation]:
  """Some of the rivers in a search's questions, with the ranges of a random iteration."""
  form, lines, _ = lines_of(searcher.subgames)
  ((states, ranges),) = searcher.heard.items()
  stack = form.game.get_parameters()["stack"]
  rivers: list[Situation] = []
  while len(rivers) < each:
    row, (line, runout) = (k := int(random.integers(len(states)))), lines.place(states[k])
    board = (*form.deal.board, *lines.dealt.runouts[-1][runout].tolist())
    spent = max(form.game.public_states[line].spent)
    both = np.zeros((2, len(cards.ALL_HANDS)))
    heard = ranges[random.integers(OVERHEARD)]
    for weights, held, weight, asked in zip(both, form.deal.held, form.weights, heard, strict=True):
      weights[held] = weight * asked[row][: len(held)]
    both[:, ~cards.unblocked(board)] = 0
    if both.any(1).all():  # questions include lines that a player never plays; these are worth nothing
      rivers.append(Situation(board, 2 * spent, stack, bets, both / both.sum(1, keepdims=True)))
  return rivers
