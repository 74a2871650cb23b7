"""Searches by one player's knowledge, for games with or without public states (Zhang and Sandholm 2021).

A search starts at an infostate of the player, and leaves a strategy of the whole game in which the decisions
there and below are new. The opponent is promised the best-response values against the last strategy. So if
every search starts from the results of all earlier ones, the player never loses by searching; if each starts
from the blueprint alone, changes that are safe one by one may be exploitable together (the same, Section 4).
"""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from ps_cfr_spiel.arguments import is_integer
from ps_cfr_spiel.search.promises import Search, Table, best_responses
from ps_cfr_spiel.search.searcher import Searcher, SearchSettings
from ps_cfr_spiel.subgames import KnownSubgames, Ranges, Shape, Subgame, unsafe
from ps_cfr_spiel.tree import Decision, PlayerTree


class KnowledgeSearcher(Searcher):
  """Searches at a player's decisions, given by number, one after the other."""

  subgames: KnownSubgames

  def __init__(self, subgames: KnownSubgames, settings: SearchSettings, shapes: Any = None):
    """See the class; `shapes`, a dictionary, keeps the padded shapes for searchers that share code."""
    self.subgames, self.settings, self.paddings = subgames, settings, {}
    blocks = [player.block_shapes for player in subgames.tree.players]
    first, second = ([np.zeros(rows) for _, rows, _ in own] for own in blocks)
    self._stops = (first, second)  # no search changes the prediction of the opponent's play
    # Of each player's decisions after some number of own ones:
    self._shapes: dict[tuple[int, int], Shape] = {} if shapes is None else shapes

  def place(self, decision: Decision) -> int:
    return self.subgames.numbers[decision.player, decision.block, decision.row]

  def way(self, place: int) -> tuple[int, list[int]]:
    decisions = self.subgames.labels.decisions
    if not is_integer(place) or not 0 <= place < len(decisions):
      raise ValueError(
        f"{self.subgames.labels.game} has the decisions 0..{len(decisions) - 1}, got {place!r}."
      )
    way = [d for d in self.subgames.above(place) if self.subgames.decided[d]]
    return decisions[place].player, way

  def passes(self, player: int) -> list[tuple[int, ...]]:
    own = [n for n, d in enumerate(self.subgames.labels.decisions) if d.player == player]
    own.sort(key=lambda n: len(self.subgames.above(n)))
    return [(n,) for n in own if self.subgames.decided[n]]

  def start(self, player: int) -> Search:
    began = time.perf_counter()
    last, subgame = self.uniform(player), self.subgames.whole()
    tables, _ = self._solved(last, subgame, unsafe, _ones(subgame), None, None)
    return last._replace(horizon=np.inf, tables=tables, seconds=time.perf_counter() - began)

  def resolve(self, search: Search, public_states: Sequence[int]) -> Search:
    """Solve again from one decision; the last search's strategy stays if it never comes there."""
    began, (decision,), player = time.perf_counter(), public_states, search.player
    reach = [_reach(own, table) for own, table in zip(self.subgames.tree.players, search.tables, strict=True)]
    key = player, len(self.subgames.above(decision))

    def pad_to(own: Shape) -> Shape:
      self._shapes[key] = shape = own.rounded().union(self._shapes.get(key, own))
      return shape

    subgame = self.subgames.at(decision, reach[player], pad_to)
    if subgame is not None:
      ranges, gadget = _ones(subgame), self.settings.gadget
      promises = None
      if gadget is unsafe:  # where the opponent never comes, all infostates count the same
        range_ = reach[1 - player][subgame.roots[1 - player].sequence][:, None]
        ranges[1 - player][:] = range_ if range_.any() else 1.0
      else:
        tree, strategy = unsafe(subgame, player, ranges), subgame.there(player, search.tables[player])
        promises = best_responses(tree, strategy, 1 - player, self.settings.dtype)
      tables, _ = self._solved(search, subgame, gadget, ranges, promises, None)
      search = search._replace(tables=tables)
    return search._replace(seconds=time.perf_counter() - began)


def _reach(forest: PlayerTree, table: Table) -> np.ndarray:
  """float64[S]: the reach of a player's sequences, of one type, on the host: no game's code is compiled."""
  reach, block = [np.ones(1)], 0
  for level, above in zip(forest.levels, forest.above(), strict=True):
    rows = np.concatenate(reach)[above]
    for (_, count), end in zip(level.shapes, np.cumsum(level.link.children), strict=True):
      reach.append((table[block][:, :, 0] * rows[end - count : end]).ravel())
      block += 1
  return np.concatenate(reach)


def _ones(subgame: Subgame) -> Ranges:
  """Ranges of 1 at the roots: the subgame's leaves count the player's own."""
  first, second = subgame.shape.roots
  return np.ones((first, 1)), np.ones((second, 1))
