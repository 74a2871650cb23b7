"""The repeated part of training: the Huber loss of examples on the device, and steps of the optimiser."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from ps_cfr_spiel.backend.array_shapes import Float, Int, PyTree
from ps_cfr_spiel.learning.network import Network
from ps_cfr_spiel.tree import Array


class Progress(NamedTuple):
  """The errors of a network on examples that it was not trained on."""

  loss: Array | float  #: mean Huber loss, of values in units of their size in each public state
  error: Array | float  #: mean error of a value, as a share of the mean size of values
  #: the same for the sum of range times value, which unlike single values is continuous in the ranges.
  total_error: Array | float


class Errors(NamedTuple):
  """The errors of values [n, M] of both players, with weights."""

  differences: Sequence[Array]  #: error of each value, in units of their size; 0 where the weight is 0
  values: Sequence[Array]  #: the right values, in the same units
  weights: Sequence[Array]  #: 1 or 0
  ranges: Sequence[Array]  #: of sum one


class Data(Protocol):
  """Examples on the device, in the form for training: `Tensors`, or `BoardTensors`."""

  def rows(self, at: Int[Array, " n"]) -> Self:
    """Some examples, by number."""
    ...

  def errors(self, network: Network) -> Errors:
    """The errors of a network."""
    ...


class Tensors(NamedTuple):
  """Examples of numbered public states; values in units of `scale`."""

  place: Array
  ranges: tuple[Array, Array]
  values: tuple[Array, Array]
  possible: tuple[Array, Array]  # bool[K, M], of the public states

  def rows(self, at: Array) -> "Tensors":
    """Some examples, by number."""
    ranges, values = ((first[at], second[at]) for first, second in (self.ranges, self.values))
    return Tensors(self.place[at], ranges, values, self.possible)

  def errors(self, network: Network) -> Errors:
    """The errors of a network."""
    outputs = network(self.place, self.ranges)
    weights = tuple(p[self.place].astype(jnp.float32) for p in self.possible)
    off = tuple((f - v) * w for f, v, w in zip(outputs, self.values, weights, strict=True))
    return Errors(off, self.values, weights, self.ranges)


def _loss(network: Network, data: Data) -> Array | float:
  errors = data.errors(network)
  return sum(optax.losses.huber_loss(e).sum() for e in errors.differences) / sum(
    w.sum() for w in errors.weights
  )


@eqx.filter_jit
def take_steps(
  network: Network,
  state: PyTree,
  data: Data,
  rows: Int[Array, "steps batch"],
  optimiser: optax.GradientTransformation,
) -> tuple[PyTree, PyTree, Float[Array, ""]]:
  """Take one step for each row of numbers of examples, [steps, batch]; returns also the mean loss."""

  def step(carry, at):
    network, state = carry
    loss, gradient = jax.value_and_grad(_loss)(network, data.rows(at))
    updates, state = optimiser.update(gradient, state)
    return (optax.apply_updates(network, updates), state), loss

  (trained, state), losses = jax.lax.scan(step, (network, state), rows)
  return trained, state, losses.mean()


@eqx.filter_jit
def measure_errors(network: Network, data: Data) -> Progress:
  """The errors of a network on some examples."""
  differences, values, weights, ranges = data.errors(network)
  count = sum(w.sum() for w in weights)
  size = sum(jnp.abs(v * w).sum() for v, w in zip(values, weights, strict=True)) / count
  total = (ranges[0] * differences[0]).sum(1)
  absolute = sum(jnp.abs(e).sum() for e in differences) / count
  totals = jnp.abs((ranges[0] * values[0]).sum(1)).mean()
  return Progress(_loss(network, data), absolute / size, jnp.abs(total).mean() / totals)
