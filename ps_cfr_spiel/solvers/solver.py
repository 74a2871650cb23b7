"""`Solver`, the base class of all solvers: runs in parts, with progress and checkpoints; policies; files."""

import abc
import functools
import os
import time
from collections.abc import Callable, Mapping
from typing import ClassVar, Generic, Self, TypeVar

import jax
from open_spiel.python import policy as openspiel_policy

from ps_cfr_spiel import storage
from ps_cfr_spiel.arguments import JSON, MOST_ITERATIONS, check_count
from ps_cfr_spiel.backend.device import (
  CHUNK_SECONDS,
  JaxRuntimeError,
  Pace,
  Uninterrupted,
  advance,
  asked_to_stop,
  block_until_ready,
  check_finite,
  precision,
  process_count,
  trim_heap,
)
from ps_cfr_spiel.options import RunOptions, TreeOptions, fields_of
from ps_cfr_spiel.reports import HiddenBar, Stopwatch, progress_bar, waiting
from ps_cfr_spiel.solvers.run_files import Resumable, RunState

SAVING_SHARE = 0.05  # of the time, at most for checkpoints
LOOK_SECONDS = 0.05  # least time between two checks that numbers are finite
ENDING = "Interrupted: the iterations under way end first, and nothing is lost"


Policy = TypeVar("Policy", bound=openspiel_policy.Policy)


