"""A network of the user's own, checked and put into the form that training and searches work with."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.learning.network import zero_sum
from ps_cfr_spiel.tree import Array

WANTED = """network must be a pytree of float arrays, such as an equinox Module, that is called as
  network(place, ranges)
    place: int[n], numbers of public states, 0 to {last:,}
    ranges: both players' ranges of sum one, [n, {first:,}] and [n, {second:,}]
and returns both players' values, [n, {first:,}] and [n, {second:,}]. Got {given}: {fault}."""


class OwnNetwork(eqx.Module):
  """Another network, whose values are made to sum to zero as in every solution."""

  arrays: list[Array]  #: the network's, which are trained
  #: its other leaves, such as activation functions, and how the leaves make up the network.
  rest: tuple[Any, ...] = eqx.field(static=True)
  slots: tuple[int, int] = eqx.field(static=True)  #: m of each player

  def __init__(self, network: Any, places: int, slots: tuple[int, int]):
    """Take a network for K places and M slots of each player; ValueError if it is not as `WANTED`."""
    arrays, other = eqx.partition(network, lambda leaf: isinstance(leaf, jax.Array | np.ndarray))
    own, structure = jax.tree.flatten(arrays)
    self.arrays = [jnp.asarray(x) for x in own]
    leaves, whole = jax.tree.flatten(other)
    self.rest, self.slots = (structure, tuple(leaves), whole), slots
    if fault := self._fault(network):
      words = {"last": places - 1, "first": slots[0], "second": slots[1]}
      raise ValueError(WANTED.format(given=type(network).__name__, fault=fault, **words))

  def _fault(self, network: Any) -> str:
    """The breach of `WANTED`, or an empty text."""
    if not callable(network):
      return "it cannot be called"
    if not self.arrays or not all(jnp.issubdtype(jnp.result_type(x), jnp.floating) for x in self.arrays):
      return "its arrays must be of floats, at least one"
    single = lambda *shape: jax.ShapeDtypeStruct(shape, jnp.float32)  # noqa: E731
    shape = tuple(single(3, m) for m in self.slots)
    try:
      found = jax.eval_shape(self._own, jax.ShapeDtypeStruct((3,), jnp.int32), shape)
    except Exception as error:  # any error of the network's own code
      return f"called with n = 3 it raises {type(error).__name__}: {error}"
    shapes = [getattr(x, "shape", None) for x in found] if isinstance(found, tuple | list) else found
    wanted = [x.shape for x in shape]
    return "" if shapes == wanted else f"with n = 3 it returns {shapes}, not {wanted}"

  def _own(self, place: Array, ranges: tuple[Array, Array]) -> Any:
    structure, leaves, whole = self.rest
    arrays = jax.tree.unflatten(structure, self.arrays)
    return eqx.combine(arrays, jax.tree.unflatten(whole, leaves))(place, ranges)

  def __call__(self, place: Array, ranges: tuple[Array, Array]) -> tuple[Array, Array]:
    """See `ValueNetwork`."""
    first, second = self._own(place, ranges)
    return zero_sum((first, second), ranges)
