"""What samplers hand to the tables."""

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
