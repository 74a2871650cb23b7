"""The worked examples of the documentation do what they say; results are checked by OpenSpiel and by LPs."""

import ast
import dataclasses
import importlib.util
import sys
from pathlib import Path

import forked
import jax
import numpy as np
import pyspiel
import pytest
from cuts import rounded
from open_spiel.python.algorithms import exploitability
from reference import sequence_form_value

from ps_cfr_spiel import ContinualResolving, KeyedMCCFRSolver, PSCFRSolver, build_tree, check_game
from ps_cfr_spiel.learning import generate_examples, train
from ps_cfr_spiel.resolving.subgames import Subgames, unsafe
from ps_cfr_spiel.tree import evaluate

EXAMPLES = Path(__file__).parents[1] / "examples"
MOST_LINES = 40
if not EXAMPLES.exists():
  pytest.skip("the examples are not part of the wheel", allow_module_level=True)


def example(name):
  """An example as a module; it may import its neighbours."""
  sys.path.insert(0, str(EXAMPLES))
  try:
    return importlib.import_module(name)
  finally:
    sys.path.remove(str(EXAMPLES))


def openspiels_exploitability(game, policy):
  return pyspiel.exploitability(game, policy.to_pyspiel())


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_examples_are_short(path):
  text = path.read_text()
  docstrings = {
    line
    for node in ast.walk(ast.parse(text))
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node)
    for line in range(node.body[0].lineno, node.body[0].end_lineno + 1)
  }
  code = [n for n, line in enumerate(text.splitlines(), 1) if line.strip() and n not in docstrings]
  assert 0 < len(code) < MOST_LINES


def test_a_network_of_ones_own_learns():
  game, network = pyspiel.load_game("kuhn_poker"), example("new_network").Network
  situations = generate_examples(game, draws=200, progress=False)
  found = []
  for steps in (1, 2000):
    own = network(*situations.features.extent, 64, jax.random.key(0))
    values = train(situations, steps=steps, network=own, progress=False)
    search = ContinualResolving(game, 300, lookahead=1, value_function=values)
    found.append(openspiels_exploitability(game, search.tabularise(progress=False)))
  assert found[0] > 0.02 and found[1] < 0.002


def test_the_rule_converges():
  rule = example("new_rule").PolynomialRM()
  leduc = pyspiel.load_game("leduc_poker")
  solver = PSCFRSolver(leduc, rule)
  found = []
  for iterations in (0, 100, 900):
    solver.run(iterations)
    found.append(openspiels_exploitability(leduc, solver.average_policy()))
  assert found[0] > 20 * found[1] > 60 * found[2]
  assert found[2] < 0.02


def test_the_rule_of_degree_two_is_regret_matching():
  kuhn = pyspiel.load_game("kuhn_poker")
  ours = PSCFRSolver(kuhn, example("new_rule").PolynomialRM(p=2.0), alternating=False, dtype="float64")
  theirs = pyspiel.CFRSolver(kuhn)
  ours.run(1)  # OpenSpiel's updates alternate; the first one is of player 0, from the same uniform strategies
  theirs.evaluate_and_update_policy()
  first = theirs.tabular_current_policy()
  mine = ours.current_policy()
  for decision, _, name in mine.labels.infostates():
    if decision.player == 0:
      expected = dict(first.action_probabilities(name))
      assert mine.at(0, name) == pytest.approx(expected, abs=1e-12)


def test_the_leaf_evaluator_is_exact_at_full_rank_and_only_there():
  module = example("new_leaves")
  leduc = pyspiel.load_game("leduc_poker")
  utility = build_tree(leduc, leaves="blocks").leaves.utility
  u, s, v = np.linalg.svd(utility, full_matrices=False)
  leaves = module.LowRankLeaves(u * s[:, None], v)
  reach = np.random.default_rng(0).random(utility.shape[:2])
  for player, values in (
    (0, np.einsum("lhg,lg->lh", utility, reach)),
    (1, -np.einsum("lhg,lh->lg", utility, reach)),
  ):
    np.testing.assert_allclose(leaves(player, [reach])[0], values, atol=1e-12)
  full = openspiels_exploitability(leduc, module.solve(leduc, 6, 300))
  assert full < 0.005
  assert openspiels_exploitability(leduc, module.solve(leduc, 3, 300)) > 5 * full


def low_rank(tree):
  """The tree with the example's leaves, at full rank."""
  u, s, v = np.linalg.svd(tree.leaves.utility, full_matrices=False)
  leaves = example("new_leaves").LowRankLeaves(u * s[:, None], v)
  return dataclasses.replace(tree, leaves=leaves)


def test_the_leaf_evaluator_has_a_summary():
  assert "evaluator 'low rank'" in low_rank(build_tree(pyspiel.load_game("kuhn_poker"))).summary()


