"""VR-MCCFR in vector form: a trajectory is a line of public moves, with all types of both players on it.

Schmid et al. 2019 ran this method for their figures (their appendix "Vector Form of CFR"; the figures are
17.7 and 17.8 of Schmid 2021): public moves are sampled uniformly, every infostate on the way is
updated, and the values that go up are counterfactual ones, a vector over the traverser's types. It needs a
game whose private information is dealt once and whose moves are all public. For one type it is
`outcome` with uniform sampling.

Chance and the opponent's reach are folded into the values at the end, so that at node n, with sampled move s,
  v~(n) = sum_a f_a q~(a),   q~(a) = b_a w_a + [a = s] (v~(ns) - b_s w_s) / xi,
f_a the policy where the traverser acts and 1 elsewhere, w_a the opponent's reach after the move, summed over
types, and b a baseline for each child and type of the traverser that estimates v / w.
"""

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from ps_cfr_spiel.backend.array_shapes import Bool, Float, Int, Shaped
from ps_cfr_spiel.sampling.mccfr.baselines import Baseline
from ps_cfr_spiel.sampling.mccfr.columns import Empty, regret_matching, roots, row_sum
from ps_cfr_spiel.sampling.mccfr.passes import parents, sum_children, sweep_down, sweep_up
from ps_cfr_spiel.sampling.mccfr.sampling_tree import CHANCE_NODE, Ends, SamplingTree
from ps_cfr_spiel.sampling.mccfr.sampling_trees import build_public_sampling_tree
from ps_cfr_spiel.sampling.mccfr.tables import TreeSampler, Updates, join, nothing
from ps_cfr_spiel.tree import Array


def leaf_values(
  ends: Ends, leaf: Int[Array, " B"], traverser: Int[Array, ""], reach: Float[Array, "H B"]
) -> Float[jax.Array, "H B"]:
  """Counterfactual values of leaves to the traverser; zero beyond its types.

  `reach` is of the opponent's types; H is the larger number of types of the two players.
  """
  most = len(reach)

  def of(player: int):
    def values(reach):
      opponent = ends.public.players[1 - player].types
      sampled = ends.public.leaves.sampled(player, leaf, reach[:opponent].T).T
      return jnp.pad(sampled, ((0, most - len(sampled)), (0, 0)))

    return values

  return jax.lax.cond(traverser == 0, of(0), of(1), reach)


class LineStep(NamedTuple):
  """The nodes of the trajectories at one depth, and their next moves; K is the most moves at this depth."""

  #: actor, first, count, child: see `outcome.HistoryStep`.
  actor: Int[Array, " B"]
  first: Int[Array, " B"]
  count: Int[Array, " B"]
  child: Int[Array, " B"]
  factor: Float[Array, "K H B"]  #: the factor of a move's values: the policy for the traverser's, else 1
  after: Float[Array, "K B"]  #: the opponent's reach after each move, summed over types
  #: of the acting player's types; empty at depths without decisions, as are the next two.
  cells: Int[Array, "H B"] | Empty
  exist: Bool[Array, "H B"] | Empty  #: whether the acting player has these types
  policy: Float[Array, "A H B"] | Empty  #: of the acting player
  reach: Float[Array, "H B"]  #: of the opponent's types
  weight: Float[Array, " B"]  #: 1 / xi of all moves before


def most_types(tree: SamplingTree) -> int:
  """H, the larger number of types of the two players."""
  assert tree.ends is not None
  return max(player.types for player in tree.ends.public.players)


def spread(x: Shaped[Array, "..."], axis: int, size: int) -> Shaped[jax.Array, "..."]:
  """Repeats an array along a new axis."""
  shape = list(x.shape)
  shape.insert(axis, size)
  return jnp.broadcast_to(jnp.expand_dims(x, axis), shape)


