"""Searches of continual re-solving, one after the other (Schmid 2021, Sections 20.5 to 20.7).

A search solves a subgame, or many that do not overlap, and leaves its results to the next one: the player's
strategy so far, for ranges, and the opponent's promised values where the lookahead ended (`promises`).
The first search solves the game from its start. Each later one begins at the player's next decision, from the
player's range and the opponent's promised values there, by one of `gadgets`. A search looks ahead until the
player's next `lookahead` decisions, so it contains every public state from which the next search may begin.
"""

import dataclasses
import time
from collections.abc import Sequence

import jax
import numpy as np

from ps_cfr_spiel import cfr
from ps_cfr_spiel.arguments import check_binds
from ps_cfr_spiel.cfr import Rule, SolverState
from ps_cfr_spiel.device import check_finite, precision, to_device
from ps_cfr_spiel.search.levels import OWN, LevelPadding, Levels, Lookahead, by_row, level_padding
from ps_cfr_spiel.search.promises import Promises, Search, Table
from ps_cfr_spiel.search.value_functions import ValueFunction
from ps_cfr_spiel.subgames import BoundValues, Gadget, PadTo, Subgame, Subgames, unsafe
from ps_cfr_spiel.tree import PublicTree


@dataclasses.dataclass(frozen=True)
class SearchSettings:
  """The method of a search.

  Attributes:
    iterations: of CFR.
    rule: regret rule.
    gadget: one of `gadgets`.
    lookahead: the extent of the lookahead; see `Levels`.
    value_function: values at the frontier.
    actions: OpenSpiel actions that searches consider; all if None.
    alternating: update order of CFR.
    skip: iterations left out of the averages, at the start.
    dtype: "float32" or "float64".
  """

  iterations: int
  rule: Rule
  gadget: Gadget
  lookahead: Lookahead
  value_function: ValueFunction | None
  actions: frozenset[int] | None
  alternating: bool
  skip: int
  dtype: str


