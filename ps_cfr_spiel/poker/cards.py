"""Cards, hands and weighted ranges on a Texas hold'em board.

A card is an integer `4 * rank + suit` in 0..51, ranks and suits in the order of `RANKS` and
`SUITS`, in small decks too. A hand is two different cards, kept and written with the higher one
first ("AsKd"). Hands are listed by ascending cards, also where a range names them in another order.
The notation of ranges and the ranking of hands come from eval7, which takes long to import.
"""

import functools
import importlib
import itertools
import math
import re
import warnings
from collections.abc import Collection, Iterable
from types import ModuleType
from typing import NamedTuple

import numpy as np

RANKS = "23456789TJQKA"
SUITS = "cdhs"
BOARD_SIZE = 5  # when all public cards are out
STREETS = {3: "flop", 4: "turn", 5: "river"}  # by the number of cards
BOARD_SIZES = (0, *STREETS)  # public cards on each street of the whole game
HAND_SIZE = 2
MIN_WEIGHT, MAX_WEIGHT = 1e-9, 1e9  # keeps products of two weights far from under- and overflow

_NAMES = tuple(rank + suit for rank in RANKS for suit in SUITS)
_CARD = f"[{RANKS}][{SUITS}]"
_KIND = f"[{RANKS}]{{2}}[os]?"
_HANDS = re.compile(rf"{_CARD}{_CARD}|{_KIND}|{_KIND}\+|{_KIND}-{_KIND}")

WHOLE_DECK = tuple(range(len(_NAMES)))
# int32[1326, 2], in the order in which hands are listed everywhere; `hand_numbers` is the inverse.
ALL_HANDS = np.array([(high, low) for high in WHOLE_DECK for low in range(high)], np.int32)

Board = tuple[int, ...]


class Range(NamedTuple):
  """The hands that a player may hold on a board."""

  names: tuple[str, ...]  #: Length H, as "AsKd"
  cards: np.ndarray  #: int32[H, 2], higher card first
  weights: np.ndarray  #: float64[H], positive; only their ratios matter

  def keep(self, mask: np.ndarray) -> "Range":
    """The hands for which `mask`, bool[H], is true."""
    names = tuple(itertools.compress(self.names, mask))
    return Range(names, self.cards[mask], self.weights[mask])


@functools.cache
def eval7() -> ModuleType:
  """The library of that name."""
  with warnings.catch_warnings():
    # It calls pyparsing by names that pyparsing 3.3 deprecates; users cannot change that.
    warnings.simplefilter("ignore", DeprecationWarning)
    return importlib.import_module("eval7")


def card_names(cards: Iterable[int]) -> str:
  """Cards as letters, "AsKd"."""
  return "".join(_NAMES[card] for card in cards)


def hand_numbers(hands: np.ndarray) -> np.ndarray:
  """int[H]: the row of each hand, int[H, 2] with the higher card first, in `ALL_HANDS`."""
  high, low = hands[..., 0], hands[..., 1]
  return high * (high - 1) // 2 + low


def unblocked(board: Iterable[int]) -> np.ndarray:
  """bool[1326]: the hands of `ALL_HANDS` that hold no card of a board."""
  free = np.ones(len(WHOLE_DECK), bool)
  free[list(board)] = False
  return free[ALL_HANDS[:, 0]] & free[ALL_HANDS[:, 1]]


def parse_cards(text: str) -> Board:
  """Cards written as `card_names` writes them; ValueError for anything else."""
  names = [text[start : start + 2] for start in range(0, len(text), 2)]
  if not all(re.fullmatch(_CARD, name) for name in names):
    raise ValueError(f"{text!r}: not cards")
  return tuple(map(_NAMES.index, names))


def strength(board: Board, hands: Iterable[Iterable[int]]) -> np.ndarray:
  """int32[H]: the strength of hands on a board of five cards; the larger wins at showdown, equal ones tie."""
  deck = eval7().Deck().cards  # in the order of our cards
  on_board = [deck[card] for card in board]
  return np.array([eval7().evaluate([*on_board, *(deck[card] for card in hand)]) for hand in hands], np.int32)


