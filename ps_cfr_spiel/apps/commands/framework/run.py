"""A run of the command solve: a solver at work, its measurements, reports and files."""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

import ps_cfr_spiel as ps
from ps_cfr_spiel.apps.commands.framework.flags import (
  exploitability_facts,
  general_sum_facts,
  general_sum_lines,
  local_regret_facts,
  local_regrets_of,
)
from ps_cfr_spiel.apps.commands.framework.run_tables import write_points
from ps_cfr_spiel.arguments import JSON
from ps_cfr_spiel.memory import TooLarge, peak_memory, readable_bytes
from ps_cfr_spiel.reports import Stopwatch

RUN, POINTS, CURVE, STRATEGY = "run.safetensors", "exploitability.csv", "exploitability.png", "strategy.png"


@dataclasses.dataclass
class Run:
  """A solver at work."""

  solver: ps.measures.ExactSolver
  points: list[ps.measures.Point]  # so far, in order, with those of the resumed run
  folder: Path  # for the results
  target: float  # exploitability at which to stop, in the game's unit; minus infinity for never
  checkpoint_seconds: float  # least time between two saves
  quiet: bool  # no progress bar and no table
  building: Stopwatch  # time to build and compile
  saved: int | None = None  # iteration of the last save, if there was any

  def __post_init__(self):
    self.start = self.done = self.solver.iteration  # `done` is for other threads
    self.earlier_seconds = self.points[-1].seconds if self.points else 0.0  # of the iterations before
    self.measuring = Stopwatch(self.solver.clock)

  @property
  def file(self) -> Path:
    """The file of the run."""
    return self.folder / RUN

  @property
  def abstraction(self) -> ps.abstractions.Abstraction | None:
    """The present sets of infostates that play alike, or None."""
    abstraction = self.solver.abstraction
    if abstraction is None:
      return None  # so that a plain run does not import abstractions
    return abstraction if isinstance(abstraction, ps.abstractions.Abstraction) else None

  @property
  def seconds(self) -> float:
    """Time of the iterations."""
    return self.solver.pace.seconds

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
      evaluation = self.solver.evaluation(False if self.quiet else None)
      seconds = self.earlier_seconds + self.seconds
    self.points.append(
      ps.measures.Point(
        self.solver.iteration, seconds, float(evaluation.exploitability), float(evaluation.value)
      )
    )

  def iterate(self, iterations: int) -> None:
    """Run until the end or the target, save, and measure on the way, ever more rarely."""
    self.solver.run(
      0 if self.reached else iterations,
      progress=False if self.quiet else None,
      every=self._next_look,
      callback=lambda _: self._look(self.start + iterations),
      checkpoint=self.checkpoint,
      checkpoint_seconds=self.checkpoint_seconds,
    )
    if not self.further:
      self.measure()
      self.checkpoint()

  def iterate_until(self, iterations: int, stopped: Callable[[], bool]) -> None:
    """The same without saving; ends too, and measures once more, soon after `stopped` is true."""
    marks, end = self._next_look, self.start + iterations

    def look(solver: ps.Solver) -> bool:
      self.done = done = solver.iteration
      return ((done == end or marks(done - 1) == done) and self._look(end)) or stopped()

    self.solver.run(
      iterations,
      progress=False,
      every=lambda done: min(marks(done), done + self.solver.pace.chunk),
      callback=look,
    )
    self.measure()

  def _next_look(self, done: int) -> int:
    """The iteration after `done` of the next look: ever more rarely, and where the target is expected."""
    return ps.measures.next_measurement_towards(self.target, self.points, done)

  def _look(self, end: int) -> bool:
    """Measure, and print a row of the table; whether the target is reached."""
    iteration, last = self.solver.iteration, self.solver.iteration == end
    # Where measuring is slow it takes half of the time.
    if self.solver.slowly_evaluated and self.measuring.seconds > self.seconds and not last:
      return False
    self.measure()
    if (ps.measures.is_round(iteration) or last or self.reached) and self.points:
      self.say(self.table_row())
    return self.reached

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

  @property
  def cce_gap(self) -> float | None:
    """The gain from leaving the joint play of all iterations, in general-sum games and where it is known."""
    solver = self.solver
    if not isinstance(solver, ps.PSCFRSolver) or solver.tree.leaves.zero_sum:
      return None
    return solver.cce_gap()

  @functools.cached_property
  def local_regrets(self) -> ps.measures.LocalRegrets | None:
    """Those of the average strategy at the end, in small games that are solved with trembles."""
    policy = self.solver.average_policy() if self.solver.options.header().get("tremble") else None
    return local_regrets_of(policy) if isinstance(policy, ps.TreePolicy) else None

  def facts(self, files: Sequence[str]) -> dict[str, JSON]:
    """The result for programs."""
    game, sets, values = self.solver.game, self.abstraction, {}
    if self.solver.evaluable:
      last = self.points[-1]
      values = {"value": last.value, **exploitability_facts(last.exploitability, game)}
      values |= general_sum_facts(self.solver.evaluation())
      values |= {} if self.cce_gap is None else {"cce_gap": self.cce_gap}
      values |= local_regret_facts(self.local_regrets) if self.local_regrets else {}
    return {
      "game": str(game),
      "method": self.solver.description,
      **self.locked,
      "iterations": self.solver.iteration,
      **values,
      **({"sets": sets.count, "infostates": sets.infostates} if sets else {}),
      "target_reached": self.reached,
      "seconds": self.seconds,
      "setup_seconds": self.building.seconds,
      "peak_bytes": peak_memory(),
      "saved": [str(self.folder / name) for name in files],
    }

  def result(self, files: Sequence[str]) -> dict[str, str]:
    """The result for people."""
    game, values, peak = self.solver.game, {}, peak_memory()
    if self.solver.evaluable:
      last, evaluation = self.points[-1], self.solver.evaluation()
      values = {
        **ps.views.value_lines(evaluation.values, game),
        "exploitability": ps.views.with_unit(last.exploitability, game),
        **general_sum_lines(evaluation),
        **(
          {}
          if self.cce_gap is None
          else {"gap of a CCE": f"{self.cce_gap:.4g}, of all iterations' joint play"}
        ),
        **(ps.views.local_regret_lines(self.local_regrets, game) if self.local_regrets else {}),
      }
    return {
      **self.locked,
      **values,
      **({"abstraction": self.abstraction.size} if self.abstraction else {}),
      "time": f"{self.seconds:.2f} s for {self.solver.iteration - self.start:,} iterations, "
      f"after {self.building.seconds:.1f} s to build and compile",
      **({"peak memory": readable_bytes(peak)} if peak else {}),
      "saved": f"{', '.join(files)} in {self.folder}",
    }

  # --- Files ------------------------------------------------------------------------------

  def checkpoint(self) -> None:
    """Save the run and its measurements, so that both can be continued; all processes must call it."""
    self.solver.save(self.file)
    self.saved = self.solver.iteration
    if ps.runtime.is_first_process():
      write_points(self.folder / POINTS, self.points)

  @property
  def saved_state(self) -> str:
    """The state that an error leaves when it ends the run, as a sentence."""
    if self.saved is None:
      return "Nothing was saved."
    return f"The run up to iteration {self.saved:,} is in {self.file}; continue with --resume."

  def values_fit(self, memory: float | None) -> bool:
    """True if the values of the average policy can be saved in `memory` bytes; says if they need more."""
    try:
      return ps.runtime.is_first_process() and self.solver.values_fit(memory)
    except TooLarge as error:
      print(f"The values of actions were not saved. {error}", file=sys.stderr)
      return False

  def policy(self) -> ps.TreePolicy | None:
    """The average policy, to draw and to keep; None, and says so, if it needs more memory than is free."""
    try:
      policy = self.solver.average_policy()
    except TooLarge as error:
      print(f"No strategy is drawn, and no values are saved. {error}", file=sys.stderr)
      return None
    return policy if isinstance(policy, ps.TreePolicy) else None

  def draw(self, pictures: ModuleType, policy: ps.TreePolicy | None) -> list[str]:
    """Draw the pictures of the run and of a policy; return their files' names."""
    name, game = self.solver.name, self.solver.game
    figures = {CURVE: pictures.exploitability_curve(game, {name: self.points})} if self.points else {}
    if policy is not None and ps.views.charts.deals_hands(policy):
      figures[STRATEGY] = pictures.hand_chart(policy)
    for name, figure in figures.items():
      figure.savefig(self.folder / name)
    return list(figures)
