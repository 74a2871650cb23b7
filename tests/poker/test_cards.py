import itertools

import numpy as np
import pytest

from ps_cfr_spiel.cards.poker import cards, strengths

BOARD = cards.parse_board("6c6d6h7s8c")  # in the way of no hand named below


def names(text, board=BOARD):
  return cards.parse_range(text, board).names


def strength(text, board):
  return strengths(np.array(board), cards.parse_range(text, board).cards)


def weight_of(text, board=BOARD):
  hands = cards.parse_range(text, board)
  return dict(zip(hands.names, hands.weights.tolist(), strict=True))


def test_cards_are_numbered_by_rank_then_suit():
  assert cards.parse_board("2c2d2h2s3c") == (0, 1, 2, 3, 4)
  assert cards.parse_board(" As Ks Qs Js Ts ") == (51, 47, 43, 39, 35)
  assert cards.card_names(range(52)) == "".join(rank + suit for rank in "23456789TJQKA" for suit in "cdhs")


@pytest.mark.parametrize(
  ("board", "problem"),
  [
    ("", "0 cards"),
    ("9s7c5s4h", "4 cards"),
    ("9s7c5s4h3c2d", "6 cards"),
    ("9s7c5s4h9s", "5 cards, 4 of them different"),
    ("9s7c5s4h3x", r"'3x', character \d+: not a card"),
    ("9s7c5s4h1c", r"'1c', character \d+: not a card"),
    ("9s7c5s4hc3", r"'c3', character \d+: not a card"),
    ("9s7c5s4h3", r"'3', character \d+: not a card"),
    ("9s7c5s4h.3c", "'.3', character 9: not a card"),
  ],
)
def test_wrong_boards(board, problem):
  with pytest.raises(ValueError, match=problem) as error:
    cards.parse_board(board)
  assert f"board={board!r}" in str(error.value)


@pytest.mark.parametrize(
  ("token", "count", "example"),
  [
    ("AsKd", 1, "AsKd"),
    ("KdAs", 1, "AsKd"),
    ("2c2s", 1, "2s2c"),
    ("AA", 6, "AhAd"),
    ("AKs", 4, "AhKh"),
    ("KAs", 4, "AhKh"),
    ("AKo", 12, "AhKs"),
    ("AK", 16, "AhKh"),
    ("TT+", 30, "JsJc"),
    ("22+", 66, "2s2c"),  # 78 less six pairs of sixes, three of sevens, three of eights
    ("A9s+", 20, "AcTc"),
    ("KTo+", 36, "KcQd"),
    ("A5s-A2s", 16, "Ad4d"),
    ("A2s-A5s", 16, "Ad4d"),
    ("55-22", 24, "3h3d"),
  ],
)
def test_range_notation(token, count, example):
  found = names(token)
  assert len(found) == count
  assert example in found


def test_no_token_means_all_hands_by_ascending_cards():
  hands = cards.parse_range("", BOARD)
  expected = [
    (high, low)
    for high, low in itertools.product(range(52), repeat=2)
    if high > low and not {high, low} & set(BOARD)
  ]
  assert hands.cards.tolist() == [list(hand) for hand in expected]
  assert hands.cards.dtype == np.int32
  assert hands.names == tuple(map(cards.card_names, expected))
  assert len(hands.names) == 47 * 46 // 2
  assert hands.weights.tolist() == [1.0] * 1081


def test_order_of_a_range_does_not_depend_on_how_it_is_written():
  assert names("TT+ AsKd") == names("AsKd AA JJ KK QQ TT")
  assert names("22 AsKd")[0] == "2d2c"


def test_hands_on_the_board_are_dropped():
  assert names("AA", cards.parse_board("As7c5s4h3c")) == ("AdAc", "AhAc", "AhAd")


def test_weights():
  assert weight_of("AsAc:0.5 KsKd") == {"AsAc": 0.5, "KsKd": 1.0}
  assert weight_of("AA:2.5e-1")["AhAd"] == 0.25
  assert weight_of("22:1e9 33:1e-9")["3s3c"] == 1e-9


