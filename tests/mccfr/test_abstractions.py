"""Sampling under an abstraction: its updates by enumeration, and its runs beside full traversals."""

import dataclasses
import functools
import itertools

import jax.numpy as jnp
import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms.expected_game_score import policy_value
from test_mccfr import chance_of, every_trajectory, expected_of_traversals, follow_in_public, quadrature
from trajectories import RIVER, Game, ancestors, compiled, exact, expected, random_table
from weather import weather

from ps_cfr_spiel import ExternalSamplingSolver, OutcomeSamplingSolver, PSCFRSolver, VRMCCFRSolver, build_tree
from ps_cfr_spiel.abstraction import abstract_by_clusters, abstract_tree
from ps_cfr_spiel.abstractions import HierarchicalMCCFRSolver
from ps_cfr_spiel.backend.device import to_device
from ps_cfr_spiel.sampling import mccfr
from ps_cfr_spiel.sampling.mccfr import (
  ClusterExternalSampling,
  LearnedBaseline,
  PublicSampling,
  build_sampling_tree,
)
from ps_cfr_spiel.sampling.mccfr import outcome as paths
from ps_cfr_spiel.sampling.mccfr.columns import regret_matching
from ps_cfr_spiel.solvers.sampling import set_of_each


def low_or_high(infostate, player):
  """Kuhn's jack and queen are one card, and nothing else is forgotten."""
  return ("low" if infostate[0] in "01" else "high") + infostate[1:]


def abstracted(name, key, moves="histories"):
  """A compiled game with tables of sets: the set of each infostate, and what `compiled` has."""
  game, loaded = compiled(name, moves), pyspiel.load_game(name)
  tree = build_tree(loaded)  # with labels
  sets = set_of_each(tree, abstract_tree(tree, loaded, key))
  nodes = to_device(mccfr.abstracted(game.nodes, sets), "float64")
  regrets = np.random.default_rng(7).normal(0.3, 1, (nodes.actions, nodes.cells))
  regrets = jnp.asarray(regrets * (np.arange(nodes.actions)[:, None] < np.asarray(nodes.legal)))
  whole = game._replace(regrets=regrets[:, sets])
  return sets, whole, game._replace(nodes=nodes, regrets=regrets)


def in_sets(sets, table):
  """A table of infostates, added up in sets."""
  found = np.zeros((len(table), sets.max() + 1))
  np.add.at(found.T, sets, np.asarray(table).T)
  return found


@pytest.mark.parametrize(
  ("name", "key", "moves", "player"),
  [
    ("kuhn_poker", low_or_high, "histories", 0),
    ("kuhn_poker", low_or_high, "histories", 1),
    ("leduc_poker", "observation", "histories", 0),
    (RIVER, "initial", "histories", 1),
    ("leduc_poker", "initial", "public", 0),
  ],
  ids=["kuhn, first", "kuhn, second", "leduc", "river", "public"],
)
def test_expected_updates_are_those_of_the_members_together(name, key, moves, player):
  """Summed over all trajectories, with random learned values, in every set."""
  sets, whole, game = abstracted(name, key, moves)
  assert game.nodes.cells < whole.nodes.cells
  if moves == "public":
    learned = random_table(PublicSampling(LearnedBaseline()).entries(game.nodes))
    updates, probability = follow_in_public(
      game.nodes, game.regrets, learned, ancestors(game.nodes), jnp.int32(player), LearnedBaseline()
    )
  else:
    learned = random_table(paths.OutcomeSampling(LearnedBaseline()).entries(game.nodes))
    updates, probability, _ = every_trajectory(game, LearnedBaseline(), learned, player)
  regrets, _ = expected(game.nodes, updates, probability)
  truth = in_sets(sets, exact(whole, player)[0])
  assert np.abs(truth).max() > 0.01
  np.testing.assert_allclose(regrets, truth, atol=1e-10)


