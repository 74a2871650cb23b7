"""Sums of what a run has played, exact over millions of iterations: average strategies are made of them.

Iteration t counts t ** gamma. Added one by one to a float32 sum, late iterations would be lost, and
exploitability would rise again. So a sum is a pair of arrays, worth `average - excess`. In a *block* of
iterations only `excess` changes: it takes what is new, beginning from almost nothing. Where a block begins,
`fold` brings that into `average`, and leaves in `excess` what rounding took. So an iteration adds to one
array, once.

Weights are (t / p) ** gamma, p the greatest power of two up to t, and the pair is scaled by 2 ** -gamma when
p doubles. So sums do not grow with t ** gamma, and are scaled a few times in a run, not in every iteration,
each of which would round. At every power of two a block begins, and from `LENGTH` on at its multiples.
"""

import jax
import jax.numpy as jnp

from ps_cfr_spiel.tree import Array

LENGTH = 16  # iterations of a block, and a power of two; those before are shorter


def weight(t: Array, gamma: float, dtype) -> Array:
  """How much iteration t, int32[], counts, from 1 to 2 ** gamma."""
  return (t.astype(dtype) / _power(t).astype(dtype)) ** gamma


def last_of_block(t: Array) -> Array:
  """The last iteration, int32[], of the block that iteration t is in."""
  return jnp.where(t < LENGTH, 2 * _power(t), t - t % LENGTH + LENGTH) - 1


def fold(average: Array, excess: Array, t: Array, gamma: float) -> tuple[Array, Array]:
  """The pair before iteration t, int32[], is added: as it is, or where a block begins with that, folded."""
  first = _power(t) == t
  begins = first | (t % LENGTH == 0)
  scale = jnp.where(first, jnp.asarray(2, average.dtype) ** -gamma, 1)
  total = average - excess
  # What rounding took, whichever of the two is larger (Knuth's TwoSum).
  other = average - total
  lost = (average - (total + other)) - (excess - other)
  return jnp.where(begins, total * scale, average), jnp.where(begins, -lost * scale, excess)


def _power(t: Array) -> Array:
  """The greatest power of two that is not above t, int32[], which is at least 1."""
  return jnp.left_shift(jnp.int32(1), 31 - jax.lax.clz(t))
