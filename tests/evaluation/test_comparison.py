import itertools
import re
import types

import pyspiel
import pytest
from open_spiel.python.algorithms import exploitability as openspiel_exploitability

import ps_cfr_spiel
from ps_cfr_spiel.evaluation import Point, comparison, evaluate_policy
from ps_cfr_spiel.evaluation.comparison import Run
from ps_cfr_spiel.reports import Stopwatch

FEW = {
  "CFR+": lambda game: ps_cfr_spiel.PSCFRSolver(game, "rm+", dtype="float64"),
  "OpenSpiel CFR+": pyspiel.CFRPlusSolver,
  "OpenSpiel external sampling": comparison.THEIRS["OpenSpiel external sampling"],
}


@pytest.fixture(scope="module")
def kuhn():
  return pyspiel.load_game("kuhn_poker")


@pytest.fixture(scope="module")
def runs(kuhn):
  return comparison.compare(kuhn, 0.1, solvers=FEW)


def test_every_solver_runs_for_its_time(runs):
  assert list(runs) == list(FEW)
  for run in runs.values():
    iterations = [point.iteration for point in run.points]
    assert iterations == sorted(set(iterations)) and iterations[0] == 1
    assert run.points[-2].seconds < 0.1 <= run.points[-1].seconds
    assert run.setup_seconds > 0


def test_the_same_algorithm_has_the_same_curve_here_and_there(runs):
  ours, theirs = (
    {point.iteration: point.exploitability for point in runs[name].points}
    for name in ("CFR+", "OpenSpiel CFR+")
  )
  common = ours.keys() & theirs.keys()
  assert len(common) > 1  # more where the machine is idle
  for iteration in common:
    assert ours[iteration] == pytest.approx(theirs[iteration], abs=1e-9)


def evaluate(game, policy):
  """Exploitability by a tree that is built before."""
  return evaluate_policy(game, policy, tree=ps_cfr_spiel.build_tree(game)).exploitability


def test_policies_that_know_states_only_are_evaluated_too(kuhn):
  solver = pyspiel.ExternalSamplingMCCFRSolver(kuhn, seed=3)
  for _ in range(100):
    solver.run_iteration()
  policy = solver.average_policy()
  expected = pyspiel.exploitability(kuhn, policy)
  assert evaluate(kuhn, policy) == pytest.approx(expected, abs=1e-12)


def test_python_policies_are_evaluated(kuhn):
  policy = ps_cfr_spiel.PSCFRSolver(kuhn).average_policy().to_tabular()
  expected = openspiel_exploitability.exploitability(kuhn, policy)
  assert evaluate(kuhn, policy) == pytest.approx(expected, abs=1e-12)


def test_the_table_tells_set_up_and_iterations_apart():
  run = Run(2.5, (Point(1, 0.001, 0.5, 0.0), Point(4000, 2.0005, 0.00125, 0.0)))
  head, line = comparison.runs_table({"CFR+": run}).splitlines()
  assert head.split() == ["set-up", "iterations", "each", "exploitability"]
  assert line.split() == ["CFR+", "2.50", "s", "4,000", "500.0", "us", "1.25e-03"]


def test_columns_never_run_together():
  slow = Run(0.49, (Point(1, 11.116729, 0.5, 0.0),))
  fast = Run(1234.5, (Point(123_456_789, 1.0, 0.5, 0.0),))
  for line in comparison.runs_table({"OpenSpiel CFR+": slow, "NRM+": fast}).splitlines()[1:]:
    assert len(re.split(r"  +", line)) == 5, line


def test_seeds_are_runs_of_their_own(kuhn):
  """A maker with a seed gets 0, 1, 2; curves of solvers that draw differ, those of others do not."""
  solvers = {
    "CFR": comparison.THEIRS["OpenSpiel CFR"],
    "MCCFR": comparison.THEIRS["OpenSpiel external sampling"],
  }
  runs = comparison.compare(kuhn, 0.02, solvers=solvers, progress=False, seeds=3)
  for name, run in runs.items():
    first = [points[0].exploitability for points in run.by_seed]  # on a busy machine there may be no more
    assert len(first) == 3 and (len(set(first)) == 1) == (name == "CFR")
  for seed, points in enumerate(runs["MCCFR"].by_seed):
    alone = pyspiel.ExternalSamplingMCCFRSolver(kuhn, seed=seed)
    alone.run_iteration()
    assert points[0].exploitability == pytest.approx(pyspiel.exploitability(kuhn, alone.average_policy()))
  with pytest.raises(ValueError, match="seeds must be"):
    comparison.compare(kuhn, 0.1, solvers=solvers, seeds=0)
  for wrong in ("nrm+", ["nrm+"], {"nrm+": "nrm+"}):
    with pytest.raises(ValueError, match="solvers must map names to makers of solvers"):
      comparison.compare(kuhn, 0.1, solvers=wrong)


def test_the_table_has_intervals_of_several_seeds():
  """Student's t of three numbers: 4.303 standard errors."""
  ends = [(Point(100, seconds, found, 0.0),) for seconds, found in ((0.1, 0.1), (0.2, 0.2), (0.3, 0.3))]
  _, line = comparison.runs_table({"MCCFR": Run(1.0, ends[0], tuple(ends[1:]))}).splitlines()
  half = 4.302653 / 3**0.5
  assert line.split() == [
    *(
      "MCCFR",
      "1.00",
      "s",
      "100",
      "2,000.0",
      "±",
      f"{1000 * half:,.1f}",
      "us",
      "2.00e-01",
      "±",
      f"{0.1 * half:.2e}",
    )
  ]


