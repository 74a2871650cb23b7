"""Spots as poker players write them, against the same game by its own string."""

import json
import re
import warnings

import numpy as np
import pyspiel
import pytest

import ps_cfr_spiel
from ps_cfr_spiel.apps.commands import program
from ps_cfr_spiel.cards.poker import cards, describe


def test_commas_and_percents():
  game = ps_cfr_spiel.river(
    "Kh, Kd, 8c,4s, 2h", pot=100, stack=450, bets="50%, 133.5 %, a", ranges=("AA, KQs,76s:0.5", "TT+, AQs")
  )
  expected = pyspiel.load_game(
    "river_subgame(board=Kh Kd 8c 4s 2h,pot=100,stack=500,bets=50% 133.5 % a,ranges=AA KQs 76s:0.5;TT+ AQs)"
  )
  assert str(game) == str(expected)
  assert str(pyspiel.load_game(str(game))) == str(game)


@pytest.mark.parametrize(
  ("bets", "expected"),
  [
    ("fcpa", "fcpa"),
    ("75%", "75%"),
    ("0.75", "75%"),
    ("7%, 5.5%", "7% 5.5%"),
    ("200% a", "200% a"),
    (["33%, a", "a"], "33% a; a"),
    (["1/3", "allin"], "1/3; allin"),
    ("50%; 100%, a", "50%; 100% a"),
    ("50%, a; a | 33%", "50% a; a | 33%"),
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
    ("Kh, Kd 8c", "33%, 75%a / 75% / a", "holdem_subgame(board=Kh Kd 8c,bets=33% 75%a / 75% / a"),
    ("KhKd8c4s", "50%", "holdem_subgame(board=KhKd8c4s,bets=50%"),
    ("Kh Kd,8c 4s 2h", "a", "river_subgame(board=Kh Kd 8c 4s 2h,bets=a"),
  ],
)
def test_the_board_says_which_street_it_is(board, bets, expected, capsys):
  game = ps_cfr_spiel.holdem(board, pot=100, stack=450, bets=bets, ranges=("AA, KQs", "TT+"))
  assert str(game) == str(pyspiel.load_game(f"{expected},pot=100,stack=500,ranges=AA KQs;TT+)"))
  words = [f"--board={board}", "--pot=100", "--stack=450", f"--bets={bets}", "--ranges=AA, KQs;TT+"]
  assert program.run(["summary", *words, "--json"]) == 0
  assert json.loads(capsys.readouterr().out)["game"] == str(game)


