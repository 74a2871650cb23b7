"""The command compare: what it prints is what its solvers reached."""

import csv
import json
import re
from pathlib import Path

import pyspiel
import pytest
from open_spiel.python.algorithms import exploitability

from ps_cfr_spiel.apps.commands import program
from ps_cfr_spiel.rules import RULES


def test_solvers_side_by_side(tmp_path, capsys):
  png = tmp_path / "curves.png"
  words = ["compare", "kuhn_poker", "--solvers=rm+,OpenSpiel CFR+", "--seconds=0.01"]
  assert program.run([*words, f"--picture={png}"]) == 0
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


def test_all_rules(tmp_path, capsys):
  """A line for each rule, in the table and in the picture, the same as those of solvers named by hand."""
  words = ["compare", "kuhn_poker", "--seconds=0.001"]
  assert program.run([*words, "--rules=all", f"--picture={tmp_path / 'rules.png'}"]) == 0
  lines = capsys.readouterr().out.splitlines()
  assert [line.split()[0] for line in lines[3 : 3 + len(RULES)]] == list(RULES)
  assert program.run([*words, "--rules=SAPCFR+,hs-dcfr", "--solvers=OpenSpiel CFR", "--json"]) == 0
  assert list(json.loads(capsys.readouterr().out)["runs"]) == ["OpenSpiel CFR", "sapcfr+", "hs-dcfr"]
  assert program.run([*words, "--rules=magic"]) == 2
  assert "unknown rule 'magic'; choose among rm, rm+" in capsys.readouterr().err


def test_a_table_of_seeds(tmp_path, capsys):
  """The file has the numbers of --json; each solver has two runs."""
  file = tmp_path / "new" / "runs.csv"
  words = ["compare", "kuhn_poker", "--solvers=OpenSpiel external sampling,rm", "--seconds=0.01", "--seeds=2"]
  assert program.run([*words, f"--csv={file}", "--json"]) == 2  # its folder is missing
  file.parent.mkdir()
  capsys.readouterr()
  assert program.run([*words, f"--csv={file}", "--json"]) == 0
  runs = json.loads(capsys.readouterr().out)["runs"]
  with open(file, newline="") as lines:
    rows = list(csv.DictReader(lines))
  for name, points in runs.items():
    mine = [row for row in rows if row["solver"] == name]
    assert [{key: float(row[key]) for key in points[0]} for row in mine] == points
    assert {point["seed"] for point in points} == {0, 1}
  assert program.run([*words, f"--csv={file}"]) == 0
  out = capsys.readouterr().out
  assert out.count(" ± ") == 4 and str(file) in out
  assert program.run([*words, f"--csv={tmp_path}"]) == 2
  assert "name a file in it" in capsys.readouterr().err


def test_solvers_that_fail_on_ones_own_game(tmp_path, capsys):
  """OpenSpiel's C++ solvers ask a Python game for an observer; the others have their rows."""
  module = Path(__file__).parents[1] / "shared" / "heist.py"
  words = ["compare", "py_heist", f"--module={module}", "--seconds=0.01"]
  ask, table = "AttributeError: 'Heist' object has no attribute 'make_py_observer'", tmp_path / "runs.csv"
  some = [*words, "--solvers=OpenSpiel CFR,rm+", f"--csv={table}"]
  assert program.run(some) == 0
  out = capsys.readouterr().out
  assert f"OpenSpiel CFR  failed: {ask}" in out and re.search(r"^rm\+ +\d", out, re.M)
  with open(table, newline="") as lines:
    failed, *rows = csv.DictReader(lines)
  assert (failed["solver"], failed["iteration"], failed["failed"]) == ("OpenSpiel CFR", "", ask)
  assert rows and {(row["solver"], row["failed"]) for row in rows} == {("rm+", "")}
  assert program.run([*some, "--json"]) == 0
  facts = json.loads(capsys.readouterr().out)
  assert list(facts["runs"]) == ["rm+"] and facts["failed"] == {"OpenSpiel CFR": ask}
  assert program.run([*words, "--solvers=OpenSpiel CFR"]) == 2
  assert f"All solvers failed on py_heist(). OpenSpiel CFR: {ask}" in capsys.readouterr().err


def test_an_unknown_solver(capsys):
  assert program.run(["compare", "kuhn_poker", "--solvers=magic"]) == 2
  assert "unknown solver 'magic'; choose among rm, rm+" in capsys.readouterr().err
