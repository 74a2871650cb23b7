"""The k-step response game of benchmarks/papers: by hand, and for players without a memory."""

import pyspiel
import pytest
from benchmark_scripts import script
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import best_response

KUHN = pyspiel.load_game("kuhn_poker")
HANDS = pyspiel.load_game_as_turn_based("matrix_rps")  # rock 0, paper 1, scissors 2
soundness = script("benchmarks.papers.soundness")


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("matches", [1, 2])
def test_a_player_without_memory_loses_as_much_in_every_match(seat, matches):
  """In one match it wins what OpenSpiel's best response wins."""
  policy = openspiel_policy.TabularPolicy(KUHN)
  policy.action_probability_array[::2] = [0.8, 0.2]
  responder = best_response.BestResponsePolicy(KUHN, 1 - seat, policy)
  expected = responder.value(KUHN.new_initial_state())
  found = soundness.response_value(KUHN, seat, [lambda _, s: policy.action_probabilities(s)], matches)
  assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("matches", [1, 2, 3])
def test_a_player_who_repeats_the_last_move_of_the_other(matches):
  """After an even first match the opponent knows the move and wins every time."""

  def play(past, state):
    return {past[-1][1]: 1.0} if past else dict.fromkeys(range(3), 1 / 3)

  found = soundness.response_value(HANDS, 0, [play], matches)
  assert found == pytest.approx((matches - 1) / matches)


@pytest.mark.parametrize(("matches", "won"), [(1, 0.5), (2, 0.75)])
def test_the_opponent_learns_whom_chance_chose(matches, won):
  """Always rock or always paper: paper wins half a point, and then the opponent knows."""
  players = [lambda *_, move=move: {move: 1.0} for move in (0, 1)]
  assert soundness.response_value(HANDS, 0, players, matches) == pytest.approx(won)


def test_bots_are_asked_again_at_what_they_met():
  """A bot that counts its questions, also over matches: its answer is the number's own."""

  class Counting(pyspiel.Bot):
    def __init__(self):
      super().__init__()
      self.restarts = self.questions = 0

    def restart(self):
      self.restarts += 1

    def get_policy(self, state):
      self.questions += 1
      return [(self.restarts, float(self.questions))]

  play = soundness.of_bots(0, Counting)
  state = KUHN.new_initial_state().child(0).child(1)
  assert play((), state) == {1: 1.0}
  later = state.child(0).child(1)  # player 0 passed and was bet at: a second decision
  assert play((), later) == {1: 2.0}
  assert play(((0, 1, 0, 1, 1),), later) == {2: 4.0}
