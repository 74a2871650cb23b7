"""Exact best response values and exploitability, on the device, by the solver's own two passes."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import pyspiel

from ps_cfr_spiel.build import build_tree
from ps_cfr_spiel.cfr import action_values
from ps_cfr_spiel.compilation import jit
from ps_cfr_spiel.policy import TreePolicy, strategies_of
from ps_cfr_spiel.precision import check_dtype, precision, to_device
from ps_cfr_spiel.traverse import max_actions, sequence_reach, sequence_values
from ps_cfr_spiel.tree import Array, PublicTree


class Evaluation(NamedTuple):
  """What a strategy profile is worth, in the game's own utility.

  Attributes:
    value: [] to player 0 when both follow the profile.
    best_response: ([], []) to each player for a best response against the other's strategy.
    exploitability: [] mean of the two best responses, NashConv / 2 as OpenSpiel reports it.
  """

  value: Array
  best_response: tuple[Array, Array]
  exploitability: Array


def best_response_values(
  tree: PublicTree, player: int, opponent_strategy: Sequence[Array]
) -> tuple[list[Array], Array]:
  """Counterfactual action values of a best response to the opponent's strategy.

  Returns:
    [A, rows, H] for each block of `player`, and the values of the roots, [roots, H].
  """
  opponent = tree.players[1 - player]
  leaf_reach = opponent.leaf.pull(sequence_reach(opponent, opponent_strategy))
  values = tree.leaves(player, leaf_reach)
  return sequence_values(tree.players[player], values, lambda _, q: max_actions(q))


@jit()
def evaluate(tree: PublicTree, strategies: Sequence[Sequence[Array]]) -> Evaluation:
  """Value, best responses and exploitability of a profile, [A, rows, H] for each player and block."""
  best = [best_response_values(tree, i, strategies[1 - i])[1].sum() for i in (0, 1)]
  reach = [sequence_reach(player, s) for player, s in zip(tree.players, strategies, strict=True)]
  value = action_values(tree, 0, strategies[0], reach)[1].sum()
  return Evaluation(value, (best[0], best[1]), (best[0] + best[1]) / 2)


def evaluate_policy(game: pyspiel.Game, policy: Any, dtype: str = "float64", **options: Any) -> Evaluation:
  """Evaluates any OpenSpiel policy on the device, for games too large for OpenSpiel's own tools.

  Args:
    game: any game that `build_tree` takes.
    policy: any OpenSpiel policy, Python or C++, of both players.
    dtype: "float32" or "float64".
    **options: of `build_tree`; by default those with which a `TreePolicy` was made.

  Returns:
    The `Evaluation`, as Python floats.

  Raises:
    ValueError: the policy is not one of this game, or `dtype` or an option is unknown.
    TypeError: `policy` is not a policy.
  """
  dtype = check_dtype(dtype)
  if isinstance(policy, TreePolicy):
    options = {**policy.tree_options, **options}
  tree = build_tree(game, **options)
  strategies = strategies_of(tree, game, policy)
  with precision(dtype):
    return jax.tree.map(float, evaluate(*to_device((tree, strategies), dtype)))


def exploitability(game: pyspiel.Game, policy: Any, dtype: str = "float64", **options: Any) -> float:
  """NashConv / 2 of any OpenSpiel policy; see `evaluate_policy` for arguments and errors."""
  return float(evaluate_policy(game, policy, dtype, **options).exploitability)
