"""Games by name: loaded quietly, and refused in a sentence."""

import pyspiel
import pytest

from ps_cfr_spiel.loading import load_game


@pytest.mark.parametrize("text", ["kuhn_poker", "leduc_poker(players=2)", "river_subgame(ranges=AA;KK)"])
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
    ("kuhn_poker(players=2147483648)", "2147483648 is too large"),
  ],
)
def test_what_is_wrong_is_said_once_and_as_a_value_error(text, message, capfd):
  with pytest.raises(ValueError, match=message):
    load_game(text)
  assert capfd.readouterr().err == ""  # what C++ writes included
