"""Traversals of Cheat in C++ (`cheat.cc`), on a CPU."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.backend.native import call, call_plain

from . import cheat_rules
from .cheat_rules import Rules
from .keys import Keys


def deal(rules: Rules, key: jax.Array, batch: int) -> tuple[jax.Array, jax.Array]:
  """Deal B games of P players by a JAX key, as chance does: int32[P, R, B] hands, int32[B] discarders."""
  deck, cards = jax.random.split(key), rules.players * rules.hand_size
  order = jnp.argsort(jax.random.uniform(deck[0], (rules.ranks * rules.suits, batch)), axis=0)
  dealt = (order[:cards] % rules.ranks).reshape(rules.players, rules.hand_size, batch)
  ranks = jnp.arange(rules.ranks)[None, None, :, None]
  hands = (dealt[:, :, None] == ranks).sum(1, dtype=jnp.int32)
  if rules.first_player == cheat_rules.RANDOM_FIRST:
    return hands, jax.random.randint(deck[1], (batch,), 0, rules.players, jnp.int32)
  return hands, jnp.full(batch, rules.first_player, jnp.int32)


def traverse(
  rules: Rules,
  keys: Keys,
  tables: tuple[jax.Array | np.ndarray, ...],
  average: jax.Array | np.ndarray,
  fixed: jax.Array | None,
  hands: jax.Array,
  first: jax.Array,
  traverser: jax.Array,
  seed: jax.Array,
  weight: jax.Array | np.ndarray,
  decay: jax.Array,
  options: dict[str, float],
) -> tuple[tuple[jax.Array, ...], jax.Array, jax.Array]:
  """Traverse B games one after the other; pure JAX.

  Arguments and results are those of `KeyedGame.traverse`, but for the games and the random numbers:
  `hands`, int32[P, R, B], are dealt, `first`, int32[B], are the first discarders, `seed` is uint32[2]. For
  plays the last two of `tables` are [0]. `options` are the handler's attributes except the rules.
  """
  dtype = tables[0].dtype
  like = [jax.ShapeDtypeStruct(table.shape, dtype) for table in tables]
  results = [jax.ShapeDtypeStruct(first.shape, dtype), jax.ShapeDtypeStruct((5,), jnp.int32)]
  given = (
    *tables,
    average,
    jnp.zeros(0, dtype) if fixed is None else fixed,
    *_index(rules, keys),
    *(hands, first, traverser[None], seed),
    *(jnp.asarray(number, dtype)[None] for number in (weight, decay)),
  )
  numbers = {"suits": rules.suits, "turns": rules.max_turns, "memory": keys.memory, **options}
  changed = {i: i for i in range(len(tables))}
  arrays = call("CheatTraversals", dtype, given, [*like, *results], numbers=numbers, changed=changed)
  return tuple(arrays[: len(tables)]), arrays[-2], arrays[-1]


def rollouts(
  rules: Rules, keys: Keys, table: np.ndarray, now: Sequence[int], hidden: np.ndarray, given: np.ndarray
) -> np.ndarray:
  """Play on from B states of two by one strategy: float64[B] returns to the player who does not see them.

  Args:
    rules: of the game.
    keys: likewise.
    table: float32[S], weights of moves by cell.
    now: player, discarder, turn, whether a claim is being answered; codes of the own hand, of the cards that
      are certain to be in the other hand, of the own cards that the other player is certain of, of those that
      the last claim was heard with, of the own cards in the pile; and a seed.
    hidden: int64[B, 3], codes of the other hand, the pile, and the claimed cards.
    given: int64[B], the first move: the code of the cards to lay, or an answer.
  """
  tables = [np.ascontiguousarray(part, np.int32) for part in _index(rules, keys)]
  numbers = np.array(
    [rules.ranks, rules.suits, rules.max_turns, keys.pairs.shape[1], keys.memory, *now], np.int64
  )
  hidden, given = np.ascontiguousarray(hidden, np.int64), np.ascontiguousarray(given, np.int64)
  returns = np.empty(len(hidden))
  call_plain("CheatRollouts", tables, numbers, table, hidden, given, len(hidden), returns)
  return returns


def _index(rules: Rules, keys: Keys) -> tuple[np.ndarray, ...]:
  """The arrays of the index, with codes and sizes of the discards, as native code takes them."""
  rows = cheat_rules.discard_counts(rules.ranks, rules.max_discard)
  cards = (rows @ (rules.suits + 1) ** np.arange(rules.ranks)).astype(np.int32)
  index = keys.discards, keys.count, keys.at, keys.turned, keys.answers, keys.pairs
  return *index, cards, rows.sum(1, dtype=np.int32)