def test_a_solver_takes_a_tree(tmp_path):
  """A built one gives the same bits; one with other leaves is solved, saved, and loaded with itself alone."""
  game = pyspiel.load_game("kuhn_poker")
  tree, path = build_tree(game), tmp_path / "run.safetensors"
  plain, same = PSCFRSolver(game, "rm+"), PSCFRSolver(game, "rm+", tree=tree)
  halved = dataclasses.replace(tree.leaves, utility=tree.leaves.utility / 2)  # of all payoffs
  other = PSCFRSolver(game, "rm+", tree=dataclasses.replace(tree, leaves=halved))
  for solver in (plain, same, other):
    solver.run(100)
  assert same.exploitability() == plain.exploitability()
  assert other.value() == pytest.approx(plain.value() / 2, abs=1e-6)
  other.save(path)
  loaded = PSCFRSolver.load(path, tree=dataclasses.replace(tree, leaves=halved))
  assert loaded.value() == other.value()
  for given in ({}, {"tree": tree}):
    with pytest.raises(ValueError, match=r"is a run on another tree, blocks .*; load it with that as tree="):
      PSCFRSolver.load(path, **given)
  plain.save(path)
  with pytest.raises(ValueError, match="on the tree that build_tree makes; load it without tree="):
    PSCFRSolver.load(path, tree=tree)
  with pytest.raises(ValueError, match=r"tree is of kuhn_poker\(\), not of leduc_poker\(\)"):
    PSCFRSolver(pyspiel.load_game("leduc_poker"), tree=tree)
  with pytest.raises(ValueError, match="leaves: only for a tree that is built"):
    PSCFRSolver(game, tree=tree, leaves="blocks")


def test_the_leaf_evaluator_is_sampled():
  """Along public lines, the updates that a block evaluator gives; values of leaves that occur twice, too."""
  from ps_cfr_spiel.sampling.mccfr import PublicSampling, ZeroBaseline, build_public_sampling_tree

  dense = build_tree(pyspiel.load_game("kuhn_poker"), leaves="blocks")
  generator = np.random.default_rng(0)
  leaf, updates = np.array([3, 0, 3, 1]), []
  for player in (0, 1):
    reach = generator.random((4, dense.players[1 - player].types))
    values = [made.leaves.sampled(player, leaf, reach) for made in (dense, low_rank(dense))]
    everywhere = np.zeros((len(dense.leaves.utility), reach.shape[1]))
    for n, number in enumerate(leaf):
      everywhere[number] = reach[n]
      np.testing.assert_allclose(values[0][n], dense.leaves(player, [everywhere])[0][number], atol=1e-12)
    np.testing.assert_allclose(*values, atol=1e-12)
  for made in (dense, low_rank(dense)):
    tree = build_public_sampling_tree(made)
    sampler = PublicSampling(ZeroBaseline())
    uniforms = np.random.default_rng(1).random((sampler.draws(tree), 50))
    regrets = np.random.default_rng(2).random((tree.actions, tree.cells))
    regrets *= np.arange(tree.actions)[:, None] < tree.legal
    updates.append(sampler(tree, regrets, np.zeros(0), np.int32(0), uniforms))
  assert np.abs(updates[0].regrets).max() > 0.1
  for one, other in zip(*updates, strict=True):
    np.testing.assert_allclose(one, other, atol=1e-12)


def test_the_leaf_evaluator_is_cut():
  """A subgame with it, padded, has the values of the subgame with a block evaluator."""
  dense = build_tree(pyspiel.load_game("leduc_poker"), leaves="blocks")
  roots = [n for n, state in enumerate(dense.labels.public_states) if state.player == 1][:1]
  values = []
  for made in (dense, low_rank(dense)):
    cut = Subgames(made).cut(roots, pad_to=rounded)
    tree = unsafe(cut, 0, [np.ones((cut.shape.roots[i], made.players[i].types)) for i in (0, 1)]).tree
    uniform = [[np.full(shape, 1 / shape[0]) for shape in player.block_shapes] for player in tree.players]
    values.append(evaluate(tree, uniform))
  assert abs(values[0].best_response[0]) > 0.1
  np.testing.assert_allclose(values[1].exploitability, values[0].exploitability, rtol=1e-9)
  np.testing.assert_allclose(values[1].best_response, values[0].best_response, rtol=1e-9)


def test_the_game_has_the_value_and_the_strategies_of_the_books():
  """Half a street of three cards: a third of the worst are bluffed, a third of the middle ones call."""
  example("new_game")
  game = pyspiel.load_game("half_street")
  check_game(game, public_states="closure").assert_solvable()
  assert sequence_form_value(game) == pytest.approx(1 / 18)
  solver = PSCFRSolver(game)
  solver.run(1000)
  policy = solver.average_policy()
  assert exploitability.nash_conv(game, policy, use_cpp_br=False) / 2 < 1e-3
  assert policy.at(0, "card (0,), then ()")[1] == pytest.approx(1 / 3, abs=0.01)
  assert policy.at(1, "card (1,), then (1,)")[1] == pytest.approx(1 / 3, abs=0.01)