def test_the_later_token_counts_where_tokens_overlap():
  assert weight_of("TT+ AA:0.5")["AsAc"] == 0.5
  assert weight_of("AA:0.5 TT+")["AsAc"] == 1.0
  assert weight_of("AsAc:0.25 AsAc:0.75") == {"AsAc": 0.75}


def test_a_range_that_the_board_leaves_empty():
  with pytest.raises(ValueError, match="range='66 6c5d': empty on the board 6c6d6h6s2c"):
    cards.parse_range("66 6c5d", cards.parse_board("6c6d6h6s2c"))


@pytest.mark.parametrize(
  ("board", "ascending"),
  [
    # king high, ace high with a nine kicker and a jack, pairs, two pairs, trips, straights
    ("9s7c5s4h2c", "KhQd AhJd 3h2d 9h8d KhKd 4d2d 9h7d 2h2d 9h9d Ad3d 6h3d 8h6d"),
    # flush, full houses, quads, straight flush, royal flush
    ("KsQsJs2h2d", "As3s Jh2c KhKd 2s2c Ts9s AsTs"),
  ],
)
def test_stronger_hands_rank_higher(board, ascending):
  found = [int(strength(hand, cards.parse_board(board))[0]) for hand in ascending.split()]
  assert found == sorted(set(found))


def test_hands_that_play_the_same_five_cards_tie():
  board = cards.parse_board("AsKsQsJsTs")
  assert set(strength("", board).tolist()) == {int(strength("22", board)[0])}
  board = cards.parse_board("9s7c5s4h3c")
  assert len(set(strength("AhKd AcKh AdKs", board).tolist())) == 1


def test_disjoint_hands():
  (first, second), disjoint = cards.parse_ranges("AK QQ;AQ KK", BOARD)
  expected = [[not set(a) & set(b) for b in second.cards.tolist()] for a in first.cards.tolist()]
  assert disjoint.tolist() == expected
  assert disjoint.shape == (22, 22)


def test_hands_that_the_other_range_makes_impossible_are_dropped():
  (first, second), disjoint = cards.parse_ranges("AsKd;AsQd AhQh:0.5 QcKd", BOARD)
  assert first.names == ("AsKd",)
  assert second.names == ("AhQh",)
  assert second.weights.tolist() == [0.5]
  assert second.cards.shape == (1, 2)
  assert disjoint.tolist() == [[True]]


@pytest.mark.parametrize("text", ["uniform", "", ";", " ; "])
def test_uniform_ranges(text):
  ranges, disjoint = cards.parse_ranges(text, BOARD)
  assert [len(hands.names) for hands in ranges] == [1081, 1081]
  assert disjoint.sum() == 1081 * 45 * 44 // 2


def test_an_empty_side_means_all_hands():
  ranges, _ = cards.parse_ranges(";AsKd", BOARD)
  assert [len(hands.names) for hands in ranges] == [45 * 44 // 2, 1]


@pytest.mark.parametrize("text", ["AA", "AA;KK;QQ", ";;"])
def test_other_than_two_ranges(text):
  with pytest.raises(ValueError, match="two ranges with one ';' between them") as error:
    cards.parse_ranges(text, BOARD)
  assert f"ranges={text!r}" in str(error.value)


def test_ranges_that_cannot_both_be_dealt():
  with pytest.raises(ValueError, match="ranges='AsKd AsQd;AsJd': cannot both be dealt"):
    cards.parse_ranges("AsKd AsQd;AsJd", BOARD)


def test_unblocked_hands_hold_no_card_of_the_board():
  named = {k for k, hand in enumerate(cards.ALL_HANDS.tolist()) if not {*hand} & {*BOARD}}
  assert set(np.flatnonzero(cards.unblocked(BOARD)).tolist()) == named
