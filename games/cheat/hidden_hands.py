"""Hidden states of Cheat for two, as arrays: the cards that the other player may hold, and plays from there.

A player knows everything but the cards of the other hand and of the pile. A strategy over the keys of `keys`
forgets the past, or remembers what both know (`keys.Known`), so states with the same cards are one, and there
are few: at most 875 hands after the paper's deal.
"""

from typing import NamedTuple

import numpy as np
import pyspiel

from ps_cfr_spiel.keyed_game import HiddenStates, Thin

from . import cheat_rules, native_traversals
from .cheat_rules import Rules
from .keys import ANSWERS, Keys, Known

OTHER, PILE, LAID = range(3)  # columns of hidden states: codes of the cards, the current rank first


class Certain(NamedTuple):
  """Codes of the cards whose place is certain (`keys.Known`), as a player sees them."""

  theirs: int = 0  #: in the other hand
  mine: int = 0  #: in the own hand, as the other player knows
  before: int = 0  #: the one of the two with which the last claim was heard
  laid: int = 0  #: in the pile, by the player


class Seen(NamedTuple):
  """A move as a player sees it; the first one is the deal. Codes are those of the turn's rank."""

  hand: int  #: code of the player's hand before the move
  other: int  #: the number of cards of the other hand before it
  mine: bool = False  #: whether the player made the move
  claim: int = 0  #: the number of cards that were claimed
  answers: bool = False  #: whether the move answers them
  challenge: bool = False  #: whether it was a challenge
  laid: int = 0  #: code of the cards that were claimed, 0 if unseen
  taken: int = 0  #: code of the cards that the player took
  known: Certain = Certain()  #: certain cards, see `Certain`


