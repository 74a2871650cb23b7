"""Solvers beside OpenSpiel's own: exploitability by iterations and by seconds, measured alike.

The time of a run leaves out the steps before the first iteration (building trees, compiling), which are
reported separately, and evaluation. One function evaluates every average policy, exactly, in float64.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pyspiel

from ps_cfr_spiel.compiler import build_tree
from ps_cfr_spiel.evaluation.exploitability import evaluate_policy
from ps_cfr_spiel.evaluation.points import ROUND, Point, measurements, next_measurement
from ps_cfr_spiel.reports import Stopwatch, progress_bar
from ps_cfr_spiel.solvers import ContinualResolving, ExactSolver, ExternalSamplingSolver, PSCFRSolver, Solver
from ps_cfr_spiel.tree import Evaluation, PublicTree

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


def measure(make: Callable[[pyspiel.Game], Any], game: pyspiel.Game, tree: PublicTree, seconds: float) -> Run:
  """Runs one solver for some time and measures it at iterations 1, 2, 5, 10, 20, 50, ...

  Args:
    make: from a game to a solver, this package's or OpenSpiel's, Python or C++.
    game: the game.
    tree: of `build_tree(game)`.
    seconds: for the iterations; one that begins in time is finished.
  """
  with Stopwatch() as setup:
    solver = make(game)
    if isinstance(solver, Solver):
      solver.compile()
  points, done, iterating, pace = [], 0, Stopwatch(), 1.0  # pace: iterations a second of late
  while iterating.seconds < seconds:
    steps = max(min(next_measurement(done, ROUND) - done, int((seconds - iterating.seconds) * pace)), 1)
    with iterating:
      _advance(solver, steps)
    done, pace = done + steps, steps / iterating.last
    found = evaluate_policy(game, solver.average_policy(), tree=tree, progress=False)
    points.append(_point(done, iterating.seconds, found))
  return Run(setup.seconds, tuple(points))


def curve(solver: ExactSolver, iterations: int) -> tuple[Point, ...]:
  """Runs a solver further and measures it at the marks of `points.measurements`.

  Args:
    solver: at any iteration; it is compiled first.
    iterations: how many more.

  Raises:
    ValueError: `iterations` is not positive.
  """
  if iterations < 1:
    raise ValueError(f"iterations must be at least 1, got {iterations!r}.")
  solver.compile()
  points, start, iterating = [], solver.iteration, Stopwatch()
  for mark in measurements(iterations):
    with iterating:
      solver.run(start + mark - solver.iteration)
    points.append(_point(solver.iteration, iterating.seconds, solver.evaluation()))
  return tuple(points)


def resolving_curve(
  game: pyspiel.Game, iterations: Sequence[int] = (10, 30, 100, 300, 1000), **options: Any
) -> tuple[Point, ...]:
  """Exploitability of continual re-solving, by the iterations of each search.

  Args:
    game: from `pyspiel.load_game`.
    iterations: of each search, one number for each measurement.
    **options: of `ContinualResolving`.

  Returns:
    Points whose seconds are those of solving all public states of the game, compilation included.
  """
  points = []
  for count in iterations:
    with Stopwatch() as searching:
      policy = ContinualResolving(game, count, **options).tabularise()
    points.append(_point(count, searching.seconds, evaluate_policy(game, policy)))
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
    game: from `pyspiel.load_game`, small enough to enumerate.
    seconds: for the iterations of each.
    solvers: makers by name; `OURS` and `THEIRS` by default.
    progress: show a progress bar, a step for each solver; None: after two seconds.

  Raises:
    ValueError: seconds is not positive, or the game cannot be compiled.
  """
  if not seconds > 0:
    raise ValueError(f"seconds must be positive, got {seconds!r}.")
  tree = build_tree(game)
  solvers = {**OURS, **THEIRS} if solvers is None else solvers
  runs = {}
  with progress_bar(progress, total=len(solvers), unit=" solvers", leave=False) as bar:
    for name, make in solvers.items():
      bar.set_description(name)
      runs[name] = measure(make, game, tree, seconds)
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
