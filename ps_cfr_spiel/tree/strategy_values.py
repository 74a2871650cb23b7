"""Values of strategies and of best responses, by the two passes of `traverse`."""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias, overload

import jax

from ps_cfr_spiel.backend.array_shapes import Float
from ps_cfr_spiel.backend.device import jit
from ps_cfr_spiel.tree.arrays import Array, Parts
from ps_cfr_spiel.tree.leaf_evaluator import LeafEvaluator
from ps_cfr_spiel.tree.player_passes import Passes, PlayerPasses, Tables
from ps_cfr_spiel.tree.public_tree import PublicTree
from ps_cfr_spiel.tree.traverse import (
  others_reach,
  product_of,
  sequence_values,
  sum_actions,
)

Scalar: TypeAlias = Float[Array, ""] | float


@overload
def gain_of(difference: float) -> float: ...


@overload
def gain_of(difference: Array) -> Array: ...


def gain_of(difference: Array | float) -> Array | float:
  """The gain of a best response, or exploitability: never below 0, where rounding alone can put it.

  NaN stays, so that a diverged run is detected. Of a float or an array.
  """
  return abs(difference) * (difference > 0)


class Evaluation(NamedTuple):
  """The values of a strategy profile, in the game's own utility: arrays in a trace, floats outside.

  Attributes:
    value: to player 0 when all follow the profile.
    best_response: to each player for a best response against the others' strategies.
    exploitability: mean of the players' gains by best responses, NashConv / players as OpenSpiel reports
      it; in a zero-sum game of two the mean of the two best responses.
    others: to each further player; None in a zero-sum game of two, where it is -value.
  """

  value: Scalar
  best_response: tuple[Scalar, ...]
  exploitability: Scalar
  others: tuple[Scalar, ...] | None = None

  @property
  def values(self) -> list[float]:
    """To all players, outside a trace; in a zero-sum game of two to player 0 alone."""
    return [float(value) for value in (self.value, *(self.others or ()))]

  @property
  def gains(self) -> tuple[Scalar, ...]:
    """Each player's gain by a best response, at least 0; they sum up to NashConv."""
    values = self.value, *((-self.value,) if self.others is None else self.others)
    return tuple(gain_of(best - value) for best, value in zip(self.best_response, values, strict=True))

  @classmethod
  def of(cls, best: tuple[Scalar, ...], *values: Scalar) -> "Evaluation":
    """Make it of each player's best response, and the values to each; in a zero-sum game to player 0."""
    first, *others = values
    if not others:
      return cls(first, best, gain_of((best[0] + best[1]) / 2))
    result = cls(first, best, first, tuple(others))
    return result._replace(exploitability=sum(result.gains[1:], result.gains[0]) / len(best))


def best_response_values(
  tree: PublicTree, player: int, *opponent_strategies: Sequence[Float[Array, "_A _rows _G"]]
) -> tuple[list[Float[Array, "_A _rows H"]], Float[Array, "roots H"]]:
  """Counterfactual action values of a best response to the opponents' strategies, in their order.

  Returns those of each block of `player`, and the values of the roots.
  """
  opponents = [PlayerPasses.of(player_tree) for i, player_tree in enumerate(tree.players) if i != player]
  given = zip(opponents, opponent_strategies, strict=True)
  against = product_of(_leaf_reach(opponents, [passes.tree.join(strategy) for passes, strategy in given]))
  responder = PlayerPasses.of(tree.players[player])
  values, roots = responder.up(None, tree.leaves(player, against))
  return responder.tree.split(values), roots


def values_in_tables(tree: PublicTree, tables: Sequence[Tables]) -> tuple[list[Tables], list[Tables]]:
  """Counterfactual action values of a profile, and of best responses to it, in tables as the profile is."""
  both_passes = [PlayerPasses.of(player) for player in tree.players]
  reach, values, best = _leaf_reach(both_passes, tables), [], []
  for i, passes in enumerate(both_passes):
    against = others_reach(reach, i)
    values.append(passes.up(tables[i], tree.leaves(i, against, reach[i]))[0])
    best.append(passes.up(None, tree.leaves(i, against))[0])
  return values, best


def _leaf_reach(passes: Sequence[Passes], tables: Sequence[Tables]) -> list[Parts]:
  """The reach of the leaves by each player's strategy."""
  return [of_player.leaves(of_player.down(x)) for of_player, x in zip(passes, tables, strict=True)]


def evaluation(tree: PublicTree, strategies: Sequence[Sequence[Float[Array, "_A _rows _H"]]]) -> Evaluation:
  """Value, best responses and exploitability of a profile, a strategy for each player and block.

  For use in jitted functions; see `evaluate`.
  """
  return _of_tables(tree, _joined(tree, strategies))


def evaluate(tree: PublicTree, strategies: Sequence[Sequence[Float[Array, "_A _rows _H"]]]) -> Evaluation:
  """The same, jitted, but for putting the blocks together: XLA takes long to compile those of deep games."""
  return _jitted(tree, _joined(tree, strategies))


def _joined(tree: PublicTree, strategies: Sequence[Sequence[Float[Array, "_A _rows _H"]]]) -> list[Tables]:
  """Each player's tables of buckets, from those of blocks."""
  return [player.join(blocks) for player, blocks in zip(tree.players, strategies, strict=True)]


def _of_tables(tree: PublicTree, tables: Sequence[Tables]) -> Evaluation:
  return evaluation_by([PlayerPasses.of(player) for player in tree.players], tree.leaves, tables)


_jitted = jit()(_of_tables)


def evaluation_by(passes: Sequence[Passes], leaves: LeafEvaluator, tables: Sequence[Tables]) -> Evaluation:
  """Value, best responses and exploitability by each player's passes, from the strategies in their tables."""
  reach = _leaf_reach(passes, tables)
  against = [others_reach(reach, i) for i in range(len(passes))]
  best = tuple(of_player.up(None, leaves(i, against[i]))[1].sum() for i, of_player in enumerate(passes))

  def value(i: int) -> Array:
    return passes[i].up(tables[i], leaves(i, against[i], reach[i]))[1].sum()

  return Evaluation.of(best, *map(value, range(1 if leaves.zero_sum else len(passes))))


def action_values(
  tree: PublicTree,
  player: int,
  strategy: Sequence[Float[Array, "_A _rows H"]],
  reach: Sequence[Sequence[Float[Array, "_S _H"]]],
) -> tuple[list[Float[jax.Array, "_A _rows H"]], Float[jax.Array, "roots H"], Sequence[Float[Array, "_L H"]]]:
  """Counterfactual values of a player's strategy, given for each block, against all `sequence_reach`.

  Returns those of all actions, for each block, of the roots, and of the leaves.
  """
  at_leaves = [player_tree.leaf.pull(parts) for player_tree, parts in zip(tree.players, reach, strict=True)]
  leaf_values = tree.leaves(player, others_reach(at_leaves, player), at_leaves[player])
  values, roots = sequence_values(
    tree.players[player], leaf_values, lambda k, q: sum_actions(strategy[k] * q)
  )
  return values, roots, leaf_values
