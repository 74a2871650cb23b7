"""Strengths of hands on a river, for many boards and many hands at once.

The ranks of the cards of each suit are a mask of 13 bits. The value of seven cards follows from a few
operations on the four masks of their suits and from tables over all masks, whole arrays at a time.
"""

import functools

import numpy as np

from ps_cfr_spiel.poker.cards import RANKS, SUITS

_MASKS = np.arange(1 << len(RANKS), dtype=np.int32)  # tables of half the size stay in the cache
_BITS = (_MASKS[:, None] >> np.arange(len(RANKS), dtype=np.int32)) & 1
_COUNT = _BITS.sum(1, dtype=np.int32)
_ROOM = len(RANKS)  # bits for each of the two masks of a strength
_FIVE = 5


def _highest(count: int) -> np.ndarray:
  """For each mask that of its `count` highest ranks."""
  higher = np.cumsum(_BITS[:, ::-1], 1)[:, ::-1]  # ranks from here upwards
  return (_BITS * (higher <= count)) @ (1 << np.arange(len(RANKS), dtype=np.int32))


def _straights() -> np.ndarray:
  """For each mask the rank of its highest straight, 1 from the ace to the five, 0 without one."""
  with_low_ace = np.concatenate([_BITS[:, -1:], _BITS], 1)
  found = np.zeros(len(_MASKS), np.int32)
  for lowest in range(with_low_ace.shape[1] - _FIVE + 1):
    found[with_low_ace[:, lowest : lowest + _FIVE].all(1)] = lowest + 1
  return found


_TOP = {count: _highest(count) for count in (1, 2, 3, _FIVE)}
_STRAIGHT = _straights()


def strengths(boards: np.ndarray, hands: np.ndarray) -> np.ndarray:
  """int32[..., H]: the strength of hands at showdown; the larger wins, equal ones tie.

  Boards are int[..., 5], hands int[..., H, 2], with the axes of `boards` in front, or the same for all:
  int[H, 2]. Meaningless for hands that hold a card of the board.
  """
  suits = a, b, c, d = _masks(_word(boards)[..., None] | _word(hands))
  ranks = a | b | c | d
  twice = (a & b) | (c & d) | ((a | b) & (c | d))
  thrice = (a & b & (c | d)) | (c & d & (a | b))
  four = a & b & c & d
  # Of seven cards only one suit can have five.
  flush = sum(np.where(_COUNT[suit] >= _FIVE, suit, 0) for suit in suits)
  pairs, trips = _TOP[2][twice], _TOP[1][thrice]
  kinds = (  # from the strongest: is it made?, the ranks that make it, those beside it
    (_STRAIGHT[flush] > 0, _STRAIGHT[flush], 0),
    (four > 0, four, _TOP[1][ranks & ~four]),
    ((thrice > 0) & (_COUNT[twice] > 1), trips, _TOP[1][twice & ~trips]),
    (flush > 0, _TOP[_FIVE][flush], 0),
    (_STRAIGHT[ranks] > 0, _STRAIGHT[ranks], 0),
    (thrice > 0, thrice, _TOP[2][ranks & ~thrice]),
    (_COUNT[twice] > 1, pairs, _TOP[1][ranks & ~pairs]),
    (twice > 0, twice, _TOP[3][ranks & ~twice]),
  )
  best = _TOP[_FIVE][ranks]  # a high card
  for order, (made, by, beside) in enumerate(reversed(kinds), start=1):
    best = np.where(made, ((order << _ROOM | by) << _ROOM) | beside, best)
  return best


def orders(boards: np.ndarray, hands: np.ndarray) -> np.ndarray:
  """int[..., H]: 0 high card, 1 pair, ..., 4 straight, 5 flush, 6 full house, 7 four, 8 straight flush.

  Arguments as for `strengths`, but a board may have three to five cards.
  """
  return strengths(boards, hands) >> 2 * _ROOM


def completing_ranks(board: np.ndarray, hands: np.ndarray) -> np.ndarray:
  """int[H]: the number of ranks whose cards would complete a straight that a hand, [H, 2], has a part in."""
  shared, own = (np.bitwise_or.reduce(_masks(_word(held))) for held in (board, hands))
  more = 1 << np.arange(len(RANKS))
  return (_STRAIGHT[shared | own[:, None] | more] > _STRAIGHT[shared | more]).sum(1)


def _word(cards: np.ndarray) -> np.ndarray:
  """Ranks of the cards of all suits, a mask of each suit in one word: int[..., n] to int64[...]."""
  rank, suit = np.divmod(np.asarray(cards, np.int64), len(SUITS))
  bits = np.left_shift(1, len(RANKS) * suit + rank)
  return functools.reduce(np.bitwise_or, np.moveaxis(bits, -1, 0))


def _masks(word: np.ndarray) -> list[np.ndarray]:
  """For each suit int32[...], the ranks in words as `_word` makes them."""
  return [(word >> len(RANKS) * suit & _MASKS[-1]).astype(np.int32) for suit in range(len(SUITS))]
