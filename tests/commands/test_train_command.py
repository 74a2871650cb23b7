"""The command train: its table and files, resumed runs, mistakes; and agents in other commands."""

import csv
import io
import json

import numpy as np
import pyspiel
import pytest

from ps_cfr_spiel import KeyedMCCFRSolver, load_solver
from ps_cfr_spiel.apps.commands import program
from ps_cfr_spiel.backend.native import why_unavailable

SMALL = "cheat(ranks=3,suits=2,hand_size=2,max_turns=4)"
QUICK = ("--batch=16", "--games=5")


def rows(folder):
  with open(folder / "training.csv", newline="") as file:
    return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
  folder = tmp_path_factory.mktemp("agent")
  assert program.run(["train", SMALL, "--iterations=4", "--every=2", f"--output={folder}", *QUICK]) == 0
  return folder


def test_the_table_and_the_run(trained):
  found = rows(trained)
  assert [int(row["iteration"]) for row in found] == [2, 4]
  assert [int(row["games"]) for row in found] == [64, 128]
  assert all(0 <= float(row[f"won_{name}"]) <= 1 for row in found for name in ("naive", "heuristic"))
  assert load_solver(trained / "run.safetensors").iteration == 4


def test_any_other_game(tmp_path, capsys):
  words = ["leduc_poker", "--iterations=2", "--every=1", "--games=5", f"--output={tmp_path}", "--batch=16"]
  assert program.run(["train", *words, "--cells=3000"]) == 0
  assert "won: random" in capsys.readouterr().out
  assert all(0 <= float(row["won_random"]) <= 1 for row in rows(tmp_path))


@pytest.mark.skipif(bool(why_unavailable()), reason="no native library")
def test_the_papers_own_method(tmp_path, capsys):
  words = [SMALL, "--method=external", "--iterations=2", "--every=1", "--games=5", f"--output={tmp_path}"]
  assert program.run(["train", *words, "--pruning=regret"]) == 0
  assert "KeyedExternal(pruning=regret" in capsys.readouterr().out
  few = f"--output={tmp_path / 'few'}"
  assert program.run(["train", *words, "--most_nodes=5", few]) == program.USER_ERROR
  assert "met 5 decisions and was given up" in capsys.readouterr().err


def test_a_resumed_run_is_the_run(trained, tmp_path, capsys):
  words = [SMALL, "--iterations=2", "--quiet", f"--output={tmp_path}", *QUICK]
  assert program.run(["train", *words]) == 0
  assert (
    program.run(["train", f"--resume={tmp_path / 'run.safetensors'}", "--iterations=2", "--games=5"]) == 0
  )
  assert "play cheat" in capsys.readouterr().out.replace("'", "")
  policies = [load_solver(folder / "run.safetensors").average_policy() for folder in (trained, tmp_path)]
  np.testing.assert_array_equal(policies[0].table, policies[1].table)
  assert [int(row["iteration"]) for row in rows(tmp_path)] == [1, 2, 3, 4]


def test_interrupted(tmp_path, capsys, monkeypatch):
  """Ctrl-C in the third iteration: the second is in the file, from which the run goes on."""
  advance = KeyedMCCFRSolver._advance

  def interrupted(solver, iterations):
    if solver.iteration == 2:
      raise KeyboardInterrupt
    advance(solver, iterations)

  words = [SMALL, "--iterations=4", "--every=1", f"--output={tmp_path}", *QUICK]
  with monkeypatch.context() as patch:
    patch.setattr(KeyedMCCFRSolver, "_advance", interrupted)
    assert program.run(["train", *words]) == 130
  assert "Interrupted; iteration 2 is saved" in capsys.readouterr().err
  assert load_solver(tmp_path / "run.safetensors").iteration == 2
  assert (
    program.run(["train", f"--resume={tmp_path / 'run.safetensors'}", "--iterations=1", "--games=5"]) == 0
  )
  assert [int(row["iteration"]) for row in rows(tmp_path)] == [1, 2, 3]