class Searcher:
  """Searches on a game, one after the other.

  Attributes:
    subgames: of the game.
    settings: of each search.
    levels: for each player the public states where searches begin and end.
    promises: ranges and promises for the next search.
    paddings: for each of `Levels.kinds` the shapes of the subgames of a search from one of its public states.
  """

  def __init__(self, subgames: Subgames, settings: SearchSettings):
    """See the class; ValueError if searches cannot leave out these actions."""
    self.subgames, self.settings = subgames, settings
    self.levels = Levels.of(subgames.labels, settings.lookahead)
    self.promises = Promises(subgames, self.levels, settings.actions, settings.dtype)
    self.paddings = {
      kind: self._padding(own, states) for own in self.levels for kind, states in own.kinds().items()
    }
    stops = [own.stops_above + own.stop for own in self.levels]
    first, second = (by_row(subgames.tree, i, stops[1 - i]) for i in (0, 1))
    self._stops = (first, second)  # stops of the other player above or there

  def _padding(self, levels: Levels, states: Sequence[int]) -> LevelPadding:
    """The shapes for all public states of a kind: no search's shape depends on earlier searches."""
    asked = [states for states, _ in self.promises.asked(states)]
    return level_padding(self.subgames, levels, states, asked, self.settings.actions)

  def start(self, player: int) -> Search:
    """Solve the game from its start, as far as the player's lookahead goes."""
    began = time.perf_counter()
    shapes = [p.block_shapes for p in self.subgames.tree.players]
    first, second = ([np.full(shape, 1 / shape[0]) for shape in blocks] for blocks in shapes)
    search = self._solve(Search(player, -1.0, (first, second), (), {}, 0.0), [0], unsafe, OWN)
    return search._replace(seconds=time.perf_counter() - began)

  def resolve(self, search: Search, public_states: Sequence[int]) -> Search:
    """Solve again from public states in which the player acts next after the roots of a search.

    From one public state, the subgame is padded to the largest of its kind, so play compiles little; several
    public states are solved at once without padding.

    Args:
      search: the last search, or the union of several that ended alike where these begin.
      public_states: the roots, one or several of a group in `Levels.passes`.
    """
    began, levels = time.perf_counter(), self.levels[search.player]
    before = levels.horizon_before(public_states[0])
    search = search._replace(horizon=before, frontier=levels.frontier(before))
    padding = self.paddings[levels.kind(public_states[0])] if len(public_states) == 1 else OWN
    search = self._solve(search, public_states, self.settings.gadget, padding)
    return search._replace(seconds=time.perf_counter() - began)

  def _solve(self, last: Search, roots: Sequence[int], gadget: Gadget, padding: LevelPadding) -> Search:
    """One search, without its `seconds`."""
    player, settings = last.player, self.settings
    horizon = self.levels[player].horizon(roots[0])
    frontier = self.levels[player].frontier(horizon)
    subgame = self.subgames.cut(roots, frontier, settings.actions, padding.search)
    promises = None if gadget is unsafe else self.promises.values(last, subgame, padding.promises)
    beyond = self._value_function(subgame, padding.beyond)
    ranges = self.promises.ranges(last, subgame)
    with precision(settings.dtype):
      tree = to_device(gadget(subgame, player, ranges, promises, beyond), settings.dtype)
      state = self.run(subgame, tree)
      strategies = cfr.average_strategy(tree, state)
      average = [[np.asarray(block, float) for block in own] for own in strategies]
      values = [cfr.average_record(p)[0] for p in state.players] if subgame.limited else []
    promised = dict(last.promised)
    if subgame.limited:
      if not all(np.isfinite(v).all() for v in values):
        raise ValueError(f"Values of {settings.value_function} must be finite, got inf or nan.")
      known = subgame.frontier[1 - player].knowledge.tolist()
      promised |= zip(known, values[1 - player], strict=False)  # padding has no infostate
    check_finite(f"The search from public states {list(roots)}", average, settings.dtype)
    return Search(player, horizon, self._tables(last, subgame, average, gadget), frontier, promised, 0.0)

  def run(self, subgame: Subgame, tree: PublicTree) -> SolverState:
    """Run all iterations of a search; listeners take them in parts (see `learning.listening`).

    Args:
      subgame: the subgame of the search.
      tree: the same with its gadget, on the device.
    """
    return self.iterate(tree, self.first(tree), self.settings.iterations)

  def first(self, tree: PublicTree) -> SolverState:
    """The state of a search before its first iteration."""
    return cfr.init(tree, self.settings.rule, self.settings.dtype)

  def iterate(self, tree: PublicTree, state: SolverState, iterations: int) -> SolverState:
    """Run further iterations of a search."""
    settings = self.settings
    return cfr.run(
      tree, state, iterations, settings.skip, rule=settings.rule, alternating=settings.alternating
    )

  def _tables(
    self, last: Search, subgame: Subgame, average: Sequence[Table], gadget: Gadget
  ) -> tuple[Table, Table]:
    """`Search.tables` after another search, from its average strategies."""
    tables = []
    for i in (0, 1):
      shapes = subgame.tree.players[i].block_shapes
      inner = average[i][len(average[i]) - len(shapes) :]  # the blocks before are the gadget's
      blocks = [block.reshape(shape) for block, shape in zip(inner, shapes, strict=True)]
      tables.append(subgame.back(i, blocks, last.tables[i]))  # other rows are shared between searches
    if gadget is not unsafe:
      # The gadget distorts the opponent's strategy, so the earlier prediction stays wherever a search has
      # already looked.
      opponent = 1 - last.player
      for k, stops in enumerate(self._stops[opponent]):
        seen = stops <= last.horizon
        tables[opponent][k][:, seen] = last.tables[opponent][k][:, seen]
    return tables[0], tables[1]

  def _value_function(self, subgame: Subgame, pad_to: PadTo) -> BoundValues | None:
    """The value function, bound to the frontier of a subgame; ValueError if the result is not a pytree."""
    if not subgame.limited:
      return None
    function = check_binds("value_function", self.settings.value_function, "CFRValues()")
    bound = function.bind(self.subgames, subgame.frontier_states, pad_to)
    if any(leaf is bound for leaf in jax.tree.leaves(bound)):
      raise ValueError(f"{function} must bind a JAX pytree, got {bound!r}.")
    return bound
