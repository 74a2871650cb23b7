"""The values of all actions by a solution of the game, and those of an agent's play against it."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyspiel

from ps_cfr_spiel.cards.notation import move_name
from ps_cfr_spiel.evaluation.local_regrets import against_trembles
from ps_cfr_spiel.policy import TreePolicy, worths_of
from ps_cfr_spiel.tree import Decision


class MoveValue(NamedTuple):
  """A legal action at an infostate, by a solution."""

  action: int
  name: str
  probability: float  #: with which the solution plays it
  value: float  #: to the player if it is played and all then follow the solution
  loss: float  #: the value of the solution's mixture less this one


class Play:
  """The play of an agent in one seat, known or guessed, against opponents who play the solution."""

  def __init__(self, against: TreePolicy, player: int, strategy: Sequence[np.ndarray]):
    """`strategy` is [A, rows, H] for each block; `against` is the solution with trembles of the others."""
    self.strategy = strategy
    profile = [strategy if i == player else other for i, other in enumerate(against.strategies)]
    worths = worths_of(against.tree, profile, against.reach)
    self._at, self._tables = worths.at, worths.values[player]
    starts = sum(len(level.actions) for level in against.tree.players[player].levels[:1])
    tables = zip(strategy[:starts], self._tables, strict=False)
    #: The utility to the player, less that of ends before which the player never acts.
    self.value = sum(float((table * values).sum()) for table, values in tables)

  def values(self, decision: Decision) -> np.ndarray:
    """float64[A, H]: to the player if an action is taken, and the strategy followed then."""
    return self._at(decision).value

  def chances(self, decision: Decision, h: int) -> np.ndarray:
    """float64[A]: the probabilities at an infostate."""
    return self.strategy[decision.block][:, decision.row, h]

  def loss(self, decision: Decision, h: int, choice: int) -> float:
    """The value of the mixture at an infostate less that of an action; nan if it is not known."""
    values = self.values(decision)[:, h]
    return float(self.chances(decision, h) @ values - values[choice])

  def least(self) -> list[np.ndarray]:
    """[A, rows, H] for each block: the action of least value, if the strategy is followed then."""
    return [np.eye(len(values))[values.argmin(0)].transpose(2, 0, 1) for values in self._tables]


class Referee:
  """The values of all actions, and of any play against opponents who play a solution.

  They are known where the solution's own play never comes, too.
  """

  def __init__(self, solution: TreePolicy):
    """Nothing is computed yet; the solution should be near an equilibrium."""
    self.solution = solution
    self._against: dict[int, TreePolicy] = {}  # by player, as are the others
    self._plays: dict[int, Play] = {}
    self._worst: dict[int, Play] = {}

  def against(self, player: int) -> TreePolicy:
    """The solution, with trembles of all but one player."""
    if player not in self._against:
      self._against[player] = against_trembles(self.solution, player)
    return self._against[player]

  def of(self, player: int, strategy: Sequence[np.ndarray] | None = None) -> Play:
    """A player's play of a strategy, [A, rows, H] for each block, by default of the solution's own."""
    if strategy is not None:
      return Play(self.against(player), player, strategy)
    if player not in self._plays:
      self._plays[player] = self.of(player, self.solution.strategies[player])
    return self._plays[player]

  def worst(self, player: int) -> Play:
    """The play that loses the most to the solution, after each infostate: by policy iteration.

    Each round makes the player's decisions right one level further from the end.
    """
    if player not in self._worst:
      play = self.of(player)
      for _ in self.solution.tree.players[player].levels:
        play = self.of(player, play.least())
      self._worst[player] = play
    return self._worst[player]

  def values(self, decision: Decision) -> np.ndarray:
    """float64[A, H]: to the player if all then follow the solution; nan if trembles are beyond numbers."""
    return self.of(decision.player).values(decision)

  def losses(self, decision: Decision) -> np.ndarray:
    """float64[A, H]: the values of the solution's mixture less those of the actions."""
    values = self.values(decision)
    return (self.solution.table(decision) * values).sum(0) - values

  def moves(self, state: pyspiel.State) -> list[MoveValue]:
    """The legal actions of the player who acts at a state; ValueError if none does."""
    if state.current_player() < 0:
      raise ValueError(f"No player acts after {state.history()}.")
    decision, h = self.solution.labels.decision_at(state, state.current_player())
    columns = self.solution.table(decision)[:, h], self.values(decision)[:, h], self.losses(decision)[:, h]
    names = [move_name(state, action) for action in decision.legal_actions]
    rows = zip(decision.legal_actions, names, *(column.tolist() for column in columns), strict=True)
    return [MoveValue(*row) for row in rows]
