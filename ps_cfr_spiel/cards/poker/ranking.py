"""Strengths of hands on a river, for many boards and many hands at once.

The ranks of the cards of each suit are a mask of 13 bits. The value of seven cards follows from a few
operations on the four masks of their suits and from tables over all masks, whole arrays at a time. The
tables are made at their first use: a program that ranks no hand starts without them.
"""

import functools
from typing import Any

import numpy as np

from ps_cfr_spiel.cards.poker.cards import RANKS, SUITS

_MASKS = np.arange(1 << len(RANKS), dtype=np.int32)  # tables of half the size stay in the cache
_ROOM = len(RANKS)  # bits for each of the two masks of a strength
_FIVE = 5


@functools.cache
def _bits() -> np.ndarray:
  """For each mask whether it has each rank, 0 or 1."""
  return (_MASKS[:, None] >> np.arange(len(RANKS), dtype=np.int32)) & 1


@functools.cache
def _counts() -> np.ndarray:
  """For each mask the number of its ranks."""
  return _bits().sum(1, dtype=np.int32)


@functools.cache
def _highest(count: int) -> np.ndarray:
  """For each mask that of its `count` highest ranks."""
  higher = np.cumsum(_bits()[:, ::-1], 1)[:, ::-1]  # ranks from here upwards
  return (_bits() * (higher <= count)) @ (1 << np.arange(len(RANKS), dtype=np.int32))


@functools.cache
def _straights() -> np.ndarray:
  """For each mask the rank of its highest straight, 1 from the ace to the five, 0 without one."""
  with_low_ace = np.concatenate([_bits()[:, -1:], _bits()], 1)
  highest = np.zeros(len(_MASKS), np.int32)
  for lowest in range(with_low_ace.shape[1] - _FIVE + 1):
    highest[with_low_ace[:, lowest : lowest + _FIVE].all(1)] = lowest + 1
  return highest


def strengths(boards: Any, hands: Any, xp: Any = np) -> Any:
  """int32[..., H]: the strength of hands at showdown; the larger wins, equal ones tie.

  Boards are int[..., m], hands int[..., H, n], with the axes of `boards` in front, or the same for all:
  int[H, n]; m is up to five, n one or two. Meaningless for hands that hold a card of the board. `xp` is
  numpy, or jax.numpy in jitted code.
  """
  shared, held_masks = (_masks(held, xp) for held in (boards, hands))
  front = (None,) * (shared[0].ndim + 1 - held_masks[0].ndim)
  suits = a, b, c, d = [s[..., None] | h[front] for s, h in zip(shared, held_masks, strict=True)]
  look = lambda table, at: xp.take(xp.asarray(table), at)  # noqa: E731
  top = lambda count, masks: look(_highest(count), masks)  # noqa: E731
  ranks = a | b | c | d
  twice = (a & b) | (c & d) | ((a | b) & (c | d))
  thrice = (a & b & (c | d)) | (c & d & (a | b))
  four = a & b & c & d
  # Of seven cards only one suit can have five.
  flush = sum(xp.where(look(_counts(), suit) >= _FIVE, suit, 0) for suit in suits)
  straight, steel, two = look(_straights(), ranks), look(_straights(), flush), look(_counts(), twice) > 1
  pairs, trips = top(2, twice), top(1, thrice)
  kinds = (  # from the strongest: is it made?, the ranks that make it, those beside it
    (steel > 0, steel, 0),
    (four > 0, four, top(1, ranks & ~four)),
    ((thrice > 0) & two, trips, top(1, twice & ~trips)),
    (flush > 0, top(_FIVE, flush), 0),
    (straight > 0, straight, 0),
    (thrice > 0, thrice, top(2, ranks & ~thrice)),
    (two, pairs, top(1, ranks & ~pairs)),
    (twice > 0, twice, top(3, ranks & ~twice)),
  )
  best = top(_FIVE, ranks)  # a high card
  for order, (made, by, beside) in enumerate(reversed(kinds), start=1):
    best = xp.where(made, ((order << _ROOM | by) << _ROOM) | beside, best)
  return best


def orders(boards: np.ndarray, hands: np.ndarray) -> np.ndarray:
  """int[..., H]: 0 high card, 1 pair, ..., 4 straight, 5 flush, 6 full house, 7 four, 8 straight flush.

  Arguments as for `strengths`, but a board may have three to five cards.
  """
  return strengths(boards, hands) >> 2 * _ROOM


def completing_ranks(board: np.ndarray, hands: np.ndarray) -> np.ndarray:
  """int[H]: the number of ranks whose cards would complete a straight that a hand, [H, 2], has a part in."""
  shared, held_masks = (np.bitwise_or.reduce(_masks(held)) for held in (board, hands))
  more = 1 << np.arange(len(RANKS))
  return (_straights()[shared | held_masks[:, None] | more] > _straights()[shared | more]).sum(1)


def _masks(cards: Any, xp: Any = np) -> list[Any]:
  """For each suit the ranks of its cards as a mask: int[..., n] to int32[...]."""
  rank, suit = xp.divmod(xp.asarray(cards).astype(np.int32), len(SUITS))
  bits = xp.left_shift(1, rank)
  of_suit = (xp.moveaxis(xp.where(suit == s, bits, 0), -1, 0) for s in range(len(SUITS)))
  return [functools.reduce(xp.bitwise_or, each, xp.zeros(rank.shape[:-1], np.int32)) for each in of_suit]
