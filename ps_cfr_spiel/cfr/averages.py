"""Sums of the strategies that a run has played, exact over millions of iterations, for its averages.

Iteration t counts t ** gamma. Added one by one to a float32 sum, late iterations would be lost, and
exploitability would rise again. So a sum is a pair of arrays, worth `average - excess`. In a *block* of
iterations only `excess` changes: new strategies are taken off it, from a value near zero. Where a block
begins, `fold` brings `excess` into `average`, and leaves the rounding error in it. So an iteration adds to
one array, once.

Weights are (t / p) ** gamma, p the greatest power of two up to t, and the pair is scaled by 2 ** -gamma when
p doubles. So sums do not grow with t ** gamma, and are scaled a few times in a run, not in every iteration,
each of which would round. At every power of two a block begins, and from `LENGTH` on at its multiples; Monte
Carlo CFR, whose iterations touch few entries, has longer blocks (`mccfr.loop`).

In a run of 16 bits `excess` has 8 bits, as a multiple of 1/128 of the last place of `average` (`narrow`), and
every iteration folds. So an iteration loses a 128th of what it would lose in `average` alone, and over many
nothing: dither decides whether the multiple is rounded up or down.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.tree import Array

LENGTH = 16  # iterations of a block, and a power of two; those before are shorter


class Sum(NamedTuple):
  """A pair as at the top of this file."""

  #: average, excess: of one shape; `excess` is int8 where it is `narrow`. Without `average` the sum is
  #: `-excess` alone, in half of the memory and for runs of up to some 1e5 iterations: an iteration's share of
  #: it falls as gamma / t.
  average: Array
  excess: Array

  @property
  def dtype(self) -> Any:
    """The dtype of the numbers in the sum."""
    return (self.excess if self.average is None else self.average).dtype

  @property
  def total(self) -> Array:
    """The sum itself, up to a factor common to the whole array."""
    if is_narrow(self):
      return self.average  # less half of its last place at most
    return -self.excess if self.average is None else self.average - self.excess


def weight(t: Array, gamma: float, dtype) -> Array:
  """The weight of iteration t, int32[], from 1 to 2 ** gamma."""
  return (t.astype(dtype) / _power(t).astype(dtype)) ** gamma


def last_of_block(t: Array) -> Array:
  """The last iteration, int32[], of the block that iteration t is in."""
  return jnp.where(t < LENGTH, before_doubling(t), t - t % LENGTH + LENGTH - 1)


def before_doubling(t: Array) -> Array:
  """The last iteration, int32[], before t's power of two doubles."""
  return _power(t) - 1 + _power(t)


def fold(sums: Sum, t: Array, gamma: float) -> Sum:
  """The pair to which iteration t, int32[], is added: folded if a block begins there, else unchanged."""
  return fold_where(begins(t), sums, scale(t, gamma))


def begins(t: Array) -> Array:
  """Whether a block begins with iteration t, int32[]."""
  return doubles(t) | (t % LENGTH == 0)


def doubles(t: Array) -> Array:
  """Whether iteration t, int32[], is a power of two."""
  return _power(t) == t


def scale(t: Array, gamma: float) -> Array:
  """The factor of all that was summed before iteration t, int32[]: 2 ** -gamma at powers of two, else 1."""
  return jnp.where(doubles(t), 2.0**-gamma, 1.0)


def fold_where(begins: Array, sums: Sum, scale: Array | float) -> Sum:
  """The pair, scaled and with `excess` brought into `average`, if bool[] `begins`; else unchanged."""
  (average, excess), total = sums, sums.total
  if average is None:
    return Sum(None, jnp.where(begins, excess * scale, excess))
  if is_narrow(sums):
    return Sum(jnp.where(begins, average * scale, average), excess)
  # The rounding error, whichever of the two is larger (Knuth's TwoSum).
  other = average - total
  lost = (average - (total + other)) - (excess - other)
  return Sum(jnp.where(begins, total * scale, average), jnp.where(begins, -lost * scale, excess))


def is_narrow(sums: Sum) -> bool:
  """Whether `excess` has 8 bits."""
  return sums.excess.dtype == jnp.int8


def narrow(sums: Sum) -> Sum:
  """The pair, folded, with `excess` in 8 bits; one that is narrow, or has no `average`, unchanged."""
  if sums.average is None or is_narrow(sums):
    return sums
  average, excess = fold_where(jnp.bool_(True), sums, 1.0)  # leaves half of a last place at most
  return Sum(average, jnp.round(excess / _unit(average) + _dither(average)).astype(jnp.int8))


def widen(sums: Sum) -> Sum:
  """The inverse of `narrow`; a pair that is not narrow is returned unchanged."""
  return Sum(sums.average, sums.excess * _unit(sums.average)) if is_narrow(sums) else sums


def _unit(average: Array) -> Array:
  """A 128th of the last place of float32 numbers: 2 ** -30 times the power of two in them."""
  power = jax.lax.bitcast_convert_type(average, jnp.int32) & jnp.int32(0x7F800000)
  tiny = jnp.finfo(average.dtype).tiny  # where the last place is below all normal numbers
  return jnp.maximum(jax.lax.bitcast_convert_type(power, average.dtype) * np.float32(2.0**-30), tiny)


def _dither(average: Array) -> Array:
  """Numbers evenly between -1/2 and 1/2, mixed from float32 bits. None moves an integer to another.

  Rounded to the nearest, equal iterations would lose the same each time. The steps and constants are those of
  MurmurHash3's last mix (Appleby 2011).
  """
  bits = jax.lax.bitcast_convert_type(average, jnp.uint32)
  bits = (bits ^ (bits >> 16)) * jnp.uint32(0x85EBCA6B)
  bits = (bits ^ (bits >> 13)) * jnp.uint32(0xC2B2AE35)
  return (bits >> 17).astype(average.dtype) * np.float32(2.0**-15) + np.float32(2.0**-16 - 0.5)


def _power(t: Array) -> Array:
  """The greatest power of two that is not above t, int32[], which is at least 1."""
  return jnp.left_shift(jnp.int32(1), 31 - jax.lax.clz(t))