def test_rows_are_columns_of_one_length_for_a_data_frame(kuhn, runs):
  rows = comparison.runs_rows(kuhn, runs)
  columns = ("game", "solver", "seed", "setup_seconds", *Point._fields, "failed")
  assert {tuple(row) for row in rows} == {columns}
  for name, run in runs.items():
    assert [Point(*(row[key] for key in Point._fields)) for row in rows if row["solver"] == name] == [
      *run.points
    ]
  assert {(type(row["seed"]), type(row["exploitability"])) for row in rows} == {(int, float)}


def test_a_curve_ends_where_it_was_told_to(kuhn):
  solver = ps_cfr_spiel.PSCFRSolver(kuhn)
  solver.run(7)
  points = comparison.curve(solver, 57)
  iterations = [point.iteration - 7 for point in points]
  assert iterations == [*range(1, 10), *range(10, 56, 5), 57]
  assert points[-1].exploitability == solver.exploitability() < points[0].exploitability
  assert all(a.seconds < b.seconds for a, b in itertools.pairwise(points))
  with pytest.raises(ValueError, match="iterations must be at least 1, got 0"):
    comparison.curve(solver, 0)


def test_re_solving_gets_better_with_iterations(kuhn):
  points = comparison.resolving_curve(kuhn, (3, 300), rule="rm+", dtype="float64")
  policy = ps_cfr_spiel.ContinualResolving(kuhn, 300, rule="rm+", dtype="float64").tabularise()
  expected = openspiel_exploitability.exploitability(kuhn, policy.to_tabular())
  assert [point.iteration for point in points] == [3, 300]
  assert points[1].exploitability == pytest.approx(expected, abs=1e-9)
  assert points[1].exploitability < points[0].exploitability / 5


def test_all_default_solvers_are_named_for_their_makers():
  assert all(not name.startswith(comparison.PEER) for name in comparison.OURS)
  assert all(name.startswith(comparison.PEER) for name in comparison.THEIRS)


class Clocks:
  """A processor on which each iteration of a solver takes 2**-10 seconds, and a clock that pauses as well."""

  def __init__(self, monkeypatch, pause):
    self.clock = self.processor = 0.0
    self.pause, self.due = pause, 0.0  # seconds at each measurement, and those before the next iteration
    clock, processor = lambda: self.clock, lambda: self.processor
    monkeypatch.setattr(comparison, "Stopwatch", lambda: Stopwatch(clock))
    clocks = types.SimpleNamespace(perf_counter=clock, process_time=processor)
    monkeypatch.setattr(comparison, "time", clocks)

  def solver(self, game):
    clocks = self

    class Solver:
      def evaluate_and_update_policy(self):
        clocks.clock += 2**-10 + clocks.due
        clocks.processor += 2**-10
        clocks.due = 0.0

      def average_policy(self):
        clocks.due = clocks.pause
        return pyspiel.UniformRandomPolicy(game)

    return Solver()


@pytest.mark.parametrize("pause", [0.0, 0.015, 0.4])
def test_a_busy_machine_starves_no_run(kuhn, monkeypatch, pause):
  """Pauses at each measurement, even of 0.4 of the second that the run has, change nothing."""
  clocks = Clocks(monkeypatch, pause)
  run = comparison.measure(clocks.solver, kuhn, ps_cfr_spiel.build_tree(kuhn), 1000 * 2**-10)
  assert [point.iteration for point in run.points] == [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
  assert run.points[-1].seconds == 1000 * 2**-10
  assert comparison.runs_table({"Slow": run}).splitlines()[1].split()[4:6] == ["976.6", "us"]


def test_a_solver_that_waits_ends(kuhn, monkeypatch):
  """One that sleeps, or has others work, takes no processor time: the clock ends it."""
  clocks = Clocks(monkeypatch, 9.0)
  run = comparison.measure(clocks.solver, kuhn, ps_cfr_spiel.build_tree(kuhn), 1.0)
  assert clocks.clock > 30
  assert [point.iteration for point in run.points] == [1, 2, 5, 10, 20]


def test_each_is_the_fastest_measurement():
  """The machine was busy in the first and the last."""
  points = [Point(n, s, 0.5, 0.0) for n, s in ((1, 0.5), (2, 0.502), (5, 0.505), (10, 2.0))]
  assert comparison.runs_table({"CFR": Run(0.0, tuple(points))}).splitlines()[1].split()[4:6] == [
    "1,000.0",
    "us",
  ]


def test_a_solver_that_fails_leaves_the_others_their_rows(kuhn):
  class Fails:
    def evaluate_and_update_policy(self):
      raise KeyError("no such\ninfostate")

  def fails_at_once(game):
    raise ValueError(f"{game} is too large.")

  solvers = {"at once": fails_at_once, **FEW, "later": lambda game: Fails()}
  runs = comparison.compare(kuhn, 0.01, solvers=solvers, progress=False, seeds=2)
  assert list(runs) == list(solvers)
  failed = {name: run.failed for name, run in runs.items() if run.failed}
  assert failed == {"at once": "kuhn_poker() is too large.", "later": "KeyError: 'no such\\ninfostate'"}
  lines = comparison.runs_table(runs).splitlines()
  assert [line.split("  ")[0].strip() for line in lines] == ["", *solvers]
  assert lines[1].split("  ")[-1] == "failed: kuhn_poker() is too large."
  rows = comparison.runs_rows(kuhn, runs)
  assert {row["solver"]: row["failed"] for row in rows if row["iteration"] is None} == failed
  assert {row["seed"] for row in rows if row["failed"] is None} == {0, 1}


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan")])
def test_the_time_must_be_positive(kuhn, seconds):
  with pytest.raises(ValueError, match="seconds must be a number above 0"):
    comparison.compare(kuhn, seconds)
