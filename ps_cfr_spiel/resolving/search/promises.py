"""The results of a search that the next one needs: strategies, for ranges, and promises."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ps_cfr_spiel.backend.device import in_dtype, jit, precision, to_device
from ps_cfr_spiel.resolving.search.levels import Levels
from ps_cfr_spiel.resolving.search.value_functions import FrozenValues
from ps_cfr_spiel.resolving.subgames import BoundValues, PadTo, Ranges, Subgame, Subgames, unsafe
from ps_cfr_spiel.tree import (
  CHANCE,
  TERMINAL,
  BoardTraversal,
  Labels,
  LeafEvaluator,
  PlayerTree,
  PublicTree,
  best_response_values,
  column_of,
  sequence_reach,
  streamed,
)

NEVER = 1e-30  # reach that counts as none: values divided by less leave the range of float32

Table = list[np.ndarray]  # a strategy of the whole game, [A, rows, H] for each block

_best_response = jit(static_argnames="player")(
  lambda tree, opponent_strategy, player: best_response_values(tree, player, opponent_strategy)[1]
)


class Search(NamedTuple):
  """The results of a search that the next one needs."""

  player: int  #: the searching player
  horizon: float  #: the end of the lookahead; see `Levels`. -1 before the first search.
  #: for each player a strategy of the whole game. The player's is final above the roots, and this search's
  #: below, uniform in unsearched places. The opponent's is a prediction of the opponent's play: of the first
  #: search that looked that far ahead, or of the last if that was unsafe.
  tables: tuple[Table, Table]
  frontier: tuple[int, ...]  #: public states where the lookahead ended
  #: the opponent's values there, [H] for each infostate's number; those of earlier searches too.
  promised: Mapping[int, np.ndarray]
  seconds: float  #: duration of this search


class Promises:
  """The ranges and promises of a search, computed for the next one."""

  def __init__(
    self,
    subgames: Subgames,
    levels: tuple[Levels, Levels],
    actions: frozenset[int] | None,
    dtype: str,
  ):
    """See the class; ValueError if some actions cannot be left out, or searches cannot end there."""
    self.subgames = subgames  #: of the game
    self.actions = actions  #: OpenSpiel actions that searches consider; all if None
    self.dtype = dtype  #: "float32" or "float64"
    #: for public states right after an action that searches leave out, or right after the end of the search
    #: before, the public state above.
    self.anchors = {} if actions is None else find_anchors(subgames.labels, actions)
    self.anchors |= find_ends(subgames.labels, levels)
    self._depth = _depths(subgames.labels)

  def ranges(self, search: Search, subgame: Subgame) -> Ranges:
    """Both players' ranges at the roots, by the tables of the last search.

    A player who practically never comes to a public state gets the same range for every infostate there: the
    tables contain nothing about it.
    """
    ranges = []
    for player_tree, table, infostates in zip(
      self.subgames.tree.players, search.tables, subgame.roots, strict=True
    ):
      range_ = reach_of(player_tree, table)[infostates.sequence]
      range_[len(infostates.public) :] = 0  # padding
      for s in np.unique(infostates.public):
        rows = np.flatnonzero(infostates.public == s)
        if range_[rows].max() < NEVER:
          range_[rows] = 1.0
      ranges.append(range_)
    return ranges[0], ranges[1]

  def values(self, search: Search, subgame: Subgame, pad_to: PadTo | None) -> np.ndarray:
    """The opponent's promised values at the roots, by the last search: [roots, H].

    These are counterfactual best response values. After an opponent's action that the search left out, or did
    not look at, they are those of the public state above: no action is worth more (Schmid 2021, Section
    21.2).
    """
    opponent = 1 - search.player
    infostates, nodes = subgame.roots[opponent], self.subgames.nodes
    promises = np.zeros((subgame.shape.roots[opponent], self.subgames.tree.players[opponent].types))
    for asked, states in self.asked(subgame.public_states):
      knowledge, values = self._responses(search, asked, pad_to)
      rows = np.flatnonzero(np.isin(infostates.public, states))
      node = infostates.node[rows] if asked == states else nodes.parent[infostates.node[rows]]
      promises[rows] = values[knowledge.find(nodes.knowledge[opponent][node])]
    return promises

  def asked(self, public_states: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """The public states with promises: pairs (public states asked, for which public states).

    Anchors come by depth, since one may lie below another; the states of a pair do not overlap.
    """
    groups: dict[int, list[int]] = {}
    for s in public_states:
      groups.setdefault(int(self._depth[self.anchors[s]]) if s in self.anchors else -1, []).append(s)
    return [(sorted({self.anchors.get(s, s) for s in states}), states) for states in groups.values()]

  def _responses(self, search: Search, public_states: Sequence[int], pad_to: PadTo | None):
    """The opponent's infostates at public states, and their best response values there, [R, H]."""
    player, opponent = search.player, 1 - search.player
    subgame = self.subgames.cut(public_states, search.frontier, self.actions, pad_to)
    frontier = self._frozen(search, subgame) if subgame.limited else None
    ranges = self.ranges(search, subgame)
    return subgame.roots[opponent], responses(subgame, player, ranges, search.tables, self.dtype, frontier)

  def _frozen(self, search: Search, subgame: Subgame) -> FrozenValues:
    """The opponent's values where the last search's lookahead ended; the player's are not needed."""
    opponent = 1 - search.player
    shapes = zip(subgame.shape.frontier, self.subgames.tree.players, strict=True)
    first, second = (np.zeros((n, player.types)) for n, player in shapes)
    values = (first, second)
    for n, k in enumerate(subgame.frontier[opponent].knowledge.tolist()):
      if k in search.promised or self.actions is None:
        values[opponent][n] = search.promised[k]
      # Other infostates follow an own action that searches leave out, which the player never takes.
    return FrozenValues(values)


