"""Windows of flat tables: W cells next to each other, of which the first are the moves of one key.

A table has W - 1 cells more than the game, so that the last window fits.
"""

import jax
import jax.numpy as jnp

from ps_cfr_spiel.mccfr import sample_rows

GROUP = 16  # moves among which one is found at a time


def read(table: jax.Array, first: jax.Array, width: int) -> jax.Array:
  """The windows of `width` cells from int32[B] cells on: [B, W]."""
  return jax.vmap(lambda cell: jax.lax.dynamic_slice(table, (cell,), (width,)))(first)


def add(table: jax.Array, first: jax.Array, values: jax.Array) -> jax.Array:
  """A table with [B, W] values added to the windows from int32[B] cells on."""
  windows = jax.lax.ScatterDimensionNumbers((1,), (), (0,))
  mode = jax.lax.GatherScatterMode.PROMISE_IN_BOUNDS
  return jax.lax.scatter_add(table, first[:, None], values, windows, mode=mode)


def legal(count: jax.Array, width: int) -> jax.Array:
  """bool[B, W], which cells of its window belong to a key of int32[B] moves."""
  return jnp.arange(width)[None] < count[:, None]


def matched(regrets: jax.Array, count: jax.Array) -> jax.Array:
  """Regret matching over each row's first `count` moves: windows [B, W] of regrets to policies [B, W]."""
  own = legal(count, regrets.shape[1])
  positive = jnp.where(own, jnp.maximum(regrets, 0), 0)
  total = positive.sum(1, keepdims=True)
  nothing = total < jnp.finfo(total.dtype).tiny  # false of NaN, which stays NaN
  uniform = own / jnp.maximum(count, 1).astype(regrets.dtype)[:, None]
  return jnp.where(nothing, uniform, positive / jnp.where(nothing, 1, total))


def sample(policy: jax.Array, uniforms: jax.Array) -> jax.Array:
  """Moves int32[B] from policies [B, W] by uniform numbers [2, B]: first a group of moves, then one in it."""
  batch, width = policy.shape
  if width <= GROUP:
    return sample_rows(policy.T, uniforms[0])
  groups = jnp.pad(policy, ((0, 0), (0, -width % GROUP))).reshape(batch, -1, GROUP)
  group = sample_rows(groups.sum(2).T, uniforms[0])
  inside = jnp.take_along_axis(groups, group[:, None, None], 1)[:, 0]
  return GROUP * group + sample_rows(inside.T, uniforms[1])
