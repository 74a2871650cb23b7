"""What training repeats: the Huber loss of situations on the device, and steps of the optimiser."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from ps_cfr_spiel.learning.network import ValueNetwork
from ps_cfr_spiel.learning.situations import Situations
from ps_cfr_spiel.tree import Array


class Progress(NamedTuple):
  """How good a network is on situations that it was not trained on.

  Attributes:
    loss: mean Huber loss, of values in units of their size in each public state.
    error: mean error of a value, as a share of the mean value's size.
    total_error: the same for the sum of range times value, which unlike single values is continuous in the
      ranges.
  """

  loss: float
  error: float
  total_error: float


class Tensors(NamedTuple):
  """Situations on the device; values in units of `scale`."""

  place: Array
  ranges: tuple[Array, Array]
  values: tuple[Array, Array]
  possible: tuple[Array, Array]  # bool[K, M], of the public states


def tensors_of(situations: Situations, scale: np.ndarray, rows: np.ndarray) -> Tensors:
  """The situations of some rows."""
  place = situations.place[rows]
  unit = scale[place][:, None]
  ranges, values = (tuple(jnp.asarray(x[rows]) for x in p) for p in (situations.ranges, situations.values))
  possible = tuple(map(jnp.asarray, situations.possible))
  return Tensors(jnp.asarray(place), ranges, tuple(v / unit for v in values), possible)  # pyright: ignore


def _errors(network: ValueNetwork, data: Tensors) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
  """Error [n, M] and weight [n, M] of every value, for both players."""
  found = network(data.place, data.ranges)
  weights = tuple(p[data.place].astype(jnp.float32) for p in data.possible)
  return tuple((f - v) * w for f, v, w in zip(found, data.values, weights, strict=True)), weights


def _loss(network: ValueNetwork, data: Tensors) -> Array:
  errors, weights = _errors(network, data)
  return sum(optax.losses.huber_loss(e).sum() for e in errors) / sum(w.sum() for w in weights)


@eqx.filter_jit
def take_steps(network: ValueNetwork, state: Any, data: Tensors, rows: Array, optimiser: Any) -> Any:
  """One step for each row of numbers of situations, [steps, batch]; the mean loss."""

  def step(carry: Any, at: Array) -> Any:
    network, state = carry
    pick = lambda pair: tuple(x[at] for x in pair)  # noqa: E731
    part = Tensors(data.place[at], pick(data.ranges), pick(data.values), data.possible)  # pyright: ignore
    loss, gradient = jax.value_and_grad(_loss)(network, part)
    updates, state = optimiser.update(gradient, state)
    return (optax.apply_updates(network, updates), state), loss

  (network, state), losses = jax.lax.scan(step, (network, state), rows)
  return network, state, losses.mean()


@eqx.filter_jit
def measure(network: ValueNetwork, data: Tensors) -> Progress:
  """How good a network is on some situations."""
  errors, weights = _errors(network, data)
  count = sum(w.sum() for w in weights)
  size = sum(jnp.abs(v * w).sum() for v, w in zip(data.values, weights, strict=True)) / count
  total = (data.ranges[0] * errors[0]).sum(1)
  absolute = sum(jnp.abs(e).sum() for e in errors) / count
  totals = jnp.abs((data.ranges[0] * data.values[0]).sum(1)).mean()
  return Progress(_loss(network, data), absolute / size, jnp.abs(total).mean() / totals)  # pyright: ignore
