"""Abstractions and the solvers that split them, from the command line."""

import json

import pytest

import ps_cfr_spiel
from ps_cfr_spiel.apps.commands import program


@pytest.mark.parametrize(
  ("flags", "kind", "option", "value"),
  [
    (["--solver=cfr+ira", "--heuristic=20", "--seed=4"], "CFRPlusIRASolver", "averaging_delay", 100),
    (["--solver=fpira", "--abstraction=initial"], "FPIRASolver", "dtype", "float64"),
    (["--solver=fictitious-play"], "FictitiousPlaySolver", "dtype", "float64"),
    (["--abstraction=observation", "--rule=rm+"], "PSCFRSolver", "dtype", "float32"),
  ],
)
def test_solved_and_resumed(flags, kind, option, value, tmp_path):
  common = ["--iterations=3", "--quiet", "--noplot", f"--output={tmp_path}"]
  assert program.run(["solve", "kuhn_poker", *flags, *common]) == 0
  more = [f"--resume={tmp_path / 'run.safetensors'}", "--iterations=2", "--quiet", "--noplot"]
  assert program.run(["solve", *more]) == 0
  solver = ps_cfr_spiel.load_solver(tmp_path / "run.safetensors")
  assert (type(solver).__name__, solver.iteration, getattr(solver.options, option)) == (kind, 5, value)


def test_the_sets_are_told(tmp_path, capsys):
  """As they grow, in the end, and to programs."""
  command = [
    "solve",
    "kuhn_poker",
    "--solver=cfr+ira",
    "--bound=0",
    "--heuristic=1",
    "--iterations=3",
    "--noplot",
  ]
  assert program.run([*command, f"--output={tmp_path}"]) == 0
  text = capsys.readouterr().out
  found = ps_cfr_spiel.load_solver(tmp_path / "run.safetensors").abstraction
  head, *rows = [
    line.split() for line in text.splitlines() if line.split()[-1:] == ["sets"] or line[:10].strip().isdigit()
  ]
  assert head[-1] == "sets"
  assert [int(row[-1]) for row in rows][-1] == found.count < found.infostates == 12
  assert f"{found.count} sets of 12 infostates" in text
  assert program.run([*command, "--json", f"--output={tmp_path}"]) == 0
  facts = json.loads(capsys.readouterr().out)
  assert (facts["sets"], facts["infostates"]) == (found.count, 12)
