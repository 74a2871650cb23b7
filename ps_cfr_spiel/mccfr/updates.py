"""What samplers add to the tables."""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp


class Updates(NamedTuple):
  """The increments of a batch of trajectories.

  Attributes:
    cells: int32[n], cells of the tables; a cell may come several times, and padding entries are zero.
    regrets: [A, n], sampled counterfactual values of the traverser's actions, less their mean under the
      current policy: added to the cell's regrets.
    averages: [A, n], added to the cell's sum of strategies.
    entries: int32[m], entries of the learned baseline.
    targets: [m], the value that was sampled there.
    visits: [m], 1 if the entry was visited, 0 if not.
  """

  cells: jax.Array
  regrets: jax.Array
  averages: jax.Array
  entries: jax.Array
  targets: jax.Array
  visits: jax.Array


def nothing(actions: int, dtype) -> Updates:
  """Updates of n = 0 and m = 0."""
  no_entry, no_number = jnp.zeros(0, jnp.int32), jnp.zeros(0, dtype)
  no_row = jnp.zeros((actions, 0), dtype)
  return Updates(no_entry, no_row, no_row, no_entry, no_number, no_number)


def join(parts: Sequence[Updates], actions: int, dtype) -> Updates:
  """Several updates as one, or none: `nothing`."""
  every = [nothing(actions, dtype), *parts]
  return Updates(*(jnp.concatenate(columns, -1) for columns in zip(*every, strict=True)))
