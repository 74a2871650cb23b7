"""Solvers in the shape of OpenSpiel's: thin shells over jitted loops.

`IterativeSolver` is what they share; `PSCFRSolver`, over `cfr.solve`, is public-state CFR.
"""

import abc
import contextlib
import os
import time
from collections.abc import Callable
from typing import Any, ClassVar

import jax
import numpy as np

from ps_cfr_spiel import cfr, storage
from ps_cfr_spiel.arguments import MOST_ITERATIONS, check_count, check_seconds
from ps_cfr_spiel.device import check_finite, precision, trim_heap
from ps_cfr_spiel.histories import LIMIT
from ps_cfr_spiel.policy import TreePolicy
from ps_cfr_spiel.reports import progress_bar, waiting
from ps_cfr_spiel.solvers.files import Resumable, held_in
from ps_cfr_spiel.tree import Evaluation, PublicTree, evaluate

CHUNK_SECONDS = 0.25  # a device call lasts about this long, so that progress shows and Ctrl-C is heard
LOOK_SECONDS = 0.05  # least time between two looks at whether numbers are finite
LEAST_CHUNK = 4  # iterations of a call, but for the first: copying and checking large tables takes long


class IterativeSolver(Resumable):
  """What all solvers share: running in parts, policies, evaluation, files.

  A subclass sets the attributes, keeps its arguments as attributes of their names (see `_options`), and says
  in `_step` and `_strategies` what is its own.

  Attributes:
    tree: the game's public tree, on the host.
    _tree: the tree on the device.
    game, dtype, _state: see `Resumable`.
  """

  tree: PublicTree
  _tree: PublicTree
  _evaluation: tuple[int, Evaluation] | None = None
  _compiled: bool = False
  slowly_evaluated: ClassVar[bool] = False  # a look at the result takes far longer than an iteration

  @abc.abstractmethod
  def _step(self, state: Any, iterations: int) -> Any:
    """The state some iterations later."""

  @abc.abstractmethod
  def _strategies(self, average: bool) -> list[cfr.Blocks]:
    """The average or the current strategy of each player, [A, rows, H] for each block, on the device."""

  def _of_game(self, player: int, tables: cfr.Blocks) -> list[np.ndarray]:
    """A player's tables, [n, rows, H] for each block of the host's `tree`, from those of the device's."""
    return [np.asarray(block)[..., : self.tree.players[player].types] for block in tables]

  def _here(self) -> Any:
    """What of the state this process holds."""
    return self._state

  def clock(self) -> float:
    """The time in seconds; processes that share a run must agree on it, for `run` goes by it."""
    return time.monotonic()

  @property
  def name(self) -> str:
    """What to call the method in a line or a legend."""
    return type(self).__name__.removesuffix("Solver")

  @property
  def description(self) -> str:
    """The method with its options, for people."""
    options = {
      k: v for k, v in self._options().items() if k not in ("dtype", "leaves", "limit", "public_states")
    }
    return f"{self.name}({', '.join(f'{k}={v}' for k, v in options.items())}), {self.dtype}"

  def summary(self) -> str:
    """How large the game is, for people."""
    return self.tree.summary()

  def compile(self, progress: bool | None = None) -> None:
    """Compiles what `run` and `evaluation` need, so that later times are those of the work alone.

    Args:
      progress: False for silence; None tells people who wait for more than two seconds.
    """
    self._compile_run(progress)
    self.evaluation(progress)

  def _compile_run(self, progress: bool | None) -> None:
    """Compiles what `run` needs, once."""
    if not self._compiled:
      with waiting(f"Compiling {self.name}", progress):
        self._compile_step()
      self._compiled = True

  def _compile_step(self) -> None:
    """Compiles `_step`."""
    self._advance(0)

  def evaluate_and_update_policy(self) -> None:
    """One iteration, as OpenSpiel's solvers call it; `run` is faster for many, and watches the numbers."""
    self._advance(1)

  def end_of(self, iterations: int) -> int:
    """The iteration at which a run of that many more ends; ValueError if no run can get there."""
    end = self.iteration + check_count("iterations", iterations, 0)
    if end > MOST_ITERATIONS:
      raise ValueError(
        f"iterations: a run has at most {MOST_ITERATIONS:,}; this one has done {self.iteration:,}, and "
        f"{iterations:,} more were asked for."
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
    """Runs further iterations in one jitted loop; in parts or at once, the result is the same.

    (To the last bit with XLA's own settings; if XLA_FLAGS lower its optimisation level, an iteration's last
    bits may depend on where the parts meet.)

    Ctrl-C (KeyboardInterrupt) leaves the solver at the last part that was finished, saved if there is a
    checkpoint.

    Args:
      iterations: how many more.
      progress: show a progress bar; None shows it to people who wait for more than two seconds, unless a
        callback speaks to them.
      every: iterations between two calls of `callback`, which is called at the end too; 1/20 of the run by
        default.
      callback: called with the solver; if it returns True, the run ends there.
      checkpoint: file to save to, regularly and at the end.
      checkpoint_seconds: least time between two saves.

    Raises:
      FloatingPointError: numbers leave the range of the solver's dtype. The solver, and the checkpoint, are
        as they were when last looked at, a fraction of a second before.
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
        # Where tables are large every part takes longer than that, so that no third state is held.
        if stop or due or now - looked >= LOOK_SECONDS:
          sound, looked = self._checked(sound), now
        if now - started > 2 * CHUNK_SECONDS:
          trim_heap()  # tables are so large that the least part takes long; their old copies are wanted back
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
    """The state, if its numbers are finite; else goes back to the sound one from before, and raises."""
    try:
      check_finite(f"{self.name} within iterations up to {self.iteration:,}", self._here(), self.dtype)
    except FloatingPointError:
      self._state = sound
      raise
    return self._state

  def evaluation(self, progress: bool | None = None) -> Evaluation:
    """Value, best responses and exploitability of the average policy, in the game's utility, as floats.

    Args:
      progress: see `compile`.

    Raises:
      FloatingPointError: they are beyond the range of the solver's dtype.
    """
    if self._evaluation is None or self._evaluation[0] != self.iteration:
      with precision(self.dtype), waiting("Evaluating", progress):
        result = jax.tree.map(float, evaluate(self._tree, self._strategies(average=True)))
      check_finite(f"The evaluation of {self.name} at {self.iteration:,}", result, self.dtype)
      self._evaluation = self.iteration, result
    return self._evaluation[1]

  def exploitability(self) -> float:
    """NashConv / 2 of the average policy, exact up to rounding in the solver's dtype."""
    return self.evaluation().exploitability

  def value(self) -> float:
    """Value to player 0 when both follow the average policy."""
    return self.evaluation().value

  def average_policy(self) -> TreePolicy:
    """The average policy so far, a copy: the one that converges."""
    return self._policy(average=True)

  def current_policy(self) -> TreePolicy:
    """The current policy, a copy."""
    return self._policy(average=False)

  def _policy(self, average: bool) -> TreePolicy:
    with precision(self.dtype):
      strategies = self._strategies(average)
    own = [self._of_game(player, blocks) for player, blocks in enumerate(strategies)]
    info = {**self._header(), "policy": "average" if average else "current"}
    return TreePolicy(self.game, self.tree.names, own, info)


def _next_chunk(chunk: int, done: int, seconds: float) -> int:
  """Iterations for the next device call: at most double, towards `CHUNK_SECONDS` a call.

  What was done may be less than the chunk, where a callback was due: nothing grows by that.
  """
  return max(LEAST_CHUNK, min(2 * chunk, int(done * CHUNK_SECONDS / max(seconds, 1e-9))))


def load_solver(path: str | os.PathLike, **options: Any) -> IterativeSolver:
  """A solver of any kind from its file; see `IterativeSolver.load`."""
  return _solver_from(storage.read(path), options)


def _solver_from(file: storage.Stored, options: dict[str, Any]) -> IterativeSolver:
  """See `load_solver`."""
  solvers = {kind.__name__: kind for kind in _subclasses(IterativeSolver)}
  found = held_in(file)
  if found not in solvers:
    raise ValueError(f"{file.path} holds a {found}, not a solver's run.")
  return solvers[found].from_file(file, options)


def load_policy(path: str | os.PathLike, limit: int = LIMIT) -> Any:
  """The policy in a file of `TreePolicy.save`, or the average policy in a solver's file.

  Args:
    path: the file.
    limit: most histories to walk of the game that the file names.

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
