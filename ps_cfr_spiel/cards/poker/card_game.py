"""Card games as two parts, neither of which depends on the other: the betting, and the deal of the cards."""

import dataclasses
import functools
import math

import numpy as np

from ps_cfr_spiel.cards.poker.betting_lines import Betting
from ps_cfr_spiel.cards.poker.ranking import strengths
from ps_cfr_spiel.cards.poker.suits import (
  Deck,
  Runouts,
  card_sets,
  count_classes,
  renamed_sets,
  renamings,
  runouts,
  set_numbers,
)


@dataclasses.dataclass(frozen=True, eq=False)
class Deal:
  """Hands are dealt, and public cards before each street but the first; all cards come from one deck.

  Each set of cards comes with equal probability, but for `board` and `weights`. The H hands are all sets of
  `hole` cards, in the order of `card_sets`.
  """

  deck: Deck  #: the cards; see `dealt_cards`
  hole: int  #: the number of cards of a hand; player 0's is dealt first
  public: tuple[int, ...]  #: the number of public cards before each street; 0 before the first
  board: tuple[int, ...]  #: public cards that are there from the start
  #: float64[2, H]: pairs of hands without a common card come in proportion to the product of their weights; 0
  #: for hands that hold a card of the board.
  weights: np.ndarray

  @classmethod
  def create(
    cls,
    deck: Deck,
    hole: int,
    public: tuple[int, ...],
    board: tuple[int, ...] = (),
    weights: np.ndarray | None = None,
  ) -> "Deal":
    """The deal; by default all hands that the board leaves come alike."""
    if weights is None:
      free = ~np.isin(card_sets(deck.size, hole), board).any(1)
      weights = np.tile(free.astype(float), (2, 1))
    return cls(deck, hole, public, board, weights)

  @property
  def streets(self) -> int:
    """The number of streets."""
    return len(self.public)

  @functools.cached_property
  def all_alike(self) -> bool:
    """Whether every hand of the deck has the weight 1."""
    return bool((self.weights == 1).all())

  @functools.cached_property
  def hands(self) -> np.ndarray:
    """int32[H, n]: all hands."""
    return card_sets(self.deck.size, self.hole)

  @functools.cached_property
  def members(self) -> np.ndarray:
    """float32[H, D]: the cards of each hand."""
    return (self.hands[:, :, None] == np.arange(self.deck.size)).any(1).astype(np.float32)

  @functools.cached_property
  def together(self) -> np.ndarray:
    """bool[H, H]: can two hands be dealt together?"""
    return self.members @ self.members.T == 0

  @functools.cached_property
  def hand_swaps(self) -> np.ndarray:
    """int32[S, H]: the hand that each hand becomes, for each renaming of the suits."""
    return renamed_sets(self.deck, self.hole)

  def runouts(self, streets: int) -> tuple[Runouts, ...]:
    """The classes of public cards of the first streets, joined by names of suits that change no weight."""
    stay = None
    if not self.all_alike:
      boards = renamings(self.deck)[:, list(self.board)]
      stay = (self.weights[:, self.hand_swaps] == self.weights[:, None]).all((0, 2))
      stay &= set_numbers(boards) == set_numbers(np.array(self.board))
    return runouts(self.deck, self.public[1:streets], self.board, stay)

  def most_classes(self) -> list[int]:
    """The number of classes of boards of each street; at most, after a board, where suits may differ."""
    if not self.board:
      return [count_classes(self.deck, self.public[1 : number + 1]) for number in range(self.streets)]
    left = self.deck.size - len(self.board) - np.cumsum([0, *self.public[:-1]])
    return np.cumprod(
      [math.comb(n, size) for n, size in zip(left.tolist(), self.public, strict=True)]
    ).tolist()

  def boards_left(self, street: int) -> int:
    """The number of sets of public cards that may come before a street, after hands and earlier cards."""
    gone = 2 * self.hole + len(self.board) + sum(self.public[:street])
    return math.comb(self.deck.size - gone, self.public[street])

  def strengths(self, boards: np.ndarray) -> np.ndarray:
    """int32[K, H]: the strength of all hands with all public cards, int[K, m]; the larger wins."""
    return strengths(self.deck.whole(boards), self.deck.whole(self.hands))


@dataclasses.dataclass(frozen=True, eq=False)
class CardGame:
  """A game of dealt cards for two: the stronger hand wins the payoff of the line of betting."""

  betting: Betting
  deal: Deal
