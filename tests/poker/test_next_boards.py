"""Lists of boards, against enumerations."""

import collections
import itertools

import numpy as np
import pytest

from ps_cfr_spiel.cards.poker import cards, deals_on, next_boards, representatives

SUITED = "AA KQs:0.5 7h6h;TT+ AhQh"  # tells suits apart


def classes(boards):
  """How many boards are alike up to the names of suits, by the least of their names."""
  orders = list(itertools.permutations(range(4)))
  return collections.Counter(
    min(tuple(sorted(card // 4 * 4 + order[card % 4] for card in board)) for order in orders)
    for board in boards
  )


def test_all_flops_are_1755_classes():
  found = next_boards((), 3, "uniform")
  assert len(found) == 1755 and sum(weight for _, weight in found) == 22_100
  expected = classes(itertools.combinations(range(52), 3))
  assert {min(classes([board])): weight for board, weight in found} == expected


@pytest.mark.parametrize(
  ("flop", "count"),
  [
    ("Ks7s2s", 10 + 13),  # a spade, or one of three suits that are alike
    ("Ks7s2d", 49 - 13),  # hearts are clubs
    ("KsKd2c", 49 - 12),  # spades are diamonds
    ("Ks7d2c", 49),
  ],
)
def test_turns_of_a_flop(flop, count):
  board = cards.parse_cards(flop)
  rest = [card for card in range(52) if card not in board]
  found = next_boards(board, 1, "TT+ AQ;AA KQs 76s:0.5")
  assert sum(weight for _, weight in found) == 49
  assert all(new[:3] == board for new, _ in found)
  ends = classes((*board, card) for card in rest)  # classes of all four cards: no finer
  assert {min(classes([new])) for new, _ in found} == set(ends)
  assert len(found) == count


def test_ranges_that_tell_suits_apart_keep_boards_apart():
  board = cards.parse_cards("Ks7s2s")
  found = next_boards(board, 1, SUITED)
  assert sum(weight for _, weight in found) == 49
  assert len(found) > len(next_boards(board, 1, "AA;TT+ AQ"))
  deals = [deals_on((*board, card), SUITED) for card in range(52) if card not in board]
  assert sum(weight * deals_on(new, SUITED) for new, weight in found) == pytest.approx(sum(deals))


def test_deals_are_pairs_of_hands():
  board = cards.parse_cards("AsKd2c")
  first, second = (cards.parse_range(text, board) for text in SUITED.split(";"))
  pairs = itertools.product(*(zip(own.cards, own.weights, strict=True) for own in (first, second)))
  expected = sum(v * w for (a, v), (b, w) in pairs if not np.intersect1d(a, b).size)
  assert deals_on(board, SUITED) == pytest.approx(expected)


def test_boards_that_no_hands_leave_are_left_out():
  found = next_boards((), 3, "AA;AsAh AcAd")
  assert found and all(deals_on(board, "AA;AsAh AcAd") > 0 for board, _ in found)
  assert sum(weight for _, weight in found) == 48 * 47 * 46 // 6  # without an ace


@pytest.mark.parametrize(("count", "error"), [(25, 0.02), (49, 0.015), (184, 0.006)])
def test_some_flops_stand_for_all(count, error):
  """Their weights give shares of flops that are known by counting."""
  every = [(board, float(weight)) for board, weight in next_boards((), 3, "uniform")]
  some = representatives(every, count)
  assert len({board for board, _ in some}) == count and {board for board, _ in some} <= dict(every).keys()
  assert sum(weight for _, weight in some) == pytest.approx(22_100)

  def share(true):
    return sum(weight for board, weight in some if true(board)) / 22_100

  def suits(board):
    return len({card % 4 for card in board})

  assert share(lambda board: suits(board) == 1) == pytest.approx(4 * 286 / 22_100, abs=error)
  assert share(lambda board: suits(board) == 3) == pytest.approx(4 * 13**3 / 22_100, abs=error)
  assert share(lambda board: len({c // 4 for c in board}) < 3) == pytest.approx(
    (3744 + 52) / 22_100, abs=error
  )
  aces = 1 - (48 * 47 * 46) / (52 * 51 * 50)
  assert share(lambda board: max(board) // 4 == 12) == pytest.approx(aces, abs=error)


@pytest.mark.parametrize(("flop", "most", "total"), [("", 920, 1755), ("Ks7s2s", 16, 23), ("Ks7d2c", 49, 49)])
def test_as_many_boards_as_asked_or_all_as_they_are(flop, most, total):
  """A class has at most 24 of the 22,100 flops, and three of the 49 turns of three spades."""
  board = cards.parse_cards(flop)
  every = [(new, float(weight)) for new, weight in next_boards(board, 3 if not flop else 1, "uniform")]
  assert representatives(every, total) == every
  for count in {1, most // 2, most}:
    some = representatives(every, count)
    assert len({new for new, _ in some}) == len(some) == count
    assert sum(weight for _, weight in some) == pytest.approx(sum(weight for _, weight in every))
  for count in {0, most + 1, total - 1, total + 1} - {*range(1, most + 1), total}:
    with pytest.raises(ValueError, match=f"cannot stand for all; choose 1 to {most}, or all {total:,}"):
      representatives(every, count)