def descend(
  tree: SamplingTree,
  regrets: Float[Array, "A S"],
  traverser: Int[Array, ""],
  batch: int,
  choose: Callable[[int, Int[Array, " B"]], Int[Array, " B"]],
) -> tuple[list[LineStep], Int[Array, " {batch}"], Float[jax.Array, "H {batch}"]]:
  """Follows trajectories from the root to the end under the strategies of `regrets`.

  `choose` samples the next nodes of (depth, nodes) uniformly. Returns the steps; the last nodes, and the
  opponent's reach there.
  """
  assert tree.ends is not None
  sizes = jnp.array([player.types for player in tree.ends.public.players])
  types = most_types(tree)
  node, dtype = roots(batch), regrets.dtype
  reach, weight = jnp.ones((types, batch), dtype), jnp.ones(batch, dtype)
  reach = jnp.where(jnp.arange(types)[:, None] < sizes[1 - traverser], reach, 0)
  steps = []
  for d, depth in enumerate(tree.depths[:-1]):
    actor, first, count = tree.actor[node], tree.first[node], tree.count[node]
    child = choose(d, node)
    wide = max(depth.width, tree.actions if depth.decides else 1)
    factor = jnp.ones((wide, types, batch), dtype)
    after = spread(row_sum(reach), 0, wide)
    cells = exist = policy = jnp.zeros(0, dtype)
    before = reach
    if depth.decides:
      traversers = actor == traverser
      other = actor == 1 - traverser
      number = jax.lax.broadcasted_iota(jnp.int32, (types, batch), 0)
      exist = (number < sizes[jnp.clip(actor, 0, 1)][None]) & (traversers | other)[None]
      cells = tree.cell_of(tree.cell[node][None] + jnp.where(exist, number, 0))
      policy = regret_matching(regrets[:, cells.ravel()], spread(count, 0, types).ravel())
      policy = jnp.where(exist[None], policy.reshape(-1, types, batch), 0)
      padded = jnp.pad(policy, ((0, wide - tree.actions), (0, 0), (0, 0)))
      factor = jnp.where(traversers[None, None], padded, factor)
      after = jnp.where(other[None], (padded * reach[None]).sum(1), after)
      moved = jnp.arange(tree.actions)[:, None] == (child - first)[None]
      chosen = row_sum(jnp.where(moved[:, None], policy, 0))
      reach = jnp.where(other[None], reach * chosen, reach)
    steps.append(LineStep(actor, first, count, child, factor, after, cells, exist, policy, before, weight))
    weight = weight * jnp.maximum(count, 1)
    node = child
  return steps, node, reach


def uniform_chooser(
  tree: SamplingTree, uniforms: Float[Array, "draws B"]
) -> Callable[[int, Int[Array, " B"]], Int[jax.Array, " B"]]:
  """A chooser for `descend`, by uniform numbers, one for each depth."""

  def choose(d: int, node: Int[Array, " B"]) -> Int[jax.Array, " B"]:
    count = tree.count[node]
    number = jnp.minimum((uniforms[d] * count).astype(jnp.int32), count - 1)
    return jnp.where(count > 0, tree.first[node] + number, node)

  return choose


def ascend(
  tree: SamplingTree,
  steps: list[LineStep],
  values: Float[Array, "H B"],
  traverser: Int[Array, ""],
  baseline: Baseline,
  known: Float[Array, " entries"] | Float[Array, "N H"],
) -> Updates:
  """Estimates along trajectories, from the end up; the formula stands at the top of this file.

  `values` are of the last nodes, `known` the baseline's: the learned table, or of an oracle the exact values
  [N, H].
  """
  types, (batch,), nodes = most_types(tree), steps[0].actor.shape, len(tree.actor)
  begin = 0 if baseline.oracle else traverser * nodes
  h = jax.lax.broadcasted_iota(jnp.int32, (types, batch), 0)
  parts = []
  for step, depth in reversed(list(zip(steps, tree.depths, strict=False))[tree.first_decision :]):
    number = jax.lax.broadcasted_iota(jnp.int32, step.factor.shape, 0)
    exists = number < step.count[None, None]
    taken = number == (step.child - step.first)[None, None]
    after = spread(step.after, 1, types)
    guess = jnp.zeros_like(step.factor)
    if baseline.decisions:
      says = jnp.where(step.actor == CHANCE_NODE, baseline.outcomes, step.actor < CHANCE_NODE)
      entry = (begin + step.first[None, None] + number) * types + h[None]
      guess = jnp.where(exists & says[None, None], known.ravel()[entry], 0)
      if not baseline.oracle:
        guess *= after
        reach = row_sum(jnp.where(taken, after, 0))
        met = (reach > 0) & says[None]
        lesson = nothing(tree.actions, values.dtype)._replace(
          entries=((begin + step.child)[None] * types + h).ravel(),
          targets=jnp.where(met, values / jnp.where(met, reach, 1), 0).ravel(),
          visits=met.astype(values.dtype).ravel(),
        )
        parts.append(lesson)
    correction = (values - row_sum(jnp.where(taken, guess, 0))) * step.count[None]
    moves = guess + jnp.where(taken, correction[None], 0)
    mean = row_sum(jnp.where(exists, step.factor * moves, 0))
    if depth.decides:
      parts.append(_update(step, moves[: tree.actions], mean, traverser))
    values = jnp.where((step.count > 0)[None], mean, values)
  return join(parts, tree.actions, values.dtype)


