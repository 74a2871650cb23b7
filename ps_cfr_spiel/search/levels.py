"""Where a player's searches begin and end: public states by the player's decisions above them."""

import dataclasses
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from ps_cfr_spiel.subgames import Fit, Subgames
from ps_cfr_spiel.tree import Labels, PublicTree


@dataclasses.dataclass(frozen=True)
class Levels:
  """Public states by level: how many public states above are the player's own.

  Attributes:
    labels: of the game.
    level: for each player int[P].
    lookahead: how many own decisions a search looks ahead; None for all.
  """

  labels: Labels
  level: tuple[np.ndarray, np.ndarray]
  lookahead: int | None

  @classmethod
  def of(cls, labels: Labels, lookahead: int | None) -> "Levels":
    """The levels of a game."""
    states = labels.public_states
    level = (np.zeros(len(states), int), np.zeros(len(states), int))
    for s, state in enumerate(states):
      if state.parent >= 0:
        for player in (0, 1):
          level[player][s] = level[player][state.parent] + (states[state.parent].player == player)
    return cls(labels, level, lookahead)

  def acting(self, player: int) -> list[int]:
    """The public states in which a player acts."""
    return [s for s, state in enumerate(self.labels.public_states) if state.player == player]

  def of_rows(self, tree: PublicTree, player: int, of: int) -> list[np.ndarray]:
    """int[rows] for each block of a player: how many public states above the row are those of player `of`."""
    levels = [np.zeros(rows, int) for _, rows, _ in tree.players[player].block_shapes]
    for d in self.labels.decisions:
      if d.player == player:
        levels[d.block][d.row] = self.level[of][d.public_state]
    return levels

  def states(self, player: int, level: int) -> tuple[int, ...]:
    """The public states in which a player makes the decision number `level`."""
    return tuple(s for s in self.acting(player) if self.level[player][s] == level)

  def count(self, player: int) -> int:
    """How many decisions in a row a player may have to make."""
    return int(self.level[player][self.acting(player)].max(initial=-1)) + 1

  def frontier(self, player: int, level: int) -> tuple[int, ...]:
    """Where the lookahead of a search from a level ends; nowhere if it goes to the end of the game."""
    return () if self.lookahead is None else self.states(player, level + self.lookahead)


class Fits(NamedTuple):
  """The shapes that a search's subgames are padded to.

  Attributes:
    search: what the search solves.
    promises: where the last search is asked what it promised.
    beyond: what lies below the frontier, for a value function that solves it.
  """

  search: Fit
  promises: Fit
  beyond: Fit


def own_shape(own):
  """No padding: a `Fit`."""
  return own


OWN = Fits(own_shape, own_shape, own_shape)


def count_fits(
  subgames: Subgames, levels: Levels, player: int, level: int, asked: Sequence[Sequence[int]], actions
) -> Fits:
  """Shapes that hold every subgame of the searches from one public state of a level.

  Args:
    subgames: of the game.
    levels: of the game.
    player: who searches.
    level: from where.
    asked: groups of public states that do not overlap: where these searches may ask for promises.
    actions: OpenSpiel actions that searches consider; all if None.
  """
  states, frontier = levels.states(player, level), levels.frontier(player, level)
  search = subgames.shape([[s] for s in states], frontier, actions)
  # The last search looked ahead from the level before; the one from the start counts as from level 0.
  seen = levels.frontier(player, max(level - 1, 0))
  promises = subgames.shape([], seen, actions)
  for group in asked:
    promises = promises.union(subgames.shape([[s] for s in group], seen, actions))
  below: Sequence[Collection[int]] = list(subgames.reached(states, frontier, actions).values())
  return Fits(search.fit, promises.fit, subgames.shape(below).fit)
