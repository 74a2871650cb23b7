"""The problems that searches solve: where searches begin, and what each one takes from the searches before.

There are two kinds: `public_problems` begin in public states, `known_problems` at infostates of one player.
"""

import abc
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ps_cfr_spiel.resolving.search.promises import Search, Table
from ps_cfr_spiel.resolving.subgames import BoundValues, Ranges, Subgame, Subgames
from ps_cfr_spiel.tree import Decision


class Problem(NamedTuple):
  """A subgame to solve, with all that decides its solution."""

  last: Search  #: the search before, as far as its results count
  subgame: Subgame
  ranges: Ranges  #: of both players at the roots
  promises: np.ndarray | None  #: of the opponent at the roots, [roots, H]; None for an unsafe search
  beyond: BoundValues | None  #: the value function at the frontier, if there is a frontier
  horizon: float  #: of the new search, as in `Search`
  frontier: tuple[int, ...]  #: the same
  #: as after how many iterations the search begins with the strategies of `last`; 0: with uniform ones.
  begun: int = 0
  #: values of best responses to `last` at the opponent's roots, [roots, H], if its strategies are to be kept
  #: where those of the search may lose more.
  before: np.ndarray | None = None


class Problems(abc.ABC):
  """The problems of all searches in a game. A *place* is the number of a state in which a search begins."""

  subgames: Subgames  #: of the game
  #: for each player and block int[rows], the number of searches' ends of the other player above or there.
  stops: tuple[Table, Table]
  kinds: int  #: the number of kinds of problems that share compiled code, where that is known in advance

  @abc.abstractmethod
  def place(self, decision: Decision) -> int:
    """The place of the search for a decision."""

  @abc.abstractmethod
  def searches_on_path(self, place: int) -> tuple[int, list[int]]:
    """The player at a place, and the places of the searches on the way; ValueError if no player acts."""

  @abc.abstractmethod
  def passes(self, player: int) -> list[tuple[int, ...]]:
    """The places of a player's later searches, in groups that one search solves."""

  @abc.abstractmethod
  def first(self, player: int) -> Problem:
    """The game from its start, as far as the player's lookahead goes; it has no promises."""

  @abc.abstractmethod
  def later(self, last: Search, places: Sequence[int]) -> Problem | None:
    """The problem at places in which the player acts next after the roots of the last search.

    None if the player never comes there.
    """

  def uniform(self, player: int) -> Search:
    """A player's state before the first search: uniform strategies."""
    shapes = [p.block_shapes for p in self.subgames.tree.players]
    first, second = ([np.full(shape, 1 / shape[0]) for shape in blocks] for blocks in shapes)
    return Search(player, -1.0, (first, second), (), {}, 0.0)
