"""External sampling: all of the traverser's actions, one sample of the opponent's and of chance's.

Lanctot et al. 2009, Section 3.2. OpenSpiel and others recurse; here the *frontier*, the histories of one
depth that a traversal reaches, is an array, and B traversals stand side by side. A frontier has as
many slots as the widest that any sample can lead to, filled from the first: wasted slots are
the price of having no recursion.

Samples come with their own probability, so no weights are needed: the traverser's regrets are
q(h, a) - v(h), and the opponent's strategy is added to its average wherever a traversal meets it, which
happens with probability P_c(s) pi_j(s) in sum over the histories of s. A depth has one random number for
all of a traversal's histories, so that the traverser's moves make no difference to the opponent's luck.
"""

import dataclasses
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.mccfr.columns import regret_matching, roots, row_sum
from ps_cfr_spiel.mccfr.outcome import chooser, deal_types
from ps_cfr_spiel.mccfr.sampling_tree import TERMINAL_NODE, SamplingTree, Types
from ps_cfr_spiel.mccfr.tables import TreeSampler, Updates, join, nothing

MOST_SLOTS = 1_000_000  # of the frontiers of all depths


class Frontier(NamedTuple):
  """The histories that B traversals reach at one depth, in W slots each.

  Attributes:
    node: int32[W, B].
    full: bool[W, B], whether the slot is in use.
    start: int32[W, B], the slot of the first child in the next frontier.
    cell: int32[W, B], the acting infostate's; anything where no player acts.
    policy: [A, W, B], current policy.
  """

  node: jax.Array
  full: jax.Array
  start: jax.Array
  cell: jax.Array
  policy: jax.Array


@dataclasses.dataclass(frozen=True)
class ExternalSampling(TreeSampler):
  """External sampling, without a baseline."""

  general_sum = True

  def sampling_tree(self, game, tree):
    """The histories, with slots for traversals; ValueError for more than `MOST_SLOTS`."""
    return with_slots(super().sampling_tree(game, tree))

  def native(self):
    """Not of samplers derived from this."""
    return {"external": True, "exploration": 0.0} if type(self) is ExternalSampling else None

  def __call__(self, tree, regrets, learned, traverser, uniforms):
    types = deal_types(tree, uniforms[tree.depth :])
    frontiers = expand(tree, regrets, types, traverser, uniforms)
    return collapse(tree, frontiers, types, traverser)


def with_slots(tree: SamplingTree) -> SamplingTree:
  """A tree of host arrays with `slots` at each depth, enough for each traverser.

  Raises:
    ValueError: they are more than `MOST_SLOTS` together.
  """
  each = [frontier_widths(tree, player) for player in range(tree.players)]
  slots = [max(pair) for pair in zip(*each, strict=True)]
  if sum(slots) > MOST_SLOTS:
    raise ValueError(
      f"External sampling of this game may reach {sum(slots):,} histories in one traversal; at most "
      f"{MOST_SLOTS:,} are allowed. Outcome sampling has no such limit."
    )
  depths = tuple(depth._replace(slots=most) for depth, most in zip(tree.depths, slots, strict=True))
  return dataclasses.replace(tree, depths=depths)


def frontier_widths(tree: SamplingTree, player: int) -> list[int]:
  """Most histories of each depth in one traversal: sums over the player's actions, maxima over others'."""
  widths = []
  for d, depth in enumerate(tree.depths):
    reached = np.ones(depth.stop - depth.start, int)
    for above, below in zip(tree.depths[:d][::-1], tree.depths[1 : d + 1][::-1], strict=True):
      parent = tree.parent[below.start : below.stop] - above.start
      total, most = np.zeros((2, above.stop - above.start), int)
      np.add.at(total, parent, reached)
      np.maximum.at(most, parent, reached)
      reached = np.where(tree.actor[above.start : above.stop] == player, total, most)
    widths.append(int(reached[0]))
  return widths


