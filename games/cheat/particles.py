"""Hidden states of Cheat for two, as arrays: what the other player may hold, and plays from there.

A player knows everything but the cards of the other hand and of the pile. A strategy over the keys of `keys`
forgets the past, so states with the same cards are one, and there are few: 924 hands after the paper's deal.
`simulated.HiddenStates` is the contract.
"""

from typing import Any, NamedTuple

import numpy as np
import pyspiel

from . import rules as cheat_rules
from .keys import ANSWERS, Keys
from .rules import Rules

OTHER, PILE, LAID = range(3)  # columns of hidden states: codes of the cards, the current rank first


class Seen(NamedTuple):
  """A move as a player sees it; the first one is the deal. Codes are those of the turn's rank.

  Attributes:
    own: code of the player's hand before the move.
    other: the number of cards of the other hand before it.
    mine: whether the player made the move.
    claim: the number of cards that were claimed.
    answers: whether the move answers them.
    challenge: whether it was a challenge.
    laid: code of the cards that were claimed, 0 if unseen.
    taken: code of the cards that the player took.
  """

  own: int
  other: int
  mine: bool = False
  claim: int = 0
  answers: bool = False
  challenge: bool = False
  laid: int = 0
  taken: int = 0


class CheatHands:
  """The other hand and the pile, and plays by a strategy.

  Attributes:
    rules, keys: of the game.
    shares: float64[S], the probability of each cell's move.
  """

  def __init__(self, rules: Rules, keys: Keys, table: np.ndarray, tremble: float = 0.0):
    """`table` has a weight for every cell, see `SimulatedPolicy`; `tremble` as in `OpenSpielStates`."""
    self.rules, self.keys, self.tremble = rules, keys, tremble
    self._base = rules.suits + 1
    self._last = self._base ** (rules.ranks - 1)
    rows = cheat_rules.discard_counts(rules.ranks, rules.max_discard).astype(np.int64)
    self._cards = rows @ self._base ** np.arange(rules.ranks)  # codes of discards
    self._claims = rows.sum(1)
    codes = np.arange(self._base**rules.ranks)
    self._counts = codes[:, None] // self._base ** np.arange(rules.ranks) % self._base
    self._size = self._counts.sum(1)
    in_play = 2 * rules.hand_size
    held = (self._size > 0) & (self._size < in_play)
    numbers = np.repeat(keys.count, np.where(held, in_play - self._size, 0))
    lengths = np.concatenate([numbers, np.full((keys.cells - numbers.sum()) // ANSWERS, ANSWERS)])
    weights = np.maximum(np.asarray(table[: keys.cells], np.float64), 0)
    starts = lengths.cumsum() - lengths
    totals = np.repeat(np.add.reduceat(weights, starts), lengths)
    even = np.repeat(1 / lengths, lengths)
    self.shares = np.where(totals > 0, weights / np.where(totals > 0, totals, 1), even)
    self._sums = np.concatenate([[0.0], self.shares.cumsum()])
    self._even = even

  def seen(self, state: pyspiel.State, player: int) -> list[Seen]:
    """The player's observations, read from the history."""
    game: Any = state.get_game()
    now, found = game.new_initial_state(), []
    for number, action in enumerate(state.history()):
      if number >= game.setup_moves:
        own, rank = self._code(now, player), now.rank
        mine, answers = now.current_player() == player, bool(now.discard)
        challenge = answers and action == cheat_rules.CHALLENGE
        discard = now.discard if answers else action
        visible = challenge or mine != answers
        seen = Seen(own, now.hand_sizes()[1 - player], mine, len(game.cards(discard)), answers, challenge)
        cards = sum(int(self.keys.weights[rank][card]) for card in game.cards(discard))
        now.apply_action(action)
        taken = self._code(now, player, rank) - own if challenge else 0
        found.append(seen._replace(laid=cards if visible else 0, taken=taken))
      else:
        now.apply_action(action)
        if number == game.setup_moves - 1:
          found.append(Seen(self._code(now, player), self.rules.hand_size))
    return found

  def _code(self, state: Any, player: int, rank: int | None = None) -> int:
    weights = self.keys.weights[state.rank if rank is None else rank].astype(np.int64)
    return int(np.frombuffer(state.hand(player), np.uint8) @ weights)

  def begin(self, seen: Seen) -> tuple[np.ndarray, np.ndarray]:
    """All hands that the other player may have been dealt."""
    left = self.rules.suits - self._counts[seen.own]
    codes = np.flatnonzero((self._size == self.rules.hand_size) & (self._counts <= left).all(1))
    ways = _binomials(self.rules.suits)[left, self._counts[codes]].prod(1)
    hidden = np.zeros((len(codes), 3), np.int64)
    hidden[:, OTHER] = codes
    return hidden, ways

  def step(self, hidden, weights, player: int, seen: Seen, thin: Any) -> tuple[np.ndarray, np.ndarray]:
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
      cell = self.keys.answer(hidden[:, OTHER], seen.other, seen.claim, self._size[seen.own])
      weights = weights * self._probability(cell + seen.challenge)
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
    first, count = self.keys.discard(hidden[:, OTHER].astype(int), self._size[seen.own])
    particle = np.repeat(np.arange(len(hidden)), count)
    move = np.arange(len(particle)) - np.repeat(count.cumsum() - count, count)
    discard = self.keys.turned[self.keys.at[hidden[particle, OTHER]] + move]
    fits = self._claims[discard] == seen.claim
    particle, move, discard = particle[fits], move[fits], discard[fits]
    hidden = hidden[particle]
    hidden[:, LAID] = self._cards[discard]
    return hidden, weights[particle] * self._probability(first[particle] + move)

  def _probability(self, cell: np.ndarray) -> np.ndarray:
    return (1 - self.tremble) * self.shares[cell] + self.tremble * self._even[cell]

  def _turned(self, codes: np.ndarray) -> np.ndarray:
    """Codes with the next rank first."""
    return codes // self._base + codes % self._base * self._last

  def rollouts(self, state: Any, player: int, hidden: np.ndarray, actions: np.ndarray, random: Any):
    """See `HiddenStates`; all plays go on side by side."""
    own, rank, returns = self._code(state, player), state.rank, np.zeros(len(hidden))
    hands = [hidden[:, OTHER].astype(np.int64)] * 2
    hands[player] = np.full(len(hidden), own)
    pile, laid, discarder = hidden[:, PILE], hidden[:, LAID], state.discarder
    numbers, playing, answers = np.arange(len(hidden)), state.turn, bool(state.discard)
    given: Any = actions
    while True:
      if not answers:
        hand = hands[discarder]
        if given is None:
          first, count = self.keys.discard(hand, self._size[hands[1 - discarder]])
          move = self._sampled(first, count, random)
          laid = self._cards[self.keys.turned[self.keys.at[hand] + move]]
        else:
          laid = self._laid(rank)[given - cheat_rules.FIRST_DISCARD]
        hands[discarder] = hand - laid
        pile = pile + laid
      else:
        own, sizes = hands[1 - discarder], self._size[hands[1 - discarder]]
        if given is None:
          first = self.keys.answer(own, sizes, self._size[laid], self._size[hands[discarder]])
          challenge = random.random(len(own)) >= self.shares[first]
        else:
          challenge = given == cheat_rules.CHALLENGE
        honest = laid < self._base
        hands[discarder] = hands[discarder] + np.where(challenge & ~honest, pile, 0)
        hands[1 - discarder] = own + np.where(challenge & honest, pile, 0)
        pile = np.where(challenge, 0, pile)
        over = hands[discarder] == 0
        returns[numbers[over]] = 1.0 if discarder == player else -1.0
        playing += 1
        if playing == self.rules.max_turns or over.all():
          return returns
        goes_on = ~over
        numbers, pile = numbers[goes_on], self._turned(pile[goes_on])
        hands = [self._turned(hand[goes_on]) for hand in hands]
        discarder, given = 1 - discarder, None
      answers, given = not answers, None

  def _sampled(self, first: np.ndarray, count: np.ndarray, random: Any) -> np.ndarray:
    """Numbers of moves of keys by their shares."""
    low, high = self._sums[first], self._sums[first + count]
    cell = np.searchsorted(self._sums, low + random.random(len(first)) * (high - low), "right") - 1
    return np.clip(cell - first, 0, count - 1)

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
  found = np.zeros((most + 1, most + 1))
  found[:, 0] = 1
  for n in range(1, most + 1):
    found[n, 1:] = found[n - 1, 1:] + found[n - 1, :-1]
  return found
