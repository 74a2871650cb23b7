"""Problems that begin in public states: continual re-solving (Schmid 2021, Sections 20.5 to 20.7).

Each begins at the player's next decision, from the player's range and the opponent's promised values there,
and looks ahead until the player's next `lookahead` decisions, so it contains every public state from which
the next search may begin.
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax

from ps_cfr_spiel.arguments import is_integer
from ps_cfr_spiel.resolving.search.levels import Levels, Lookahead, by_row
from ps_cfr_spiel.resolving.search.problems import Problem, Problems
from ps_cfr_spiel.resolving.search.promises import Promises, Search
from ps_cfr_spiel.resolving.search.value_functions import ValueFunction
from ps_cfr_spiel.resolving.subgames import BoundValues, PaddedShapes, PadTo, Subgame, Subgames
from ps_cfr_spiel.tree import Decision


class LevelPadding(NamedTuple):
  """The shapes to which a search's subgames are padded; None: not."""

  search: PadTo | None = None  #: of the subgame to solve
  promises: PadTo | None = None  #: of the subgames in which the last search's promises are computed
  beyond: PadTo | None = None  #: of the subgame below the frontier, for a value function that solves it


class PublicProblems(Problems):
  """The problems of searches by public states; their shapes do not depend on earlier searches."""

  def __init__(
    self,
    subgames: Subgames,
    lookahead: Lookahead,
    value_function: ValueFunction | None,
    actions: frozenset[int] | None,
    safe: bool,
    dtype: str,
    shapes: PaddedShapes | None = None,
  ):
    """Arguments as in `SearchSettings`; ValueError if searches cannot leave out these actions.

    `shapes` are for problems of several trees that share code; without them problems are padded to the
    largest of their kind in this tree.
    """
    self.subgames, self._shapes = subgames, shapes
    self.levels = Levels.of(subgames.labels, lookahead)  #: for each player the public states of searches
    #: ranges and promises for the next search.
    self.promises = Promises(subgames, self.levels, actions, dtype)
    self._value_function, self._actions, self._safe = value_function, actions, safe
    #: for each of `Levels.kinds` the shapes of the subgames of a search from one of its public states.
    self.paddings = {
      kind: self._padding(levels, states)
      for levels in self.levels
      for kind, states in levels.kinds().items()
      if shapes is None
    }
    self.kinds = len(self.paddings)
    stops = [levels.stops_above + levels.stop for levels in self.levels]
    first, second = (by_row(subgames.tree, i, stops[1 - i]) for i in (0, 1))
    self.stops = first, second

  def _padding(self, levels: Levels, states: Sequence[int]) -> LevelPadding:
    """The shapes that hold the subgames of the searches from each of some public states of one kind."""
    shape, actions = self.subgames.shape, self._actions
    frontier = levels.frontier(levels.horizon(states[0]))
    promises = shape([], (), actions)
    for horizon in {levels.horizon_before(s) for s in states}:
      for group, _ in self.promises.asked(states):
        promises = promises.union(shape([[s] for s in group], levels.frontier(horizon), actions))
    below = self.subgames.reached(states, frontier, actions).values()
    search = shape([[s] for s in states], frontier, actions)
    return LevelPadding(search.pad_to, promises.pad_to, shape([*below]).pad_to)

  def place(self, decision: Decision) -> int:
    return decision.public_state

  def searches_on_path(self, place: int) -> tuple[int, list[int]]:
    states, game = self.subgames.labels.public_states, self.subgames.labels.game
    if not is_integer(place) or not 0 <= place < len(states):
      raise ValueError(f"{game} has the public states 0..{len(states) - 1}, got {place!r}.")
    player = states[place].player
    if player < 0:
      raise ValueError(f"No player acts in public state {place} of {game}; choose one of a decision.")
    path = [place]
    while states[path[-1]].parent >= 0:
      path.append(states[path[-1]].parent)
    decided = self.levels[player].decided
    return player, [s for s in path[::-1] if states[s].player == player and decided[s]]

  def passes(self, player: int) -> list[tuple[int, ...]]:
    return self.levels[player].passes()

  def first(self, player: int) -> Problem:
    return self._problem(self.uniform(player), [0], LevelPadding(), safe=False)

  def later(self, last: Search, places: Sequence[int]) -> Problem:
    """See `Problems`.

    From one public state, the subgame is padded to the largest of its kind, so play compiles little; several
    public states, of a group in `Levels.passes`, are solved at once without padding. `last` is the last
    search, or the union of several that ended alike where these begin.
    """
    levels = self.levels[last.player]
    before = levels.horizon_before(places[0])
    last = last._replace(horizon=before, frontier=levels.frontier(before))
    kind = levels.kind(places[0])
    padding = LevelPadding()
    if len(places) == 1:
      if self._shapes is None:
        padding = self.paddings[kind]
      else:
        padding = LevelPadding(self._shapes.fitting("search"), self._shapes.fitting("promises"))
    return self._problem(last, places, padding, self._safe)

  def _problem(self, last: Search, roots: Sequence[int], padding: LevelPadding, safe: bool) -> Problem:
    levels = self.levels[last.player]
    horizon = levels.horizon(roots[0])
    frontier = levels.frontier(horizon)
    subgame = self.subgames.cut(roots, frontier, self._actions, padding.search)
    promises = self.promises.values(last, subgame, padding.promises) if safe else None
    pad_to = padding.beyond
    if self._shapes is not None:  # the frontier may be padded
      pad_to = self._shapes.fitting("beyond", subgame.shape.frontier)
    beyond = self._beyond(subgame, pad_to)
    ranges = self.promises.ranges(last, subgame)
    return Problem(last, subgame, ranges, promises, beyond, horizon, frontier)

  def _beyond(self, subgame: Subgame, pad_to: PadTo | None) -> BoundValues | None:
    """The value function, bound to the frontier of a subgame; ValueError if the result is not a pytree."""
    if not subgame.limited:
      return None
    function = self._value_function
    assert function is not None
    bound = function.bind(self.subgames, subgame.frontier_states, pad_to)
    if any(leaf is bound for leaf in jax.tree.leaves(bound)):
      raise ValueError(f"{function} must bind a JAX pytree, got {bound!r}.")
    return bound
