"""Outcome sampling with baselines: trajectories down a game, estimates of counterfactual values up.

Schmid 2021, Sections 17.7.1 and 17.8 (Schmid et al. 2019; Lanctot et al. 2009). All functions work on B
trajectories side by side, one depth of the game at a time; trajectories that have ended stay where they are.

One player at a time, the *traverser*, is updated. The sampling policy xi explores for the traverser only and
follows the current policy for the opponent and chance; so the weight of eq. 17.18,
  P_-i(h) / P_xi(h) = 1 / xi_i(h),
depends on the traverser's own moves alone. The opponent's average strategy is updated on the way, with the
same weight: sum over h in s of P_xi(h) / xi_i(h) = P_c(s) pi_j(s), so that in expectation each iteration adds
its strategy with its own reach, as the average needs (stochastically-weighted averaging, Lanctot 2013).

With a focus (`targeting`), the opponent and chance are sampled otherwise than they play, and the weight is
P_-i(h) / P_xi(h) in full.
"""

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from ps_cfr_spiel.backend.array_shapes import Bool, Float, Int
from ps_cfr_spiel.sampling.mccfr.baselines import Baseline
from ps_cfr_spiel.sampling.mccfr.columns import (
  Empty,
  at,
  regret_matching,
  roots,
  row_sum,
  sample_rows,
  uniform,
)
from ps_cfr_spiel.sampling.mccfr.passes import history_values, move_policy
from ps_cfr_spiel.sampling.mccfr.sampling_tree import CHANCE_NODE, TERMINAL_NODE, SamplingTree, Types
from ps_cfr_spiel.sampling.mccfr.tables import TreeSampler, Updates, join, nothing
from ps_cfr_spiel.sampling.mccfr.targeting import Focus, bias, mixture_chooser
from ps_cfr_spiel.tree import Array


class HistoryStep(NamedTuple):
  """The nodes of the trajectories at one depth, and their next moves."""

  #: actor, first, count: of the node; see `SamplingTree`.
  actor: Int[Array, " B"]
  first: Int[Array, " B"]
  count: Int[Array, " B"]
  child: Int[Array, " B"]  #: the next node; the same node at the end
  action: Int[Array, " B"] | Empty  #: number of the move
  #: the acting infostate's, undefined where no player acts; empty at depths without decisions.
  cell: Int[Array, " B"] | Empty
  policy: Float[Array, "A B"] | Empty  #: current policy; empty there too
  #: probability xi with which the move was sampled; 1 where no player acts. Without a focus chance does not
  #: count, and it is empty where only chance acts.
  chosen: Float[Array, " B"] | Empty
  #: 1 / xi_i of the traverser's moves before; with a focus P_-i / P_xi of all moves before.
  weight: Float[Array, " B"]
  #: probability of chance's move over xi, 1 where it is not chance's; None without a focus.
  luck: Float[Array, " B"] | None = None


def descend(
  tree: SamplingTree,
  regrets: Float[Array, "A S"],
  types: Types,
  traverser: Int[Array, ""],
  exploration: float,
  choose: Callable[[int, Int[Array, " B"], Float[Array, "A B"]], Int[Array, " B"]],
  focus: Focus | None = None,
) -> tuple[list[HistoryStep], Int[Array, " B"]]:
  """Follows trajectories from the root to the end: the steps, and the last nodes.

  The `traverser` explores: xi = exploration / count + (1 - exploration) policy, by `regrets`.
  `choose` makes the next nodes of (depth, nodes, xi); xi is empty where no player acts.
  With a focus chance's moves have their xi too.
  """
  node = roots(len(types[0]))
  weight = jnp.ones(node.shape, regrets.dtype)
  share = weight * (0 if focus is None else focus.delta)
  steps = []
  for d, depth in enumerate(tree.depths[:-1]):
    actor, first, count = tree.actor[node], tree.first[node], tree.count[node]
    unset = jnp.zeros(0, regrets.dtype)
    step = HistoryStep(actor, first, count, node, unset, unset, unset, unset, weight)
    explores, xi = actor == traverser, jnp.zeros((0, *node.shape), regrets.dtype)
    if depth.decides:
      cell = tree.cell_at(node, types)
      policy = regret_matching(regrets[:, cell], count)
      mixed = exploration * uniform(count, policy) + (1 - exploration) * policy
      xi = jnp.where(explores[None], mixed, policy)
      step = step._replace(cell=cell, policy=policy)
    if focus is not None:
      moves = bias(tree, focus, depth, node, xi, share)
      node = choose(d, node, moves.mixed)
      plain, aimed, chosen = (jnp.where(actor < TERMINAL_NODE, at(p, node - first), 1) for p in moves)
      weight = weight * jnp.where(explores, 1, plain) / chosen
      share = share * aimed / chosen
      step = step._replace(chosen=chosen, luck=jnp.where(actor == CHANCE_NODE, plain / chosen, 1))
    else:
      node = choose(d, node, xi)
      if depth.decides:
        step = step._replace(chosen=jnp.where(actor < CHANCE_NODE, at(xi, node - first), 1))
        weight = jnp.where(explores, weight / step.chosen, weight)
    steps.append(step._replace(child=node, action=node - first))
  return steps, node


