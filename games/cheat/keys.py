"""The keys of a strategy in Cheat: an index of them and of their moves, without a hash.

The key of Yi and Kaneko's agent ("observation") is the own hand, the number of cards of the other player, the
size of the pile, the rank, and for the player who answers the number of cards claimed (Section 3.1; the last
two are ours, as in `cheat`). Neither the past nor the horizon is in it, so a strategy over keys is one of
imperfect recall. Three things make keys few: the ranks are turned so that the current one comes first, since
the rules do not change when all are turned; the size of the pile follows from those of the hands; and the
seats share their keys, because nothing in the rules depends on the seat once the first player is known.

With more than two players a key has the number of cards of one other player alone, who matters most
(`cards_of_other`), and neither who answers next nor the size of the pile. So the number of keys is that for
two players with the same cards.

The key "memory" adds cards of the current rank whose place is certain (`Known`). The discarder distinguishes
those of the other hand and, among the own, those that the other player is sure of; the player who answers
distinguishes those of the discarder's hand before the claim, and those that lie in the pile by the own doing.

Tables have a *cell* for every legal move of every key, the moves of one key next to each other.
"""

import itertools
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
import pyspiel

from ps_cfr_spiel.arguments import check_option
from ps_cfr_spiel.backend.array_shapes import Int32

from . import cheat_rules
from .cheat_rules import FIRST_DISCARD, Rules

Numbers = TypeVar("Numbers", int, np.ndarray)  # of one hand, or of many side by side
Counts: TypeAlias = int | np.ndarray  # of all hands, or of each
ANSWERS = 2  # pass and challenge
MOST_CODES = 2**27  # of hands, times discards
OBSERVATION, MEMORY = KEYS = "observation", "memory"
FEW, SEVERAL = 2, 3  # numbers of certain cards of a rank above these count as these


class Known:
  """The cards whose place is certain, as both players of a game for two know."""

  def __init__(self, ranks: int):
    #: int[2, R], by player, the cards that are sure to be in the other hand: turned up and taken with the
    #: pile, or laid by the player in a pile that the other took. A claim of k cards may contain any k of
    #: them; a challenge shows which.
    self.hands = np.zeros((2, ranks), int)
    self.before = np.zeros(ranks, int)  #: int[R], those that the last claim was heard with
    self.laid = np.zeros((2, ranks), int)  #: int[2, R], the cards in the pile by the player who laid them

  def lay(self, discarder: int, cards: np.ndarray) -> None:
    """Cards, int[R], are laid face down."""
    hearer = 1 - discarder
    self.before = self.hands[hearer].copy()
    self.hands[hearer] = np.maximum(self.before - cards.sum(), 0)
    self.laid[discarder] += cards

  def turn_up(self, discarder: int, cards: np.ndarray, taker: int) -> None:
    """The same cards are shown, and a player takes the pile."""
    hearer = 1 - discarder
    self.hands[hearer] = np.maximum(self.before - cards, 0)
    self.hands[1 - taker] += self.laid[1 - taker] + (cards if taker == discarder else 0)
    self.laid[:] = 0


