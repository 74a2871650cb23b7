"""Solvers in the shape of OpenSpiel's: thin shells over jitted loops.

`IterativeSolver` is what they share; `PSCFRSolver`, over `cfr.solve`, is public-state CFR.
"""

import abc
import os
import time
from collections.abc import Callable
from typing import Any, Self

import jax
import numpy as np
import pyspiel
from tqdm.auto import tqdm

from ps_cfr_spiel import cfr, storage
from ps_cfr_spiel.arguments import check_count
from ps_cfr_spiel.device import precision, to_device
from ps_cfr_spiel.policy import TreePolicy
from ps_cfr_spiel.tree import Evaluation, PublicTree, evaluate

CHUNK_SECONDS = 0.25  # a device call lasts about this long, so that progress shows and Ctrl-C is heard


class IterativeSolver(abc.ABC):
  """What all solvers share: running in parts, policies, evaluation, files.

  A subclass sets the attributes, and says in `_step`, `_strategies` and `_options` what is its own.

  Attributes:
    game: the game.
    tree: its public tree, on the host.
    dtype: "float32" or "float64".
    _tree: the tree on the device.
    _state: pytree of arrays, all that a run remembers, with a field `iteration`.
  """

  game: pyspiel.Game
  tree: PublicTree
  dtype: str
  _tree: PublicTree
  _state: Any
  _evaluation: tuple[int, Evaluation] | None = None

  @abc.abstractmethod
  def _step(self, state: Any, iterations: int) -> Any:
    """The state some iterations later."""

  @abc.abstractmethod
  def _strategies(self, average: bool) -> list[cfr.Blocks]:
    """The average or the current strategy of each player, [A, rows, H] for each block, on the device."""

  @abc.abstractmethod
  def _options(self) -> dict[str, Any]:
    """The constructor's arguments after the game, as JSON values; saved in files."""

  def _arrays(self) -> dict[str, np.ndarray]:
    """What else of the constructor's arguments, as arrays, a file keeps; see `_arguments`."""
    return {}

  @classmethod
  def _arguments(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """The constructor's arguments after the game, from a file; the inverse of `_options` and `_arrays`."""
    return {key: header[key] for key in header["options"]}

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

  @property
  def iteration(self) -> int:
    """Iterations done so far."""
    return int(self._state.iteration)

  def compile(self) -> None:
    """Compiles what `run` and `evaluation` need, so that later times are those of the work alone."""
    self._advance(0)
    self.evaluation()

  def evaluate_and_update_policy(self) -> None:
    """One iteration, as OpenSpiel's solvers call it; `run` is faster for many."""
    self._advance(1)

  def run(
    self,
    iterations: int,
    *,
    progress: bool = False,
    every: int | None = None,
    callback: Callable[[Any], object] | None = None,
    checkpoint: str | os.PathLike | None = None,
    checkpoint_seconds: float = 60.0,
  ) -> None:
    """Runs further iterations in one jitted loop; in parts or at once, the result is the same.

    Ctrl-C (KeyboardInterrupt) leaves the solver at the last part that was finished, saved if there is a
    checkpoint.

    Args:
      iterations: how many more.
      progress: show a progress bar.
      every: iterations between two calls of `callback`, which is called at the end too; 1/20 of the run by
        default.
      callback: called with the solver; if it returns True, the run ends there.
      checkpoint: file to save to, regularly and at the end.
      checkpoint_seconds: least time between two saves.

    Raises:
      ValueError: a count is negative.
      OSError: the checkpoint cannot be written.
    """
    target = self.iteration + check_count("iterations", iterations, 0)
    every = max(iterations // 20, 1) if every is None else check_count("every", every, 1)
    if checkpoint is not None:
      self.save(checkpoint)  # fails now rather than after a long run
    next_call, saved_at = self.iteration + every, time.monotonic()
    bar = tqdm(total=iterations, disable=not progress, unit="it", desc=self.name)
    chunk = 1
    try:
      while self.iteration < target:
        started, before = time.monotonic(), self.iteration
        goal = min(target, next_call) if callback else target
        self._advance(min(chunk, goal - before))
        bar.update(self.iteration - before)
        chunk = _next_chunk(chunk, time.monotonic() - started)
        if callback and self.iteration in (next_call, target):
          next_call += every
          if callback(self):
            break
        if checkpoint is not None and time.monotonic() - saved_at >= checkpoint_seconds:
          self.save(checkpoint)
          saved_at = time.monotonic()
    finally:
      bar.close()
      if checkpoint is not None:
        self.save(checkpoint)

  def _advance(self, iterations: int) -> None:
    with precision(self.dtype):
      self._state = jax.block_until_ready(self._step(self._state, iterations))

  def evaluation(self) -> Evaluation:
    """Value, best responses and exploitability of the average policy, in the game's utility, as floats."""
    if self._evaluation is None or self._evaluation[0] != self.iteration:
      with precision(self.dtype):
        result = jax.tree.map(float, evaluate(self._tree, self._strategies(average=True)))
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
    info = {**self._header(), "policy": "average" if average else "current"}
    return TreePolicy(self.game, self.tree.names, strategies, info)

  def _header(self) -> dict[str, Any]:
    options = self._options()
    return {
      "solver": type(self).__name__,
      "game": str(self.game),
      **options,
      "options": sorted(options),
      "iteration": self.iteration,
    }

  def save(self, path: str | os.PathLike) -> None:
    """Saves the whole run to a file, from which `load` goes on as if it had never stopped.

    Raises:
      OSError: the file cannot be written; an earlier one is left as it was.
    """
    leaves = jax.tree.leaves(self._state)
    state = {f"state{i}": leaf for i, leaf in enumerate(leaves)}
    storage.write(path, "solver", self._header(), {**state, **self._arrays()})

  @classmethod
  def load(cls, path: str | os.PathLike, **options: Any) -> Self:
    """Reads a file of `save`.

    Args:
      path: the file.
      **options: replace the constructor's arguments in the file; `rule` is needed if it is not one of this
        package's.

    Raises:
      OSError: no such file.
      ValueError: the file is truncated or foreign, or its rule is unknown.
    """
    header, arrays = storage.read(path)
    found = header.get("solver") if header["kind"] == "solver" else header["kind"]
    if found != cls.__name__:
      raise ValueError(f"{path} holds a {found}, not a {cls.__name__}.")
    try:
      options = {**cls._arguments(header, arrays), **options}
      make: Any = cls  # a subclass, which takes a game and its own options
      solver = make(pyspiel.load_game(header["game"]), **options)
      state = [name for name in arrays if name.startswith("state")]
      solver._restore([arrays[f"state{i}"] for i in range(len(state))], header["iteration"])
    except (KeyError, TypeError, RuntimeError) as error:
      raise ValueError(f"{path} is damaged: {error}") from error
    return solver

  def _restore(self, leaves: list[np.ndarray], iteration: int) -> None:
    """Takes over saved arrays; ValueError unless they fit the tree and the rule."""
    expected, structure = jax.tree.flatten(self._template(leaves))
    shapes = [(leaf.shape, leaf.dtype) for leaf in leaves]
    if shapes != [(leaf.shape, leaf.dtype) for leaf in expected] or not leaves:
      raise ValueError("The saved arrays do not fit the game and the options that the file names.")
    with precision(self.dtype):
      self._state = jax.tree.unflatten(structure, to_device(leaves, self.dtype))
    if self.iteration != iteration:
      raise ValueError(f"The file names iteration {iteration}, its arrays are of iteration {self.iteration}.")

  def _template(self, leaves: list[np.ndarray]) -> Any:
    """A state with the shapes that saved arrays must have; a state that grows takes them from the arrays."""
    return self._state


def _next_chunk(chunk: int, seconds: float) -> int:
  """Iterations for the next device call: at most double, towards `CHUNK_SECONDS` a call."""
  return max(1, min(2 * chunk, int(chunk * CHUNK_SECONDS / max(seconds, 1e-9))))


def load_solver(path: str | os.PathLike, **options: Any) -> IterativeSolver:
  """A solver of any kind from its file; see `IterativeSolver.load`."""
  header, _ = storage.read(path)
  solvers = {kind.__name__: kind for kind in _subclasses(IterativeSolver)}
  if header["kind"] != "solver" or header.get("solver") not in solvers:
    found = header.get("solver") if header["kind"] == "solver" else header["kind"]
    raise ValueError(f"{path} holds a {found}, not a solver's run.")
  return solvers[header["solver"]].load(path, **options)


def load_policy(path: str | os.PathLike) -> TreePolicy:
  """The policy in a file of `TreePolicy.save`, or the average policy in a solver's file.

  Raises:
    OSError: no such file.
    ValueError: the file is truncated or foreign.
  """
  header, arrays = storage.read(path)
  if header["kind"] == "solver":
    return load_solver(path).average_policy()
  return TreePolicy.from_file(header, arrays, path)


def _subclasses(kind: type) -> list[type]:
  """All classes below `kind`."""
  return [k for below in kind.__subclasses__() for k in (below, *_subclasses(below))]
