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

  Arguments and results are those of `TraversedGame.traverse`, but for the games and the random numbers:
  `hands`, int32[2, R, B], are dealt, `first`, int32[B], are the first discarders, `seed` is uint32[2]. For
  plays the last two of `tables` are [0]. `options` are the handler's attributes except the rules.
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
