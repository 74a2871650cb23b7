"""Searches of continual re-solving, one after the other (Schmid 2021, Sections 20.5 to 20.7).

A search solves a subgame, or many that do not overlap, and leaves its results to the next one: the player's
strategy so far, for ranges, and the opponent's promised values where the lookahead ended (`promises`).
The first search solves the game from its start. Each later one begins at the player's next decision, from the
player's range and the opponent's promised values there, by one of `gadgets`. A search looks ahead until the
player's next `lookahead` decisions, so it contains every public state from which the next search may begin.
"""

import dataclasses
import inspect
import time
from collections.abc import Sequence
from typing import NamedTuple

import jax
import numpy as np

from ps_cfr_spiel import cfr
from ps_cfr_spiel.arguments import check_binds, check_count, check_flag, check_option, is_integer
from ps_cfr_spiel.cfr import Rule, SolverState, make_rule
from ps_cfr_spiel.device import check_dtype, check_finite, precision, to_device
from ps_cfr_spiel.search.levels import ROUND, Levels, Lookahead, by_row
from ps_cfr_spiel.search.promises import Promises, Search, Table
from ps_cfr_spiel.search.value_functions import CFRValues, ValueFunction
from ps_cfr_spiel.subgames import (
  GADGETS,
  BoundValues,
  Gadget,
  PadTo,
  Subgame,
  Subgames,
  cfr_d,
  unsafe,
)
from ps_cfr_spiel.tree import Decision, PublicTree


@dataclasses.dataclass(frozen=True)
class SearchSettings:
  """The method of a search; ValueError for a value that is not one of the allowed."""

  iterations: int = 1000  #: of CFR in each search
  #: regret rule or its name
  rule: Rule = "nrm+"  # pyright: ignore[reportAssignmentType]
  gadget: Gadget = cfr_d  #: "cfr-d", "max-margin" or "unsafe", or a function like these; see `gadgets`
  #: number of own decisions that a search looks ahead, 1 for only the next; "round" until the next public
  #: chance event, such as a card; None to the end.
  lookahead: Lookahead = None
  value_function: ValueFunction | None = None  #: the values beyond; `CFRValues()` by default
  #: OpenSpiel actions that searches consider (others may still be played by the opponent, where the player
  #: acts next); all by default.
  actions: frozenset[int] | None = None
  alternating: bool = True  #: update order of CFR
  #: iterations that each search leaves out of its averages at the start (Schmid 2021, Table 21.1).
  skip: int = 0
  dtype: str = "float32"  #: or "float64"
  refine: bool = False  #: good answers also where promises are slack; for safe gadgets (see `gadgets`)
  #: k, to search by the player's knowledge of order k instead of public states (see `knowledge`).
  knowledge: int | None = None
  #: with knowledge: every search starts from the results of all earlier ones, so together they are safe;
  #: otherwise from those on the way to its place, so that it does not depend on earlier searches, but unsafe.
  keep: bool = True

  def __post_init__(self):
    gadget, ahead, values = self.gadget, self.lookahead, self.value_function
    if ahead is None and values is not None:
      raise ValueError("A value function is for limited lookahead; give lookahead=1 or more with it.")
    if ahead is not None and values is None:
      values = CFRValues()
    checked = {
      "iterations": check_count("iterations", self.iterations, 1),
      "rule": make_rule(self.rule, alternating=self.alternating),
      "gadget": gadget if callable(gadget) else GADGETS[check_option("gadget", gadget, GADGETS)],
      "lookahead": ahead if ahead in (None, ROUND) else check_count("lookahead", ahead, 1),
      "value_function": values and check_binds("value_function", values, "CFRValues()"),
      "alternating": check_flag("alternating", self.alternating),
      "skip": check_count("skip", self.skip, 0),
      "dtype": check_dtype(self.dtype),
      "refine": check_flag("refine", self.refine),
      "knowledge": None if self.knowledge is None else check_count("knowledge", self.knowledge, 1),
      "keep": check_flag("keep", self.keep),
    }
    for name, value in checked.items():
      object.__setattr__(self, name, value)
    if self.skip >= self.iterations:
      raise ValueError(f"skip must be less than iterations={self.iterations}, got {self.skip}.")
    if self.knowledge is not None and (self.lookahead is not None or self.actions is not None):
      raise ValueError(
        "knowledge is for searches to the end with all actions; leave lookahead and actions out."
      )
    if self.knowledge is None and not self.keep:
      raise ValueError("keep=False is for searches by knowledge; give knowledge=1 or more too.")
    if self.refine and "refine" not in inspect.signature(self.gadget).parameters:
      raise ValueError(
        "refine is for the gadgets 'cfr-d' and 'max-margin'; choose one of them, or give your own "
        "an argument refine."
      )


