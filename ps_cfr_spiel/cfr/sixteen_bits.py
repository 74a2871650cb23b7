"""Compressed tables: numbers of a known range between turns, float32 in every computation.

A rule whose tables fit has the methods `Rule.compress` and `Rule.decompress` in its own class's body. That
is `NRMPlus`: its regrets are normalised, and its strategy differs from them by a prediction alone, which is
kept in 8 bits in place of the strategy. Play is by the kept numbers. In 16 bits regrets have 16, rounded to
the nearest: random rounding was worse in every game tried. In 32 they stay float32.

In 16 bits sums of strategies have 16 too (`Rounded`): of each infostate their total, which only weighs
later additions, and the shares of it that make the average strategy. To the nearest, an addition below half a
step would be lost, and additions shrink as 1 / t. So each infostate's are rounded up or down by a threshold
of its own, which moves by the golden ratio from one iteration to the next: however long numbers add up, they
lose or gain a few steps, where random thresholds would make that the square root of their count.
"""

import math
from types import ModuleType
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int, Shaped, UInt8, UInt16, UInt32

from ps_cfr_spiel.cfr.rule import Rule, namespace
from ps_cfr_spiel.tree import Array

SIGNED = 32767  # numbers from -1 to 1 are multiples of 1 / SIGNED, int16
ALL = np.float32(65535)  # steps of a share of one
FAINTEST = 2.0**-90  # of the totals of sums; below, there is nothing
MOVE, APART = 0x9E3779B9, 0x85EBCA6B  # of thresholds in 2 ** -32: in an iteration, to the next infostate


class Rounded(NamedTuple):
  """Sums of the strategies of a bucket: shares in a total of each infostate."""

  #: of each action but the last the share of the sums up to it in the total, in steps; and last the total, by
  #: the upper 16 bits of a float32 without its sign.
  codes: UInt16[Array, "A rows H"]

  @classmethod
  def of(cls, sums: Float[Array, "A rows H"], t: Int[Array, ""] | int) -> "Rounded":
    """Sums, rounded for iteration t."""
    return cls(namespace(sums).zeros(sums.shape, np.uint16)).plus(sums, np.float32(1), t)

  @property
  def total(self) -> Float[Array, "1 rows H"]:
    """The sums of all actions, float32."""
    return _float(self.codes[-1:].astype("int32") << 15)

  @property
  def weights(self) -> Float[Array, "A rows H"]:
    """The sums in steps of the share of their total, float32; zero where there is no total."""
    # In 16 bits to the end: of a large game a float32 copy is most of the memory of a policy.
    xp, total = namespace(self.codes), self.codes[-1:]
    ends = xp.concatenate([self.codes[:-1], xp.full_like(total, ALL)])
    begins = xp.concatenate([xp.zeros_like(total), ends[:-1]])
    steps = xp.maximum(ends, begins) - begins  # shares that are equal may be a step apart
    return (steps * (total > 0)).astype("float32")

  def plus(
    self, added: Float[Array, "A rows H"], scale: Float[Array, ""] | np.float32, t: Int[Array, ""] | int
  ) -> "Rounded":
    """The sums times `scale`, and the additions of an iteration t.

    A share c moves by ((1 - c) s - c r) / total, where s is added to the actions up to its own and r to those
    after: by nothing at all where nothing is added, or to the only action that ever was.
    """
    xp = namespace(added)
    below = xp.cumsum(added, axis=0)
    above = xp.flip(xp.cumsum(xp.flip(added[1:], 0), axis=0), 0)
    total, threshold = self.total * scale + below[-1:], thresholds(t, (1, *added.shape[1:]), xp)
    share = self.codes[:-1].astype("float32")
    moved = ((ALL - share) * below[:-1] - share * above) / xp.maximum(total, FAINTEST)
    shares = xp.clip(share + xp.round(moved + (threshold - np.float32(0.5))), 0, ALL)
    code = (_bits(total) + (threshold * 2.0**15).astype("int32")) >> 15
    codes = shares, xp.where(total < FAINTEST, 0, code)
    return Rounded(xp.concatenate([x.astype(np.uint16) for x in codes]))


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
  """The exponent of the power of two above numbers of at least 0, as float32 has it; 0 for zero."""
  xp = namespace(x)
  return xp.where(x < xp.finfo(x.dtype).tiny, 0, (_bits(x) >> 23) + 1).astype(xp.uint8)


def power(exponent: UInt8[Array, "..."]) -> Float[Array, "..."]:
  """The power of two of an exponent as float32 has it; 0 for 0."""
  return _float(exponent.astype("int32") << 23)


def _bits(x: Float[Array, "..."]) -> Int[Array, "..."]:
  return x.view("int32")


def _float(bits: Int[Array, "..."]) -> Float[Array, "..."]:
  return bits.view("float32")
