"""Searches of continual re-solving, one after the other (Schmid 2021, Sections 20.5 to 20.7).

A search solves a subgame, or many that do not overlap, and leaves to the next one what that needs: the
player's strategy so far, from which ranges follow, and what the opponent was promised where the lookahead
ended.
The first search solves the game from its start. Each later one begins where the player acts next, from the
player's range and the opponent's promised values there, by one of `gadgets`. Its lookahead ends where the
player acts for the `lookahead`-th time after that, so it has seen every state in which the next may begin.
"""

import dataclasses
import functools
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import jax
import numpy as np

from ps_cfr_spiel import cfr
from ps_cfr_spiel.cfr import Rule
from ps_cfr_spiel.device import jit, precision, to_device
from ps_cfr_spiel.search.value_functions import FrozenValues, ValueFunction
from ps_cfr_spiel.subgames import BoundValues, Gadget, Ranges, Shape, Standing, Subgame, Subgames, unsafe
from ps_cfr_spiel.tree import CHANCE, TERMINAL, best_response_values, sequence_reach

TRIED = 256  # subgames whose shapes are looked at to find one for all
NEVER = 1e-30  # reach that is as good as none: values divided by less leave the range of float32

Table = list[np.ndarray]  # a strategy of the whole game, [A, rows, H] for each block

_reach = jit()(sequence_reach)
_best_response = jit(static_argnames="player")(
  lambda tree, opponent_strategy, player: best_response_values(tree, player, opponent_strategy)[1]
)


@dataclasses.dataclass(frozen=True)
class Settings:
  """How a search solves.

  Attributes:
    iterations: of CFR.
    rule: regret rule.
    gadget: one of `gadgets`.
    lookahead: how many own decisions it looks ahead; None for all.
    value_function: what the frontier is worth.
    actions: OpenSpiel actions that searches consider; all if None.
    alternating: update order of CFR.
    skip: iterations left out of the averages at the start.
    dtype: "float32" or "float64".
  """

  iterations: int
  rule: Rule
  gadget: Gadget
  lookahead: int | None
  value_function: ValueFunction | None
  actions: frozenset[int] | None
  alternating: bool
  skip: int
  dtype: str


class Search(NamedTuple):
  """What a search leaves to the next.

  Attributes:
    player: who searches.
    level: own public states of the player above the roots.
    tables: for each player a strategy of the whole game: the player's is final above the roots, and below is
      what this search found, uniform where no search came. The opponent's is what to expect of them:
      found by the first search that looked so far ahead, or by the last if that was unsafe.
    frontier: public states where the lookahead ended.
    promised: the opponent's values there, [H] for each infostate's number; those of earlier searches too.
    seconds: what this search took.
  """

  player: int
  level: int
  tables: tuple[Table, Table]
  frontier: tuple[int, ...]
  promised: Mapping[int, np.ndarray]
  seconds: float


