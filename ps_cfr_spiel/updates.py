"""What samplers hand to the tables, and arithmetic on the columns [A, B] of B trajectories."""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp


class Updates(NamedTuple):
  """What a batch of trajectories has to say to the tables.

  Attributes:
    cells: int32[n], cells of the tables; a cell may come several times, or in vain with zeros.
    values: [A, n], sampled counterfactual action values of the traverser, in the traverser's utility.
    regrets: [A, n], the same less their mean under the current policy: to be added to the cell's regrets.
    averages: [A, n], to be added to its average strategy.
    entries: int32[m], entries of the learned baseline.
    targets: [m], the value that was sampled there.
    visits: [m], 1 if the entry was visited, 0 if not.
  """

  cells: jax.Array
  values: jax.Array
  regrets: jax.Array
  averages: jax.Array
  entries: jax.Array
  targets: jax.Array
  visits: jax.Array


def nothing(actions: int, dtype) -> Updates:
  """Updates of n = 0 and m = 0."""
  no_entry, no_number = jnp.zeros(0, jnp.int32), jnp.zeros(0, dtype)
  no_row = jnp.zeros((actions, 0), dtype)
  return Updates(no_entry, no_row, no_row, no_row, no_entry, no_number, no_number)


def join(parts: Sequence[Updates]) -> Updates:
  """All in one."""
  return Updates(*(jnp.concatenate(columns, -1) for columns in zip(*parts, strict=True)))


def matched(regrets: jax.Array, count: jax.Array) -> tuple[jax.Array, jax.Array]:
  """Regret matching and uniform play over each column's first `count` actions.

  Args:
    regrets: [A, B], zero beyond.
    count: int32[B].

  Returns:
    [A, B] and [A, B].
  """
  positive = jnp.maximum(regrets, 0)
  total = row_sum(positive)
  some = total > 0
  legal = jax.lax.broadcasted_iota(jnp.int32, regrets.shape, 0) < count[None]
  uniform = jnp.where(legal, 1 / jnp.maximum(count, 1).astype(regrets.dtype)[None], 0)
  scale = 1 / jnp.where(some, total, 1)
  return jnp.where(some[None], positive * scale[None], uniform), uniform


def row_sum(table: jax.Array) -> jax.Array:
  """[A, B] summed over A, as additions that XLA fuses into their surroundings."""
  return sum(table[1:], start=table[0])


def at(table: jax.Array, row: jax.Array) -> jax.Array:
  """[A, B] at int32[B] rows: [B]."""
  return row_sum(jnp.where(jax.lax.broadcasted_iota(jnp.int32, table.shape, 0) == row[None], table, 0))
