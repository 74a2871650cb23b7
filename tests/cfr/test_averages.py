"""Sums in blocks of iterations, against exact weighted sums in float64."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ps_cfr_spiel.cfr import averages
from ps_cfr_spiel.device import precision

REACH = np.random.default_rng(0).random((7, 40)) ** 4  # of iteration t: row t % 7


def summed(iterations: int, gamma: float, dtype: str, *, compensated: bool = True) -> np.ndarray:
  """What the pair is worth after some iterations, as float64[40]."""

  def iteration(t, pair):
    average, excess = averages.fold(*pair, t, gamma)
    if not compensated:
      excess = jnp.zeros_like(excess)
      return average - excess + averages.weight(t, gamma, dtype) * reach[t % 7], excess
    return average, excess - averages.weight(t, gamma, dtype) * reach[t % 7]

  with precision(dtype):
    reach = jnp.asarray(REACH, dtype)
    zero = jnp.zeros(reach.shape[1], dtype)
    loop = jax.jit(lambda last: jax.lax.fori_loop(jnp.int32(1), last + 1, iteration, (zero, zero)))
    average, excess = loop(jnp.int32(iterations))
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
    found = shares(summed(500_000, gamma, "float32", compensated=compensated))
    error.append(np.abs(found / exact - 1).max())
  assert error[0] < 5e-7 < 1e-5 < error[1]


def test_blocks():
  """They begin at powers of two and at multiples of `LENGTH`, and each ends where the next begins."""
  last = [int(averages.last_of_block(jnp.int32(t))) for t in range(1, 200)]
  assert sorted(set(last)) == [1, 3, 7, *range(15, 209, 16)]
  assert all(t <= end for t, end in enumerate(last, 1))
  assert int(averages.last_of_block(jnp.int32(2_000_000_000))) == 2_000_000_015
  begun = [t for t in range(1, 200) if averages.fold(jnp.zeros(1), -jnp.ones(1), jnp.int32(t), 0.0)[0][0]]
  assert begun == [1, *(end + 1 for end in sorted(set(last))[:-1])]


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