@pytest.mark.parametrize(
  ("arguments", "message"),
  [
    ({"ranges": ("AA",)}, "expected two, of player 0 and of player 1, got 1"),
    ({"ranges": ("AA", "XX")}, "the range of player 1='XX': 'XX', character 1: not understood"),
    ({"bets": "50%, big"}, "'big', character 6: unknown bet size"),
    ({"bets": ["50% | 33%", "a"]}, "sizes for each player or street are one text"),
    *[
      ({"bets": bets}, "bets=.*: must be a text, or several")
      for bets in (None, 5, ["50%", None], np.array(1))
    ],
    *[({"ranges": ranges}, "ranges=.*: must be a text, or several") for ranges in (None, ["AA", 3], 5)],
    ({"board": "Kh, Kd"}, "a river board has 5"),
    ({"bets": ["50% / 33%", "a"]}, "sizes for each player or street are one text"),
    ({"stack": 10**20}, "stack=100000000000000000000: must be a number from 0 to 2147483647"),
    ({"stack": 2**31 - 1}, "stack=2147483747: must be a whole number"),
    ({"pot": -(10**20)}, "pot=-100000000000000000000: must be a number"),
    ({"pot": 0.00001}, "pot=1e-05: must be a number from 0 to 2147483647 with at most 4 decimals"),
    ({"stack": True}, "stack=True: must be a number"),
    ({"stack": "much"}, "stack='much': must be a number"),
    ({"stack": float("nan")}, "stack=nan: must be a number"),
    ({"bets": "2.5y"}, "'2.5y', character 1: unknown bet size"),
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


@pytest.mark.parametrize("board", [5, 10**30, ["AA", 3], np.arange(5), ("Ks", "7d", "2c", "5h", "9s")])
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
  game = ps_cfr_spiel.river(pot=np.int64(100), stack=np.float64(500))
  assert str(game) == str(ps_cfr_spiel.river(pot=100, stack=500))
  assert ps_cfr_spiel.river(stack=2**31 - 101).get_parameters()["stack"] == 2**31 - 1


@pytest.mark.parametrize(
  ("pot", "stack", "chips"),
  [
    (5.5, 97.25, {"pot": 550, "stack": 10000, "unit": 100}),
    ("6.00", 97, {"pot": 600, "stack": 10000, "unit": 100}),
    (55, 100, {"pot": 550, "stack": 1275, "unit": 10}),  # half of it is no whole number
    (100.0, 400, {"pot": 100, "stack": 450, "unit": 1}),
  ],
)
def test_the_stack_is_behind_and_amounts_have_decimals(pot, stack, chips):
  parameters = ps_cfr_spiel.river(pot=pot, stack=stack).get_parameters()
  assert {name: parameters[name] for name in chips} == chips


def test_raises_are_multiples_of_the_bet():
  game = ps_cfr_spiel.river(pot=5.5, stack=97.25, bets="50%; 2.5x; 2.2x, a", ranges=("8h8d", "6c6d"))
  state = game.new_initial_state()
  state.apply_action(0)
  state.apply_action(0)
  names = []
  while len(state.legal_actions()) > 1:  # always the largest size that is no all-in
    action = [a for a in state.legal_actions() if "All-in" not in state.action_to_string(a)][-1]
    names.append(state.action_to_string(action))
    state.apply_action(action)
  assert names[:3] == ["Bet 2.75", "Raise to 6.88", "Raise to 15.14"]  # 2.5 x 2.75, 2.2 x 6.88, half up
  # Where there is no bet, a multiple is left out.
  with pytest.warns(UserWarning, match=r"no bet of 2\.5x fits"):
    state = ps_cfr_spiel.river(bets="2.5x, a", ranges=("8h8d", "6c6d")).new_initial_state()
  assert len(state.child(0).child(0).legal_actions()) == 2


@pytest.mark.parametrize(
  ("bets", "told"),
  [
    ("33%, 150%, 500%", "no bet of 500% fits, with 4.38 pots behind"),
    ("500%", "no bet of 500% fits, with 4.38 pots behind, so neither player can bet"),
    ("x; 500%, a", "no bet of 500% or a fits, with 4.38 pots behind, so neither player can bet"),
    ("a; 2x | x; a", "no bet of 2x fits, with 4.38 pots behind"),
    ("437.5%, a", ""),  # the same chips
    ("500%a", ""),
    ("33%; 2x, a", ""),
    ("x", ""),
  ],
)
def test_sizes_that_fit_nowhere_are_told(bets, told):
  ps_cfr_spiel.river(stack=0)  # all-in already: no warning
  words = {"board": "Ks7d2c5h9s", "pot": 20, "stack": 87.5, "bets": bets, "ranges": ("AA", "KK")}
  with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    game = ps_cfr_spiel.river(**words)
  assert [str(warning.message) for warning in seen] == [told] * bool(told)
  summary = ps_cfr_spiel.build_tree(game).summary()
  assert (f"left out:            {told}\n" in summary + "\n") if told else ("left out" not in summary)


@pytest.mark.parametrize("number", [3, 4])
def test_subgames_of_libratus_are_dealt_as_by_openspiel(number, tmp_path):
  rng, weights = np.random.default_rng(number), np.zeros(2652)
  held = rng.choice(2652, 120, replace=False)
  weights[held] = rng.uniform(0.01, 1, 120)
  text = " ".join(map(repr, weights.tolist()))
  (tmp_path / "subgame.txt").write_text(text)
  game = ps_cfr_spiel.cards.poker.libratus(number, tmp_path / "subgame.txt")
  own = game.get_parameters()
  ranges, possible = cards.parse_ranges(own["ranges"], cards.parse_cards(own["board"]))
  names = [[cards.card_names(hand) for hand in range_.cards.tolist()] for range_ in ranges]
  chances = possible * np.outer(ranges[0].weights, ranges[1].weights)
  found = {pair: chances[at] / chances.sum() for at, pair in np.ndenumerate(pairs_of(*names)) if chances[at]}

  theirs = pyspiel.load_game(
    "universal_poker(betting=nolimit,numPlayers=2,numRounds=4,blind=100 50,firstPlayer=2 1 1 1,numSuits=4,"
    "numRanks=13,numHoleCards=2,numBoardCards=0 3 1 1,stack=20000 20000,bettingAbstraction=fcpa,"
    f"potSize={own['pot']},boardCards={own['board']},handReaches={text})"
  ).new_initial_state()
  expected = {}
  for deal, chance in theirs.chance_outcomes():
    if chance > 0:
      first, second = re.findall(r"P[01] Cards: (\w{4})", str(theirs.child(deal)))
      expected[first, second] = chance
  assert found == pytest.approx(expected, rel=1e-6)


def pairs_of(first, second):
  pairs = np.empty((len(first), len(second)), object)
  for i, j in np.ndindex(pairs.shape):
    pairs[i, j] = first[i], second[j]
  return pairs


def test_turns_of_libratus_and_wrong_files(tmp_path):
  file = tmp_path / "subgame1.txt"
  file.write_text("1 " * 2652)
  assert ps_cfr_spiel.cards.poker.libratus(1, file).get_parameters()["pot"] == 500
  with pytest.raises(ValueError, match="Subgames of Libratus are 1, 2, 3, 4, got 5"):
    ps_cfr_spiel.cards.poker.libratus(5, file)
  for text, words in (("1 2 3", "3"), ("-1 " * 2652, "2,652"), ("nan " * 2652, "2,652"), ("", "0")):
    file.write_text(text)
    with pytest.raises(ValueError, match=f"must hold 2,652 weights, got {words} words"):
      ps_cfr_spiel.cards.poker.libratus(3, file)


def test_a_game_in_the_words_that_it_was_typed_in(capsys):
  """Combos counted by hand."""
  words = {"board": "K♠ 7d 2C 5h 9s", "pot": 5.5, "stack": 97.5, "bets": "33%, 1/3, all-in; x | 2.5x"}
  game = ps_cfr_spiel.river(**words, ranges=("77, AKs:50%, [25]QQ[/25]", "KsQs, TT+, KK:0"))
  text = "river Ks7d2c5h9s, pot 5.5, behind 97.5, bets (33%, 1/3, a; x | 2.5x), ranges of 6 and 24 combos"
  assert describe(str(game)) == text  # 3 + 3 / 2 + 6 / 4 beside the board; KsQs is on it
  turn = ps_cfr_spiel.holdem("Ks7d2c5h", pot=20, stack=90, bets="pot / 2e", ranges=("AsAd:3 QdQh:6", ""))
  text = (
    "turn Ks7d2c5h, pot 20, behind 90, bets (100% / 2e), ranges of 1.5 and 1,124 combos"  # no AQ of theirs
  )
  assert describe(str(turn)) == text
  assert describe("kuhn_poker()") == "kuhn_poker()"
  for name in ("glasses()", "graph_pursuit(turns=4)", "parametric_poker(bets=2,fold_last=True)"):
    assert describe(str(pyspiel.load_game(name))) == name
  flags = [f"--{name}={value}" for name, value in words.items()]
  for command in ("summary", "check"):
    assert program.run([command, *flags, "--ranges=77, AKs:50%; KK"]) == 0
    first, *_ = capsys.readouterr().out.splitlines()
    assert first.removeprefix("game:").strip() == (
      "river Ks7d2c5h9s, pot 5.5, behind 97.5, bets (33%, 1/3, a; x | 2.5x), ranges of 4.5 and 3 combos"
    )
