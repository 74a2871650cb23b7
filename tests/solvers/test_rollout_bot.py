"""The bot that searches by particles and rollouts: a better player than its policy, and its errors."""

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms.exploitability import exploitability

import ps_cfr_spiel
from ps_cfr_spiel import SimulatedMCCFRSolver, matches
from ps_cfr_spiel.matches import RolloutBot

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
  values = [bot.step(state) and bot.values(state, state.legal_actions())[0].tolist() for bot in bots]
  assert values[0] == values[1]


def searched(game, policy, rollouts, **options):
  """The policy that the bot plays, at all infostates."""
  found = openspiel_policy.TabularPolicy(game)
  for player in (0, 1):
    bot = RolloutBot(game, policy, player, rollouts, tremble=1e-6, **options)
    for state in (state for state in found.states if state.current_player() == player):
      for action, share in bot.get_policy(state):
        found.policy_for_key(state.information_state_string(player))[action] = share
  return found


def test_a_step_of_mirror_descent():
  """A step is less exploitable than the policy, and than the best answer to it.

  At an equilibrium all actions that are played are worth the same: a step stays there, the best answer by
  estimates does not.
  """
  game = pyspiel.load_game("kuhn_poker")
  solver = ps_cfr_spiel.PSCFRSolver(game)
  solver.run(2000)
  for policy, step, best in (
    (openspiel_policy.UniformRandomPolicy(game), 0.28, 0.31),  # itself 0.46
    (solver.average_policy(), 0.03, 0.1),
  ):
    assert exploitability(game, searched(game, policy, 4000, temperature=1)) < step
    assert exploitability(game, searched(game, policy, 4000)) > best


def test_the_strategy_is_the_policy_times_exponentials_of_values():
  """The queen that hears a pass, against uniform play: 0 after a pass, 1 / 2 after a bet."""
  game = pyspiel.load_game("kuhn_poker")
  state, policy = game.new_initial_state(), openspiel_policy.TabularPolicy(game)
  for action in (0, 1, 0):
    state.apply_action(action)
  policy.policy_for_key(state.information_state_string(1))[:] = 0.8, 0.2
  bot = RolloutBot(game, policy, 1, 40_000, temperature=0.5)
  first, second = (share for _, share in bot.get_policy(state))
  assert second / first == pytest.approx(0.2 / 0.8 * np.exp(0.5 / 0.5), rel=0.1)


@pytest.mark.parametrize("key", ["observation", "memory"])
def test_the_searching_response_is_near_the_best(key):
  """Never above the mean of both seats' best responses, by OpenSpiel, but for the noise of the games."""
  game = pyspiel.load_game("cheat(ranks=2,suits=2,hand_size=2,max_turns=3)")
  solver = SimulatedMCCFRSolver(game, batch=16, seed=1, key=key)
  solver.run(1)
  policy = solver.average_policy()
  best = exploitability(game, policy)
  result = ps_cfr_spiel.search_response(game, policy, games=200, rollouts=100)
  assert 0.75 * best - 3 * result.standard_error < result.mean < best + 3 * result.standard_error
  assert best > 5 * result.standard_error


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
    ({"temperature": -0.1}, "temperature must be a number"),
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
