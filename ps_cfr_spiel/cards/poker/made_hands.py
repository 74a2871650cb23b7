"""Classes of hold'em hands as players name them: sets, top pair, flush draws.

A hand has one class by the cards that it makes with the board, and, with cards to come, its draws. Below a
straight the class is of the hand's own part: a pair on the board is no pair of the hand.
"""

from collections.abc import Sequence

import numpy as np

from ps_cfr_spiel.cards.notation import card_names, parse_hands
from ps_cfr_spiel.cards.poker.cards import BOARD_SIZE, RANKS, SUITS
from ps_cfr_spiel.cards.poker.ranking import completing_ranks, orders

MADE = (
  *("straight flush", "quads", "full house", "flush", "straight", "set", "trips", "two pair", "overpair"),
  *("top pair", "pocket pair", "second pair", "low pair", "ace high", "high card"),
)
DRAWS = ("flush draw", "open-ended draw", "gutshot draw")
CLASSES = (*MADE, *DRAWS)
_STRAIGHT, _FLUSH = 4, 5  # orders of `ranking.orders`; 0 is a high card, 8 a straight flush
_ACE = len(RANKS) - 1


def made_hands(board: Sequence[int], hands: np.ndarray) -> list[tuple[str, ...]]:
  """The names in `CLASSES` of each hand, int[H, 2], the higher card first: the made one, then its draws.

  A pocket pair below the board's top card is "pocket pair"; "low pair" pairs the third card or a lower one;
  two ranks or more complete an open-ended draw. The board has three to five cards.
  """
  order, ranks = orders(np.array(board), hands), hands // len(SUITS)
  on_board = [card // len(SUITS) for card in board]
  suits = np.array(board) % len(SUITS)
  held = np.stack([(hands % len(SUITS) == suit).sum(1) for suit in range(len(SUITS))], 1)
  near_flush = ((held + np.bincount(suits, minlength=len(SUITS)) == _FLUSH - 1) & (held > 0)).any(1)
  outs = completing_ranks(np.array(board), hands)
  drawing = len(board) < BOARD_SIZE
  named = []
  for made, pair, flush, out in zip(order.tolist(), ranks.tolist(), near_flush, outs.tolist(), strict=True):
    names = [MADE[8 - made] if made >= _STRAIGHT else _own_part(pair, on_board)]
    names += [DRAWS[0]] * bool(drawing and made < _FLUSH and flush)
    names += [DRAWS[1] if out > 1 else DRAWS[2]] * bool(drawing and made < _STRAIGHT and out)
    named.append(tuple(names))
  return named


def named_hands(text: str, names: Sequence[str], classes: Sequence[Sequence[str]]) -> np.ndarray:
  """bool[H]: which of some hands, such as AsKd, a text names: a class of them, or in the notation of ranges.

  A class is one of `CLASSES`, such as "top pair", or words of such names: "draw" stands for all draws;
  `classes` has those of each hand, as of `made_hands`. ValueError if the text is neither, or has weights.
  """
  words = f" {' '.join(text.lower().split())} "
  if any(words in f" {name} " for name in CLASSES):
    return np.array([any(words in f" {name} " for name in each) for each in classes], bool)
  try:
    weights = parse_hands(text, "hands") if text.strip() else {}
  except ValueError as error:
    raise ValueError(f"{error}, or as a class of hands, such as {MADE[9]}, {MADE[5]} or draw.") from error
  if any(weight != 1 for weight in weights.values()):
    raise ValueError(f"{text!r} has weights, and hands are named without; leave them out.")
  return np.isin(np.array(names), [card_names(hand) for hand in weights])


def _own_part(hand: Sequence[int], board: Sequence[int]) -> str:
  """The class of a hand below a straight, by the ranks of its two cards, the higher first."""
  tops = sorted(set(board), reverse=True)
  if hand[0] == hand[1]:
    return "set" if hand[0] in board else "overpair" if hand[0] > tops[0] else "pocket pair"
  pairs = [rank for rank in hand if rank in board]
  if any(board.count(rank) > 1 for rank in pairs):
    return "trips"
  if len(pairs) > 1:
    return "two pair"
  if pairs:
    return ("top pair", "second pair", "low pair")[min(tops.index(pairs[0]), 2)]
  return "ace high" if hand[0] == _ACE else "high card"
