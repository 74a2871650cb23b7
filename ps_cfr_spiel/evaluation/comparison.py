"""Solvers beside OpenSpiel's own: exploitability by iterations and by seconds, measured alike.

The time of a run leaves out the steps before the first iteration (building trees, compiling), which are
reported separately, and evaluation. One function evaluates every average policy, exactly, in float64.
"""

import inspect
import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyspiel

from ps_cfr_spiel.arguments import MOST_ITERATIONS
from ps_cfr_spiel.backend.device import Pace, advance
from ps_cfr_spiel.compilation.compiler import build_tree
from ps_cfr_spiel.evaluation.exploitability import evaluate_policy
from ps_cfr_spiel.evaluation.points import ROUND, Point, is_round, next_measurement
from ps_cfr_spiel.loading import sequential
from ps_cfr_spiel.options import ComparisonOptions
from ps_cfr_spiel.reports import Stopwatch, progress_bar
from ps_cfr_spiel.solvers import ContinualResolving, ExactSolver, ExternalSamplingSolver, PSCFRSolver, Solver
from ps_cfr_spiel.tree import Evaluation, PublicTree

MOST_WAITS = 30  # times the seconds of a run that may pass by the clock
PEER = "OpenSpiel "  # the names of its solvers begin so, then comes that of the algorithm

Maker: TypeAlias = Callable[..., Any]  # of a solver, anybody's, from a game and, where it draws, a seed
OURS: Mapping[str, Maker] = {
  "CFR": lambda game: PSCFRSolver(game, "rm"),
  "CFR+": lambda game: PSCFRSolver(game, "rm+"),
  "NRM+": PSCFRSolver,
  "external sampling": lambda game, seed=0: ExternalSamplingSolver(game, batch=16, seed=seed),
}
THEIRS: Mapping[str, Maker] = {
  f"{PEER}CFR": pyspiel.CFRSolver,
  f"{PEER}CFR+": pyspiel.CFRPlusSolver,
  f"{PEER}external sampling": lambda game, seed=0: pyspiel.ExternalSamplingMCCFRSolver(game, seed=seed),
}


class Run(NamedTuple):
  """A solver at work."""

  setup_seconds: float  #: time to build and compile, before the first iteration of the first run
  points: tuple[Point, ...]  #: measurements of the first run, in order
  repeats: tuple[tuple[Point, ...], ...] = ()  #: those of each further run
  failed: str | None = None  #: the error that ended it; it then has no points

  @property
  def by_seed(self) -> tuple[tuple[Point, ...], ...]:
    """The points of all runs; the number of a run is its seed. A solver that failed has no points."""
    return () if self.failed else (self.points, *self.repeats)


def measure(make: Maker, game: pyspiel.Game, tree: PublicTree, seconds: float) -> Run:
  """Run one solver, this package's or OpenSpiel's, Python or C++, and measure it at 1, 2, 5, 10, 20, ...

  An iteration that begins before `seconds` of iterations is finished; `tree` is that of `build_tree(game)`.
  If a solver takes one thread of a CPU, its time is that of the processor: the pauses of a busy machine,
  one for each measurement, would else be most of it. By the clock, a run ends after `MOST_WAITS` times
  `seconds`.
  """
  with Stopwatch() as setup:
    solver = make(game)
    if isinstance(solver, Solver):
      solver.compile()
  waits = isinstance(solver, Solver) and solver.device is not None  # the processor, for the accelerator
  pace, waiting = Pace(time.perf_counter if waits else _busy_clock(), chunk=MOST_ITERATIONS), Stopwatch()
  points: list[Point] = []

  def step(iterations: int) -> None:
    with waiting:
      _advance(solver, iterations)

  for done in advance(step, 0, MOST_ITERATIONS, pace, lambda done: next_measurement(done, ROUND), seconds):
    over = pace.seconds >= seconds or waiting.seconds >= MOST_WAITS * seconds
    if over or is_round(done):
      evaluation = evaluate_policy(game, solver.average_policy(), tree=tree, progress=False)
      points.append(_point(done, pace.seconds, evaluation))
    if over:
      break
  return Run(setup.seconds, tuple(points))


def _busy_clock() -> Callable[[], float]:
  """A clock of the time in seconds in which this process works: between two readings, by the clock or the
  processor, whichever went on less.
  """
  total, before = 0.0, (time.perf_counter(), time.process_time())

  def clock() -> float:
    nonlocal total, before
    now = time.perf_counter(), time.process_time()
    total, before = total + min(now[0] - before[0], now[1] - before[1]), now
    return total

  return clock


def curve(solver: ExactSolver, iterations: int) -> tuple[Point, ...]:
  """Compiles a solver, runs further iterations and measures it at the marks of `points.measurements`."""
  if iterations < 1:
    raise ValueError(f"iterations must be at least 1, got {iterations!r}.")
  solver.compile()
  points: list[Point] = []
  start, before = solver.iteration, solver.pace.seconds
  solver.run(
    iterations,
    progress=False,
    every=lambda done: start + next_measurement(done - start),
    callback=lambda _: points.append(
      _point(solver.iteration, solver.pace.seconds - before, solver.evaluation())
    ),
  )
  return tuple(points)


