"""Sums in blocks of iterations, against exact weighted sums in float64."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel
import pytest
from random_games import random_game

from ps_cfr_spiel import build_tree, cfr
from ps_cfr_spiel.backend.device import precision, to_device
from ps_cfr_spiel.cfr import RM, averages
from ps_cfr_spiel.rules import DCFR, VADCFR, HSPCFRPlus
from ps_cfr_spiel.tree import LeafEvaluator, PublicTree, SparseLeaves, make_forest

REACH = np.random.default_rng(0).random((7, 40)) ** 4  # of iteration t: row t % 7


@functools.cache
def adding(gamma: float, dtype: str, form: str = "pair"):
  """A jitted function: the pair after so many iterations."""

  def iteration(t, pair):
    average, compensation = averages.carry_over(averages.Sum(*pair), t, gamma)
    new = averages.weight(t, gamma, dtype) * jnp.asarray(REACH, dtype)[t % 7]
    return (average, compensation - new) if form == "pair" else (average + new, compensation)

  def run(iterations):
    zero = jnp.zeros(REACH.shape[1], dtype)
    return jax.lax.fori_loop(jnp.int32(1), iterations + 1, iteration, (zero, zero))

  return jax.jit(run)


def summed(iterations: int, *how) -> np.ndarray:
  """What the pair is worth after some iterations, as float64[40]."""
  with precision(how[1]):
    average, compensation = adding(*how)(jnp.int32(iterations))
  return np.asarray(average, float) - np.asarray(compensation, float)


def shares(sums: np.ndarray) -> np.ndarray:
  """Sums less the factor that they may have in common."""
  return sums / sums.sum()


def expected(iterations: int, gamma: float) -> np.ndarray:
  """The sum of t ** gamma times the reach of iteration t, up to a factor."""
  t = np.arange(1, iterations + 1)
  weights = np.exp(gamma * np.log(t / iterations))
  return np.bincount(t % 7, weights, 7) @ REACH


@pytest.mark.parametrize("gamma", [0, 1, 2.5, 5, 100])
def test_weights(gamma):
  """After any number of iterations, also within a block, and whatever their weights."""
  for iterations in (1, 2, 3, 9, 15, 16, 17, 40, 64, 100):
    found = summed(iterations, gamma, "float64")
    np.testing.assert_allclose(shares(found), shares(expected(iterations, gamma)), rtol=1e-12)


@pytest.mark.parametrize("gamma", [0, 1, 5])
def test_nothing_is_lost_in_many_iterations(gamma):
  exact, error = shares(expected(500_000, gamma)), []
  for form in ("pair", "average alone"):
    found = shares(summed(500_000, gamma, "float32", form))
    error.append(np.abs(found / exact - 1).max())
  assert error[0] < 5e-7 < 1e-5 < error[1]


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Recording(LeafEvaluator):
  """Leaves whose values a run averages."""

  kind = "recording"

  inner: LeafEvaluator

  def __call__(self, player, opponent_reach, own_reach=None):
    return self.inner(player, opponent_reach, own_reach)

  def recorded(self, player, values):
    return (values[0],)


class Scheduled(RM):
  """RM whose iteration t counts t ** gamma / t."""

  def schedule(self, t, dtype):
    return 1 / t.astype(dtype)


def test_records_are_weighted_as_strategies_are():
  """RM plays the same whatever gamma is, so that a run of gamma 0 shows what each iteration adds."""
  tree = build_tree(pyspiel.load_game("kuhn_poker"))
  tree = dataclasses.replace(tree, leaves=Recording(tree.leaves))
  with precision("float64"):
    tree = to_device(tree, "float64")

    def records(gamma, iterations, kind=RM):
      rule = kind(gamma)
      state = cfr.run(tree, cfr.init(tree, rule, "float64"), iterations, 2, rule=rule)
      return [cfr.average_record(player)[0] for player in state.players]

    plain = [records(0.0, n) for n in range(3, 8)]
    for own in (0, 1):
      sums = np.array([n * means[own] for n, means in enumerate(plain, start=1)])
      added = np.diff(sums, axis=0, prepend=0)
      weights = np.arange(3, 8) ** 2.0  # the first two iterations are skipped
      np.testing.assert_allclose(records(2.0, 7)[own], np.average(added, axis=0, weights=weights), rtol=1e-9)
      scheduled = np.average(added, axis=0, weights=weights**0.5)
      np.testing.assert_allclose(records(2.0, 7, Scheduled)[own], scheduled, rtol=1e-9)
      assert np.abs(added[0] - added[-1]).max() > 1e-3


@pytest.mark.parametrize("tremble", [0.0, 0.7])
def test_turns_one_by_one_are_whole_iterations(tremble):
  """Averages included, over beginnings of blocks; in a game without ties, which rounding would break."""
  tree, rule = build_tree(random_game(10)), DCFR()
  turn = jax.jit(cfr.take_turn, static_argnames=("player", "rule", "tremble"))
  with precision("float64"):
    tree = to_device(tree, "float64")
    state = start = cfr.init(tree, rule, "float64")
    for _ in range(20):
      for player in (0, 1):
        players, _ = turn(tree, state, 3, player=player, rule=rule, tremble=tremble)
        state = state._replace(players=tuple(players))
      state = state._replace(iteration=state.iteration + 1)
    whole = cfr.run(tree, start, 20, 3, rule=rule, tremble=tremble)
    for one, other in zip(*map(jax.tree.leaves, (state, whole)), strict=True):
      np.testing.assert_allclose(one, other, atol=1e-12)


@pytest.mark.parametrize("rule", [HSPCFRPlus(n=300_000), HSPCFRPlus(n=1e6, gamma=15), VADCFR(n=1e6)], ids=str)
def test_schedules_lose_nothing_in_a_million_iterations(rule):
  """Against weights as the papers write them: what a running sum keeps of the past in each iteration."""
  iterations = 1_000_000
  t = np.arange(1, iterations + 1)

  def iteration(t, pair):
    average, compensation = averages.carry_over(averages.Sum(*pair), t, rule.gamma)
    weight = averages.weight(t, rule.gamma, "float32") * rule.schedule(t, "float32")
    return average, compensation - weight * jnp.asarray(REACH, "float32")[t % 7]

  with precision("float32"):
    zero = jnp.zeros(REACH.shape[1], "float32")
    average, compensation = jax.jit(lambda: jax.lax.fori_loop(1, iterations + 1, iteration, (zero, zero)))()
  found = np.asarray(average, float) - np.asarray(compensation, float)
  if isinstance(rule, VADCFR):
    weights = (t > iterations / 2) * (t / iterations) ** 2.0
  else:
    grown = (rule.gamma - 5 * np.minimum((t[1:] - 1) / rule.n, 1)) * np.log(t[1:] / (t[1:] - 1))
    weights = np.exp(np.concatenate([[0], np.cumsum(grown)]) - grown.sum())
  exact = np.bincount(t % 7, weights, 7) @ REACH
  np.testing.assert_allclose(shares(found), shares(exact), rtol=1e-6)


def test_blocks():
  """They begin at powers of two and at multiples of `LENGTH`, and each ends where the next begins."""
  t = np.arange(1, 200, dtype=np.int32)
  last = np.asarray(averages.last_of_block(t))
  ends = np.unique(last).tolist()
  assert ends == [1, 3, 7, *range(15, 209, 16)]
  assert (t <= last).all()
  assert averages.last_of_block(np.array([2_000_000_000], np.int32)).tolist() == [2_000_000_015]
  average, _ = averages.carry_over(averages.Sum(np.zeros(len(t)), -np.ones(len(t))), t, 0.0)
  assert t[np.asarray(average) > 0].tolist() == [1, *(end + 1 for end in ends[:-1])]


def test_what_folding_takes_is_left():
  """To the last bit, whichever of the two is larger."""
  rng = np.random.default_rng(1)
  average, compensation = (rng.random(500) * 10.0 ** rng.integers(-6, 6, 500) for _ in range(2))
  pair = average.astype(np.float32), -compensation.astype(np.float32)
  with precision("float32"):
    folded = jax.jit(averages.carry_over, static_argnums=2)(averages.Sum(*pair), jnp.int32(48), 5.0)
  worth = [np.float64(one) - np.float64(other) for one, other in (pair, map(np.asarray, folded))]
  np.testing.assert_array_equal(*worth)
  assert (np.abs(folded[1]) <= np.finfo(np.float32).eps * np.abs(folded[0])).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("actions", [1, 3, 40])
def test_an_average_strategy_is_the_same_on_the_host_and_on_the_device(actions, dtype):
  """Uniform where nobody came, NaN where numbers are gone; NumPy warns of nothing."""
  with precision(dtype):
    rng = np.random.default_rng(actions)
    average = rng.random((actions, 4, 5)).astype(dtype) * np.asarray([1e-30, 1, 1e30, 0], dtype)[:, None]
    average[0, 1, 0], average[0, 1, 1] = np.nan, np.inf
    choices = np.full((4, 2), -1)
    forest, _ = make_forest(choices, np.full(4, actions), [choices], 5)
    tree, column = PublicTree((forest, forest), SparseLeaves(np.zeros((1, 1)))), average.reshape(-1, 5)
    player = cfr.PlayerState((average,), averages.Sum(column, np.asarray(-0.25 * column, dtype)), ((),))
    state = cfr.SolverState(np.asarray(1, np.int32), (player, player))
    read = functools.partial(cfr.average_strategy, tree)
    (host,), (device,) = read(state)[0], jax.jit(read)(state)[0]
  assert (
    isinstance(host, np.ndarray) and isinstance(device, jax.Array) and host.dtype == device.dtype == dtype
  )
  np.testing.assert_allclose(host, device, rtol=4 * np.finfo(dtype).eps)
  sound = np.delete(host.reshape(actions, 20), [5, 6], 1)
  np.testing.assert_allclose(sound.sum(0), 1, rtol=1e-5)
  np.testing.assert_array_equal(host[:, 3], np.full((actions, 5), 1 / actions, dtype))
  assert np.isnan(host[:, 1, :2]).any(0).all()