@pytest.mark.parametrize("player", [0, 1])
def test_external_sampling_adds_members_up(player):
  sets, whole, game = abstracted("kuhn_poker", low_or_high)
  policy = np.asarray(regret_matching(whole.regrets, whole.nodes.legal))
  uniforms, probability = quadrature(whole.nodes, policy)
  regrets, _ = expected_of_traversals(game._replace(tree=None), player, uniforms, probability)
  np.testing.assert_allclose(regrets, in_sets(sets, exact(whole, player)[0]), atol=1e-9)


def in_clusters(loaded, abstraction, regrets_of):
  """What `abstracted` returns for external sampling by clusters; `regrets_of` makes cumulative regrets."""
  tree = build_tree(loaded)
  sets = set_of_each(tree, abstraction)
  whole = build_sampling_tree(loaded, tree)
  of_sets = ClusterExternalSampling().finished(mccfr.abstracted(whole, sets))
  made = to_device((dataclasses.replace(tree, labels=None), whole, of_sets), "float64")
  tables = regrets_of((whole.actions, of_sets.cells)) * (np.arange(whole.actions)[:, None] < of_sets.legal)
  games = Game(*made[:2], jnp.asarray(tables[:, sets])), Game(made[0], made[2], jnp.asarray(tables))
  return sets, *games


def pure(shape):
  """Regrets by which one action is played; all have two or more actions, so it is one of the first two."""
  return np.eye(shape[0])[:, np.random.default_rng(4).integers(0, 2, shape[1])]


def some_positive(shape):
  return np.random.default_rng(7).normal(0.3, 1, shape)


def as_dealt_cards(game, clusters, buckets):
  """The abstraction of HierarchicalMCCFRSolver as one of a compiled game."""
  form = HierarchicalMCCFRSolver(game, clusters, buckets=buckets).average_policy().form
  tree = build_tree(game)
  names = {(d.player, name): tree.names.state(d, h) for d, h, name in tree.names.infostates()}
  return abstract_tree(
    tree, game, lambda infostate, player: form.locate(names[player, infostate])[0].tolist()[0]
  )


@pytest.mark.parametrize(("name", "player"), [("weather", 0), ("weather", 1), ("leduc_poker", 1)])
def test_an_outcome_of_each_cluster_has_the_expectation_of_all(name, player):
  """Over all random numbers; outcomes of unequal probability, and Leduc in sets of the dealt game."""
  if name == "weather":
    game = pyspiel.load_efg_game(weather())
    made = in_clusters(game, abstract_by_clusters(game, np.array([0, 1, 0, 0]), buckets=1), some_positive)
    assert sorted((np.asarray(made[2].nodes.clusters.members) >= 0).sum(1)) == [1] * 4 + [2] * 3 + [3] * 4
  else:
    game = pyspiel.load_game(name)
    made = in_clusters(game, as_dealt_cards(game, np.array([0, 1, 0]), 1), pure)
  sets, whole, sampled = made
  if name == "weather":
    policy = np.asarray(regret_matching(whole.regrets, whole.nodes.legal))
    uniforms, probability = quadrature(sampled.nodes, policy)
  else:  # play is pure, each history has one public card, and 12 numbers stand for it and a part of its cards
    numbers = np.array(list(itertools.product(*((np.arange(n) + 0.5) / n for n in (6, 5, 12)))))
    uniforms = jnp.asarray(numbers[:, [0, 1] + [2] * (sampled.nodes.depth - 2)].T)
    probability = np.full(len(numbers), 1 / len(numbers))
  regrets, averages = expected_of_traversals(
    sampled._replace(tree=None), player, uniforms, probability, sampler=ClusterExternalSampling()
  )
  truth = in_sets(sets, exact(whole, player)[0])
  assert np.abs(truth).max() > 0.01
  np.testing.assert_allclose(regrets, truth, atol=1e-9)
  strategy = exact(whole, 1 - player)[1] * chance_of(whole.nodes, 1 - player)[None]
  np.testing.assert_allclose(averages, in_sets(sets, strategy), atol=1e-9)


