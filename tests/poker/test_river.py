"""Spots as poker players write them, against the same game by its own string."""

import json
import re

import numpy as np
import pyspiel
import pytest

import ps_cfr_spiel
from ps_cfr_spiel.commands import program


def test_commas_and_percents():
  game = ps_cfr_spiel.river("Kh, Kd, 8c,4s, 2h", 100, 500, "50%, 133.5 %, a", ("AA, KQs,76s:0.5", "TT+, AQs"))
  expected = pyspiel.load_game(
    "river_subgame(board=Kh Kd 8c 4s 2h,pot=100,stack=500,bets=0.5 1.335 a,ranges=AA KQs 76s:0.5;TT+ AQs)"
  )
  assert str(game) == str(expected)
  assert str(pyspiel.load_game(str(game))) == str(game)


@pytest.mark.parametrize(
  ("bets", "expected"),
  [
    ("fcpa", "fcpa"),
    ("75%", "0.75;0.75"),
    ("7%, 5.5%", "0.07 0.055"),
    ("200% a", "2 a"),
    (["33%, a", "a"], "0.33 a;a"),
    ("50%; 100%, a", "0.5; 1 a"),
    ("50%, a; a | 33%", "0.5 a; a | 0.33"),
    ("x", "x"),
  ],
)
def test_sizes(bets, expected):
  game = ps_cfr_spiel.river(bets=bets, ranges=("AA", "KK"))
  assert game.get_parameters()["bets"] == expected
  assert str(pyspiel.load_game(str(game))) == str(game)


def test_defaults_are_the_games():
  assert str(ps_cfr_spiel.river()) == str(pyspiel.load_game("river_subgame"))
  assert str(ps_cfr_spiel.holdem()) == str(pyspiel.load_game("holdem_subgame"))


@pytest.mark.parametrize(
  ("board", "bets", "expected"),
  [
    ("Kh, Kd 8c", "33%, 75%a / 75% / a", "holdem_subgame(board=Kh Kd 8c,bets=0.33 0.75a / 0.75 / a"),
    ("KhKd8c4s", "50%", "holdem_subgame(board=KhKd8c4s,bets=0.5;0.5"),
    ("Kh Kd,8c 4s 2h", "a", "river_subgame(board=Kh Kd 8c 4s 2h,bets=a"),
  ],
)
def test_the_board_says_which_street_it_is(board, bets, expected, capsys):
  game = ps_cfr_spiel.holdem(board, 100, 500, bets, ("AA, KQs", "TT+"))
  assert str(game) == str(pyspiel.load_game(f"{expected},pot=100,stack=500,ranges=AA KQs;TT+)"))
  words = [f"--board={board}", "--pot=100", "--stack=500", f"--bets={bets}", "--ranges=AA, KQs;TT+"]
  assert program.run(["summary", *words, "--json"]) == 0
  assert json.loads(capsys.readouterr().out)["game"] == str(game)


@pytest.mark.parametrize(
  ("arguments", "message"),
  [
    ({"ranges": ("AA",)}, "expected two, of player 0 and of player 1, got 1"),
    ({"ranges": ("AA", "XX")}, "range token 'XX': not understood"),
    ({"bets": "50%, big"}, "unknown bet size 'big'"),
    ({"bets": ["50% | 33%", "a"]}, "sizes for each player or street are one text"),
    *[
      ({"bets": bets}, "bets=.*: must be a text, or several")
      for bets in (None, 5, ["50%", None], np.array(1))
    ],
    *[({"ranges": ranges}, "ranges=.*: must be a text, or several") for ranges in (None, ["AA", 3], 5)],
    ({"board": "Kh, Kd"}, "a river board has 5"),
    ({"bets": ["50% / 33%", "a"]}, "sizes for each player or street are one text"),
    ({"stack": 10**20}, "stack=100000000000000000000: must be a whole number from 0 to 2147483647"),
    ({"stack": 2**31}, "stack=2147483648: must be a whole number"),
    ({"pot": -(10**20)}, "pot=-100000000000000000000: must be a whole number"),
    ({"pot": 200.0}, "pot=200.0: must be a whole number"),
    ({"stack": True}, "stack=True: must be a whole number"),
    ({"stack": "500"}, "stack='500': must be a whole number"),
  ],
)
def test_mistakes(arguments, message):
  with pytest.raises(ValueError, match=message):
    ps_cfr_spiel.river(**arguments)


@pytest.mark.parametrize(
  ("board", "message"),
  [("Kh, Kd", "a board has 3, 4 or 5"), ("Kh Kd 8c 4s 4s", "4 of them different")],
)
def test_boards_of_other_lengths(board, message):
  with pytest.raises(ValueError, match=message):
    ps_cfr_spiel.holdem(board)


@pytest.mark.parametrize("board", [None, 5, 10**30, ["AA", 3], np.arange(5), ("Ks", "7d", "2c", "5h", "9s")])
@pytest.mark.parametrize("make", [ps_cfr_spiel.river, ps_cfr_spiel.holdem])
def test_boards_that_are_no_text(make, board, capfd):
  with pytest.raises(ValueError, match=f"^{re.escape(f'board={board!r}: must be a text')}"):
    make(board)
  assert capfd.readouterr() == ("", "")


def test_a_comma_in_a_game_string_gets_a_hint(capfd):
  assert program.run(["summary", "river_subgame(ranges=AA,KK;QQ)"]) == 2
  error = capfd.readouterr().err
  assert "Unknown parameter 'KK;QQ)'" in error and "write blanks; ps_cfr_spiel.river()" in error


def test_flags_and_a_game_exclude_each_other(capfd):
  assert program.run(["summary", "kuhn_poker", "--pot=100"]) == 2
  assert "--pot: these describe a spot, so leave out 'kuhn_poker'" in capfd.readouterr().err


def test_chips_may_be_numpys():
  game = ps_cfr_spiel.river(pot=np.int64(100), stack=np.int32(500))
  assert str(game) == str(ps_cfr_spiel.river(pot=100, stack=500))
  assert ps_cfr_spiel.river(stack=2**31 - 1).get_parameters()["stack"] == 2**31 - 1
