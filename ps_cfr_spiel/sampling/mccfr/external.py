"""External sampling: all of the traverser's actions, one sample of the opponent's and of chance's.

Lanctot et al. 2009, Section 3.2. The library's traversal recurses (`sampled_turns.cc`), and meets only its
own histories. Here, in its reference, every traversal is a pass down the whole tree and one up.

Samples come with their own probability, so no weights are needed: the traverser's regrets are
q(h, a) - v(h), and the opponent's strategy is added to its average at each meeting, which
happens with probability P_c(s) pi_j(s) in sum over the histories of s. A depth has one random number for
all of a traversal's histories, so all of the traverser's actions face the same sampled opponent actions.

`ClusterExternalSampling` is Algorithm 4 of Brown, Ganzfried and Sandholm (2015) in any compiled game: where
outcomes of chance fall into clusters that share no set of the abstraction, a traversal follows one of each
cluster n, whose value and increments count F_n times, the probability that chance chooses the cluster.
(`hierarchical` is the same for games of cards that are too large to enumerate.)
"""

import dataclasses
from collections.abc import Callable

import jax
import jax.numpy as jnp

from ps_cfr_spiel.backend.array_shapes import Float, Int
from ps_cfr_spiel.sampling.mccfr.columns import regret_matching
from ps_cfr_spiel.sampling.mccfr.outcome import chooser, deal_types
from ps_cfr_spiel.sampling.mccfr.outcome_clusters import with_clusters
from ps_cfr_spiel.sampling.mccfr.passes import move_policy, parents, sum_children, sweep_down, sweep_up
from ps_cfr_spiel.sampling.mccfr.sampling_tree import CHANCE_NODE, SamplingTree, Types
from ps_cfr_spiel.sampling.mccfr.tables import TreeSampler, nothing
from ps_cfr_spiel.tree import Array


@dataclasses.dataclass(frozen=True)
class ExternalSampling(TreeSampler):
  """External sampling, without a baseline."""

  general_sum = True

  def native(self):
    return {"external": True, "exploration": 0.0}

  def __call__(self, tree, regrets, learned, traverser, uniforms):
    policy = regret_matching(regrets, tree.legal)

    def add(sums, uniforms):
      return jax.tree.map(jnp.add, sums, traverse(tree, policy, traverser, uniforms, self.shares)), None

    zeros = jnp.zeros_like(regrets)
    (gains, averages), _ = jax.lax.scan(add, (zeros, zeros), uniforms.T)
    updates = nothing(tree.actions, regrets.dtype)
    return updates._replace(cells=jnp.arange(tree.cells), regrets=gains, averages=averages)

  def shares(
    self, tree: SamplingTree, policy: Float[Array, "A S"], types: Types, uniforms: Float[Array, " draws"]
  ) -> Float[jax.Array, " N"]:
    """The weight of the move to each node if its actor is sampled: 1 of the sampled one, 0 of others."""
    parent, _ = parents(tree)
    children, node = _sampled(tree, policy, types, uniforms), jnp.arange(len(tree.actor))
    return ((children[parent] == node) | (tree.parent < 0)).astype(policy.dtype)


@dataclasses.dataclass(frozen=True)
class ClusterExternalSampling(ExternalSampling):
  """External sampling that follows an outcome of chance in each public cluster; computed by JAX alone."""

  def finished(self, tree):
    return with_clusters(tree)

  def native(self):
    return None

  def shares(self, tree, policy, types, uniforms):
    clusters = tree.clusters
    assert clusters is not None
    shares = super().shares(tree, policy, types, uniforms)
    shares = jnp.where(parents(tree)[1] == CHANCE_NODE, 0, shares)
    exists, members = clusters.members >= 0, jnp.maximum(clusters.members, 0)
    sums = jnp.cumsum(jnp.where(exists, tree.chance_of(members, types), 0).astype(shares.dtype), 1)
    # As in `sample_rows`, an outcome of probability 0 is never chosen, nor one beyond the last.
    chosen = (sums[:, :-1] <= uniforms[clusters.depth, None] * sums[:, -1:]).sum(1)
    node = jnp.take_along_axis(members, chosen[:, None], 1)[:, 0]
    return shares.at[node].add(sums[:, -1]).at[0].set(1)


def traverse(
  tree: SamplingTree,
  policy: Float[Array, "A S"],
  traverser: Int[Array, ""],
  uniforms: Float[Array, " draws"],
  shares: Callable[..., Float[jax.Array, " N"]],
) -> tuple[Float[jax.Array, "A S"], Float[jax.Array, "A S"]]:
  """One traversal under the profile `policy`, by uniform numbers: regrets and averages.

  `shares` is `ExternalSampling.shares`.
  """
  types = deal_types(tree, uniforms[tree.depth :, None])
  node, (parent, actor) = jnp.arange(len(tree.actor)), parents(tree)
  probability = move_policy(tree, policy, (types[0][0], types[1][0]))
  traversers, sampled = actor == traverser, shares(tree, policy, types, uniforms)
  visited = sweep_down(tree, jnp.where(traversers, 1, sampled))[parent]
  share = jnp.where(traversers, probability, sampled)
  ends = tree.end_utility(node, types, traverser) * tree.sign(traverser)
  values = sweep_up(tree, lambda d, s, below: sum_children(tree, d, share[s] * below), ends)
  move = node - tree.first[parent], tree.cell_at(parent, types)
  gains = jnp.where(traversers, visited * (values - values[parent]), 0)
  averages = jnp.where(actor == (traverser + 1) % tree.players, visited * probability, 0)
  zeros = jnp.zeros_like(policy)
  return zeros.at[move].add(gains), zeros.at[move].add(averages)


def _sampled(
  tree: SamplingTree, policy: Float[Array, "A S"], types: Types, uniforms: Float[Array, " draws"]
) -> Int[jax.Array, " N"]:
  """The node that follows each node if its actor is sampled."""
  children = []
  for d, depth in enumerate(tree.depths):
    # See `columns.roots` for the barrier.
    node = jax.lax.optimization_barrier(jnp.arange(depth.start, depth.stop, dtype=jnp.int32))
    if d == tree.depth:
      children.append(node)
      break
    each = jnp.broadcast_to(uniforms[:, None], (len(uniforms), len(node)))
    both = jnp.broadcast_to(types[0], node.shape), jnp.broadcast_to(types[1], node.shape)
    children.append(chooser(tree, both, each)(d, node, policy[:, tree.cell_at(node, both)]))
  return jnp.concatenate(children)
