"""Hands on boards that are in no table: ranked and described in C++ when they are dealt (`cards.h`)."""

from collections.abc import Sequence

import numpy as np

from ps_cfr_spiel.backend.native import call_plain, why_unavailable
from ps_cfr_spiel.cards.poker import Deck, card_sets, strengths

BINS = 20  # of a histogram; `kBins` in cards.h
DEAD = np.iinfo(np.int32).max  # the strength of a hand that holds a card of the board


def hand_strengths(deck: Deck, hole: int, boards: np.ndarray) -> np.ndarray:
  """int32[K, H]: strengths as of `poker.strengths` on boards int[K, n]; `DEAD` of hands that are dead.

  Without the library NumPy computes them.
  """
  boards = np.ascontiguousarray(boards, np.int32)
  if why_unavailable():
    hands = card_sets(deck.size, hole)
    dead = (boards[:, None, :, None] == hands[:, None, :]).any((2, 3))
    return np.where(dead, DEAD, strengths(deck.whole(boards), deck.whole(hands)))
  out = np.empty((len(boards), _hands(deck, hole)), np.int32)
  call_plain("HandStrengths", _deck(deck, hole), boards, *boards.shape, out)
  return out


def equities(deck: Deck, hole: int, boards: np.ndarray, groups: np.ndarray) -> np.ndarray:
  """float32[K, H, G]: equities on last boards against groups int[H] of hands; undefined for dead hands."""
  boards, groups = (np.ascontiguousarray(x, np.int32) for x in (boards, groups))
  out = np.empty((len(boards), len(groups), int(groups.max()) + 1), np.float32)
  call_plain("HandEquities", _deck(deck, hole), boards, *boards.shape, groups, out)
  return out


def histograms(deck: Deck, hole: int, board: Sequence[int] | np.ndarray, left: int) -> np.ndarray:
  """float32[1 + D, H, BINS - 1]: cumulative histograms of equities at the end, NaN of dead hands.

  The first are on the board; the others, if two of the cards to come are `left`, with each card of the deck.
  """
  board = np.ascontiguousarray(board, np.int32)
  out = np.empty((1 + deck.size * (left == 2), _hands(deck, hole), BINS - 1), np.float32)
  call_plain("HandHistograms", _deck(deck, hole), board, len(board), left, out)
  return out


def nearest(points: np.ndarray, centres: np.ndarray, squared: bool) -> np.ndarray:
  """int16[...]: the nearest of centres float32[D, B] to each point, float32[..., D]; -1 if it is NaN.

  Nearest by squares of differences if `squared`, else by their sizes.
  """
  points, centres = (np.ascontiguousarray(x, np.float32) for x in (points, centres))
  out = np.empty(points.shape[:-1], np.int16)
  call_plain(
    "NearestCentres", points, out.size, points.shape[-1], centres, centres.shape[1], int(squared), out
  )
  return out


def _deck(deck: Deck, hole: int) -> np.ndarray:
  return np.array([deck.ranks, deck.suits, hole], np.int32)


def _hands(deck: Deck, hole: int) -> int:
  return deck.size if hole == 1 else deck.size * (deck.size - 1) // 2
