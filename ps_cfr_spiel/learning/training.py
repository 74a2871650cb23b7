"""The fit of a network to examples: Huber loss, Adam with a falling step; the best network is kept."""

import contextlib
import dataclasses
import os
import textwrap
import time
from collections.abc import Mapping
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pyspiel

from ps_cfr_spiel.arguments import JSON, check_instance, check_seconds
from ps_cfr_spiel.backend.array_shapes import PyTree
from ps_cfr_spiel.backend.device import Uninterrupted, device_named, precision, to_device
from ps_cfr_spiel.cards.poker import cards
from ps_cfr_spiel.learning.alpha_vectors import AlphaVectors
from ps_cfr_spiel.learning.examples import Examples
from ps_cfr_spiel.learning.features import HELD_OUT, held_out
from ps_cfr_spiel.learning.fitting import measure_errors, take_steps
from ps_cfr_spiel.learning.network import ValueNetwork
from ps_cfr_spiel.learning.network_values import NOTHING, NetworkValues
from ps_cfr_spiel.learning.settings import CHECK, check_memory, options_in, suited
from ps_cfr_spiel.learning.state_features import StateFeatures
from ps_cfr_spiel.learning.tensors.tensor_network import TensorNetwork
from ps_cfr_spiel.loading import load_game
from ps_cfr_spiel.options import TrainingOptions
from ps_cfr_spiel.reports import progress_bar

MOST_TEXT = 80  # characters of a difference in messages


def train(
  examples: Examples,
  options: TrainingOptions | None = None,
  *,
  start: NetworkValues | None = None,
  checkpoint: str | os.PathLike | None = None,
  checkpoint_seconds: float = 60.0,
  progress: bool | None = None,
  network: PyTree = None,
  **changes: object,
) -> NetworkValues:
  """Train a network; Ctrl-C ends it early and keeps the best so far.

  If a player has a single infostate in each public state, the values are `AlphaVectors`, at most `width` in
  each public state, which take no steps.

  Args:
    examples: one draw in 20 is held out for validation.
    options: `TrainingOptions`; unchanged by default.
    start: values with a network to train further; it sets `width` and `layers`. Of `AlphaVectors` nothing is
      kept.
    checkpoint: file for the best so far, for `resume`; written at once, regularly and at the end.
    checkpoint_seconds: minimum time between two saves.
    progress: show a progress bar with losses; None: on a terminal or in a notebook, after two seconds.
    network: one of your own in place of `ValueNetwork`, for examples of a game: a pytree of float arrays,
      called with (place, ranges) as `ValueNetwork` is; values are then made to sum to zero. `width` and
      `layers` have no effect, and it has no file: no `checkpoint`.
    **changes: of single options, such as `steps=2000`.

  OSError if the checkpoint cannot be written;
  ValueError for a wrong argument, too few draws, a range or a value that is not sound, a `start` with other
  public states, or more memory than is free.
  """
  _check(examples)
  if start is not None:
    check_instance("start", start, NetworkValues).check(examples)
    if network is not None:
      raise ValueError("start and network exclude each other; leave one out.")
    if isinstance(start.network, ValueNetwork | TensorNetwork):
      changes |= dict(zip(("width", "layers"), start.network.size, strict=True))
  if network is not None and (not isinstance(examples.features, StateFeatures) or checkpoint is not None):
    raise ValueError(
      "network is for examples of a game and has no checkpoint; leave out network, or the checkpoint."
    )
  settings = suited(TrainingOptions.of(options, **changes), examples.features)
  saving = _Saving(checkpoint, check_seconds("checkpoint_seconds", checkpoint_seconds))
  if network is not None:
    begun = NetworkValues.of_network(examples, network)
  else:
    check_memory(settings, examples.features)
    begun = start
    if begun is None or isinstance(begun.network, AlphaVectors):
      begun = NetworkValues.untrained(examples, settings.seed, settings.width, settings.layers)
  return _fit(examples, dataclasses.replace(begun, losses=NOTHING), settings, saving, progress)


