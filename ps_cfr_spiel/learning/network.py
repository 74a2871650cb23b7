"""A network from a public state and both ranges to the values of all infostates there, which sum to zero.

Inputs are ranges that sum to one. The values v of the two players are counterfactual and fold chance in, so
r0 v0 + r1 v1 = 0 in every solution; the last layer subtracts half of that sum from each value, which makes it
zero for any weights (Schmid 2021, Section 21.3.2), because the ranges sum to one.
"""

from typing import Any, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.backend.array_shapes import PyTree
from ps_cfr_spiel.tree import Array

WANTED = """network must be a pytree of float arrays, such as an equinox Module, that is called as
  network(place, ranges)
    place: int[n], numbers of public states, 0 to {last:,}
    ranges: both players' ranges of sum one, [n, {first:,}] and [n, {second:,}]
and returns both players' values, [n, {first:,}] and [n, {second:,}]. Got {given}: {fault}."""


class Network(Protocol):
  """A function that learns: a `ValueNetwork`, a `UserNetwork` or `AlphaVectors`, all of them pytrees."""

  @property
  def slots(self) -> tuple[int, int]:
    """M, the most infostates of each player in a public state."""
    ...

  def __call__(self, place: PyTree, ranges: tuple[Array, Array]) -> tuple[Array, Array]:
    """Values of both players, [n, M] each, in public states [n, ...] for ranges [n, M] of sum one."""
    ...


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


class UserNetwork(eqx.Module):
  """A network of the user's own, whose values are made to sum to zero as in every solution."""

  arrays: list[Array]  #: the network's, which are trained
  #: its other leaves, such as activation functions, and how the leaves make up the network.
  rest: tuple[Any, ...] = eqx.field(static=True)
  slots: tuple[int, int] = eqx.field(static=True)  #: m of each player

  def __init__(self, network: PyTree, places: int, slots: tuple[int, int]):
    """Take a network for K places and M slots of each player; ValueError if it is not as `WANTED`."""
    arrays, other = eqx.partition(network, lambda leaf: isinstance(leaf, jax.Array | np.ndarray))
    trained, structure = jax.tree.flatten(arrays)
    self.arrays = [jnp.asarray(x) for x in trained]
    leaves, whole = jax.tree.flatten(other)
    self.rest, self.slots = (structure, tuple(leaves), whole), slots
    if fault := self._fault(network):
      words = {"last": places - 1, "first": slots[0], "second": slots[1]}
      raise ValueError(WANTED.format(given=type(network).__name__, fault=fault, **words))

  def _fault(self, network: PyTree) -> str:
    """The breach of `WANTED`, or an empty text."""
    if not callable(network):
      return "it cannot be called"
    if not self.arrays or not all(jnp.issubdtype(jnp.result_type(x), jnp.floating) for x in self.arrays):
      return "its arrays must be of floats, at least one"
    single = lambda *shape: jax.ShapeDtypeStruct(shape, jnp.float32)  # noqa: E731
    shape = tuple(single(3, m) for m in self.slots)
    try:
      outputs = jax.eval_shape(self._call, jax.ShapeDtypeStruct((3,), jnp.int32), shape)
    except Exception as error:  # any error of the network's own code
      return f"called with n = 3 it raises {type(error).__name__}: {error}"
    shapes, wanted = jax.tree.map(lambda x: x.shape, outputs), [x.shape for x in shape]
    shapes = list(shapes) if isinstance(shapes, tuple) else shapes
    return "" if shapes == wanted else f"with n = 3 it returns {shapes}, not {wanted}"

  def _call(self, place: Array, ranges: tuple[Array, Array]) -> tuple[Array, Array]:
    structure, leaves, whole = self.rest
    arrays = jax.tree.unflatten(structure, self.arrays)
    return eqx.combine(arrays, jax.tree.unflatten(whole, leaves))(place, ranges)

  def __call__(self, place: Array, ranges: tuple[Array, Array]) -> tuple[Array, Array]:
    """See `ValueNetwork`."""
    first, second = self._call(place, ranges)
    return zero_sum((first, second), ranges)


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