def resolving_curve(
  game: pyspiel.Game, iterations: Sequence[int] = (10, 30, 100, 300, 1000), **options: object
) -> tuple[Point, ...]:
  """Exploitability of continual re-solving (with its `options`), by the iterations of each search.

  Seconds are those of solving all public states of the game, compilation included.
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
  # OpenSpiel's samplers and its exact solvers have other names for it.
  once = solver.run_iteration if hasattr(solver, "run_iteration") else solver.evaluate_and_update_policy
  for _ in range(steps):
    once()


def compare(
  game: pyspiel.Game,
  options: ComparisonOptions | float | None = None,
  *,
  progress: bool | None = None,
  **keywords: object,
) -> dict[str, Run]:
  """Run several solvers on a game, one after the other; ValueError for a wrong argument or game.

  A solver that raises an error has a run that says so (`Run.failed`), and the others run on.

  Args:
    game: from `pyspiel.load_game`, small enough to enumerate.
    options: all options, or the seconds alone.
    progress: show a progress bar, a step for each run; None: after two seconds.
    **keywords: options by name; see `ComparisonOptions`.
  """
  return by_solver(each_run(game, options, progress=progress, **keywords))


def each_run(
  game: pyspiel.Game,
  options: ComparisonOptions | float | None = None,
  *,
  progress: bool | None = None,
  **keywords: object,
) -> Iterator[tuple[str, Run]]:
  """The runs of `compare`, with the names of their solvers, each when it is done; arguments as there."""
  options = ComparisonOptions.of(options, **keywords)
  seconds, seeds = options.seconds, options.seeds
  solvers = {**OURS, **THEIRS} if options.solvers is None else options.solvers
  if not (isinstance(solvers, Mapping) and all(map(callable, solvers.values()))):
    raise ValueError(
      f"solvers must map names to makers of solvers, as {{'cfr': CFRSolver}}, got {solvers!r}."
    )
  game = sequential(game)
  tree = build_tree(game)
  failed: set[str] = set()
  with progress_bar(progress, total=len(solvers) * seeds, unit=" runs", leave=False) as bar:
    for seed in range(seeds):  # round after round: a busy spell of the machine must not meet one solver alone
      for name, make in solvers.items():
        bar.set_description(name)
        if name not in failed:
          try:
            run = measure(_seeded(make, seed), game, tree, seconds)
          except Exception as error:  # a solver and a game may be anybody's: they may raise anything
            kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "  # ours have sentences
            run = Run(0.0, (), failed=kind + " ".join(str(error).split()))
            failed.add(name)
          yield name, run
        bar.update()


def by_solver(runs: Iterable[tuple[str, Run]]) -> dict[str, Run]:
  """The runs of each solver as one with repeats, by its name; one that failed stands for them all."""
  of_solver: dict[str, list[Run]] = {}
  for name, run in runs:
    of_solver.setdefault(name, []).append(run)
  return {
    name: each[-1] if each[-1].failed else each[0]._replace(repeats=tuple(run.points for run in each[1:]))
    for name, each in of_solver.items()
  }


def _seeded(make: Maker, seed: int) -> Maker:
  """The maker with its seed, if it takes one."""
  try:
    draws = "seed" in inspect.signature(make).parameters
  except (TypeError, ValueError):  # classes of C++ have no signature
    draws = False
  return (lambda game: make(game, seed=seed)) if draws else make


def runs_rows(game: pyspiel.Game, runs: Mapping[str, Run]) -> list[dict[str, object]]:
  """All measurements as plain rows for a CSV file or `pandas.DataFrame`.

  Keys: game, solver, seed, setup_seconds (those of the first run), the fields of `Point`, and failed: one row
  of a solver that failed, with its error there and None for all numbers.
  """
  no_point = dict.fromkeys(Point._fields)
  made: list[dict[str, object]] = []
  for name, run in runs.items():
    of_run = {"game": str(game), "solver": name}
    if run.failed:
      made.append({**of_run, "seed": None, "setup_seconds": None, **no_point, "failed": run.failed})
    for seed, points in enumerate(run.by_seed):
      same = {**of_run, "seed": seed, "setup_seconds": run.setup_seconds}
      made += [{**same, **point._asdict(), "failed": None} for point in points]
  return made


def runs_table(runs: Mapping[str, Run]) -> str:
  """A line for each solver: seconds to set up, the time of an iteration, and the end; or why it failed.

  The time of an iteration is that of the fastest between two measurements, as a free machine would have it.
  Of several runs it has means, with half of the 95% interval by Student's t.
  """
  lines = [("", "set-up", "iterations", "each", "exploitability")]
  for name, run in runs.items():
    if run.failed:
      continue
    last = [points[-1] for points in run.by_seed]
    iterations = np.mean([point.iteration for point in last])
    each = _with_interval([1e6 * _fastest(points) for points in run.by_seed], ",.1f")
    reached = _with_interval([point.exploitability for point in last], ".2e")
    lines.append((name, f"{run.setup_seconds:.2f} s", f"{iterations:,.0f}", f"{each} us", reached))
  widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
  widths[0] = max(map(len, ["", *runs]))
  written = {line[0]: "  ".join(map(str.rjust, line[1:], widths[1:])) for line in lines}
  written |= {name: f"failed: {run.failed}" for name, run in runs.items() if run.failed}
  return "\n".join(f"{name:{widths[0]}}  {written[name]}" for name in ("", *runs))


def _fastest(points: Sequence[Point]) -> float:
  """Seconds of an iteration, between those two measurements where it was least."""
  ends = [(0, 0.0), *((point.iteration, point.seconds) for point in points)]
  return min((after - before) / (end - start) for (start, before), (end, after) in itertools.pairwise(ends))


def _with_interval(numbers: Sequence[float], form: str) -> str:
  """The mean, and of several numbers half of its 95% interval."""
  mean = format(np.mean(numbers), form)
  if len(numbers) == 1:
    return mean
  from scipy import stats  # imported here: it takes 0.3 s

  half = stats.t.ppf(0.975, len(numbers) - 1) * stats.sem(numbers)
  return f"{mean} ± {format(half, form)}"
