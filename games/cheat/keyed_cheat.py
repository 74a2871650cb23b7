"""Cheat as a keyed game, which traverses itself in C++."""

import jax
import numpy as np
import pyspiel

from ps_cfr_spiel.backend.native import why_unavailable
from ps_cfr_spiel.keyed_game import KeyedGame

from . import keys, native_traversals
from .hidden_hands import CheatHands
from .turns_observer import seen_turns


class KeyedCheat(KeyedGame):
  """A game of Cheat; see `KeyedGame`."""

  def __init__(self, game: pyspiel.Game, key: str = keys.OBSERVATION):
    """Count the keys of a kind, one of `keys.KEYS`; ValueError if that cannot be done (`keys.index`)."""
    self.game, self.key = game, key
    self.rules = game.rules  #: the parameters
    self.keys = keys.index(self.rules, key)  #: the index of the keys of a player's strategy
    self.cells = self.keys.cells

  def __eq__(self, other: object) -> bool:
    return isinstance(other, KeyedCheat) and (self.rules, self.key) == (other.rules, other.key)

  def __hash__(self) -> int:
    return hash((self.rules, self.key))

  def why_not_native(self) -> str:
    return why_unavailable()

  def traverse(self, tables, average, fixed, traverser, weight, decay, key, batch, options):
    deal, plays = jax.random.split(key)
    hands, first = native_traversals.deal(self.rules, deal, batch)
    given = hands, first, traverser, jax.random.key_data(plays), weight, decay
    return native_traversals.traverse(self.rules, self.keys, tables, average, fixed, *given, options)

  def hidden_states(self, table: np.ndarray, tremble: float) -> CheatHands | None:
    if self.players > 2 or self.why_not_native():
      return None  # states stand for themselves
    return CheatHands(self.rules, self.keys, table, tremble)

  def shared(self, other: KeyedGame) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """See `keys.shared`."""
    if not isinstance(other, KeyedCheat):
      return None
    return keys.shared(self.rules, self.keys, other.rules, other.keys)

  def locate(self, state: pyspiel.State) -> tuple[slice, list[int]]:
    player = state.current_player()
    hand, other = state.hand(player), keys.cards_of_other(state)
    code = int(np.frombuffer(hand, np.uint8) @ self.keys.weights[state.rank].astype(np.int64))
    certain = self._certain(state, player) if self.keys.memory else ()
    if state.discard:
      first = int(self.keys.answer(code, sum(hand), state.claim(), other, *certain))
      return slice(first, first + keys.ANSWERS), list(range(keys.ANSWERS))
    first, count = map(int, self.keys.discard(code, other, *certain))
    actions = [int(self.keys.action(code, state.rank, move)) for move in range(count)]
    return slice(first, first + count), actions

  def _certain(self, state: pyspiel.State, player: int) -> tuple[int, int]:
    """The certain cards of the current rank that the player's key distinguishes."""
    known = keys.Known(self.rules.ranks)
    for turn in seen_turns(state, (0, 1)):
      assert turn.cards is not None  # both seats together see all
      cards = np.bincount(turn.cards, minlength=self.rules.ranks)
      known.lay(turn.discarder, cards)
      if turn.challenged:
        known.turn_up(turn.discarder, cards, turn.taker)
    if state.discard:
      return int(known.before[state.rank]), int(known.laid[player, state.rank])
    return int(known.hands[player, state.rank]), int(known.hands[1 - player, state.rank])
