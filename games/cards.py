"""Cards, hands and weighted ranges on a Texas hold'em river board.

A card is an integer `4 * rank + suit` in 0..51, ranks and suits in the order of `RANKS` and
`SUITS`. A hand is an unordered pair of cards, kept and written with the higher card first
("AsKd"). Hands are always listed in ascending order of their cards, whatever order a range names
them in. The notation of ranges and the ranking of hands come from eval7.
"""

import itertools
import math
import re
import warnings
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

with warnings.catch_warnings():
  # eval7 calls pyparsing by names that pyparsing 3.3 deprecates; its users can do nothing about it.
  warnings.simplefilter("ignore", DeprecationWarning)
  import eval7
  from eval7.rangestring import RangeStringError

RANKS = "".join(eval7.ranks)
SUITS = "".join(eval7.suits)
_DECK = tuple(eval7.Deck().cards)  # _DECK[card] is eval7's object for that card
BOARD_SIZE = 5

_CARD = f"[{RANKS}][{SUITS}]"
_KIND = f"[{RANKS}]{{2}}[os]?"
# eval7 reads more than this (comments, weights, lower case), partly by accident.
_HANDS = re.compile(rf"{_CARD}{_CARD}|{_KIND}|{_KIND}\+|{_KIND}-{_KIND}")
_NOTATION = "AA, AKs, AKo, AK, AsKd, TT+, A9s+ or A5s-A2s"
_MIN_WEIGHT, _MAX_WEIGHT = 1e-9, 1e9  # products of two weights stay far from under- and overflow


class Range(NamedTuple):
  """The hands a player may hold on a river board, in ascending order of their cards.

  Attributes:
    names: Length H, as "AsKd".
    cards: int32[H, 2], higher card first.
    weights: float64[H], positive, relative to each other.
    strength: int32[H], larger wins at showdown, equal ties.
  """

  names: tuple[str, ...]
  cards: np.ndarray
  weights: np.ndarray
  strength: np.ndarray

  def take(self, keep: np.ndarray) -> "Range":
    """Returns the range with only the hands where `keep` (bool[H]) is true."""
    names = tuple(itertools.compress(self.names, keep))
    return Range(names, self.cards[keep], self.weights[keep], self.strength[keep])


def parse_board(text: str) -> tuple[int, ...]:
  """Returns the five cards of a board such as "9s7c5s4h3c" (blanks between cards are allowed).

  Raises:
    ValueError: Not five different cards.
  """
  letters = "".join(text.split())
  names = [letters[i : i + 2] for i in range(0, len(letters), 2)]
  wrong = [name for name in names if not re.fullmatch(_CARD, name)]
  if wrong:
    raise ValueError(
      f"board={text!r}: {wrong[0]!r} is not a card; a card is a rank of {RANKS} followed by a suit of {SUITS}"
    )
  if len(names) != BOARD_SIZE or len(set(names)) != BOARD_SIZE:
    raise ValueError(
      f"board={text!r}: a river board has {BOARD_SIZE} different cards, "
      f"got {len(names)} cards, {len(set(names))} of them different"
    )
  return tuple(_card(eval7.Card(name)) for name in names)


def parse_range(text: str, board: tuple[int, ...]) -> Range:
  """Returns the range that `text` describes, without the hands that share a card with the board.

  Tokens are separated by blanks. A token is one hand (AsKd), a kind of hands (AA, AKs suited, AKo
  offsuit, AK both), a kind and all better ones (TT+, A9s+: the lower card rises) or all between two
  kinds (A5s-A2s), and may end in its weight (76s:0.5), which is 1 if not given. Where tokens
  overlap the later one counts, so that `TT+ AA:0.5` plays aces half as often as tens. Text without
  any token means every hand with weight 1.

  Args:
    text: The range in the notation above.
    board: Five cards, as `parse_board` returns them.

  Raises:
    ValueError: A token that is not understood, a weight that is not a number from 1e-9 to 1e9,
      or no hand left after removing those that share a card with the board.
  """
  tokens = text.split()
  weights = {} if tokens else dict.fromkeys(itertools.combinations(range(52)[::-1], 2), 1.0)
  for token in tokens:
    hands, colon, weight = token.partition(":")
    weights.update(dict.fromkeys(_expand(hands), _parse_weight(token, weight) if colon else 1.0))
  hands = sorted(hand for hand in weights if not set(hand) & set(board))
  if not hands:
    raise ValueError(
      f"range {text!r} is empty on the board {card_names(board)}: every hand of it holds a card of the board"
    )
  on_board = [_DECK[card] for card in board]
  return Range(
    names=tuple(card_names(hand) for hand in hands),
    cards=np.array(hands, np.int32),
    weights=np.array([weights[hand] for hand in hands]),
    strength=np.array(
      [eval7.evaluate([*on_board, _DECK[high], _DECK[low]]) for high, low in hands], np.int32
    ),
  )


def compatible(first: Range, second: Range) -> np.ndarray:
  """Returns bool[H0, H1]: whether the two hands share no card, so that both can be dealt."""
  bits = [(np.int64(1) << hands.cards.astype(np.int64)).sum(axis=1) for hands in (first, second)]
  return (bits[0][:, None] & bits[1][None, :]) == 0


def card_names(cards: Iterable[int]) -> str:
  """Returns the cards in letters, as "AsKd"."""
  return "".join(str(_DECK[card]) for card in cards)


def _expand(token: str) -> list[tuple[int, int]]:
  """Returns the hands that a token without weight stands for."""
  problem = f"hands {token!r} not understood; write them as {_NOTATION}, separated by blanks"
  if not _HANDS.fullmatch(token):
    raise ValueError(problem)
  try:
    with warnings.catch_warnings():
      warnings.simplefilter("ignore", DeprecationWarning)  # as at the import of eval7
      hands = [hand for hand, _ in eval7.HandRange(token).hands]
  except RangeStringError as error:
    raise ValueError(f"{problem} ({error})") from error
  return [(max(pair), min(pair)) for pair in (tuple(map(_card, hand)) for hand in hands)]


def _parse_weight(token: str, text: str) -> float:
  try:
    weight = float(text)
  except ValueError:
    weight = math.nan
  if not _MIN_WEIGHT <= weight <= _MAX_WEIGHT:  # false for nan
    raise ValueError(
      f"range token {token!r}: weight {text!r} is not a number from {_MIN_WEIGHT:g} to {_MAX_WEIGHT:g}"
    )
  return weight


def _card(card: eval7.Card) -> int:
  return 4 * card.rank + card.suit
