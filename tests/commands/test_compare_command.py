"""The command compare: what it prints is what its solvers reached."""

import json

import pyspiel
import pytest
from open_spiel.python.algorithms import exploitability

from ps_cfr_spiel.commands import program


def test_solvers_side_by_side(tmp_path, capsys):
  png = tmp_path / "curves.png"
  words = ["compare", "kuhn_poker", "--solvers=rm+,OpenSpiel CFR+", "--seconds=0.01"]
  assert program.run([*words, f"--png={png}"]) == 0
  out, error = capsys.readouterr()
  assert not error  # bars are for terminals
  assert "rm+" in out and "OpenSpiel CFR+" in out and png.read_bytes().startswith(b"\x89PNG")
  assert program.run([*words, "--json"]) == 0
  runs = json.loads(capsys.readouterr().out)["runs"]
  game = pyspiel.load_game("kuhn_poker")
  solver = pyspiel.CFRPlusSolver(game)
  done = 0
  for point in runs["OpenSpiel CFR+"][:5]:
    for _ in range(done, point["iteration"]):
      solver.evaluate_and_update_policy()
    done = point["iteration"]
    expected = exploitability.exploitability(game, solver.average_policy())
    assert point["exploitability"] == pytest.approx(expected, abs=1e-9)


def test_an_unknown_solver(capsys):
  assert program.run(["compare", "kuhn_poker", "--solvers=magic"]) == 2
  assert "unknown solver 'magic'; choose among rm, rm+" in capsys.readouterr().err
