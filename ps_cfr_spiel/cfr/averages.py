"""Sums of the strategies that a run has played, exact over millions of iterations, for its averages.

Iteration t counts t ** gamma. Added one by one to a float32 sum, late iterations would be lost, and
exploitability would rise again. So a sum is a pair of arrays, worth `average - compensation`. In a *block* of
iterations only `compensation` changes: new strategies are taken off it, from a value near zero. Where a block
begins, `carry_over` brings it into `average`, and leaves the rounding error in it. So an iteration adds to
one array, once.

Weights are (t / p) ** gamma, p the greatest power of two up to t, and the pair is scaled by 2 ** -gamma when
p doubles. So sums do not grow with t ** gamma, and are scaled a few times in a run, not in every iteration,
each of which would round. At every power of two a block begins, and from `LENGTH` on at its multiples; Monte
Carlo CFR, whose iterations touch few entries, has longer blocks (`mccfr.sampling_loop`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from ps_cfr_spiel.backend.array_shapes import Bool, Float, Int
from ps_cfr_spiel.cfr.rule import Rule, namespace, time_of
from ps_cfr_spiel.tree import Array, PlayerTree

LENGTH = 16  # iterations of a block, and a power of two; those before are shorter
FEW = 64  # iterations whose powers are added up one by one in `counted_before`


class Sum(NamedTuple):
  """A pair as at the top of this file."""

  #: average, compensation: of one shape. Without `average` the sum is `-compensation` alone, in half of the
  #: memory and for runs of up to some 1e5 iterations: an iteration's share of it falls as gamma / t.
  average: Float[Array, "..."] | None
  compensation: Float[Array, "..."]

  @property
  def dtype(self) -> np.dtype:
    """The dtype of the numbers in the sum."""
    return self.compensation.dtype

  @property
  def total(self) -> Float[Array, "..."]:
    """The sum itself, up to a factor common to the whole array."""
    return -self.compensation if self.average is None else self.average - self.compensation


class Step(NamedTuple):
  """An iteration: its number t, the last one that the average leaves out, the rule, and c of `played`.

  On the host t may be many iterations at once, an array of NumPy.
  """

  t: Int[Array, "..."]
  averaging_delay: Int[Array, ""] | int
  rule: Rule
  tremble: float = 0.0

  def following(self) -> "Step":
    """The iteration after this one."""
    return self._replace(t=self.t + 1)

  def least(self, dtype: DTypeLike) -> Float[Array, "..."]:
    """The ratio c / t of `played`."""
    return self.tremble / time_of(self.t, dtype)

  def played(
    self, tree: PlayerTree, strategy: Sequence[Float[Array, "_A _rows H"]]
  ) -> Sequence[Float[Array, "_A _rows H"]]:
    """The strategies that are played in this iteration; see `played`."""
    return played(tree, strategy, self.tremble, self.t)

  def share(self, dtype: DTypeLike) -> Float[Array, "..."]:
    """The weight of the iteration in the average; 0 up to `averaging_delay` (Schmid 2021, Section 21.1)."""
    return self.counts(dtype) * weight(self.t, self.rule.gamma, dtype)

  def before(self, dtype: DTypeLike) -> Float[Array, "..."]:
    """The weight of all iterations before, without the rule's schedule."""
    return counted_before(self.t, self.averaging_delay, self.rule.gamma, dtype)

  def counts(self, dtype: DTypeLike) -> Float[Array, "..."]:
    """The same without t ** gamma: 0 up to `averaging_delay`, else 1 or by the rule's schedule."""
    return (self.t > self.averaging_delay).astype(dtype) * self.rule.schedule(self.t, dtype)


def played(
  tree: PlayerTree, strategy: Sequence[Float[Array, "_A _rows H"]], tremble: float, t: Int[Array, ""]
) -> Sequence[Float[Array, "_A _rows H"]]:
  """The strategies that are played in iteration t, for each bucket, if the rule's are these.

  p = (1 - A e) sigma + e, with e = min(c / t, 1 / (2 A)), c being `tremble`, and e = 0 in decisions that a
  gadget adds; without any, tables other than those of buckets will do. The rule does not know of it: its
  regrets are against sigma. NumPy's arrays stay NumPy's.
  """
  if not tremble:
    return strategy
  tables = []
  for bucket, sigma in enumerate(strategy):
    minimum = np.minimum if isinstance(sigma, np.ndarray) else jnp.minimum
    least = minimum(tremble / t.astype(sigma.dtype), np.asarray(0.5 / len(sigma), sigma.dtype))
    if tree.added:
      blocks = tree.buckets[bucket]
      game = [np.full(tree.block_shapes[k][1], k >= tree.added, sigma.dtype) for k in blocks]
      least = least * np.concatenate(game)[None, :, None]
    tables.append((1 - len(sigma) * least) * sigma + least)
  return tables


