"""The noise of sampled counterfactual values, exactly (Schmid 2021, Fig. 17.8, estimates it by resampling).

The figure's 1,000 trajectories from each visited infostate are replaced by a pass over the whole tree.
Averaged, over the traverser's histories h in proportion to how often they are visited, is
  Var_z[q~_c(h|z)] = (P_-i(h) / P_xi(h))^2 Var_z[v~(h|z)],
the variance of the sampled counterfactual value given h, which an oracle baseline brings to zero (Lemma 28).
"""

import jax
import jax.numpy as jnp

from ps_cfr_spiel.backend.array_shapes import Bool, Float, Int
from ps_cfr_spiel.sampling.mccfr.baselines import Baseline
from ps_cfr_spiel.sampling.mccfr.columns import regret_matching
from ps_cfr_spiel.sampling.mccfr.outcome import OutcomeSampling, deal_types
from ps_cfr_spiel.sampling.mccfr.passes import (
  history_values,
  move_policy,
  parents,
  sum_children,
  sweep_down,
  sweep_up,
)
from ps_cfr_spiel.sampling.mccfr.public_lines import PublicSampling, exact_values
from ps_cfr_spiel.sampling.mccfr.sampling_tree import CHANCE_NODE, SamplingTree, Types
from ps_cfr_spiel.sampling.mccfr.tables import TreeSampler
from ps_cfr_spiel.tree import Array


def sampled_variance(
  tree: SamplingTree,
  factor: Float[Array, " N *rest"],
  xi: Float[Array, " N"],
  values: Float[Array, " N *rest"],
  baseline: Float[Array, " N *rest"],
) -> Float[jax.Array, " N *rest"]:
  """Variance of bootstrapped values (Schmid 2021, eqs. 17.16-17.17) of nodes that are reached.

  With the estimate at h  v~(h) = sum_a f_a b_a + f_s / xi_s (v~(hs) - b_s)  for the sampled move s,
    Var v~(h) = sum_a xi_a [(f_a / xi_a)^2 Var v~(ha) + (sum_b f_b b_b + f_a / xi_a (v(ha) - b_a) - v(h))^2].

  `factor`, f, is a move's probability under the policy, `xi` that with which it is sampled, `values` the
  exact v, and `baseline` b.
  """
  xi = jnp.expand_dims(xi, tuple(range(1, values.ndim)))

  def step(d, below, variance):
    f, b, x = factor[below], baseline[below], xi[below]
    parent = tree.parent[below] - tree.depths[d].start
    guess = sum_children(tree, d, f * b)
    mean = sum_children(tree, d, f * values[below])
    scale = f / jnp.where(x > 0, x, 1)
    error = (guess - mean)[parent] + scale * (values[below] - b)
    return sum_children(tree, d, x * (scale**2 * variance + error**2))

  return sweep_up(tree, step, jnp.zeros_like(values))


DEALS = 64  # deals that a variance is averaged over where types are dealt


def variance(
  tree: SamplingTree,
  sampler: TreeSampler,
  regrets: Float[Array, "A S"],
  learned: Float[Array, " entries"],
) -> Float[jax.Array, ""]:
  """The mean variance of counterfactual values under the current strategies and baseline.

  ValueError if the variance of this sampler is not computed.
  """
  check_variance(sampler)
  if isinstance(sampler, PublicSampling):

    def of_player(player):
      return _public_variance(tree, sampler, regrets, learned, player)

  else:
    assert isinstance(sampler, OutcomeSampling)
    uniforms = jax.random.uniform(jax.random.key(0), (2, 1 if tree.deal is None else DEALS))
    types = deal_types(tree, uniforms)

    def of_player(player):
      def of_deal(*pair):
        return history_variance(tree, sampler, regrets, learned, pair, player)[0]

      return jax.vmap(of_deal)(*types).mean()

  # One after the other: the code is large, and is compiled once for both.
  return jax.lax.map(of_player, jnp.arange(2, dtype=jnp.int32)).mean()


def check_variance(sampler: TreeSampler) -> None:
  """Raise ValueError if the sampler's variance is not computed."""
  if type(sampler) not in (OutcomeSampling, PublicSampling):  # a derived one may have another variance
    raise ValueError(
      f"The variance of {type(sampler).__name__} is not computed; choose OutcomeSampling or PublicSampling."
    )


def says(actor: Int[Array, " N"], baseline: Baseline) -> Bool[jax.Array, " N"]:
  """Whether the baseline applies where `actor` acts."""
  return jnp.where(actor == CHANCE_NODE, baseline.outcomes, baseline.decisions)


def history_variance(
  tree: SamplingTree,
  sampler: OutcomeSampling,
  regrets: Float[Array, "A S"],
  learned: Float[Array, " entries"],
  types: Types,
  traverser: Int[Array, ""] | int,
) -> tuple[Float[jax.Array, ""], Float[jax.Array, " N"]]:
  """The mean of `variance` for one deal, int32[] types, and traverser; Var v~(h) of histories."""
  parent, actor = parents(tree)
  policy = move_policy(tree, regret_matching(regrets, tree.legal), types)
  values = history_values(tree, policy, types)
  even = 1 / jnp.maximum(tree.count[parent], 1).astype(policy.dtype)
  xi = sampler.exploration * even + (1 - sampler.exploration) * policy
  xi = jnp.where(actor == traverser, xi, policy)
  if sampler.baseline.oracle:
    guess = values
  elif not sampler.baseline.decisions:
    guess = jnp.zeros_like(values)
  else:
    number = jnp.arange(len(actor))
    entry = (number - tree.first[parent]) * tree.cells + tree.cell_at(parent, types)
    entry = jnp.where(actor == CHANCE_NODE, tree.actions * tree.cells + number, entry)
    guess = jnp.where(says(actor, sampler.baseline), learned[entry], 0)
  variances = sampled_variance(tree, policy, xi, values, guess)
  visited = sweep_down(tree, xi) * (tree.actor == traverser)
  explored = jnp.where((actor == traverser) & (xi > 0), xi, 1)
  weight = sweep_down(tree, 1 / explored)
  return (visited * weight**2 * variances).sum() / visited.sum(), variances


def _public_variance(
  tree: SamplingTree,
  sampler: PublicSampling,
  regrets: Float[Array, "A S"],
  learned: Float[Array, " entries"],
  traverser: Int[Array, ""],
) -> Float[jax.Array, ""]:
  """The mean variance for one traverser, over all of the types."""
  assert tree.ends is not None
  parent, actor = parents(tree)
  exact = exact_values(tree, regrets, traverser)
  nodes, types = exact.values.shape
  if sampler.baseline.oracle:
    guess = exact.values
  elif not sampler.baseline.decisions:
    guess = jnp.zeros_like(exact.values)
  else:
    table = learned.reshape(2, nodes, types)[traverser]
    guess = jnp.where(says(actor, sampler.baseline)[:, None], table * exact.reach.sum(1, keepdims=True), 0)
  count = jnp.where(tree.parent >= 0, tree.count[parent], 1)
  xi = 1 / count.astype(exact.values.dtype)
  variances = sampled_variance(tree, exact.factor, xi, exact.values, guess)
  sampled = sweep_down(tree, xi)
  visited = sampled * (tree.actor == traverser)
  sizes = jnp.array([player.types for player in tree.ends.public.players])
  return (visited[:, None] * variances / sampled[:, None] ** 2).sum() / (visited.sum() * sizes[traverser])
