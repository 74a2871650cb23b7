"""What people type, and which action it means."""

import pytest

from ps_cfr_spiel.notation import find_one_action, split_words
from ps_cfr_spiel.views import grouped

NAMES, IDS = ("Fold", "Call", "Raise to 800", "All-in 19900"), (0, 1, 2, 5)


@pytest.mark.parametrize(
  ("text", "words"),
  [
    ("check, bet 200", ["check", "bet", "200"]),
    ("x,100 300", ["x", "100", "300"]),
    ("all-in 19,900", ["all-in", "19900"]),
    ("1,200,000 a", ["1200000", "a"]),
    ("1,2", ["1", "2"]),
    (" , ", []),
  ],
)
def test_words(text, words):
  assert split_words(text) == words


@pytest.mark.parametrize(
  ("text", "choice"),
  [
    ("fold", 0),
    ("RAISE to 800", 2),
    ("raise 800", 2),
    ("r800", 2),
    ("5", 3),
    ("19,900", 3),
    ("raise to 19,900", 3),
    ("all-in", 3),
    ("c", 1),
    ("a", 3),
  ],
)
def test_actions(text, choice):
  assert find_one_action(text, NAMES, IDS) == choice


@pytest.mark.parametrize(
  ("text", "message"),
  [
    ("7", "Unknown action '7' at the start"),
    ("fold call", "more than one action"),
    ("", "Unknown action ''"),
    ("raise 1", "Unknown action 'raise 1' at the start; choose one of Fold"),
    ("bet 900", "Unknown action 'bet 900'"),
  ],
)
def test_mistakes(text, message):
  with pytest.raises(ValueError, match=message):
    find_one_action(text, NAMES, IDS)


def test_grouped_names_are_read_again():
  assert grouped("All-in 19900") == "All-in 19,900" and grouped("Bet 200") == "Bet 200"
  assert grouped("Raise to 1234567") == "Raise to 1,234,567"
  assert grouped("Discard 3456") == "Discard 3456"  # cards
  assert [find_one_action(grouped(name), NAMES, IDS) for name in NAMES] == [0, 1, 2, 3]
