"""Cards, hands and weighted ranges on a Texas hold'em board.

A card is an integer `4 * rank + suit` in 0..51, ranks and suits in the order of `RANKS` and
`SUITS`, in small decks too. A hand is two different cards, kept and written with the higher one
first ("AsKd"), in the notation of `notation.hand_ranges`.

A set of cards, such as a hand, has one number everywhere, its row in `card_sets`, in any order of its
cards. `ALL_HANDS` are the hands of the whole deck by their numbers, `set_numbers` finds the number of cards
that are read or dealt, and a range is weights by numbers.
"""

import dataclasses
import functools
import itertools
import math
import re
from collections.abc import Collection, Iterable

import numpy as np

from ps_cfr_spiel.cards.notation import (
  RANKS,
  SUITS,
  card_names,
  parse_cards,
  parse_hands,
)

BOARD_SIZE = 5  # when all public cards are out
STREETS = {3: "flop", 4: "turn", 5: "river"}  # by the number of cards
BOARD_SIZES = (0, *STREETS)  # public cards on each street of the whole game
HAND_SIZE = 2
WHOLE_DECK = tuple(range(len(RANKS) * len(SUITS)))

Board = tuple[int, ...]


@functools.cache
def card_sets(cards: int, size: int) -> np.ndarray:
  """int32[N, size]: all sets of `size` out of `cards` cards, each ascending, by their highest cards first."""
  sets = sorted(itertools.combinations(range(cards), size), key=lambda one: one[::-1])
  return np.array(sets, np.int32).reshape(-1, size)


def set_numbers(cards: np.ndarray) -> np.ndarray:
  """int[...]: the rows in `card_sets` of sets of different cards, int[..., n] in any order."""
  ordered, number = np.sort(cards, -1), np.zeros(cards.shape[:-1], int)
  for place in range(cards.shape[-1]):
    below = np.array([math.comb(card, place + 1) for card in range(int(cards.max(initial=0)) + 1)])
    number += below[ordered[..., place]]
  return number


#: int32[1326, 2]: the hands of the whole deck by their numbers, each with the higher card first.
ALL_HANDS = np.ascontiguousarray(card_sets(len(WHOLE_DECK), HAND_SIZE)[:, ::-1])


@dataclasses.dataclass(frozen=True, eq=False)
class Range:
  """The hands that a player may hold on a board."""

  numbers: np.ndarray  #: int[H], ascending, in `ALL_HANDS`
  weights: np.ndarray  #: float64[H], positive; only their ratios matter

  @functools.cached_property
  def cards(self) -> np.ndarray:
    """int32[H, 2], higher card first."""
    return ALL_HANDS[self.numbers]

  @functools.cached_property
  def names(self) -> tuple[str, ...]:
    """Length H, as "AsKd"."""
    return tuple(map(card_names, self.cards.tolist()))

  @property
  def wide(self) -> np.ndarray:
    """float64[1326]: the weight of each hand, 0 for those not held."""
    weights = np.zeros(len(ALL_HANDS))
    weights[self.numbers] = self.weights
    return weights

  def keep(self, mask: np.ndarray) -> "Range":
    """The hands for which `mask`, bool[H], is true."""
    return Range(self.numbers[mask], self.weights[mask])


def unblocked(board: Iterable[int]) -> np.ndarray:
  """bool[1326]: the hands of `ALL_HANDS` that hold no card of a board."""
  free = np.ones(len(WHOLE_DECK), bool)
  free[list(board)] = False
  return free[ALL_HANDS[:, 0]] & free[ALL_HANDS[:, 1]]


