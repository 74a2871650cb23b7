"""Abstractions and the solvers that split them, from the command line."""

import pytest

import ps_cfr_spiel
from ps_cfr_spiel.commands import program


@pytest.mark.parametrize(
  ("flags", "kind", "option", "value"),
  [
    (["--solver=cfr+ira", "--heuristic=20", "--seed=4"], "CFRPlusIRASolver", "skip", 100),
    (["--solver=fpira", "--abstraction=initial"], "FPIRASolver", "dtype", "float64"),
    (["--solver=fictitious-play"], "FictitiousPlaySolver", "dtype", "float64"),
    (["--abstraction=observation", "--rule=rm+"], "PSCFRSolver", "dtype", "float32"),
  ],
)
def test_solved_and_resumed(flags, kind, option, value, tmp_path):
  common = ["--iterations=3", "--quiet", "--noplot", f"--output={tmp_path}"]
  assert program.run(["solve", "kuhn_poker", *flags, *common]) == 0
  more = [f"--resume={tmp_path / 'run.npz'}", "--iterations=2", "--quiet", "--noplot"]
  assert program.run(["solve", *more]) == 0
  solver = ps_cfr_spiel.load_solver(tmp_path / "run.npz")
  assert (type(solver).__name__, solver.iteration, getattr(solver, option)) == (kind, 5, value)