def expand(
  tree: SamplingTree,
  regrets: jax.Array,
  types: Types,
  traverser: jax.Array,
  uniforms: jax.Array,
) -> list[Frontier]:
  """The frontiers of B traversals, from the root down; arguments as of `TreeSampler`."""
  batch = len(types[0])
  node, full = roots(batch)[None], jnp.ones((1, batch), bool)
  frontiers = []
  for d, depth in enumerate(tree.depths):
    actor, first, count = tree.actor[node], tree.first[node], tree.count[node]
    cell = tree.cell_at(node, (types[0][None], types[1][None]))
    policy = jnp.zeros((tree.actions, *node.shape), regrets.dtype)
    if depth.decides:
      policy = regret_matching(regrets[:, cell.ravel()], count.ravel()).reshape(policy.shape)
    children = jnp.where(actor == traverser, count, 1) * (full & (actor != TERMINAL_NODE))
    stops = jnp.cumsum(children, 0)
    frontiers.append(Frontier(node, full, stops - children, cell, policy))
    if d == tree.depth:
      break
    spread = jnp.broadcast_to(uniforms[:, None], (len(uniforms), *node.shape)).reshape(len(uniforms), -1)
    first_types, second_types = (jnp.broadcast_to(h[None], node.shape).ravel() for h in types)
    choose = chooser(tree, (first_types, second_types), spread)
    sampled = choose(d, node.ravel(), policy.reshape(tree.actions, -1))
    slot = jax.lax.broadcasted_iota(jnp.int32, (tree.depths[d + 1].slots, batch), 0)
    parent = jnp.minimum(_first_beyond(stops, slot), len(stops) - 1)
    number = slot - jnp.take_along_axis(frontiers[-1].start, parent, 0)
    every = jnp.take_along_axis(first, parent, 0) + number
    one = jnp.take_along_axis(sampled.reshape(node.shape), parent, 0)
    node = jnp.where(jnp.take_along_axis(actor, parent, 0) == traverser, every, one)
    full = slot < stops[-1:]
    node = jnp.where(full, node, 0)
  return frontiers


# The first of W rows whose stop is beyond each slot: int32[W, B] and int32[V, B] to int32[V, B].
_first_beyond = jax.vmap(functools.partial(jnp.searchsorted, side="right", method="scan_unrolled"), 1, 1)


def collapse(tree: SamplingTree, frontiers: list[Frontier], types: Types, traverser: jax.Array) -> Updates:
  """Values and regrets of B traversals, from the end up."""
  dtype = tree.utility.dtype
  values = jnp.zeros((1, len(types[0])), dtype)
  parts = []
  for frontier, depth in reversed(list(zip(frontiers, tree.depths, strict=True))):
    node, policy = frontier.node, frontier.policy
    actor, count = tree.actor[node], tree.count[node]
    ended = tree.end_utility(node, (types[0][None], types[1][None]), traverser) * tree.sign(traverser)
    number = jax.lax.broadcasted_iota(jnp.int32, policy.shape, 0)
    slots = jnp.clip(frontier.start[None] + number, 0, len(values) - 1)
    moves = jnp.take_along_axis(values[None], slots, 1)
    mean = jnp.where(actor == traverser, row_sum(policy * moves), moves[0])
    if depth.decides:
      own = (frontier.full & (actor == traverser))[None] & (number < count[None])
      other = (frontier.full & (actor == (traverser + 1) % tree.players))[None]
      part = nothing(tree.actions, dtype)._replace(
        cells=frontier.cell.ravel(),
        regrets=jnp.where(own, moves - mean[None], 0).reshape(tree.actions, -1),
        averages=jnp.where(other, policy, 0).reshape(tree.actions, -1),
      )
      parts.append(part)
    values = jnp.where(actor < TERMINAL_NODE, mean, ended)
  return join(parts, tree.actions, dtype)