class Keys(NamedTuple):
  """The index. There are C codes of hands, R ranks, D discards, and T cards in play, of all players.

  A hand's code is the sum of count[r] (suits + 1)^r over its turned ranks r. Entries for codes of
  impossible hands are never read.
  """

  #: the code of one card of each rank (second axis) at the current rank (first).
  weights: Int32[np.ndarray, "R R"]
  #: the first cell of a hand's discards, if the other player holds one card and nothing is certain.
  discards: Int32[np.ndarray, " C"]
  count: Int32[np.ndarray, " C"]  #: the number of discards of a hand
  at: Int32[np.ndarray, " C"]  #: the start of its discards in `turned`
  #: discards by number, of all hands one after the other; ranks are turned.
  turned: Int32[np.ndarray, " n"]
  back: Int32[np.ndarray, "R D"]  #: the discard that a turned one is, by the current rank
  answers: Int32[np.ndarray, " C"]  #: the first cell of a hand's answers
  #: by the own number of cards and the claim: the number of earlier pairs of a
  #: claim and the other player's number of cards.
  pairs: Int32[np.ndarray, "T D+1"]
  cells: int  #: the number of cells
  suits: int  #: of the deck
  memory: bool  #: whether certain cards are part of keys

  def discard(
    self, code: Numbers, other: Counts, theirs: Counts = 0, mine: Counts = 0
  ) -> tuple[Numbers, Numbers]:
    """First cell and number of the discards of a hand, where the other player holds `other` cards.

    Of the current rank, `theirs` cards are certain to be in the other hand, and `mine` are own ones that the
    other player is certain of.
    """
    place = other - 1
    if self.memory:
      held = code % (self.suits + 1)
      place = _place(place, theirs, np.minimum(self.suits - held, FEW), mine, np.minimum(held, FEW))
    return self.discards[code] + place * self.count[code], self.count[code]

  def answer(
    self, code: Numbers, size: Counts, claim: Counts, other: Counts, theirs: Counts = 0, piled: Counts = 0
  ) -> Numbers:
    """First cell of the answers to a claim, with `size` cards in hand while the other player holds `other`.

    Of the current rank, `theirs` cards were certain to be in the other hand before the claim, and the player
    laid `piled` into the pile.
    """
    place = self.pairs[size, claim] + other
    if self.memory:
      missing = self.suits - code % (self.suits + 1)
      place = _place(place, theirs, np.minimum(missing, SEVERAL), piled, np.minimum(missing, FEW))
    return self.answers[code] + ANSWERS * place

  def action(self, code: Numbers, rank: Counts, move: Counts) -> Numbers:
    """The action of a hand's discard number `move`."""
    return FIRST_DISCARD + self.back[rank, self.turned[self.at[code] + move]]


def _place(place: Counts, first: Counts, most: Counts, second: Counts, last: Counts) -> Counts:
  """The number of a place that is divided by two numbers of cards, from 0 to `most` and to `last`."""
  return (place * (most + 1) + np.minimum(first, most)) * (last + 1) + np.minimum(second, last)


def index(rules: Rules, key: str = OBSERVATION) -> Keys:
  """The index of a game's keys, one of `KEYS`.

  Raises:
    ValueError: the game has too many hands; or no such key, "memory" with more than two players included.
  """
  memory = check_option("key", key, KEYS) == MEMORY
  if memory and rules.players != 2:
    raise ValueError(
      f"key={MEMORY!r}: what both players know is for two, and this game has {rules.players}; choose "
      f"{OBSERVATION!r}."
    )
  base, in_play = rules.suits + 1, rules.players * rules.hand_size
  rows = cheat_rules.discard_counts(rules.ranks, rules.max_discard)
  if base**rules.ranks * len(rows) > MOST_CODES:
    raise ValueError(
      f"ranks={rules.ranks}, suits={rules.suits}: {base**rules.ranks:,} hands and {len(rows):,} discards are "
      f"too many to count the keys; their product may be at most {MOST_CODES:,}. With cells=1000000 "
      f"KeyedMCCFRSolver (train --cells) has only the keys that plays meet."
    )
  hands = np.indices((base,) * rules.ranks, np.uint8).reshape(rules.ranks, -1)[::-1]  # [R, C], by code
  size = hands.sum(0, dtype=np.int64)
  held = (size > 0) & (size < in_play)  # the mover holds a card; the other does too, or has just laid one
  legal = np.stack([(hands >= row[:, None]).all(0) & held for row in rows], 1)
  count = legal.sum(1)
  few, missing = np.minimum(hands[0], FEW).astype(int), rules.suits - hands[0].astype(int)
  kinds = (few + 1) * (np.minimum(missing, FEW) + 1) if memory else 1
  discards = np.where(held, count * (in_play - size) * kinds, 0)

  # Claims k and sizes o of the other hand go together while k + o cards are not the own ones.
  claims = np.arange(1, rules.max_discard + 1)
  rest = in_play - np.arange(in_play)[:, None]
  pairs = np.pad(np.maximum(rest - claims + 1, 0).cumsum(1), ((0, 0), (1, 0)))  # [T, D' + 1], pairs up to k
  kinds = (np.minimum(missing, SEVERAL) + 1) * (np.minimum(missing, FEW) + 1) if memory else 1
  answers = np.where(held, ANSWERS * pairs[np.minimum(size, in_play - 1), -1] * kinds, 0)
  cells = int(discards.sum() + answers.sum())

  before = (np.arange(rules.ranks) - np.arange(rules.ranks)[:, None]) % rules.ranks
  return Keys(
    weights=(base**before).astype(np.int32),
    discards=(discards.cumsum() - discards).astype(np.int32),
    count=count.astype(np.int32),
    at=(count.cumsum() - count).astype(np.int32),
    turned=legal.nonzero()[1].astype(np.int32),
    back=_turned_back(rules),
    answers=(discards.sum() + answers.cumsum() - answers).astype(np.int32),
    pairs=np.pad(pairs[:, :-1], ((0, 0), (1, 0))).astype(np.int32),
    cells=cells,
    suits=rules.suits,
    memory=memory,
  )