def parse_deck(text: str) -> Board:
  """The cards of a deck such as "13x4", ascending: ranks times suits, the lowest ranks, clubs first.

  ValueError unless these are two numbers within a whole deck, and enough cards for a board and two hands.
  """
  match = re.fullmatch(r"([0-9]+)x([0-9]+)", text.strip())
  ranks, suits = (int(match[1]), int(match[2])) if match else (0, 0)
  least = BOARD_SIZE + 2 * HAND_SIZE
  if not (ranks <= len(RANKS) and suits <= len(SUITS) and ranks * suits >= least):
    raise ValueError(
      f"deck={text!r}: must be ranks x suits, at most {len(RANKS)}x{len(SUITS)} and at least {least} cards, "
      "such as '13x4' or '6x2'"
    )
  return tuple(len(SUITS) * rank + suit for rank in range(ranks) for suit in range(suits))


def parse_board(
  text: str, sizes: Collection[int] = (BOARD_SIZE,), deck: Collection[int] = WHOLE_DECK
) -> Board:
  """The cards of a board such as "9s7c5s4h3c"; blanks and commas may separate them.

  ValueError unless they are different cards of the deck, and their number is one of `sizes`.
  """
  board = parse_cards(text, "board")
  if len(board) not in sizes or len(set(board)) < len(board):
    *first, last = sizes
    several = ", ".join(map(str, first))
    allowed = f"a board has {several} or {last}" if first else f"a {STREETS[last]} board has {last}"
    raise ValueError(
      f"board={text!r}: {len(board)} cards, {len(set(board))} of them different; {allowed} different cards"
    )
  if not set(board) <= set(deck):
    raise ValueError(f"board={text!r}: not all in the deck, {card_names(deck)}")
  return board


def parse_ranges(
  text: str, board: Board, deck: Collection[int] = WHOLE_DECK
) -> tuple[tuple[Range, Range], np.ndarray]:
  """Both players' ranges and bool[H0, H1], true where two hands share no card.

  `text` is player 0's range, `;`, player 1's, each in the notation of `parse_range`; "uniform" means all
  hands for both. Hands that cannot be dealt together with any hand of the other range are left out.
  ValueError if there are not two ranges, or no two hands can be dealt together.
  """
  sides = (";" if text.strip() in ("", "uniform") else text).split(";")
  if len(sides) != 2:
    raise ValueError(
      f"ranges={text!r}: must be 'uniform', or two ranges with one ';' between them, of which an "
      "empty one means all hands"
    )
  names = "the range of player 0", "the range of player 1"
  first, second = (parse_range(side, board, deck, name) for side, name in zip(sides, names, strict=True))
  bits = [(np.int64(1) << hands.cards.astype(np.int64)).sum(axis=1) for hands in (first, second)]
  disjoint = (bits[0][:, None] & bits[1][None, :]) == 0
  if not disjoint.any():
    raise ValueError(
      f"ranges={text!r}: cannot both be dealt, every hand of player 0 shares a card with every hand "
      "of player 1"
    )
  possible = np.asarray(disjoint.any(axis=1)), np.asarray(disjoint.any(axis=0))
  return (first.keep(possible[0]), second.keep(possible[1])), disjoint[np.ix_(*possible)]


def range_weights(text: str, board: Board) -> np.ndarray:
  """float64[2, 1326]: the weights of `parse_ranges`, 0 for hands that are not held."""
  return np.stack([held.wide for held in parse_ranges(text, board)[0]])


def parse_range(text: str, board: Board, deck: Collection[int] = WHOLE_DECK, name: str = "range") -> Range:
  """The hands of the deck that `text` describes, without those that share a card with the board.

  `name` is that of the text in errors. ValueError for a text that `notation.parse_hands` does not understand,
  or without a hand that is left beside the board.
  """
  weights = parse_hands(text, name)
  live = set(deck).difference(board)
  hands = sorted(hand for hand in weights if live.issuperset(hand))
  if not hands:
    where = "of the board" if len(deck) == len(WHOLE_DECK) else "of the board or outside the deck"
    why = f"each of its hands has a card {where}" if weights else "all of its weights are 0"
    raise ValueError(f"{name}={text!r}: empty on the board {card_names(board)}, {why}")
  return Range(set_numbers(np.array(hands)), np.array([weights[hand] for hand in hands]))