def _update(
  step: LineStep, moves: Float[Array, "A H B"], mean: Float[Array, "H B"], traverser: Int[Array, ""]
) -> Updates:
  """The increments of one depth, from the estimates of its moves and their mean."""
  number = jax.lax.broadcasted_iota(jnp.int32, moves.shape, 0)
  traversers = (step.actor == traverser)[None, None] & step.exist[None] & (number < step.count[None, None])
  other = (step.actor == 1 - traverser)[None, None]
  weight = step.weight[None, None]
  regrets = jnp.where(traversers, (moves - mean[None]) * weight, 0)
  averages = jnp.where(other, step.policy * step.reach[None] * weight, 0)
  return nothing(len(moves), moves.dtype)._replace(
    cells=step.cells.ravel(),
    regrets=regrets.reshape(len(moves), -1),
    averages=averages.reshape(len(moves), -1),
  )


class Exact(NamedTuple):
  """Full pass over the public moves, for one traverser; an entry for each node."""

  factor: Float[Array, "N H"]  #: the factor of the values of the move to the node
  reach: Float[Array, "N H"]  #: of the opponent's types
  values: Float[Array, "N H"]  #: counterfactual, of the traverser's types


def exact_values(tree: SamplingTree, regrets: Float[Array, "A S"], traverser: Int[Array, ""]) -> Exact:
  """Counterfactual values of all nodes under the current strategies."""
  assert tree.ends is not None
  types, nodes = most_types(tree), len(tree.actor)
  sizes = jnp.array([player.types for player in tree.ends.public.players])
  policy = regret_matching(regrets, tree.legal)
  parent, actor = parents(tree)
  h = jax.lax.broadcasted_iota(jnp.int32, (nodes, types), 1)
  exists = h < sizes[jnp.clip(actor, 0, 1)][:, None]
  rank = jnp.clip(jnp.arange(nodes) - tree.first[parent], 0, tree.actions - 1)
  chosen = policy[rank[:, None], tree.cell_of(tree.cell[parent][:, None] + jnp.where(exists, h, 0))]
  chosen = jnp.where(exists, chosen, 0)
  factor = jnp.where((actor == traverser)[:, None], chosen, 1)
  reach = sweep_down(tree, jnp.where((actor == 1 - traverser)[:, None], chosen, 1))
  reach = jnp.where(h < sizes[1 - traverser], reach, 0)
  ended = (tree.count == 0)[:, None]
  at_end = jnp.where(ended, leaf_values(tree.ends, tree.ends.leaf, traverser, reach.T).T, 0)
  values = sweep_up(tree, lambda d, s, below: sum_children(tree, d, factor[s] * below), at_end)
  return Exact(factor, reach, values)


@dataclasses.dataclass(frozen=True)
class PublicSampling(TreeSampler):
  """Samples lines of public moves, uniformly."""

  baseline: Baseline  #: of the moves not taken

  def sampling_tree(self, game, tree):
    """The public moves; ValueError if the game has others."""
    return build_public_sampling_tree(tree)

  def entries(self, tree):
    """A value for each player, node and type."""
    learns = self.baseline.decisions and not self.baseline.oracle
    return 2 * len(tree.actor) * most_types(tree) * learns

  def __call__(self, tree, regrets, learned, traverser, uniforms):
    assert tree.ends is not None
    steps, end, reach = descend(tree, regrets, traverser, uniforms.shape[1], uniform_chooser(tree, uniforms))
    values = leaf_values(tree.ends, tree.ends.leaf[end], traverser, reach)
    known = exact_values(tree, regrets, traverser).values if self.baseline.oracle else learned
    return ascend(tree, steps, values, traverser, self.baseline, known)
