"""Aimed trajectories: outcome sampling biased towards one place of a game (Lisý et al. 2015, Section 4).

In online outcome sampling an iteration is *targeted* with probability delta: at every history before the
target, it leaves out the moves that cannot lead there and normalises the others. All other iterations are
sampled as without a target, so that every history keeps its chance and the estimates stay unbiased.

Here no coin is tossed for it. Histories form a tree, and there a mixture of two ways to sample is itself
a way to sample, move by move:
  xi(h, a) = share(h) aimed(h, a) + (1 - share(h)) plain(h, a),   share(ha) = share(h) aimed(h, a) / xi(h, a),
where share(h), delta at the root, is the probability that an iteration which came to h is targeted. The
trajectories have the published distribution and the published weights, 1 over the mixture's probability.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from ps_cfr_spiel.backend.array_shapes import Bool, Float, Int
from ps_cfr_spiel.sampling.mccfr.columns import sample_rows
from ps_cfr_spiel.sampling.mccfr.passes import sum_children, sweep_down, sweep_up
from ps_cfr_spiel.sampling.mccfr.sampling_tree import CHANCE_NODE, TERMINAL_NODE, Depth, SamplingTree
from ps_cfr_spiel.tree import Array


class Focus(NamedTuple):
  """The target of trajectories."""

  #: whether a node is a history of the target, or on the way to one. Nodes behind the target do not lead
  #: there.
  leads: Bool[Array, " N"]
  delta: Float[Array, ""]  #: probability that an iteration is targeted, in [0, 1)


class Moves(NamedTuple):
  """The next moves of trajectories at one depth; K is the most moves there, of players or chance."""

  #: probabilities of an iteration without a target; zeros where the trajectory has ended.
  plain: Float[Array, "K B"]
  aimed: Float[Array, "K B"]  #: those of a targeted one
  mixed: Float[Array, "K B"]  #: xi of the mixture


def aim(tree: SamplingTree, target: Bool[Array, " N"], delta: Float[Array, ""]) -> Focus:
  """The focus on a set of histories, without a deal: types would have to be aimed at too."""
  assert tree.deal is None
  member = target.astype(delta.dtype)
  through = sweep_up(tree, lambda d, _, below: sum_children(tree, d, below), member)
  outside = sweep_down(tree, 1 - member)  # 1 where neither a node nor any before it is in the target
  before = (tree.parent < 0) | (outside[jnp.maximum(tree.parent, 0)] > 0)
  return Focus((through > 0) & before, delta)


def bias(
  tree: SamplingTree,
  focus: Focus,
  depth: Depth,
  node: Int[Array, " B"],
  xi: Float[Array, "A B"],
  share: Float[Array, " B"],
) -> Moves:
  """Aims the moves at one depth.

  A targeted iteration goes on as any other where no move leads to the target (behind it or beside it), and
  where those that lead there are never played: such a trajectory would change nothing, as its weight is 0.
  `xi` is how the acting player samples without a target, empty where only chance acts; `share`
  is that at the top of this file.
  """
  first, count, actor = tree.first[node], tree.count[node], tree.actor[node]
  most = max(len(xi), depth.outcomes)
  number = jax.lax.broadcasted_iota(jnp.int32, (most, len(node)), 0)
  exists = number < count[None]
  child = jnp.where(exists, first[None] + number, 0)
  chance = jnp.where(exists & (actor == CHANCE_NODE)[None], tree.chance[child], 0)
  plain = chance + jnp.where((actor < CHANCE_NODE)[None], jnp.pad(xi, ((0, most - len(xi)), (0, 0))), 0)
  leading = jnp.where(exists & focus.leads[child], plain, 0)
  total = leading.sum(0)
  some = total > 0
  aimed = jnp.where(some[None], leading / jnp.where(some, total, 1)[None], plain)
  return Moves(plain, aimed, share[None] * aimed + (1 - share)[None] * plain)


def mixture_chooser(
  tree: SamplingTree, uniforms: Float[Array, "depth B"]
) -> Callable[[int, Int[Array, " B"], Float[Array, "A B"]], Int[jax.Array, " B"]]:
  """A chooser for `outcome.descend` with a focus, by uniform numbers; for chance's moves too."""

  def choose(d: int, node: Int[Array, " B"], xi: Float[Array, "_A B"]) -> Int[jax.Array, " B"]:
    child = tree.first[node] + sample_rows(xi, uniforms[d])
    return jnp.where(tree.actor[node] < TERMINAL_NODE, child, node)

  return choose
