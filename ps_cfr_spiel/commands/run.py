"""A run of the command solve: a solver at work, its measurements, reports and files."""

import contextlib
import dataclasses
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from ps_cfr_spiel.abstraction import Abstraction
from ps_cfr_spiel.commands.flags import exploitability_facts
from ps_cfr_spiel.device import is_first_process
from ps_cfr_spiel.evaluation import Point, write_points
from ps_cfr_spiel.policy import TreePolicy
from ps_cfr_spiel.reports import Stopwatch
from ps_cfr_spiel.solvers import ExactSolver, TreeSolver
from ps_cfr_spiel.views import charts, in_unit, number_text, pot_of, unit_of, with_unit

RUN, POINTS, CURVE, STRATEGY = "run.npz", "exploitability.csv", "exploitability.png", "strategy.png"


@dataclasses.dataclass
class Run:
  """A solver at work.

  Attributes:
    solver: the solver.
    points: the measurements so far, in order, with those of the resumed run.
    folder: for the results.
    target: exploitability at which to stop, in the game's unit; minus infinity for never.
    checkpoint_seconds: least time between two saves.
    quiet: no progress bar and no table.
    building: time to build and compile.
    start: the solver's iteration at the beginning.
    earlier_seconds: time of the iterations before.
    iterating: time of the iterations of this run.
    measuring: time of its measurements.
  """

  solver: ExactSolver
  points: list[Point]
  folder: Path
  target: float
  checkpoint_seconds: float
  quiet: bool
  building: Stopwatch

  def __post_init__(self):
    self.start = self.solver.iteration
    self.earlier_seconds = self.points[-1].seconds if self.points else 0.0
    self.iterating, self.measuring = Stopwatch(self.solver.clock), Stopwatch(self.solver.clock)

  @property
  def file(self) -> Path:
    """The file of the run."""
    return self.folder / RUN

  @property
  def abstraction(self) -> Abstraction | None:
    """The present sets of infostates that play alike, or None."""
    found = getattr(self.solver, "abstraction", None)
    return found if isinstance(found, Abstraction) else None

  @property
  def reached(self) -> bool:
    """Whether the last measurement meets the target."""
    return bool(self.points) and self.points[-1].exploitability <= self.target

  def say(self, *lines: str) -> None:
    """Prints lines, unless the run is quiet."""
    if not self.quiet:
      print(*lines, sep="\n", flush=True)


def measure(run: Run) -> None:
  """Adds the point of the present iteration, if it is still missing."""
  if run.points and run.points[-1].iteration == run.solver.iteration:
    return
  found, seconds = run.solver.evaluation(), run.earlier_seconds + run.iterating.seconds
  run.points.append(Point(run.solver.iteration, seconds, float(found.exploitability), float(found.value)))


# --- Reports ----------------------------------------------------------------------------


def table_head(run: Run) -> str:
  """The head of the table of measurements."""
  share = f"{'% of the pot':>16}" if pot_of(run.solver.game) else ""
  sets = f"{'sets':>11}" if run.abstraction else ""
  return f"{'iteration':>10}{'seconds':>11}{f'exploitability ({unit_of(run.solver.game)})':>28}{share}{sets}"


def table_row(run: Run) -> str:
  """The last measurement as a line of the table."""
  point, pot = run.points[-1], pot_of(run.solver.game)
  share = f"{number_text(100 * point.exploitability / pot):>16}" if pot else ""
  sets = f"{run.abstraction.count:>11,}" if run.abstraction else ""
  return f"{point.iteration:>10,}{point.seconds:>11.3f}{number_text(point.exploitability):>28}{share}{sets}"


def facts(run: Run, files: Sequence[str]) -> dict[str, Any]:
  """The result for programs."""
  game, last = run.solver.game, run.points[-1]
  return {
    "game": str(game),
    "method": run.solver.description,
    "iterations": last.iteration,
    "value": last.value,
    **exploitability_facts(last.exploitability, game),
    **({"sets": run.abstraction.count, "infostates": run.abstraction.infostates} if run.abstraction else {}),
    "target_reached": run.reached,
    "seconds": run.iterating.seconds,
    "setup_seconds": run.building.seconds,
    "saved": [str(run.folder / name) for name in files],
  }


def result(run: Run, files: Sequence[str]) -> dict[str, str]:
  """The result for people."""
  game, last = run.solver.game, run.points[-1]
  return {
    "value to player 0": in_unit(f"{last.value:.4g}", game),
    "exploitability": with_unit(last.exploitability, game),
    **({"abstraction": run.abstraction.size} if run.abstraction else {}),
    "time": f"{run.iterating.seconds:.2f} s for {run.solver.iteration - run.start:,} iterations, "
    f"after {run.building.seconds:.1f} s to build and compile",
    "saved": f"{', '.join(files)} in {run.folder}",
    "look at it": f"ps-cfr-spiel {'show' if isinstance(run.solver, TreeSolver) else 'evaluate'} {run.file}",
  }


# --- Files ------------------------------------------------------------------------------


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
  """Delays Ctrl-C to the end of the block."""
  pressed: list[bool] = []
  try:
    before = signal.signal(signal.SIGINT, lambda *_: pressed.append(True))
  except ValueError:  # not the main thread, where no Ctrl-C arrives
    yield
    return
  try:
    yield
  finally:
    signal.signal(signal.SIGINT, before)
  if pressed:
    raise KeyboardInterrupt


def checkpoint(run: Run) -> None:
  """Saves the run and its measurements, so that both can be continued; all processes must call it."""
  run.solver.save(run.file)
  if is_first_process():
    write_points(run.folder / POINTS, run.points)


def save(run: Run, pictures: ModuleType | None) -> list[str]:
  """Writes all results; returns the names of the files."""
  checkpoint(run)
  files, policy = [RUN, POINTS], run.solver.average_policy()
  if pictures is None or not is_first_process():
    return files
  name, game = run.solver.name, run.solver.game
  figures = {CURVE: pictures.exploitability_curve(game, {name: run.points})}
  if isinstance(policy, TreePolicy) and charts.deals_hands(policy):
    figures[STRATEGY] = pictures.hand_chart(policy)
  for name, figure in figures.items():
    figure.savefig(run.folder / name)
  return files + list(figures)
