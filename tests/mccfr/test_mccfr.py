"""The sampling family: unbiasedness by enumeration, Lemma 28, and that runs are reproducible and converge."""

import dataclasses
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel
import pytest
from cuts import TURN
from trajectories import (
  FLOP,
  GOOFSPIEL,
  RIVER,
  ancestors,
  chance_reach,
  compiled,
  exact,
  expected,
  random_table,
)

from ps_cfr_spiel.backend.device import jit
from ps_cfr_spiel.cfr import RM, RMPlus, averages
from ps_cfr_spiel.evaluation import sampling_runs
from ps_cfr_spiel.sampling import mccfr
from ps_cfr_spiel.sampling.mccfr import (
  ExternalSampling,
  LearnedBaseline,
  OracleBaseline,
  ZeroBaseline,
  sampling_loop,
)
from ps_cfr_spiel.sampling.mccfr import outcome as paths
from ps_cfr_spiel.sampling.mccfr import public_lines as public
from ps_cfr_spiel.sampling.mccfr.columns import regret_matching, uniform
from ps_cfr_spiel.sampling.mccfr.sampling_tree import CHANCE_NODE, TERMINAL_NODE
from ps_cfr_spiel.sampling.mccfr.variance import history_variance, sampled_variance
from ps_cfr_spiel.solvers import (
  ExternalSamplingSolver,
  OutcomeSamplingSolver,
  SamplingSolver,
  VRMCCFRSolver,
)

BASELINES = {
  "zero": ZeroBaseline(),
  "learned": LearnedBaseline(),
  "learned, none at chance": LearnedBaseline(chance=False),
  "oracle": OracleBaseline(),
}


def all_types(nodes, way):
  """Every deal beside every way: types, ways and the probability of the deal."""
  if nodes.deal is None:
    zeros = jnp.zeros(way.shape[1], jnp.int32)
    return (zeros, zeros), way, np.ones(way.shape[1])
  first, second = np.asarray(nodes.deal.first), np.asarray(nodes.deal.second)
  prior = np.diff(first, prepend=0)[:, None] * np.diff(second.reshape(len(first), -1), prepend=0)
  pairs = np.argwhere(prior > 0).astype(np.int32)
  repeated = np.repeat(pairs, way.shape[1], 0)
  deal = np.repeat(prior[tuple(pairs.T)], way.shape[1])
  return (jnp.asarray(repeated[:, 0]), jnp.asarray(repeated[:, 1])), jnp.tile(way, len(pairs)), deal


def every_trajectory(game, baseline, learned, player, exploration=0.6):
  """Updates of all trajectories at once, their probabilities and steps."""
  types, way, deal = all_types(game.nodes, ancestors(game.nodes))
  return follow(game.nodes, game.regrets, learned, types, way, deal, jnp.int32(player), baseline, exploration)


