"""Fits a network to solved situations: Huber loss, Adam with a falling step; the best that it met is kept."""

import contextlib
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from ps_cfr_spiel.arguments import check_count, check_integer, check_number
from ps_cfr_spiel.device import precision
from ps_cfr_spiel.learning.learned_values import LearnedValues
from ps_cfr_spiel.learning.network import ValueNetwork
from ps_cfr_spiel.learning.situations import Situations
from ps_cfr_spiel.reports import progress_bar
from ps_cfr_spiel.tree import Array

CHECK = 200  # steps between looks at the validation loss
HELD_OUT = 20  # one draw in so many is for validation


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


def train(
  situations: Situations,
  seed: int = 0,
  steps: int = 6000,
  batch: int = 1000,
  width: int = 192,
  layers: int = 3,
  learning_rate: float = 1e-3,
  patience: int = 20,
  progress: bool | None = None,
) -> LearnedValues:
  """Trains a network; Ctrl-C ends it early and keeps the best so far.

  Args:
    situations: to learn from; one draw in 20 is held out for validation.
    seed: of the first weights and the batches.
    steps: of Adam; its step falls from `learning_rate` to a hundredth of it along half a cosine.
    batch: situations for one step.
    width: of the layers.
    layers: residual ones, after the first.
    learning_rate: the first.
    patience: stop if the validation loss has not fallen for so many looks at it, one every 200 steps.
    progress: show a progress bar with losses; None shows it to people who wait for more than two seconds.

  Raises:
    ValueError: an argument is not one of the allowed, or there are too few draws, or a value is not finite.
  """
  seed = check_integer("seed", seed, 0)
  sizes = {"steps": steps, "batch": batch, "width": width, "layers": layers, "patience": patience}
  for name, value in sizes.items():
    check_count(name, value, 1)
  check_number("learning_rate", learning_rate, 0, 1)
  _check(situations)
  held = situations.draw % HELD_OUT == 0
  if held.all() or not held.any():
    raise ValueError(f"There are too few draws to hold one in {HELD_OUT} out; generate at least 2.")
  scale = _scale(situations)
  with precision("float32"):
    learned, validation = (_tensors(situations, scale, np.flatnonzero(mask)) for mask in (~held, held))
    network = _start(situations, scale, width, layers, seed)
    optimiser = optax.adam(optax.cosine_decay_schedule(learning_rate, steps, 0.01))
    state = optimiser.init(eqx.filter(network, eqx.is_array))
    best, least, losses, waited = network, np.inf, [], 0
    random = np.random.default_rng(seed)
    bar = progress_bar(progress, total=steps, unit=" steps", desc="Training")
    with bar, contextlib.suppress(KeyboardInterrupt):
      for done in range(0, steps, CHECK):
        rows = random.integers(len(learned.place), size=(min(CHECK, steps - done), batch))
        network, state, loss = _steps(network, state, learned, rows, optimiser)
        found = _measure(network, validation)
        losses.append((done + len(rows), float(loss), float(found.loss)))
        bar.update(len(rows))
        bar.set_postfix_str(f"loss {loss:.5f}, validation {found.loss:.5f}")
        waited += 1
        if found.loss < least:
          best, least, waited = network, found.loss, 0
        if waited >= patience:
          break
    found = _measure(best, validation)
  card = {
    **situations.card, "learned_from": len(situations), "training": {**sizes, "learning_rate": learning_rate},
    "training_seed": seed, **{name: float(x) for name, x in found._asdict().items()},
  }  # fmt: skip
  return LearnedValues(
    jax.tree.map(np.asarray, best), scale, situations.public_states, card, np.array(losses).reshape(-1, 3)
  )


class _Tensors(NamedTuple):
  """Situations on the device; values in units of `scale`."""

  place: Array
  ranges: tuple[Array, Array]
  values: tuple[Array, Array]
  possible: tuple[Array, Array]  # bool[K, M], of the public states