def suit_swaps(deck: Board, board: Board, ranges: Iterable[Range]) -> np.ndarray:
  """int32[S, 52]: the card that each card becomes, for each renaming of suits that changes nothing.

  It leaves the cards of the board among themselves, and all weights of both ranges. The first renames none.
  """
  suits, ranges, found = len({card % len(SUITS) for card in deck}), list(ranges), []
  weights = [dict(zip(map(frozenset, r.cards.tolist()), r.weights.tolist(), strict=True)) for r in ranges]
  for order in itertools.permutations(range(suits)):
    names = np.array([*order, *range(suits, len(SUITS))])
    swap = (len(SUITS) * np.arange(len(RANKS))[:, None] + names).ravel()
    if set(swap[list(board)].tolist()) != set(board):
      continue
    images = [map(frozenset, swap[hands.cards].tolist()) for hands in ranges]
    if all(
      weight.get(hand) == weight[own]
      for weight, swapped in zip(weights, images, strict=True)
      for own, hand in zip(weight, swapped, strict=True)
    ):
      found.append(swap)
  return np.array(found, np.int32)


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
  """The cards of a board such as "9s7c5s4h3c"; blanks may separate them.

  ValueError unless they are different cards of the deck, and their number is one of `sizes`.
  """
  letters = "".join(text.split())
  names = [letters[start : start + 2] for start in range(0, len(letters), 2)]
  for name in names:
    if not re.fullmatch(_CARD, name):
      raise ValueError(
        f"board={text!r}: {name!r} is not a card; a card is a rank of {RANKS} followed by a suit of {SUITS}"
      )
  if len(names) not in sizes or len(set(names)) < len(names):
    *first, last = sizes
    several = ", ".join(map(str, first))
    allowed = f"a board has {several} or {last}" if first else f"a {STREETS[last]} board has {last}"
    raise ValueError(
      f"board={text!r}: {len(names)} cards, {len(set(names))} of them different; {allowed} different cards"
    )
  board = tuple(map(_NAMES.index, names))
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
  first, second = (parse_range(side, board, deck) for side in sides)
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
  weights = np.zeros((2, len(ALL_HANDS)))
  for own, held in zip(weights, parse_ranges(text, board)[0], strict=True):
    own[hand_numbers(held.cards)] = held.weights
  return weights


def parse_range(text: str, board: Board, deck: Collection[int] = WHOLE_DECK) -> Range:
  """The hands of the deck that `text` describes, without those that share a card with the board.

  Blanks separate tokens. A token is a hand (AsKd); a kind of hands (AA, AKs suited, AKo offsuit, AK
  either); a kind and those above it (TT+ pairs up to aces, A9s+ up to AKs); or the kinds from one
  to another (A5s-A2s). `:` and a number after it set the weight (76s:0.5), else it is 1. Of
  overlapping tokens the later one counts: in `TT+ AA:0.5` aces have half the weight of tens. Text
  without tokens means all hands, equally weighted.

  Raises:
    ValueError: Token that is not understood, weight outside `MIN_WEIGHT`..`MAX_WEIGHT`, or no hand
      left beside the board.
  """
  tokens = text.split()
  weights = {} if tokens else dict.fromkeys(itertools.combinations(range(51, -1, -1), 2), 1.0)
  for token in tokens:
    kind, colon, weight = token.partition(":")
    weights.update(dict.fromkeys(_expand(kind), _parse_weight(token, weight) if colon else 1.0))
  hands = sorted(hand for hand in weights if set(hand) <= set(deck).difference(board))
  if not hands:
    where = "of the board" if len(deck) == len(_NAMES) else "of the board or outside the deck"
    raise ValueError(
      f"range {text!r}: empty on the board {card_names(board)}, each of its hands has a card {where}"
    )
  return Range(
    names=tuple(map(card_names, hands)),
    cards=np.array(hands, np.int32),
    weights=np.array([weights[hand] for hand in hands]),
  )


def _expand(kind: str) -> list[tuple[int, int]]:
  """The hands that a token without its weight stands for."""
  reason = "not understood"
  if re.fullmatch(_CARD + _CARD, kind) and kind[:2] != kind[2:]:  # a range may list all hands
    high, low = sorted(map(_NAMES.index, (kind[:2], kind[2:])), reverse=True)
    return [(high, low)]
  # Left alone, eval7 also reads comments, brackets and lower case, some of it by accident.
  if _HANDS.fullmatch(kind):
    try:
      with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # pyparsing's, as at the import
        hands = [[4 * card.rank + card.suit for card in hand] for hand, _ in eval7().HandRange(kind).hands]
      return [(max(hand), min(hand)) for hand in hands]
    except eval7().rangestring.RangeStringError as error:
      reason = str(error)
  hint = "; ps_cfr_spiel.river() and holdem() take commas too" if "," in kind else ""
  raise ValueError(
    f"range token {kind!r}: {reason}; a range is written as AA AKs AKo AK AsKd TT+ A9s+ A5s-A2s, "
    f"each with a weight if it is not 1 (AKs:0.5){hint}"
  )


def _parse_weight(token: str, text: str) -> float:
  try:
    weight = float(text)
  except ValueError:
    weight = math.nan
  if not MIN_WEIGHT <= weight <= MAX_WEIGHT:  # so is nan
    raise ValueError(
      f"range token {token!r}: weight {text!r} is not a number from {MIN_WEIGHT:g} to {MAX_WEIGHT:g}"
    )
  return weight
