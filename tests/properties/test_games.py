"""Random games of all shapes, through solvers and leaf forms, against OpenSpiel, an LP and plain Python.

For longer: `pytest tests/properties --hypothesis-profile=hour`.
"""

import dataclasses
import itertools

import jax
import numpy as np
import pyspiel
import pytest
from game_shapes import game_of, shapes
from hypothesis import given, target
from hypothesis import strategies as st
from reference import sequence_form_value

import ps_cfr_spiel
from ps_cfr_spiel import PSCFRSolver, TreePolicy, build_tree, solvers
from ps_cfr_spiel.rules import RULES, make_rule

EXAMPLES = itertools.count(1)
LEAST = 1e-9  # relative to the scale of utilities


def load(shape):
  """The game of a shape. Compiled code of earlier ones is forgotten now and then.

  Each program that XLA compiles takes some of the process's 65,530 memory maps.
  """
  if next(EXAMPLES) % 100 == 0:
    jax.clear_caches()
  return game_of(shape)


def trees_of(game):
  """The game compiled in every way that it allows; always without public states."""
  found = [build_tree(game, "sparse", public_states="none")]
  for leaves in ("sparse", "auto", "blocks"):
    try:
      found.append(build_tree(game, leaves))
    except ValueError as error:
      assert "has no public states" in str(error) or "needs a Bayesian game" in str(error)
  return found


def random_strategies(tree, seed):
  """Strategies by name, so that they are the same in every tree of a game; some probabilities are zero."""
  strategies = [[np.ones(shape) for shape in player.block_shapes] for player in tree.players]
  for decision, h, name in tree.names.infostates():
    count = len(decision.legal_actions)
    rng = np.random.default_rng([seed, decision.player, *name.encode()])
    weights = rng.integers(0, 4, count)
    weights[0] += not weights.any()
    strategies[decision.player][decision.block][:, decision.row, h] = weights
  return strategies


def expected_value(state, policy):
  """To player 0, by walking."""
  if state.is_terminal():
    return state.returns()[0]
  chance = state.is_chance_node()
  moves = dict(state.chance_outcomes()) if chance else policy.action_probabilities(state)
  return sum(p * expected_value(state.child(a), policy) for a, p in moves.items())


def scale_of(tree):
  return max(np.abs(tree.names.source.histories.utility).max(), 1e-30)


@given(shapes(), st.integers(0, 2**31))
def test_all_leaf_forms_are_worth_the_same(shape, seed):
  """As OpenSpiel says, where it takes the game."""
  game = load(shape)
  results = []
  for tree in trees_of(game):
    policy = TreePolicy(game, tree.names, random_strategies(tree, seed))
    options = {"leaves": tree.leaves.kind if tree.leaves.kind in ("sparse", "blocks") else "auto"}
    options["public_states"] = "closure" if tree.names.public_states else "none"
    results.append(ps_cfr_spiel.evaluate_policy(game, policy, **options))
  scale = scale_of(tree)
  for found in results:
    np.testing.assert_allclose(np.hstack(found[:3]), np.hstack(results[0][:3]), atol=LEAST * scale, rtol=1e-9)
  value = expected_value(game.new_initial_state(), policy)
  assert results[0].value == pytest.approx(value, abs=LEAST * scale)
  if all(any(d.player == i for d in tree.names.decisions) for i in (0, 1)):  # else OpenSpiel refuses
    expected = pyspiel.exploitability(game, policy.to_pyspiel())
    assert results[0].exploitability == pytest.approx(expected, abs=LEAST * scale)