def weight(t: Int[Array, "..."], gamma: float, dtype: DTypeLike) -> Float[Array, "..."]:
  """The weight of iteration t from 1 to 2 ** gamma."""
  return (time_of(t, dtype) / time_of(_power(t), dtype)) ** gamma


def counted_before(
  t: Int[Array, "..."], delay: Int[Array, ""] | int, gamma: float, dtype: DTypeLike
) -> Float[Array, "..."]:
  """The weights of the iterations before t and after `delay`, added up, as `weight` scales that of t."""
  xp, delay = namespace(t), np.asarray(delay) if namespace(t) is np else jnp.asarray(delay)
  time, skipped = time_of(t, dtype), time_of(delay, dtype)
  counted = _powers(t, gamma, dtype) - 1 - (skipped / time) ** gamma * _powers(delay, gamma, dtype)
  counted = xp.where(t - 1 > delay, xp.maximum(counted, 0), 0)  # rounding errors are no weight of none
  return weight(t, gamma, dtype) * counted


def _powers(t: Int[Array, "..."], gamma: float, dtype: DTypeLike) -> Float[Array, "..."]:
  """The sum of (s / t) ** gamma over s from 1 to t; after the first by Euler and Maclaurin."""
  xp, s = namespace(t), np.arange(1, FEW + 1, dtype=float)
  table = np.array([0, *(np.sum((s[:n] / n) ** gamma) for n in range(1, FEW + 1))])

  def smooth(x):
    return x / (gamma + 1) + 0.5 + gamma / (12 * x) - gamma * (gamma - 1) * (gamma - 2) / (720 * x**3)

  late = xp.maximum(time_of(t, dtype), FEW)
  late = smooth(late) + float(table[-1] - smooth(FEW)) * (FEW / late) ** gamma
  return xp.where(t < FEW, xp.asarray(table, late.dtype)[xp.minimum(t, FEW)], late)


def last_of_block(t: Int[Array, "..."]) -> Int[jax.Array, "..."]:
  """The last iteration of the block that iteration t is in."""
  return jnp.where(t < LENGTH, before_doubling(t), t - t % LENGTH + LENGTH - 1)


def before_doubling(t: Int[Array, "..."]) -> Int[Array, "..."]:
  """The last iteration before t's power of two doubles."""
  return _power(t) - 1 + _power(t)


def carry_over(sums: Sum, t: Int[Array, "..."], gamma: float) -> Sum:
  """The pair to which iteration t is added: carried over if a block begins there."""
  return carry_over_where(begins(t), sums, scale(t, gamma))


def begins(t: Int[Array, "..."]) -> Bool[Array, "..."]:
  """Whether a block begins with iteration t, int32[]."""
  return doubles(t) | (t % LENGTH == 0)


def doubles(t: Int[Array, "..."]) -> Bool[Array, "..."]:
  """Whether iteration t is a power of two."""
  return _power(t) == t


def scale(t: Int[Array, "..."], gamma: float) -> Float[Array, "..."]:
  """The factor of all that was summed before iteration t: 2 ** -gamma at powers of two, else 1."""
  return namespace(t).where(doubles(t), 2.0**-gamma, 1.0)


def carry_over_where(begins: Bool[Array, "..."], sums: Sum, scale: Float[Array, "..."] | float) -> Sum:
  """The pair, scaled and with `compensation` brought into `average`, if `begins`; else unchanged."""
  (average, compensation), total = sums, sums.total
  if average is None:
    return Sum(None, jnp.where(begins, compensation * scale, compensation))
  # The rounding error, whichever of the two is larger (Knuth's TwoSum).
  other = average - total
  lost = (average - (total + other)) - (compensation - other)
  return Sum(jnp.where(begins, total * scale, average), jnp.where(begins, -lost * scale, compensation))


def _power(t: Int[Array, "..."]) -> Int[Array, "..."]:
  """The greatest power of two that is not above t, which is at least 1."""
  if namespace(t) is np:
    return np.left_shift(1, np.frexp(t)[1] - 1, dtype=t.dtype)
  return jnp.left_shift(jnp.int32(1), 31 - jax.lax.clz(t))
