"""Networks of the user's own: trained as the package's are, and refused with words on the wanted form."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pyspiel
import pytest

from ps_cfr_spiel.learning import NetworkValues, ValueNetwork, generate_examples, train
from ps_cfr_spiel.learning.network import UserNetwork


@pytest.fixture(scope="module")
def situations():
  return generate_examples(pyspiel.load_game("kuhn_poker"), 40, iterations=20, progress=False)


def linear(weights, place, ranges):
  """Plain functions of JAX are enough: `jax.tree_util.Partial` makes a pytree of one and its arrays."""
  return tuple(r @ w + weights["offset"][place] for r, w in zip(ranges, weights["maps"], strict=True))


def own(places, slots):
  maps = [np.zeros((m, m), np.float32) for m in slots]
  return jax.tree_util.Partial(linear, {"maps": maps, "offset": np.zeros((places, slots[0]), np.float32)})


def test_the_packages_network_given_as_ones_own_learns_the_same(situations):
  network = NetworkValues.untrained(situations, 3, 16, 2).network
  ours = train(situations, seed=3, steps=400, batch=50, width=16, layers=2, progress=False)
  theirs = train(situations, seed=3, steps=400, batch=50, network=network, progress=False)
  assert isinstance(theirs.network, UserNetwork) and len(ours.losses) == 2
  np.testing.assert_allclose(theirs.losses, ours.losses, rtol=1e-3)


def test_functions_and_arrays_are_a_network(situations):
  values = train(situations, steps=600, network=own(*situations.features.extent), progress=False)
  first, *_, last = values.losses[:, 1]
  assert last < first
  place, ranges = jnp.zeros(2, int), tuple(jnp.eye(m, dtype=jnp.float32)[:2] for m in values.network.slots)
  found = values.network(place, ranges)
  total = sum((r * v).sum(1) for r, v in zip(ranges, found, strict=True))
  np.testing.assert_allclose(total, 0, atol=1e-6)  # whatever the functions say
  assert any(np.abs(v).max() > 0.01 for v in found)
  with pytest.raises(ValueError, match="A network of your own has no file here"):
    values.save("never.safetensors")


@pytest.mark.parametrize(
  ("network", "fault"),
  [
    (3, "Got int: it cannot be called"),
    (lambda place, ranges: ranges, "its arrays must be of floats, at least one"),
    (jax.tree_util.Partial(linear, np.ones(3, int)), "its arrays must be of floats"),
    (jax.tree_util.Partial(lambda w, place, ranges: ranges[0], np.ones(3)), "it returns"),
    (
      jax.tree_util.Partial(lambda w, place, ranges: (ranges[0], w), np.ones(3)),
      r"it returns \[\(3, 3\), \(3,\)\]",
    ),
    (jax.tree_util.Partial(lambda w, ranges: ranges, np.ones(3)), "it raises TypeError"),
  ],
)
def test_another_thing_is_refused(situations, network, fault):
  with pytest.raises(ValueError, match=fault) as error:
    train(situations, steps=1, network=network, progress=False)
  assert "called as\n  network(place, ranges)" in str(error.value) and "[n, 3] and [n, 3]" in str(error.value)


def test_what_excludes_a_network(situations, tmp_path):
  network = own(*situations.features.extent)
  with pytest.raises(ValueError, match="start and network exclude each other"):
    train(situations, start=train(situations, steps=1, progress=False), network=network)
  with pytest.raises(ValueError, match="leave out network, or the checkpoint"):
    train(situations, checkpoint=tmp_path / "values.safetensors", network=network)


def test_the_packages_own_knows_its_slots():
  assert eqx.filter_eval_shape(ValueNetwork, 5, (3, 4), 16, 2, jax.random.key(1)).slots == (3, 4)
