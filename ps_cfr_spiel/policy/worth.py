"""The values of a policy's actions at every infostate, in the game's utility."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ps_cfr_spiel.device import jit, precision, to_device
from ps_cfr_spiel.policy.reach import Reach, Strategies
from ps_cfr_spiel.reports import waiting
from ps_cfr_spiel.tree import Decision, PublicTree, action_values, best_response_values, sequence_reach


class Worth(NamedTuple):
  """The values of a row's actions to its player; A actions, H types.

  All values are for each visit: given that chance and the opponent have played to the infostate; nan where
  they never do.

  Attributes:
    value: float64[A, H], expected utility of an action if both players continue by the policy.
    best: float64[A, H], the same if the player continues by a best response.
  """

  value: np.ndarray
  best: np.ndarray


class Worths:
  """The values of every row of a profile.

  Args:
    tree: the compiled game, on the host.
    strategies: for each player [A, rows, H] for each block.
    reach: the reach of a row by these strategies.
  """

  def __init__(self, tree: PublicTree, strategies: Strategies, reach: Callable[[Decision], Reach]):
    """Compute all rows at once, in float64."""
    self._reach = reach
    with precision("float64"), waiting("Computing values"):
      values, best = _values(*to_device((tree, strategies), "float64"))
      self._values, self._best = ([[np.asarray(b) for b in bs] for bs in both] for both in (values, best))

  def at(self, decision: Decision) -> Worth:
    """The values of one row."""
    player, block, row = decision.player, decision.block, decision.row
    others = self._reach(decision).others
    value, best = (
      _for_each_visit(blocks[player][block][:, row], others) for blocks in (self._values, self._best)
    )
    return Worth(value, best)


def _for_each_visit(values: np.ndarray, weight: np.ndarray) -> np.ndarray:
  """Counterfactual values [A, H] over the probability [H] of a visit; nan where that is 0."""
  return np.divide(values, weight, out=np.full_like(values, np.nan), where=weight > 0)


@jit()
def _values(tree: PublicTree, strategies: Any) -> Any:
  """Counterfactual action values of the profile, and of best responses to it: [A, rows, H] each."""
  reach = [sequence_reach(player, s) for player, s in zip(tree.players, strategies, strict=True)]
  values = [action_values(tree, i, strategies[i], reach)[0] for i in (0, 1)]
  best = [best_response_values(tree, i, strategies[1 - i])[0] for i in (0, 1)]
  return values, best