def _check(situations: Situations) -> None:
  """ValueError if a number is not finite."""
  for name, pair in (("range", situations.ranges), ("value", situations.values)):
    for i, array in enumerate(pair):
      wrong = np.flatnonzero(~np.isfinite(array).all(1))
      if len(wrong):
        raise ValueError(f"Situation {wrong[0]}: a {name} of player {i} is not finite.")


def _scale(situations: Situations) -> np.ndarray:
  """float32[K]: the root mean square of values in each public state, and 1 where all are zero."""
  squares = np.zeros(len(situations.public_states))
  counts = np.zeros(len(situations.public_states))
  for i in (0, 1):
    squares += np.bincount(situations.place, (situations.values[i] ** 2).sum(1), len(squares))
    counts += np.bincount(situations.place, minlength=len(squares)) * situations.possible[i].sum(1)
  size = np.sqrt(squares / np.maximum(counts, 1))
  return np.where(size > 0, size, 1).astype(np.float32)


def _tensors(situations: Situations, scale: np.ndarray, rows: np.ndarray) -> _Tensors:
  place = situations.place[rows]
  unit = scale[place][:, None]
  ranges, values = (tuple(jnp.asarray(x[rows]) for x in p) for p in (situations.ranges, situations.values))
  possible = tuple(map(jnp.asarray, situations.possible))
  return _Tensors(jnp.asarray(place), ranges, tuple(v / unit for v in values), possible)  # pyright: ignore


def _start(situations: Situations, scale: np.ndarray, width: int, layers: int, seed: int) -> ValueNetwork:
  """A network whose values begin at the mean of those of each public state."""
  slots = (situations.possible[0].shape[1], situations.possible[1].shape[1])
  network = ValueNetwork(len(scale), slots, width, layers, jax.random.key(seed))
  counts = np.maximum(np.bincount(situations.place, minlength=len(scale)), 1)[:, None]
  means = []
  for value in situations.values:
    total = np.zeros((len(scale), value.shape[1]))
    np.add.at(total, situations.place, value)
    means.append(jnp.asarray(total / counts / scale[:, None], jnp.float32))
  return eqx.tree_at(lambda n: (n.last[0][1], n.last[1][1]), network, tuple(means))


def _errors(network: ValueNetwork, data: _Tensors) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
  """Error [n, M] and weight [n, M] of every value, for both players."""
  found = network(data.place, data.ranges)
  weights = tuple(p[data.place].astype(jnp.float32) for p in data.possible)
  return tuple((f - v) * w for f, v, w in zip(found, data.values, weights, strict=True)), weights


def _loss(network: ValueNetwork, data: _Tensors) -> Array:
  errors, weights = _errors(network, data)
  return sum(optax.losses.huber_loss(e).sum() for e in errors) / sum(w.sum() for w in weights)


@eqx.filter_jit
def _steps(network: ValueNetwork, state: Any, data: _Tensors, rows: Array, optimiser: Any) -> Any:
  """One step for each row of numbers of situations, [steps, batch]; the mean loss."""

  def step(carry: Any, at: Array) -> Any:
    network, state = carry
    pick = lambda pair: tuple(x[at] for x in pair)  # noqa: E731
    part = _Tensors(data.place[at], pick(data.ranges), pick(data.values), data.possible)  # pyright: ignore
    loss, gradient = jax.value_and_grad(_loss)(network, part)
    updates, state = optimiser.update(gradient, state)
    return (optax.apply_updates(network, updates), state), loss

  (network, state), losses = jax.lax.scan(step, (network, state), rows)
  return network, state, losses.mean()


@eqx.filter_jit
def _measure(network: ValueNetwork, data: _Tensors) -> Progress:
  errors, weights = _errors(network, data)
  count = sum(w.sum() for w in weights)
  size = sum(jnp.abs(v * w).sum() for v, w in zip(data.values, weights, strict=True)) / count
  total = (data.ranges[0] * errors[0]).sum(1)
  absolute = sum(jnp.abs(e).sum() for e in errors) / count
  totals = jnp.abs((data.ranges[0] * data.values[0]).sum(1)).mean()
  return Progress(_loss(network, data), absolute / size, jnp.abs(total).mean() / totals)