def test_against_an_agent(trained, tmp_path, capsys):
  """Also when the run is resumed."""
  words = [
    SMALL,
    f"--against={trained / 'run.safetensors'}",
    "--iterations=2",
    f"--output={tmp_path}",
    *QUICK,
  ]
  assert program.run(["train", *words]) == 0
  assert "won: agent" in capsys.readouterr().out
  assert (
    program.run(["train", f"--resume={tmp_path / 'run.safetensors'}", "--iterations=2", "--games=5"]) == 0
  )
  assert all(0 <= float(row["won_agent"]) <= 1 for row in rows(tmp_path))


def test_a_start_from_a_smaller_game(trained, tmp_path):
  """The run is that of a solver which starts so, and another one than without."""
  game, start, tables = "cheat(ranks=3,suits=3,hand_size=3)", trained / "run.safetensors", []
  for more in ([], [f"--start={start}"]):
    words = [game, "--iterations=1", f"--output={tmp_path}", *QUICK, "--quiet", *more]
    assert program.run(["train", *words]) == 0
    tables.append(load_solver(tmp_path / "run.safetensors").average_policy().table)
  solver = KeyedMCCFRSolver(pyspiel.load_game(game), batch=16)
  solver.start_from(load_solver(start))
  solver.run(1)
  np.testing.assert_array_equal(tables[1], solver.average_policy().table)
  assert (tables[0] != tables[1]).any()


def test_agents_play(trained, capsys, monkeypatch):
  monkeypatch.setattr("sys.stdin", io.StringIO("quit\n"))
  assert program.run(["play", SMALL, f"--opponent={trained / 'run.safetensors'}", "--seed=1"]) == 0
  assert "you are player 0" in capsys.readouterr().out


@pytest.mark.parametrize(
  ("words", "message"),
  [
    (["train"], "train needs a game, such as cheat"),
    (["train", "kuhn_poker", "--cells=5", "--iterations=2"], "The tables are full: 2 keys have 4 of 5 cells"),
    (["train", "cheat(players=3)", "--key=memory"], "what both players know is for two"),
    (["train", "cheat(ranks=13)"], "ranks=13, suits=4"),
    (["train", "cheat", "--decay=3"], "3.0 is not a number in the range [0, 1]"),
    (["train", "--resume={run}", "--batch=3"], "leave out --batch"),
    (["train", "cheat", "--pruning=none"], "--method=plays has no --pruning"),
    (["train", "cheat", "--method=external", "--exploration=0.5"], "has no --exploration"),
    (["train", "cheat", "--against={run}"], "against: the agent plays cheat("),
    (["train", "cheat", "--method=external", "--against={run}"], "has no --against"),
    (["train", "kuhn_poker", "--start={run}"], "kuhn_poker() shares no keys with cheat("),
    (["train", "cheat", "--start=nowhere.safetensors"], "nowhere.safetensors"),
    (["train", "--resume={run}", "--start={run}"], "leave out --start"),
    (["solve", "--resume={run}"], "is a run of the command train; resume it there"),
    (["evaluate", "{run}"], "have no public tree; use them in play"),
    (["show", "{run}"], "have no public tree; use them in play"),
    (["play", "cheat", "--opponent={run}"], "holds a policy for cheat("),
  ],
)
def test_mistakes(trained, capsys, words, message):
  assert program.run([word.format(run=trained / "run.safetensors") for word in words]) == program.USER_ERROR
  assert message in capsys.readouterr().err


def test_a_searching_opponent(trained, capsys):
  against = f"--against={trained / 'run.safetensors'}"
  assert program.run(["train", "--method=search", against, "--games=6", "--rollouts=40", "--json"]) == 0
  found = json.loads(capsys.readouterr().out)
  assert found["games"] == 6 and 0 <= found["won"] <= 1 and abs(found["value"]) <= 1
  for words, message in (
    ([], "needs an opponent"),
    ([against, "--iterations=3"], "has no --iterations"),
    ([against, "--move_seconds=0"], "seconds must be a number above 0"),
    (["leduc_poker", against], "The policy is for cheat"),
  ):
    assert program.run(["train", "--method=search", *words]) == program.USER_ERROR
    assert message in capsys.readouterr().err
  assert program.run(["train", SMALL, "--rollouts=3"]) == program.USER_ERROR
  assert "--method=plays has no --rollouts" in capsys.readouterr().err
