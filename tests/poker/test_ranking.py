"""Ranking many hands at once, against PokerKit."""

import numpy as np
import pytest
from pokerkit import StandardHighHand

from ps_cfr_spiel.cards.poker import cards
from ps_cfr_spiel.cards.poker.ranking import strengths


def theirs(board, hand):
  """PokerKit's place of the best five cards among all."""
  return StandardHighHand.from_game(cards.card_names(hand), cards.card_names(board)).entry.index


def random_boards(count):
  """Random ones, and at the end some where special things happen."""
  rng = np.random.default_rng(3)
  special = ("AsKsQsJsTs", "5s4s3s2sAd", "9s9h9c9d2c", "7h6h5h4hKs", "8c8d8hKsKd", "2c2d3c3dAs", "AhKhQh2h3h")
  drawn = [rng.choice(52, 5, replace=False).tolist() for _ in range(count)]
  return np.array(drawn + [cards.parse_board(board) for board in special])


def same_order(found, expected):
  """Whether two rankings agree in all comparisons, ties included."""
  return np.array_equal(
    np.unique(found, return_inverse=True)[1].ravel(), np.unique(expected, return_inverse=True)[1].ravel()
  )


def test_agrees_with_pokerkit_on_boards():
  boards = random_boards(8)
  for board, found in zip(boards.tolist(), strengths(boards, cards.ALL_HANDS), strict=True):
    live = np.flatnonzero(~np.isin(cards.ALL_HANDS, board).any(1))[::11]
    ranks = [theirs(board, hand) for hand in cards.ALL_HANDS[live].tolist()]
    assert same_order(found[live], np.array(ranks)), cards.card_names(board)


def test_across_boards():
  """A pair on one board loses to trips on another: strengths are of hands, not places in a list."""
  rng = np.random.default_rng(4)
  seven = np.stack([rng.choice(52, 7, replace=False) for _ in range(1000)])
  found = strengths(seven[:, :5], seven[:, None, 5:])[:, 0]
  assert same_order(found, np.array([theirs(row[:5], row[5:]) for row in seven.tolist()]))


def test_without_a_board():
  """A pair beats any high card, then the higher ranks win; suits count for nothing."""
  rows = np.array(
    [cards.parse_cards(text) for text in ("3d2c", "4h2c", "AsQd", "AhKd", "AcKd", "2c2d", "AsAd")]
  )
  found = strengths(np.zeros((1, 0), int), rows)[0]
  assert same_order(found, np.array([0, 1, 2, 3, 3, 4, 5]))


@pytest.mark.parametrize("text", ["AsAd", "7c2h", "KhKd"])
def test_numbers_of_hands(text):
  number = cards.set_numbers(np.array(cards.parse_cards(text)))
  assert cards.card_names(cards.ALL_HANDS[number].tolist()) == text
  assert np.array_equal(cards.set_numbers(cards.ALL_HANDS), np.arange(1326))
