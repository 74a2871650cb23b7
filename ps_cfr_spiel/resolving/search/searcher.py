"""Searches of continual re-solving, one after the other (Schmid 2021, Sections 20.5 to 20.7).

A search solves a subgame, or many that do not overlap, and leaves its results to the next one: the player's
strategy so far, for ranges, and the opponent's promised values where the lookahead ended (`promises`).
The first search solves the game from its start. Each later one solves one of `problems` by one of `gadgets`.
"""

import functools
import time
from collections.abc import Sequence

import numpy as np

from ps_cfr_spiel import cfr
from ps_cfr_spiel.cfr import SolverState
from ps_cfr_spiel.resolving.search.known_problems import KnownProblems
from ps_cfr_spiel.resolving.search.problems import Problem, Problems
from ps_cfr_spiel.resolving.search.promises import Search, Table
from ps_cfr_spiel.resolving.search.public_problems import PublicProblems
from ps_cfr_spiel.resolving.search.subgame_run import Result, SearchSettings, by_cfr, iterated, solve
from ps_cfr_spiel.resolving.subgames import (
  Gadget,
  GadgetTree,
  KnownSubgames,
  PaddedShapes,
  Subgame,
  Subgames,
  unsafe,
)
from ps_cfr_spiel.tree import PublicTree


class Searcher:
  """Searches on a game, one after the other: by public states, or by the player's knowledge."""

  def __init__(
    self,
    subgames: Subgames,
    settings: SearchSettings,
    shapes: PaddedShapes | None = None,
    seconds: float | None = None,
  ):
    """Make a searcher; nothing is searched yet.

    Args:
      subgames: of the game; with `settings.knowledge`, those by knowledge.
      settings: of each search.
      shapes: as of `PublicProblems`, or of `KnownProblems` with `settings.knowledge`.
      seconds: the time of a search's iterations, after which none begins; compilation comes on top.

    ValueError if searches cannot leave out the actions that the settings leave out.
    """
    self.subgames, self.settings, self.seconds = subgames, settings, seconds  #: as given
    self.problems: Problems = self._make_problems(shapes)  #: what each search solves

  def _make_problems(self, shapes: PaddedShapes | None) -> Problems:
    settings = self.settings
    if isinstance(self.subgames, KnownSubgames):
      return KnownProblems(self.subgames, settings.safe, settings.dtype, shapes)
    ahead = settings.lookahead, settings.value_function, settings.actions
    return PublicProblems(self.subgames, *ahead, settings.safe, settings.dtype, shapes)

  def start(self, player: int) -> Search:
    """Solve the game from its start, as far as the player's lookahead goes."""
    began = time.perf_counter()
    search = self._solved(self.problems.first(player), unsafe)
    return search._replace(seconds=time.perf_counter() - began)

  def resolve(self, search: Search, places: Sequence[int]) -> Search:
    """Solve again from places in which the player acts next after the roots of a search.

    The search's strategy stays if it never comes there. See `Problems.later`.
    """
    began = time.perf_counter()
    if (problem := self.problems.later(search, places)) is not None:
      search = self._solved(problem, self.settings.gadget)
    return search._replace(seconds=time.perf_counter() - began)

  def _solved(self, problem: Problem, gadget: Gadget) -> Search:
    """The results of a search, without its `seconds`."""
    last, subgame, settings = problem.last, problem.subgame, self.settings
    average, values = solve(
      *(subgame, gadget, last.player, problem.ranges, problem.promises, problem.beyond, settings.dtype),
      lambda game: self._finite(self.solved(problem, gadget, game)),
    )
    promised = dict(last.promised)
    if subgame.limited:
      known = subgame.frontier[1 - last.player].knowledge.tolist()
      promised |= zip(known, values[1 - last.player], strict=False)  # padding has no infostate
    return Search(
      last.player, problem.horizon, self._tables(problem, average), problem.frontier, promised, 0.0
    )

  def _finite(self, result: Result) -> Result:
    """The result; ValueError for values that are not finite, which strategies would follow."""
    if not all(np.isfinite(v).all() for v in result[1]):
      raise ValueError(f"Values of {self.settings.value_function} must be finite, got inf or nan.")
    return result

  def solved(self, problem: Problem, gadget: Gadget, game: GadgetTree) -> Result:
    """The search of a problem in its tree with the gadget."""
    subgame = problem.subgame
    return by_cfr(subgame, game, self.settings.dtype, functools.partial(self.run, subgame))

  def run(self, subgame: Subgame, tree: PublicTree) -> SolverState:
    """Run all iterations on a subgame with its gadget, `tree`; `learning.listening` takes them in parts."""
    step = functools.partial(self.iterate, tree)
    return iterated(self.first(tree), step, self.settings.iterations, self.seconds)

  def first(self, tree: PublicTree) -> SolverState:
    """The state of a search before its first iteration."""
    return cfr.init(tree, self.settings.rule, self.settings.dtype)

  def iterate(self, tree: PublicTree, state: SolverState, iterations: int) -> SolverState:
    """Run further iterations of a search."""
    return self.settings.iterate(tree, state, iterations, self.settings.averaging_delay)

  def _tables(self, problem: Problem, average: Sequence[Table]) -> tuple[Table, Table]:
    """`Search.tables` after a search, from its average strategies in the subgame."""
    last = problem.last
    # Rows outside the subgame are shared between searches.
    first, second = (problem.subgame.back(i, average[i], last.tables[i]) for i in (0, 1))
    tables = first, second
    if problem.promises is not None:
      # The gadget distorts the opponent's strategy, so the earlier prediction stays where a search has
      # already looked.
      opponent = 1 - last.player
      for k, stops in enumerate(self.problems.stops[opponent]):
        seen = stops <= last.horizon
        tables[opponent][k][:, seen] = last.tables[opponent][k][:, seen]
    return tables
