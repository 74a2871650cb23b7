"""Solvers beside OpenSpiel's own: exploitability by iterations and by seconds, measured alike.

A run is timed without what comes before the first iteration (building trees, compiling), which is told
apart, and without evaluation. Every average policy is evaluated by the same function, exactly, in float64.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import pyspiel

from ps_cfr_spiel.compiler import build_tree
from ps_cfr_spiel.device import precision, to_device
from ps_cfr_spiel.evaluation.exploitability import evaluate_policy
from ps_cfr_spiel.evaluation.points import ROUND, Point, measurements, next_measurement
from ps_cfr_spiel.policy import make_state, strategies_of
from ps_cfr_spiel.reports import progress_bar
from ps_cfr_spiel.solvers import ContinualResolving, ExactSolver, ExternalSamplingSolver, PSCFRSolver, Solver
from ps_cfr_spiel.tree import Evaluation, PublicTree, evaluate

PEER = "OpenSpiel "  # the names of its solvers begin so, then comes that of the algorithm

OURS: Mapping[str, Callable[[pyspiel.Game], Any]] = {
  "CFR": lambda game: PSCFRSolver(game, "rm"),
  "CFR+": lambda game: PSCFRSolver(game, "rm+"),
  "NRM+": PSCFRSolver,
  "external sampling": lambda game: ExternalSamplingSolver(game, batch=16),
}
THEIRS: Mapping[str, Callable[[pyspiel.Game], Any]] = {
  f"{PEER}CFR": pyspiel.CFRSolver,
  f"{PEER}CFR+": pyspiel.CFRPlusSolver,
  f"{PEER}external sampling": lambda game: pyspiel.ExternalSamplingMCCFRSolver(game, seed=1),
}


class Run(NamedTuple):
  """A solver at work.

  Attributes:
    setup_seconds: time to build and compile, before the first iteration.
    points: what was measured, in order.
  """

  setup_seconds: float
  points: tuple[Point, ...]


class Exploitability:
  """Exploitability of any solver's average policy in one game, whose tree is built once."""

  def __init__(self, game: pyspiel.Game):
    """Builds the tree and a state of every infostate, for policies that know only states."""
    self._game = game
    self._tree: PublicTree = build_tree(game)
    labels = self._tree.names
    self._states = {name: make_state(labels, game, row, h) for row, h, name in labels.infostates()}

  def __call__(self, policy: Any) -> float:
    """NashConv / 2 of a policy, exact, in float64."""
    return self.evaluation(policy).exploitability

  def evaluation(self, policy: Any) -> Evaluation:
    """Value, best responses and exploitability of a policy, exact, in float64, as floats."""
    if isinstance(policy, pyspiel.Policy):
      table = {name: list(policy.action_probabilities(s).items()) for name, s in self._states.items()}
      policy = pyspiel.TabularPolicy(table)
    strategies = strategies_of(self._tree, self._game, policy)
    with precision("float64"):
      return jax.tree.map(float, evaluate(*to_device((self._tree, strategies), "float64")))


def measure(
  make: Callable[[pyspiel.Game], Any],
  game: pyspiel.Game,
  evaluation: Callable[[Any], Evaluation],
  seconds: float,
) -> Run:
  """Runs one solver for some time and measures it at iterations 1, 2, 5, 10, 20, 50, ...

  Args:
    make: from a game to a solver, this package's or OpenSpiel's, Python or C++.
    game: the game.
    evaluation: of an average policy.
    seconds: how long the iterations may take; one begun in time is finished.
  """
  started = time.perf_counter()
  solver = make(game)
  if isinstance(solver, Solver):
    solver.compile()
  setup = time.perf_counter() - started
  points: list[Point] = []
  done, spent, pace = 0, 0.0, 1.0  # iterations, their seconds, iterations a second of late
  while spent < seconds:
    steps = max(min(next_measurement(done, ROUND) - done, int((seconds - spent) * pace)), 1)
    started = time.perf_counter()
    _advance(solver, steps)
    elapsed = time.perf_counter() - started
    done, spent, pace = done + steps, spent + elapsed, steps / elapsed
    points.append(_point(done, spent, evaluation(solver.average_policy())))
  return Run(setup, tuple(points))


