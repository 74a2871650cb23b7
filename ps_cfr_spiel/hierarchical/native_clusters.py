"""Clusters sampled in C++ on a CPU (`clusters.cc`).

A traversal meets only the lines that it visits. The sampler in JAX is the reference, and the only way on an
accelerator. From the same seed both deal the same boards and visit the same lines, with the same results up
to rounding (`tests/hierarchical/test_native_clusters.py`).
"""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from ps_cfr_spiel.backend.device import cores
from ps_cfr_spiel.backend.native import call
from ps_cfr_spiel.cards.poker import Deck
from ps_cfr_spiel.tree import CHANCE, Array

OTHER_LINES = 2, 3  # beside the players: where public cards come, and ends; `kChanceLine` and `kEndLine`
EACH = 256  # deals for which a thread is worth starting


def sample_clusters(
  game: Any,
  regrets: Array,
  compensation: Array,
  keys: jax.Array,
  dealt: jax.Array,
  visited: jax.Array,
  traverser: jax.Array,
  numbers: Sequence[Array | float],
) -> tuple[jax.Array, jax.Array, jax.Array]:
  """The traversals of all clusters that are here; pure JAX.

  Args:
    regrets: [A, C' S], cluster after cluster.
    keys: uint32[C', 2], of the random numbers, which are `jax.random.uniform`'s, [rounds + depths, B].
    dealt: int32[3, B], both hands, and the class of public cards so far.
    visited: bool[S, B], the roots that a traversal visits.
    traverser: int32[].
    numbers: the boards that chance may deal, the weight of the turn's averages, that of its regrets, the
      floor of regrets, and the regret below which an action may be skipped.

  Returns:
    The regrets and the compensation after the traversals, and the values [C', S, B] of the roots to the
    traverser, each times the number of boards that the hands leave in the cluster.
  """
  dtype, part, cards, untabulated = regrets.dtype, game.cluster_subtree, game.cards, game.untabulated
  no_integer, no_mask = jnp.zeros((0, 0), jnp.int32), jnp.zeros((0, 0), jnp.uint32)
  before, later = game.trunk.rounds - 1, []
  for k, sets in list(enumerate(cards.set_masks))[before:]:
    known = k < len(cards.index)
    tables = (
      (cards.index[k], cards.swap[k], cards.board_masks[k + 1])
      if known
      else (no_integer, no_integer, no_mask)
    )
    later += [sets, *tables, cards.buckets[k + 1] if k + 1 < len(cards.buckets) else no_integer]
  tables = (
    (jnp.zeros((0, 0, 0, 0), jnp.int16), no_integer, no_integer, jnp.zeros((0, 0, 0), jnp.float32))
    if untabulated is None
    else (untabulated.buckets, untabulated.slot, untabulated.groups, untabulated.centres.astype(jnp.float32))
  )
  betting = part.betting
  actor = jnp.where(betting.player >= 0, betting.player, jnp.where(betting.player == CHANCE, *OTHER_LINES))
  folds = (1 - 2 * traverser) * jnp.asarray(betting.fold_payoff)[
    :, traverser
  ]  # a win of player 0 is positive
  given = (
    *(actor, jnp.asarray(part.round), part.first, part.moves),
    *(part.cell, part.stride, folds, betting.showdown_payoff),
    *(regrets, compensation, jnp.stack([jnp.asarray(x, dtype) for x in numbers]), traverser[None], keys),
    *(dealt, visited.astype(jnp.int32), game.boards, cards.hand_masks, cards.hand_swaps),
    *(no_integer if cards.strength is None else cards.strength, cards.board_masks[before], *tables, *later),
  )
  place = [next(k for k, x in enumerate(given) if x is table) for table in (regrets, compensation)]
  changed, values = {place[0]: 0, place[1]: 1}, jax.ShapeDtypeStruct((len(keys), *visited.shape), dtype)
  deck = Deck(0, 1) if untabulated is None else untabulated.deck
  work = len(keys) * visited.shape[1] // EACH
  threads = max(min(cores() // jax.local_device_count(), work), 1)
  sizes = {"threads": threads, "ranks": deck.ranks, "suits": deck.suits, "depths": len(part.depths)}
  regrets, compensation, values = call(
    "Clusters", dtype, given, (regrets, compensation, values), "sequential", sizes, changed
  )
  return regrets, compensation, values