class Solver(Resumable, Generic[Policy]):
  """A solver in OpenSpiel's shape: a thin shell over a jitted loop.

  A subclass sets the attributes, among them `options` of its `options_type`, and defines `summary`, `_step`
  and `_policy`. `ExactSolver` and `TreeSolver` add evaluation and trees.
  """

  shared: ClassVar[bool] = False  #: whether several processes can share a run
  _in_place: bool = False  # the tables change in their places, and no state before is kept
  _compiled: bool = False

  @abc.abstractmethod
  def summary(self) -> str:
    """The size of the game and of the tables, as lines of text."""

  @abc.abstractmethod
  def _step(self, state: RunState, iterations: int) -> RunState:
    """The state after further iterations."""

  @abc.abstractmethod
  def _policy(self, average: bool) -> Policy:
    """The average or the current policy, a copy."""

  def average_policy(self) -> Policy:
    """The average policy so far, a copy: the one that converges."""
    return self._policy(average=True)

  def current_policy(self) -> Policy:
    """The current policy, a copy."""
    return self._policy(average=False)

  @classmethod
  def policy_in(cls, file: storage.Stored, options: Mapping[str, object]) -> Policy:
    """The average policy of a run in a file; `options` as of `load`."""
    return cls.from_file(file, options).average_policy()

  def _policy_info(self, average: bool) -> dict[str, JSON]:
    """The description of a policy's origin that the policy carries."""
    return {**self._header(), "policy": "average" if average else "current"}

  @staticmethod
  def clock() -> float:
    """The time in seconds, by which `run` schedules; processes that share a run must agree on it."""
    # Not of the solver itself, which `pace` would keep until a collection of garbage, with all its tables.
    return time.monotonic()

  @functools.cached_property
  def pace(self) -> Pace:
    """The time of all iterations of `run` so far, in seconds, and the length of its calls of the device."""
    return Pace(self.clock)

  @property
  def name(self) -> str:
    return type(self).__name__.removesuffix("Solver")

  @property
  def description(self) -> str:
    """The method with its options, as text."""
    left_out = {"dtype", *fields_of(TreeOptions)}
    options = {name: value for name, value in self.options.header().items() if name not in left_out}
    return f"{self.name}({', '.join(f'{k}={v}' for k, v in options.items())}), {self.dtype}"

  def compile(self, progress: bool | None = None) -> None:
    """Compile the solver's programs, so that later times are those of the work alone."""
    if not self._compiled:
      with waiting(f"Compiling {self.name}", progress):
        self._compile_step()
      self._compiled = True

  def _compile_step(self) -> None:
    self._advance(0)

  def evaluate_and_update_policy(self) -> None:
    """One iteration, as OpenSpiel's solvers call it; `run` is faster for many, and watches the numbers."""
    self._advance(1)

  def end_of(self, iterations: int) -> int:
    """The iteration at which a run of `iterations` more ends; ValueError beyond the longest run allowed."""
    end = self.iteration + check_count("iterations", iterations, 0)
    if end > MOST_ITERATIONS:
      raise ValueError(
        f"iterations={iterations:,}: this run has done {self.iteration:,}, and a run has at most "
        f"{MOST_ITERATIONS:,}; run fewer."
      )
    return end

  def run(
    self,
    options: RunOptions | int | None = None,
    *,
    progress: bool | None = None,
    every: int | Callable[[int], int] | None = None,
    callback: Callable[[Self], object] | None = None,
    checkpoint: str | os.PathLike | Callable[[], object] | None = None,
    **keywords: object,
  ) -> None:
    """Run further iterations in one jitted loop; in parts or at once, the result is the same.

    (To the last bit with XLA's own settings; if XLA_FLAGS lower its optimisation level, an iteration's last
    bits may depend on where the parts meet.)

    Ctrl-C (KeyboardInterrupt), and any other exception of a signal's handler, leaves the solver at the last
    finished part, and saves that to the checkpoint. It waits for the iterations under way, a fraction of a
    second, or one iteration if that takes longer. If several processes share the run, a signal to one
    interrupts all (`device.ask_to_stop`).

    Args:
      options: all options, or the number of further iterations alone.
      progress: None shows a bar after two seconds on a terminal, and clears it while the callback runs.
      every: iterations between two calls of `callback`, or a function of an iteration that gives the next
        one after which to call it; 1/20 of the run by default. It is called at the end too.
      callback: called with the solver; if it returns True, the run ends there.
      checkpoint: file to save to, at once, regularly and at the end; or a function that saves, which is
        called regularly and at the end.
      **keywords: options by name; see `RunOptions`.

    Raises:
      FloatingPointError: numbers leave the range of the solver's dtype. The solver and the checkpoint keep
        the state of the last check, a fraction of a second before; with large tables, which change in place,
        the checkpoint alone.
      ValueError: an argument is not one of the allowed, or the run gets longer than can be counted.
      OSError: the checkpoint cannot be written.
    """
    options = RunOptions.of(options, **keywords)
    iterations = options.iterations
    start, target = self.iteration, self.end_of(iterations)
    if callback is not None and not callable(callback):
      raise ValueError(f"callback must be a function of the solver, got {callback!r}.")
    marks = _marks(start, max(iterations // 20, 1) if every is None else every)
    saving = Stopwatch(self.clock)
    save: Callable[[], object] | None = None
    if callable(checkpoint):
      save = checkpoint
    elif checkpoint is not None:
      save = functools.partial(self.save, checkpoint)
      with saving:
        save()  # fails now rather than after a long run
    Solver.compile(self, progress)  # no evaluation
    saved_at = looked = self.clock()
    next_mark = marks(start) if callback else target
    sound = None if self._in_place else self._state
    shown = False if progress is None and iterations <= self.pace.chunk else progress  # one part has no bar
    named = {"total": iterations, "unit": "it", "desc": self.name}
    bar = HiddenBar() if shown is False else progress_bar(shown, **named)
    try:
      for done in advance(self._advance, start, target, self.pace, marks if callback else None):
        now, stop = self.clock(), done in (next_mark, target)
        due = save is not None and now - saved_at >= max(
          options.checkpoint_seconds, saving.last / SAVING_SHARE
        )
        # With large tables every part takes longer than LOOK_SECONDS, so that no third state is held.
        if stop or due or now - looked >= LOOK_SECONDS:
          sound, looked = self._checked(sound), now
        if self.pace.last > 2 * CHUNK_SECONDS:
          trim_heap()  # large tables: the memory of their old copies goes back to the system
        bar.update(done - start - bar.n)
        if self.shared and asked_to_stop():
          raise KeyboardInterrupt
        if callback and stop:
          bar.clear()
          if callback(self):
            break
          bar.refresh()
          next_mark = marks(done)  # which may depend on the callback's measurement
        if due and save:
          with saving:
            save()
          bar.set_postfix_str(f"{self.iteration:,} saved", False)
          saved_at = self.clock()
    except (JaxRuntimeError, ValueError):
      if process_count() > 1:
        save = None  # a process is lost: tables in place are gone, and no save is complete without it
      raise
    finally:
      if save or not isinstance(bar, HiddenBar):
        with Uninterrupted():  # by an impatient second Ctrl-C
          bar.close()
          if save and self.iteration > start and self._is_whole(sound):
            save()

  def _advance(self, iterations: int) -> None:
    # In place there is no state until the assignment.
    with Uninterrupted(ENDING):
      self._state = self._after(iterations)

  def _after(self, iterations: int) -> RunState:
    """The state after further iterations, when they are done."""
    ready = block_until_ready if self._in_place else jax.block_until_ready
    with precision(self.dtype, self.device):
      return ready(self._step(self._state, iterations))

  def _all_numbers(self) -> object:
    """The arrays of the state."""
    return self._state

  def _is_whole(self, sound: RunState) -> bool:
    """False if no sound state is left to save; the last checkpoint's then stays."""
    try:
      self._checked(sound)
    except FloatingPointError:  # it is being raised, or Ctrl-C came before the look
      return not self._in_place
    return True

  def _checked(self, sound: RunState) -> RunState:
    """Return the state if its numbers are finite; else restore `sound`, an earlier one, and raise.

    Tables that change in place have no earlier state: None stands for it.
    """
    try:
      check_finite(f"{self.name} within iterations up to {self.iteration:,}", self._all_numbers(), self.dtype)
    except FloatingPointError as error:
      if self._in_place:
        raise FloatingPointError(
          f"{error} Tables of this size have no copy: go on from the last checkpoint."
        ) from None
      self._state = sound
      raise
    return None if self._in_place else self._state


def _marks(start: int, every: int | Callable[[int], int]) -> Callable[[int], int]:
  """The function that gives the next iteration after which to call a callback."""
  if callable(every):
    return every
  step = check_count("every", every, 1)
  return lambda done: start + ((done - start) // step + 1) * step


def load_solver(path: str | os.PathLike, **options: object) -> Solver:
  """Read a solver of any class from its file; see `Solver.load`."""
  return Solver.load(path, **options)
