"""A network from a public state and both ranges to the values of all infostates there, which sum to zero.

Inputs are ranges that sum to one. The values v of the two players are counterfactual and fold chance in, so
r0 v0 + r1 v1 = 0 in every solution; the last layer subtracts half of that sum from each value, which makes it
zero for any weights (Schmid 2021, Section 21.3.2), because the ranges sum to one.
"""

import equinox as eqx
import jax
import jax.numpy as jnp

from ps_cfr_spiel.tree import Array


class ValueNetwork(eqx.Module):
  """A perceptron with residual layers; a public state is a learned vector, or a mixture of K of them."""

  places: Array  #: [K, width], a vector for each public state
  ranges: tuple[Array, Array]  #: for each player [M, width]
  inner: list[tuple[Array, Array]]  #: ([width, width], [1, width]) for each layer
  #: for each player ([width, M], [K, M]): values are a linear map and an offset of the public state.
  last: tuple[tuple[Array, Array], tuple[Array, Array]]

  def __init__(self, places: int, slots: tuple[int, int], width: int, layers: int, key: Array):
    """Random weights, scaled by He et al. 2015; the values begin near zero."""
    draw = iter(jax.random.split(key, 5 + layers))
    normal = lambda *shape: jax.random.normal(next(draw), shape, jnp.float32)  # noqa: E731
    self.places = normal(places, width) / jnp.sqrt(2.0)
    self.ranges = (normal(slots[0], width), normal(slots[1], width))
    self.inner = [(normal(width, width) * jnp.sqrt(2 / width), jnp.zeros((1, width))) for _ in range(layers)]
    first, second = ((normal(width, m) * 0.1 / jnp.sqrt(width), jnp.zeros((places, m))) for m in slots)
    self.last = (first, second)

  @property
  def slots(self) -> tuple[int, int]:
    """M of each player."""
    return len(self.ranges[0]), len(self.ranges[1])

  @property
  def size(self) -> tuple[int, int]:
    """Width and number of the inner layers."""
    return self.places.shape[1], len(self.inner)

  def __call__(self, place: Array, ranges: tuple[Array, Array]) -> tuple[Array, Array]:
    """Values of both players, [n, M] each, for ranges [n, M] of sum one.

    `place` is int[n], public states; or float[n, K], mixtures of them.
    """
    x = _of(self.places, place) + sum(r @ w for r, w in zip(ranges, self.ranges, strict=True))
    x = jax.nn.gelu(x)
    for weights, bias in self.inner:
      x = x + jax.nn.gelu(x @ weights + bias)
    first, second = (x @ weights + _of(offset, place) for weights, offset in self.last)
    return zero_sum((first, second), ranges)


def count_parameters(places: int, slots: tuple[int, int], width: int, layers: int) -> int:
  """The number of parameters of a `ValueNetwork`."""
  return places * width + layers * (width + 1) * width + sum(slots) * (2 * width + places)


def _of(table: Array, place: Array) -> Array:
  """[n, ...]: rows of a table, or mixtures of them."""
  return table[place] if jnp.issubdtype(place.dtype, jnp.integer) else place @ table


def zero_sum(values: tuple[Array, Array], ranges: tuple[Array, Array]) -> tuple[Array, Array]:
  """Values of both players less half of their sum with the ranges, [n, M] each."""
  excess = sum((r * v).sum(1, keepdims=True) for r, v in zip(ranges, values, strict=True))
  return values[0] - excess / 2, values[1] - excess / 2


def normalised(range_: Array, possible: Array) -> tuple[Array, Array]:
  """A range [n, M] over the possible slots, of sum one, and its sum before, [n, 1].

  A range of zeros becomes an even one, so nothing is divided by zero; its sum of zero makes the values of the
  other player zero.
  """
  range_ = jnp.where(possible, range_, 0)
  total, even = range_.sum(1, keepdims=True), possible / jnp.maximum(possible.sum(1, keepdims=True), 1)
  return jnp.where(total > 0, range_ / jnp.where(total > 0, total, 1), even), total
