"""A game of dealt cards with its boards in tables, which abstractions, sampling and evaluation read."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import pyspiel

from ps_cfr_spiel.backend.native import why_unavailable
from ps_cfr_spiel.cards.poker import (
  Betting,
  CardDeal,
  Runouts,
  dealt_cards,
  hand_classes,
  read_card_game,
  renamings,
  set_numbers,
)
from ps_cfr_spiel.hierarchical.dealt_hands import BINS, DEAD, equities, hand_strengths, histograms
from ps_cfr_spiel.memory import card_needs, check_needs
from ps_cfr_spiel.tree import CHANCE

MOST_CLASSES = 200_000  # of runouts, up to which all of them are in tables: hold'em has 63,193 to the turn
SCORED = 512  # boards on which hands are ranked at once
Place: TypeAlias = int | tuple[int, ...]  # a class of runouts, or public cards where boards are in no table


@dataclasses.dataclass(frozen=True, eq=False)
class DealtGame:
  """A game of dealt cards with tables of its boards."""

  betting: Betting
  deal: CardDeal
  game: pyspiel.Game  #: OpenSpiel's game
  #: for each round the classes of public cards that have come; in a game with more than `MOST_CLASSES` of
  #: them, such as hold'em to the river, up to the first public cards alone. There hands are ranked when they
  #: are dealt (`dealt_hands`).
  runouts: tuple[Runouts, ...]

  @classmethod
  def of(cls, game: pyspiel.Game) -> "DealtGame":
    """The dealt game of an OpenSpiel game that `poker.read_card_game` takes.

    ValueError for another game, or one with too many cards.
    """
    card_game = read_card_game(game)
    betting, deal = card_game.betting, card_game.deal
    if deal.streets == 1:
      raise ValueError(f"{game}: no public cards come; expected some before each round but the first.")
    later = deal.public[2:]
    if deal.most_classes()[-1] > MOST_CLASSES and not deal.board and set(later) == {1} and len(later) <= 2:
      if reason := why_unavailable():
        raise ValueError(
          f"{game} has too many boards for tables, and the native library is missing: {reason}."
        )
      return cls(betting, deal, game, deal.classes(2))
    check_needs(str(game), card_needs(deal, SCORED), None, "Fewer public cards, ranks or suits take less")
    return cls(betting, deal, game, deal.classes(deal.streets))

  @property
  def name(self) -> str:
    """`str(game)`."""
    return str(self.game)

  @property
  def in_tables(self) -> bool:
    """Whether the boards of all rounds are in tables."""
    return len(self.runouts) == self.rounds

  @property
  def rounds(self) -> int:
    """Rounds of betting."""
    return self.deal.streets

  @functools.cached_property
  def strength(self) -> np.ndarray:
    """int32[K, H]: of all hands on the classes of the last round; undefined for dead hands."""
    boards = self.runouts[-1].cards
    return np.concatenate(
      [self.deal.strengths(boards[k : k + SCORED]) for k in range(0, len(boards), SCORED)]
    )

  @functools.cached_property
  def classes(self) -> tuple[np.ndarray, ...]:
    """For each round int32[K, H], the classes of hands on those of runouts; see `suits.hand_classes`."""
    return tuple(hand_classes(self.deal.deck, self.deal.hole, after) for after in self.runouts)

  def strengths(self, boards: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """int32[K, H], the strengths of all hands with all public cards int[K, m]; bool[K, H], living hands."""
    strength = hand_strengths(self.deal.deck, self.deal.hole, boards)
    return strength, strength != DEAD

  def shares_beaten(self, number: int, board: Place) -> np.ndarray:
    """float64[H]: the share of hands that each hand beats on a class of runouts, averaged over later cards.

    Ties count half; cards that hands share are not removed; the share of dead hands is 0. Where boards are
    in no table, `board` is as in `seen`, the cards are removed, and shares before the last round are rounded.
    """
    if not self.in_tables:
      return self._untabulated_shares(number, board)
    assert isinstance(board, int)
    alive = self.classes[number][board] >= 0
    if number == self.rounds - 1:
      lead = np.sign(self.strength[board][:, None] - self.strength[board][alive])
      return np.where(alive, (1 + lead.mean(1)) / 2, 0)
    after = self.runouts[number + 1]
    total, times = np.zeros(len(self.deal.hands)), np.zeros(len(self.deal.hands))
    for child in np.unique(after.index[board][after.index[board] >= 0]):
      beaten, lives = self.shares_beaten(number + 1, int(child)), self.classes[number + 1][child] >= 0
      for came in np.flatnonzero(after.index[board] == child):
        hands = self.deal.hand_swaps[after.swap[board, came]]  # by the child's names of suits
        total += np.where(lives[hands], beaten[hands], 0)
        times += lives[hands]
    return np.divide(total, times, out=np.zeros_like(total), where=alive & (times > 0))

  def _untabulated_shares(self, number: int, board: Place) -> np.ndarray:
    """`shares_beaten` without tables; ValueError before public cards come."""
    if number == 0:
      raise ValueError(f"{self.name} has too many boards to go through all of them; give public cards.")
    deal = self.deal
    cards = self.runouts[1].cards[board].tolist() if isinstance(board, int) else list(board)
    if left := sum(deal.public) - len(cards):
      shares = 1 - (histograms(deal.deck, deal.hole, cards, left)[0].sum(1) + 0.5) / BINS
    else:
      shares = equities(deal.deck, deal.hole, np.array([cards]), np.zeros(len(self.deal.hands), int))[0, :, 0]
    return np.where(np.isin(self.deal.hands, cards).any(1), 0, shares)

  def place(self, state: pyspiel.State) -> tuple[int, list[tuple[Place, int]]]:
    """The line of a state's player to move, and the cards as in `seen`."""
    hole, player = self.deal.hole, state.current_player()
    cards = dealt_cards(state, self.deal)
    line, board = self.public_place(state)
    return line, self.seen(cards[player * hole : (player + 1) * hole], board)

  def public_place(self, state: pyspiel.State) -> tuple[int, list[int]]:
    """The line of a state's player to move, and the public cards in the order in which they came."""
    cards = dealt_cards(state, self.deal)
    return self._line(state), cards[2 * self.deal.hole :]

  def seen(self, hand: Sequence[int], board: Sequence[int]) -> list[tuple[Place, int]]:
    """For each round so far the class of runouts and the number of the hand there, suits renamed.

    If boards are not tabulated, the public cards themselves, with suits named as after the first ones.
    `board` has the public cards in the order of their rounds; ValueError for a number of cards of no round.
    """
    if len(hand) != self.deal.hole:
      raise ValueError(f"Expected a hand of {self.deal.hole}, got {len(hand)} cards.")
    return [(place, int(set_numbers(swap[list(hand)]))) for place, swap in self.renamed(board)]

  def renamed(self, board: Sequence[int]) -> list[tuple[Place, np.ndarray]]:
    """For each round so far the place as in `seen`, and int[D], each card's name there; errors as there."""
    deal, swaps = self.deal, renamings(self.deal.deck)
    ends = np.cumsum(deal.public).tolist()
    if len(board) not in ends:
      raise ValueError(f"Expected {', '.join(map(str, ends))} public cards, got {len(board)}.")
    place, swap = 0, np.arange(deal.deck.size)
    places: list[tuple[Place, np.ndarray]] = [(0, swap)]
    for number in range(1, ends.index(len(board)) + 1):
      if number >= len(self.runouts):
        places.append((tuple(swap[list(board[: ends[number]])].tolist()), swap))
        continue
      after, some = self.runouts[number], list(board[ends[number - 1] : ends[number]])
      which = int(set_numbers(swap[some]))
      swap, place = swaps[after.swap[place, which]][swap], int(after.index[place, which])
      places.append((place, swap))
    return places

  def _line(self, state: pyspiel.State) -> int:
    line, betting = 0, self.betting
    for move in state.full_history():
      if move.player >= 0:
        line = betting.child(line, move.action)
        while betting.player[line] == CHANCE:  # the cards that come are in the history too
          line = betting.child(line, -1)
    return line
