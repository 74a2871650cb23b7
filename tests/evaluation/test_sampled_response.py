"""Responses in sampled deals of benchmarks/engineering: tables of all searches, best responses."""

import numpy as np
import pyspiel
import pytest
from benchmark_scripts import script
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import exploitability

from ps_cfr_spiel.evaluation import local_best_response

DICE = pyspiel.load_game("liars_dice(dice_sides=3)")
responses = script("benchmarks.engineering.sampled_response")


def drawn(game, seed):
  policy = openspiel_policy.TabularPolicy(game)
  random = np.random.default_rng(seed)
  for row, mask in zip(policy.action_probability_array, policy.legal_actions_mask, strict=True):
    row[:] = mask * random.exponential(size=len(row))
    row /= row.sum()
  return policy


class Calling(openspiel_policy.Policy):
  """Calls, or opens with the last bid."""

  def action_probabilities(self, state, player_id=None):
    return {state.legal_actions()[-1]: 1.0}


@pytest.mark.parametrize("seed", [0, 1])
def test_the_gain_is_that_of_the_table_of_all_searches(seed):
  policy = drawn(DICE, seed)
  table = local_best_response(DICE, policy, depth=1, rollout=Calling(DICE, [0, 1]))
  gains = responses.exact_gains(DICE, policy, None)
  assert gains == pytest.approx(table.values, abs=1e-12)
  assert 0.3 < np.mean(gains) <= exploitability.exploitability(DICE, policy) + 1e-12


def test_fewer_bids_win_less_than_the_best_response():
  policy = openspiel_policy.UniformRandomPolicy(DICE)
  few = np.mean(responses.exact_gains(DICE, policy, 2))
  assert 0.5 < few < exploitability.exploitability(DICE, policy)


def test_sampled_deals_have_the_exact_mean():
  """In four standard errors; and a deal is the same whichever others are played."""
  policy = drawn(DICE, 0)
  gains = responses.sampled_gains(DICE, policy, None, range(400), 3)
  for seat, exact in enumerate(responses.exact_gains(DICE, policy, None)):
    some = gains[seat::2]
    assert abs(some.mean() - exact) < 4 * some.std() / len(some) ** 0.5
  assert responses.sampled_gains(DICE, policy, None, range(7, 8), 3) == gains[7]


def test_other_games_are_refused():
  for name, message in (("leduc_poker", "chance moves after"), ("kuhn_poker(players=3)", "for two players")):
    game = pyspiel.load_game(name)
    with pytest.raises(ValueError, match=message):
      responses.exact_gains(game, openspiel_policy.UniformRandomPolicy(game), None)
