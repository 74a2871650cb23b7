"""The batched environment beside OpenSpiel: every decision and end, and games played by chance."""

import jax
import numpy as np
import pyspiel
import pytest
from scipy import stats

from ps_cfr_spiel.histories import Environment, TooLarge
from ps_cfr_spiel.tree import CHANCE

GAMES = {
  "kuhn": "kuhn_poker",
  "kuhn of three": "kuhn_poker(players=3)",
  "leduc": "leduc_poker",
  "glasses": "glasses",
  "river": "river_subgame(ranges=AA KQs;TT 87s,stack=400)",
  "turn": "holdem_subgame(deck=5x2,board=2c3c4d5d,stack=300,ranges=6c6d 5c4c;6c2d 3d2d)",
}


@pytest.fixture(scope="module", params=GAMES.values(), ids=GAMES)
def both(request):
  game = pyspiel.load_game(request.param)
  return game, Environment(game)


def replayed(game, env, history):
  state = game.new_initial_state()
  for action in env.histories.path(int(history)):
    state.apply_action(action)
  return state


def assert_alike(game, env, state, row):
  """Row `row` of a batch of states is OpenSpiel's state with the same moves."""
  theirs = replayed(game, env, state.history[row])
  assert bool(state.terminated[row]) == theirs.is_terminal() and not theirs.is_chance_node()
  if theirs.is_terminal():
    assert state.current_player[row] == -1 and state.legal_action_mask[row].all()
    np.testing.assert_allclose(state.rewards[row], theirs.returns(), rtol=1e-6)
    return
  assert state.current_player[row] == theirs.current_player() and not state.rewards[row].any()
  assert np.flatnonzero(state.legal_action_mask[row]).tolist() == theirs.legal_actions()
  np.testing.assert_array_equal(state.observation[row], np.float32(theirs.information_state_tensor()))
  for player in range(game.num_players()):
    np.testing.assert_array_equal(
      env.observe(jax.tree.map(lambda x: x[row], state), player),
      np.float32(theirs.information_state_tensor(player)),
    )


def host(state):
  return jax.tree.map(np.asarray, state)


def test_every_state_is_openspiels(both):
  """All states of small games, 100 of larger ones; and from each, each action leads where it leads there."""
  game, env = both
  shown = np.flatnonzero(env.histories.player != CHANCE)
  shown = shown if len(shown) <= 100 else np.random.default_rng(0).choice(shown, 100, replace=False)
  state = jax.jit(jax.vmap(env.at))(shown.astype(np.int32))
  for row in range(len(shown)):
    assert_alike(game, env, host(state), row)
  decisions = np.flatnonzero(~np.asarray(state.terminated))
  here = jax.tree.map(lambda x: x[decisions], state)
  actions = np.array([np.flatnonzero(mask)[-1] for mask in np.asarray(here.legal_action_mask)])
  after = host(
    jax.jit(jax.vmap(env.step))(here, actions, jax.random.split(jax.random.key(1), len(decisions)))
  )
  for row, action in enumerate(actions):
    assert_alike(game, env, after, row)
    before = env.histories.path(int(here.history[row]))
    assert env.histories.path(int(after.history[row]))[: len(before) + 1] == [*before, action]


def test_random_games_end_as_openspiels(both):
  """A batch of 512 games by legal actions drawn at random, jitted; rewards come once."""
  game, env = both
  step = jax.jit(jax.vmap(env.step))
  state = jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.key(2), 512))
  rng, total = np.random.default_rng(3), np.zeros((512, game.num_players()))
  for turn in range(game.max_game_length() + 1):
    mask = np.asarray(state.legal_action_mask)
    actions = (rng.random(mask.shape) * mask).argmax(1)
    state = step(state, actions, jax.random.split(jax.random.key(turn), 512))
    total += np.asarray(state.rewards)
  assert state.terminated.all() and not state.rewards.any() and not state.truncated.any()
  for row in range(0, 512, 16):
    theirs = replayed(game, env, state.history[row])
    assert theirs.is_terminal()
    np.testing.assert_allclose(total[row], theirs.returns(), rtol=1e-6)


@pytest.mark.parametrize("name", ["kuhn", "leduc", "turn"])
def test_deals_are_as_likely_as_the_game_says(name):
  env = Environment(pyspiel.load_game(GAMES[name]))
  dealt = np.asarray(jax.vmap(env.init)(jax.random.split(jax.random.key(4), 20_000)).history)
  first = np.flatnonzero(
    (env.histories.player >= 0) & (env.histories.player[np.maximum(env.histories.parent, 0)] == CHANCE)
  )
  first = first[np.isin(env.histories.depth[first], env.histories.depth[dealt])]
  counts = np.array([(dealt == n).sum() for n in first])
  assert counts.sum() == len(dealt)
  assert stats.chisquare(counts, env.histories.chance[first] * len(dealt)).pvalue > 1e-3


def test_an_illegal_action_ends_the_game():
  env = Environment(pyspiel.load_game("leduc_poker"))
  state = env.init(jax.random.key(0))
  assert not state.legal_action_mask[0]  # nothing to fold to
  after = env.step(state, 0, jax.random.key(1))
  assert after.terminated and after.rewards.tolist() == [-13.0, 13.0] and after.legal_action_mask.all()
  again = env.step(after, 1, jax.random.key(2))
  assert again.terminated and not again.rewards.any() and again.current_player == -1


def test_a_key_is_asked_for_where_chance_moves():
  glasses = Environment(pyspiel.load_game("glasses"))
  state = glasses.init(jax.random.key(0))
  assert glasses.step(state, int(np.flatnonzero(state.legal_action_mask)[0])).current_player == 1
  leduc = Environment(pyspiel.load_game("leduc_poker"))
  with pytest.raises(ValueError, match="step needs a key"):
    leduc.step(leduc.init(jax.random.key(0)), 1)


def test_a_game_that_is_too_large():
  with pytest.raises(TooLarge, match="memory"):
    Environment(pyspiel.load_game("leduc_poker"), memory=1e5)
  with pytest.raises(TooLarge):
    Environment(pyspiel.load_game("leduc_poker"), limit=100)
