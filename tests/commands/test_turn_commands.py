"""The program on a turn: a target and a lock, cards in words and drawn, a part saved, rows, a search."""

import csv
import io

import pyspiel
import pytest

from ps_cfr_spiel import PSCFRSolver, load_policy, load_solver
from ps_cfr_spiel.apps.commands import program as command_line
from ps_cfr_spiel.apps.views import spot

TURN = "holdem_subgame(deck=6x2,board=3c6d2d4c,stack=300,ranges=7d6c 7d3d;5c4d 6c5c)"


def run(capsys, *words):
  """What the program prints, in this process."""
  assert command_line.run([str(word) for word in words]) == 0
  return capsys.readouterr().out


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
  return tmp_path_factory.mktemp("turn")


@pytest.fixture(scope="module")
def solved(folder):
  """A run that stops at 2% of the pot, after which player 1 always folds to the first bet."""
  words = [TURN, "--target=2%", "--iterations=2000", "--lock=all-in 200=fold", "--noplot", "--quiet"]
  assert command_line.run(["solve", *words, f"--output={folder}"]) == 0
  return folder / "run.safetensors"


def test_a_strategy_that_does_not_fit_is_not_drawn(tmp_path, capsys):
  solver = PSCFRSolver(pyspiel.load_game(TURN))
  memory = solver.estimated_bytes + 1
  with pytest.raises(ValueError, match=r"A policy of holdem_subgame.* needs about .* for the strategies"):
    PSCFRSolver(solver.game, memory=memory).average_policy()
  words = [TURN, f"--memory={memory}", "--iterations=1", "--novalues", f"--output={tmp_path}"]
  assert command_line.run(["solve", *words]) == 0
  assert "No strategy is drawn, and no values are saved. A policy of " in capsys.readouterr().err
  assert {path.suffix for path in tmp_path.iterdir()} == {".safetensors", ".csv", ".png"}
  assert not (tmp_path / "strategy.png").exists()


def test_it_stops_at_the_target_and_keeps_the_lock(solved):
  policy = load_policy(solved)
  assert 0 < policy.info["iteration"] < 2000
  here = spot(policy, "all-in 200")
  assert here.actions[0] == "Fold" and (here.probability[0] == 1).all()
  assert "locked" in load_solver(solved).description


def test_a_run_in_16_bits_is_resumed_in_16_bits(folder, capsys):
  words = [TURN, "--bits=16", "--iterations=20", "--noplot", "--quiet", f"--output={folder / 'narrow'}"]
  assert command_line.run(["solve", *words]) == 0
  file = folder / "narrow" / "run.safetensors"
  assert command_line.run(["solve", f"--resume={file}", "--iterations=20", "--noplot", "--quiet"]) == 0
  assert "kept in 16 bits" in load_solver(file).description
  assert load_solver(file).iteration == 40
  assert command_line.run(["solve", TURN, "--bits=16", "--rule=dcfr"]) != 0
  assert "choose the rule 'nrm+'" in capsys.readouterr().err


@pytest.mark.parametrize(
  ("lock", "message"),
  [
    (
      "check, bet 100=fold",
      "locks: 'check, bet 100': 'bet 100' (word 2) is not legal after Check. Legal: Check",
    ),
    ("check, check, 3c=check", "locks: 'check, check, 3c': '3c' (word 3) is not legal after Check, Check"),
    ("check, check=check", "locks: 'check, check': no player acts after it"),
    ("check, check, 5d=fold", "'fold' is not legal after Check, Check, Deal 5d"),
  ],
)
def test_a_lock_on_a_line_that_does_not_exist(lock, message, capsys):
  assert command_line.run(["solve", TURN, f"--lock={lock}", "--output=unused"]) == 2
  assert message in capsys.readouterr().err


def test_a_hand_with_the_card_is_not_there(solved, capsys):
  assert "7d6c" in run(capsys, "show", solved, "--at=check, check, 5d", "--hand=7d6c")
  assert command_line.run(["show", str(solved), "--at=check, check, 6c", "--hand=7d6c"]) == 2
  assert "Player 0 never holds '7d6c' here" in capsys.readouterr().err


def test_cards_in_words_and_drawn(solved, folder, capsys):
  out = run(capsys, "show", solved, "--at=check, check", f"--picture={folder / 'cards.png'}")
  assert "Deal 8c" not in out and "Deal 5d" in out
  assert (folder / "cards.png").read_bytes().startswith(b"\x89PNG")
  assert "Deal 5d" in run(capsys, "show", solved, "--at=check, check, 5d", "--hand=7d6c")


def test_a_part_is_saved(solved, folder, capsys):
  run(capsys, "show", solved, "--part=check, check, 5d ...", f"--save={folder / 'part.safetensors'}")
  part, whole = load_policy(folder / "part.safetensors"), load_policy(solved)
  for path in ("", "check", "check, check, 5d", "check, check, 5d, check"):
    assert (spot(part, path).probability == spot(whole, path).probability).all()
  assert (spot(part, "all-in 200").probability == 1 / len(spot(part, "all-in 200").ids)).all()
  assert "public states, uniform elsewhere" in run(capsys, "show", folder / "part.safetensors")


def test_rows_of_all_cards(solved, folder, capsys):
  run(capsys, "show", solved, f"--csv={folder / 'rows.csv'}")
  with open(folder / "rows.csv", newline="", encoding="utf-8") as file:
    rows = list(csv.DictReader(file))
  policy = load_policy(solved)
  assert len(rows) == sum(len(d.legal_actions) for d, _, _ in policy.labels.infostates())
  assert {row["line"].split(", ")[2] for row in rows if row["line"].count(",") >= 2} >= {"Deal 5d", "Deal 7c"}


def test_a_person_plays_against_a_search(capsys, monkeypatch):
  monkeypatch.setattr("sys.stdin", io.StringIO("check\n" * 9))
  out = run(capsys, "play", TURN.replace("300", "200"), "--opponent=search", "--seat=0", "--seed=1")
  assert "Opponent: search" in out
