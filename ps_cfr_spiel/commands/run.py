"""A run of the command solve: a solver at work, its measurements, reports and files."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import ps_cfr_spiel as ps
from ps_cfr_spiel.commands.flags import exploitability_facts, general_sum_facts, general_sum_lines, values_of
from ps_cfr_spiel.memory import TooLarge
from ps_cfr_spiel.reports import Stopwatch, progress_bar

RUN, POINTS, CURVE, STRATEGY = "run.safetensors", "exploitability.csv", "exploitability.png", "strategy.png"


@dataclasses.dataclass
class Run:
  """A solver at work."""

  solver: ps.solvers.ExactSolver
  points: list[ps.evaluation.Point]  # so far, in order, with those of the resumed run
  folder: Path  # for the results
  target: float  # exploitability at which to stop, in the game's unit; minus infinity for never
  checkpoint_seconds: float  # least time between two saves
  quiet: bool  # no progress bar and no table
  building: Stopwatch  # time to build and compile
  table: bool = True  # print each row of measurements

  def __post_init__(self):
    self.start = self.solver.iteration
    self.saved = "Nothing was saved."  # how to go on after an error, for people
    self.earlier_seconds = self.points[-1].seconds if self.points else 0.0  # of the iterations before
    self.iterating, self.measuring, self.saving = (Stopwatch(self.solver.clock) for _ in range(3))

  @property
  def file(self) -> Path:
    """The file of the run."""
    return self.folder / RUN

  @property
  def abstraction(self) -> ps.abstraction.Abstraction | None:
    """The present sets of infostates that play alike, or None."""
    found = getattr(self.solver, "abstraction", None)
    return found if isinstance(found, ps.abstraction.Abstraction) else None

  @property
  def further(self) -> bool:
    """True once an iteration has been finished."""
    return self.solver.iteration > self.start

  @property
  def reached(self) -> bool:
    """Whether the last measurement meets the target."""
    return bool(self.points) and self.points[-1].exploitability <= self.target

  def say(self, *lines: str) -> None:
    """Print lines, unless the run is quiet."""
    if not self.quiet:
      print(*lines, sep="\n", flush=True)

  def measure(self) -> None:
    """Add the point of the present iteration, if it is still missing and the game can be evaluated."""
    if not self.solver.evaluable:
      return
    if self.points and self.points[-1].iteration == self.solver.iteration:
      return
    with self.measuring:
      found, seconds = self.solver.evaluation(), self.earlier_seconds + self.iterating.seconds
    self.points.append(
      ps.evaluation.Point(self.solver.iteration, seconds, float(found.exploitability), float(found.value))
    )

  def iterate(self, iterations: int) -> bool:
    """Run until the end, the target or Ctrl-C, and measure on the way, ever more rarely.

    Returns whether a signal to one of several processes has asked all to stop.
    """
    solver, end = self.solver, self.start + iterations
    clock = solver.clock  # which all processes of a run share
    pace, saved_at, stopped = 0.0, clock(), False  # iterations a second; time of the last checkpoint

    def tick(_) -> bool:
      nonlocal saved_at, stopped
      bar.update(solver.iteration - self.start - bar.n)
      if clock() - saved_at >= max(self.checkpoint_seconds, self.saving.last / ps.solvers.SAVING_SHARE):
        self.checkpoint()
        saved_at = clock()
      stopped = ps.device.asked_to_stop()
      return stopped

    with progress_bar(False if self.quiet else None, total=iterations, desc=solver.name, unit="it") as bar:
      while solver.iteration < end and not self.reached and not stopped:
        before = solver.iteration
        steps = min(ps.evaluation.next_measurement(before), end) - before
        with self.iterating:
          solver.run(steps, every=max(1, int(pace * ps.solvers.CHUNK_SECONDS)), callback=tick)
        pace = (solver.iteration - before) / max(self.iterating.last, 1e-9)
        last = solver.iteration == end
        # Where measuring is slow it takes half of the time.
        slow = solver.slowly_evaluated and self.measuring.seconds > self.iterating.seconds
        if stopped or (slow and not last):
          continue
        self.measure()
        if ps.evaluation.is_round(solver.iteration) or last or self.reached:
          bar.clear()
          if self.table and self.points:
            self.say(self.table_row())
          bar.refresh()
    return stopped

  # --- Reports ----------------------------------------------------------------------------

  def table_head(self) -> str:
    """The head of the table of measurements."""
    if not self.solver.evaluable:
      return "The game is too large for exact values, so they are not printed."
    game = self.solver.game
    share = f"{'% of the pot':>16}" if ps.views.pot_of(game) else ""
    sets = f"{'sets':>11}" if self.abstraction else ""
    return f"{'iteration':>10}{'seconds':>11}{f'exploitability ({ps.views.unit_of(game)})':>28}{share}{sets}"

  def table_row(self) -> str:
    """The last measurement as a line of the table."""
    point, pot = self.points[-1], ps.views.pot_of(self.solver.game)
    share = f"{ps.views.number_text(100 * point.exploitability / pot):>16}" if pot else ""
    sets = f"{self.abstraction.count:>11,}" if self.abstraction else ""
    exploitability = ps.views.number_text(point.exploitability)
    return f"{point.iteration:>10,}{point.seconds:>11.3f}{exploitability:>28}{share}{sets}"

  @property
  def locked(self) -> dict[str, str]:
    """The solver's locks, if it has any."""
    locked = self.solver.locked if isinstance(self.solver, ps.PSCFRSolver) else ""
    return {"locked": locked} if locked else {}

  def facts(self, files: Sequence[str]) -> dict[str, Any]:
    """The result for programs."""
    game, sets, values = self.solver.game, self.abstraction, {}
    if self.solver.evaluable:
      last = self.points[-1]
      values = {"value": last.value, **exploitability_facts(last.exploitability, game)}
      values |= general_sum_facts(self.solver.evaluation())
    return {
      "game": str(game),
      "method": self.solver.description,
      **self.locked,
      "iterations": self.solver.iteration,
      **values,
      **({"sets": sets.count, "infostates": sets.infostates} if sets else {}),
      "target_reached": self.reached,
      "seconds": self.iterating.seconds,
      "setup_seconds": self.building.seconds,
      "saved": [str(self.folder / name) for name in files],
    }

  def result(self, files: Sequence[str]) -> dict[str, str]:
    """The result for people."""
    game, values = self.solver.game, {}
    if self.solver.evaluable:
      last, found = self.points[-1], self.solver.evaluation()
      values = {
        **ps.views.value_lines(values_of(found), game),
        "exploitability": ps.views.with_unit(last.exploitability, game),
        **general_sum_lines(found),
      }
    return {
      **self.locked,
      **values,
      **({"abstraction": self.abstraction.size} if self.abstraction else {}),
      "time": f"{self.iterating.seconds:.2f} s for {self.solver.iteration - self.start:,} iterations, "
      f"after {self.building.seconds:.1f} s to build and compile",
      "saved": f"{', '.join(files)} in {self.folder}",
    }

  # --- Files ------------------------------------------------------------------------------

  def checkpoint(self) -> None:
    """Save the run and its measurements, so that both can be continued; all processes must call it."""
    with self.saving:
      self.solver.save(self.file)
      self.saved = f"Saved: iteration {self.solver.iteration:,}; start all again with --resume={self.file}."
      if ps.device.is_first_process():
        ps.evaluation.write_points(self.folder / POINTS, self.points)

  def keep(self) -> bool:
    """Save the run, if it has got further; whether it has."""
    if self.further:
      with ps.device.Uninterrupted():  # by an impatient second Ctrl-C
        self.checkpoint()
    return self.further

  def policy_to_keep(self, memory: float | None) -> ps.TreePolicy | None:
    """The average policy, for later looks at the run, if its values fit into `memory` bytes; else None."""
    solver = self.solver
    if not isinstance(solver, ps.solvers.TreeSolver) or not ps.device.is_first_process():
      return None
    try:
      kept = ps.policy.may_keep(solver.game, solver.tree.names, memory)
    except TooLarge as error:
      print(f"The values of actions were not saved. {error}", file=sys.stderr)
      return None
    return solver.average_policy() if kept else None

  def draw(self, pictures: ModuleType | None) -> list[str]:
    """Draw the pictures; return the names of all files of results."""
    files = [RUN, POINTS]
    if pictures is None or not ps.device.is_first_process():
      return files
    policy, name, game = self.solver.average_policy(), self.solver.name, self.solver.game
    figures = {CURVE: pictures.exploitability_curve(game, {name: self.points})} if self.points else {}
    if isinstance(policy, ps.TreePolicy) and ps.views.charts.deals_hands(policy):
      figures[STRATEGY] = pictures.hand_chart(policy)
    for name, figure in figures.items():
      figure.savefig(self.folder / name)
    return files + list(figures)
