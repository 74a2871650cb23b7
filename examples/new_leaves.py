"""A new leaf evaluator: each leaf's utilities over pairs of types as a product of two thin matrices."""

import dataclasses
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel

import ps_cfr_spiel
from ps_cfr_spiel.tree import LeafEvaluator


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class LowRankLeaves(LeafEvaluator):
  """Chance-weighted utilities to player 0 as left @ right: [L, H0, r] and [L, r, H1]."""

  kind: ClassVar[str] = "low rank"
  left: jax.Array
  right: jax.Array

  def __call__(self, player, opponent_reach, own_reach=None):
    """Parts [L, H of the opponent] to parts [L, H of the player]."""
    near, far = (self.left, self.right) if player == 0 else (-self.right.mT, self.left.mT)
    return [jnp.einsum("lhr,lrg,lg->lh", near, far, opponent_reach[0])]

  def sampled(self, player, leaf, reach):
    """Leaves int32[B] and reach [B, H of the opponent] to [B, H of the player]."""
    return LowRankLeaves(self.left[leaf], self.right[leaf])(player, [reach])[0]

  def take(self, leaves):
    """The evaluator of some of the leaves; -1 stands for a leaf of value 0."""
    (numbers,) = leaves[0]
    return LowRankLeaves(self.left[numbers] * (numbers >= 0)[:, None, None], self.right[numbers])


def solve(game, rank, iterations=1000):
  """The average policy of CFR+ on utilities of this rank."""
  tree = ps_cfr_spiel.build_tree(game, leaves="blocks")
  u, s, v = np.linalg.svd(tree.leaves.utility, full_matrices=False)
  leaves = LowRankLeaves(u[..., :rank] * s[:, None, :rank], v[:, :rank])
  solver = ps_cfr_spiel.PSCFRSolver(game, "rm+", tree=dataclasses.replace(tree, leaves=leaves))
  solver.run(iterations)
  return solver.average_policy()


if __name__ == "__main__":
  leduc = pyspiel.load_game("leduc_poker")
  for rank in (2, 4, 6):
    print(f"rank {rank}: exploitability {ps_cfr_spiel.exploitability(leduc, solve(leduc, rank)):.4f}")
