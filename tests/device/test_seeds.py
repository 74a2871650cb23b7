"""A seed draws the same whatever JAX_THREEFRY_PARTITIONABLE says, by which JAX alone draws other numbers."""

import jax
import numpy as np
import pyspiel
import pytest

from ps_cfr_spiel import OutcomeSamplingSolver
from ps_cfr_spiel.backend.device import precision

pytestmark = pytest.mark.skipif(
  not hasattr(jax, "threefry_partitionable"), reason="this JAX draws in one way alone"
)
NUMBERS = np.float32([0.43863249, 0.53375292, 0.44591832, 0.43839663])  # of the seed 1


def both(make):
  """The arrays of a pytree, made under either setting."""
  found = []
  for partitionable in (False, True):
    with jax.threefry_partitionable(partitionable):
      found.append([np.asarray(x) for x in jax.tree.leaves(make()) if hasattr(x, "shape")])
  return zip(*found, strict=True)


def test_numbers_of_a_seed():
  def draw():
    return jax.random.uniform(jax.random.key(1), (4,), "float32")

  def pinned():
    with precision("float32"):
      return draw()

  for found in (*both(pinned), [draw()]):
    np.testing.assert_allclose(found, [NUMBERS] * len(found), rtol=1e-6)
  ((one, other),) = both(draw)
  assert not np.isclose(one, other).any()


def test_samples_of_a_run():
  def run():
    solver = OutcomeSamplingSolver(pyspiel.load_game("kuhn_poker"), batch=3, seed=5)
    solver.run(4)
    return solver.average_policy().strategies

  for one, other in both(run):
    np.testing.assert_array_equal(one, other)
    assert len(np.unique(one)) > 1
