"""The bot that searches by particles and rollouts: a better player than its policy, and its errors."""

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as openspiel_policy

from ps_cfr_spiel import RolloutBot, SimulatedMCCFRSolver, matches

CHEAT = "cheat(ranks=3,suits=2,hand_size=2,max_turns=4)"


def bot_of(game, policy, **options):
  """A player of matches."""
  return lambda seat: RolloutBot(game, policy, seat, seed=seat, **options)


def test_on_top_of_a_policy_it_wins():
  game = pyspiel.load_game(CHEAT)
  solver = SimulatedMCCFRSolver(game, batch=64, seed=1)
  solver.run(3)
  policy = solver.average_policy()
  result = matches.match(game, bot_of(game, policy, rollouts=200), matches.player(policy, 1), 300)
  assert result.mean > 3 * result.standard_error


def test_in_a_game_of_hidden_moves_it_wins():
  game = pyspiel.load_game("phantom_ttt")
  uniform = openspiel_policy.UniformRandomPolicy(game)
  result = matches.match(
    game, bot_of(game, uniform, rollouts=90, particles=50), matches.player("random"), games=20
  )
  assert result.score.wins > 2 * result.score.losses


def test_a_seed_repeats_its_choices():
  game = pyspiel.load_game("kuhn_poker")
  uniform, state = openspiel_policy.UniformRandomPolicy(game), game.new_initial_state()
  for action in (1, 0):
    state.apply_action(action)
  bots = [RolloutBot(game, uniform, 0, rollouts=7, seed=seed) for seed in (5, 5, 6)]
  values = [bot.step(state) and bot.values(state, state.legal_actions()).tolist() for bot in bots]
  assert values[0] == values[1]


def test_without_particles_it_says_so_and_plays_the_policy():
  """The policy never bets with the jack, but the opponent has bet, and no king or queen is left to bet."""
  game = pyspiel.load_game("kuhn_poker")
  policy = openspiel_policy.TabularPolicy(game)
  policy.action_probability_array[:] = [1, 0]  # always passes
  state = game.new_initial_state()
  for action in (2, 0, 0, 1):  # player 0 passes with the king, player 1 bets with the jack
    state.apply_action(action)
  bot = RolloutBot(game, policy, 0, tremble=0.0)
  with pytest.warns(UserWarning, match="No hidden state fits"):
    assert bot.get_policy(state) == [(0, 1.0), (1, 0.0)]
  assert bot.blind == 1
  assert RolloutBot(game, policy, 0, tremble=0.01).get_policy(state) == [(0, 0.0), (1, 1.0)]  # the king calls


@pytest.mark.parametrize(
  ("options", "message"),
  [
    ({"seconds": 0}, "seconds must be above 0"),
    ({"seconds": -1}, "seconds must be a number"),
    ({"rollouts": 0}, "rollouts must be an integer of at least 1"),
    ({"particles": 0}, "particles must be an integer of at least 1"),
    ({"tremble": 2}, "tremble must be a number from 0 to 1"),
    ({"seed": -1}, "seed must be an integer"),
    ({"player": 2}, "has seats 0 to 1"),
  ],
)
def test_wrong_arguments(options, message):
  game = pyspiel.load_game("kuhn_poker")
  uniform = openspiel_policy.UniformRandomPolicy(game)
  with pytest.raises(ValueError, match=message):
    RolloutBot(game, uniform, **{"player": 0, **options})


def test_a_policy_of_another_game():
  game, other = pyspiel.load_game("kuhn_poker"), pyspiel.load_game("leduc_poker")
  with pytest.raises(ValueError, match="The policy is for leduc_poker"):
    RolloutBot(game, openspiel_policy.UniformRandomPolicy(other), 0)


def test_a_game_with_moves_at_the_same_time():
  game = pyspiel.load_game("goofspiel(num_cards=3)")
  with pytest.raises(ValueError, match="one after the other"):
    RolloutBot(game, openspiel_policy.UniformRandomPolicy(game), 0)


def test_a_limit_of_time_is_kept_roughly():
  """With next to no time every action is still tried once in each round."""
  game = pyspiel.load_game("leduc_poker")
  state = game.new_initial_state()
  for action in (0, 3):
    state.apply_action(action)
  bot = RolloutBot(game, openspiel_policy.UniformRandomPolicy(game), 0, seconds=1e-9)
  assert np.isclose(sum(p for _, p in bot.get_policy(state)), 1)