class CheatHands(HiddenStates):
  """The other hand and the pile, and plays by a strategy."""

  def __init__(self, rules: Rules, keys: Keys, table: np.ndarray, tremble: float = 0.0):
    """`table` has a weight for every cell, see `KeyedGame`; `tremble` as in `OpenSpielStates`.

    ValueError for a table of other keys.
    """
    if len(table) < keys.cells:
      raise ValueError(f"table: the keys have {keys.cells:,} cells, got {len(table):,} weights.")
    #: rules, keys: of the game.
    self.rules, self.keys, self.tremble = rules, keys, tremble
    self.table = np.ascontiguousarray(table, np.float32)  #: float32[S], weights of each cell's move
    self._base = rules.suits + 1
    self._last = self._base ** (rules.ranks - 1)
    rows = cheat_rules.discard_counts(rules.ranks, rules.max_discard).astype(np.int64)
    self._cards = rows @ self._base ** np.arange(rules.ranks)  # codes of discards
    self._claims = rows.sum(1)
    codes = np.arange(self._base**rules.ranks)
    self._counts = codes[:, None] // self._base ** np.arange(rules.ranks) % self._base
    self._size = self._counts.sum(1)
    #: the last player and history asked about, with the answer of `_watched`.
    self._asked: tuple[int, list[int]] | None = None
    self._answer: tuple[list[Seen], Certain] = [], Certain()

  def seen(self, state: pyspiel.State, player: int) -> list[Seen]:
    """The player's observations, read from the history."""
    return self._watched(state, player)[0]

  def _watched(self, state: pyspiel.State, player: int) -> tuple[list[Seen], Certain]:
    """The player's observations, and the cards that are certain now; those of the last call are kept."""
    asked = player, state.history()
    if asked == self._asked:
      return self._answer
    game = state.get_game()
    now, observations, known = game.new_initial_state(), [], Known(self.rules.ranks)
    for number, action in enumerate(state.history()):
      if number >= game.setup_moves:
        code, rank = self._code(now, player), now.rank
        mine, answers = now.current_player() == player, bool(now.discard)
        challenge = answers and action == cheat_rules.CHALLENGE
        discard = now.discard if answers else action
        visible = challenge or mine != answers
        seen = Seen(code, now.hand_sizes()[1 - player], mine, len(game.cards(discard)), answers, challenge)
        seen = seen._replace(known=self._certain(known, player, rank))
        cards, discarder = np.bincount(game.cards(discard), minlength=self.rules.ranks), now.discarder
        now.apply_action(action)
        taken = self._code(now, player, rank) - code if challenge else 0
        if not answers:
          known.lay(discarder, cards)
        elif challenge:
          known.turn_up(discarder, cards, player if taken else 1 - player)
        laid = self._coded(cards, rank) if visible else 0
        observations.append(seen._replace(laid=laid, taken=taken))
      else:
        now.apply_action(action)
        if number == game.setup_moves - 1:
          observations.append(Seen(self._code(now, player), self.rules.hand_size))
    self._asked, self._answer = asked, (observations, self._certain(known, player, now.rank))
    return self._answer

  def _certain(self, known: Known, player: int, rank: int) -> Certain:
    cards = known.hands[player], known.hands[1 - player], known.before, known.laid[player]
    return Certain(*(self._coded(counts, rank) for counts in cards))

  def _code(self, state: pyspiel.State, player: int, rank: int | None = None) -> int:
    return self._coded(np.frombuffer(state.hand(player), np.uint8), state.rank if rank is None else rank)

  def _coded(self, cards: np.ndarray, rank: int) -> int:
    """The code of int[R] cards at a rank."""
    return int(cards @ self.keys.weights[rank].astype(np.int64))

  def begin(self, seen: Seen) -> tuple[np.ndarray, np.ndarray]:
    """All hands that the other player may have been dealt."""
    left = self.rules.suits - self._counts[seen.hand]
    codes = np.flatnonzero((self._size == self.rules.hand_size) & (self._counts <= left).all(1))
    ways = _binomials(self.rules.suits)[left, self._counts[codes]].prod(1)
    hidden = np.zeros((len(codes), 3), np.int64)
    hidden[:, OTHER] = codes
    return hidden, ways

  def step(
    self, hidden: np.ndarray, weights: np.ndarray, player: int, seen: Seen, thin: Thin
  ) -> tuple[np.ndarray, np.ndarray]:
    """The states after a move; equal ones are joined."""
    hidden = hidden.copy()
    if not seen.answers:
      if seen.mine:
        hidden[:, LAID] = seen.laid
      else:
        hidden, weights = self._claimed(hidden, weights, seen)
        hidden[:, OTHER] -= hidden[:, LAID]
      hidden[:, PILE] += hidden[:, LAID]
      return _joined(hidden, weights)
    if not seen.mine:
      certain = seen.known.before % self._base, (hidden[:, PILE] - seen.known.laid) % self._base
      first = self.keys.answer(hidden[:, OTHER], seen.other, seen.claim, self._size[seen.hand], *certain)
      cells = first[:, None] + np.arange(ANSWERS)
      shares = self._probabilities(cells.ravel(), np.full(len(cells), ANSWERS)).reshape(cells.shape)
      weights = weights * shares[:, int(seen.challenge)]
    if seen.challenge:
      honest = seen.laid < self._base
      mine = honest == seen.mine  # the challenger of an honest claim takes the pile, or a liar
      fits = hidden[:, LAID] == seen.laid
      fits &= (hidden[:, PILE] if mine else 0) == seen.taken
      hidden, weights = hidden[fits], weights[fits]
      if not mine:
        hidden[:, OTHER] += hidden[:, PILE]
      hidden[:, PILE] = 0
    hidden[:, LAID] = 0
    return _joined(self._turned(hidden), weights)

  def _claimed(self, hidden: np.ndarray, weights: np.ndarray, seen: Seen) -> tuple[np.ndarray, np.ndarray]:
    """All discards of the claimed size from the other hand."""
    certain = seen.known.mine % self._base, seen.known.theirs % self._base
    first, count = self.keys.discard(hidden[:, OTHER].astype(int), self._size[seen.hand], *certain)
    particle = np.repeat(np.arange(len(hidden)), count)
    move = np.arange(len(particle)) - np.repeat(count.cumsum() - count, count)
    probability = self._probabilities(first[particle] + move, count)
    discard = self.keys.turned[self.keys.at[hidden[particle, OTHER]] + move]
    fits = np.flatnonzero((self._claims[discard] == seen.claim) & (probability > 0))
    particle, discard = particle[fits], discard[fits]
    hidden = hidden[particle]
    hidden[:, LAID] = self._cards[discard]
    return hidden, weights[particle] * probability[fits]

  def _probabilities(self, cells: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Probabilities of the moves of keys, whose cells are one key after the other, `count` of each."""
    weights = np.maximum(self.table[cells].astype(float), 0)
    totals = np.repeat(np.add.reduceat(weights, count.cumsum() - count), count) if len(count) else weights
    even = 1 / np.repeat(count, count)
    shares = np.where(totals > 0, weights / np.where(totals > 0, totals, 1), even)
    return (1 - self.tremble) * shares + self.tremble * even

  def _turned(self, codes: np.ndarray) -> np.ndarray:
    """Codes with the next rank first."""
    return codes // self._base + codes % self._base * self._last

  def rollouts(
    self,
    state: pyspiel.State,
    player: int,
    hidden: np.ndarray,
    actions: np.ndarray,
    random: np.random.Generator,
  ) -> np.ndarray:
    """See `HiddenStates`; native code plays."""
    _, certain = self._watched(state, player)
    now = player, state.discarder, state.turn, bool(state.discard), self._code(state, player), *certain
    given = actions if state.discard else self._laid(state.rank)[actions - cheat_rules.FIRST_DISCARD]
    seed = int(random.integers(2**63))
    return native_traversals.rollouts(self.rules, self.keys, self.table, (*now, seed), hidden, given)

  def _laid(self, rank: int) -> np.ndarray:
    """Codes of all discards where a rank is the current one."""
    rows = cheat_rules.discard_counts(self.rules.ranks, self.rules.max_discard).astype(np.int64)
    return rows @ self.keys.weights[rank].astype(np.int64)


def _joined(hidden: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
  """Equal states as one, with the sum of their weights."""
  if not len(hidden):
    return hidden, weights
  order = np.lexsort(hidden.T)
  hidden = hidden[order]
  new = np.flatnonzero(np.concatenate([[True], (hidden[1:] != hidden[:-1]).any(1)]))
  return hidden[new], np.add.reduceat(weights[order], new)


def _binomials(most: int) -> np.ndarray:
  """float64[most + 1, most + 1], n over k."""
  table = np.zeros((most + 1, most + 1))
  table[:, 0] = 1
  for n in range(1, most + 1):
    table[n, 1:] = table[n - 1, 1:] + table[n - 1, :-1]
  return table
