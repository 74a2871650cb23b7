"""Estimates: values of all moves of a key from the one that was sampled.

Beside every cell the run keeps the *learned value* of its move: a running mean of the results of trajectories
after it, which is the learned baseline of VR-MCCFR (Schmid et al. 2019), by key.
"""

import dataclasses
import math
from typing import ClassVar, NamedTuple, Protocol

import jax
import jax.numpy as jnp

from ps_cfr_spiel.arguments import check_number


class Node(NamedTuple):
  """The nodes that B trajectories pass at one time, as their actors see them."""

  learned: jax.Array  #: [B, W], learned values of the moves
  policy: jax.Array  #: [B, W], the current policy
  move: jax.Array  #: int32[B], the sampled one
  chosen: jax.Array  #: [B], the probability with which it was sampled
  value: jax.Array  #: [B], estimate of the value after the move
  weight: jax.Array  #: [B], 1 / probability of the traverser's sampled moves before


class MoveEstimate(Protocol):
  """A way to estimate: a frozen dataclass (hashable)."""

  def __call__(self, node: Node) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Pure JAX: [B, W] values of the moves, [B] the estimate handed up to the node before, [B] weights.

    The weights are those of the regrets that follow from the values, and of the policy in the average.
    """
    ...


@dataclasses.dataclass(frozen=True)
class Corrected(MoveEstimate):
  """The estimates of VR-MCCFR, unbiased for all baselines (Schmid et al. 2019, eqs. 8 and 9).

  The sampled move is corrected by (value - learned) / probability. In long games with many moves
  these corrections are large and rare.
  """

  most_weight: ClassVar[float] = math.inf  # weights are not cut

  def __call__(self, node: Node) -> tuple[jax.Array, jax.Array, jax.Array]:
    sampled = jnp.arange(node.policy.shape[1])[None] == node.move[:, None]
    known = jnp.where(sampled, node.learned, 0).sum(1)
    values = node.learned + jnp.where(sampled, ((node.value - known) / node.chosen)[:, None], 0)
    return values, (node.policy * values).sum(1), node.weight


@dataclasses.dataclass(frozen=True)
class Learned(MoveEstimate):
  """The learned values alone, which follow the trajectories' ends: biased, of little variance.

  For long games with many moves. No bound holds: learned values lag behind the strategies and contain the
  traverser's exploration, and weights are cut.
  """

  most_weight: float = 5.0  #: from 1 to 1e30, where weights are cut

  def __post_init__(self):
    check_number("most_weight", self.most_weight, 1, 1e30)

  def __call__(self, node: Node) -> tuple[jax.Array, jax.Array, jax.Array]:
    return node.learned, node.value, jnp.minimum(node.weight, float(self.most_weight))