@pytest.mark.parametrize("leaves", ["dense", "showdown"])
def test_the_form_is_the_game(leaves):
  example("new_form")
  game = pyspiel.load_game("half_street_by_form")
  report = check_game(game)
  report.assert_solvable()
  assert report.verdict("bayesian_form()") == "PASS"
  solver = PSCFRSolver(game, leaves=leaves)
  solver.run(1000)
  assert solver.tree.leaves.kind == leaves
  assert exploitability.nash_conv(game, solver.average_policy(), use_cpp_br=False) / 2 < 1e-3


def test_the_sampler_converges():
  kuhn = pyspiel.load_game("kuhn_poker")
  module = example("new_sampler")
  found = [openspiels_exploitability(kuhn, module.solve(kuhn, n)) for n in (100, 10_000)]
  assert found[1] < 0.02
  assert found[0] > 3 * found[1]


def test_the_sampler_is_unbiased():
  """The mean update of many pairs is that of many single trajectories, whose own tests prove it right."""
  from ps_cfr_spiel.sampling.mccfr import OutcomeSampling, ZeroBaseline, build_sampling_tree

  kuhn = pyspiel.load_game("kuhn_poker")
  tree = build_sampling_tree(kuhn, build_tree(kuhn))
  regrets = np.zeros((tree.actions, tree.cells))
  means = []
  for sampler in (example("new_sampler").AntitheticSampling(ZeroBaseline()), OutcomeSampling(ZeroBaseline())):
    uniforms = np.random.default_rng(1).random((sampler.draws(tree), 60_000))
    updates = jax.jit(sampler)(tree, regrets, np.zeros(0), np.int32(0), uniforms)
    total = np.zeros_like(regrets)
    np.add.at(total.T, np.asarray(updates.cells), np.asarray(updates.regrets).T)
    means.append(total / uniforms.shape[1])
  assert np.abs(means[0]).max() > 0.05
  np.testing.assert_allclose(*means, atol=0.02)


def test_values_are_learned_from_solved_subgames():
  values, kuhn = example("new_values").LinearValues, pyspiel.load_game("kuhn_poker")
  few, many = (
    openspiels_exploitability(
      kuhn, ContinualResolving(kuhn, 300, lookahead=1, value_function=values(samples)).tabularise()
    )
    for samples in (3, 30)
  )
  assert few > 10 * many
  assert many < 0.002


def test_the_keyed_game_has_von_neumanns_equilibrium():
  """Bets of the best 2/9 and the worst 1/9, calls of the best 4/9, value 1/9: unions of first digits.

  Best responses that see first digits alone are exact in tables of pairs of these: equal ones tie on average.
  """
  module = example("new_keyed_game")
  solver = KeyedMCCFRSolver(pyspiel.load_game("von_neumann_poker"), batch=64, seed=1, estimate="corrected")
  wins = np.sign(np.arange(module.BASE)[:, None] - np.arange(module.BASE))
  gains = []
  for iterations in (2, 198):
    solver.run(iterations)
    weights = np.asarray(solver.average_policy().table).reshape(2, module.BASE, 2)
    bet, call = (weights / weights.sum(-1, keepdims=True))[..., 1]
    first = np.maximum(wins.mean(1), (1 - call + 3 * call * wins).mean(1)).mean()
    checked, called = ((1 - bet)[:, None] * wins).mean(0), (3 * bet[:, None] * wins).mean(0)
    second = -(checked + np.minimum(bet.mean(), called)).mean()
    assert -second <= 1 / 9 <= first
    gains.append(first + second)
  assert gains[0] > 2 * gains[1] > 0
  assert gains[1] < 0.2


def test_a_game_of_keys_alone_can_be_trained():
  """Too large for a tree, which is no fault: the report says what takes it."""
  example("new_keyed_game")
  report = check_game(pyspiel.load_game("von_neumann_poker"))
  assert (report.solvable, report.trainable) == (False, True)
  assert str(report).endswith("OK: too large to be compiled, and can be trained by its keys (train)")
  assert not check_game(pyspiel.load_game("kuhn_poker")).trainable


def test_a_process_with_registered_games_ends_well():
  """OpenSpiel aborts a process at its end if a function was registered in place of a class."""
  names = [path.stem for path in sorted(EXAMPLES.glob("*.py")) if "register_game" in path.read_text()]
  code = f"import sys; sys.path.insert(0, {str(EXAMPLES)!r}); import {', '.join(names)}"
  assert forked.run(code).returncode == 0


def test_the_game_with_features_is_kuhn_poker():
  """All histories and payoffs are OpenSpiel's; the features are a network's input."""
  module = example("new_features")
  pairs = [(pyspiel.load_game(name).new_initial_state() for name in ("full_street", "kuhn_poker"))]
  compared = 0
  while pairs:
    one, other = pairs.pop()
    assert one.current_player() == other.current_player()
    if one.is_terminal():
      assert one.returns() == list(other.returns())
      compared += 1
      continue
    assert {len(module.features(one, player)) for player in (0, 1)} == {6}
    assert one.legal_actions() == other.legal_actions()
    pairs += [(one.child(action), other.child(action)) for action in one.legal_actions()]
  assert compared == 30
