"""Compressed tables: numbers of a known range between turns, float32 in every computation.

A rule whose tables fit has the methods `Rule.compress` and `Rule.decompress` in its own class's body. That
is `NRMPlus`: its regrets are normalised, and its strategy differs from them by a prediction alone, which is
kept in 8 bits in place of the strategy. Play is by the kept numbers. In 16 bits regrets have 16, rounded to
the nearest: random rounding was worse in every game tried. In 32 they stay float32.

In 16 bits the average strategy is kept itself, as shares of 16 bits (`Shares`). In every infostate strategies
add up to the weight of all iterations, a number, times the player's own reach by the average; an iteration's
addition counts against that. To the nearest, an addition
below half a step would be lost, and additions shrink as 1 / t. So each infostate's are rounded up or down by
a threshold of its own, which moves by the golden ratio from one iteration to the next: however long numbers
add up, they lose or gain a few steps, where random thresholds would make that the square root of their count.
"""

import math
from types import ModuleType
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.backend.array_shapes import Float, Int, Shaped, UInt8, UInt16, UInt32
from ps_cfr_spiel.cfr.rule import Rule, namespace
from ps_cfr_spiel.tree import Array

SIGNED = 32767  # numbers from -1 to 1 are multiples of 1 / SIGNED, int16
ALL = np.float32(65520)  # steps of a share of one, which up to ten actions divide
FAINTEST = 2.0**-90  # of the totals of sums, which may be zero
LESS = np.float32(1 - 2.0**-21)  # of a total, so that shares get to nothing or all in spite of rounding
MOVE, APART = 0x9E3779B9, 0x85EBCA6B  # of thresholds in 2 ** -32: in an iteration, to the next infostate


class Shares(NamedTuple):
  """An average strategy of a bucket: of each action but the last the share of the actions up to it."""

  codes: UInt16[Array, "A-1 rows H"]  #: in steps

  @classmethod
  def even(cls, actions: int) -> "Shares":
    """Uniform play of one infostate, to the last bit for up to ten actions."""
    return cls(
      np.round(ALL * np.arange(1, actions, dtype=np.float32) / actions).astype(np.uint16)[:, None, None]
    )

  @property
  def weights(self) -> Float[Array, "A rows H"]:
    """The strategy in steps, float32."""
    # In 16 bits to the end: of a large game a float32 copy is most of the memory of a policy.
    xp, (_, *shape) = namespace(self.codes), self.codes.shape
    nothing, all_of_it = xp.zeros((1, *shape), np.uint16), xp.full((1, *shape), ALL, np.uint16)
    ends, begins = xp.concatenate([self.codes, all_of_it]), xp.concatenate([nothing, self.codes])
    return (xp.maximum(ends, begins) - begins).astype("float32")  # shares that are equal may be a step apart

  def plus(
    self, added: Float[Array, "A rows H"], before: Float[Array, "1 rows H"], t: Int[Array, ""] | int
  ) -> "Shares":
    """The shares after an iteration t adds to sums that were `before` in all.

    A share c moves by ((1 - c) s - c r) / total, where s is added to the actions up to its own and r to those
    after: by nothing at all where nothing is added, or to the only action that ever was.
    """
    xp = namespace(added)
    below = xp.cumsum(added, axis=0)
    above = xp.flip(xp.cumsum(xp.flip(added[1:], 0), axis=0), 0)
    total, threshold = before + below[-1:], thresholds(t, (1, *added.shape[1:]), xp)
    share = self.codes.astype("float32")
    moved = ((ALL - share) * below[:-1] - share * above) / xp.maximum(LESS * total, FAINTEST)
    shares = xp.clip(share + xp.round(moved + (threshold - np.float32(0.5))), 0, ALL)
    return Shares(shares.astype(np.uint16))


def first_threshold(t: Int[Array, "*n"] | int, xp: ModuleType = jnp) -> Float[Array, "*n"]:
  """The thresholds of a table's first infostate in iterations t, multiples of 2 ** -24 below 1."""
  return _below_one(xp.asarray(t).astype(xp.uint32) * np.uint32(MOVE))


