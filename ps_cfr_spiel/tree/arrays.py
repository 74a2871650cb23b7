"""Arrays of rows, sums of rows, and rows that stand for others, which renamings of the types make of them.

With suits that are alike, on the board and in both ranges, the rivers 2d and 2h are one river with other
names for the hands. All public states that renamings make of one another are an *orbit*. One row is kept for
it; the numbers of another member are those of the kept row, in other columns.
"""

import dataclasses
import functools
import operator
from collections.abc import Sequence
from typing import TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.backend.array_shapes import Int, Shaped
from ps_cfr_spiel.backend.device import platform
from ps_cfr_spiel.backend.native import call, why_unavailable
from ps_cfr_spiel.options import CPU

Array: TypeAlias = jax.Array | np.ndarray  # on the device, and on the host
Parts = Sequence[Shaped[Array, "_rows _H"]]  # one for each block; rows count through all of them

LONG = 64  # minimum types per row for which calling the native library pays
GROUP = 8  # rows that an accelerator adds up at once


def sum_rows(rows: Shaped[Array, "m H"], index: Int[Array, " m"], count: int) -> Shaped[Array, "{count} H"]:
  """Rows added up; `index` has the row of the sum for each.

  XLA's CPU backend turns the scatter of `segment_sums` into a loop of tiny kernels, one for each row, unless
  rows are short.
  """
  if rows.shape[1] < LONG or why_unavailable():
    return segment_sums(rows, index, count)
  total = jax.ShapeDtypeStruct((count, rows.shape[1]), rows.dtype)
  return call("Rows", rows.dtype, (rows, index), [total], "expand_dims")[0]


def segment_sums(rows: Shaped[Array, "m _H"], index: Int[Array, " m"], count: int) -> jax.Array:
  """`jax.ops.segment_sum`; on accelerators without its scatter, which would add in another order in each run.

  There rows come side by side by their sum, and in each step every row takes on the one twice as far off.
  """
  if platform() == CPU or not len(index):
    return jax.ops.segment_sum(rows, index, count)
  index, rows = jnp.asarray(index), jnp.asarray(rows)  # NumPy's do not take the traced order
  order = jnp.argsort(index, stable=True)
  index, rows, far = index[order], rows[order], 1
  while far < len(index):
    alike = jnp.pad(index[far:] == index[:-far], (0, far))
    rows, far = rows + jnp.where(alike[:, None], jnp.pad(rows[far:], ((0, far), (0, 0))), 0), 2 * far
  numbers = jnp.arange(count, dtype=index.dtype)
  first = jnp.minimum(jnp.searchsorted(index, numbers), len(index) - 1)
  return jnp.where((index[first] == numbers)[:, None], rows[first], 0)


def row_groups(
  index: Int[np.ndarray, " m"], count: int, any_index: bool = False
) -> tuple[Int[np.ndarray, "_n _k"], ...]:
  """Tables by which `add_groups`, one after the other, makes the `count` sums of rows of an index.

  Up to `GROUP` rows are added at once, then such sums of one place, until one is left of each. An entry is
  the number of a row, or -1. Of no rows there is no table. With `any_index` the tables are as large as any
  index of this length may need, so that compiled code serves them all.
  """
  tables, rows, most, last = [], len(index), len(index), not len(index)
  while not last:
    order = np.argsort(index, kind="stable")
    index, place = index[order], np.arange(len(index))
    within = place - np.searchsorted(index, index)  # of a row among those of its sum
    if not any_index:
      most = int(within.max()) + 1
    last = most <= GROUP
    if last:
      group, sums, rows = index, index, count
    else:
      starts = within % GROUP == 0
      group, sums = np.cumsum(starts) - 1, index[starts]
      # A sum of k rows has at most (k + GROUP - 1) / GROUP groups.
      rows = (rows + (GROUP - 1) * min(rows, count)) // GROUP if any_index else len(sums)
    table = np.full((rows, min(most, GROUP)), -1, np.int32)
    table[group, within % GROUP] = order
    tables.append(table)
    index, most = sums, -(-most // GROUP)
  return tuple(tables)


def add_groups(rows: Shaped[Array, "m H"], table: Int[Array, "n k"]) -> Shaped[jax.Array, "n H"]:
  """The sums of rows by a table of `row_groups`, each from its first entry to its last, in one kernel."""

  def picked(numbers: Int[Array, " n"]) -> Shaped[jax.Array, "n H"]:
    return jnp.where((numbers >= 0)[:, None], jnp.take(rows, numbers, axis=0, mode="clip"), 0)

  return functools.reduce(operator.add, map(picked, jnp.asarray(table).T))


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Orbit:
  """The child rows of a link, M of them, that the rows kept stand for; those that are kept are among them."""

  source: Int[Array, " M"]  #: ascending, the kept row that each is made from
  parent: Int[Array, " M"]  #: the parent row of each, counted through all parts
  swap: Int[Array, " M"]  #: the renaming that makes it
  columns: Int[Array, "swaps H"]  #: for each renaming the column of the kept row from which each column comes

  def members(self, rows: Shaped[Array, "_rows H"]) -> Shaped[Array, "_rows H"]:
    """The rows of all M members from those kept."""
    columns = jnp.asarray(self.columns)[self.swap]
    return jnp.take_along_axis(rows[self.source], columns, axis=1)
