"""Locks on the command line: every header names them, and both exploitabilities are told by name."""

import csv
import json

import pyspiel
import pytest
from reference import sequence_form_value

from ps_cfr_spiel import exploitability, load_policy
from ps_cfr_spiel.apps.commands import program

SOLVE = ["solve", "kuhn_poker", "--lock=pass=bet:0.25,pass:0.75@0,1", "--lock=bet=bet; pass@1", "--noplot"]
TOLD = "after Pass: Pass 75%, Bet 25% with 1, 0; others free | after Bet: Pass with 1; Bet with all others"
LOCKED = {  # by OpenSpiel's strings: pass, bet
  (1, "0p"): [0.75, 0.25], (1, "1p"): [0.75, 0.25],
  (1, "0b"): [0, 1], (1, "1b"): [1, 0], (1, "2b"): [0, 1],
}  # fmt: skip


def run(capsys, *words):
  capsys.readouterr()
  assert program.run([str(word) for word in words]) == 0
  return capsys.readouterr().out


@pytest.fixture
def solved(tmp_path, capsys):
  """A run of three iterations, and what solve printed."""
  said = run(capsys, *SOLVE, "--iterations=3", f"--output={tmp_path}")
  return tmp_path / "run.safetensors", said


def test_every_header_names_the_locks(solved, tmp_path, capsys):
  file, said = solved
  assert said.count(TOLD) == 2  # before and after
  assert json.loads(run(capsys, *SOLVE, "--iterations=4", "--json", f"--output={tmp_path}"))["locked"] == TOLD
  for words in (["show", file], ["show", file, f"--csv={tmp_path / 'rows.csv'}"], ["evaluate", file]):
    lines = [line.split(":", 1) for line in run(capsys, *words).splitlines() if line.startswith("locked:")]
    assert [text.strip() for _, text in lines] == [TOLD]
  for command in ("show", "evaluate"):
    assert json.loads(run(capsys, command, file, "--json"))["locked"] == TOLD
  run(capsys, "show", file, f"--html={file.with_suffix('.html')}")
  assert f"locked: {TOLD}" in file.with_suffix(".html").read_text()
  run(capsys, "solve", "kuhn_poker", "--iterations=3", "--noplot", f"--output={tmp_path / 'free'}")
  assert "locked" not in run(capsys, "evaluate", tmp_path / "free" / "run.safetensors")


def test_both_exploitabilities(solved, capsys):
  """In the whole game OpenSpiel's own, and within the locks those of linear programs with all else forced."""
  file, _ = solved
  found = json.loads(run(capsys, "evaluate", file, "--json"))
  game, policy = pyspiel.load_game("kuhn_poker"), load_policy(file)
  whole = pyspiel.exploitability(game, policy.to_pyspiel())
  played = {
    (d.player, name): list(policy.at(d.player, name).values()) for d, _, name in policy.labels.infostates()
  }
  for place, probabilities in LOCKED.items():
    assert played[place] == pytest.approx(probabilities, abs=1e-7)
  best = []
  for player in (0, 1):
    others = {place: column for place, column in played.items() if place[0] != player}
    best.append((1 - 2 * player) * sequence_form_value(game, {**others, **LOCKED}))
  assert found["exploitability"] == pytest.approx(whole) == exploitability(game, policy)
  assert found["exploitability_within_locks"] == pytest.approx(sum(best) / 2)
  assert found["exploitability"] > found["exploitability_within_locks"] + 0.01
  lines = dict(line.split(":", 1) for line in run(capsys, "evaluate", file).splitlines())
  assert lines["exploitability"].endswith("in the whole game")
  assert float(lines["within the locks"].split(",")[0]) == pytest.approx(sum(best) / 2, rel=1e-3)
  rounded = run(capsys, "evaluate", file, "--post_processing=purify")
  assert "within the locks" not in rounded  # rounding changes what locked hands do


def test_rows_tell_what_is_locked(solved, tmp_path, capsys):
  file, _ = solved
  run(capsys, "show", file, f"--csv={tmp_path / 'rows.csv'}")
  with open(tmp_path / "rows.csv") as rows:
    locked = {
      (int(row["player"]), row["infostate"]) for row in csv.DictReader(rows) if row["locked"] == "True"
    }
  assert locked == set(LOCKED)


def test_a_run_with_other_locks_is_another_run(tmp_path, monkeypatch, capsys):
  """Also on the same line: neither hands nor mixtures may differ."""
  monkeypatch.chdir(tmp_path)
  for lock in ("pass=bet@0", "pass=bet@1", "pass=pass@1", "pass=bet"):
    run(capsys, "solve", "kuhn_poker", f"--lock={lock}", "--iterations=2", "--quiet", "--noplot")
  assert len(list(tmp_path.glob("runs/*/run.safetensors"))) == 4
