"""What the commands print with --json, against the same from Python."""

import json

import pyspiel
import pytest
from random_policies import random_policy

import ps_cfr_spiel
from ps_cfr_spiel.apps.commands import program


def answer(capsys, *words):
  """The one line of JSON that a command prints, and its exit code."""
  code = program.run([*map(str, words), "--json"])
  out = capsys.readouterr().out
  assert out.count("\n") == 1 and out.endswith("\n")
  return json.loads(out), code


def test_solve_and_evaluate(tmp_path, capsys):
  words = ["solve", "kuhn_poker", "--iterations=20", "--noplot", f"--output={tmp_path}"]
  found, code = answer(capsys, *words)
  assert code == 0
  game = pyspiel.load_game("kuhn_poker")
  solver = ps_cfr_spiel.PSCFRSolver(game)
  solver.run(20)
  assert found["iterations"] == 20 and found["unit"] == "utility"
  assert found["value"] == pytest.approx(solver.value(), abs=1e-6)
  assert found["exploitability"] == pytest.approx(solver.exploitability(), abs=1e-6)
  assert found["saved"] == [str(tmp_path / name) for name in ("run.safetensors", "exploitability.csv")]
  measured, code = answer(capsys, "evaluate", tmp_path / "run.safetensors")
  expected = ps_cfr_spiel.evaluate_policy(game, solver.average_policy())
  assert (code, measured["value"]) == (0, pytest.approx(expected.value, abs=1e-9))
  assert measured["best_responses"] == pytest.approx(expected.best_response, abs=1e-9)
  regrets = ps_cfr_spiel.measures.local_regrets(game, solver.average_policy())
  for onward, name in ((False, "following"), (True, "onward")):
    shown = tuple(measured["local_regrets"]["all"][name].values())
    assert shown == pytest.approx(regrets.losses(onward=onward), abs=1e-9)
  assert measured["worst_infostates"][0]["loss"] == pytest.approx(regrets.following.max(), abs=1e-9)
  assert program.run(["evaluate", str(tmp_path / "run.safetensors")]) == 0
  mean = 100 * regrets.following.mean() / 2
  assert f"{ps_cfr_spiel.views.number_text(mean)}%" in capsys.readouterr().out
  without, _ = answer(capsys, "evaluate", tmp_path / "run.safetensors", "--nolocal_regrets")
  assert "local_regrets" not in without


def test_a_run_with_trembles_shows_its_local_regrets(tmp_path, capsys):
  words = ["solve", "kuhn_poker", "--iterations=100", "--noplot", f"--output={tmp_path}", "--tremble=1"]
  solved, _ = answer(capsys, *words)
  measured, _ = answer(capsys, "evaluate", tmp_path / "run.safetensors")
  assert solved["local_regrets"] == measured["local_regrets"]
  assert program.run([*words, "--quiet"]) == 0
  assert "local regret:" in capsys.readouterr().out
  plain, _ = answer(capsys, *words[:-2], f"--output={tmp_path / 'plain'}")
  assert "local_regrets" not in plain


def test_a_game_that_chance_begins_in_public(tmp_path, capsys):
  """Who starts, or the first prize, is public: before it there is nothing but what may be dealt."""
  name = "turn_based_simultaneous_game(game=goofspiel(num_cards=2,imp_info=True,points_order=random))"
  found, code = answer(capsys, "solve", name, "--iterations=2", "--noplot", f"--output={tmp_path}")
  assert code == 0
  assert program.run(["show", found["saved"][0]]) == 0
  assert "player 0" in capsys.readouterr().out
  assert program.run(["show", found["saved"][0], "--at= "]) == 0
  assert "Deal 1" in capsys.readouterr().out


def test_shares_of_the_pot(tmp_path, capsys):
  policy = random_policy("river_subgame(pot=100,stack=300,ranges=AA KK;QQ)")
  policy.save(tmp_path / "policy.safetensors")
  found, _ = answer(capsys, "evaluate", tmp_path / "policy.safetensors")
  assert found["unit"] == "chips"
  assert found["exploitability_percent_of_pot"] == pytest.approx(found["exploitability"])  # of 100 chips


def test_resolve(tmp_path, capsys):
  found, code = answer(capsys, "resolve", "kuhn_poker", "--iterations=50", f"--output={tmp_path}")
  policy = ps_cfr_spiel.load_policy(found["saved"])
  expected = ps_cfr_spiel.exploitability(policy.game, policy)
  assert (code, found["exploitability"]) == (0, pytest.approx(expected, abs=1e-9))


def test_summary(capsys):
  found, code = answer(
    capsys, "summary", "--board=Ks 7d 2c 5h 9s", "--ranges=AA, KK; QQ", "--bets=50%, a", "--tree"
  )
  assert code == 0
  tree = ps_cfr_spiel.build_tree(pyspiel.load_game(found["game"]))
  states = tree.names.public_states
  assert sum(found["public_states"].values()) == len(states) == len(found["tree"])
  assert found["types"] == [9, 6]  # three kings are left beside the board's
  assert found["histories"] == tree.names.histories


@pytest.mark.parametrize(("name", "code"), [("kuhn_poker", 0), ("phantom_ttt", 1)])
def test_check(name, code, capsys):
  found, returned = answer(capsys, "check", name, "--limit=5000")
  assert returned == code and found["solvable"] == (code == 0)
  assert {finding["verdict"] for finding in found["findings"]} <= {"PASS", "FAIL", "NOTE"}
