"""`Solver`, the base class of all solvers: runs in parts, with progress and checkpoints; policies; files."""

import abc
import contextlib
import os
import time
from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar

import jax
from open_spiel.python import policy as openspiel_policy

from ps_cfr_spiel import storage
from ps_cfr_spiel.arguments import MOST_ITERATIONS, check_count, check_seconds
from ps_cfr_spiel.cfr import make_rule
from ps_cfr_spiel.device import check_finite, precision, trim_heap
from ps_cfr_spiel.histories import LIMIT
from ps_cfr_spiel.policy import TreePolicy
from ps_cfr_spiel.reports import progress_bar, waiting
from ps_cfr_spiel.solvers.files import Resumable, held_in

CHUNK_SECONDS = 0.25  # a device call lasts about this long, so that progress shows and Ctrl-C works
LOOK_SECONDS = 0.05  # least time between two checks that numbers are finite
LEAST_CHUNK = 4  # iterations of all calls but the first: copying and checking large tables takes long


Policy = TypeVar("Policy", bound=openspiel_policy.Policy)


class Solver(Resumable, Generic[Policy]):
  """A solver in OpenSpiel's shape: a thin shell over a jitted loop.

  A subclass sets the attributes, keeps its arguments as attributes of the same names (see `_options`), and
  defines `summary`, `_step` and `_policy`. `ExactSolver` and `TreeSolver` add evaluation and trees.

  Attributes:
    game, dtype, _state: see `Resumable`.
    shared: whether several processes can share a run.
  """

  shared: ClassVar[bool] = False
  _compiled: bool = False

  @abc.abstractmethod
  def summary(self) -> str:
    """The size of the game and of the tables, as lines of text."""

  @abc.abstractmethod
  def _step(self, state: Any, iterations: int) -> Any:
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

  def _policy_info(self, average: bool) -> dict[str, Any]:
    """The description of a policy's origin that the policy carries."""
    return {**self._header(), "policy": "average" if average else "current"}

  def _here(self) -> Any:
    """The part of the state that this process holds."""
    return self._state

  def clock(self) -> float:
    """The time in seconds, by which `run` schedules; processes that share a run must agree on it."""
    return time.monotonic()

  @property
  def name(self) -> str:
    """The method's name in a line or a legend."""
    return type(self).__name__.removesuffix("Solver")

  @property
  def description(self) -> str:
    """The method with its options, as text."""
    options = {
      k: v for k, v in self._options().items() if k not in ("dtype", "leaves", "limit", "public_states")
    }
    if "rule" in options:
      options["rule"] = make_rule(options["rule"])
    return f"{self.name}({', '.join(f'{k}={v}' for k, v in options.items())}), {self.dtype}"

  def compile(self, progress: bool | None = None) -> None:
    """Compile the solver's programs, so that later times are those of the work alone.

    Args:
      progress: None shows progress after two seconds on a terminal; False never.
    """
    self._compile_run(progress)

  def _compile_run(self, progress: bool | None) -> None:
    """Compile the programs of a run, once."""
    if not self._compiled:
      with waiting(f"Compiling {self.name}", progress):
        self._compile_step()
      self._compiled = True

  def _compile_step(self) -> None:
    """Compile `_step`."""
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
    iterations: int,
    *,
    progress: bool | None = None,
    every: int | None = None,
    callback: Callable[[Any], object] | None = None,
    checkpoint: str | os.PathLike | None = None,
    checkpoint_seconds: float = 60.0,
  ) -> None:
    """Run further iterations in one jitted loop; in parts or at once, the result is the same.

    (To the last bit with XLA's own settings; if XLA_FLAGS lower its optimisation level, an iteration's last
    bits may depend on where the parts meet.)

    Ctrl-C (KeyboardInterrupt) leaves the solver at the last finished part, and saves that to the checkpoint.

    Args:
      iterations: number of further iterations.
      progress: None shows a bar after two seconds on a terminal, unless a callback is given.
      every: iterations between two calls of `callback`, which is called at the end too; 1/20 of the run by
        default.
      callback: called with the solver; if it returns True, the run ends there.
      checkpoint: file to save to, regularly and at the end.
      checkpoint_seconds: least time between two saves.

    Raises:
      FloatingPointError: numbers leave the range of the solver's dtype. The solver and the checkpoint keep
        the state of the last check, a fraction of a second before.
      ValueError: an argument is not one of the allowed, or the run gets longer than can be counted.
      OSError: the checkpoint cannot be written.
    """
    target = self.end_of(iterations)
    check_seconds("checkpoint_seconds", checkpoint_seconds)
    if callback is not None and not callable(callback):
      raise ValueError(f"callback must be a function of the solver, got {callback!r}.")
    every = max(iterations // 20, 1) if every is None else check_count("every", every, 1)
    if checkpoint is not None:
      self.save(checkpoint)  # fails now rather than after a long run
    self._compile_run(progress)
    next_call, saved_at, looked = self.iteration + every, self.clock(), self.clock()
    progress = False if progress is None and callback else progress
    sound = self._state
    bar = progress_bar(progress, total=iterations, unit="it", desc=self.name)
    chunk = 1
    try:
      while self.iteration < target:
        started, before = self.clock(), self.iteration
        goal = min(target, next_call) if callback else target
        self._advance(min(chunk, goal - before))
        now, stop = self.clock(), self.iteration in (next_call if callback else target, target)
        due = checkpoint is not None and now - saved_at >= checkpoint_seconds
        # With large tables every part takes longer than LOOK_SECONDS, so that no third state is held.
        if stop or due or now - looked >= LOOK_SECONDS:
          sound, looked = self._checked(sound), now
        if now - started > 2 * CHUNK_SECONDS:
          trim_heap()  # large tables: the memory of their old copies goes back to the system
        bar.update(self.iteration - before)
        chunk = _next_chunk(chunk, self.iteration - before, now - started)
        if callback and stop:
          next_call += every
          if callback(self):
            break
        if due and checkpoint is not None:
          self.save(checkpoint)
          saved_at = self.clock()
    finally:
      bar.close()
      if checkpoint is not None:
        with contextlib.suppress(FloatingPointError):  # it is being raised, or Ctrl-C came before the look
          self._checked(sound)
        self.save(checkpoint)

  def _advance(self, iterations: int) -> None:
    with precision(self.dtype):
      self._state = jax.block_until_ready(self._step(self._state, iterations))

  def _checked(self, sound: Any) -> Any:
    """Return the state if its numbers are finite; else restore `sound`, an earlier one, and raise."""
    try:
      check_finite(f"{self.name} within iterations up to {self.iteration:,}", self._here(), self.dtype)
    except FloatingPointError:
      self._state = sound
      raise
    return self._state


def _next_chunk(chunk: int, done: int, seconds: float) -> int:
  """Iterations for the next device call: at most double, towards `CHUNK_SECONDS` a call.

  `done` may be below `chunk`, when a callback was due: the chunk then does not grow.
  """
  return max(LEAST_CHUNK, min(2 * chunk, int(done * CHUNK_SECONDS / max(seconds, 1e-9))))


def load_solver(path: str | os.PathLike, **options: Any) -> Solver:
  """Read a solver of any class from its file; see `Solver.load`."""
  return _solver_from(storage.read(path), options)


def _solver_from(file: storage.Stored, options: dict[str, Any]) -> Solver:
  """See `load_solver`."""
  solvers = {kind.__name__: kind for kind in _subclasses(Solver)}
  found = held_in(file)
  if found not in solvers:
    raise ValueError(f"{file.path} holds a {found}, not a solver's run.")
  return solvers[found].from_file(file, options)


def load_policy(path: str | os.PathLike, limit: int = LIMIT) -> Any:
  """The policy in a file of `TreePolicy.save`, or the average policy in a solver's file.

  Args:
    path: the file.
    limit: most histories to enumerate of the game that the file names.

  Raises:
    OSError: no such file.
    ValueError: the file is truncated, damaged or foreign.
  """
  file = storage.read(path)
  if file.header["kind"] == "solver":
    options = {"limit": limit} if "limit" in file.header["options"] else {}
    return _solver_from(file, options).average_policy()
  return TreePolicy.from_file(file, limit)


def _subclasses(kind: type) -> list[type]:
  """All classes below `kind`."""
  return [k for below in kind.__subclasses__() for k in (below, *_subclasses(below))]
