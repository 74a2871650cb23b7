"""Particles: their weights are the posterior of all histories, which a walk of small games gives."""

import collections
from typing import Any

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as openspiel_policy

from ps_cfr_spiel import KeyedMCCFRSolver
from ps_cfr_spiel.sampling.keyed import OpenSpielStates, Particles, halving
from ps_cfr_spiel.sampling.keyed.particles import thinned

CHEAT = "cheat(ranks=3,suits=2,hand_size=2,max_turns=3)"
MANY = 1_000_000


def a_policy(game, seed=0):
  """A tabular policy with random probabilities, some of them 0."""
  policy, random = openspiel_policy.TabularPolicy(game), np.random.default_rng(seed)
  weights = random.random(policy.action_probability_array.shape) * policy.legal_actions_mask
  weights[random.random(weights.shape) < 0.2] = 0
  weights += (weights.sum(1, keepdims=True) == 0) * policy.legal_actions_mask
  policy.action_probability_array[:] = weights / weights.sum(1, keepdims=True)
  return policy


def posteriors(game, policy, player):
  """{infostate of the player: ({history: probability}, one state)}, from a walk of the whole game."""
  found = collections.defaultdict(dict)

  def walk(state, reach):
    if state.is_terminal() or reach == 0:
      return
    if state.current_player() == player:
      found[state.information_state_string(player)][tuple(state.history())] = reach, state
      moves = [(action, 1.0) for action in state.legal_actions()]
    elif state.is_chance_node():
      moves = state.chance_outcomes()
    else:
      moves = policy.action_probabilities(state).items()
    for action, probability in moves:
      walk(state.child(action), reach * probability)

  walk(game.new_initial_state(), 1.0)
  for infostate, histories in found.items():
    total = sum(reach for reach, _ in histories.values())
    yield (
      infostate,
      {h: reach / total for h, (reach, _) in histories.items()},
      next(iter(histories.values()))[1],
    )


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker", "liars_dice(dice_sides=3)"])
@pytest.mark.parametrize("player", [0, 1])
def test_states_of_any_game_have_the_posterior(name, player):
  game = pyspiel.load_game(name)
  policy = a_policy(game)
  particles = Particles(OpenSpielStates(game, policy), player, MANY)
  for number, (_, exact, state) in enumerate(posteriors(game, policy, player)):
    if number % 41 and number > 20:
      continue
    particles.follow(state)
    there = {tuple(s.history()): w for s, w in zip(particles.hidden, particles.weights, strict=True)}
    assert there == pytest.approx(exact)


@pytest.fixture(scope="module", params=["observation", "memory"])
def trained(request):
  solver = KeyedMCCFRSolver(pyspiel.load_game(CHEAT), batch=64, seed=1, key=request.param)
  solver.run(20)
  return solver.average_policy()


def cards(form, state, player):
  """The hidden row of a state of Cheat, from its cards."""
  weights = form.keys.weights[state.rank].astype(np.int64)
  laid = collections.Counter(state.get_game().cards(state.discard)) if state.discard else {}
  counts = [list(state.hand(1 - player)), list(state.pile), [laid.get(rank, 0) for rank in range(3)]]
  return tuple(int(np.array(row) @ weights) for row in counts)


@pytest.mark.parametrize("player", [0, 1])
def test_hands_of_cheat_have_the_posterior(trained, player):
  game = trained.game
  form = trained.form.hidden_states(trained.table, 0.0)
  particles, checked = Particles(form, player, MANY), 0
  for number, (_, exact, state) in enumerate(posteriors(game, trained, player)):
    if number % 11:
      continue
    grouped = collections.Counter()
    for history, probability in exact.items():
      end = game.new_initial_state()
      for action in history:
        end.apply_action(action)
      grouped[cards(form, end, player)] += probability
    particles.follow(state)
    there = {tuple(h): w for h, w in zip(particles.hidden.tolist(), particles.weights, strict=True)}
    assert there == pytest.approx({key: value for key, value in grouped.items() if value > 0}, rel=1e-5)
    checked += 1
  assert checked > 30


def a_larger_cheat():
  """The form of a game of Cheat under random weights, and a state with a claim to answer."""
  game = pyspiel.load_game("cheat(ranks=4,suits=3,hand_size=4,max_turns=6)")
  form: Any = game.keyed_form()
  table, state = np.random.default_rng(0).random(form.cells), game.new_initial_state()
  for action in (0, 0, 1, 1, 2, 2, 3, 3, 0):  # both are dealt one card of each rank but one
    state.apply_action(action)
  for action in ("Discard 2", "Pass", "Discard 2", "Pass", "Discard A", "Pass", "Discard A3"):
    state.apply_action(state.string_to_action(state.current_player(), action))
  return form.hidden_states(table, 0.0), state


