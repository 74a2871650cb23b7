"""The values of a policy's actions at every infostate, in the game's utility: all rows at once, by JAX."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ps_cfr_spiel.device import jit, precision, to_device
from ps_cfr_spiel.policy.reach import Reach, Strategies, Worths
from ps_cfr_spiel.reports import waiting
from ps_cfr_spiel.tree import (
  Decision,
  PublicTree,
  action_values,
  best_response_values,
  pad_types,
  sequence_reach,
)


def worths_of(tree: PublicTree, strategies: Strategies, reach: Callable[[Decision], Reach]) -> Worths:
  """The values of every row of a profile, in float64; `reach` is that of a row by these strategies."""
  variant = pad_types(tree)  # so that boards share compiled code
  padded = [variant.there(player, blocks) for player, blocks in enumerate(strategies)]
  with precision("float64"), waiting("Computing values"):
    found = _values(*to_device((variant.tree, padded), "float64"))
  values, best = (
    [variant.back(player, [np.asarray(block) for block in blocks]) for player, blocks in enumerate(both)]
    for both in found
  )
  return Worths(values, best, reach)


@jit()
def _values(tree: PublicTree, strategies: Any) -> Any:
  """Counterfactual action values of the profile, and of best responses to it: [A, rows, H] each."""
  reach = [sequence_reach(player, s) for player, s in zip(tree.players, strategies, strict=True)]
  players = range(len(tree.players))
  values = [action_values(tree, i, strategies[i], reach)[0] for i in players]
  best = [best_response_values(tree, i, *(strategies[j] for j in players if j != i))[0] for i in players]
  return values, best
