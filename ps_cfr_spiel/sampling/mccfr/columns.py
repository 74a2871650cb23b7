"""Arithmetic on the columns [A, B] of B trajectories, and samples from tables of probabilities."""

import jax
import jax.numpy as jnp

from ps_cfr_spiel.backend.array_shapes import Float, Int, Shaped
from ps_cfr_spiel.tree import Array

Empty = Float[Array, "0"]  # what a step has no numbers of, at a depth without decisions


def sample_cumulative(
  cumulative: Float[Array, " n"],
  first: Int[Array, " B"],
  count: Int[Array, " B"] | int,
  most: int,
  uniform: Float[Array, " B"],
) -> Int[Array, " B"]:
  """Samples, places in a table of distributions that follow each other, by binary search.

  Exact up to the resolution of the uniform numbers, 2^-23 in float32. The cumulative probabilities of
  each distribution end at 1; that of a sample begins at `first` and has length `count`, at most
  `most`, which is known at trace time.
  """
  low, high = first, first + count - 1
  for _ in range((most - 1).bit_length()):
    middle = (low + high) // 2
    right = uniform >= cumulative[middle]
    low, high = jnp.where(right, jnp.minimum(middle + 1, high), low), jnp.where(right, high, middle)
  return low


def regret_matching(
  regrets: Float[Array, "X Y"], count: Int[Array, " _B"], axis: int = 0
) -> Float[jax.Array, "X Y"]:
  """Regret matching (Hart and Mas-Colell 2000) over the first `count` actions: the policies.

  sigma(a) = max(R_a, 0) / sum_b max(R_b, 0); uniform where no regret is positive. NaN propagates. Regrets are
  [A, B], or [B, A] if the actions' `axis` is 1, and zero beyond `count`.
  """
  positive = jnp.maximum(regrets, 0)
  total = positive.sum(1) if axis else row_sum(positive)
  nothing = total < jnp.finfo(total.dtype).tiny  # false of NaN
  share = positive * jnp.expand_dims(1 / jnp.where(nothing, 1, total), axis)
  return jnp.where(jnp.expand_dims(nothing, axis), uniform(count, regrets, axis), share)


def uniform(count: Int[Array, " _B"], like: Float[Array, "X Y"], axis: int = 0) -> Float[jax.Array, "X Y"]:
  """Uniform play over the first `count` actions, in the layout of `like`, [A, B] or [B, A]."""
  legal = jax.lax.broadcasted_iota(jnp.int32, like.shape, axis) < jnp.expand_dims(count, axis)
  return jnp.where(legal, jnp.expand_dims(1 / jnp.maximum(count, 1).astype(like.dtype), axis), 0)


def roots(batch: int) -> Int[jax.Array, " {batch}"]:
  """The root for each of B trajectories: zeros, which the barrier keeps from being constants.

  XLA's CPU backend before jaxlib 0.9 miscompiles an elementwise operation on columns of a constant table by
  fold_payoff numbers, as in a user's `jax.jit` around a sampler where the root decides.
  """
  return jax.lax.optimization_barrier(jnp.zeros(batch, jnp.int32))


def row_sum(table: Shaped[Array, " A *rest"]) -> Shaped[Array, "*rest"]:
  """A table summed over A, as additions that XLA fuses into their surroundings."""
  return sum(table[1:], start=table[0])


def at(table: Shaped[Array, "A B"], row: Int[Array, " B"]) -> Shaped[Array, " B"]:
  """The entries of a table at some rows."""
  return row_sum(jnp.where(jax.lax.broadcasted_iota(jnp.int32, table.shape, 0) == row[None], table, 0))


def sample_rows(probability: Float[Array, "K B"], uniform: Float[Array, " B"]) -> Int[Array, " B"]:
  """Samples from the columns of a table, by uniform numbers."""
  # Added up one after the other: then u < 1 times the last sum is less than it, and sums are equal where a
  # probability is 0, so that no move of probability 0 is chosen.
  sums = [probability[0]]
  for k in range(1, len(probability)):
    sums.append(sums[-1] + probability[k])
  height = uniform * sums[-1]
  return sum(((height >= s).astype(jnp.int32) for s in sums[:-1]), start=jnp.zeros(len(uniform), jnp.int32))