KINDS = {
  "VR-MCCFR": (VRMCCFRSolver, {}),
  "oracle": (VRMCCFRSolver, {"baseline": "oracle"}),
  "public": (VRMCCFRSolver, {"trajectories": "public"}),
  "outcome": (OutcomeSamplingSolver, {}),
  "external": (ExternalSamplingSolver, {}),
}


@pytest.mark.parametrize(
  "kind, name",
  [
    ("VR-MCCFR", "leduc_poker"),
    ("oracle", "kuhn_poker"),
    ("public", RIVER),
    ("outcome", "kuhn_poker"),
    ("external", RIVER),
  ],
  ids=KINDS,
)
def test_infostates_alone_in_their_sets_are_infostates(kind, name):
  """But for rounding, wherever the columns of tables are."""
  game, (kind, options) = pyspiel.load_game(name), KINDS[kind]
  given = {"seed": 3, "batch": 2, "dtype": "float64", **options}
  solvers = [kind(game, **given, **more) for more in ({}, {"abstraction": "identity"})]
  for solver in solvers:
    solver.run(60)
  for which in ("average_policy", "current_policy"):
    plain, alone = (getattr(solver, which)().strategies for solver in solvers)
    for x, y in zip(itertools.chain(*plain), itertools.chain(*alone), strict=True):
      np.testing.assert_allclose(x, y, rtol=1e-12)
  if options or name == "leduc_poker":  # outcome sampling: VR-MCCFR that learns nothing
    assert solvers[0].variance() == pytest.approx(solvers[1].variance(), rel=1e-9)


def best_response(game, opponent, player):
  """The most that a pure strategy of the sets of `low_or_high` wins: all 16 of the player are tried."""
  own = openspiel_policy.TabularPolicy(game)
  names = own.states_per_player[player]
  sets = sorted({low_or_high(name, player) for name in names})
  found = []
  for moves in itertools.product((0, 1), repeat=len(sets)):
    for name in names:
      own.policy_for_key(name)[:] = np.eye(2)[moves[sets.index(low_or_high(name, player))]]
    pair = [own, opponent] if player == 0 else [opponent, own]
    found.append(policy_value(game.new_initial_state(), pair)[player])
  return max(found)


@functools.cache
def whole_solution():
  """Kuhn poker in the sets of `low_or_high`, solved by full traversals."""
  solver = PSCFRSolver(pyspiel.load_game("kuhn_poker"), abstraction=low_or_high)
  solver.run(2000)
  return solver


@pytest.mark.parametrize("kind, options", KINDS.values(), ids=KINDS)
def test_runs_converge_to_a_solution_of_the_abstract_game(kind, options):
  """It has perfect recall; in the whole game its solutions are exploitable, and not all of them equally."""
  game, whole = pyspiel.load_game("kuhn_poker"), whole_solution()
  solver = kind(game, abstraction=low_or_high, rule="rm+", batch=64, seed=1, **options)
  solver.run(3000)
  assert solver.value() == pytest.approx(whole.value(), abs=0.01)
  assert min(solver.exploitability(), whole.exploitability()) > 0.05  # the cost of the abstraction
  policy = solver.average_policy()
  assert sum(best_response(game, policy, player) for player in (0, 1)) / 2 < 0.02
  for player, (jack, queen) in enumerate((("0", "1"), ("0b", "1b"))):
    assert policy.at(player, jack) == policy.at(player, queen)


def test_an_abstraction_of_another_game():
  whole = VRMCCFRSolver(pyspiel.load_game("leduc_poker"), abstraction="observation")
  with pytest.raises(ValueError, match=r"The abstraction is one of leduc_poker.*, not of kuhn_poker"):
    OutcomeSamplingSolver(pyspiel.load_game("kuhn_poker"), abstraction=whole.abstraction)
