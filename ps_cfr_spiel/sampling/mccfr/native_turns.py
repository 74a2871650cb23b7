"""Turns of samplers in C++ on a CPU (`sampled_turns.cc`), which touch only the visited cells.

The samplers in JAX are the reference, and the only way for a user's own. From the same seed both sample the
same trajectories, with the same results up to rounding (`tests/mccfr/test_native_turns.py`).
"""

import jax
import jax.numpy as jnp

from ps_cfr_spiel.backend.array_shapes import Float, Shaped
from ps_cfr_spiel.backend.native import call
from ps_cfr_spiel.cfr import Rule
from ps_cfr_spiel.sampling.mccfr.sampling_loop import Turns
from ps_cfr_spiel.sampling.mccfr.sampling_tree import SamplingTree
from ps_cfr_spiel.tree import Array


def sample_turns(
  tree: SamplingTree,
  tables: tuple[Float[Array, "A S"], Float[Array, "A S"], Float[Array, " entries"]],
  turns: Turns,
  rule: Rule,
  batch: int,
  options: dict[str, float],
) -> list[Float[jax.Array, "..."]]:
  """The tables after some turns of a block; pure JAX.

  `tables` are the regrets and the compensation of the average, and the learned baseline. Random
  numbers are `jax.random.uniform`'s, [turns, draws, B]; `options` are numbers of the sampler and its
  baseline, by name, as `sampled_turns.cc` takes them.
  """
  given = *_arrays(tree), jax.random.key_data(turns.key), jnp.stack([turns.before, turns.first, turns.last])
  changed = {len(given) + k: k for k in range(len(tables))}
  sizes = {
    "players": tree.players,
    "depth": tree.depth,
    "first_decision": tree.first_decision,
    "batch": batch,
  }
  numbers = {**sizes, **options, "floor": rule.floor, "gamma": float(rule.gamma)}
  return call("Turns", tables[0].dtype, (*given, *tables), tables, "sequential", numbers, changed)


def _arrays(tree: SamplingTree) -> tuple[Shaped[Array, "..."], ...]:
  """The tree as the library takes it: empty arrays where it has none."""
  deal, sets = tree.deal, tree.sets
  cards = None if deal is None else deal.cards
  no_integer, no_number = jnp.zeros((0, 0), jnp.int32), jnp.zeros(0, tree.utility.dtype)
  return (
    *(tree.actor, tree.first, tree.count, tree.cell, no_integer if sets is None else sets),
    *(tree.chance, tree.cumulative, tree.utility),
    *((no_number,) * 3 if deal is None else (deal.first, deal.second, deal.showdown_payoff)),
    *((no_integer,) * 3 if deal is None else (deal.runout, *deal.strength)),
    *((no_integer,) * 3 if cards is None else (cards.came, *cards.held)),
  )
