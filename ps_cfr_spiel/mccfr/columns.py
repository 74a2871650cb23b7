"""Arithmetic on the columns [A, B] of B trajectories, and samples from tables of probabilities."""

import jax
import jax.numpy as jnp

from ps_cfr_spiel.tree import Array


def sample_cumulative(
  cumulative: jax.Array, first: jax.Array, count, most: int, uniform: jax.Array
) -> jax.Array:
  """int32[B]: samples, places in a table of distributions that follow each other, by binary search.

  Exact up to the resolution of the uniform numbers [B], 2^-23 in float32. The cumulative probabilities of
  each distribution end at 1; that of a sample begins at int32[B] `first` and has length `count`, at most
  `most`, which is known at trace time.
  """
  low, high = first, first + count - 1
  for _ in range((most - 1).bit_length()):
    middle = (low + high) // 2
    right = uniform >= cumulative[middle]
    low, high = jnp.where(right, jnp.minimum(middle + 1, high), low), jnp.where(right, high, middle)
  return low


def regret_matching(regrets: Array, count: jax.Array, axis: int = 0) -> jax.Array:
  """Regret matching (Hart and Mas-Colell 2000) over the first `count`, int32[B], actions: the policies.

  sigma(a) = max(R_a, 0) / sum_b max(R_b, 0); uniform where no regret is positive. NaN propagates. Regrets are
  [A, B], or [B, A] if the actions' `axis` is 1, and zero beyond `count`.
  """
  positive = jnp.maximum(regrets, 0)
  total = positive.sum(1) if axis else row_sum(positive)
  nothing = total < jnp.finfo(total.dtype).tiny  # false of NaN
  share = positive * jnp.expand_dims(1 / jnp.where(nothing, 1, total), axis)
  return jnp.where(jnp.expand_dims(nothing, axis), uniform(count, regrets, axis), share)


def uniform(count: jax.Array, like: Array, axis: int = 0) -> jax.Array:
  """Uniform play over the first `count`, int32[B], actions, in the layout of `like`, [A, B] or [B, A]."""
  legal = jax.lax.broadcasted_iota(jnp.int32, like.shape, axis) < jnp.expand_dims(count, axis)
  return jnp.where(legal, jnp.expand_dims(1 / jnp.maximum(count, 1).astype(like.dtype), axis), 0)


def roots(batch: int) -> jax.Array:
  """The root for each of B trajectories: int32[B], zeros, which the barrier keeps from being constants.

  XLA's CPU backend before jaxlib 0.9 miscompiles an elementwise operation on columns of a constant table by
  fold_payoff numbers, as in a user's `jax.jit` around a sampler where the root decides.
  """
  return jax.lax.optimization_barrier(jnp.zeros(batch, jnp.int32))


def row_sum(table: jax.Array) -> jax.Array:
  """[A, B] summed over A, as additions that XLA fuses into their surroundings."""
  return sum(table[1:], start=table[0])


def at(table: jax.Array, row: jax.Array) -> jax.Array:
  """[A, B] at int32[B] rows: [B]."""
  return row_sum(jnp.where(jax.lax.broadcasted_iota(jnp.int32, table.shape, 0) == row[None], table, 0))


def sample_rows(probability: jax.Array, uniform: jax.Array) -> jax.Array:
  """Sample from the columns of [K, B] by uniform numbers [B]: int32[B]."""
  # Added up one after the other: then u < 1 times the last sum is less than it, and sums are equal where a
  # probability is 0, so that no move of probability 0 is chosen.
  sums = [probability[0]]
  for k in range(1, len(probability)):
    sums.append(sums[-1] + probability[k])
  height = uniform * sums[-1]
  return sum(((height >= s).astype(jnp.int32) for s in sums[:-1]), start=jnp.zeros(len(uniform), jnp.int32))
