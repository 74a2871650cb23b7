"""Fits a network to solved situations: Huber loss, Adam with a falling step; the best that it met is kept."""

import contextlib
import dataclasses
import os
import time
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from ps_cfr_spiel.arguments import check_instance, check_seconds
from ps_cfr_spiel.device import precision, to_device
from ps_cfr_spiel.learning.fitting import measure, take_steps
from ps_cfr_spiel.learning.learned_values import NOTHING, LearnedValues
from ps_cfr_spiel.learning.network_files import features_of
from ps_cfr_spiel.learning.river_values import RiverValues
from ps_cfr_spiel.learning.rivers import Rivers
from ps_cfr_spiel.learning.settings import CHECK, Settings
from ps_cfr_spiel.learning.situations import Situations
from ps_cfr_spiel.reports import progress_bar

HELD_OUT = 20  # one draw in so many is for validation
KINDS: dict[type, Any] = {Situations: LearnedValues, Rivers: RiverValues}  # what is learned from which data

Values = LearnedValues | RiverValues


def train(
  situations: Situations | Rivers,
  seed: int = 0,
  steps: int = 6000,
  batch: int = 1000,
  width: int = 192,
  layers: int = 3,
  learning_rate: float = 1e-3,
  patience: int = 20,
  start: Values | None = None,
  checkpoint: str | os.PathLike | None = None,
  checkpoint_seconds: float = 60.0,
  progress: bool | None = None,
) -> Any:
  """Trains a network; Ctrl-C ends it early and keeps the best so far.

  Args:
    situations: to learn from, `Situations` or `Rivers`; one draw in 20 is held out for validation.
    seed: of the first weights and the batches.
    steps: of Adam; its step falls from `learning_rate` to a hundredth of it along half a cosine.
    batch: situations for one step.
    width: of the layers.
    layers: residual ones, after the first.
    learning_rate: the first.
    patience: stop if the validation loss has not fallen for so many looks at it, one every 200 steps.
    start: what was learned before, whose network is trained further; it sets `width` and `layers`.
    checkpoint: file for the best so far, which `resume` goes on from; written at once, regularly and at the
      end.
    checkpoint_seconds: least time between two saves.
    progress: show a progress bar with losses; None shows it to people who wait for more than two seconds.

  Returns:
    `LearnedValues` of situations, `RiverValues` of rivers.

  Raises:
    OSError: the checkpoint cannot be written.
    ValueError: an argument is not one of the allowed, there are too few draws, a range or a value is not
      sound, `start` is of other public states, or more memory is needed than is free.
  """
  _check(situations)
  kind: Any = KINDS[type(situations)]
  if start is not None:
    check_instance("start", start, *KINDS.values()).check(situations)
    width, layers = start.network.size
  settings = Settings(seed, steps, batch, width, layers, learning_rate, patience).checked()
  saving = _Saving(checkpoint, check_seconds("checkpoint_seconds", checkpoint_seconds))
  settings.check_memory(*kind.extent(situations))
  begun = start or kind.untrained(situations, settings.seed, settings.width, settings.layers)
  return _fit(situations, dataclasses.replace(begun, losses=NOTHING), settings, saving, progress)


def resume(
  situations: Situations | Rivers,
  values: Values,
  checkpoint: str | os.PathLike | None = None,
  checkpoint_seconds: float = 60.0,
  progress: bool | None = None,
) -> Any:
  """Goes on with a training that ended early, from the best network and the last step that it saved.

  Adam's moments begin anew. Where all steps were done, or patience had run out, nothing is left to do.

  Args:
    situations: those that it was trained on.
    values: a checkpoint of `train`, or what it gave back after Ctrl-C.
    checkpoint: see `train`.
    checkpoint_seconds: see `train`.
    progress: see `train`.

  Raises:
    OSError: the checkpoint cannot be written.
    ValueError: an argument is not one of the allowed, or the values were trained on other situations.
  """
  _check(situations)
  check_instance("values", values, *KINDS.values()).check(situations)
  known = {name: values.card.get(name) for name in situations.card}
  if known != situations.card or values.card.get("learned_from") != len(situations):
    raise ValueError(f"These values have learned from other situations: {known}, not {situations.card}.")
  settings = Settings.said_by(values.card)
  saving = _Saving(checkpoint, check_seconds("checkpoint_seconds", checkpoint_seconds))
  return _fit(situations, values, settings, saving, progress)


