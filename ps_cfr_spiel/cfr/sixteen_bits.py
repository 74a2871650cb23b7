"""Tables in 16 bits: numbers of a known range between turns, float32 in every computation.

A strategy is kept as fractions, integers that add up to 65,535 exactly, so that a row's values stay a mean. A
rule whose state fits has two methods: `narrow(state)`, its arrays as they are kept, and `widen(state)`, the
same in float32. `NRMPlus` has them, because its regrets are normalised. Rounding is to the nearest: random
rounding was worse in every game tried. The average stays float32, with 8 bits beside it for what iterations
lose there (`averages.narrow`).
"""

import itertools
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.cfr import averages
from ps_cfr_spiel.cfr.rule import Rule
from ps_cfr_spiel.tree import Array

FRACTIONS = 65535  # the sum of a row's fractions, uint16
SIGNED = 32767  # numbers from -1 to 1 are multiples of 1 / SIGNED, int16
BITS = (16, 32)


def check_bits(bits: int, rule: Rule, dtype: str) -> int:
  """The number of bits; ValueError if a run of this rule and dtype cannot have it."""
  if isinstance(bits, bool) or bits not in BITS:
    raise ValueError(f"bits={bits!r}: the tables are kept in 16 or 32 bits; choose one of the two.")
  if bits == 16 and dtype != "float32":
    raise ValueError(f"bits=16 computes in float32, and dtype is {dtype!r}; leave out one of the two.")
  if bits == 16 and not hasattr(rule, "narrow"):
    raise ValueError(
      f"bits=16 keeps regrets from -1 to 1, and those of {type(rule).__name__} have any size; choose the "
      "rule 'nrm+', or give your own rule the methods narrow and widen (`cfr.sixteen_bits`)."
    )
  return bits


def signed(x: Array) -> Array:
  """Numbers as multiples of 1 / SIGNED, int16; those beyond -1 and 1 become these."""
  return jnp.round(jnp.clip(x, -1, 1) * SIGNED).astype(jnp.int16)


def unsigned(x: Array) -> Array:
  """The inverse of `signed`, float32."""
  return x.astype("float32") * np.float32(1 / SIGNED)


def fractions(strategy: Array) -> Array:
  """Probabilities [A, rows, H] as uint16: differences of rounded running sums, each off by less than one."""
  running = [strategy[:1]]
  for a in range(1, len(strategy) - 1):
    running.append(running[-1] + strategy[a : a + 1])
  ends = [jnp.round(x * FRACTIONS) for x in running[: len(strategy) - 1]]
  edges = [jnp.zeros_like(strategy[:1]), *ends, jnp.full_like(strategy[:1], FRACTIONS)]
  parts = [jnp.maximum(high - low, 0) for low, high in itertools.pairwise(edges)]
  return jnp.concatenate(parts).astype(jnp.uint16)


def probabilities(fractions: Array) -> Array:
  """The inverse of `fractions`, float32; NumPy's arrays stay NumPy's."""
  return fractions.astype("float32") * np.float32(1 / FRACTIONS)


def is_narrow(strategy: Sequence[Array]) -> bool:
  """Whether these tables of a strategy are fractions."""
  return any(table.dtype == jnp.uint16 for table in strategy)


def narrow(state: Any, rule: Any) -> Any:
  """A `PlayerState` as it is kept."""
  return state._replace(
    strategy=tuple(map(fractions, state.strategy)),
    average=averages.narrow(state.average),
    rule=tuple(map(rule.narrow, state.rule)),
  )


def kept_as(before: Any, state: Any, rule: Any) -> Any:
  """A `PlayerState` as it is kept if `before` is in 16 bits, else as it is."""
  return narrow(state, rule) if is_narrow(before.strategy) else state


def widen(state: Any, rule: Any) -> Any:
  """The inverse of `narrow`; a state in 32 bits or more is returned as it is."""
  if not is_narrow(state.strategy):
    return state
  return state._replace(
    strategy=tuple(map(probabilities, state.strategy)),
    average=averages.widen(state.average),
    rule=tuple(map(rule.widen, state.rule)),
  )
