"""The rules of Cheat on arrays: B games side by side, in JAX.

Move for move the game of `cheat`, whose docstring has the rules, with the same numbers of players, ranks and
actions. Every function is pure and can be jitted; `rules` is static.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ..base import TERMINAL
from . import cheat_rules
from .cheat_rules import CHALLENGE, FIRST_DISCARD, NOBODY, Rules


class Games(NamedTuple):
  """B games after the deal. Cards are numbers of cards of each of R ranks."""

  hands: jax.Array  #: int32[P, R, B], of all players
  pile: jax.Array  #: int32[R, B], the cards on the table
  laid: jax.Array  #: int32[R, B], those of the discard that is being answered; else zeros
  turn: jax.Array  #: int32[B], number of the turn, from 0
  discarder: jax.Array  #: int32[B], the player whose turn it is
  #: int32[B], the number of players asked to answer, the one to answer included; 0 while the discarder is to
  #: discard.
  asked: jax.Array
  over: jax.Array  #: bool[B], whether the game has ended
  winner: jax.Array  #: int32[B], the winner, `NOBODY` before the end and after a draw


def deal(rules: Rules, key: Any, batch: int) -> Games:
  """Deal `batch` games with random numbers from a key, as chance does in the Python game."""
  deck, cards = jax.random.split(key), rules.players * rules.hand_size
  order = jnp.argsort(jax.random.uniform(deck[0], (rules.ranks * rules.suits, batch)), axis=0)
  dealt = (order[:cards] % rules.ranks).reshape(rules.players, rules.hand_size, batch)
  ranks = jnp.arange(rules.ranks)[None, None, :, None]
  hands = (dealt[:, :, None] == ranks).sum(1, dtype=jnp.int32)
  if rules.first_player == cheat_rules.RANDOM_FIRST:
    return begin(hands, jax.random.randint(deck[1], (batch,), 0, rules.players, jnp.int32))
  return begin(hands, jnp.full(batch, rules.first_player, jnp.int32))


def begin(hands: jax.Array, first: jax.Array) -> Games:
  """Games after the deal, from int32[P, R, B] hands and the first discarder, int32[B]."""
  nothing, zero = jnp.zeros_like(hands[0]), jnp.zeros_like(first)
  return Games(hands, nothing, nothing, zero, first, zero, zero > 0, zero + NOBODY)


def rank(rules: Rules, games: Games) -> jax.Array:
  """The rank that is claimed: int32[B]."""
  return games.turn % rules.ranks


def mover(rules: Rules, games: Games) -> jax.Array:
  """The player to move, `TERMINAL` at the end: int32[B]."""
  return jnp.where(games.over, TERMINAL, (games.discarder + games.asked) % rules.players)


def legal_actions(rules: Rules, games: Games) -> jax.Array:
  """bool[A, B], the legal actions; none at the end."""
  held = _of(games.hands, games.discarder)
  rows = jnp.asarray(cheat_rules.discard_counts(rules.ranks, rules.max_discard))
  discards = (rows[:, :, None] <= held[None]).all(1) & (games.asked == 0)[None]
  answers = jnp.broadcast_to(games.asked > 0, (FIRST_DISCARD, len(games.asked)))
  return jnp.concatenate([answers, discards]) & ~games.over[None]


def step(rules: Rules, games: Games, action: jax.Array) -> Games:
  """The games after one legal action each, int32[B]; a game that is over does not change."""
  rows = jnp.asarray(cheat_rules.discard_counts(rules.ranks, rules.max_discard), jnp.int32)
  discards = games.asked == 0
  cards = jnp.where(discards[:, None], rows[jnp.maximum(action - FIRST_DISCARD, 0)], 0).T
  hands = games.hands - _to(games.discarder, cards, rules.players)
  pile, laid = games.pile + cards, games.laid + cards

  # A challenger takes the pile if all the cards are of the rank, else the discarder does.
  challenged = ~discards & (action == CHALLENGE)
  honest = jnp.take_along_axis(laid, rank(rules, games)[None], 0)[0] == laid.sum(0)
  taker = jnp.where(honest, mover(rules, games), games.discarder)
  taken = jnp.where(challenged[None], pile, 0)
  hands += _to(taker, taken, rules.players)

  # The turn ends with a challenge, or when the last player has passed.
  ends = challenged | (games.asked == rules.players - 1)
  won = ends & (_of(hands, games.discarder).sum(0) == 0)
  turn = games.turn + ends
  after = Games(
    hands=hands,
    pile=pile - taken,
    laid=jnp.where(ends[None], 0, laid),
    turn=turn,
    discarder=jnp.where(ends, (games.discarder + 1) % rules.players, games.discarder),
    asked=jnp.where(ends, 0, games.asked + 1),
    over=won | (turn == rules.max_turns),
    winner=jnp.where(won, games.discarder, NOBODY),
  )
  return jax.tree.map(lambda old, new: jnp.where(games.over, old, new), games, after)


def returns(rules: Rules, games: Games) -> jax.Array:
  """[P, B], 1 for the winner and equal shares of -1 for the others; zeros before the end and at a draw."""
  wins = games.winner[None] == jnp.arange(rules.players)[:, None]
  return jnp.where(games.winner[None] == NOBODY, 0.0, jnp.where(wins, 1.0, -1 / (rules.players - 1)))


def _of(hands: jax.Array, player: jax.Array) -> jax.Array:
  """The hands [P, R, B] of int32[B] players: [R, B]."""
  return jnp.take_along_axis(hands, player[None, None], 0)[0]


def _to(player: jax.Array, cards: jax.Array, players: int) -> jax.Array:
  """Cards [R, B] added to empty hands of the players int32[B]: [P, R, B]."""
  return jnp.where((player[None] == jnp.arange(players)[:, None])[:, None], cards[None], 0)
