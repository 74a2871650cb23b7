"""The two passes of `traverse` for a loop's tables: one walk over all rows of a player, down or up.

In a loop tables come in buckets, [A, rows, H] for each number of actions (`PlayerTree.join`). In C++
(`walk.cc`) a pass is one call, whatever the number of levels and of actions. Without the library it is
`traverse`'s, a few kernels for each block, and those of a deep game take seconds to compile; so it is if rows
stand for others (`Link.orbit`).
"""

import dataclasses
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.native import handler
from ps_cfr_spiel.tree.library import why_unavailable
from ps_cfr_spiel.tree.public_tree import Array, Parts, PlayerTree
from ps_cfr_spiel.tree.sequences import sequence_numbers, sequence_starts
from ps_cfr_spiel.tree.traverse import max_actions, sequence_reach, sequence_values, sum_actions

Tables = Sequence[Array]  # [A, rows, H] for each bucket


@dataclasses.dataclass(frozen=True)
class Walk:
  """A player's decisions as the native library walks them; made where a loop begins, with `of`.

  Sequences are numbered as in `sequences`, with buckets for blocks, so that a bucket's table is a slice.

  Attributes:
    tree: the player's decisions.
    above: int32[R], for each row the sequence above it; rows are in the order of levels and blocks.
    leaf: int32[L], for each leaf the sequence above it.
    native: whether the library is used.
  """

  tree: PlayerTree
  above: Array
  leaf: Array
  native: bool

  @classmethod
  def of(cls, tree: PlayerTree) -> "Walk":
    """The walk over a player's decisions, for jitted functions."""
    number, above = jnp.asarray(_numbers(tree)), [jnp.zeros(0, jnp.int32), *tree.above()]
    links = [tree.leaf, *(level.link for level in tree.levels)]
    native = not why_unavailable() and all(link.orbit is None for link in links)
    return cls(tree, number[jnp.concatenate(above)], number[tree.leaf.index], native)

  def down(self, strategy: Tables) -> tuple[Array, list[Array]]:
    """Reach of every sequence and of every leaf.

    Args:
      strategy: [A, rows, H] for each bucket.

    Returns:
      Reach including the action itself, of the buckets' tables in a column (`column_of`); the leaves' parts
      [L_k, H].
    """
    if not self.native:
      reach = sequence_reach(self.tree, self.tree.split(strategy))
      shapes = self.tree.block_shapes
      played = [r.reshape(shape) for r, shape in zip(reach[1:], shapes, strict=True)]
      return column_of(self.tree.join(played), self.tree.types), self.tree.leaf.pull(reach)
    dtype = strategy[0].dtype if strategy else jnp.zeros(()).dtype
    parts = [jax.ShapeDtypeStruct((n, self.tree.types), dtype) for n in self.tree.leaf.children]
    reach, *leaves = self._call("Down", dtype, strategy, (), parts)
    return reach[self.tree.roots :], leaves

  def up(self, strategy: Tables | None, leaf_values: Parts) -> tuple[list[Array], Array]:
    """Counterfactual values of every action.

    Args:
      strategy: [A, rows, H] for each bucket; None for a best response.
      leaf_values: the leaf evaluator's parts.

    Returns:
      [A, rows, H] for each bucket, and the values of the roots, [roots, H].
    """
    if not self.native:
      if strategy is None:
        values, roots = sequence_values(self.tree, leaf_values, lambda _, q: max_actions(q))
      else:
        blocks = self.tree.split(strategy)
        values, roots = sequence_values(self.tree, leaf_values, lambda k, q: sum_actions(blocks[k] * q))
      return self.tree.join(values), roots
    (values,) = self._call("Up", leaf_values[0].dtype, strategy or (), leaf_values, [])
    roots = self.tree.roots
    return tables_of(values[roots:], self.tree.bucket_shapes), values[:roots]

  def _call(self, name: str, dtype, tables: Tables, leaf_values: Parts, parts: list) -> list[Array]:
    """The library's `Down` or `Up`: [S, H] of all sequences, and the arrays `parts`."""
    count = sequence_starts(self.tree.bucket_shapes, self.tree.roots)[-1]
    returned = [jax.ShapeDtypeStruct((int(count), self.tree.types), dtype), *parts]
    call = jax.ffi.ffi_call(handler(name, dtype), returned, vmap_method="expand_dims")
    arrays = _blocks(self.tree), self.above, self.leaf, *tables, *leaf_values
    return list(call(*arrays, roots=np.int64(self.tree.roots), tables=np.int64(len(tables))))


def column_of(tables: Tables, types: int) -> Array:
  """Tables [A, rows, H] below one another, [sum of A * rows, H]; [0, types] if there are none.

  On the host NumPy's stay NumPy's.
  """
  if not tables:
    return np.zeros((0, types), jnp.result_type(float))  # at the precision in force
  concatenate = np.concatenate if isinstance(tables[0], np.ndarray) else jnp.concatenate
  return concatenate([table.reshape(-1, table.shape[2]) for table in tables])


def tables_of(column: Array, shapes: Sequence[tuple[int, ...]]) -> list[Array]:
  """The tables [A, rows, H] from a column, whatever its H is; the inverse of `column_of`."""
  ends, width = sequence_starts(shapes, roots=0).tolist(), column.shape[1]
  places = zip(ends[:-1], ends[1:], shapes, strict=True)
  return [column[i:j].reshape(actions, rows, width) for i, j, (actions, rows, *_) in places]


def _blocks(tree: PlayerTree) -> np.ndarray:
  """int32[blocks, 6]: the library's description of each block, see `Block` in `walk.cc`."""
  tables = tree.bucket_shapes
  starts = sequence_starts(tables, tree.roots).tolist()
  blocks = [
    (actions, rows, bucket, row, tables[bucket][1], starts[bucket] + row)
    for (actions, rows, _), (bucket, row) in zip(tree.block_shapes, tree.places, strict=True)
  ]
  return np.array(blocks, np.int32).reshape(-1, 6)


def _numbers(tree: PlayerTree) -> np.ndarray:
  """int32[S]: the number, among those of buckets, of each of the player's sequences."""
  tables, numbers = tree.bucket_shapes, [np.arange(tree.roots)]
  for (actions, rows, _), (bucket, row) in zip(tree.block_shapes, tree.places, strict=True):
    action = np.arange(actions)[:, None]
    numbers.append(sequence_numbers(tables, bucket, row + np.arange(rows), action, tree.roots).ravel())
  return np.concatenate(numbers).astype(np.int32)