def reach_of(forest: PlayerTree, table: Table) -> np.ndarray:
  """float64[S, H]: the reach of a player's sequences, on the host: no game's code is compiled."""
  reach, block = [np.ones((1, forest.types))], 0
  for level, above in zip(forest.levels, forest.above(), strict=True):
    rows = np.concatenate(reach)[above]
    for (_, count), end in zip(level.shapes, np.cumsum(level.link.children), strict=True):
      reach.append((table[block] * rows[end - count : end]).reshape(-1, forest.types))
      block += 1
  return np.concatenate(reach)


def responses(
  subgame: Subgame,
  player: int,
  ranges: Ranges,
  tables: tuple[Table, Table],
  dtype: str,
  beyond: BoundValues | None = None,
) -> np.ndarray:
  """Values of best responses to a player, [roots, H] of the opponent: unnormalised, as promises are.

  Args:
    subgame: where they respond.
    player: who plays the own of `tables`, strategies of the whole game.
    ranges: of both players at the roots.
    tables: of both players; the opponent's counts where values beyond the tree depend on it (`settle`).
    dtype: of the numbers.
    beyond: fixed values at the frontier, if there is one.
  """
  strategy = subgame.there(player, tables[player])
  if subgame.tree.leaves.has_values_beyond:
    theirs = subgame.there(1 - player, tables[1 - player])
    played = (strategy, theirs) if player == 0 else (theirs, strategy)
    with precision(dtype):
      leaves = _settled(*to_device((subgame.tree, played, ranges), dtype))
    subgame = dataclasses.replace(subgame, tree=dataclasses.replace(subgame.tree, leaves=leaves))
  return best_responses(unsafe(subgame, player, ranges, None, beyond).tree, strategy, 1 - player, dtype)


@jit()  # at once: each of its operations would be compiled for each tree
def _settled(tree: PublicTree, strategies: Sequence[Table], ranges: Ranges) -> LeafEvaluator:
  """A tree's leaves with the values beyond fixed at those for both strategies and ranges."""
  reach = [
    [part * range_ for part in forest.leaf.pull(sequence_reach(forest, played))]
    for forest, played, range_ in zip(tree.players, strategies, ranges, strict=True)
  ]
  return tree.leaves.settle(reach)


def best_responses(tree: PublicTree, strategy: Table, player: int, dtype: str) -> np.ndarray:
  """A player's best response values at the roots, [roots, H], against a strategy of the opponent there."""
  made, forest = in_dtype(streamed(tree), "float64"), tree.players[1 - player]
  if isinstance(made.stream, BoardTraversal):  # no program of XLA
    column = column_of(forest.join([np.asarray(block, float) for block in strategy]), forest.types)
    return made.stream.responses(made.leaves, player, np.asarray(column, float))[None]
  with precision(dtype):
    return np.asarray(_best_response(*to_device((tree, strategy), dtype), player=player), float)


def _depths(labels: Labels) -> np.ndarray:
  """int[P]: the number of public states above each one."""
  depth = np.zeros(len(labels.public_states), int)
  for s, state in enumerate(labels.public_states):
    depth[s] = depth[state.parent] + 1 if state.parent >= 0 else 0
  return depth


def find_anchors(labels: Labels, actions: frozenset[int]) -> dict[int, int]:
  """See `Promises.anchors`.

  An action must lead to one public state, or its value bounds that of several, and the other player must act
  next, or nothing bounds the values there (Schmid 2021, Section 21.2): ValueError.
  """
  states, anchors = labels.public_states, {}
  later = [state for state in states if state.parent >= 0 and state.player != TERMINAL]
  moves = [(state.parent, state.action) for state in later if states[state.parent].player >= 0]
  if len(set(moves)) < len(moves) or any(action < 0 for _, action in moves):
    raise ValueError(f"actions: {labels.game} has hidden moves; search it with all actions.")
  for s, state in enumerate(states):
    mover = states[state.parent].player
    if state.parent < 0 or mover < 0 or state.action in actions:
      continue
    if state.player == 1 - mover:
      anchors[s] = state.parent
    elif state.player >= 0 or state.player == CHANCE:
      raise ValueError(
        f"actions: {state.action} cannot be left out: in {labels.game} the opponent does not act right after "
        f"it (public state {s}), so nothing bounds its value; keep it."
      )
  return anchors


def find_ends(labels: Labels, levels: tuple[Levels, Levels]) -> dict[int, int]:
  """The end of the search before, for public states where a search begins below it.

  ValueError if more than one move lies between, or a move may lead to several public states, so that the
  value at the end bounds nothing.
  """
  ends = {s: int(of_player.last_stop[s]) for of_player in levels for s in of_player.beyond_stop().tolist()}
  below: dict[int, list[int]] = {
    end: [labels.public_states[s].action for s in labels.children[end]] for end in set(ends.values())
  }
  for s, end in ends.items():
    state = labels.public_states[s]
    unclear = state.action < 0 or below[end].count(state.action) > 1
    if state.parent != end or (unclear and len(below[end]) > 1):
      raise ValueError(
        f"lookahead={levels[0].lookahead!r}: in {labels.game} a search would begin in public state {s} and "
        f"the one before end in {end}. Only one move, to one public state, may lie between; give a number."
      )
  return ends
