import csv
import json
from types import SimpleNamespace

import numpy as np
import pyspiel
import pytest
from chases import play

import ps_cfr_spiel
from ps_cfr_spiel.apps.commands import program, show
from ps_cfr_spiel.apps.views import belief_at, spot


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
  solver = ps_cfr_spiel.PSCFRSolver(pyspiel.load_game("glasses"))
  solver.run(100)
  path = tmp_path_factory.mktemp("glasses") / "run.safetensors"
  solver.save(path)
  return str(path), solver.average_policy()


def test_beliefs_in_glasses_are_printed_and_drawn(saved, tmp_path, capsys):
  path, policy = saved
  png = tmp_path / "beliefs.png"
  assert program.run(["show", path, "--at=Stones to 1/9, 4, 1/7", f"--picture={png}"]) == 0
  out = capsys.readouterr().out
  belief = belief_at(play("glasses", (1, 9), 4, (1, 7)), policy)
  for node in np.flatnonzero(belief.sought):
    assert f"  node {node:<3} {100 * belief.sought[node]:6.2f}%\n" in out
  for stalker in (1, 7):
    assert f"  node {stalker:<3} 100.00%\n" in out
  assert "After 3 of 5 moves: evader to move" in out
  assert "What player 1 does:" in out
  assert png.read_bytes().startswith(b"\x89PNG")


def test_the_end_of_a_chase_has_no_moves(saved, capsys):
  assert program.run(["show", saved[0], "--at=2/9, 4, 4/7"]) == 0
  out = capsys.readouterr().out
  assert "caught" in out and "What player" not in out


def test_without_moves_glasses_is_a_table(saved, capsys):
  assert program.run(["show", saved[0], "--player=1", "--rows=3"]) == 0
  assert "player 1  p1 | 5:0/10" in capsys.readouterr().out


@pytest.mark.parametrize(
  ("option", "message"),
  [
    ("--at=1/9, 44", "'44' (word 2) is not legal after Stones to 1/9. Legal: Evader to 3, Evader to 4"),
    (
      "--at=2/9, 4, 4/7, 1",
      "The game is over after Stones to 2/9, Evader to 4, Stones to 4/7; '1' cannot follow.",
    ),
    ("--action=4", "error: --action is for charts of hands, not for"),
  ],
)
def test_mistakes_are_answered_in_a_line(saved, capsys, option, message):
  assert program.run(["show", saved[0], option]) == 2
  error = capsys.readouterr().err
  assert message in error and error.count("\n") == 1


def test_a_history_names_a_place_of_any_game(saved, capsys):
  assert program.run(["show", saved[0], "--history=1/9, 4"]) == 0
  out = capsys.readouterr().out
  assert "After Stones to 1/9: player 0 acts" in out and "EV" in out
  assert program.run(["show", saved[0], "--at=1/9", "--history=1/9, 4"]) == 2
  assert "give one of them" in capsys.readouterr().err


def test_rows_as_csv_and_json(saved, tmp_path, capsys):
  path, policy = saved
  assert program.run(["show", path, f"--csv={tmp_path / 'all.csv'}"]) == 0
  with open(tmp_path / "all.csv", newline="") as file:
    assert len(list(csv.DictReader(file))) == len(policy.to_rows())
  capsys.readouterr()
  assert program.run(["show", path, "--at=1/9", "--json"]) == 0
  found = json.loads(capsys.readouterr().out)
  assert found["rows"] == policy.to_rows([spot(policy, "1/9").public_state])


def test_a_file_that_lost_its_rule_is_of_unknown_origin():
  assert (
    show.origin(SimpleNamespace(info={"alternating": True, "iteration": 5})) == "policy of unknown origin"
  )
