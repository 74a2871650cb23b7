"""Played trajectories: as often as they should come, and unbiased; by all trajectories of walked games."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from trajectories import GOOFSPIEL, ancestors, chance_reach, compiled, exact
from walked_game import WalkedGame

from ps_cfr_spiel import simulated
from ps_cfr_spiel.cfr import RM, RMPlus
from ps_cfr_spiel.mccfr.columns import regret_matching
from ps_cfr_spiel.simulated import windows
from ps_cfr_spiel.simulated.samplers import KeyTables, add_counts
from ps_cfr_spiel.simulated.trajectories import Increments, Step

EXPLORATION = 0.3
GAMES = {"kuhn": "kuhn_poker", "leduc": "leduc_poker", "goofspiel": GOOFSPIEL}


def every_path(walked, regrets, traverser):
  """All trajectories: their steps, ends and probabilities; worked out here from the tree alone."""
  nodes = walked.nodes
  way = np.asarray(ancestors(nodes))
  policy = np.asarray(regret_matching(regrets, nodes.legal))
  actor, count, cell = (np.asarray(x) for x in (nodes.actor, nodes.count, nodes.cell))
  first_child, start = np.asarray(nodes.first), np.asarray(walked.start)
  probability, own, likely = np.ones((3, way.shape[1]))
  steps = []
  for here, after in itertools.pairwise(way):
    acts = actor[here] < 2
    move = np.where(acts, after - first_child[here], 0)
    played = policy[move, cell[here]]
    sampled = np.where(
      actor[here] == traverser, EXPLORATION / np.maximum(count[here], 1) + (1 - EXPLORATION) * played, played
    )
    steps.append(
      Step(
        actor=np.where(acts, actor[here], -4),
        first=np.where(acts, start[cell[here]], 0),
        count=np.where(acts, count[here], 1),
        move=move,
        weight=1 / own,
        reach=likely / own,
      )
    )
    probability = np.where(acts, probability * sampled, probability)
    own, likely = (
      np.where(actor[here] == traverser, x * y, x) for x, y in ((own, sampled), (likely, played))
    )
  end = way[-1]
  return steps, end, probability * np.asarray(chance_reach(nodes))[end]


def opponent_reach(walked, regrets, player):
  """How likely a player makes the moves on the way to each node."""
  nodes = walked.nodes
  policy, way = np.asarray(regret_matching(regrets, nodes.legal)), np.asarray(ancestors(nodes))
  actor, cell, first = (np.asarray(x) for x in (nodes.actor, nodes.cell, nodes.first))
  found = np.ones(len(actor))
  for here, after in itertools.pairwise(way):
    own = (actor[here] == player) & (here != after)
    found[after] = found[here] * np.where(own, policy[np.where(own, after - first[here], 0), cell[here]], 1)
  return found


def stacked(steps, scale):
  """Steps as `ascend` takes them, with weights times `scale`."""
  steps = [step._replace(weight=step.weight * scale) for step in steps]
  return (jax.tree.map(lambda *xs: jnp.asarray(np.stack(xs)), *steps),)


@pytest.mark.parametrize("traverser", [0, 1])
@pytest.mark.parametrize("name", GAMES)
def test_corrected_estimates_are_unbiased(name, traverser):
  """Whatever has been learned: the sum over all trajectories, by their probability, is the exact regret."""
  game = compiled(GAMES[name])
  walked = WalkedGame.create(game.nodes)
  regrets = jnp.asarray(walked.flat(np.asarray(game.regrets)))
  learned = jnp.asarray(np.random.default_rng(1).normal(0, 2, len(regrets)))
  steps, end, probability = every_path(walked, game.regrets, traverser)
  assert probability.sum() == pytest.approx(1)
  possible = probability > 0
  steps = [Step(*(x[possible] for x in step)) for step in steps]
  sampler = simulated.Trajectories(simulated.Corrected(), EXPLORATION)
  increments = jax.jit(sampler.ascend)(
    walked,
    stacked(steps, probability[possible]),
    len(steps),
    jnp.asarray(end[possible]),
    regrets,
    learned,
    jnp.int32(traverser),
  )
  truth = walked.flat(exact(game, traverser)[0])
  assert np.abs(truth).max() > 0.01
  np.testing.assert_allclose(increments.regrets, truth, atol=1e-9)
  # The opponent's policies, with their own reach and the probability that chance deals the infostate.
  nodes = game.nodes
  acts = np.asarray(nodes.actor) == 1 - traverser
  dealt = np.bincount(np.asarray(nodes.cell), np.asarray(chance_reach(nodes)) * acts, nodes.cells)
  expected = walked.flat(exact(game, 1 - traverser)[1] * dealt)
  np.testing.assert_allclose(increments.policies, expected, atol=1e-12)


@pytest.mark.parametrize("traverser", [0, 1])
@pytest.mark.parametrize("name", GAMES)
def test_against_a_fixed_opponent(name, traverser):
  """Over all trajectories: regrets are those against the fixed strategy, and the average is the traverser's.

  The average's policies are weighted by how likely their infostates are; the fixed opponent's share in that
  is the same in all iterations.
  """
  game = compiled(GAMES[name])
  walked, nodes = WalkedGame.create(game.nodes), game.nodes
  mixed = walked.flat(np.asarray(game.regrets))  # of both; each is told its own half, beside other numbers
  cells = np.unique(np.asarray(nodes.cell)[np.asarray(nodes.actor) == traverser])
  mine = walked.flat(np.isin(np.arange(nodes.cells), cells) * np.ones((nodes.actions, 1))) > 0
  other = np.random.default_rng(2).normal(size=len(mixed))
  regrets, fixed = (jnp.asarray(np.where(own, mixed, other)) for own in (mine, ~mine))
  steps, end, probability = every_path(walked, game.regrets, traverser)
  possible = probability > 0
  steps = [Step(*(x[possible] for x in step)) for step in steps]
  share = probability[possible]
  steps = [step._replace(weight=step.weight * share, reach=step.reach * share) for step in steps]
  sampler = simulated.Trajectories(simulated.Corrected(), EXPLORATION)
  increments = jax.jit(sampler.ascend)(
    walked,
    stacked(steps, 1),
    len(steps),
    jnp.asarray(end[possible]),
    regrets,
    jnp.zeros(len(mixed)),
    jnp.int32(traverser),
    fixed,
  )
  np.testing.assert_allclose(increments.regrets, walked.flat(exact(game, traverser)[0]), atol=1e-9)
  others = chance_reach(nodes) * opponent_reach(walked, game.regrets, 1 - traverser)
  likely = np.bincount(np.asarray(nodes.cell), np.asarray(others) * (np.asarray(nodes.actor) == traverser))
  likely = np.pad(likely, (0, nodes.cells - len(likely)))
  np.testing.assert_allclose(increments.policies, walked.flat(exact(game, traverser)[1] * likely), atol=1e-9)
  assert float(jnp.abs(jnp.where(jnp.asarray(mine), 0, increments.visits)).max()) == 0
  assert int(increments.nodes) == sum((step.actor >= 0).sum() for step in steps)


@pytest.mark.parametrize("name", ["kuhn", "goofspiel"])
def test_trajectories_come_as_often_as_they_should(name):
  """By their ends, with weights that the test works out by itself."""
  game = compiled(GAMES[name])
  walked = WalkedGame.create(game.nodes)
  regrets = jnp.asarray(walked.flat(np.asarray(game.regrets)))
  batch = 50_000
  sampler = simulated.Trajectories(simulated.Corrected(), EXPLORATION)
  start = walked.deal(jax.random.key(0), batch)
  path, turns, end = jax.jit(sampler.descend)(walked, start, regrets, jnp.int32(0), jax.random.key(1))
  assert int(turns) == game.nodes.depth
  steps, ends, probability = every_path(walked, game.regrets, 0)
  found = np.bincount(np.asarray(end), minlength=len(game.nodes.actor))[ends]
  assert found.sum() == batch
  spread = np.sqrt(batch * probability * (1 - probability))
  assert (np.abs(found - batch * probability) <= 5 * spread + 1e-9).all()
  number = {e: i for i, e in enumerate(ends.tolist())}
  which = np.array([number[e] for e in np.asarray(end).tolist()])
  for time, step in enumerate(steps):
    np.testing.assert_allclose(np.asarray(path[0].weight[time]), step.weight[which], rtol=1e-9)
    np.testing.assert_allclose(np.asarray(path[0].reach[time]), step.reach[which], rtol=1e-9, atol=1e-12)


def test_windows():
  """Reading, adding and sampling, beside loops over the rows."""
  rng = np.random.default_rng(0)
  table, first = rng.normal(size=100), np.array([0, 3, 3, 60])
  count, width = np.array([1, 5, 40, 33]), 40
  got = windows.read(jnp.asarray(table), jnp.asarray(first), width)
  np.testing.assert_array_equal(got, [table[f : f + width] for f in first])
  values, expected = rng.normal(size=(4, width)), table.copy()
  for f, row in zip(first, values, strict=True):
    expected[f : f + width] += row
  np.testing.assert_allclose(
    windows.add(jnp.asarray(table), jnp.asarray(first), jnp.asarray(values)), expected
  )
  own = jnp.where(windows.legal(jnp.asarray(count), width), got, 0)
  policy = np.asarray(regret_matching(own, jnp.asarray(count), axis=1))
  for row, f, n in zip(policy, first, count, strict=True):
    positive = np.maximum(table[f : f + n], 0)
    rest = np.zeros(width - n)
    np.testing.assert_allclose(
      row, [*(positive / positive.sum() if positive.any() else positive + 1 / n), *rest]
    )
  draws = 20_000
  rows = jnp.repeat(jnp.asarray(policy), draws, 0)
  moves = np.asarray(windows.sample(rows, jax.random.uniform(jax.random.key(0), (2, len(rows)))))
  for row, chosen in zip(policy, moves.reshape(4, draws), strict=True):
    often = np.bincount(chosen, minlength=width)
    assert (often[row == 0] == 0).all()
    assert (np.abs(often - draws * row) <= 5 * np.sqrt(draws * row * (1 - row)) + 1e-9).all()


def test_values_of_a_batch_count_as_if_they_had_come_one_after_the_other():
  """And regrets and policies are means over the batch, those weighted by a power of the iteration."""
  rng = np.random.default_rng(3)
  visits = np.array([0.0, 1.0, 2.0, 5.0])
  regrets, policies, means, learned = rng.normal(size=(4, 4))
  empty = KeyTables.empty(WalkedGame.create(compiled("kuhn_poker").nodes), "float64", counted=False)
  start = jax.tree.map(lambda _: jnp.zeros(4), empty)._replace(learned=jnp.asarray(learned))
  increments = Increments(*map(jnp.asarray, (regrets, policies, means * visits, visits, 0)))
  sampler = simulated.Trajectories(simulated.Corrected(), 0.5, 0.5, decay_power=0.5)
  rule = RMPlus(gamma=2.0)
  found = sampler.update(start, increments, jnp.int32(6), rule, 8)  # the decay is 0.5 / 6 ** 0.5 then
  for k, (count, mean) in enumerate(zip(visits, means, strict=True)):
    value = learned[k]
    for _ in range(int(count)):
      value += 0.5 / 6**0.5 * (mean - value)
    assert found.learned[k] == pytest.approx(value)
  np.testing.assert_allclose(found.regrets, np.maximum(regrets / 8, 0))
  plain = sampler.update(start, increments, jnp.int32(6), RM(), 8)
  np.testing.assert_allclose(plain.regrets, regrets / 8)
  assert regrets.min() < 0 < regrets.max()
  np.testing.assert_allclose(found.average.total, policies * (6 / 4) ** 2 / 8)


def test_counts_beyond_a_million():
  total = add_counts(jnp.array([3, 999_999], jnp.int32), jnp.array([2_000, 2], jnp.int32))
  assert total.tolist() == [2_004, 1]
