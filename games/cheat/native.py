"""Traversals of Cheat for two in C++ (`traversals.cc`), on a CPU."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.native import Library, handler

from . import rules as cheat_rules
from .keys import Keys
from .rules import Rules

HANDLER = "CheatTraversals"
LIBRARY = Library(Path(__file__).with_name("_traversals.abi3.so"), (HANDLER,))
why_unavailable = LIBRARY.why_unavailable


def traverse(
  rules: Rules,
  keys: Keys,
  tables: tuple[jax.Array, ...],
  average: jax.Array,
  fixed: jax.Array | None,
  hands: jax.Array,
  first: jax.Array,
  traverser: jax.Array,
  seed: jax.Array,
  weight: jax.Array,
  decay: jax.Array,
  options: dict[str, Any],
) -> tuple[tuple[jax.Array, ...], jax.Array, jax.Array]:
  """Traverse B games one after the other; pure JAX.

  Args:
    rules: the game's.
    keys: likewise.
    tables: five [S]: regrets, excess of the average, values, visits and skipped moves, the last two [0] for
      plays.
    average: [S], the average before the excess is taken away.
    fixed: [S], the opponent's strategy, for plays alone; None: the strategy from the regrets.
    hands: int32[2, R, B], dealt.
    first: int32[B], the first discarders.
    traverser: int32[].
    seed: uint32[2].
    weight: [], of this update.
    decay: [], weight of the newest value in a running mean.
    options: the handler's attributes except the rules.

  Returns:
    The tables, [B] values to the traverser, and int32[5]: decisions met and moves skipped, in millions and
    the rest each, and whether a traversal was given up.
  """
  rows = cheat_rules.discard_counts(rules.ranks, rules.max_discard)
  cards = (rows @ (rules.suits + 1) ** np.arange(rules.ranks)).astype(np.int32)
  dtype = tables[0].dtype
  like = [jax.ShapeDtypeStruct(table.shape, dtype) for table in tables]
  results = [jax.ShapeDtypeStruct(first.shape, dtype), jax.ShapeDtypeStruct((5,), jnp.int32)]
  call = jax.ffi.ffi_call(
    handler(HANDLER, dtype), [*like, *results], input_output_aliases={i: i for i in range(len(tables))}
  )
  found = call(
    *tables,
    average,
    jnp.zeros(0, dtype) if fixed is None else fixed,
    *(keys.discards, keys.count, keys.at, keys.turned, keys.answers, keys.pairs, cards),
    rows.sum(1, dtype=np.int32),
    *(hands, first, traverser[None], seed),
    *(jnp.asarray(number, dtype)[None] for number in (weight, decay)),
    suits=rules.suits,
    turns=rules.max_turns,
    **options,
  )
  return tuple(found[: len(tables)]), found[-2], found[-1]
