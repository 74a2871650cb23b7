"""Problems that begin at one player's infostate, for games with or without public states.

Zhang and Sandholm 2021: a search leaves a strategy of the whole game in which the player's decisions at and
below the infostate are new. The opponent is promised the best-response values against the last strategy. So
if every search starts from the results of all earlier ones, the player never loses by searching; if each
starts from the blueprint alone, changes that are safe one by one may be exploitable together (the same,
Section 4).
"""

from collections.abc import Sequence

import numpy as np

from ps_cfr_spiel.arguments import is_integer
from ps_cfr_spiel.resolving.search.problems import Problem, Problems
from ps_cfr_spiel.resolving.search.promises import Search, reach_of, responses
from ps_cfr_spiel.resolving.subgames import KnownSubgames, PaddedShapes, Ranges, Subgame
from ps_cfr_spiel.tree import Decision


class KnownProblems(Problems):
  """The problems of searches at a player's decisions, given by number, one after the other."""

  subgames: KnownSubgames
  kinds = 0

  def __init__(self, subgames: KnownSubgames, safe: bool, dtype: str, shapes: PaddedShapes | None = None):
    """See the class and `SearchSettings`.

    `shapes` keeps the padded shapes of each player's decisions by the number of own ones before, for
    problems of several games that share code.
    """
    self.subgames, self._safe, self._dtype = subgames, safe, dtype
    self._shapes = PaddedShapes() if shapes is None else shapes
    first, second = ([np.zeros(rows) for _, rows, _ in p.block_shapes] for p in subgames.tree.players)
    self.stops = first, second  # no search changes the prediction of the opponent's play

  def place(self, decision: Decision) -> int:
    return self.subgames.numbers[decision.player, decision.block, decision.row]

  def searches_on_path(self, place: int) -> tuple[int, list[int]]:
    decisions = self.subgames.labels.decisions
    if not is_integer(place) or not 0 <= place < len(decisions):
      raise ValueError(
        f"{self.subgames.labels.game} has the decisions 0..{len(decisions) - 1}, got {place!r}."
      )
    path = [d for d in self.subgames.above(place) if self.subgames.decided[d]]
    return decisions[place].player, path

  def passes(self, player: int) -> list[tuple[int, ...]]:
    places = [n for n, d in enumerate(self.subgames.labels.decisions) if d.player == player]
    places.sort(key=lambda n: len(self.subgames.above(n)))
    return [(n,) for n in places if self.subgames.decided[n]]

  def first(self, player: int) -> Problem:
    subgame = self.subgames.whole()
    return Problem(self.uniform(player), subgame, _ones(subgame), None, None, np.inf, ())

  def later(self, last: Search, places: Sequence[int]) -> Problem | None:
    (decision,), player = places, last.player
    reach = [
      reach_of(p, table)[:, 0] for p, table in zip(self.subgames.tree.players, last.tables, strict=True)
    ]
    pad_to = self._shapes.largest((player, len(self.subgames.above(decision))))
    subgame = self.subgames.at(decision, reach[player], pad_to)
    if subgame is None:
      return None
    ranges, promises = _ones(subgame), None
    if self._safe:
      promises = responses(subgame, player, ranges, last.tables, self._dtype)
    else:  # where the opponent never comes, all infostates count the same
      range_ = reach[1 - player][subgame.roots[1 - player].sequence][:, None]
      ranges[1 - player][:] = range_ if range_.any() else 1.0
    return Problem(last, subgame, ranges, promises, None, last.horizon, ())


def _ones(subgame: Subgame) -> Ranges:
  """Ranges of 1 at the roots: the subgame's leaves count the player's own."""
  first, second = subgame.shape.roots
  return np.ones((first, 1)), np.ones((second, 1))
