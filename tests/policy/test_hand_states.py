import itertools

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from ps_cfr_spiel.cards.poker import set_numbers
from ps_cfr_spiel.policy import HandStates, for_hands


class ByInfostate(openspiel_policy.Policy):
  """Any probabilities, others at each information state."""

  def action_probabilities(self, state, player_id=None):
    player, legal = state.current_player(), state.legal_actions()
    seed = [*state.information_state_string(player).encode()]
    return dict(zip(legal, np.random.default_rng(seed).dirichlet(np.ones(len(legal))), strict=True))


def test_states_that_move_on_are_those_dealt_anew():
  """Games of any cards and lines, one after the other: each question against states built card by card."""
  game = pyspiel.load_game("holdem(deck=3x3,stack=6,blinds=2/1,bets=x/1/x/x)")
  policy, rng = ByInfostate(game, [0, 1]), np.random.default_rng(0)
  kept, shared = (HandStates(), HandStates()), HandStates()

  def dealt(player, hand, events):
    taken = {*hand, *(action for mover, action in events if mover < 0)}
    other = [place for place in range(len(game.deck)) if place not in taken][:2]
    state = game.new_initial_state()
    for action in [*other, *hand] if player else [*hand, *other]:
      state.apply_action(action)
    for _, action in events:
      state.apply_action(action)
    return state

  asked, none = 0, np.zeros(1326)
  for _ in range(8):
    state = game.new_initial_state()
    while not state.is_terminal():
      if (player := state.current_player()) >= 0:
        some = rng.random(1326) < 0.5
        answer = for_hands(policy, state, some, kept[player])
        for action, chances in for_hands(policy, state, some, shared).items():
          np.testing.assert_array_equal(chances, answer[action])
        events = [(move.player, move.action) for move in state.full_history()][4:]
        board = {action for mover, action in events if mover < 0}
        for hand in itertools.combinations({*range(len(game.deck))} - board, 2):
          h = set_numbers(np.array([game.deck[place] for place in hand]))
          expected = policy.action_probabilities(dealt(player, hand, events))
          for action in state.legal_actions():
            assert answer.get(action, none)[h] == (expected[action] if some[h] else 0)
        asked += bool(board)
      state.apply_action(int(rng.choice(state.legal_actions())))
  assert asked > 10