def test_few_particles_estimate_the_posterior():
  """Thinned to 30 of hundreds on the way: means over seeds are near the exact weights."""
  form, state = a_larger_cheat()
  player, runs, means = state.current_player(), 200, collections.defaultdict(float)
  exact = Particles(form, player, MANY)
  exact.follow(state)
  for seed in range(runs):
    few = Particles(form, player, 30, seed)
    few.follow(state)
    assert 1 <= len(few) <= 30
    for row, weight in zip(few.hidden.tolist(), few.weights, strict=True):
      means[tuple(row)] += weight / runs
  assert len(exact) > 60
  there = {tuple(row): weight for row, weight in zip(exact.hidden.tolist(), exact.weights, strict=True)}
  assert means.keys() <= there.keys()
  assert sum(abs(means[row] - weight) for row, weight in there.items()) / 2 < 0.06


@pytest.mark.parametrize("most", [1, 3, 10, 60, 99])
def test_thinning_keeps_expectations(most):
  random = np.random.default_rng(3)
  weights = random.random(100) ** 6
  weights[::10] = 0
  runs, total = 2000, np.zeros(100)
  for _ in range(runs):
    kept, now = thinned(np.arange(100), weights, most, random)
    assert len(kept) <= most
    assert now.sum() == pytest.approx(weights.sum(), rel=1.1 / most if most < 90 else 1e-9)
    total[kept] += now
  assert total[::10].sum() == 0
  np.testing.assert_allclose(total / runs, weights, atol=0.1 * weights.sum() / np.sqrt(most))


def test_rollouts_of_cheat_are_those_of_its_states(trained):
  """The mean return of arrays after each action is the expectation that a walk of the states gives."""
  form, random = trained.form.hidden_states(trained.table, 0.0), np.random.default_rng(0)

  def value(state, player):
    if state.is_terminal():
      return state.player_return(player)
    return sum(p * value(state.child(a), player) for a, p in trained.action_probabilities(state).items() if p)

  for setup in (
    (0, 0, 1, 1, 2),
    (1, 2, 2, 0, 1),
    (0, 0, 1, 1, 2, 3),
    (0, 0, 1, 1, 2, 3, 1, 3),
    (0, 0, 1, 1, 2, 3, 1),
  ):
    state = trained.game.new_initial_state()
    for action in setup:
      state.apply_action(action)
    player, runs = state.current_player(), 10_000
    for action in state.legal_actions()[:4]:
      hidden = np.tile(np.array(cards(form, state, player)), (runs, 1))
      returns = form.rollouts(state, player, hidden, np.full(runs, action), random)
      exact = value(state.child(action), player)
      assert returns.mean() == pytest.approx(exact, abs=5 / np.sqrt(runs))


def test_particles_depend_on_seed_and_observations_alone():
  form, end = a_larger_cheat()
  player, on_the_way = end.current_player(), Particles(form, end.current_player(), 20, seed=4)
  state = end.get_game().new_initial_state()
  for action in end.history():
    if state.current_player() == player:
      on_the_way.follow(state)
    state.apply_action(action)
  on_the_way.follow(state)
  at_once = Particles(form, player, 20, seed=4)
  at_once.follow(state)
  assert len(at_once) == 20
  np.testing.assert_array_equal(on_the_way.hidden, at_once.hidden)
  np.testing.assert_array_equal(on_the_way.weights, at_once.weights)


def test_halving_finds_the_best():
  random, truth = np.random.default_rng(0), np.array([0.1, 0.5, 0.4, -0.3, 0.0])
  made = []

  def values(tried, each):
    made.append(len(tried) * each)
    return truth[tried][:, None] + random.normal(size=(len(tried), each))

  found, left = halving(values, 5, 60_000, None)
  assert np.argmax(np.where(left, found, -1)) == 1 and found[1] == pytest.approx(0.5, abs=0.05)
  assert left.sum() == 2 and not left[3]
  assert 50_000 < sum(made) <= 60_000
  _, left = halving(values, 5, 60_000, None, np.array([0.0, 0.0, 0.0, 9.0, 8.0]))
  assert left.tolist() == [False, False, False, True, True]
  assert np.isfinite(halving(values, 1, None, 0.001)[0]).all()