def load_values(path: str | os.PathLike) -> Values:
  """Reads a file of either kind of values.

  Raises:
    OSError: the file cannot be read.
    ValueError: it is truncated or damaged, holds something else, or its features are unknown here.
  """
  known = {kind.FEATURES: kind for kind in KINDS.values()}
  features = features_of(path)
  if features not in known:
    raise ValueError(f"{path}: the network wants the features {features!r}; known are {', '.join(known)}.")
  return known[features].load(path)


class _Saving:
  """Writes the best so far to a checkpoint, if there is one."""

  def __init__(self, path: str | os.PathLike | None, seconds: float):
    self.path, self.seconds, self.last = path, seconds, time.monotonic()

  def due(self) -> bool:
    """Whether the last time was long ago."""
    return self.path is not None and time.monotonic() - self.last >= self.seconds

  def __call__(self, values: Values) -> None:
    if self.path is not None:
      values.save(self.path)
      self.last = time.monotonic()


def _fit(situations: Any, start: Any, settings: Settings, saving: _Saving, progress: bool | None) -> Any:
  """Trains from the last step among the losses of `start`."""
  held = held_out(situations)
  if held.all() or not held.any():
    raise ValueError(f"There are too few draws to hold one in {HELD_OUT} out; generate at least 2.")
  losses, count = start.losses.tolist(), int((~held).sum())
  begun = _last(losses)
  steps = settings.steps
  random = np.random.default_rng([settings.seed, begun])
  with precision("float32"):
    learned, validation = (start.tensors(situations, np.flatnonzero(m)) for m in (~held, held))
    network = to_device(start.network, "float32")
    optimiser = optax.adam(optax.cosine_decay_schedule(settings.learning_rate, steps, 0.01))
    state = _at_step(optimiser.init(eqx.filter(network, eqx.is_array)), begun)
    best, least = network, min((found for _, _, found in losses), default=np.inf)

    def result() -> Any:
      own = {name: x for name, x in settings._asdict().items() if name != "seed"}
      found = {name: float(x) for name, x in measure(best, validation)._asdict().items()}
      card = {
        **situations.card, "learned_from": len(situations), "training": own, "training_seed": settings.seed,
        "finished": _last(losses) >= steps or _waited(losses) >= settings.patience, **found,
      }  # fmt: skip
      measured = np.array(losses).reshape(-1, 3)
      return dataclasses.replace(start, network=jax.tree.map(np.asarray, best), card=card, losses=measured)

    bar = progress_bar(progress, total=steps, initial=begun, unit=" steps", desc="Training")
    with bar, contextlib.suppress(KeyboardInterrupt):
      saving(result())  # fails now rather than after a long run
      for done in range(begun, steps, CHECK):
        if _waited(losses) >= settings.patience:
          break
        rows = random.integers(count, size=(min(CHECK, steps - done), settings.batch))
        network, state, loss = take_steps(network, state, learned, rows, optimiser)
        found = measure(network, validation)
        losses.append([done + len(rows), float(loss), float(found.loss)])
        bar.update(len(rows))
        bar.set_postfix_str(f"loss {loss:.5f}, validation {found.loss:.5f}")
        if found.loss < least:
          best, least = network, float(found.loss)
        if saving.due():
          saving(result())
    found = result()
    saving(found)
    return found


def held_out(situations: Any) -> np.ndarray:
  """bool[n]: which situations are for validation."""
  return situations.draw % HELD_OUT == 0


def _last(losses: list[list[float]]) -> int:
  """The last step."""
  return int(losses[-1][0]) if losses else 0


def _waited(losses: list[list[float]]) -> int:
  """For how many looks the validation loss has not fallen."""
  found = [x for _, _, x in losses]
  return len(found) - 1 - int(np.argmin(found)) if found else 0


def _at_step(state: Any, step: int) -> Any:
  """The optimiser's first state, with its counters at a step."""
  return jax.tree.map(lambda x: jnp.full_like(x, step) if jnp.issubdtype(x.dtype, jnp.integer) else x, state)


def _check(situations: Any) -> None:
  """ValueError unless these are situations to learn from."""
  if wrong := check_instance("situations", situations, *KINDS).obstacle():
    raise ValueError(f"situations must be sound: {wrong}.")
