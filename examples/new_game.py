"""A new game: both players get one of three cards; player 0 may bet, player 1 may call. Pot 2, bet 1.

OpenSpiel's solvers in C++ also ask a game for `make_py_observer`, as its python/games/kuhn_poker.py has.
"""

import pyspiel
from pyspiel import GameType as Kind


def kind(name):
  """The type of a game like this one, for `pyspiel.load_game(name)`."""
  return Kind(name, "Half-street poker", Kind.Dynamics.SEQUENTIAL, Kind.ChanceMode.EXPLICIT_STOCHASTIC,
    Kind.Information.IMPERFECT_INFORMATION, Kind.Utility.ZERO_SUM, Kind.RewardModel.TERMINAL, 2, 2,
    provides_information_state_string=True, provides_information_state_tensor=False,
    provides_observation_string=False, provides_observation_tensor=False)  # fmt: skip


class HalfStreet(pyspiel.Game):
  """Chance deals two cards; then 0 is check or fold, 1 is bet or call."""

  def __init__(self, params=None, name="half_street"):
    super().__init__(kind(name), pyspiel.GameInfo(3, 3, 2, -2.0, 2.0, 0.0, 2), params or {})

  def new_initial_state(self):
    return State(self)


class State(pyspiel.State):
  """The moves so far: two cards, player 0's action, player 1's answer to a bet."""

  moves = ()

  def current_player(self):
    if len(self.moves) < 2:
      return pyspiel.PlayerId.CHANCE
    return {(): 0, (1,): 1}.get(self.moves[2:], pyspiel.PlayerId.TERMINAL)

  def chance_outcomes(self):
    cards = [card for card in range(3) if card not in self.moves]
    return [(card, 1 / len(cards)) for card in cards]

  def _legal_actions(self, player):
    return [0, 1]

  def _apply_action(self, action):
    self.moves = (*self.moves, action)

  def _action_to_string(self, player, action):
    return f"{player}:{action}"

  def is_terminal(self):
    return self.current_player() == pyspiel.PlayerId.TERMINAL

  def returns(self):
    stake = (1 + (self.moves[2:] == (1, 1))) * self.is_terminal()
    won = self.moves[2:] == (1, 0) or self.moves[:1] > self.moves[1:2]
    return [stake, -stake] if won else [-stake, stake]

  def information_state_string(self, player=None):
    player = self.current_player() if player is None else player
    return f"card {self.moves[player : player + 1]}, then {self.moves[2:]}"

  def __str__(self):
    return str(self.moves)


pyspiel.register_game(kind("half_street"), HalfStreet)
