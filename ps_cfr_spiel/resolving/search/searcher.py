"""Searches of continual re-solving, one after the other (Schmid 2021, Sections 20.5 to 20.7).

A search solves a subgame, or many that do not overlap, and leaves its results to the next one: the player's
strategy so far, for ranges, and the opponent's promised values where the lookahead ended (`promises`).
The first search solves the game from its start. Each later one solves one of `problems` by one of `gadgets`.
"""

import time
from collections.abc import Sequence

import jax
import numpy as np
from jaxtyping import Float

from ps_cfr_spiel import cfr
from ps_cfr_spiel.arguments import check_count, check_derived
from ps_cfr_spiel.backend.device import check_finite, precision, run_for, to_device
from ps_cfr_spiel.cfr import Blocks, SolverState, make_rule
from ps_cfr_spiel.options import ROUND, SearchOptions
from ps_cfr_spiel.resolving.search.known_problems import KnownProblems
from ps_cfr_spiel.resolving.search.problems import Problem, Problems
from ps_cfr_spiel.resolving.search.promises import Search, Table
from ps_cfr_spiel.resolving.search.public_problems import PublicProblems
from ps_cfr_spiel.resolving.search.value_functions import CFRValues, ValueFunction
from ps_cfr_spiel.resolving.subgames import (
  Gadget,
  GadgetTree,
  KnownSubgames,
  PaddedShapes,
  Subgame,
  Subgames,
  gadget_of,
  unsafe,
)
from ps_cfr_spiel.tree import Array, PublicTree

FIRST = 16  # iterations of a search before the first look at the clock


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
    with precision(settings.dtype):
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
    return Search(
      last.player, problem.horizon, self._tables(problem, average), problem.frontier, promised, 0.0
    )

  def solved(
    self, problem: Problem, gadget: Gadget, game: GadgetTree
  ) -> tuple[Sequence[Blocks], Sequence[Float[Array, "F H"]]]:
    """Both players' average strategies in a problem's tree with its gadget, and values at the frontier."""
    subgame = problem.subgame
    tree = to_device(game.tree.grouped(any_index=True), self.settings.dtype)
    state = self.run(subgame, tree)
    values = [cfr.average_record(p)[0] for p in state.players] if subgame.limited else []
    return cfr.average_strategy(tree, state), values

  def run(self, subgame: Subgame, tree: PublicTree) -> SolverState:
    """Run all iterations on a subgame with its gadget, `tree`; `learning.listening` takes them in parts."""
    state = self.first(tree)

    def step(iterations: int) -> None:
      nonlocal state
      state = jax.block_until_ready(self.iterate(tree, state, iterations))

    run_for(step, self.settings.iterations, self.seconds, FIRST)
    return state

  def first(self, tree: PublicTree) -> SolverState:
    """The state of a search before its first iteration."""
    return cfr.init(tree, self.settings.rule, self.settings.dtype)

  def iterate(self, tree: PublicTree, state: SolverState, iterations: int) -> SolverState:
    """Run further iterations of a search."""
    settings = self.settings
    method = {"rule": settings.rule, "alternating": settings.alternating, "tremble": settings.tremble}
    return cfr.run(tree, state, iterations, settings.averaging_delay, **method)

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