class Searcher:
  """Runs searches on a game.

  Attributes:
    subgames: of the game.
    settings: how each search solves.
    level: for each player int[P], how many public states above each one are the player's own.
    depth: int[P], how many public states there are above.
    anchors: for public states right after an action that searches leave out, the one before it.
  """

  def __init__(self, subgames: Subgames, settings: Settings):
    """See the class; ValueError if searches cannot leave out these actions."""
    self.subgames, self.settings = subgames, settings
    self.level = (self._levels(0), self._levels(1))
    self.depth = self._depths()
    self.anchors = self._anchors()
    self._levels_of = (self._row_levels(0), self._row_levels(1))
    self._below = self._sizes()
    self._shapes: dict[tuple[str, int, int], Shape] = {}
    with precision(settings.dtype):
      self._players = to_device(subgames.tree.players, settings.dtype)

  def _levels(self, player: int) -> np.ndarray:
    states = self.subgames.labels.public_states
    level = np.zeros(len(states), int)
    for s, state in enumerate(states):
      if state.parent >= 0:
        level[s] = level[state.parent] + (states[state.parent].player == player)
    return level

  def _row_levels(self, player: int) -> list[np.ndarray]:
    """int[rows] for each block of a player: how many public states of the other player are above the row."""
    levels = [np.zeros(rows, int) for _, rows, _ in self.subgames.tree.players[player].block_shapes]
    for d in self.subgames.labels.decisions:
      if d.player == player:
        levels[d.block][d.row] = self.level[1 - player][d.public_state]
    return levels

  def _depths(self) -> np.ndarray:
    depth = np.zeros(len(self.subgames.labels.public_states), int)
    for s, state in enumerate(self.subgames.labels.public_states):
      depth[s] = depth[state.parent] + 1 if state.parent >= 0 else 0
    return depth

  def _sizes(self) -> np.ndarray:
    """int[P]: the public states at and below each one."""
    states = self.subgames.labels.public_states
    size = np.ones(len(states), int)
    for s in range(len(states) - 1, 0, -1):
      size[states[s].parent] += size[s]
    return size

  def states(self, player: int, level: int | None) -> tuple[int, ...]:
    """The public states in which a player makes the decision number `level`; none for None."""
    return tuple(s for s in self.acting(player) if self.level[player][s] == level)

  def acting(self, player: int) -> list[int]:
    """The public states in which a player acts."""
    return [s for s, state in enumerate(self.subgames.labels.public_states) if state.player == player]

  def start(self, player: int) -> Search:
    """Solves the game from its start, as far as the player's lookahead goes."""
    began = time.perf_counter()
    shapes = [p.block_shapes for p in self.subgames.tree.players]
    first, second = ([np.full(shape, 1 / shape[0]) for shape in blocks] for blocks in shapes)
    nothing = Search(player, -1, (first, second), (), {}, 0.0)
    frontier = self.states(player, self.settings.lookahead)
    return self._solve(nothing, [0], frontier, unsafe, False, began)

  def resolve(self, search: Search, public_states: Sequence[int], padded: bool = False) -> Search:
    """Solves again from public states in which the player acts next after the roots of a search.

    Args:
      search: the last.
      public_states: where to begin, one or many.
      padded: give all subgames of a level one shape, so that little is compiled during play.
    """
    began = time.perf_counter()
    level, lookahead = int(self.level[search.player][public_states[0]]), self.settings.lookahead
    frontier = self.states(search.player, None if lookahead is None else level + lookahead)
    return self._solve(search, public_states, frontier, self.settings.gadget, padded, began)

  def _solve(
    self, search: Search, roots: Sequence[int], frontier, gadget: Gadget, padded: bool, began: float
  ) -> Search:
    """One search."""
    player, settings = search.player, self.settings
    opponent, level = 1 - player, int(self.level[player][roots[0]])
    subgame = self._cut("search", player, roots, frontier, padded)
    promises = None if gadget is unsafe else self._promises(search, subgame, padded)
    values = self._value_function(subgame, player, level, padded)
    with precision(settings.dtype):
      tree = to_device(
        gadget(subgame, player, self._ranges(search, subgame), promises, values), settings.dtype
      )
      state = cfr.init(tree, settings.rule, settings.dtype)
      state = cfr.solve(
        tree,
        state,
        settings.iterations,
        settings.skip,
        rule=settings.rule,
        alternating=settings.alternating,
      )
      average = [[np.asarray(block, float) for block in cfr.average_strategy(p)] for p in state.players]
    tables = self._tables(search, subgame, average, gadget)
    promised = dict(search.promised)
    if subgame.limited:
      values = [cfr.average_record(p)[0] for p in state.players]
      if not all(np.isfinite(v).all() for v in values):
        raise ValueError(f"The value function {settings.value_function} gave values that are not finite.")
      promised |= zip(subgame.frontier[opponent].knowledge.tolist(), values[opponent], strict=False)
    return Search(player, level, tables, tuple(frontier), promised, time.perf_counter() - began)

  def _tables(
    self, search: Search, subgame: Subgame, average: Sequence[Table], gadget: Gadget
  ) -> tuple[Table, Table]:
    """`Search.tables` after another search, from its average strategies."""
    tables = (list(search.tables[0]), list(search.tables[1]))
    for i in (0, 1):
      for k in {int(k) for source, _ in subgame.rows[i] for k in source[:, 0]}:
        tables[i][k] = tables[i][k].copy()  # the rest is shared between searches
      shapes = subgame.tree.players[i].block_shapes
      inner = average[i][len(average[i]) - len(shapes) :]  # what comes before is the gadget's
      blocks = [block.reshape(shape) for block, shape in zip(inner, shapes, strict=True)]
      subgame.scatter(i, blocks, tables[i])
    if gadget is not unsafe:
      # It makes the opponent do strange things: nothing to expect of them where a search has looked before.
      lookahead, opponent = self.settings.lookahead, 1 - search.player
      ahead = np.inf if lookahead is None else search.level + lookahead
      for k, level in enumerate(self._levels_of[opponent]):
        tables[opponent][k][:, level <= ahead] = search.tables[opponent][k][:, level <= ahead]
    return tables

  def _cut(
    self, kind: str, player: int, public_states: Sequence[int], frontier: Sequence[int], padded: bool
  ) -> Subgame:
    """Cuts the subgame of a search, padded to the shape of the player's other subgames of its level."""
    actions = self.settings.actions
    if not padded:
      return self.subgames.cut(public_states, frontier, actions)
    level = int(self.level[player][public_states[0]])
    fit = self._fit((kind, player, level), lambda s: self.subgames.cut([s], frontier, actions).shape)
    return self.subgames.cut(public_states, frontier, actions, fit)

  def _fit(self, key: tuple[str, int, int], shape_at: Callable[[int], Shape]) -> Callable[[Shape], Shape]:
    """What gives all subgames of a kind, player and level one shape, so that code is compiled once for them.

    Args:
      key: (kind, player, level).
      shape_at: the shape of the subgame at a public state of the level; the largest few are tried.
    """
    if key not in self._shapes:
      states = sorted(self.states(*key[1:]), key=lambda s: -self._below[s])[:TRIED]
      self._shapes[key] = functools.reduce(Shape.union, map(shape_at, states))

    def fit(own: Shape) -> Shape:
      if self._shapes[key].union(own) != self._shapes[key]:  # larger in some way: leave room for more such
        self._shapes[key] = self._shapes[key].union(own.rounded())
      return self._shapes[key]

    return fit

  def _value_function(self, subgame: Subgame, player: int, level: int, padded: bool) -> BoundValues | None:
    """The settings' value function, bound to the frontier of a subgame; ValueError if that is no pytree."""
    if not subgame.limited:
      return None
    bound = self._bound(subgame, player, level, padded)
    if any(leaf is bound for leaf in jax.tree.leaves(bound)):
      raise ValueError(f"What {self.settings.value_function} binds must be a JAX pytree, got {bound!r}.")
    return bound

  def _bound(self, subgame: Subgame, player: int, level: int, padded: bool) -> BoundValues:
    """The value function at a frontier, its own subgame padded as the search's is."""
    assert self.settings.value_function is not None
    states = _public_states(subgame.frontier)
    if not padded:
      return self.settings.value_function.bind(self.subgames, states)
    frontier, actions = self.states(player, level + (self.settings.lookahead or 0)), self.settings.actions

    def shape_at(public_state: int) -> Shape:
      above = self.subgames.cut([public_state], frontier, actions)
      return self.subgames.cut(_public_states(above.frontier), fit=lambda own: own).shape

    fit = self._fit(("below", player, level), shape_at)
    return self.settings.value_function.bind(
      self.subgames, states, lambda own: fit(own)._replace(roots=subgame.shape.frontier)
    )

  def _ranges(self, search: Search, subgame: Subgame) -> Ranges:
    """Both players' ranges at the roots, by the tables of the last search.

    Where a player would as good as never come, every infostate counts the same: there is nothing to go by.
    """
    ranges = []
    for i, standing in enumerate(subgame.roots):
      with precision(self.settings.dtype):
        reach = _reach(self._players[i], to_device(search.tables[i], self.settings.dtype))
        range_ = np.concatenate([np.asarray(part, float) for part in reach])[standing.sequence]
      range_[len(standing.public) :] = 0  # padding
      for s in np.unique(standing.public):
        here = np.flatnonzero(standing.public == s)
        if range_[here].max() < NEVER:
          range_[here] = 1.0
      ranges.append(range_)
    return ranges[0], ranges[1]

  def _promises(self, search: Search, subgame: Subgame, padded: bool) -> np.ndarray:
    """What the last search promised the opponent at the roots: [roots, H].

    These are counterfactual best response values. If the opponent has taken an action that the search left
    out, they are those of the public state before: no action is worth more (Schmid 2021, Section 21.2).
    """
    opponent = 1 - search.player
    standing, nodes = subgame.roots[opponent], self.subgames.nodes
    groups: dict[int, list[int]] = {}  # anchors by depth, since one may lie below another
    for s in subgame.public_states:
      anchor = self.anchors.get(s, s)
      groups.setdefault(-1 if anchor == s else int(self.depth[anchor]), []).append(s)
    promises = np.zeros((subgame.shape.roots[opponent], self.subgames.tree.players[opponent].types))
    for depth, states in groups.items():
      at = sorted({self.anchors.get(s, s) for s in states})
      found, values = self._response_values(search, at, padded)
      rows = np.flatnonzero(np.isin(standing.public, states))
      node = standing.node[rows] if depth < 0 else nodes.parent[standing.node[rows]]
      promises[rows] = values[found.find(nodes.knowledge[opponent][node])]
    return promises

  def _anchors(self) -> dict[int, int]:
    """See the class's `anchors`; ValueError if actions are left out that cannot be.

    An action must lead to one public state, or its value bounds that of several, and the other player must
    act next, or nothing bounds the values there (Schmid 2021, Section 21.2).
    """
    labels, actions = self.subgames.labels, self.settings.actions
    if actions is None:
      return {}
    states, anchors = labels.public_states, {}
    later = [state for state in states if state.parent >= 0 and state.player != TERMINAL]
    moves = [(state.parent, state.action) for state in later if states[state.parent].player >= 0]
    if len(set(moves)) < len(moves) or any(action < 0 for _, action in moves):
      raise ValueError(f"actions: {labels.game} has hidden moves, so that searches cannot leave out any.")
    for s, state in enumerate(states):
      mover = states[state.parent].player
      if state.parent < 0 or mover < 0 or state.action in actions:
        continue
      if state.player == 1 - mover:
        anchors[s] = state.parent
      elif state.player >= 0 or state.player == CHANCE:
        raise ValueError(
          f"actions: {state.action} cannot be left out, since in {labels.game} the opponent does not act "
          f"right after it (public state {s}), so that nothing would bound what it is worth."
        )
    return anchors

  def _response_values(self, search: Search, public_states: Sequence[int], padded: bool):
    """The opponent's infostates at public states, and their best response values there, [R, H]."""
    player, opponent = search.player, 1 - search.player
    kind = "promises" if search.frontier else "search"
    subgame = self._cut(kind, player, public_states, search.frontier, padded)
    frontier = None
    if subgame.limited:
      shapes = [(n, p.types) for n, p in zip(subgame.shape.frontier, subgame.tree.players, strict=True)]
      values = (np.zeros(shapes[0]), np.zeros(shapes[1]))
      for n, k in enumerate(subgame.frontier[opponent].knowledge.tolist()):
        if k in search.promised or self.settings.actions is None:
          values[opponent][n] = search.promised[k]
        # Else it comes after an own action that searches leave out, which the player never takes.
      frontier = FrozenValues(values)
    tree = unsafe(subgame, player, self._ranges(search, subgame), None, frontier)
    strategy = subgame.gather(player, search.tables[player])
    with precision(self.settings.dtype):
      tree, strategy = to_device((tree, strategy), self.settings.dtype)
      values = np.asarray(_best_response(tree, strategy, player=opponent), float)
    return subgame.roots[opponent], values


def _public_states(standings: Sequence[Standing]) -> list[int]:
  """The public states where somebody stands."""
  return sorted({int(s) for standing in standings for s in standing.public})
