"""Features of one's own: a game in Python, learned by searches that play against themselves, without a list.

The game is that of new_game with two more moves: player 1 may bet after a check, player 0 then call.
"""

import new_game
import pyspiel

import ps_cfr_spiel
from ps_cfr_spiel import matches, values
from ps_cfr_spiel.learning import LearnOptions


class State(new_game.State):
  """The moves so far: two cards, then checks, bets and calls."""

  def current_player(self):
    if len(self.moves) < 2:
      return pyspiel.PlayerId.CHANCE
    return {(): 0, (0,): 1, (1,): 1, (0, 1): 0}.get(self.moves[2:], pyspiel.PlayerId.TERMINAL)

  def returns(self):
    called, folds = self.moves[-2:] == (1, 1), {(1, 0): 1, (0, 1, 0): -1}
    higher = 1 if self.moves[:1] > self.moves[1:2] else -1
    won = folds.get(self.moves[2:], higher * (1 + called)) * self.is_terminal()
    return [won, -won]


class FullStreet(pyspiel.Game):
  """Chance deals two cards; then 0 is check or fold, 1 is bet or call."""

  def __init__(self, params=None):
    super().__init__(new_game.kind("full_street"), pyspiel.GameInfo(3, 3, 2, -2.0, 2.0, 0.0, 3), params or {})

  def new_initial_state(self):
    return State(self)


pyspiel.register_game(new_game.kind("full_street"), FullStreet)


def features(state, player):
  """The player's card, and the bets so far."""
  bets = [2.0 * move - 1 for move in state.moves[2:]]
  return [
    *(float(card in state.moves[player : player + 1]) for card in range(3)),
    *bets,
    *[0.0] * (3 - len(bets)),
  ]


if __name__ == "__main__":
  game = FullStreet()
  options = LearnOptions(
    teacher="self-play", turns=1, draws=60, chains=60, steps=600, batch=128, width=32, layers=2
  )
  learned = values.learn(game, options, features=features)
  search = matches.OnDemandResolving(game, 100, lookahead=1, value_function=learned)
  print(f"exploitability {ps_cfr_spiel.exploitability(game, search):.4f}")
