"""Sums in blocks of iterations, against exact weighted sums in float64."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ps_cfr_spiel import cfr
from ps_cfr_spiel.cfr import averages
from ps_cfr_spiel.device import precision
from ps_cfr_spiel.tree import PublicTree, make_forest

REACH = np.random.default_rng(0).random((7, 40)) ** 4  # of iteration t: row t % 7


@functools.cache
def adding(gamma: float, dtype: str, compensated: bool = True):
  """A jitted function: the pair after so many iterations."""

  def iteration(t, pair):
    average, excess = averages.fold(*pair, t, gamma)
    new = averages.weight(t, gamma, dtype) * jnp.asarray(REACH, dtype)[t % 7]
    return (average, excess - new) if compensated else (average + new, excess)

  def run(iterations):
    zero = jnp.zeros(REACH.shape[1], dtype)
    return jax.lax.fori_loop(jnp.int32(1), iterations + 1, iteration, (zero, zero))

  return jax.jit(run)


def summed(iterations: int, *how) -> np.ndarray:
  """What the pair is worth after some iterations, as float64[40]."""
  with precision(how[1]):
    average, excess = adding(*how)(jnp.int32(iterations))
  return np.asarray(average, float) - np.asarray(excess, float)


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
  for compensated in (True, False):
    found = shares(summed(500_000, gamma, "float32", compensated))
    error.append(np.abs(found / exact - 1).max())
  assert error[0] < 5e-7 < 1e-5 < error[1]


def test_blocks():
  """They begin at powers of two and at multiples of `LENGTH`, and each ends where the next begins."""
  t = np.arange(1, 200, dtype=np.int32)
  last = np.asarray(averages.last_of_block(t))
  ends = np.unique(last).tolist()
  assert ends == [1, 3, 7, *range(15, 209, 16)]
  assert (t <= last).all()
  assert int(averages.last_of_block(np.int32(2_000_000_000))) == 2_000_000_015
  average, _ = averages.fold(np.zeros(len(t)), -np.ones(len(t)), t, 0.0)
  assert t[np.asarray(average) > 0].tolist() == [1, *(end + 1 for end in ends[:-1])]


def test_what_folding_takes_is_left():
  """To the last bit, whichever of the two is larger."""
  rng = np.random.default_rng(1)
  average, excess = (rng.random(500) * 10.0 ** rng.integers(-6, 6, 500) for _ in range(2))
  pair = average.astype(np.float32), -excess.astype(np.float32)
  with precision("float32"):
    folded = jax.jit(averages.fold, static_argnums=3)(*pair, jnp.int32(48), 5.0)
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
    tree, column = PublicTree((forest, forest), None), average.reshape(-1, 5)
    player = cfr.PlayerState((average,), column, np.asarray(-0.25 * column, dtype), ((),))
    state = cfr.SolverState(np.int32(1), (player, player))
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
