"""One search, of a listed game, a tree made on demand, or a hand of hold'em alike.

A gadget is put on the subgame of a problem, CFR iterates on it under a limit of time, and averages inside the
subgame are the result. Callers differ in the problems that they make. A search may begin with the strategies
before, as if it had come to them (strategies as a warm start: Brown and Sandholm 2016); it keeps them if its
own are worse.
"""

import functools
from collections.abc import Callable, Sequence

import jax
import numpy as np

from ps_cfr_spiel import cfr
from ps_cfr_spiel.arguments import check_count, check_derived
from ps_cfr_spiel.backend.array_shapes import Float
from ps_cfr_spiel.backend.device import Device, check_finite, platform, precision, run_for
from ps_cfr_spiel.cfr import Blocks, SolverState, make_rule
from ps_cfr_spiel.options import CPU, ROUND, SearchOptions
from ps_cfr_spiel.resolving.search.problems import Problem
from ps_cfr_spiel.resolving.search.promises import Search, Table, responses
from ps_cfr_spiel.resolving.search.value_functions import CFRValues, ValueFunction
from ps_cfr_spiel.resolving.subgames import Gadget, GadgetTree, Subgames, gadget_of
from ps_cfr_spiel.tree import Array, PublicTree, streamed

# The weight of best responses that win less: 0.5 does as well, 1 spoils good strategies a little. With it
# searches spoil no blueprint on four boards of a small deck.
FALLS = 0.25
FIRST = 16  # iterations of a search before the first look at the clock
#: Both players' average strategies in a tree with a gadget, and values [F, H] at its frontier, if it has one.
Result = tuple[Sequence[Blocks], Sequence[Float[Array, "F H"]]]


class SearchSettings(SearchOptions):
  """Options of a search, with the rule, the gadget and the value function that their names stand for.

  ValueError for a value that is not one of the allowed.
  """

  def __post_init__(self):
    super().__post_init__()
    ahead, values = self.lookahead, self.value_function
    if ahead is None and values is not None:
      raise ValueError("A value function is for limited lookahead; give lookahead=1 or more with it.")
    if ahead is not None and values is None:
      values = CFRValues()
    made = {
      "rule": make_rule(self.rule, alternating=self.alternating),
      "gadget": gadget_of(self.gadget),
      "lookahead": ahead if ahead in (None, ROUND) else check_count("lookahead", ahead, 1),
      "value_function": values and check_derived("value_function", values, ValueFunction, "CFRValues()"),
    }
    for name, value in made.items():
      object.__setattr__(self, name, value)

  @property
  def safe(self) -> bool:
    """True if searches keep promises to the opponent."""
    return self.gadget.keeps_promises

  def iterate(self, tree: PublicTree, state: SolverState, iterations: int, delay: int) -> SolverState:
    """A search after further iterations; its average leaves out all until iteration `delay`."""
    method = cfr.Method(delay, self.rule, self.alternating, self.tremble)
    if cfr.changes_on_host(tree, in_place=True):
      return cfr.RunInPlace(tree, state, method).after(state, iterations)
    return cfr.run(tree, state, iterations, **method._asdict())

  def placed(self, game: GadgetTree) -> PublicTree:
    """A tree with a gadget as searches read it; on CPUs board by board, without programs of XLA, if possible.

    There players would tremble in a gadget's decisions, too.
    """
    tree = game.tree.grouped(any_index=True)
    trembles = self.tremble and any(player_tree.added for player_tree in tree.players)
    if platform() == CPU and self.rule.has_native_form and not trembles:
      tree = streamed(tree)
    return cfr.placed(tree, None, self.dtype, in_place=True)[0]


