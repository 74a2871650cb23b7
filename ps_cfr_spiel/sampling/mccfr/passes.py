"""Passes over all nodes of a sampling tree: exact values, and the exact variance of sampled ones.

Arrays have an entry for each node, [N] or [N, ...]; a move's entry is at the node that it leads to.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from ps_cfr_spiel.backend.array_shapes import Float, Int
from ps_cfr_spiel.sampling.mccfr.sampling_tree import CHANCE_NODE, SamplingTree, Types
from ps_cfr_spiel.tree import Array

WIDE = 16  # most children that are added up one after the other; more by a scatter


def sum_children(
  tree: SamplingTree, d: int, below: Float[Array, " _n *rest"]
) -> Float[jax.Array, " _n *rest"]:
  """Sum over the children of each node: [nodes of depth d + 1, ...] to [nodes of depth d, ...]."""
  depth, start = tree.depths[d], tree.depths[d + 1].start
  if depth.width > WIDE:
    parent = tree.parent[start : start + below.shape[0]] - depth.start
    return jax.ops.segment_sum(below, parent, depth.stop - depth.start, indices_are_sorted=True)
  first = tree.first[depth.start : depth.stop] - start
  count = tree.count[depth.start : depth.stop]
  total = jnp.zeros((len(first), *below.shape[1:]), below.dtype)
  for a in range(depth.width):
    exists = jnp.expand_dims(a < count, tuple(range(1, below.ndim)))
    total += jnp.where(exists, below[jnp.clip(first + a, 0, below.shape[0] - 1)], 0)
  return total


def sweep_up(
  tree: SamplingTree,
  step: Callable[[int, slice, Array], Array],
  at_end: Float[Array, " N *rest"],
) -> Float[jax.Array, " N *rest"]:
  """A recursion from the last depth to the first, to each of whose results `at_end` is added.

  `step` makes results at depth d of d, the slice of the nodes of depth d + 1, and results there.
  """
  last = tree.depths[-1]
  layers = [at_end[last.start : last.stop]]
  for d in reversed(range(tree.depth)):
    depth, below = tree.depths[d], tree.depths[d + 1]
    added = step(d, slice(below.start, below.stop), layers[-1])
    layers.append(at_end[depth.start : depth.stop] + added)
  return jnp.concatenate(layers[::-1])


def sweep_down(tree: SamplingTree, probability: Float[Array, " N *rest"]) -> Float[jax.Array, " N *rest"]:
  """Product of the moves' probabilities on the way to each node."""
  layers = [probability[:1]]
  for above, depth in zip(tree.depths, tree.depths[1:], strict=False):
    parent = tree.parent[depth.start : depth.stop] - above.start
    layers.append(layers[-1][parent] * probability[depth.start : depth.stop])
  return jnp.concatenate(layers)


def parents(tree: SamplingTree) -> tuple[Int[jax.Array, " N"], Int[jax.Array, " N"]]:
  """Each node's parent, the root's 0, and the parent's actor; at the root chance."""
  parent = jnp.maximum(tree.parent, 0)
  return parent, jnp.where(tree.parent >= 0, tree.actor[parent], CHANCE_NODE)


def move_policy(tree: SamplingTree, strategy: Float[Array, "A S"], types: Types) -> Float[jax.Array, " N"]:
  """Probability of the move to each node under a profile, given the types int32[]."""
  parent, actor = parents(tree)
  cell = tree.cell_at(parent, types)
  rank = jnp.arange(len(parent)) - tree.first[parent]
  chosen = strategy[jnp.clip(rank, 0, strategy.shape[0] - 1), cell]
  chance = tree.chance_of(jnp.arange(len(parent)), types)
  return jnp.where(actor < CHANCE_NODE, chosen, chance)


def history_values(tree: SamplingTree, policy: Float[Array, " N"], types: Types) -> Float[jax.Array, " N"]:
  """The expected utility of every history to player 0; `policy` is of `move_policy`."""
  utility = tree.end_utility(jnp.arange(len(tree.actor)), types)
  return sweep_up(tree, lambda d, s, below: sum_children(tree, d, policy[s] * below), utility)
