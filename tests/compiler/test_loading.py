"""Games by name: loaded quietly, and refused in a sentence."""

import pyspiel
import pytest

from ps_cfr_spiel.loading import load_game


@pytest.mark.parametrize(
  "text",
  [
    "kuhn_poker",
    "kuhn_poker()",
    "leduc_poker(players=2)",
    "leduc_poker(players=2) ",
    "river_subgame(ranges=AA;KK)",
    "river_subgame(bets=50% a; x | 1/3,pot=20)",
    "turn_based_simultaneous_game(game=goofspiel(num_cards=3,players=2,imp_info=True))",
    "start_at(history=0;1,game=kuhn_poker(players=2))",
    "repeated_game(stage_game=matrix_rps(),num_repetitions=2)",
    "zerosum(game=turn_based_simultaneous_game(game=goofspiel(num_cards=3)))",
    str(pyspiel.load_game_as_turn_based("goofspiel(num_cards=3)")),
  ],
)
def test_a_game_is_that_of_openspiel(text):
  assert str(load_game(text)) == str(pyspiel.load_game(text))


@pytest.mark.parametrize(
  ("text", "message"),
  [
    ("kuhn_pokr", r"Unknown game 'kuhn_pokr'; did you mean 'kuhn_poker'\?"),
    ("kuhn_pokr(players=2)", "did you mean 'kuhn_poker'"),
    ("xyzzy", r"Unknown game 'xyzzy'; pyspiel.registered_names\(\) lists them all."),
    ("", "Unknown game ''"),
    ("kuhn_poker(", "Missing closing bracket"),
    ("kuhn_poker(plyers=2)", "plyers"),
    ("kuhn_poker(players=99)", "players"),
    ("river_subgame(pot=3)", "pot=3"),
    ("river_subgame(stack=99999999999999999999)", "99999999999999999999 is too large; .* at most 2147483647"),
    ("kuhn_poker(players=2)x", "'x' stands after the last bracket; leave it out"),
    ("kuhn_poker()x", "'x' stands after the last bracket; leave it out"),
    ("river_subgame(stack=1000))", r"'\)' stands after the last bracket"),
    ("river_subgame(stack=1000,)", "a comma has no parameter before or after it"),
    ("river_subgame(stack=1000,x)", "'x' is not written NAME=VALUE. A comma begins the next parameter"),
    ("river_subgame(stack=1000,stack=400)", "stack is given twice, as 1000 and 400; leave out one of them"),
    (
      "turn_based_simultaneous_game(game=goofspiel(num_cards=3,num_cards=4))",
      r"goofspiel\(num_cards=3,num_cards=4\): num_cards is given twice",
    ),
    ("turn_based_simultaneous_game(game=goofspiel(num_cards=3)))", "stands after the last bracket"),
    ("river_subgame(stack=150,bets=0.5)", "bets=0.5 must be a text, .* as a number. .* such as bets=50%"),
    (
      "river_subgame(bets=33)",
      "bets=33 must be a text, .* such as bets=50% of the pot or bets=100c for chips",
    ),
    ("holdem(blinds=100)", "blinds=100 must be a text, .*such as blinds=100/50"),
    ("river_subgame(ranges=22)", "ranges=22 must be a text, .*such as ranges=22;random"),
    ("universal_poker(blind=100)", "blind=100 must be a text, .* By default it is 100 100"),
    ("kuhn_poker(players=2147483648)", "2147483648 is too large"),
  ],
)
def test_what_is_wrong_is_said_once_and_as_a_value_error(text, message, capfd):
  with pytest.raises(ValueError, match=message):
    load_game(text)
  assert capfd.readouterr().err == ""  # what C++ writes included
