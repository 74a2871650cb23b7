"""Values of strategies and of best responses, by the two passes of `traverse`."""

from collections.abc import Sequence
from typing import NamedTuple

from ps_cfr_spiel.device import jit
from ps_cfr_spiel.tree.public_tree import Array, LeafEvaluator, Parts, PublicTree
from ps_cfr_spiel.tree.traverse import max_actions, sequence_reach, sequence_values, sum_actions
from ps_cfr_spiel.tree.walk import Walk


class Evaluation(NamedTuple):
  """The values of a strategy profile, in the game's own utility.

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


def evaluation(tree: PublicTree, strategies: Sequence[Sequence[Array]]) -> Evaluation:
  """Value, best responses and exploitability of a profile, [A, rows, H] for each player and block.

  For use in jitted functions; `evaluate` is this, jitted.
  """
  walks = [Walk.of(player) for player in tree.players]
  tables = [player.join(s) for player, s in zip(tree.players, strategies, strict=True)]
  reach = [walk.down(own)[1] for walk, own in zip(walks, tables, strict=True)]
  best = [walks[i].up(None, tree.leaves(i, reach[1 - i]))[1].sum() for i in (0, 1)]
  value = walks[0].up(tables[0], tree.leaves(0, reach[1], reach[0]))[1].sum()
  return Evaluation(value, (best[0], best[1]), (best[0] + best[1]) / 2)


evaluate = jit()(evaluation)


def record_of(leaves: LeafEvaluator, player: int, values: Parts) -> tuple[Array, ...]:
  """The leaves' values that a solver averages, in the same way as strategies; by default none.

  An evaluator that needs averages has a method `recorded(player, values)`, which picks them out of the parts
  that a call has given for this player.
  """
  return leaves.recorded(player, values) if hasattr(leaves, "recorded") else ()  # pyright: ignore[reportAttributeAccessIssue]


def action_values(
  tree: PublicTree, player: int, strategy: Sequence[Array], reach: Sequence[Sequence[Array]]
) -> tuple[list[Array], Array, list[Array]]:
  """Counterfactual values of one player's strategy against the opponent's sequence reaches.

  Args:
    tree: on the device.
    player: 0 or 1.
    strategy: [A, rows, H] for each block of the player.
    reach: both players' `sequence_reach`.

  Returns:
    Action values [A, rows, H] for each block, the values of the roots [roots, H], the values of the leaves.
  """
  own, opponent = (tree.players[i].leaf.pull(reach[i]) for i in (player, 1 - player))
  leaf_values = tree.leaves(player, opponent, own)
  values, roots = sequence_values(
    tree.players[player], leaf_values, lambda k, q: sum_actions(strategy[k] * q)
  )
  return values, roots, leaf_values
