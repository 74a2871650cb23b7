"""Reach down, values up: the two passes over a player's decisions that every algorithm here is made of.

Each function is for one player and works on tuples with an array for each block of `PlayerTree`:
strategies and sequence values [A, rows, H], sequence reaches [A * rows, H]. `expand` and `collapse` lead from
the tables of an abstraction to those of all infostates, and back.
"""

import functools
import operator
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.backend.array_shapes import Float, Shaped
from ps_cfr_spiel.tree.arrays import Array, segment_sums
from ps_cfr_spiel.tree.public_tree import PlayerTree
from ps_cfr_spiel.tree.sets import Sets

UNROLLED = 200  # most actions that are added one by one


def sum_actions(x: Shaped[Array, "A ..."]) -> Shaped[Array, "1 ..."]:
  """Sum [A, rows, H] over actions, keeping the axis.

  Written as A - 1 additions, which XLA's CPU backend fuses into the arithmetic around them; a reduction is a
  kernel of its own, but the better choice where that many additions would take long to compile.
  """
  if x.shape[0] > UNROLLED:
    return x.sum(0, keepdims=True)
  return functools.reduce(operator.add, _actions(x))


def max_actions(x: Shaped[Array, "A ..."]) -> Shaped[Array, "1 ..."]:
  """Maximum of [A, rows, H] over actions, keeping the axis; see `sum_actions`."""
  if x.shape[0] > UNROLLED:
    return x.max(0, keepdims=True)
  return functools.reduce(jnp.maximum, _actions(x))


def _actions(x: Shaped[Array, "A ..."]) -> list[Shaped[Array, "1 ..."]]:
  return [x[a : a + 1] for a in range(len(x))]


def normalise(weights: Shaped[Array, "A ..."]) -> Float[Array, "A ..."]:
  """Non-negative weights scaled to sum to one over A; uniform where all are zero.

  NaN propagates, so that a diverged run is detected. NumPy's arrays stay NumPy's.
  """
  where, maximum = jnp.where, jnp.maximum
  if isinstance(weights, np.ndarray):
    where, maximum = np.where, np.maximum
  else:  # else XLA's CPU backend computes the weights anew for each action that it adds up
    weights = jax.lax.optimization_barrier(weights)
  total = sum_actions(weights)
  least = np.finfo(total.dtype).tiny
  # Asked once whether there is nothing, which a GPU's compiler would write to memory for a second reader.
  return where(total < least, 1 / weights.shape[0], weights * (1 / maximum(total, least)))


def sequence_reach(
  tree: PlayerTree, strategy: Sequence[Float[Array, "_A _rows H"]]
) -> list[Float[jax.Array, "_S H"]]:
  """Reach of every sequence: product of the player's probabilities on the way, [A, rows, H] for each block.

  Returns parts [roots, H] (the empty sequences, all 1) and [A * rows, H] for each block, as `tree.leaf` pulls
  from.
  """
  dtype = strategy[0].dtype if len(strategy) else None  # as arrays are made here
  above = [jnp.ones((tree.roots, tree.types), dtype)]
  reach = list(above)
  blocks = iter(strategy)
  for level in tree.levels:
    rows = level.link.pull(above)
    above = [(r[None] * next(blocks)).reshape(-1, tree.types) for r in rows]
    reach += above
  return reach


def others_reach(
  reach: Sequence[Sequence[Float[Array, "_L _H"]]], player: int
) -> Sequence[Float[Array, "_L _H"]]:
  """The product of the other players' reach of the leaves, in parts; of two players the opponent's."""
  return product_of([parts for i, parts in enumerate(reach) if i != player])


def product_of(reach: Sequence[Sequence[Float[Array, "_L _H"]]]) -> Sequence[Float[Array, "_L _H"]]:
  """The product of several players' reach, part by part."""
  return [functools.reduce(operator.mul, arrays) for arrays in zip(*reach, strict=True)]


def sequence_values(
  tree: PlayerTree, leaf_values: Sequence[Float[Array, "_L H"]], backup: Callable[[int, Array], Array]
) -> tuple[list[Float[jax.Array, "_A _rows H"]], Float[jax.Array, "roots H"]]:
  """Counterfactual values of every action, [A, rows, H] for each block, and of the roots, [roots, H].

  `backup` makes row values [1, rows, H] of a block's number and its action values [A, rows, H]: their mean
  under a strategy, or the maximum for a best response.
  """
  root, *values = tree.leaf.push(leaf_values)
  block = len(values)
  for depth in reversed(range(len(tree.levels))):
    level = tree.levels[depth]
    first = block - len(level.actions)
    row_values = []
    for k, (actions, rows) in enumerate(level.shapes, start=first):
      values[k] = values[k].reshape(actions, rows, tree.types)
      row_values.append(backup(k, values[k])[0])
    above = level.link.push(row_values)
    if depth == 0:
      root = root + above[0]
    else:
      start = first - len(above)
      for k, value in enumerate(above, start=start):
        values[k] = values[k] + value
    block = first
  return values, root


def expand(
  sets: Sets | None, tables: Sequence[Shaped[Array, "_A _K _H"]]
) -> list[Shaped[Array, "_A _rows _H"]]:
  """Copy tables of sets to the members, [A, K, 1] for each bucket to [A, rows, H].

  Returned unchanged if `sets` is None. On the host NumPy's stay NumPy's.
  """
  if sets is None:
    return list(tables)
  take = np.take if all(isinstance(x, np.ndarray) for x in tables) else jnp.take
  return [take(x[:, :, 0], cells, axis=1) for x, cells in zip(tables, sets.cells, strict=True)]


def collapse(
  sets: Sets | None, tables: Sequence[Shaped[Array, "_n _rows _H"]]
) -> list[Shaped[Array, "_n _K _H"]]:
  """Add members up in their sets, [n, rows, H] for each bucket to [n, K, 1]: the transpose of `expand`."""
  if sets is None:
    return list(tables)
  sums = []
  for x, cells, (_, columns, _) in zip(tables, sets.cells, sets.shapes, strict=True):
    members = x.reshape(len(x), -1).T  # [rows * H, n]
    sums.append(segment_sums(members, cells.reshape(-1), columns).T[:, :, None])
  return sums