class SubgameSolver:
  """The search of a problem: `Searcher` makes problems of a game, hold'em of a hand."""

  def __init__(
    self,
    subgames: Subgames,
    settings: SearchSettings,
    seconds: float | None = None,
    device: Device | None = None,
    first_look: int = FIRST,
  ):
    """Make a solver.

    Args:
      subgames: of the game.
      settings: of each search.
      seconds: the time of a search's iterations, after which none begins; compilation comes on top.
      device: the place of the iterations; None for the CPU.
      first_look: the iterations that are made in any time.
    """
    self.subgames, self.settings, self.seconds = subgames, settings, seconds  #: as given
    self._device, self._first_look = device, first_look

  def solve(self, problem: Problem, gadget: Gadget) -> Search:
    """The results of a search, without its `seconds`.

    ValueError for a gadget that returns something else than a tree, or values that are not finite, which
    strategies would follow; FloatingPointError for strategies that are not finite.
    """
    last, subgame, settings = problem.last, problem.subgame, self.settings
    with precision(settings.dtype, self._device):
      game = gadget(subgame, last.player, problem.ranges, problem.promises, problem.beyond)
      if not isinstance(game, GadgetTree):
        raise ValueError(f"A gadget must return a GadgetTree; {gadget!r} returned {type(game).__name__}.")
      strategies, values = self.solved(problem, gadget, game)
      average = [game.inside(subgame, i, blocks) for i, blocks in enumerate(strategies)]
    if not all(np.isfinite(v).all() for v in values):
      raise ValueError(f"Values of {settings.value_function} must be finite, got inf or nan.")
    check_finite(f"The search from public states {list(subgame.public_states)}", average, settings.dtype)
    promised = dict(last.promised)
    if subgame.limited:
      known = subgame.frontier[1 - last.player].knowledge.tolist()
      promised |= zip(known, values[1 - last.player], strict=False)  # padding has no infostate
    tables = self._tables(problem, average)
    return Search(last.player, problem.horizon, tables, problem.frontier, promised, 0.0)

  def solved(self, problem: Problem, gadget: Gadget, game: GadgetTree) -> Result:
    """The search of a problem in its tree with the gadget: the averages after a run of CFR."""
    tree = self.settings.placed(game)
    state = self.run(problem, tree)
    values = [cfr.average_record(p)[0] for p in state.players] if problem.subgame.limited else []
    return cfr.average_strategy(tree, state), values

  def run(self, problem: Problem, tree: PublicTree) -> SolverState:
    """Run all iterations of a problem on its tree with the gadget; `learning.listening` takes parts."""
    step = functools.partial(self.iterate, tree, begun=problem.begun)
    return iterated(self.first(problem, tree), step, self.settings.iterations, self.seconds, self._first_look)

  def first(self, problem: Problem, tree: PublicTree) -> SolverState:
    """The state of a search before its first iteration."""
    rule, dtype = self.settings.rule, self.settings.dtype
    if not problem.begun:
      return cfr.init(tree, rule, dtype, in_place=True)
    there = [problem.subgame.there(i, table) for i, table in enumerate(problem.last.tables)]
    played = [tuple(GadgetTree(tree).outside(i, blocks)) for i, blocks in enumerate(there)]
    return cfr.resumed(tree, rule, dtype, played, problem.begun, in_place=True)

  def iterate(self, tree: PublicTree, state: SolverState, iterations: int, begun: int = 0) -> SolverState:
    """Run further iterations of a search; averages leave out those that it begins with, `begun`."""
    return self.settings.iterate(tree, state, iterations, begun + self.settings.averaging_delay)

  def _tables(self, problem: Problem, average: Sequence[Table]) -> tuple[Table, Table]:
    """`Search.tables` after a search, from its average strategies in the subgame."""
    last = problem.last
    # Rows outside the subgame are shared between searches.
    first, second = (problem.subgame.back(i, average[i], last.tables[i]) for i in (0, 1))
    kept = problem.before is not None and self._worse(problem, problem.before, (first, second))
    return last.tables if kept else (first, second)

  def _worse(self, problem: Problem, before: np.ndarray, tables: tuple[Table, Table]) -> bool:
    """True if strategies may lose more to best responses than those before: few iterations can spoil them.

    The opponent may always come with an infostate that wins more than before, so this counts in full. Less
    counts a quarter, by the range, which is a guess: infostates that never come must not pay for others.
    """
    last, ranges = problem.last, problem.ranges
    after = responses(problem.subgame, last.player, ranges, tables, self.settings.dtype)
    more, less = np.maximum(after - before, 0), np.maximum(before - after, 0)
    return bool(more.sum() > FALLS * (less * ranges[1 - last.player]).sum())


def iterated(
  state: SolverState,
  step: Callable[[SolverState, int], SolverState],
  iterations: int,
  seconds: float | None,
  first: int = FIRST,
) -> SolverState:
  """A search after all iterations, or those that fit into `seconds`, at least the `first`.

  `step` gives the state after further iterations.
  """

  def take(count: int) -> None:
    nonlocal state
    state = jax.block_until_ready(step(state, count))

  run_for(take, iterations, seconds, first)
  return state