class LevelPadding(NamedTuple):
  """The shapes to which a search's subgames are padded; None: not."""

  search: PadTo | None = None  #: of the subgame to solve
  promises: PadTo | None = None  #: of the subgames in which the last search's promises are computed
  beyond: PadTo | None = None  #: of the subgame below the frontier, for a value function that solves it


class Searcher:
  """Searches on a game, one after the other."""

  def __init__(self, subgames: Subgames, settings: SearchSettings):
    """See the class; ValueError if searches cannot leave out these actions."""
    self.subgames = subgames  #: of the game
    self.settings = settings  #: of each search
    #: for each player the public states where searches begin and end.
    self.levels = Levels.of(subgames.labels, settings.lookahead)
    #: ranges and promises for the next search.
    self.promises = Promises(subgames, self.levels, settings.actions, settings.dtype)
    #: for each of `Levels.kinds` the shapes of the subgames of a search from one of its public states.
    self.paddings = {
      kind: self._padding(own, states) for own in self.levels for kind, states in own.kinds().items()
    }
    stops = [own.stops_above + own.stop for own in self.levels]
    first, second = (by_row(subgames.tree, i, stops[1 - i]) for i in (0, 1))
    self._stops = (first, second)  # stops of the other player above or there

  def _padding(self, levels: Levels, states: Sequence[int]) -> LevelPadding:
    """The shapes that hold the subgames of the searches from each of some public states of one kind.

    No search's shape depends on earlier searches.
    """
    shape, actions = self.subgames.shape, self.settings.actions
    frontier = levels.frontier(levels.horizon(states[0]))
    promises = shape([], (), actions)
    for horizon in {levels.horizon_before(s) for s in states}:
      for group, _ in self.promises.asked(states):
        promises = promises.union(shape([[s] for s in group], levels.frontier(horizon), actions))
    below = self.subgames.reached(states, frontier, actions).values()
    search = shape([[s] for s in states], frontier, actions)
    return LevelPadding(search.pad_to, promises.pad_to, shape([*below]).pad_to)

  def start(self, player: int) -> Search:
    """Solve the game from its start, as far as the player's lookahead goes."""
    began = time.perf_counter()
    search = self._solve(self.uniform(player), [0], unsafe, LevelPadding())
    return search._replace(seconds=time.perf_counter() - began)

  def uniform(self, player: int) -> Search:
    """A player's state before the first search: uniform strategies."""
    shapes = [p.block_shapes for p in self.subgames.tree.players]
    first, second = ([np.full(shape, 1 / shape[0]) for shape in blocks] for blocks in shapes)
    return Search(player, -1.0, (first, second), (), {}, 0.0)

  def place(self, decision: Decision) -> int:
    """The place of the search for a decision."""
    return decision.public_state

  def way(self, place: int) -> tuple[int, list[int]]:
    """The player at a place, and the places of the searches on the way; ValueError if no player acts."""
    states, game = self.subgames.labels.public_states, self.subgames.labels.game
    if not is_integer(place) or not 0 <= place < len(states):
      raise ValueError(f"{game} has the public states 0..{len(states) - 1}, got {place!r}.")
    player = states[place].player
    if player < 0:
      raise ValueError(f"No player acts in public state {place} of {game}; choose one of a decision.")
    way = [place]
    while states[way[-1]].parent >= 0:
      way.append(states[way[-1]].parent)
    return player, [s for s in way[::-1] if states[s].player == player and self.levels[player].decided[s]]

  def passes(self, player: int) -> list[tuple[int, ...]]:
    """The places of a player's later searches, in groups that one search solves."""
    return self.levels[player].passes()

  def resolve(self, search: Search, public_states: Sequence[int]) -> Search:
    """Solve again from public states in which the player acts next after the roots of a search.

    From one public state, the subgame is padded to the largest of its kind, so play compiles little; several
    public states, of a group in `Levels.passes`, are solved at once without padding. `search` is the last
    one, or the union of several that ended alike where these begin.
    """
    began, levels = time.perf_counter(), self.levels[search.player]
    before = levels.horizon_before(public_states[0])
    search = search._replace(horizon=before, frontier=levels.frontier(before))
    padding = self.paddings[levels.kind(public_states[0])] if len(public_states) == 1 else LevelPadding()
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
    tables, values = self._solved(last, subgame, gadget, ranges, promises, beyond)
    promised = dict(last.promised)
    if subgame.limited:
      known = subgame.frontier[1 - player].knowledge.tolist()
      promised |= zip(known, values[1 - player], strict=False)  # padding has no infostate
    return Search(player, horizon, tables, frontier, promised, 0.0)

  def _solved(self, last: Search, subgame: Subgame, gadget: Gadget, ranges, promises, beyond):
    """`Search.tables` after the subgame is solved, and the values [F, H] at its frontier, if any."""
    player, settings = last.player, self.settings
    refined = {"refine": True} if settings.refine and gadget is not unsafe else {}
    with precision(settings.dtype):
      tree = to_device(gadget(subgame, player, ranges, promises, beyond, **refined), settings.dtype)
      state = self.run(subgame, tree)
      strategies = cfr.average_strategy(tree, state)
      average = [[np.asarray(block, float) for block in own] for own in strategies]
      values = [cfr.average_record(p)[0] for p in state.players] if subgame.limited else []
    if not all(np.isfinite(v).all() for v in values):
      raise ValueError(f"Values of {settings.value_function} must be finite, got inf or nan.")
    check_finite(f"The search from public states {list(subgame.public_states)}", average, settings.dtype)
    return self._tables(last, subgame, average, gadget), values

  def run(self, subgame: Subgame, tree: PublicTree) -> SolverState:
    """Run all iterations on a subgame with its gadget, `tree`; `learning.listening` takes them in parts."""
    return self.iterate(tree, self.first(tree), self.settings.iterations)

  def first(self, tree: PublicTree) -> SolverState:
    """The state of a search before its first iteration."""
    return cfr.init(tree, self.settings.rule, self.settings.dtype)

  def iterate(self, tree: PublicTree, state: SolverState, iterations: int) -> SolverState:
    """Run further iterations of a search."""
    method = {"rule": self.settings.rule, "alternating": self.settings.alternating}
    return cfr.run(tree, state, iterations, self.settings.skip, **method)

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
      # The gadget distorts the opponent's strategy, so the earlier prediction stays where a search has
      # already looked.
      opponent = 1 - last.player
      for k, stops in enumerate(self._stops[opponent]):
        seen = stops <= last.horizon
        tables[opponent][k][:, seen] = last.tables[opponent][k][:, seen]
    return tables[0], tables[1]

  def _value_function(self, subgame: Subgame, pad_to: PadTo | None) -> BoundValues | None:
    """The value function, bound to the frontier of a subgame; ValueError if the result is not a pytree."""
    if not subgame.limited:
      return None
    function = self.settings.value_function
    assert function is not None
    bound = function.bind(self.subgames, subgame.frontier_states, pad_to)
    if any(leaf is bound for leaf in jax.tree.leaves(bound)):
      raise ValueError(f"{function} must bind a JAX pytree, got {bound!r}.")
    return bound