def thresholds(t: Int[Array, ""] | int, shape: tuple[int, ...], xp: ModuleType = jnp) -> Float[Array, "..."]:
  """The thresholds of all infostates of a table in iteration t, from 0 to 1; `xp` is a `namespace`."""
  first = (first_threshold(t, xp) * 2.0**24).astype(xp.uint32) << 8
  return _below_one(first + xp.arange(math.prod(shape), dtype=xp.uint32) * np.uint32(APART)).reshape(shape)


def _below_one(x: UInt32[Array, "..."]) -> Float[Array, "..."]:
  return (x >> 8).astype("float32") * np.float32(2.0**-24)


def check_bits(bits: int, rule: Rule, dtype: str) -> None:
  """ValueError if a run of this rule and dtype cannot keep its tables in this number of bits."""
  if bits == 16 and dtype != "float32":
    raise ValueError(f"bits=16 computes in float32, and dtype is {dtype!r}; leave out one of the two.")
  if bits == 16 and not rule.has_compressed_tables:
    raise ValueError(
      f"bits=16 keeps regrets from -1 to 1, and those of {type(rule).__name__} may have any size; choose the "
      "rule 'nrm+', or give your rule's own class the methods compress and decompress."
    )
  kind = type(rule)
  if bits == 16 and not (kind.schedule is Rule.schedule and kind.trust is Rule.trust):
    raise ValueError(
      f"bits=16 weighs iteration t by t ** gamma alone, and {kind.__name__} has a schedule or a trust of its "
      "own; choose the rule 'nrm+', or leave bits out."
    )


def signed(x: Float[Array, "..."]) -> Int[Array, "..."]:
  """Numbers as multiples of 1 / SIGNED, int16; those beyond -1 and 1 become these."""
  xp = namespace(x)
  return xp.round(xp.clip(x, -1, 1) * SIGNED).astype(xp.int16)


def unsigned(x: Shaped[Array, "..."]) -> Float[Array, "..."]:
  """The inverse of `signed`, float32."""
  return x.astype("float32") * np.float32(1 / SIGNED)


def shares(whole: Float[Array, "..."], part: Float[Array, "..."]) -> Int[Array, "..."]:
  """Ratios of numbers to larger ones, which are at least 0, in 8 bits, int8; off by an eighth at most.

  The difference of both numbers' bits, in eighths of a power of two and at least one, and above it the sign.
  A ratio below about 2 ** -16 becomes zero.
  """
  xp = namespace(part)
  less = ((_bits(whole) - _bits(xp.abs(part))) >> 20) + 1
  return xp.where(less > 127, 0, less - xp.where(xp.signbit(part), 128, 0)).astype(xp.int8)


def ratios(code: Int[Array, "..."]) -> Float[Array, "..."]:
  """The inverse of `shares`, float32."""
  size = _float(0x3F800000 - ((code.astype(jnp.int32) & 127) << 20))
  return jnp.where(code == 0, 0, jnp.where(code < 0, -size, size))


def power_above(x: Float[Array, "..."]) -> UInt8[Array, "..."]:
  """Exponents, as of float32, of the powers of two above numbers of at least 0: 0 for zero, 255 for NaN."""
  xp = namespace(x)
  exponent = xp.minimum((_bits(xp.abs(x)) >> 23) + 1, 255)
  return xp.where(x < xp.finfo(x.dtype).tiny, 0, exponent).astype(xp.uint8)


def power(exponent: UInt8[Array, "..."]) -> Float[Array, "..."]:
  """The power of two of an exponent as float32 has it; 0 for 0."""
  return _float(exponent.astype("int32") << 23)


def _bits(x: Float[Array, "..."]) -> Int[Array, "..."]:
  return x.view("int32")


def _float(bits: Int[Array, "..."]) -> Float[Array, "..."]:
  return bits.view("float32")
