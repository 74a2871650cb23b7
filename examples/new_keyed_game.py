"""A game too large to enumerate, with keys of its own: von Neumann's poker with numbers of five digits.

Both players ante 1 and get a number in base 9, 3 billion deals in all; player 0 may bet 2, player 1 may call.
Strategies depend on the first digit alone: `keyed_form()` has the cells of tables that belong to a state.
"""

import new_game
import pyspiel

from ps_cfr_spiel.keyed_game import KeyedGame

BASE, DIGITS = 9, 5
TYPE = new_game.kind("von_neumann_poker")


class FirstDigit(KeyedGame):
  """A key is the player and the first digit; it has two cells, for the two actions."""

  key, cells = "first digit", 2 * BASE * 2

  def __init__(self, game):
    self.game = game

  def locate(self, state):
    """The cells of the player to move, and their actions."""
    player = state.current_player()
    first = 2 * (BASE * player + state.moves[DIGITS * player])
    return slice(first, first + 2), [0, 1]


class VonNeumannPoker(pyspiel.Game):
  """Chance deals the digits one by one; then 0 is check or fold, 1 is bet or call."""

  def __init__(self, params=None):
    super().__init__(TYPE, pyspiel.GameInfo(2, BASE, 2, -3.0, 3.0, 0.0, 2), params or {})

  def new_initial_state(self):
    return State(self)

  def keyed_form(self):
    """The keys, for `KeyedMCCFRSolver`."""
    return FirstDigit(self)


class State(new_game.State):
  """The moves so far: the digits of player 0 and of player 1, then the betting."""

  def current_player(self):
    if len(self.moves) < 2 * DIGITS:
      return pyspiel.PlayerId.CHANCE
    return {(): 0, (1,): 1}.get(self.moves[2 * DIGITS :], pyspiel.PlayerId.TERMINAL)

  def chance_outcomes(self):
    return [(digit, 1 / BASE) for digit in range(BASE)]

  def information_state_string(self, player=None):
    start = DIGITS * (self.current_player() if player is None else player)
    return f"{self.moves[start : start + DIGITS]} {self.moves[2 * DIGITS :]}"

  def returns(self):
    first, second, bets = self.moves[:DIGITS], self.moves[DIGITS : 2 * DIGITS], self.moves[2 * DIGITS :]
    higher = 1 if bets == (1, 0) else (first > second) - (first < second)
    won = higher * (3 if bets == (1, 1) else 1) * self.is_terminal()
    return [won, -won]


pyspiel.register_game(TYPE, VonNeumannPoker)
