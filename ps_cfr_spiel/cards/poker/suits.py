"""Deals up to the names of suits: boards, and hands on them, that are one game with other names.

A card of a small deck is `suits * rank + suit` here, without gaps, as in OpenSpiel's poker games; in a whole
deck that is the numbering of `cards`, and so is that of sets of cards.

Renaming suits maps deals to deals. The images of one deal are its *orbit*, and the deals of an orbit are one
*class*. A class of runouts has a *representative*, and a renaming of the suits of a board also renames the
hands on it.
"""

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ps_cfr_spiel.cards.notation import parse_cards
from ps_cfr_spiel.cards.poker.cards import RANKS, SUITS, card_names, card_sets, set_numbers

CHUNK = 4096  # classes in one pass, which bounds the memory


class Deck(NamedTuple):
  """The lowest ranks of the first suits."""

  ranks: int
  suits: int

  @classmethod
  def of(cls, cards: Sequence[int]) -> "Deck":
    """The deck of some cards as `cards` numbers them, such as those of `cards.parse_deck`."""
    return cls(max(cards) // len(SUITS) + 1, max(card % len(SUITS) for card in cards) + 1)

  @property
  def size(self) -> int:
    """The number of cards."""
    return self.ranks * self.suits

  def whole(self, numbers: np.ndarray) -> np.ndarray:
    """Cards as `cards` numbers them."""
    return len(SUITS) * (numbers // self.suits) + numbers % self.suits

  def numbers(self, whole: np.ndarray) -> np.ndarray:
    """The inverse of `whole`."""
    return self.suits * (whole // len(SUITS)) + whole % len(SUITS)

  def names(self, numbers: Sequence[int] | np.ndarray) -> str:
    """Cards as letters, "AsKd"."""
    return card_names(self.whole(np.asarray(numbers, int)).tolist())

  def find(self, text: str) -> tuple[int, ...]:
    """The numbers of cards (`notation.parse_cards`); ValueError unless all are different and in the deck."""
    every = {card_names([int(card)]): number for number, card in enumerate(self.whole(np.arange(self.size)))}
    split = [card_names([card]) for card in parse_cards(text)]
    wrong = [name for name in split if name not in every]
    if wrong or len(set(split)) < len(split):
      raise ValueError(
        f"{text!r}: expected different cards of the {self.size} of {RANKS[: self.ranks]} and "
        f"{SUITS[: self.suits]}, such as {''.join(list(every)[-2:])!r}"
      )
    return tuple(every[name] for name in split)


def renamings(deck: Deck) -> np.ndarray:
  """int32[S, D]: the card that each card becomes, for each order of the suits; the first changes nothing."""
  orders = np.array(list(itertools.permutations(range(deck.suits))))
  cards = np.arange(deck.size)
  return (deck.suits * (cards // deck.suits) + orders[:, cards % deck.suits]).astype(np.int32)


def renamed_sets(deck: Deck, size: int) -> np.ndarray:
  """int32[S, N]: the image of each set of `size` cards under each of `renamings`."""
  return set_numbers(renamings(deck)[:, card_sets(deck.size, size)]).astype(np.int32)


class Runouts(NamedTuple):
  """The K classes of public cards after one of the rounds in which they come.

  The representative of a class is that of the class before it, followed by a set of cards. A runout is led to
  its class set by set: with the P classes before, `index[p, n]` is the class after set n of N comes, and
  `swap[p, n]` renames the suits so that the representative stands there. Hands, and cards to come, must
  then be renamed as well.
  """

  parent: np.ndarray  #: int32[K]
  cards: np.ndarray  #: int32[K, m], all public cards of the representative, those of a round ascending
  count: np.ndarray  #: int64[K], the number of runouts of the class
  index: np.ndarray  #: int32[P, N]; -1 where the set has a card that was there before
  swap: np.ndarray  #: int32[P, N], among `renamings`
  stay: np.ndarray  #: bool[K, S], the renamings that make the representative out of itself, round by round


def runouts(
  deck: Deck, dealt: Sequence[int], board: Sequence[int] = (), stay: np.ndarray | None = None
) -> tuple[Runouts, ...]:
  """The classes of runouts, from before the first card on; `dealt` has the number of cards of each deal.

  The cards of `board` are there from the start; of the renamings of suits those with `stay`, bool[S], join
  deals, by default all.
  """
  nothing, cards = np.zeros((1, 0), np.int32), np.array(board, np.int32)[None]
  stay = np.ones((1, math.factorial(deck.suits)), bool) if stay is None else stay[None]
  classes = [Runouts(np.zeros(1, np.int32), cards, np.ones(1, int), nothing, nothing, stay)]
  for size in dealt:
    classes.append(_after(deck, classes[-1], size))
  return tuple(classes)


def _after(deck: Deck, before: Runouts, size: int) -> Runouts:
  """The classes after `size` more cards have come."""
  sets, images = card_sets(deck.size, size), renamed_sets(deck, size)
  first, swap = np.zeros((2, len(before.cards), len(sets)), np.int32)
  for start in range(0, len(before.cards), CHUNK):
    chunk = slice(start, start + CHUNK)
    # The least set that a renaming makes, of those that leave the cards before among themselves: [P, S, N].
    options = np.where(before.stay[chunk, :, None], images, len(sets))
    first[chunk], swap[chunk] = options.min(1), options.argmin(1)
  free = ~holds(sets, before.cards)
  orbits = np.zeros(first.shape, int)
  np.add.at(orbits, (np.arange(len(first))[:, None], first), 1)
  parent, chosen = np.nonzero(free & (first == np.arange(len(sets))))
  number = np.full(first.shape, -1, np.int32)
  number[parent, chosen] = np.arange(len(parent))
  index = np.where(free, np.take_along_axis(number, first, 1), -1).astype(np.int32)
  return Runouts(
    parent=parent.astype(np.int32),
    cards=np.concatenate([before.cards[parent], sets[chosen]], 1),
    count=before.count[parent] * orbits[parent, chosen],
    index=index,
    swap=swap,
    stay=before.stay[parent] & (images[:, chosen] == chosen).T,
  )


def holds(sets: np.ndarray, boards: np.ndarray) -> np.ndarray:
  """bool[K, N]: True where set int[N, n] holds a card of board int[K, m]."""
  held = np.zeros((len(boards), len(sets)), bool)
  for card in boards.T:
    held |= (sets[None] == card[:, None, None]).any(2)
  return held


def hand_classes(deck: Deck, size: int, after: Runouts) -> np.ndarray:
  """int32[K, H]: the class of each hand of `size` cards on each representative; -1 of dead hands."""
  hands, images = card_sets(deck.size, size), renamed_sets(deck, size)
  classes = np.full((len(after.cards), len(hands)), -1, np.int32)
  for start in range(0, len(classes), CHUNK):
    chunk = slice(start, start + CHUNK)
    first = np.where(after.stay[chunk, :, None], images, len(hands)).min(1)
    alive = ~holds(hands, after.cards[chunk])
    number = np.cumsum(alive & (first == np.arange(len(hands))), 1) - 1
    classes[chunk] = np.where(alive, np.take_along_axis(number, first, 1), -1)
  return classes


def count_classes(deck: Deck, groups: Sequence[int]) -> int:
  """The number of classes of deals of groups of cards with these sizes, such as (2, 3), a hand and a flop.

  Burnside's lemma: the mean over all renamings of the number of deals that each does not change. These
  are the deals in which all cards of a rank whose suits change places are in one group or out.
  """

  def later(ways: np.ndarray, axis: int, by: int) -> np.ndarray:
    """The table moved on along an axis, zeros coming in."""
    padding = [(by * (k == axis), 0) for k in range(ways.ndim)]
    return np.pad(ways, padding)[tuple(slice(0, n) for n in ways.shape)]

  total = 0
  for order in itertools.permutations(range(deck.suits)):
    ways = np.zeros([size + 1 for size in groups], int)
    ways[(0,) * len(groups)] = 1
    for length in _cycles(order):
      for _ in range(deck.ranks):
        ways = ways + sum(later(ways, group, length) for group in range(len(groups)))
    total += ways[tuple(groups)]
  return int(total) // math.factorial(deck.suits)


def _cycles(order: Sequence[int]) -> list[int]:
  """Lengths of the cycles of a permutation."""
  left, lengths = set(range(len(order))), []
  while left:
    length, suit = 0, min(left)
    while suit in left:
      left.remove(suit)
      length, suit = length + 1, order[suit]
    lengths.append(length)
  return lengths
