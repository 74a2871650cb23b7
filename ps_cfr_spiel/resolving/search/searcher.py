"""Searches of continual re-solving, one after the other (Schmid 2021, Sections 20.5 to 20.7).

A search solves a subgame, or many that do not overlap, and leaves its results to the next one: the player's
strategy so far, for ranges, and the opponent's promised values where the lookahead ended (`promises`).
The first search solves the game from its start. Each later one solves one of `problems` by one of `gadgets`.
"""

import time
from collections.abc import Sequence

from ps_cfr_spiel.resolving.search.known_problems import KnownProblems
from ps_cfr_spiel.resolving.search.problems import Problem, Problems
from ps_cfr_spiel.resolving.search.promises import Search, Table
from ps_cfr_spiel.resolving.search.public_problems import PublicProblems
from ps_cfr_spiel.resolving.search.subgame_run import SearchSettings, SubgameSolver
from ps_cfr_spiel.resolving.subgames import (
  KnownSubgames,
  PaddedShapes,
  Subgames,
  unsafe,
)


class Searcher(SubgameSolver):
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
    super().__init__(subgames, settings, seconds)
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
    search = self.solve(self.problems.first(player), unsafe)
    return search._replace(seconds=time.perf_counter() - began)

  def resolve(self, search: Search, places: Sequence[int]) -> Search:
    """Solve again from places in which the player acts next after the roots of a search.

    The search's strategy stays if it never comes there. See `Problems.later`.
    """
    began = time.perf_counter()
    if (problem := self.problems.later(search, places)) is not None:
      search = self.solve(problem, self.settings.gadget)
    return search._replace(seconds=time.perf_counter() - began)

  def _tables(self, problem: Problem, average: Sequence[Table]) -> tuple[Table, Table]:
    last, tables = problem.last, super()._tables(problem, average)
    if problem.promises is not None:
      # The gadget distorts the opponent's strategy, so the earlier prediction stays where a search has
      # already looked.
      opponent = 1 - last.player
      for k, stops in enumerate(self.problems.stops[opponent]):
        seen = stops <= last.horizon
        tables[opponent][k][:, seen] = last.tables[opponent][k][:, seen]
    return tables
