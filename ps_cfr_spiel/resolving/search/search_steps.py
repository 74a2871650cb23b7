"""Searches in a game that is not enumerated: each makes the public tree that it needs, and no more.

Such a tree has the ways to the public state of a decision and all below it, to the end of the lookahead. The
search is that of `searcher`, in this tree as in a whole game's. The results of the search before are
carried over from one tree to the next, history by history.
"""

import functools
import itertools
import sys
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ps_cfr_spiel.compilation.histories import find_histories, history_origin
from ps_cfr_spiel.resolving.search.levels import stops_ahead
from ps_cfr_spiel.resolving.search.promises import Search
from ps_cfr_spiel.resolving.search.searcher import Searcher, SearchSettings
from ps_cfr_spiel.resolving.subgames import Members, PaddedShapes, PublicStates, Subgames

TREE_HISTORY = 180  # bytes of a history of a tree that is kept, beside the strings


class Step(NamedTuple):
  """A search with the tree that it was made in."""

  searcher: Searcher
  search: Search
  opened: int = 0  #: public states by which its tree has grown

  @property
  def kept_bytes(self) -> int:
    """About the memory of the tree, with the strings of its infostates, and of the results."""
    names = itertools.chain(*_histories(self.searcher.subgames).names)
    return TREE_HISTORY * self.searcher.subgames.labels.histories + sum(map(sys.getsizeof, names))


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
    place = place_of(searcher.subgames, members[0])
    search = carried(last.search, before, searcher.subgames)
    return Step(searcher, searcher.resolve(search, [place]))

  def _searcher(self, members: Members, player: int) -> Searcher:
    settings = self.settings
    beyond = settings.value_function is not None and settings.value_function.solves
    horizon = stops_ahead(player, None if beyond else settings.lookahead)
    return self._make(self.states.below(members, horizon))

  def _make(self, subgames: Subgames) -> Searcher:
    return Searcher(subgames, self.settings, self._shapes, self.seconds)


def column(step: Step, player: int, path: Sequence[int]) -> dict[int, float]:
  """The player's strategy at a history of a search's tree in which the player acts."""
  subgames = step.searcher.subgames
  decision = subgames.labels.decisions[int(subgames.nodes.decision[_history(subgames, path)])]
  chances = step.search.tables[player][decision.block][:, decision.row, 0]
  return dict(zip(decision.legal_actions, (chances / chances.sum()).tolist(), strict=True))


def number_on(subgames: Subgames, history: int, action: int) -> int:
  """The number of the history after an action at one of a tree; -1 if the tree does not have it."""
  histories = _histories(subgames)
  after = np.flatnonzero((histories.parent == history) & (histories.action == action))
  return int(after[0]) if len(after) else -1


def _history(subgames: Subgames, path: Sequence[int]) -> int:
  """The number of a history, given by its actions, in a tree that has it."""
  return functools.reduce(functools.partial(number_on, subgames), path, 0)


def place_of(subgames: Subgames, path: Sequence[int]) -> int:
  """The number of the public state of a history, given by its actions."""
  return int(subgames.nodes.public[_history(subgames, path)])


def _histories(subgames: Subgames):
  source = history_origin(subgames.labels)
  assert source is not None
  return source.histories


def carried(last: Search, before: Subgames, after: Subgames) -> Search:
  """The results of a search in another tree of the game: uniform strategies where it did not look."""
  at = find_histories(_histories(after), _histories(before))
  tables = []
  for player, forest in enumerate(after.tree.players):
    table = [np.full(shape, 1 / shape[0]) for shape in forest.block_shapes]
    for d in after.labels.decisions:
      if d.player == player and at[d.examples[0]] >= 0:
        same = before.labels.decisions[int(before.nodes.decision[at[d.examples[0]]])]
        table[d.block][:, d.row] = last.tables[player][same.block][:, same.row]
    tables.append(table)
  opponent, known = 1 - last.player, np.flatnonzero(at >= 0)
  numbers = before.nodes.knowledge[opponent][at[known]].tolist()
  pairs = zip(after.nodes.knowledge[opponent][known].tolist(), numbers, strict=True)
  promised = {new: last.promised[old] for new, old in pairs if old in last.promised}
  return last._replace(tables=(tables[0], tables[1]), frontier=(), promised=promised)
