"""Players of Cheat: the naive and the heuristic one of Yi and Kaneko, Section 3.1, for any parameters.

Both use only their player's observations: the own hand and past, and public information.
"""

import math
from collections import Counter

import numpy as np
import pyspiel

from . import cheat_rules
from .turns_observer import Turn, seen_turns


class _CheatBot(pyspiel.Bot):
  """A player who discards and answers claims; each step derives its memory from the state."""

  def __init__(self, player: int):
    super().__init__()
    self._player = player

  def step(self, state: pyspiel.State) -> int:
    if not state.discard:
      return self.discard(state)
    return cheat_rules.CHALLENGE if self.challenges(state) else cheat_rules.PASS

  def restart_at(self, state: pyspiel.State) -> None:
    """Does nothing: no memory is kept from step to step."""

  def discard(self, state: pyspiel.State) -> int:
    """The action to discard by."""
    raise NotImplementedError

  def challenges(self, state: pyspiel.State) -> bool:
    """True if the player calls "Cheat!"."""
    raise NotImplementedError


class NaiveBot(_CheatBot):
  """A random player, but for two things.

  It challenges a claim that its own hand proves false, and it discards its whole hand when that is
  true. Else every legal action is as likely as any other.
  """

  def __init__(self, player: int, rng: "np.random.RandomState"):
    super().__init__(player)
    self._rng = rng

  def discard(self, state: pyspiel.State) -> int:
    hand = state.hand(self._player)
    legal = state.get_game().discards_from(hand)
    if hand[state.rank] == sum(hand) <= state.get_game().rules.max_discard:
      return legal[-1]  # ascending by size: the whole hand
    return legal[self._rng.randint(len(legal))]

  def challenges(self, state: pyspiel.State) -> bool:
    held = state.hand(self._player)[state.rank]
    return held + state.claim() > state.get_game().rules.suits or bool(self._rng.randint(2))


class HeuristicBot(_CheatBot):
  """Remembers cards it laid down or saw turned up, and where they are now; deterministic.

  It discards all cards of the current rank that it has. Without any it lies with one card, of the rank that
  it can discard truthfully only after the longest time. It challenges a claim of the discarder's last cards,
  for otherwise that player wins, and one that was more likely false than true if the cards that it does not
  remember lie at random (`chance_of_truth`): never one that must be true, always one that must be false.

  The paper describes its player's memory, not its decisions; the decisions are ours.
  """

  def discard(self, state: pyspiel.State) -> int:
    game, hand = state.get_game(), state.hand(self._player)
    if held := hand[state.rank]:
      cards = (state.rank,) * min(held, game.rules.max_discard)
    else:
      cards = (max((rank for rank, count in enumerate(hand) if count), key=lambda rank: _wait(state, rank)),)
    return cheat_rules.FIRST_DISCARD + game.discards.index(cards)

  def challenges(self, state: pyspiel.State) -> bool:
    if state.hand_sizes()[state.discarder] == 0:
      return True
    return chance_of_truth(state, self._player) < 0.5


def _wait(state: pyspiel.State, rank: int) -> float:
  """The number of turns until the discarder's turn has this rank, infinite if it never has."""
  game = state.get_game().rules
  for turns in range(1, game.ranks + 1):
    if (state.rank + turns * game.players) % game.ranks == rank:
      return turns
  return math.inf


class Memory:
  """The known places of cards; never wrong, but it forgets cards that may have been laid down."""

  def __init__(self, state: pyspiel.State, player: int):
    self.pile: Counter[int] = Counter()  #: cards known to be in the pile, those being answered left out
    #: cards known to be in each other player's hand; before the discard, of one being challenged.
    self.hands = [Counter() for _ in range(state.get_game().rules.players)]
    turns = seen_turns(state, (player,))
    if state.discard:
      turns.pop()
    for turn in turns:
      self._remember(turn, player)

  def _remember(self, turn: Turn, player: int) -> None:
    if turn.cards is None:  # any of the known cards may be among them
      held = self.hands[turn.discarder]
      self.hands[turn.discarder] = held - Counter(dict.fromkeys(held, turn.claim))
      return
    laid = Counter(turn.cards)
    self.hands[turn.discarder] -= laid
    self.pile += laid
    if turn.challenged:
      if turn.taker != player:
        self.hands[turn.taker] += self.pile
      self.pile = Counter()


def chance_of_truth(state: pyspiel.State, player: int) -> float:
  """The probability that the discarder had the claimed cards, given the memory of `player`.

  Every card whose place is not known is equally likely to be any of the cards that are not known: in
  the discarder's hand (before the discard), elsewhere, or out of the game (hypergeometric distribution).
  """
  game, memory, rank = state.get_game().rules, Memory(state, player), state.rank
  known = memory.hands[state.discarder]
  placed = sum(memory.hands, memory.pile + Counter(cheat_rules.cards_of(state.hand(player))))
  missing = max(state.claim() - known[rank], 0)
  unknown, of_rank = game.ranks * game.suits - placed.total(), game.suits - placed[rank]
  drawn = state.hand_sizes()[state.discarder] + state.claim() - known.total()
  ways = (
    math.comb(of_rank, count) * math.comb(unknown - of_rank, drawn - count)
    for count in range(missing, min(of_rank, drawn) + 1)
  )
  return sum(ways) / math.comb(unknown, drawn)