@given(shapes(4), st.sampled_from(sorted(RULES)), st.booleans())
def test_solvers_find_the_value_of_the_lp(shape, rule, alternating):
  game = load(shape)
  solver = PSCFRSolver(
    game, make_rule(rule, 400, alternating), alternating=alternating, dtype="float64", public_states="none"
  )
  scale = scale_of(solver.tree)
  start = solver.exploitability()
  solver.run(400)
  for iterations in () if alternating else (3_600, 36_000, 160_000):  # slower there
    if solver.exploitability() <= 0.1 * start + 0.05 * scale:
      break
    solver.run(iterations)
  value = sequence_form_value(game_of(dataclasses.replace(shape, scale=1))) * shape.scale  # LPs want units
  result = solver.evaluation()
  low, high = -result.best_response[1], result.best_response[0]
  assert low - 1e-7 * scale <= value <= high + 1e-7 * scale  # best responses bracket the value
  assert result.exploitability <= 0.1 * start + 0.05 * scale
  target(result.exploitability / scale)
  policy = solver.average_policy()
  assert ps_cfr_spiel.exploitability(game, policy) == pytest.approx(result.exploitability, abs=LEAST * scale)


@given(shapes(4), st.sampled_from(["VRMCCFRSolver", "OutcomeSamplingSolver", "ExternalSamplingSolver"]))
def test_sampling_goes_the_same_way_in_parts(shape, name):
  """A run in two parts equals a run in one; strategies are distributions."""
  game = load(shape)
  one, two = (
    getattr(solvers, name)(game, dtype="float64", public_states="none", seed=shape.seed) for _ in (0, 1)
  )
  one.run(60)
  two.run(23)
  two.run(37)
  for a, b in zip(*(s.average_policy().strategies for s in (one, two)), strict=True):
    for x, y in zip(a, b, strict=True):
      np.testing.assert_array_equal(x, y)
      np.testing.assert_allclose(x.sum(0), 1, rtol=1e-12)
  assert one.exploitability() >= -LEAST * scale_of(one.tree)


@given(shapes(3), st.sampled_from(["CFRPlusIRASolver", "FPIRASolver", "FictitiousPlaySolver"]))
def test_sets_of_infostates_and_best_responses(shape, name):
  """A run in parts equals a run in one; its policy is one of the whole game, where the value is the LP's."""
  game = load(shape)
  one, two = (getattr(solvers, name)(game, public_states="none", dtype="float64") for _ in (0, 1))
  one.run(24)
  two.run(9)
  two.run(15)
  for a, b in zip(*(s.average_policy().strategies for s in (one, two)), strict=True):
    for x, y in zip(a, b, strict=True):
      np.testing.assert_array_equal(x, y)
      np.testing.assert_allclose(x.sum(0), 1, rtol=1e-12)
  result, scale = one.evaluation(), scale_of(one.tree)
  value = sequence_form_value(game_of(dataclasses.replace(shape, scale=1))) * shape.scale
  assert -result.best_response[1] - 1e-7 * scale <= value <= result.best_response[0] + 1e-7 * scale


@given(shapes(3), st.sampled_from(["infostate", "public"]))
def test_searches_by_sampling_and_plays(shape, target):
  """What is asked about anywhere is answered by a distribution, and by the same one when asked again."""
  game = load(shape)
  tree = build_tree(game, "sparse", public_states="none")
  try:
    online = ps_cfr_spiel.OnlineOutcomeSampling(game, 20, target=target)
  except ValueError as error:
    assert "has no public states" in str(error)
    return
  played = ps_cfr_spiel.KeyedMCCFRSolver(game, batch=2)
  played.run(5)
  for decision, h, _ in itertools.islice(tree.names.infostates(), 3):
    state = tree.names.state(decision, h)
    for policy in (online, played.average_policy()):
      found = policy.action_probabilities(state)
      assert list(found) == state.legal_actions() and min(found.values()) >= 0
      assert sum(found.values()) == pytest.approx(1, abs=1e-6)
      assert found == policy.action_probabilities(state)


@given(shapes(3))
def test_re_solving_is_not_worse_than_uniform_play(shape):
  """Searches with and without a lookahead, in games that have public states."""
  game = load(shape)
  try:
    tree = build_tree(game)
  except ValueError as error:
    assert "has no public states" in str(error)
    return
  policy = ps_cfr_spiel.ContinualResolving(game, 300, dtype="float64").tabularise()
  uniform = TreePolicy(game, tree.names, [[np.ones(s) for s in p.block_shapes] for p in tree.players])
  start, end = (ps_cfr_spiel.exploitability(game, p) for p in (uniform, policy))
  assert end <= 0.2 * start + 0.05 * scale_of(tree)