@jit(static_argnums=(7, 8))
def follow(nodes, regrets, learned, types, way, deal, traverser, baseline, exploration):
  """Updates, probabilities and steps of given trajectories."""
  steps, end = paths.descend(
    nodes, regrets, types, traverser, exploration, lambda depth, node, xi: way[depth + 1]
  )
  probability = jnp.asarray(deal)
  for step in steps:
    probability *= step.chosen if step.chosen.size else 1
    probability *= jnp.where(step.actor == CHANCE_NODE, nodes.chance_of(step.child, types), 1)
  known = paths.oracle_values(nodes, regrets, types) if baseline.oracle else learned
  updates = paths.ascend(nodes, steps, end, types, traverser, baseline, known)
  possible = probability > 0  # what a policy never does has no weight; its estimates divide by zero
  keep = jnp.tile(possible, len(updates.cells) // len(possible))
  clean = [jnp.where(keep[None], x, 0) for x in (updates.regrets, updates.averages)]
  return updates._replace(regrets=clean[0], averages=clean[1]), probability, steps


GAMES = {
  "kuhn": "kuhn_poker",
  "leduc": "leduc_poker",
  "goofspiel": GOOFSPIEL,
  "river": RIVER,
  "turn": TURN,
  "flop": FLOP,
  "kuhn of three": "kuhn_poker(players=3)",
  "auction": "first_sealed_auction(max_value=3)",
  "raked turn": f"{TURN[:-1]},rake=10%)",
}


@pytest.mark.parametrize(
  "name, baseline, player",
  [
    *itertools.product(("kuhn",), BASELINES, (0, 1)),
    *itertools.product(("leduc", "goofspiel", "river"), ("learned",), (0,)),
    *itertools.product(("leduc", "goofspiel", "river"), ("oracle",), (1,)),
    ("turn", "learned", 1),
    ("flop", "oracle", 0),
  ],
)
def test_estimates_are_unbiased(name, baseline, player):
  """Summed over all trajectories by their probability; the learned baselines hold arbitrary numbers."""
  game, baseline = compiled(GAMES[name]), BASELINES[baseline]
  learned = random_table(paths.OutcomeSampling(baseline).entries(game.nodes))
  updates, probability, _ = every_trajectory(game, baseline, learned, player)
  assert abs(probability.sum() - 1) < 1e-12
  regrets, averages = expected(game.nodes, updates, probability)
  exact_regrets, _ = exact(game, player)
  assert np.abs(exact_regrets).max() > 0.01
  np.testing.assert_allclose(regrets, exact_regrets, atol=1e-10)
  # The opponent's, with the probability that chance deals the infostate.
  strategy = exact(game, 1 - player)[1]
  ratio = averages / np.where(strategy > 0, strategy, 1)
  met = strategy > 0
  assert (averages[~met] == 0).all()
  dealt = np.where(met, ratio, 0).max(0)
  np.testing.assert_allclose(averages, strategy * dealt[None], atol=1e-12)
  if game.nodes.deal is None:
    np.testing.assert_allclose(dealt[met.any(0)], chance_of(game.nodes, 1 - player)[met.any(0)], atol=1e-12)


@pytest.mark.parametrize(
  "name, player",
  [("kuhn of three", 0), ("kuhn of three", 2), *itertools.product(("auction", "raked turn"), (0, 1))],
)
def test_regrets_are_unbiased_in_general_sum(name, player):
  game = compiled(GAMES[name])
  updates, probability, _ = every_trajectory(game, BASELINES["zero"], random_table(0), player)
  regrets, averages = expected(game.nodes, updates, probability)
  exact_regrets, _ = exact(game, player)
  assert np.abs(exact_regrets).max() > 0.01
  np.testing.assert_allclose(regrets, exact_regrets, atol=1e-10)
  strategy = exact(game, (player + 1) % game.nodes.players)[1]  # times a weight of the infostate
  weight = averages.sum(0) / np.where(strategy.sum(0) > 0, strategy.sum(0), 1)
  np.testing.assert_allclose(averages, strategy * weight, atol=1e-12)


def chance_of(nodes, player):
  """Probability that chance deals each infostate of a player: [S]."""
  acts = np.asarray(nodes.actor) == player
  return np.bincount(np.asarray(nodes.cell), np.asarray(chance_reach(nodes)) * acts, nodes.cells)


@pytest.mark.parametrize(
  "name, leaves, baseline, player",
  [
    *itertools.product(("kuhn",), ("auto",), BASELINES, (0, 1)),
    ("river", "showdown", "learned", 0),
    ("turn", "auto", "learned", 1),
  ],
)
def test_public_estimates_are_unbiased(name, leaves, baseline, player):
  """Of whole vectors of types, summed over all lines of public moves."""
  game, baseline = compiled(GAMES[name], "public", leaves), BASELINES[baseline]
  learned = random_table(public.PublicSampling(baseline).entries(game.nodes))
  updates, probability = follow_in_public(
    game.nodes, game.regrets, learned, ancestors(game.nodes), jnp.int32(player), baseline
  )
  assert abs(probability.sum() - 1) < 1e-12
  regrets, averages = expected(game.nodes, updates, probability)
  exact_regrets, _ = exact(game, player)
  np.testing.assert_allclose(regrets, exact_regrets, atol=1e-10)
  np.testing.assert_allclose(averages, exact(game, 1 - player)[1], atol=1e-10)


@jit(static_argnums=5)
def follow_in_public(nodes, regrets, learned, way, traverser, baseline):
  """Updates and probabilities of given lines of public moves."""
  steps, end, reach = public.descend(
    nodes, regrets, traverser, way.shape[1], lambda depth, node: way[depth + 1]
  )
  probability = jnp.ones(way.shape[1])
  for step in steps:
    probability /= jnp.maximum(step.count, 1)
  known = public.exact_values(nodes, regrets, traverser).values if baseline.oracle else learned
  values = public.leaf_values(nodes.ends, nodes.ends.leaf[end], traverser, reach)
  return public.ascend(nodes, steps, values, traverser, baseline, known), probability


def quadrature(nodes, policy):
  """Uniform numbers that stand for all others, and their shares: between each two breaks of any node's."""
  grids = []
  for d, level in enumerate(nodes.depths[:-1]):
    breaks = [0.0, 1.0]
    if nodes.clusters is not None:
      for members in np.asarray(nodes.clusters.members)[np.asarray(nodes.clusters.depth) == d]:
        sums = np.cumsum(np.asarray(nodes.chance)[members[members >= 0]])
        breaks += list(sums / sums[-1])
    for node in range(level.start, level.stop):
      first, count, kind = (int(x[node]) for x in (nodes.first, nodes.count, nodes.actor))
      if kind == TERMINAL_NODE:
        continue
      chance = np.asarray(nodes.cumulative)[first : first + count]
      breaks += list(chance if kind > 1 else np.cumsum(policy[:count, int(nodes.cell[node])]))
    breaks = np.unique(np.round(breaks, 12))
    breaks = breaks[breaks <= 1]
    grids.append(list(zip((breaks[1:] + breaks[:-1]) / 2, np.diff(breaks), strict=True)))
  points = np.array(list(itertools.product(*grids)))
  return jnp.asarray(points[:, :, 0].T), points[:, :, 1].prod(1)


@jit(static_argnames=("sampler",))
def expected_of_traversals(game, player, uniforms, probability, sampler=ExternalSampling()):  # noqa: B008
  """Expectations of regrets and averages, tables [A, S], from numbers [draws, Z] of probabilities [Z]."""

  def traversal(sums, point):
    numbers, share = point
    updates = sampler(game.nodes, game.regrets, jnp.zeros(0), player, numbers[:, None])
    return [x + share * y for x, y in zip(sums, (updates.regrets, updates.averages), strict=True)], None

  zeros = jnp.zeros_like(game.regrets)
  return jax.lax.scan(traversal, [zeros, zeros], (uniforms.T, probability))[0]


@pytest.mark.parametrize("name, player", [("kuhn_poker", 0), ("kuhn_poker", 1), (GOOFSPIEL, 1)])
def test_external_sampling_is_unbiased(name, player):
  game = compiled(name)
  policy = np.asarray(regret_matching(game.regrets, game.nodes.legal))
  uniforms, probability = quadrature(game.nodes, policy)
  regrets, averages = expected_of_traversals(game._replace(tree=None), player, uniforms, probability)
  exact_regrets, _ = exact(game, player)
  np.testing.assert_allclose(regrets, exact_regrets, atol=1e-9)
  strategy = exact(game, 1 - player)[1]
  np.testing.assert_allclose(averages, strategy * chance_of(game.nodes, 1 - player)[None], atol=1e-9)


def test_sampled_trajectories_have_their_probabilities():
  """The sampler itself, by quadrature over its uniform numbers rather than by given ways."""
  game = compiled("kuhn_poker")
  policy = regret_matching(game.regrets, game.nodes.legal)
  mixed = np.asarray(0.3 * uniform(game.nodes.legal, policy) + 0.7 * policy)
  uniforms, share = quadrature(game.nodes, np.where(np.arange(game.nodes.cells) < 6, mixed, policy))
  sampler = paths.OutcomeSampling(ZeroBaseline(), 0.3)
  updates = jax.jit(sampler)(game.nodes, game.regrets, jnp.zeros(0), jnp.int32(0), uniforms)
  regrets, _ = expected(game.nodes, updates, share)
  np.testing.assert_allclose(regrets, exact(game, 0)[0], atol=1e-9)


def test_deals_follow_the_prior():
  game = compiled(RIVER)
  grid = (np.arange(300) + 0.5) / 300
  pairs = jnp.asarray(np.array(list(itertools.product(grid, grid))).T)
  first, second = (np.asarray(h) for h in game.nodes.deal.sample(pairs))
  found = np.zeros((3, 4))
  np.add.at(found, (first, second), 1 / len(first))
  prior, start = np.zeros((3, 4)), pyspiel.load_game(RIVER).new_initial_state()
  for h, p in start.chance_outcomes():
    for g, q in start.child(h).chance_outcomes():
      prior[h, g] = p * q
  assert (prior == 0).sum() == 1  # Qs is in both ranges
  np.testing.assert_allclose(found, prior, atol=0.01)


def test_cards_come_as_in_the_game():
  """By quadrature, down the line on which everybody checks: those that nobody holds, each as often."""
  nodes, start = compiled(FLOP).nodes, pyspiel.load_game(FLOP).new_initial_state()
  sample = jit(static_argnums=1)(lambda nodes, depth, *given: nodes.sample_chance(depth, *given))
  first, dealt = np.asarray(nodes.first), np.asarray(nodes.deal.cards.came)
  uniforms, cards = (np.arange(240) + 0.5) / 240, 0
  for hands in itertools.product(range(3), range(3)):
    if hands[0] not in start.legal_actions() or hands[1] not in start.child(hands[0]).legal_actions():
      continue
    state, node = start.child(hands[0]).child(hands[1]), 0
    types = tuple(np.full(240, h) for h in hands)
    for depth in range(nodes.depth):
      child = int(first[node])  # a check
      if state.is_chance_node():
        came = np.asarray(sample(nodes, depth, np.full(240, node), types, uniforms))
        found = np.unique(dealt[came], return_counts=True)
        assert {card: count / 240 for card, count in zip(*found, strict=True)} == pytest.approx(
          dict(state.chance_outcomes())
        )
        child, cards = int(came[7 * depth]), cards + 1
        state.apply_action(int(dealt[child]))
      elif not state.is_terminal():
        state.apply_action(1)
      node = child
  assert cards == 2 * int(start.get_game().disjoint.sum())


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("name", ["leduc_poker", RIVER], ids=["leduc", "river"])
def test_oracle_has_no_variance(name, player):
  """Lemma 28: every trajectory through a history gives the same, exact regrets of its actions."""
  game = compiled(name)
  updates, probability, steps = every_trajectory(game, OracleBaseline(), jnp.zeros(0), player)
  types, _, _ = all_types(game.nodes, ancestors(game.nodes))
  exact_values = np.asarray(jax.jit(paths.oracle_values)(game.nodes, game.regrets, types))
  sign, acted = 1 - 2 * player, 0
  reversed_steps = [jax.tree.map(np.asarray, step) for step in steps[::-1] if step.policy.size]
  size = len(probability)
  for k, step in enumerate(reversed_steps):
    here = np.flatnonzero((step.actor == player) & (np.asarray(probability) > 0))
    sampled = np.asarray(updates.regrets)[:, k * size : (k + 1) * size][:, here]
    number = np.arange(game.nodes.actions)[:, None]
    legal = number < step.count[here]
    child = np.where(legal, step.first[here] + number, 0)
    value = exact_values[child] if exact_values.ndim == 1 else exact_values[here, child]
    regret = sign * step.weight[here] * (value - (step.policy[:, here] * value).sum(0))
    np.testing.assert_allclose(sampled, np.where(legal, regret, 0), atol=1e-10)
    acted += legal.sum()
  assert acted > 100


def test_variance_is_that_of_all_trajectories():
  """The recursion of `sampled_variance` against all trajectories, at Kuhn poker's first decisions."""
  game = compiled("kuhn_poker")
  baseline = LearnedBaseline()
  learned = random_table(paths.OutcomeSampling(baseline).entries(game.nodes))
  updates, probability, steps = every_trajectory(game, baseline, learned, 0)
  zeros = (jnp.zeros((), jnp.int32),) * 2
  sampler = paths.OutcomeSampling(baseline)
  measure = jax.jit(history_variance, static_argnums=(1, 5))
  _, found = measure(game.nodes, sampler, game.regrets, learned, zeros, 0)
  way = np.asarray(ancestors(game.nodes))[2]
  size = len(probability)
  # Eqs. 17.16 and 17.17 by hand, from the values that were sampled after the first move.
  first = jax.tree.map(np.asarray, steps[2])
  after, column = np.asarray(updates.targets)[-size:], np.arange(size)  # updates come from the last depth up
  guess = np.asarray(learned)[np.arange(game.nodes.actions)[:, None] * game.nodes.cells + first.cell]
  chosen = first.action, column
  mean_value = (first.policy * guess).sum(0)
  mean_value += first.policy[chosen] * (after - guess[chosen]) / first.chosen
  mean_value = np.where(np.asarray(probability) > 0, mean_value, 0)  # elsewhere estimates divide by zero
  for node in np.unique(way):
    share = np.where(way == node, probability, 0)
    share /= share.sum()
    mean = (share * mean_value).sum()
    np.testing.assert_allclose(found[node], (share * (mean_value - mean) ** 2).sum(), rtol=1e-9)
  assert (np.asarray(found)[np.unique(way)] > 0.1).all()


def test_exact_vectors_have_no_variance():
  game = compiled("kuhn_poker", "public")
  each = jax.jit(public.exact_values)(game.nodes, game.regrets, jnp.int32(0))
  xi, measure = np.full(len(game.nodes.actor), 0.5), jax.jit(sampled_variance)
  assert measure(game.nodes, each.factor, xi, each.values, each.values).max() < 1e-20
  assert measure(game.nodes, each.factor, xi, each.values, np.zeros(each.values.shape)).max() > 0.01


@pytest.mark.parametrize("trajectories", ["histories", "public"])
def test_learned_baseline_has_less_variance_than_none(trajectories):
  solver = VRMCCFRSolver(pyspiel.load_game("kuhn_poker"), trajectories=trajectories, dtype="float64")
  solver.run(3000)
  learned = solver.variance()
  none = VRMCCFRSolver(solver.game, "zero", trajectories=trajectories, dtype="float64")
  none._state = none._state._replace(tables=none._state.tables._replace(regrets=solver._state.tables.regrets))
  assert 0 < 2 * learned < none.variance()


@pytest.mark.parametrize(
  "kind, name",
  [
    (VRMCCFRSolver, GOOFSPIEL),
    (ExternalSamplingSolver, RIVER),
    (VRMCCFRSolver, TURN),
    (ExternalSamplingSolver, TURN),
  ],
)
def test_other_games_converge(kind, name):
  """A game without private deals whose moves are hidden, and some that are not walked."""
  solver = kind(pyspiel.load_game(name), batch=64, rule="rm+")
  start = solver.exploitability()
  solver.run(1500)
  assert 0 < solver.exploitability() < 0.1 * start


@pytest.mark.parametrize(
  "options",
  [{"baseline": "oracle"}, {"trajectories": "public", "leaves": "showdown"}],
  ids=["oracle", "public"],
)
def test_river_without_walking(options):
  """Exact values of many deals at once; VR-MCCFR on lines of bets with the showdown evaluator."""
  solver = VRMCCFRSolver(pyspiel.load_game(RIVER), rule="rm+", batch=8, **options)
  start = solver.exploitability()
  solver.run(600)
  assert 0 < solver.exploitability() < 0.3 * start


def arrays(solver):
  return [np.asarray(x) for x in jax.tree.leaves(solver._state)]


def test_seeds_make_the_difference():
  game = pyspiel.load_game("kuhn_poker")
  results = []
  for seed in (1, 1, 2):
    solver = VRMCCFRSolver(game, seed=seed)
    solver.run(100)
    results.append(np.asarray(solver._state.tables.regrets))
  np.testing.assert_array_equal(results[0], results[1])
  assert (results[0] != results[2]).any()


def test_runs_are_those_of_the_solver():
  game, options = pyspiel.load_game("kuhn_poker"), {"rule": "rm+", "dtype": "float64"}
  runs = sampling_runs(game, options, (4, 7), 60, (10, 60), with_variance=True)
  assert runs.variance is not None
  assert runs.iterations.tolist() == [10, 60] and runs.exploitability.shape == (2, 2)
  for row, seed in enumerate((4, 7)):
    solver = VRMCCFRSolver(game, seed=seed, **options)
    for column, iterations in enumerate((10, 50)):
      solver.run(iterations)
      np.testing.assert_allclose(runs.exploitability[row, column], solver.exploitability(), rtol=1e-6)
      np.testing.assert_allclose(runs.variance[row, column], solver.variance(), rtol=1e-6)


@dataclasses.dataclass(frozen=True)
class Constant(mccfr.TreeSampler):
  """A sampler that adds 1 to the average of every cell in player 0's turns."""

  def sampling_tree(self, game, tree):
    raise NotImplementedError

  def draws(self, tree):
    return 1

  def __call__(self, tree, regrets, learned, traverser, uniforms):
    one = jnp.ones((tree.actions, tree.cells), regrets.dtype) * (traverser == 0)
    return mccfr.nothing(tree.actions, regrets.dtype)._replace(
      cells=jnp.arange(tree.cells), regrets=0 * one, averages=one
    )


@pytest.mark.parametrize("rule", [RM(), RMPlus(), RMPlus(gamma=2.5)], ids=repr)
def test_average_weighs_iterations(rule):
  """By t ** gamma, in units of the last power of two; wherever parts of a run and blocks meet."""
  game, method = compiled("kuhn_poker"), {"sampler": Constant(), "rule": rule, "batch": 4096}
  length = method["sampler"].block(game.nodes, 4096)
  state = mccfr.init(game.nodes, method["sampler"], 0, "float64")
  for iterations in (1, length - 4, 2 * length, 10, 21):
    state = mccfr.run(game.nodes, state, iterations, **method)
    t = int(state.iteration)
    weights = np.arange(1, t + 1) / 2.0 ** (t.bit_length() - 1) if rule.gamma else np.ones(t)
    total = np.asarray(state.tables.average.total)
    np.testing.assert_allclose(total * 4096, (weights**rule.gamma).sum(), rtol=1e-12)


def test_late_iterations_are_not_lost():
  """Without compensation a float32 sum of 2 ** 25 would lose all that follows."""
  game, method = compiled("kuhn_poker"), {"sampler": Constant(), "rule": RM(), "batch": 3}
  state = mccfr.init(game.nodes, method["sampler"], 0, "float32")
  average = state.tables.average._replace(average=state.tables.average.average + np.float32(2**25))
  state = state._replace(tables=state.tables._replace(average=average))
  length = method["sampler"].block(game.nodes, 3)
  state = mccfr.run(game.nodes, state, 3 * length + 1, **method)
  pair = [np.asarray(x, np.float64) for x in state.tables.average]
  np.testing.assert_allclose(pair[0] - pair[1] - 2**25, (3 * length + 1) / 3, rtol=1e-3)


@pytest.mark.usefixtures("optimized")
@pytest.mark.parametrize("rule, iterations", [("rm", 500), ("rm+", 200)])
def test_large_batches_stay_finite(rule, iterations):
  """Many trajectories that meet the same baselines: the sum of their steps would explode."""
  solver = VRMCCFRSolver(pyspiel.load_game("kuhn_poker"), decay=1.0, batch=4096, rule=rule, exploration=0.1)
  solver.run(iterations)  # at most 4 million trajectories, in float32
  assert all(np.isfinite(x).all() for x in arrays(solver))
  assert np.abs(solver._state.tables.learned).max() < 100
  assert 0 < solver.exploitability() < 0.02


def test_public_moves_need_a_bayesian_game():
  with pytest.raises(ValueError, match="trajectories='public' needs a game whose private information"):
    VRMCCFRSolver(pyspiel.load_game(GOOFSPIEL), trajectories="public")


@pytest.mark.parametrize(
  "arguments, message",
  [
    ({"seeds": (1, 1)}, "different seeds, at least one, got"),
    ({"seeds": ()}, "different seeds, at least one, got"),
    ({"marks": (5, 3)}, "marks must ascend, from 1 or more to 10 or less, got"),
    ({"marks": (11,)}, "marks must ascend"),
    ({"iterations": 0}, "iterations must be an integer from 1"),
    ({"solver": ExternalSamplingSolver, "with_variance": True}, "variance of ExternalSampling"),
  ],
)
def test_bad_runs(arguments, message):
  with pytest.raises(ValueError, match=message):
    sampling_runs(pyspiel.load_game("kuhn_poker"), **{"seeds": (0,), "iterations": 10, **arguments})


def test_any_sampler_makes_a_solver(tmp_path):
  """The named solvers are this one; a file knows the sampler's name only."""
  game, sampler = pyspiel.load_game("kuhn_poker"), paths.OutcomeSampling(ZeroBaseline(), 0.5)
  solver = SamplingSolver(game, sampler, rule="rm+", seed=2)
  named = OutcomeSamplingSolver(game, rule="rm+", exploration=0.5, seed=2)
  solver.run(30)
  named.run(30)
  for a, b in zip(arrays(solver), arrays(named), strict=True):
    np.testing.assert_array_equal(a, b)
  solver.save(tmp_path / "run.safetensors")
  assert SamplingSolver.load(tmp_path / "run.safetensors", sampler=sampler).iteration == 30
  with pytest.raises(ValueError, match=r"Expected a sampler such as .*, got 'OutcomeSampling\("):
    SamplingSolver.load(tmp_path / "run.safetensors")
  with pytest.raises(ValueError, match="Expected a sampler such as"):
    SamplingSolver(game, paths.OutcomeSampling)


def test_sums_are_carried_over_piece_by_piece(monkeypatch):
  """As the whole pair is, where pieces do not divide a table, and where they do."""
  generator = np.random.default_rng(0)
  pair = averages.Sum(*(jnp.asarray(scale * generator.random((3, 5)), "float32") for scale in (1e4, -3)))
  truth = averages.carry_over_where(jnp.bool_(True), pair, 0.5)
  for piece in (4, 5, 100):
    monkeypatch.setattr(sampling_loop, "PIECE", piece)
    for found, whole in zip(sampling_loop._carried_over(pair, 0.5, jnp.int32(1)), truth, strict=True):
      np.testing.assert_array_equal(found, whole)