def resume(
  examples: Examples,
  values: NetworkValues,
  checkpoint: str | os.PathLike | None = None,
  checkpoint_seconds: float = 60.0,
  progress: bool | None = None,
) -> NetworkValues:
  """Continue training that ended early, from the best network and the last saved step.

  Adam's moments begin anew. Nothing is left to do after the last step, or when patience has run out.

  `examples` are those of the first training, `values` a checkpoint of `train` or its result after Ctrl-C; the
  rest is as for `train`. ValueError also if the values were trained on other examples.
  """
  _check(examples)
  check_instance("values", values, NetworkValues).check(examples)
  known = {name: values.card.get(name) for name in examples.card}
  if known != examples.card or values.card.get("learned_from") != len(examples):
    raise ValueError(f"These values were trained on other examples: {known}, not {examples.card}.")
  settings = options_in(values.card)
  saving = _Saving(checkpoint, check_seconds("checkpoint_seconds", checkpoint_seconds))
  return _fit(examples, values, settings, saving, progress)


def train_in(
  file: str | os.PathLike | None,
  examples: Examples,
  options: TrainingOptions,
  start: NetworkValues | None = None,
  checkpoint_seconds: float = 60.0,
  progress: bool | None = None,
) -> NetworkValues:
  """Train as `train`, with the checkpoint in a file, if one is given.

  Values that are there are continued if unfinished, and trained anew if there are more examples now. Errors
  are those of both; ValueError for values of other options.
  """
  options = suited(options, examples.features)
  if file is not None and Path(file).exists():
    begun = NetworkValues.load(file)
    begun.check(examples)
    check_same_call(file, options_in(begun.card).header(), options.header())
    if begun.card["learned_from"] == len(examples):
      return resume(examples, begun, file, checkpoint_seconds, progress)
  return train(
    examples,
    options,
    start=start,
    checkpoint=file,
    checkpoint_seconds=checkpoint_seconds,
    progress=progress,
  )


def check_same_call(file: str | os.PathLike, given: Mapping[str, JSON], wanted: Mapping[str, JSON]) -> None:
  """ValueError, naming the first difference, unless a file was made by the same call."""
  for name, value in wanted.items():
    if given[name] != value:
      first, asked = (textwrap.shorten(str(x), MOST_TEXT) for x in (given[name], value))
      raise ValueError(f"{file} is of another call: its {name}: {first}, not {asked}; choose another folder.")


def pretrained(game: pyspiel.Game | str) -> NetworkValues:
  """Load the values that come with this package for searches of a game; their `card` says how they were made.

  They are for `leduc_poker`, for turns and flops among `holdem_subgame`s with the whole deck, whose next
  boards they value, and for the flops of `holdem`. Those of Leduc are made by
  benchmarks/papers/learned_values.py, the others by benchmarks/papers/board_values.py. ValueError for others.
  """
  loaded = load_game(game) if isinstance(game, str) else game
  check_instance("game", loaded, pyspiel.Game)
  name = loaded.get_type().short_name
  stem = name if str(loaded) == str(load_game("leduc_poker")) else ""
  if name in ("holdem", "holdem_subgame") and loaded.deck == cards.WHOLE_DECK:
    size = len(loaded.board) or min(cards.STREETS)
    stem = f"holdem_{cards.STREETS[size + 1]}s" if size < cards.BOARD_SIZE else ""
  path = Path(__file__).parent / "pretrained" / f"{stem}.safetensors"
  if not path.exists():
    raise ValueError(
      f"No values for {loaded} come with ps_cfr_spiel, only for leduc_poker, holdem, and turns and flops of "
      "holdem_subgame with the whole deck; train some."
    )
  return NetworkValues.load(path)


