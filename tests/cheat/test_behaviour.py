"""What players of Cheat are counted to do: by hand, and beside who takes the pile."""

import numpy as np
import pyspiel
from game_checks import random_histories
from ps_cfr_spiel.games.cheat.behaviour import RATES, count
from ps_cfr_spiel.games.cheat.cheat_rules import CHALLENGE

from ps_cfr_spiel.apps import pictures

SMALL = "cheat(ranks=3,suits=2,hand_size=2,max_turns=4,first_player=0)"


def played_by_hand():
  """Player 0 has AA, player 1 has 23: an honest ace is challenged, then a lie is not, then a lie is."""
  game = pyspiel.load_game(SMALL)
  lay = {cards: 2 + number for number, cards in enumerate(game.discards)}
  deal, challenge, accept = (0, 1, 0, 2), 1, 0
  return game, (*deal, lay[0,], challenge, lay[2,], accept, lay[0,], challenge)


def test_a_game_by_hand():
  game, actions = played_by_hand()
  first, second = (count(game, [(player, actions)]) for player in (0, 1))
  assert [table.sum() for table in first] == [2, 1, 1, 0, 0]
  assert [table.sum() for table in second] == [1, 1, 2, 2, 1]
  assert first.laid.tolist() == [[1, 0, 1], [0, 0, 0]]  # a card each, as an ace and as a 3
  assert first.lies.tolist() == [[0, 0, 1], [0, 0, 0]]
  assert second.right.tolist() == [[0, 0, 1], [0, 0, 0]]
  lies, called, right = second.rates(0)
  np.testing.assert_array_equal(lies, [np.nan, 1, np.nan])
  np.testing.assert_array_equal(called, [1, np.nan, 1])
  np.testing.assert_array_equal(right, [0, np.nan, 1])
  text = str(second).splitlines()
  assert text[1].split() == ["1", "card", "1", "100.0%", "2", "100.0%", "50.0%"]
  assert text[2].split() == ["2", "cards", "0", "-", "0", "-", "-"]


def test_the_liar_takes_the_pile():
  """Over random games: a challenge is right where the discarder's hand has grown after it."""
  game = pyspiel.load_game("cheat(ranks=4,suits=2,hand_size=3)")
  games, grown, called = [], 0, 0
  for state, _ in random_histories(game, 40, seed=6):
    if state.is_terminal():
      games.append(state.history())
    elif state.discard:
      after = state.child(CHALLENGE)
      if after.hand_sizes()[state.discarder] > state.hand_sizes()[state.discarder]:
        grown += 1  # had they been challenged
      called += 1
  found = count(game, [(player, actions) for actions in games for player in (0, 1)])
  assert found.laid.sum() == found.heard.sum() == called
  assert found.lies.sum() == grown
  assert (found.right <= np.minimum(found.called, found.lies)).all()
  assert 0 < found.right.sum() < found.called.sum()


def test_the_picture_has_a_bar_for_every_rate():
  game, actions = played_by_hand()
  figure = pictures.bars(count(game, [(1, actions)]).panels(), RATES, "a title")
  claims, ranks = figure.axes
  assert [len(axes.patches) for axes in (claims, ranks)] == [3 * 2, 3 * 3]
  assert [bar.get_height() for bar in claims.patches] == [100, 0, 100, 0, 50, 0]
