"""Leaf evaluators: opponent reach in, counterfactual values of the terminal public states out.

The only game-specific step of PS-CFR (Kovařík et al. 2021, Algorithm 3, line 4). Chance is folded into the
utilities.

`DenseLeaves` and `ShowdownLeaves` take the leaves in two parts, because poker ends in two ways: part 0 are
showdowns, where the utility to player 0 is stake x sign(strength 0 - strength 1), part 1 are leaves whose
utility does not depend on the types (folds). Either may be empty. The joint prior of the types is
  prior(h, g) = w0[h] w1[g] [h and g share no card] / Z.
`BlockLeaves` and `SparseLeaves` hold the utilities of an enumerated game; `GeneralSumLeaves` a pair of them.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.tree.padding import fill
from ps_cfr_spiel.tree.prior import deal_weights
from ps_cfr_spiel.tree.public_tree import Array, LeafEvaluator, Parts, PublicTree

HIGHEST = jax.lax.Precision.HIGHEST  # a GPU may round float32 products to TF32 otherwise


def pick(values: np.ndarray, leaves: np.ndarray) -> np.ndarray:
  """Some leaves' values, [L, ...] to [n, ...], by their n numbers; zeros for leaf -1."""
  return np.pad(values, [(0, 1), *[(0, 0)] * (values.ndim - 1)])[leaves.ravel()]


def dot(a: Array, b: Array) -> Array:
  """Matrix product in the full precision of its inputs."""
  return jnp.matmul(a, b, precision=HIGHEST)


def two_parts_take(leaves: Any, numbers: Sequence[np.ndarray]) -> Any:
  """`LeafEvaluator.take` of an evaluator of showdowns and folds, with `stake` and `constant`."""
  stake, constant = pick(leaves.stake, numbers[0]), pick(leaves.constant, numbers[1])
  return dataclasses.replace(leaves, stake=stake, constant=constant)