class _Saving:
  """The checkpoint of the best network so far, if there is one."""

  def __init__(self, path: str | os.PathLike | None, seconds: float):
    self.path, self.seconds, self.last = path, seconds, time.monotonic()

  def due(self) -> bool:
    return self.path is not None and time.monotonic() - self.last >= self.seconds

  def __call__(self, values: NetworkValues) -> None:
    if self.path is not None:
      values.save(self.path)
      self.last = time.monotonic()


def _fit(
  examples: Examples,
  start: NetworkValues,
  settings: TrainingOptions,
  saving: _Saving,
  progress: bool | None,
) -> NetworkValues:
  """Train from the last step among the losses of `start`.

  A call of the device takes `CHECK` steps: it is compiled for their number, so `device.advance`, which
  changes it by the time, would compile again and again.
  """
  held = held_out(examples)
  assert settings.batch is not None and settings.learning_rate is not None  # `suited`
  losses, count = start.losses.tolist(), int((~held).sum())
  begun = _last(losses)
  steps = 0 if isinstance(start.network, AlphaVectors) else settings.steps
  random = np.random.default_rng([settings.seed, begun])
  with precision("float32", device_named(settings.device)):
    learned, validation = (start.tensors(examples, np.flatnonzero(m)) for m in (~held, held))
    network = to_device(start.network, "float32")
    optimiser = optax.adam(optax.cosine_decay_schedule(settings.learning_rate, settings.steps, 0.01))
    state = jax.tree.map(  # its counters at that step
      lambda x: jnp.full_like(x, begun) if jnp.issubdtype(x.dtype, jnp.integer) else x,
      optimiser.init(eqx.filter(network, eqx.is_array)),
    )
    best, least = network, min((loss for _, _, loss in losses), default=np.inf)

    def result() -> NetworkValues:
      errors = {name: float(x) for name, x in measure_errors(best, validation)._asdict().items()}
      method = {name: value for name, value in settings.header().items() if name != "seed"}
      card = {
        **examples.card, "learned_from": len(examples), "training": method,
        "training_seed": settings.seed,
        "finished": _last(losses) >= steps or _waited(losses) >= settings.patience, **errors,
      }  # fmt: skip
      measured = np.array(losses).reshape(-1, 3)
      return dataclasses.replace(start, network=jax.tree.map(np.asarray, best), card=card, losses=measured)

    bar = progress_bar(progress, total=steps, initial=begun, unit=" steps", desc="Training")
    with bar, contextlib.suppress(KeyboardInterrupt):
      saving(result())  # an error comes now rather than after a long run
      for done in range(begun, steps, CHECK):
        if _waited(losses) >= settings.patience:
          break
        rows = random.integers(count, size=(min(CHECK, steps - done), settings.batch))
        network, state, loss = take_steps(network, state, learned, rows, optimiser)
        errors = measure_errors(network, validation)
        with Uninterrupted():
          losses.append([done + len(rows), float(loss), float(errors.loss)])
          if errors.loss < least:
            best, least = network, float(errors.loss)
        bar.update(len(rows))
        bar.set_postfix_str(f"loss {loss:.5f}, validation {errors.loss:.5f}")
        if saving.due():
          saving(result())
    with Uninterrupted():  # by an impatient second Ctrl-C
      values = result()
      saving(values)
    return values


def _last(losses: list[list[float]]) -> int:
  return int(losses[-1][0]) if losses else 0


def _waited(losses: list[list[float]]) -> int:
  """The number of evaluations since the validation loss was lowest."""
  validation = [x for _, _, x in losses]
  return len(validation) - 1 - int(np.argmin(validation)) if validation else 0


def _check(examples: Examples) -> None:
  """ValueError unless the examples are sound, and some of them are held out."""
  if wrong := check_instance("examples", examples, Examples).fault():
    raise ValueError(f"examples must be sound: {wrong}.")
  held = held_out(examples)
  if held.all() or not held.any():
    raise ValueError(f"There are too few draws to hold one in {HELD_OUT} out; give draws of at least 2.")
