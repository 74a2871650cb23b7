"""A new sampler: outcome sampling in antithetic pairs, a trajectory from 1 - u beside each from u."""

import dataclasses

import jax.numpy as jnp
import pyspiel

from ps_cfr_spiel import TreePolicy, build_tree, exploitability
from ps_cfr_spiel.rules import RM
from ps_cfr_spiel.runtime import to_device
from ps_cfr_spiel.sampling import mccfr
from ps_cfr_spiel.sampling.mccfr import OutcomeSampling, ZeroBaseline, build_sampling_tree


@dataclasses.dataclass(frozen=True)
class AntitheticSampling(OutcomeSampling):
  """The mean of both estimates of a pair: unbiased, because 1 - u is uniform too."""

  def __call__(self, tree, regrets, learned, traverser, uniforms):
    """Updates from the uniform numbers [draws, B]; see `mccfr.TreeSampler`."""
    largest = 1 - jnp.finfo(uniforms.dtype).epsneg  # uniform numbers are below 1
    pairs = jnp.concatenate([uniforms, jnp.minimum(1 - uniforms, largest)], 1)
    updates = super().__call__(tree, regrets, learned, traverser, pairs)
    halved = {name: getattr(updates, name) / 2 for name in ("regrets", "averages")}
    return updates._replace(**halved)


def solve(game, iterations, seed=0):
  """The average policy after some iterations."""
  tree, sampler = build_tree(game), AntitheticSampling(ZeroBaseline())
  device = to_device(build_sampling_tree(game, tree), "float32")
  state = mccfr.init(device, sampler, seed, "float32")
  state = mccfr.run(device, state, iterations, sampler=sampler, rule=RM())
  return TreePolicy(game, tree.labels, mccfr.strategies(device, state.tables.average.total))


if __name__ == "__main__":
  kuhn = pyspiel.load_game("kuhn_poker")
  print(f"exploitability {exploitability(kuhn, solve(kuhn, 100_000)):.4f}")
