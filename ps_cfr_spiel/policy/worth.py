"""The values of a policy's actions at every infostate, in the game's utility."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ps_cfr_spiel.device import jit, precision, to_device
from ps_cfr_spiel.policy.reach import Reach, Strategies
from ps_cfr_spiel.reports import waiting
from ps_cfr_spiel.tree import (
  Decision,
  PublicTree,
  action_values,
  best_response_values,
  pad_types,
  sequence_reach,
)


class Worth(NamedTuple):
  """The values of a row's actions to its player; A actions, H types.

  All values are for each visit: given that chance and the opponents have played to the infostate; nan where
  they never do.

  Attributes:
    value: float64[A, H], expected utility of an action if all players continue by the policy.
    best: float64[A, H], the same if the player continues by a best response.
  """

  value: np.ndarray
  best: np.ndarray


class Worths:
  """The values of every row of a profile."""

  def __init__(self, tree: PublicTree, strategies: Strategies, reach: Callable[[Decision], Reach]):
    """Compute all rows at once, in float64; `reach` is that of a row by these strategies."""
    self._reach, variant = reach, pad_types(tree)  # so that boards share compiled code
    padded = [variant.there(player, blocks) for player, blocks in enumerate(strategies)]
    with precision("float64"), waiting("Computing values"):
      found = _values(*to_device((variant.tree, padded), "float64"))
    self._values, self._best = (
      [variant.back(player, [np.asarray(block) for block in blocks]) for player, blocks in enumerate(both)]
      for both in found
    )

  def at(self, decision: Decision) -> Worth:
    """The values of one row."""
    weight = self._reach(decision).others
    here = [both[decision.player][decision.block][:, decision.row] for both in (self._values, self._best)]
    return Worth(*(np.divide(x, weight, out=np.full_like(x, np.nan), where=weight > 0) for x in here))


@jit()
def _values(tree: PublicTree, strategies: Any) -> Any:
  """Counterfactual action values of the profile, and of best responses to it: [A, rows, H] each."""
  reach = [sequence_reach(player, s) for player, s in zip(tree.players, strategies, strict=True)]
  players = range(len(tree.players))
  values = [action_values(tree, i, strategies[i], reach)[0] for i in players]
  best = [best_response_values(tree, i, *(strategies[j] for j in players if j != i))[0] for i in players]
  return values, best
