"""Cheat for two as a game that is simulated, not enumerated: the rules of `arrays` over the keys of `keys`.

It has the methods that the package `simulated` asks of such a game (`SimulatedGame` there is the contract).
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel

from ps_cfr_spiel.native import why_unavailable

from . import arrays, keys, native_traversals
from .cheat_rules import Rules
from .particles import CheatHands
from .turns_observer import seen_turns


@jax.tree_util.register_pytree_node_class
class SimulatedCheat:
  """A game of Cheat for two; see `SimulatedGame`."""

  def __init__(self, rules: Rules, index: keys.Keys | str = keys.OBSERVATION):
    """Count the keys, one of `keys.KEYS`, unless given; ValueError if that cannot be done (`keys.index`)."""
    self.rules = rules  #: the parameters
    #: the index of the keys of a player's strategy.
    self.keys = index if isinstance(index, keys.Keys) else keys.index(rules, index)

  def tree_flatten(self) -> tuple[list[Any], tuple[Any, ...]]:
    """The arrays of the index; the rest is static."""
    *tables, cells, most, suits, memory = self.keys
    return tables, (self.rules, cells, most, suits, memory)

  @classmethod
  def tree_unflatten(cls, static: tuple[Any, ...], tables: list[Any]) -> "SimulatedCheat":
    """The inverse of `tree_flatten`."""
    rules, *numbers = static
    return cls(rules, keys.Keys(*tables, *numbers))

  @property
  def key(self) -> str:
    """The name of the keys, one of `keys.KEYS`."""
    return keys.MEMORY if self.keys.memory else keys.OBSERVATION

  @property
  def native_only(self) -> bool:
    """Whether the rules on arrays do not keep the keys."""
    return self.keys.memory

  @property
  def cells(self) -> int:
    """See `SimulatedGame`."""
    return self.keys.cells

  @property
  def widths(self) -> tuple[int, ...]:
    """Discards and answers take turns."""
    return self.keys.most, keys.ANSWERS

  @property
  def longest(self) -> int:
    """See `SimulatedGame`."""
    return 2 * self.rules.max_turns

  def deal(self, key: Any, batch: int) -> arrays.Games:
    """See `SimulatedGame`."""
    return arrays.deal(self.rules, key, batch)

  def actor(self, state: arrays.Games) -> jax.Array:
    """See `SimulatedGame`."""
    return arrays.mover(self.rules, state)

  def chance(self, state: arrays.Games, uniform: jax.Array) -> jax.Array:
    """Zeros, never used: all chance is in the deal."""
    return jnp.zeros_like(state.turn)

  def decision(self, state: arrays.Games) -> tuple[jax.Array, jax.Array]:
    """Not for keys that are `native_only`."""
    assert not self.native_only
    code, size, other = self._hand(state)
    discards, count = self.keys.discard(code, jnp.maximum(other, 1))
    answers = self.keys.answer(code, size, state.laid.sum(0, dtype=jnp.int32), other)
    lays = state.asked == 0
    return jnp.where(lays, discards, answers), jnp.where(lays, count, keys.ANSWERS)

  def step(self, state: arrays.Games, move: jax.Array) -> arrays.Games:
    """See `SimulatedGame`."""
    code, _, _ = self._hand(state)
    discard = self.keys.action(code, arrays.rank(self.rules, state), move)
    return arrays.step(self.rules, state, jnp.where(state.asked == 0, discard, move))

  def utility(self, state: arrays.Games) -> jax.Array:
    """See `SimulatedGame`."""
    return arrays.returns(self.rules, state)[0]

  def full(self, state: arrays.Games) -> jax.Array:
    """Never: all keys are counted."""
    return jnp.zeros((), bool)

  def _hand(self, state: arrays.Games) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Code of the hand of the player to move, its number of cards, and that of the other's: int32[B] each."""
    mover = (state.discarder + state.asked) % 2
    sizes = state.hands.sum(1, dtype=jnp.int32)
    hand = jnp.where(mover[None] == 0, state.hands[0], state.hands[1])
    weights = jnp.asarray(self.keys.weights)[arrays.rank(self.rules, state)]
    code = (weights * hand.T).sum(1, dtype=jnp.int32)
    return code, jnp.where(mover == 0, *sizes), jnp.where(mover == 0, sizes[1], sizes[0])

  def why_unavailable(self) -> str:
    """The reason why the game cannot be traversed here, "" if it can."""
    return why_unavailable()

  def traverse(self, tables, average, fixed, traverser, weight, decay, key, batch, options):
    """Deal games and traverse them, as a `TraversedGame`; see `native_traversals.traverse`."""
    deal, plays = jax.random.split(key)
    games = arrays.deal(self.rules, deal, batch)
    seed = jax.random.key_data(plays)
    given = games.hands, games.discarder, traverser, seed, weight, decay
    return native_traversals.traverse(self.rules, self.keys, tables, average, fixed, *given, options)

  def hidden_states(self, table: np.ndarray, tremble: float) -> CheatHands:
    """What a player cannot see, under the strategy of a table; see `simulated.HiddenStates`."""
    return CheatHands(self.rules, self.keys, table, tremble)

  def shared(self, other: "SimulatedCheat") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """See `keys.shared`."""
    return keys.shared(self.rules, self.keys, other.rules, other.keys)

  def locate(self, state: pyspiel.State) -> tuple[int, list[int]]:
    """The first cell of the player to move, and the actions of the cells from there on."""
    player = state.current_player()
    hand, other = state.hand(player), state.hand_sizes()[1 - player]
    code = int(np.frombuffer(hand, np.uint8) @ self.keys.weights[state.rank].astype(np.int64))
    certain = self._certain(state, player) if self.keys.memory else ()
    if state.discard:
      first = self.keys.answer(code, sum(hand), state.claim(), other, *certain)
      return int(first), list(range(keys.ANSWERS))
    first, count = self.keys.discard(code, other, *certain)
    return int(first), [int(self.keys.action(code, state.rank, move)) for move in range(int(count))]

  def _certain(self, state: Any, player: int) -> tuple[int, int]:
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
