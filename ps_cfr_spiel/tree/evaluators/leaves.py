"""Leaf evaluators: opponent reach in, counterfactual values of the terminal public states out.

The only game-specific step of PS-CFR (Kovařík et al. 2021, Algorithm 3, line 4). Chance is folded into the
utilities.

`DenseLeaves` and `ShowdownLeaves` take the leaves in two parts, because poker ends in two ways: part 0 are
showdowns, where the utility to player 0 is payoff x sign(strength 0 - strength 1), part 1 are leaves whose
utility does not depend on the types (folds). Either may be empty. An end whose utility is the sum of both,
such as a showdown for a pot that is raked, is a leaf of each part: values of leaves add up, so no evaluator
needs a third kind of leaf, and no rake adds to its work elsewhere. The joint prior of the types is
  prior(h, g) = w0[h] w1[g] [h and g share no card] / Z.
`BlockLeaves` and `SparseLeaves` hold the utilities of an enumerated game; `GeneralSumLeaves` a pair of them.
"""

import abc
import dataclasses
import math
from collections.abc import Sequence
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.backend.array_shapes import Float, Int, Shaped
from ps_cfr_spiel.memory import HOST
from ps_cfr_spiel.tree.arrays import Array, Parts
from ps_cfr_spiel.tree.leaf_evaluator import LeafEvaluator, Order, Payoffs
from ps_cfr_spiel.tree.padding import fill
from ps_cfr_spiel.tree.prior import WeightedTypes, deal_weights
from ps_cfr_spiel.tree.public_tree import PublicTree

MOST_TYPES = 64  # of a player, up to which the library multiplies by matrices of payoffs as fast as XLA
HIGHEST = jax.lax.Precision.HIGHEST  # a GPU may round float32 products to TF32 otherwise


def pick(
  values: Shaped[Array, "L ..."], leaves: Int[np.ndarray, "_boards _n"]
) -> Shaped[np.ndarray, "_ ..."]:
  """Some leaves' values by their numbers; zeros for leaf -1."""
  numbers = leaves.ravel()
  live = numbers >= 0
  picked = np.zeros((len(numbers), *values.shape[1:]), values.dtype)  # quicker than np.pad
  picked[live] = np.asarray(values)[numbers[live]]
  return picked


def dot(a: Shaped[Array, "... m n"], b: Shaped[Array, "... n k"]) -> Shaped[jax.Array, "... m k"]:
  """Matrix product in the full precision of its inputs."""
  return jnp.matmul(a, b, precision=HIGHEST)


