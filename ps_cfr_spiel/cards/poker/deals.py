"""The deals of card games: hands in secret, then public cards before each street."""

import abc
import dataclasses
import functools
import itertools
import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import pyspiel

from ps_cfr_spiel.cards.poker.bayesian_form import BayesianForm
from ps_cfr_spiel.cards.poker.cards import ALL_HANDS, HAND_SIZE, Board, Range, card_sets, set_numbers
from ps_cfr_spiel.cards.poker.ranking import strengths
from ps_cfr_spiel.cards.poker.suits import (
  Deck,
  Runouts,
  count_classes,
  hand_classes,
  holds,
  renamed_sets,
  renamings,
  runouts,
)

PLAYERS = 2
MOST_CLASSES = 200_000  # of runouts, up to which all of them are in tables: hold'em has 63,193 to the turn
RANKED = 16  # boards on which hands are ranked at once, so that the numbers stay in the cache
Place: TypeAlias = int | tuple[int, ...]  # a class of runouts, or public cards where boards are in no table


class Deal(abc.ABC):
  """What chance deals: to each player in secret one of H hands, then perhaps public cards before each street.

  `CardDeal` deals cards of a deck; liar's dice deals dice.
  """

  weights: np.ndarray  #: float64[2, H]: pairs of hands that share no card come in proportion to their product
  #: for each hand chance's actions that deal it; None: a hand's number among the player's own.
  actions: Sequence[Sequence[int]] | None = None
  boards: Sequence[int] = (1,)  #: the number of runouts of each street
  runouts: tuple[np.ndarray, ...] = BayesianForm.runouts  #: see `BayesianForm`, as for both that follow
  live: int = 0
  swaps: np.ndarray | None = None

  held: tuple[
    np.ndarray, np.ndarray
  ]  #: int[H0], int[H1]: the numbers of each player's hands of a weight above 0
  #: for each player int32[H, 2], the cards of each hand; hands of one card have a dummy too, another for each
  #: player.
  cards: tuple[np.ndarray, np.ndarray]

  @abc.abstractmethod
  def showdowns(self, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """int32[B, H0], int32[B, H1]: strengths of some hands of each player, by their numbers.

    B are the runouts of the last street, or the showdowns of a game with several kinds of them; entries of
    hands that hold a card of the runout are arbitrary.
    """

  @abc.abstractmethod
  def histories(self, lines: Sequence[int]) -> int:
    """About the number of histories of an enumeration, with these numbers of lines on each street."""


@dataclasses.dataclass(frozen=True, eq=False)
class CardDeal(Deal):
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
  at_once: bool = False  #: whether a hand is dealt by one action, not card by card
  # These follow from the fields above; `Deal` describes the last five.
  hands: np.ndarray = dataclasses.field(init=False, repr=False)  #: int32[H, n], all hands
  streets: int = dataclasses.field(init=False, repr=False)  #: the number of streets
  held: tuple[np.ndarray, np.ndarray] = dataclasses.field(init=False, repr=False)
  actions: Sequence[Sequence[int]] | None = dataclasses.field(init=False, repr=False)
  cards: tuple[np.ndarray, np.ndarray] = dataclasses.field(init=False, repr=False)
  boards: Sequence[int] = dataclasses.field(init=False, repr=False)
  live: int = dataclasses.field(init=False, repr=False)

  @classmethod
  def create(
    cls,
    deck: Deck,
    hole: int,
    public: tuple[int, ...],
    board: tuple[int, ...] = (),
    weights: np.ndarray | None = None,
    at_once: bool = False,
  ) -> "CardDeal":
    """The deal; by default all hands that the board leaves have the weight 1."""
    if weights is None:
      free = ~np.isin(card_sets(deck.size, hole), board).any(1)
      weights = np.tile(free.astype(float), (PLAYERS, 1))
    return cls(deck, hole, public, board, weights, at_once)

  @classmethod
  def of_ranges(
    cls, deck: Board, board: Board, ranges: Sequence[Range], public: tuple[int, ...]
  ) -> "CardDeal":
    """The deal of hands of two cards, at once, from ranges; all cards are as `cards` numbers them."""
    cards = Deck.of(deck)
    weights = np.zeros((PLAYERS, len(card_sets(cards.size, HAND_SIZE))))
    for row, held in zip(weights, ranges, strict=True):
      row[set_numbers(cards.numbers(ALL_HANDS[held.numbers]))] = held.weights
    numbers = tuple(cards.numbers(np.array(board)).tolist())
    return cls(cards, HAND_SIZE, public, numbers, weights, at_once=True)

  def __post_init__(self):
    hands, left = card_sets(self.deck.size, self.hole), self.deck.size - len(self.board)
    came = np.cumsum([0, *self.public]).tolist()
    boards = [math.comb(left - before, count) for before, count in zip(came, self.public, strict=False)]
    vars(self).update(
      hands=hands,
      cards=tuple(
        np.pad(hands[:, ::-1], ((0, 0), (0, 2 - self.hole)), constant_values=self.deck.size + player)
        for player in range(PLAYERS)
      ),
      held=tuple(map(np.flatnonzero, self.weights)),
      actions=None if self.at_once else hands.tolist(),
      streets=len(self.public),
      boards=np.cumprod(boards).tolist(),
      live=left - PLAYERS * self.hole,
    )

  @functools.cached_property
  def all_alike(self) -> bool:
    """True if every hand of the deck has the weight 1."""
    return bool((self.weights == 1).all())

  @functools.cached_property
  def whole(self) -> np.ndarray:
    """int[H]: the number of each hand in the whole deck, which is its own where that is the deck."""
    return set_numbers(self.deck.whole(self.hands))

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

  @functools.cached_property
  def stay(self) -> np.ndarray:
    """bool[S]: the renamings of suits that change neither the board nor a weight."""
    boards = np.sort(renamings(self.deck)[:, list(self.board)], 1)
    alike = (self.weights[:, self.hand_swaps] == self.weights[:, None]).all((0, 2))
    return alike & (boards == np.sort(self.board)).all(1)

  @property
  def in_tables(self) -> bool:
    """Whether the classes of boards of all streets are in `tables`."""
    later = self.public[2:]
    drawn = not self.board and {*later} == {1} and len(later) <= 2  # the native library ranks these
    return not drawn or self.most_classes()[-1] <= MOST_CLASSES

  @functools.cached_property
  def tables(self) -> tuple[Runouts, ...]:
    """The classes of public cards of each street, see `classes`.

    With more than `MOST_CLASSES` of them, as in hold'em to the river, up to the first public cards alone;
    hands are then ranked when they are dealt (`hierarchical.dealt_hands`).
    """
    return self.classes(self.streets if self.in_tables else 2)

  @functools.cached_property
  def hand_classes(self) -> tuple[np.ndarray, ...]:
    """For each street of `tables` int32[K, H], the classes of hands there; see `suits.hand_classes`."""
    return tuple(hand_classes(self.deck, self.hole, after) for after in self.tables)

  @functools.cached_property
  def strength_table(self) -> np.ndarray:
    """int32[K, H]: strengths of all hands on the classes of the last street; undefined for dead hands."""
    return self._ranked(self.tables[-1].cards)

  def seen(self, hand: Sequence[int], board: Sequence[int]) -> list[tuple[Place, int]]:
    """For each street so far the class of runouts and the number of the hand there, suits renamed.

    If boards are not in `tables`, the public cards themselves, with suits named as after the first ones.
    `board` has the public cards in the order of their streets; ValueError for a number of cards of no street.
    """
    if len(hand) != self.hole:
      raise ValueError(f"Expected a hand of {self.hole}, got {len(hand)} cards.")
    return [(place, int(set_numbers(swap[list(hand)]))) for place, swap in self.renamed(board)]

  def renamed(self, board: Sequence[int]) -> list[tuple[Place, np.ndarray]]:
    """For each street so far the place as in `seen`, and int[D], each card's name there; errors as there."""
    swaps, ends = renamings(self.deck), np.cumsum(self.public).tolist()
    if len(board) not in ends:
      raise ValueError(f"Expected {', '.join(map(str, ends))} public cards, got {len(board)}.")
    place, swap = 0, np.arange(self.deck.size)
    places: list[tuple[Place, np.ndarray]] = [(0, swap)]
    for number in range(1, ends.index(len(board)) + 1):
      if number >= len(self.tables):
        places.append((tuple(swap[list(board[: ends[number]])].tolist()), swap))
        continue
      after, some = self.tables[number], list(board[ends[number - 1] : ends[number]])
      which = int(set_numbers(swap[some]))
      swap, place = swaps[after.swap[place, which]][swap], int(after.index[place, which])
      places.append((place, swap))
    return places

  def dealt(self, state: pyspiel.State) -> list[int]:
    """The cards of both hands, then the public ones that have come, at a state of OpenSpiel."""
    actions = [move.action for move in state.full_history() if move.player < 0]
    if not self.at_once:
      return actions
    hands = [self.hands[held[h]].tolist() for held, h in zip(self.held, actions, strict=False)]
    return [*itertools.chain(*hands), *actions[PLAYERS:]]

  def classes(self, streets: int) -> tuple[Runouts, ...]:
    """The classes of public cards of the first streets, joined by names of suits that change no weight."""
    return runouts(self.deck, self.public[1:streets], self.board, self.stay)

  def most_classes(self) -> Sequence[int]:
    """The number of classes of boards of each street; at most, after a board, where suits may differ."""
    if not self.board:
      return [count_classes(self.deck, self.public[1 : number + 1]) for number in range(self.streets)]
    return self.boards

  def boards_left(self, street: int) -> int:
    """The number of sets of public cards that may come before a street, after hands and earlier cards."""
    gone = 2 * self.hole + len(self.board) + sum(self.public[:street])
    return math.comb(self.deck.size - gone, self.public[street])

  def strengths(self, boards: np.ndarray, hands: np.ndarray | None = None) -> np.ndarray:
    """int32[K, H]: the strength of all hands, or some, with all public cards int[K, m]; the larger wins."""
    hands = self.hands if hands is None else self.hands[hands]
    return strengths(self.deck.whole(boards), self.deck.whole(hands))

  def _ranked(self, boards: np.ndarray, hands: np.ndarray | None = None) -> np.ndarray:
    """`strengths`, of `RANKED` boards after the other."""
    starts = range(0, len(boards), RANKED)
    return np.concatenate([self.strengths(boards[k : k + RANKED], hands) for k in starts])

  @functools.cached_property
  def swaps(self) -> np.ndarray | None:
    """See `Deal`: the renamings `stay`, in which the dummies keep their names; None without public cards."""
    if self.streets == 1:
      return None
    cards, dummies = renamings(self.deck)[self.stay], 2 * (2 - self.hole)
    fixed = np.tile(np.arange(self.deck.size, self.deck.size + dummies, dtype=np.int32), (len(cards), 1))
    return np.concatenate([cards, fixed], 1)

  @functools.cached_property
  def runouts(self) -> tuple[np.ndarray, ...]:
    """See `Deal`: the cards of each deal ascending, so that a deal of several cards is one event."""
    dealt = [np.zeros((1, 0), np.int32)]
    for count in self.public[1:]:
      sets = card_sets(self.deck.size, count)
      free = ~holds(sets, dealt[-1]) & ~np.isin(sets, self.board).any(1)
      before, new = np.nonzero(free)
      dealt.append(np.concatenate([dealt[-1][before], sets[new]], 1))
    return tuple(dealt)

  def showdowns(self, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """See `Deal`."""
    # The order of the cards does not matter.
    runouts, place = np.unique(np.sort(self.runouts[-1], 1), axis=0, return_inverse=True)
    boards = np.concatenate([np.tile(np.array(self.board, int), (len(runouts), 1)), runouts], 1)
    hands, number = np.unique(np.concatenate([first, second]), return_inverse=True)
    ranked, of_first = self._ranked(boards, hands)[place.ravel()], len(first)
    of_first_hands = ranked[:, number[:of_first]]
    return of_first_hands, of_first_hands if np.array_equal(first, second) else ranked[:, number[of_first:]]

  def histories(self, lines: Sequence[int]) -> int:
    """See `Deal`."""
    first, second = self.weights > 0
    sharing = (first @ self.members) @ (second @ self.members)  # pairs, twice those of the same two cards
    pairs = (
      int(first.sum()) * int(second.sum()) - int(sharing) + (self.hole - 1) * int((first & second).sum())
    )
    orders = [math.perm(self.live, came) for came in np.cumsum(self.public).tolist()]  # card by card
    return 1 + pairs * sum(n * ways for n, ways in zip(lines, orders, strict=True))
