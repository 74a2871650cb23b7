"""Cheat's cards and parameters: ranks, discards as multisets of ranks, and their limits."""

import functools
import itertools
import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from .. import base

RANKS = "A23456789TJQK"
RANDOM_FIRST = -1
DISCARD_UP_TO_SUITS = -1
NOBODY = -1  # in the place of a player
MAX_SUITS = 8
MAX_DISCARDS = 30_000  # a row each in the table of discards

PASS, CHALLENGE, FIRST_DISCARD = 0, 1, 2  # actions


class Rules(NamedTuple):
  """Parameters of a game of Cheat, as in `cheat`; `max_discard` is at least 1."""

  players: int  #: their number
  ranks: int  #: ranks in the deck, the first of `RANKS`
  suits: int  #: cards of each rank
  hand_size: int  #: cards dealt to each player
  max_discard: int  #: most cards in one discard
  max_turns: int  #: turns after which the game is a draw
  first_player: int  #: the first discarder, or `RANDOM_FIRST`


def parse_rules(params: base.Parameters) -> Rules:
  """Read a game's parameters; ValueError names a value that is not allowed, and the rule."""
  rules = Rules(**{name: params[name] for name in Rules._fields})
  if rules.max_discard == DISCARD_UP_TO_SUITS:
    rules = rules._replace(max_discard=rules.suits)
  for name, least, most in (
    ("players", 2, 4),
    ("ranks", 2, len(RANKS)),
    ("suits", 1, MAX_SUITS),
    ("hand_size", 1, math.inf),
    ("max_turns", 1, math.inf),
  ):
    value = getattr(rules, name)
    if not least <= value <= most:
      allowed = f"at least {least}" if most == math.inf else f"{least} to {most}"
      raise ValueError(f"{name}={value}: must be {allowed}")
  if not 1 <= rules.max_discard <= rules.suits:
    raise ValueError(
      f"max_discard={rules.max_discard}: must be 1 to {rules.suits}, the suits, or -1 for the number of suits"
    )
  if not (rules.first_player == RANDOM_FIRST or 0 <= rules.first_player < rules.players):
    raise ValueError(f"first_player={rules.first_player}: must be 0 to {rules.players - 1}, or -1 for random")
  if rules.players * rules.hand_size > rules.ranks * rules.suits:
    raise ValueError(
      f"hand_size={rules.hand_size}: {rules.players} players would get {rules.players * rules.hand_size} "
      f"cards; the deck has {rules.ranks} ranks x {rules.suits} suits = {rules.ranks * rules.suits}"
    )
  if (discards := math.comb(rules.ranks + rules.max_discard, rules.ranks) - 1) > MAX_DISCARDS:
    raise ValueError(
      f"max_discard={rules.max_discard}: {rules.ranks} ranks make {discards:,} discards; at most "
      f"{MAX_DISCARDS:,} are allowed"
    )
  return rules


@functools.lru_cache(maxsize=16)
def discards(ranks: int, max_discard: int) -> tuple[tuple[int, ...], ...]:
  """Every multiset of 1 to `max_discard` ranks, smaller ones first, then alphabetically."""
  return tuple(
    cards
    for size in range(1, max_discard + 1)
    for cards in itertools.combinations_with_replacement(range(ranks), size)
  )


@functools.lru_cache(maxsize=16)
def discard_counts(ranks: int, max_discard: int) -> np.ndarray:
  """uint8[number of discards, ranks], the count of each rank in each of `discards`."""
  rows = [[cards.count(rank) for rank in range(ranks)] for cards in discards(ranks, max_discard)]
  return np.array(rows, np.uint8)


@functools.lru_cache(maxsize=10_000)
def discards_from(hand: bytes, max_discard: int) -> tuple[int, ...]:
  """The actions that discard cards of a hand, ascending; `hand` has the number of cards of each rank."""
  held = np.frombuffer(hand, np.uint8)
  possible = (discard_counts(len(hand), max_discard) <= held).all(axis=1)
  return tuple((np.flatnonzero(possible) + FIRST_DISCARD).tolist())


def cards_of(counts: Iterable[int]) -> tuple[int, ...]:
  """The ranks of a multiset given by the count of each rank."""
  return tuple(itertools.chain.from_iterable([rank] * count for rank, count in enumerate(counts)))


def cards_text(cards: Iterable[int]) -> str:
  """Ranks as letters, (0, 0, 2) as "AA3"."""
  return "".join(RANKS[rank] for rank in cards)