class TwoParts(LeafEvaluator):
  """An evaluator of showdowns and folds, a frozen dataclass."""

  __dataclass_fields__: ClassVar[dict[str, dataclasses.Field]]  # of the dataclasses that derive from it

  showdown_payoff: Float[Array, "... L0"]  #: chips at stake in each showdown
  #: utility to player 0 in each other leaf; in a general-sum game [..., L1, 2], to each player.
  fold_payoff: Float[Array, "... L1"]

  @classmethod
  @abc.abstractmethod
  def table_bytes(cls, boards: int, cards: tuple[np.ndarray, np.ndarray], itemsize: int) -> int:
    """The estimated bytes of the tables of some boards, on the host, and on the device in its numbers.

    `cards` are of each player's types, int[H0, 2] and int[H1, 2]; `itemsize` are the bytes of a number on the
    device. On the host all may be there twice, while boards are joined.
    """

  @property
  def zero_sum(self) -> bool:
    return self.fold_payoff.ndim == self.showdown_payoff.ndim

  def fold_payoff_of(self, player: int) -> Float[Array, "... L1"]:
    """The utility to a player in each fold."""
    return (1 - 2 * player) * self.fold_payoff if self.zero_sum else self.fold_payoff[..., player]

  def _with(self, showdown_payoff: Float[Array, " L"], fold_payoff: Float[Array, "_L ..."]) -> "TwoParts":
    return dataclasses.replace(self, showdown_payoff=showdown_payoff, fold_payoff=fold_payoff)

  def sampled(self, player: int, leaf: Int[Array, " B"], reach: Float[Array, "B G"]) -> Float[Array, "B H"]:
    # Each leaf becomes one of either part, worth something in that from which it comes.
    showdown_payoff = jnp.pad(self.showdown_payoff, (0, len(self.fold_payoff)))[leaf]
    shown = (len(self.showdown_payoff), 0)
    fold_payoff = jnp.pad(self.fold_payoff, [shown, *[(0, 0)] * (self.fold_payoff.ndim - 1)])[leaf]
    first, second = self._with(showdown_payoff, fold_payoff)(player, [reach, reach])
    return first + second

  def take(self, leaves: Sequence[Int[np.ndarray, "_boards _L"]]) -> "TwoParts":
    return self._with(pick(self.showdown_payoff, leaves[0]), pick(self.fold_payoff, leaves[1]))


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class DenseLeaves(TwoParts):
  """Chance-weighted utilities as matrices: the paper's PS-CFR, O(H0 H1) for each leaf, for any prior."""

  kind: ClassVar[str] = "dense"
  showdown: Float[Array, "... H0 H1"]  #: prior x sign(strength 0 - strength 1)
  prior: Float[Array, "... H0 H1"]  #: by which two types are dealt together
  showdown_payoff: Float[Array, "... L0"]
  fold_payoff: Float[Array, "... L1"]

  @classmethod
  def create(
    cls,
    form: WeightedTypes,
    showdown_payoff: Float[Array, "... L0"],
    fold_payoff: Float[Array, "... L1"],
    total: float | None = None,
  ) -> "DenseLeaves":
    """Make it from the types of a form (see `compiler.from_form`) and the utilities of its leaves.

    Types of weight 0 are dead: they do not affect others
    and their value is 0. Weights of a deal are divided by `total`, by default Z, their sum, which makes them
    a prior. If it is given, all arrays may have the same axes in front: an evaluator for each of many boards.
    The cards may also be the same for all, [H, 2]. It works in a jitted function too, on JAX's arrays.
    """
    prior = deal_weights(form)
    prior = prior / (prior.sum() if total is None else total)
    first, second = form.strength[0][..., :, None], form.strength[1][..., None, :]
    return cls(prior * (first > second) - prior * (first < second), prior, showdown_payoff, fold_payoff)

  @classmethod
  def table_bytes(cls, boards: int, cards: tuple[np.ndarray, np.ndarray], itemsize: int) -> int:
    return boards * 2 * len(cards[0]) * len(cards[1]) * (2 * HOST + itemsize)

  def __call__(self, player: int, opponent_reach: Parts, own_reach: Parts | None = None) -> Parts:
    showdown, prior = self.showdown, self.prior
    if player == 0:
      showdown, prior = showdown.T, prior.T
    sign = 1 - 2 * player
    return [
      dot(opponent_reach[0], showdown) * (sign * self.showdown_payoff)[:, None],
      dot(opponent_reach[1], prior) * self.fold_payoff_of(player)[:, None],
    ]

  def pad_types(self, types: Sequence[int]) -> "DenseLeaves":
    return dataclasses.replace(self, showdown=fill(self.showdown, *types), prior=fill(self.prior, *types))

  @property
  def has_payoffs(self) -> bool:
    return super().has_payoffs and max(self.prior.shape[-2:]) <= MOST_TYPES

  def payoffs(self) -> tuple[Payoffs, Payoffs]:
    """See `LeafEvaluator`; with an axis of boards in front each of them has two matrices."""
    boards = self.prior.size // math.prod(self.prior.shape[-2:])
    ends = [x.reshape(boards, -1) for x in (self.showdown_payoff, self.fold_payoff_of(0))]
    number = np.concatenate([
      np.repeat(k * boards + np.arange(boards), x.shape[1]) for k, x in enumerate(ends)
    ]).astype(np.int32)  # fmt: skip

    def of(player: int) -> Payoffs:
      both = [table.reshape(boards, *table.shape[-2:]) for table in (self.showdown, self.prior)]
      matrix = jnp.concatenate([x.swapaxes(1, 2) if player == 0 else x for x in both])
      factors = (1 - 2 * player) * self.showdown_payoff, self.fold_payoff_of(player)
      return Payoffs(matrix, number, jnp.concatenate([x.reshape(-1) for x in factors]))

    return of(0), of(1)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class BlockLeaves(LeafEvaluator):
  """A matrix of chance-weighted utilities for each leaf: Bayesian games with few types."""

  kind: ClassVar[str] = "blocks"
  utility: Float[Array, "L H0 H1"]  #: sum of chance probability x utility to player 0

  def __call__(self, player: int, opponent_reach: Parts, own_reach: Parts | None = None) -> Parts:
    (reach,) = opponent_reach
    if player == 0:
      return [jnp.einsum("lhg,lg->lh", self.utility, reach, precision=HIGHEST)]
    return [-jnp.einsum("lhg,lh->lg", self.utility, reach, precision=HIGHEST)]

  def payoffs(self) -> tuple[Payoffs, Payoffs]:
    return Payoffs.of_each(self.utility.swapaxes(1, 2)), Payoffs.of_each(-self.utility)

  def sampled(self, player: int, leaf: Int[Array, " B"], reach: Float[Array, "B G"]) -> Float[Array, "B H"]:
    return type(self)(self.utility[leaf])(player, [reach])[0]

  def take(self, leaves: Sequence[Int[np.ndarray, "_boards _L"]]) -> "BlockLeaves":
    return dataclasses.replace(self, utility=pick(self.utility, leaves[0]))


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class SparseLeaves(BlockLeaves):
  """A number for each pair of last choices, any game: `utility` is [L, 1]."""

  kind: ClassVar[str] = "sparse"
  takes_orders: ClassVar[bool] = True
  utility: Float[Array, "L 1"]
  orders: tuple[Order | None, Order | None] = (None, None)  #: of many leaves, see `player_passes.ordered`

  def __call__(self, player: int, opponent_reach: Parts, own_reach: Parts | None = None) -> Parts:
    (reach,) = opponent_reach
    return [reach * (self.utility if player == 0 else -self.utility)]

  def payoffs(self) -> tuple[Payoffs, Payoffs]:
    first, second = self.orders
    if first is not None and second is not None:
      one = np.ones((1, 1, 1), self.utility.dtype)
      return Payoffs(one, first.number, first.factor), Payoffs(one, second.number, second.factor)
    return Payoffs.of_each(self.utility[:, :, None]), Payoffs.of_each(-self.utility[:, :, None])


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class GeneralSumLeaves(LeafEvaluator):
  """The leaves of a general-sum game, or of more than two players: an evaluator pays each player."""

  kind: ClassVar[str] = "general sum"
  #: for each player the evaluator of a zero-sum game, of which it is player 0, or 1 if not the first.
  of: tuple[LeafEvaluator, ...]

  def __call__(self, player: int, opponent_reach: Parts, own_reach: Parts | None = None) -> Parts:
    return self.of[player](player, opponent_reach, own_reach)

  def sampled(self, player: int, leaf: Int[Array, " B"], reach: Float[Array, "B G"]) -> Float[Array, "B H"]:
    return self.of[player].sampled(player, leaf, reach)

  def take(self, leaves: Sequence[Int[np.ndarray, "_boards _L"]]) -> "GeneralSumLeaves":
    return dataclasses.replace(self, of=tuple(leaves_of_player.take(leaves) for leaves_of_player in self.of))

  @property
  def zero_sum(self) -> bool:
    return False


INSTEAD = "The command solve, by PSCFRSolver, takes this game without them"


def check_zero_sum(tree: PublicTree, use: str, instead: str = INSTEAD, why: str = "") -> None:
  """ValueError if the game is of general sum or has more players.

  `use`, in the plural, names the purpose, and `instead` what takes such a game; `why` is a clause on zero-sum
  games.
  """
  check_two_players(tree, use, instead)
  if not tree.leaves.zero_sum:
    raise ValueError(
      f"{tree.names.game} is of general sum; {use} are for zero-sum games{why}. {instead}; the other way is "
      f"{zero_sum_way(tree.names.game)}."
    )


def zero_sum_way(game: str) -> str:
  """The zero-sum game to solve in place of a general-sum game, given by its string, in words."""
  return "the game without rake" if "rake=" in game else f"zerosum(game={game}), the difference"


def check_two_players(tree: PublicTree, use: str, instead: str = INSTEAD) -> None:
  """ValueError if there are more players; arguments as of `check_zero_sum`."""
  if len(tree.players) > 2:
    count = len(tree.players)
    raise ValueError(f"{tree.names.game} has {count} players; {use} are for two. {instead}.")
