"""Windows of flat tables: W cells next to each other, of which the first are the moves of one key.

A table has W - 1 cells more than the game, so that the last window fits.
"""

import jax
import jax.numpy as jnp

from ps_cfr_spiel.mccfr import sample_rows

GROUP = 16  # moves of a group: a move is found in two steps


def read(table: jax.Array, first: jax.Array, width: int) -> jax.Array:
  """The windows of `width` cells from int32[B] cells on: [B, W]."""
  return jax.vmap(lambda cell: jax.lax.dynamic_slice(table, (cell,), (width,)))(first)


def add(table: jax.Array, first: jax.Array, values: jax.Array) -> jax.Array:
  """A table with [B, W] values added to the windows from int32[B] cells on."""
  windows = jax.lax.ScatterDimensionNumbers((1,), (), (0,))
  mode = jax.lax.GatherScatterMode.PROMISE_IN_BOUNDS
  return jax.lax.scatter_add(table, first[:, None], values, windows, mode=mode)


def legal(count: jax.Array, width: int) -> jax.Array:
  """bool[B, W], the cells of each window that belong to its key, of int32[B] moves."""
  return jnp.arange(width)[None] < count[:, None]


def sample(policy: jax.Array, uniforms: jax.Array) -> jax.Array:
  """Move int32[B] from policies [B, W] by uniform numbers [2, B]: first a group of moves, then one in it."""
  batch, width = policy.shape
  if width <= GROUP:
    return sample_rows(policy.T, uniforms[0])
  groups = jnp.pad(policy, ((0, 0), (0, -width % GROUP))).reshape(batch, -1, GROUP)
  group = sample_rows(groups.sum(2).T, uniforms[0])
  inside = jnp.take_along_axis(groups, group[:, None, None], 1)[:, 0]
  return GROUP * group + sample_rows(inside.T, uniforms[1])