def two_parts_sampled(leaves: Any, player: int, leaf: Array, reach: Array) -> Array:
  """`LeafEvaluator.sampled` of an evaluator of showdowns and folds, with `stake` and `constant`.

  Each leaf becomes one of either part, worth something in that from which it comes.
  """
  showdowns, folds = len(leaves.stake), len(leaves.constant)
  stake = jnp.pad(leaves.stake, (0, folds))[leaf]
  constant = jnp.pad(leaves.constant, (showdowns, 0))[leaf]
  first, second = dataclasses.replace(leaves, stake=stake, constant=constant)(player, [reach, reach])
  return first + second


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class DenseLeaves:
  """Chance-weighted utilities as matrices: the paper's PS-CFR, O(H0 H1) for each leaf, for any prior.

  Attributes:
    showdown: [H0, H1] prior x sign(strength 0 - strength 1).
    prior: [H0, H1].
    stake: [L0] chips at stake in each showdown.
    constant: [L1] utility to player 0 in each other leaf.
  """

  kind: ClassVar[str] = "dense"
  showdown: Array
  prior: Array
  stake: Array
  constant: Array

  @classmethod
  def create(cls, form, stake: np.ndarray, constant: np.ndarray, total: float | None = None) -> "DenseLeaves":
    """Make it from the types of a `BayesianForm` (see `compiler.from_form`) and the utilities of its leaves.

    Args:
      form: its weights, cards and strengths are read. Types of weight 0 are dead: they do not affect others
        and their value is 0.
      stake: see the class.
      constant: see the class.
      total: divisor of the weights of a deal; by default Z, their sum, which makes them a prior.

    It works in a jitted function too, on JAX's arrays.
    """
    prior = deal_weights(form)
    prior = prior / (prior.sum() if total is None else total)
    first, second = form.strength[0][:, None], form.strength[1][None, :]
    return cls(prior * (first > second) - prior * (first < second), prior, stake, constant)

  def __call__(self, player: int, opponent_reach: Parts, own_reach: Parts | None = None) -> list[Array]:
    """See `tree.LeafEvaluator`."""
    showdown, prior = self.showdown, self.prior
    if player == 0:
      showdown, prior = showdown.T, prior.T
    sign = 1 - 2 * player
    return [
      dot(opponent_reach[0], showdown) * (sign * self.stake)[:, None],
      dot(opponent_reach[1], prior) * (sign * self.constant)[:, None],
    ]

  def sampled(self, player: int, leaf: Array, reach: Array) -> Array:
    """See `tree.LeafEvaluator`."""
    return two_parts_sampled(self, player, leaf, reach)

  def take(self, leaves: Sequence[np.ndarray]) -> "DenseLeaves":
    """See `tree.LeafEvaluator`."""
    return two_parts_take(self, leaves)

  def widen(self, types: Sequence[int]) -> "DenseLeaves":
    """See `tree.pad_types`."""
    return dataclasses.replace(self, showdown=fill(self.showdown, *types), prior=fill(self.prior, *types))


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class BlockLeaves:
  """A matrix of chance-weighted utilities for each leaf: Bayesian games with few types.

  Attributes:
    utility: [L, H0, H1], sum of chance probability x utility to player 0.
  """

  kind: ClassVar[str] = "dense"
  utility: Array

  def __call__(self, player: int, opponent_reach: Parts, own_reach: Parts | None = None) -> list[Array]:
    """See `tree.LeafEvaluator`."""
    (reach,) = opponent_reach
    if player == 0:
      return [jnp.einsum("lhg,lg->lh", self.utility, reach, precision=HIGHEST)]
    return [-jnp.einsum("lhg,lh->lg", self.utility, reach, precision=HIGHEST)]

  def payoffs(self) -> tuple[Array, Array]:
    """For each player [L, G, H]: its utility by the opponent's type and its own; see `tree.play`."""
    return self.utility.swapaxes(1, 2), -self.utility

  def sampled(self, player: int, leaf: Array, reach: Array) -> Array:
    """See `tree.LeafEvaluator`."""
    return BlockLeaves(self.utility[leaf])(player, [reach])[0]

  def take(self, leaves: Sequence[np.ndarray]) -> "BlockLeaves":
    """See `tree.LeafEvaluator`."""
    return dataclasses.replace(self, utility=pick(self.utility, leaves[0]))


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class SparseLeaves:
  """A number for each pair of last choices: any game.

  Attributes:
    utility: [L, 1], sum of chance probability x utility to player 0.
  """

  kind: ClassVar[str] = "sparse"
  utility: Array

  def __call__(self, player: int, opponent_reach: Parts, own_reach: Parts | None = None) -> list[Array]:
    """See `tree.LeafEvaluator`."""
    (reach,) = opponent_reach
    return [reach * (self.utility if player == 0 else -self.utility)]

  def payoffs(self) -> tuple[Array, Array]:
    """For each player [L, 1, 1]; see `BlockLeaves.payoffs`."""
    return self.utility[:, :, None], -self.utility[:, :, None]

  def sampled(self, player: int, leaf: Array, reach: Array) -> Array:
    """See `tree.LeafEvaluator`."""
    return SparseLeaves(self.utility[leaf])(player, [reach])[0]

  def take(self, leaves: Sequence[np.ndarray]) -> "SparseLeaves":
    """See `tree.LeafEvaluator`."""
    return dataclasses.replace(self, utility=pick(self.utility, leaves[0]))


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class GeneralSumLeaves:
  """The leaves of a general-sum game, or of more than two players: each is paid by an evaluator of its own.

  Attributes:
    of: for each player the evaluator of a zero-sum game, of which it is player 0, or 1 if not the first.
  """

  kind: ClassVar[str] = "general sum"
  of: tuple[LeafEvaluator, ...]

  def __call__(self, player: int, opponent_reach: Parts, own_reach: Parts | None = None) -> list[Array]:
    """See `tree.LeafEvaluator`."""
    return self.of[player](player, opponent_reach, own_reach)

  def sampled(self, player: int, leaf: Array, reach: Array) -> Array:
    """See `tree.LeafEvaluator`."""
    return self.of[player].sampled(player, leaf, reach)

  def take(self, leaves: Sequence[np.ndarray]) -> "GeneralSumLeaves":
    """See `tree.LeafEvaluator`."""
    return GeneralSumLeaves(tuple(own.take(leaves) for own in self.of))


def check_zero_sum(tree: PublicTree, use: str) -> None:
  """ValueError if the game is of general sum or has more players; `use`, in the plural, names its purpose."""
  check_two_players(tree, use)
  if not is_zero_sum(tree.leaves):
    raise ValueError(
      f"{tree.names.game} is of general sum; {use} are for zero-sum games. Use PSCFRSolver, or solve "
      f"zerosum(game={tree.names.game})."
    )


def check_two_players(tree: PublicTree, use: str) -> None:
  """ValueError if there are more players; `use`, in the plural, names its purpose."""
  if len(tree.players) > 2:
    count = len(tree.players)
    raise ValueError(f"{tree.names.game} has {count} players; {use} are for two. Use PSCFRSolver.")


def is_zero_sum(leaves: Any) -> bool:
  """Whether an evaluator, or the one inside locks, pays one player what the other loses."""
  return not isinstance(getattr(leaves, "inner", leaves), GeneralSumLeaves)
