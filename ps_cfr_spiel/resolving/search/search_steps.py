"""Searches in a game that is not enumerated: each makes the public tree that it needs, and no more.

Such a tree has the ways to the public state of a decision and all below it, to the end of the lookahead. The
search is that of `searcher`, in this tree as in a whole game's. The results of the search before are
carried over from one tree to the next, node by node.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ps_cfr_spiel.resolving.search.levels import stops_ahead
from ps_cfr_spiel.resolving.search.promises import Search
from ps_cfr_spiel.resolving.search.searcher import Searcher
from ps_cfr_spiel.resolving.search.subgame_run import SearchSettings
from ps_cfr_spiel.resolving.subgames import Members, PaddedShapes, PublicStates, Subgames


class Step(NamedTuple):
  """A search with the tree that it was made in."""

  searcher: Searcher
  search: Search
  opened: int = 0  #: public states by which its tree has grown


class SearchesOnDemand:
  """Searches of one game, each from the one at the player's decision before."""

  def __init__(self, states: PublicStates, settings: SearchSettings, seconds: float | None = None):
    """Has not searched yet.

    `settings` have neither knowledge nor actions, which need the whole game; `seconds` are of `Searcher`.
    """
    self.states, self.settings, self.seconds = states, settings, seconds  #: as given
    self._shapes = PaddedShapes()

  def start(self, player: int) -> Step:
    """The search from the start of the game."""
    searcher = self._searcher(self.states.members(()), player)
    return Step(searcher, searcher.start(player))

  def later(self, last: Step, members: Members) -> Step:
    """The search from a public state in which the player decides next after the roots of the last one."""
    player, before = last.search.player, last.searcher.subgames
    searcher = self._searcher(members, player)
    place = self.states.place(searcher.subgames, members)
    search = carried(self.states, last.search, before, searcher.subgames)
    return Step(searcher, searcher.resolve(search, [place]))

  def _searcher(self, members: Members, player: int) -> Searcher:
    settings = self.settings
    beyond = settings.value_function is not None and settings.value_function.solves
    horizon = stops_ahead(player, None if beyond else settings.lookahead)
    return self._make(self.states.below(members, horizon))

  def _make(self, subgames: Subgames) -> Searcher:
    return Searcher(subgames, self.settings, self._shapes, self.seconds)


def column(states: PublicStates, step: Step, path: Sequence[int]) -> dict[int, float]:
  """The strategy, at a history of a search's tree, of the player who acts."""
  decision, h = states.decision(step.searcher.subgames, path)
  chances = step.search.tables[decision.player][decision.block][:, decision.row, h]
  return dict(zip(decision.legal_actions, (chances / chances.sum()).tolist(), strict=True))


def carried(states: PublicStates, last: Search, before: Subgames, after: Subgames) -> Search:
  """The results of a search in another tree of the game: uniform strategies where it did not look."""
  at = states.nodes_in(after, before)
  acting, first = np.unique(after.nodes.decision, return_index=True)
  tables = [[np.full(shape, 1 / shape[0]) for shape in forest.block_shapes] for forest in after.tree.players]
  for number, node in zip(acting.tolist(), at[first].tolist(), strict=True):
    if number >= 0 and node >= 0:
      d = after.labels.decisions[number]
      same = before.labels.decisions[int(before.nodes.decision[node])]
      tables[d.player][d.block][:, d.row] = last.tables[d.player][same.block][:, same.row]
  opponent, known = 1 - last.player, np.flatnonzero(at >= 0)
  numbers = before.nodes.knowledge[opponent][at[known]].tolist()
  pairs = zip(after.nodes.knowledge[opponent][known].tolist(), numbers, strict=True)
  promised = {new: last.promised[old] for new, old in pairs if old in last.promised}
  return last._replace(tables=(tables[0], tables[1]), frontier=(), promised=promised)
