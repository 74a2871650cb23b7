"""What people type, and which move it means."""

import pytest

from ps_cfr_spiel.cards.notation import Moves, grouped, next_move, read_move, split_words

FACED = Moves(("Fold", "Call", "Raise to 800", "All-in 19900"), (0, 1, 2, 5), (None, 0.0, 0.75, 24.0))
FREE = Moves(
  ("Check", "Bet 3.3", "Bet 4.13", "Bet 10", "All-in 40"), (1, 2, 3, 4, 9), (0.0, 0.33, 0.41, 1, 4)
)
MANY = Moves(("Check", *(f"Bet {n}" for n in range(100, 160))), (1, *range(2, 62)))  # more than have letters
CHASE = Moves(("Stones to 1/8", "Stones to 1/9", "Stones to 1/10"), (19, 20, 21), history=("Evader to 4",))
LEDUC = Moves(("Call", "Raise"), (1, 2))  # nothing to call
OPENSPIEL = Moves(("Fold", "Call", "Bet", "AllIn", "HalfPot"), (0, 1, 2, 3, 4), (None, 0.0, 1.0, 9.5, 0.5))
BIDS = Moves(("[P0]Bid: 1", "[P0]Bid: 2"), (0, 1))
CARDS = Moves(("Deal 2c", "Deal 2d", "Deal Kc"), (0, 1, 44))


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
  ("moves", "texts", "name"),
  [
    (FACED, "fold | FOLD | f | 0 | fo", "Fold"),
    (FACED, "call | c | 1 | ca", "Call"),
    (FACED, "Raise to 800 | raise 800 | r800 | bet 800 | b 800 | 800 | 2 | r | raise", "Raise to 800"),
    (FACED, "75% | b 75% | b75% | r 75% pot | 3/4 pot | b 3/4 | 0.75 pots | min | b 820", "Raise to 800"),
    (FACED, "5 | a | all-in | allin | all in | 19,900 | raise to 19,900 | ALL-IN 19900", "All-in 19900"),
    (FREE, "x | k | check | ch | c | 1", "Check"),
    (FREE, "b 4.1 | b4.13 | 4.13 | r 4.13 | 41%", "Bet 4.13"),
    (FREE, "b 3.3 | 2 | 33% | min | b min", "Bet 3.3"),
    (FREE, "b 10 | 10 | 4 | pot | 1 pot | b 9.8 | 100%", "Bet 10"),
    (FREE, "4 pots | 400% | b 40", "All-in 40"),
    (MANY, "x", "Check"),
    (CHASE, "1/9 | to 1/9 | st to 1/9 | s1/9 | 20", "Stones to 1/9"),
    (LEDUC, "x | k | check | c | call | 1", "Call"),
    (LEDUC, "r | raise | 2", "Raise"),
    (OPENSPIEL, "1/2 pot | b 50% | halfpot | 4", "HalfPot"),
    (OPENSPIEL, "pot | b | b pot | bet", "Bet"),
    (OPENSPIEL, "a | all-in | allin", "AllIn"),
    (BIDS, "bid: 2 | [p0]bid: 2", "[P0]Bid: 2"),
    (CARDS, "2d | 2D | deal 2d | d2d | d 2d", "Deal 2d"),
  ],
)
def test_moves(moves, texts, name):
  read = {text: moves.names[read_move(text, moves)] for text in texts.split(" | ")}
  assert read == dict.fromkeys(texts.split(" | "), name)


@pytest.mark.parametrize(
  ("moves", "text", "message"),
  [
    (FACED, "7", r"^'7' is not legal here\. Legal: Fold, Call, Raise to 800, All-in 19,900\.$"),
    (FACED, "x", "^'x' is not legal here"),
    (
      FACED,
      "fold call",
      r"^'fold call' is more than one move: 'call' \(word 2\) follows Fold; write one move",
    ),
    (FACED, "", "^'' is not legal here"),
    (FACED, "raise 1", "^'raise 1' is not legal here"),
    (FACED, "bet 900", "^'bet 900' is not legal here"),  # 800 is too far
    (FACED, "b", "^'b' is not legal here"),  # there is a raise, but no bet
    (FACED, "al", "^'al' is not legal here"),  # all chips are not abbreviated
    (FACED, "1/0", "not legal"),
    (FACED, "b 1e3", "more than one move|not legal"),
    (FREE, "b", "^'b' may be Bet 3.3, Bet 4.13 or Bet 10; write which one"),
    (FREE, "b 3.7", "not legal"),
    (FREE, "37%", "not legal"),
    (FREE, "r", "^'r' is not legal here"),
    (FREE, "call", "^'call' is not legal here"),
    (MANY, "b 132.5", "^'b 132.5' may be Bet 132 or Bet 133; write which one"),
    (MANY, "r", "^'r' is not legal here"),
    (MANY, "d", r"Legal: Check, Bet 100 up to Bet 159 \(b AMOUNT, min\)"),
    (MANY, "50%", "not legal"),  # of which pot?
    (CHASE, "stones", "^'stones' may be Stones to 1/8, Stones to 1/9 or Stones to 1/10; write which one"),
    (CHASE, "8", "^'8' is not legal after Evader to 4"),
    (LEDUC, "f", "^'f' is not legal here"),
    (LEDUC, "b", "^'b' is not legal here"),
    (OPENSPIEL, "x", "^'x' is not legal here"),
    (OPENSPIEL, "b 300", "^'b 300' is not legal here"),
    (BIDS, "1", r"^'1' may be \[P0\]Bid: 1 or \[P0\]Bid: 2 \(number 1\); write which one"),
    (CARDS, "c", "not legal"),
    (CARDS, "2", "not legal"),
  ],
)
def test_mistakes(moves, text, message):
  with pytest.raises(ValueError, match=message) as error:
    read_move(text, moves)
  assert "\n" not in str(error.value)


def test_a_number_that_is_an_amount_and_another_moves_number_is_refused():
  moves = Moves(("Check", "Bet 2", "Bet 3"), (1, 3, 4))
  with pytest.raises(ValueError, match=r"^'3' may be Bet 2 \(number 3\) or Bet 3; write which one"):
    read_move("3", moves)
  assert [read_move(text, moves) for text in ("b 3", "b3", "bet 3", "4", "2")] == [2, 2, 2, 2, 1]


def test_bets_too_many_to_be_listed_have_no_numbers():
  """On a later street the action number 130 may be the bet of 100."""
  moves = Moves(("Check", *(f"Bet {n}" for n in range(100, 160))), (1, *range(130, 190)))
  assert moves.names[read_move("130", moves)] == "Bet 130"
  assert moves.names[read_move("1", moves)] == "Check"


def test_a_line_is_read_move_by_move():
  words = split_words("x, b 4.1, raise to 800, 2d")
  at, read = 0, []
  for moves in (FREE, FREE, FACED, CARDS):
    choice, at = next_move(words, at, moves)
    read.append(moves.names[choice])
  assert read == ["Check", "Bet 4.13", "Raise to 800", "Deal 2d"] and at == len(words)
  with pytest.raises(ValueError, match=r"^'b 900' \(word 2\) is not legal here"):
    next_move(["x", "b", "900", "c"], 1, FACED)


def test_grouped_names_are_read_again():
  assert grouped("All-in 19900") == "All-in 19,900" and grouped("Bet 200") == "Bet 200"
  assert grouped("Raise to 1234567") == "Raise to 1,234,567"
  assert grouped("Discard 3456") == "Discard 3456"  # cards
  assert [read_move(grouped(name), FACED) for name in FACED.names] == [0, 1, 2, 3]
