"""Cheat on arrays: equal to the Python game, and dealt as chance deals."""

import collections
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel
import pytest
from ps_cfr_spiel.games.cheat import arrays
from variants import each

import ps_cfr_spiel  # noqa: F401  (registers the games)

GAMES = 120  # of each set of parameters; 400 were tried

jitted = functools.partial(jax.jit, static_argnums=0)
step, legal, mover, returns = map(jitted, (arrays.step, arrays.legal_actions, arrays.mover, arrays.returns))


def dealt(game, count, rng):
  """Python states after the deal."""
  states = []
  for _ in range(count):
    state = game.new_initial_state()
    while state.is_chance_node():
      actions, chances = zip(*state.chance_outcomes(), strict=True)
      state.apply_action(int(rng.choice(actions, p=chances)))
    states.append(state)
  return states


def begun(game, states):
  """The same on arrays."""
  players = range(game.num_players())
  hands = np.array([[list(state.hand(player)) for player in players] for state in states], np.int32)
  first = np.array([state.current_player() for state in states], np.int32)
  return arrays.begin(jnp.asarray(np.moveaxis(hands, 0, 2)), jnp.asarray(first))


def check_equal(game, states, games, looked_at):
  """The players to move and returns of all games, cards and legal actions of some."""
  assert mover(game.rules, games).tolist() == [state.current_player() for state in states]
  np.testing.assert_allclose(returns(game.rules, games).T, [state.returns() for state in states], atol=1e-6)
  allowed, pile = np.asarray(legal(game.rules, games)), np.asarray(games.pile)
  hands = np.asarray(games.hands).reshape(-1, len(states))
  for b in looked_at:
    assert hands[:, b].tolist() == list(states[b].hands)
    assert pile[:, b].tolist() == list(states[b].pile)
    assert np.flatnonzero(allowed[:, b]).tolist() == states[b].legal_actions()


@each(games=["cheat"])
def test_the_arrays_are_the_game_move_for_move(game_string):
  game, rng = pyspiel.load_game(game_string), np.random.default_rng(1)
  states = dealt(game, GAMES, rng)
  games = begun(game, states)
  moves = 0
  while True:
    check_equal(game, states, games, rng.choice(GAMES, 30, replace=False))
    if all(state.is_terminal() for state in states):
      break
    actions = [0 if s.is_terminal() else int(rng.choice(s.legal_actions())) for s in states]
    for state, action in zip(states, actions, strict=True):
      if not state.is_terminal():
        state.apply_action(action)
    games = step(game.rules, games, jnp.array(actions, jnp.int32))
    moves += 1
  assert moves <= game.max_game_length()
  assert any(any(state.returns()) for state in states) or game.rules.max_turns <= 12


def test_the_deal_is_hypergeometric():
  """Three ranks of two cards, two to each player: every pair of hands as often as its ways of being dealt."""
  game = pyspiel.load_game("cheat(ranks=3,suits=2,hand_size=2)")
  batch = 40_000
  games = arrays.deal(game.rules, jax.random.key(3), batch)
  hands = np.asarray(games.hands)
  found = collections.Counter(map(bytes, np.moveaxis(hands, 2, 0).astype(np.uint8).reshape(batch, -1)))
  total = math.comb(6, 2) * math.comb(4, 2)
  for pair, count in found.items():
    first, second = np.frombuffer(pair, np.uint8).reshape(2, 3)
    ways = math.prod(math.comb(2, f) * math.comb(2 - f, s) for f, s in zip(first, second, strict=True))
    assert count / batch == pytest.approx(ways / total, abs=5 * math.sqrt(ways / total / batch))
  assert len(found) == 3 * 3 + 3 * 4  # the hands that a hand leaves: 3 beside a pair, 4 beside two ranks
  assert np.asarray(games.discarder).mean() == pytest.approx(0.5, abs=0.02)


def test_who_is_first_may_be_fixed():
  game = pyspiel.load_game("cheat(players=3,first_player=2)")
  assert set(arrays.deal(game.rules, jax.random.key(0), 10).discarder.tolist()) == {2}