def chooser(
  tree: SamplingTree, types: Types, uniforms: Float[Array, "depth B"]
) -> Callable[[int, Int[Array, " B"], Float[Array, "A B"]], Int[Array, " B"]]:
  """A chooser for `descend`, which samples from xi and from chance by uniform numbers."""

  def choose(d: int, node: Int[Array, " B"], xi: Float[Array, "_A B"]) -> Int[Array, " B"]:
    depth, uniform = tree.depths[d], uniforms[d]
    actor, child = tree.actor[node], node
    if depth.outcomes:
      child = jnp.where(actor == CHANCE_NODE, tree.sample_chance(d, node, types, uniform), child)
    if depth.decides:
      child = jnp.where(actor < CHANCE_NODE, tree.first[node] + sample_rows(xi, uniform), child)
    return child

  return choose


def ascend(
  tree: SamplingTree,
  steps: list[HistoryStep],
  end: Int[Array, " B"],
  types: Types,
  traverser: Int[Array, ""],
  baseline: Baseline,
  known: Float[Array, " entries"] | Float[Array, "B N"],
) -> Updates:
  """Estimates along trajectories, from the end up (Schmid 2021, eqs. 17.16-17.18).

  At a decision h with sampled move s and baselines b,
    q~(h, a) = b(a) + [a = s] (v~(hs) - b(s)) / xi(h, s),   v~(h) = sum_a pi(h, a) q~(h, a),
  and at chance nodes v~(h) = sum_a chance(a) b(a) + luck (v~(hs) - b(s)), luck = chance(s) / xi(h, s) being 1
  without a focus.

  `end` are the last nodes, `known` the baseline's values: the learned table, or those of an oracle, [N] or
  [B, N]. Returns updates of n = m' B, m' the depths with decisions, for the `traverser`.
  """
  values = tree.end_utility(end, types, traverser)
  # The first entry of each trajectory's own values, if an oracle has some for each.
  beside = jnp.arange(len(end)) * (len(tree.actor) if known.ndim == 2 else 0)
  guesses, parts = known.ravel(), []
  for step, depth in reversed(list(zip(steps, tree.depths, strict=False))[tree.first_decision :]):
    before = values if step.luck is None else step.luck * values
    if depth.outcomes and baseline.outcomes:
      offset = beside if baseline.oracle else jnp.full_like(beside, tree.actions * tree.cells)
      by_chance, entry = step.actor == CHANCE_NODE, offset + step.child
      mean = _chance_mean(tree, step, depth.outcomes, types, guesses, offset)
      if step.luck is None:
        before = jnp.where(by_chance, mean + values - guesses[entry], before)
      else:
        before = jnp.where(by_chance, mean + step.luck * (values - guesses[entry]), before)
      if not baseline.oracle:
        parts.append(_lesson(tree, entry, values, by_chance))
    if depth.decides:
      acts, guess = step.actor < CHANCE_NODE, jnp.zeros_like(step.policy)
      number = jax.lax.broadcasted_iota(jnp.int32, guess.shape, 0)
      if baseline.oracle:
        guess = guesses[(beside + step.first)[None] + number]
      elif baseline.decisions:
        entry = number * tree.cells + step.cell[None]
        guess = guesses[entry]
        parts.append(_lesson(tree, at(entry, step.action), values, acts))
      correction = (values - at(guess, step.action)) / step.chosen
      moves = guess + jnp.where(number == step.action[None], correction[None], 0)
      mean = row_sum(step.policy * moves)
      parts.append(_update(tree, step, moves, mean, traverser))
      before = jnp.where(acts, mean, before)
    values = before
  return join(parts, tree.actions, values.dtype)


