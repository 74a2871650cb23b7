"""Local best responses by sampled hands: a case by hand, and the exact ones of a walked game."""

import numpy as np
import pyspiel
import pytest
from open_spiel.python.policy import Policy, UniformRandomPolicy

from ps_cfr_spiel.evaluation import Habit, hand_search, local_best_response
from ps_cfr_spiel.hierarchical import card_game

GAME = "leduc_poker"


def blind(game, weights):
  """A policy that sees no card: [A, H] by the line, from weights of fold, call and raise."""
  betting, hands = card_game(game).betting, len(card_game(game).deal.hands)

  def answers(line, board):
    own = np.array([weights[action] for action in betting.legal_actions(line)], float)
    return np.repeat(own[:, None] / own.sum(), hands, 1)

  return answers


def test_who_folds_to_every_bet_loses_the_ante():
  """It checks, and folds to the raise that wins a chip, from either seat."""
  game = pyspiel.load_game(GAME)
  found = local_best_response(game, blind(game, (1, 1e-300, 0)), hands=20)
  assert found.mean == pytest.approx(1) and found.error == pytest.approx(0, abs=1e-12)


class ByLines(Policy):
  """A policy of Leduc from the answers for its lines, boards and cards."""

  def __init__(self, game, answers):
    super().__init__(game, [0, 1])
    self._betting, self._answers = card_game(game).betting, answers

  def action_probabilities(self, state, player_id=None):
    line, dealt, held = 0, [], state.history()[state.current_player()]
    for move in state.full_history()[2:]:
      action = -1 if move.player < 0 else move.action
      dealt += [move.action] if move.player < 0 else []
      (line,) = np.flatnonzero((self._betting.parent == line) & (self._betting.action == action))
    actions = self._betting.legal_actions(line)
    return dict(zip(actions, self._answers(int(line), tuple(dealt))[:, held], strict=True))


def random_answers(game):
  """A policy that depends on all that its player sees, by lines, and its exact local best response."""
  betting = card_game(game).betting

  def answers(line, board):
    odds = np.random.default_rng([line, *board]).random((betting.moves[line], 6))
    return odds / odds.sum(0)

  return answers, local_best_response(game, ByLines(game, answers))


def near_the_exact_response(deals, error):
  """The sampled response to a policy that depends on all that its player sees is near the exact one."""
  game = pyspiel.load_game(GAME)
  answers, exact = random_answers(game)
  sampled = local_best_response(game, answers, hands=deals)
  return sampled.error < error and abs(sampled.mean - exact.exploitability) < 4 * sampled.error


def test_a_few_deals_are_weighed_as_they_come():
  assert near_the_exact_response(40, error=0.25)


def test_the_mean_is_that_of_the_exact_response(monkeypatch):
  """Where ways are left out: bets are 1 to 13 chips, and come with small probabilities."""
  monkeypatch.setattr(hand_search, "LEAST", 4)
  assert near_the_exact_response(400, error=0.2)


def test_all_ways_on_all_boards_are_the_exact_response(monkeypatch):
  """Without any draw the credits of both seats are the values of the walked game."""
  monkeypatch.setattr(hand_search, "BOARDS", 6)
  monkeypatch.setattr(hand_search, "LEAST", 0)
  game = pyspiel.load_game(GAME)
  answers, exact = random_answers(game)
  sampled = local_best_response(game, answers, hands=2)
  np.testing.assert_allclose(sampled.values, exact.values, atol=1e-12)


def test_holdem_by_states_is_holdem_by_lines():
  """The same hands and searches on OpenSpiel's states and on the lines of the dealt form."""
  game = pyspiel.load_game("holdem(stack=400)")
  by_lines = local_best_response(game, blind(game, (1,) * 4), hands=4, seed=2)
  by_states = local_best_response(game, UniformRandomPolicy(game), "fcpa", hands=4, seed=2)
  np.testing.assert_allclose(by_states.wins, by_lines.wins, atol=1e-9)
  assert by_lines.wins.std() > 1


def test_responses_in_holdem_by_hand():
  """Folding always costs the blind (Schmid 2021, Table 18.1); a searcher that may only call wins no blind."""
  game = pyspiel.load_game("holdem(bets=fullgame)")
  np.testing.assert_allclose(local_best_response(game, Habit("fold"), hands=4).wins, [50, 100, 50, 100])
  calls = local_best_response(game, Habit("always_call"), "c", hands=2)
  folds = local_best_response(game, Habit("always_call"), "fc", hands=2)
  assert (np.abs(calls.wins) <= 100).all() and (folds.wins >= calls.wins - 1e-9).all()
  with pytest.raises(ValueError, match="plays holdem with a whole deck"):
    local_best_response(pyspiel.load_game("holdem(deck=6x2,stack=400)"), Habit("fold"), hands=2)
  leduc = pyspiel.load_game(GAME)
  with pytest.raises(ValueError, match="needs an OpenSpiel policy of holdem"):
    local_best_response(leduc, blind(leduc, (1, 1, 1)), "fc", hands=2)
  with pytest.raises(ValueError, match="deals hands of ranges; expected a game that deals all hands alike"):
    local_best_response(pyspiel.load_game("holdem_subgame"), lambda line, board: 0, hands=2)
  with pytest.raises(ValueError, match="hands=2 samples searches of depth 1 that then call; leave depth"):
    local_best_response(game, Habit("fold"), depth=2, hands=2)
  with pytest.raises(ValueError, match="actions in sampled hands are bets of each street, such as"):
    local_best_response(game, Habit("fold"), (0, 1), hands=2)
