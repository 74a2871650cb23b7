"""A game of three players, of general sum, with hidden moves, as a user would write it: `py_heist`.

Chance hides loot in one of two vaults. Player 0 sees where, and tells both others a vault, perhaps the wrong
one. Player 1 breaks into a vault, unseen; player 2 then guards one. A thief who finds the loot unguarded gets
3, and player 0 gets 1 if the tip was true; a thief met by the guard pays 2; the guard gets 2 for a thief, and
pays 1 for lost loot.
"""

import pyspiel
from pyspiel import GameType as Kind

TYPE = Kind(
  "py_heist", "Heist", Kind.Dynamics.SEQUENTIAL, Kind.ChanceMode.EXPLICIT_STOCHASTIC,
  Kind.Information.IMPERFECT_INFORMATION, Kind.Utility.GENERAL_SUM, Kind.RewardModel.TERMINAL, 3, 3,
  provides_information_state_string=True, provides_information_state_tensor=False,
  provides_observation_string=False, provides_observation_tensor=False)  # fmt: skip
MOVES = (
  ("left", "right"),
  ("say left", "say right"),
  ("break left", "break right"),
  ("guard left", "guard right"),
)


class Heist(pyspiel.Game):
  """See the module."""

  def __init__(self, params=None):
    super().__init__(TYPE, pyspiel.GameInfo(2, 2, 3, -2.0, 3.0, None, 4), params or {})

  def new_initial_state(self):
    return State(self)


class State(pyspiel.State):
  """The vaults chosen so far: of the loot, of the tip, of the thief and of the guard."""

  moves = ()

  def current_player(self):
    players = (pyspiel.PlayerId.CHANCE, 0, 1, 2, pyspiel.PlayerId.TERMINAL)
    return players[len(self.moves)]

  def chance_outcomes(self):
    return [(0, 0.5), (1, 0.5)]

  def _legal_actions(self, player):
    return [0, 1]

  def _apply_action(self, action):
    self.moves = (*self.moves, action)

  def _action_to_string(self, player, action):
    return MOVES[len(self.moves)][action]

  def is_terminal(self):
    return len(self.moves) == 4

  def returns(self):
    if not self.is_terminal():
      return [0.0, 0.0, 0.0]
    loot, tip, thief, guard = self.moves
    met, taken = thief == guard, thief == loot != guard
    return [float(taken and tip == loot), 3.0 * taken - 2 * met, 2.0 * met - taken]

  def information_state_string(self, player=None):
    player = self.current_player() if player is None else player
    own = {0: self.moves[:1], 1: self.moves[2:3], 2: self.moves[3:]}[player]
    return f"player {player}, tip {self.moves[1:2]}, own {own}, time {len(self.moves)}"

  def __str__(self):
    return str(self.moves)


pyspiel.register_game(TYPE, Heist)