def _chance_mean(
  tree: SamplingTree,
  step: HistoryStep,
  outcomes: int,
  types: Types,
  guesses: Float[Array, " entries"],
  offset: Int[Array, " B"],
) -> Float[jax.Array, " B"]:
  """Mean over chance's moves of the baseline, whose entries for the nodes begin at `offset`."""
  number = jax.lax.broadcasted_iota(jnp.int32, (outcomes, len(offset)), 0)
  child = step.first[None] + jnp.minimum(number, jnp.maximum(step.count - 1, 0)[None])
  weighted = tree.chance_of(child, types) * guesses[offset[None] + child]
  return jnp.where(number < step.count[None], weighted, 0).sum(0)


def _update(
  tree: SamplingTree,
  step: HistoryStep,
  moves: Float[Array, "A B"],
  mean: Float[Array, " B"],
  traverser: Int[Array, ""],
) -> Updates:
  """The increments of one depth's decisions, from the estimates of their moves and their mean."""
  legal = jax.lax.broadcasted_iota(jnp.int32, moves.shape, 0) < step.count[None]
  weight = jnp.where(step.actor == traverser, tree.sign(traverser) * step.weight, 0)
  other = jnp.where(step.actor == (traverser + 1) % tree.players, step.weight, 0)
  return nothing(len(moves), moves.dtype)._replace(
    cells=step.cell,
    regrets=jnp.where(legal, (moves - mean[None]) * weight[None], 0),
    averages=step.policy * other[None],
  )


def _lesson(
  tree: SamplingTree,
  entries: Int[Array, " B"],
  targets: Float[Array, " B"],
  visited: Bool[Array, " B"],
) -> Updates:
  """The increments of the learned baseline at one depth."""
  lesson = nothing(tree.actions, targets.dtype)
  return lesson._replace(entries=entries, targets=targets, visits=visited.astype(targets.dtype))


@dataclasses.dataclass(frozen=True)
class OutcomeSampling(TreeSampler):
  """Samples single trajectories; with another baseline than zero this is VR-MCCFR."""

  baseline: Baseline  #: of the moves not taken
  exploration: float = 0.6  #: share of uniform play in the traverser's sampling policy, in (0, 1]
  #: the target of the trajectories, or None. It holds arrays: a sampler with a focus is made within a jitted
  #: function, from one without.
  focus: Focus | None = None

  @property
  def general_sum(self):
    return not (self.baseline.decisions or self.baseline.outcomes) and self.focus is None

  def entries(self, tree: SamplingTree) -> int:
    """A * S for the decisions, and N for the nodes after chance moves."""
    if self.baseline.oracle:
      return 0
    return self.baseline.decisions * tree.actions * tree.cells + self.baseline.outcomes * len(tree.actor)

  def native(self):
    """Not with an oracle or a target."""
    plain = self.focus is None and not self.baseline.oracle
    return {"external": False, "exploration": float(self.exploration)} if plain else None

  def __call__(self, tree, regrets, learned, traverser, uniforms):
    types = deal_types(tree, uniforms[tree.depth :])
    moves = uniforms[: tree.depth]
    choose = chooser(tree, types, moves) if self.focus is None else mixture_chooser(tree, moves)
    steps, end = descend(tree, regrets, types, traverser, self.exploration, choose, self.focus)
    known = oracle_values(tree, regrets, types) if self.baseline.oracle else learned
    return ascend(tree, steps, end, types, traverser, self.baseline, known)


def deal_types(tree: SamplingTree, uniforms: Float[Array, "draws B"]) -> Types:
  """Types for trajectories from uniform numbers, two each; zeros without a deal."""
  if tree.deal is None:
    zeros = jnp.zeros(uniforms.shape[1], jnp.int32)
    return zeros, zeros
  return tree.deal.sample(uniforms)


def oracle_values(tree: SamplingTree, regrets: Float[Array, "A S"], types: Types) -> Float[jax.Array, "*B N"]:
  """Exact values under the current strategies: [N], or [B, N] where types are dealt."""
  policy = regret_matching(regrets, tree.legal)
  if tree.deal is None:
    zero = jnp.zeros((), jnp.int32)
    return history_values(tree, move_policy(tree, policy, (zero, zero)), (zero, zero))
  return jax.vmap(lambda *pair: history_values(tree, move_policy(tree, policy, pair), pair))(*types)