def curve(solver: ExactSolver, iterations: int) -> tuple[Point, ...]:
  """Runs a solver further and measures it, ever more rarely: see `points.next_measurement`.

  Args:
    solver: at any iteration; it is compiled first.
    iterations: how many more.

  Raises:
    ValueError: `iterations` is not positive.
  """
  if iterations < 1:
    raise ValueError(f"iterations must be at least 1, got {iterations!r}.")
  solver.compile()
  points: list[Point] = []
  start, spent = solver.iteration, 0.0
  for mark in measurements(iterations):
    started = time.perf_counter()
    solver.run(start + mark - solver.iteration)
    spent += time.perf_counter() - started
    points.append(_point(solver.iteration, spent, solver.evaluation()))
  return tuple(points)


def resolving_curve(
  game: pyspiel.Game, iterations: Sequence[int] = (10, 30, 100, 300, 1000), **options: Any
) -> tuple[Point, ...]:
  """Exploitability of continual re-solving, by the iterations of each search.

  Args:
    game: from `pyspiel.load_game`.
    iterations: of each search, as often as it is measured.
    **options: of `ContinualResolving`.

  Returns:
    Points whose seconds are those of solving all public states of the game, compilation included.
  """
  points = []
  for count in iterations:
    started = time.perf_counter()
    policy = ContinualResolving(game, count, **options).tabularise()
    seconds = time.perf_counter() - started
    points.append(_point(count, seconds, evaluate_policy(game, policy)))
  return tuple(points)


def _point(iteration: int, seconds: float, evaluation: Evaluation) -> Point:
  return Point(iteration, seconds, float(evaluation.exploitability), float(evaluation.value))


def _advance(solver: Any, steps: int) -> None:
  if isinstance(solver, Solver):
    solver.run(steps)
    return
  once = solver.run_iteration if hasattr(solver, "run_iteration") else solver.evaluate_and_update_policy
  for _ in range(steps):
    once()


def compare(
  game: pyspiel.Game,
  seconds: float = 1.0,
  solvers: Mapping[str, Callable[[pyspiel.Game], Any]] | None = None,
  progress: bool | None = None,
) -> dict[str, Run]:
  """Runs several solvers on a game, one after the other.

  Args:
    game: from `pyspiel.load_game`, small enough to be walked.
    seconds: for the iterations of each.
    solvers: makers by name; `OURS` and `THEIRS` by default.
    progress: show a progress bar, a step for each solver; None shows it to people who wait.

  Raises:
    ValueError: seconds is not positive, or the game cannot be compiled.
  """
  if not seconds > 0:
    raise ValueError(f"seconds must be positive, got {seconds!r}.")
  evaluation = Exploitability(game).evaluation
  solvers = {**OURS, **THEIRS} if solvers is None else solvers
  runs = {}
  with progress_bar(progress, total=len(solvers), unit=" solvers", leave=False) as bar:
    for name, make in solvers.items():
      bar.set_description(name)
      runs[name] = measure(make, game, evaluation, seconds)
      bar.update()
  return runs


def table(runs: Mapping[str, Run]) -> str:
  """A line for each run: seconds to set up, then where its iterations led."""
  width = max(map(len, runs), default=0)
  lines = [f"{'':{width}}{'set-up':>10}{'iterations':>12}{'each':>12}{'exploitability':>16}"]
  for name, run in runs.items():
    last = run.points[-1]
    each = f"{1e6 * last.seconds / last.iteration:,.0f} us"
    lines.append(
      f"{name:{width}}{run.setup_seconds:8.2f} s{last.iteration:12,}{each:>12}{last.exploitability:16.2e}"
    )
  return "\n".join(lines)