def shared(
  rules: Rules, index: Keys, other_rules: Rules, other: Keys
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
  """The keys that two games have in common: their first cells in both, and how many moves they share.

  Keys are the same if the turned hands, the other player's numbers of cards and the claims are. With fewer
  cards in play the pile is smaller: what lies at its bottom does not count. With fewer ranks, the last ones
  after turning are missing. Discards are in the order of their sizes, so the first ones of a hand are the
  same. A key of the other game that does not remember is that of all keys which differ in memory alone.

  Returns:
    int64[n] each, for n keys.
  """
  pair = (rules, index), (other_rules, other)
  suits, ranks = (min(getattr(r, name) for r, _ in pair) for name in ("suits", "ranks"))
  cards = min(r.players * r.hand_size for r, _ in pair)
  digits = np.indices((suits + 1,) * ranks).reshape(ranks, -1)
  size, held, missing = digits.sum(0), digits[0], rules.suits - digits[0]
  codes = [(digits * (r.suits + 1) ** np.arange(ranks)[:, None]).sum(0) for r, _ in pair]
  numbers = np.ndindex(SEVERAL + 1, FEW + 1) if index.memory else [(0, 0)]
  columns: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
  for (certain, other_certain), theirs in itertools.product(numbers, range(cards)):
    known = certain, other_certain
    fits = (size > 0) & (certain <= missing) & (size + theirs <= cards)
    chosen = fits & (certain <= FEW) & (other_certain <= held)
    if theirs:
      firsts, counts = zip(
        *(k.discard(c[chosen], theirs, *known) for (_, k), c in zip(pair, codes, strict=True)), strict=True
      )
      columns.append((*firsts, np.minimum(*counts)))
    for claim in range(1, min(r.max_discard for r, _ in pair) + 1):
      chosen = fits & (other_certain <= missing) & (size + claim + theirs <= cards)
      firsts = [
        k.answer(c[chosen], size[chosen], claim, theirs, *known)
        for (_, k), c in zip(pair, codes, strict=True)
      ]
      columns.append((*firsts, np.full(chosen.sum(), ANSWERS)))
  first, second, moves = (np.concatenate(column).astype(np.int64) for column in zip(*columns, strict=True))
  return first, second, moves


def cards_of_other(state: pyspiel.State) -> int:
  """The number of cards of the discarder who is answered, else the fewest of any player not to move."""
  sizes = state.hand_sizes()
  if state.discard:
    return sizes[state.discarder]
  return min(size for player, size in enumerate(sizes) if player != state.current_player())


def _turned_back(rules: Rules) -> np.ndarray:
  """See `Keys.back`."""
  discards = cheat_rules.discards(rules.ranks, rules.max_discard)
  number = {cards: i for i, cards in enumerate(discards)}
  turned = (
    sorted((card + rank) % rules.ranks for card in cards) for rank in range(rules.ranks) for cards in discards
  )
  return np.array([number[tuple(cards)] for cards in turned], np.int32).reshape(rules.ranks, -1)
