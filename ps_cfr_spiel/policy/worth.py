"""What the actions of a policy are worth at every infostate, in the game's utility."""

from typing import Any, NamedTuple

import numpy as np

from ps_cfr_spiel.device import jit, precision, to_device
from ps_cfr_spiel.policy.reach import Reach, Strategies, reaches
from ps_cfr_spiel.tree import Decision, PublicTree, action_values, best_response_values, sequence_reach


class Worth(NamedTuple):
  """What a row's actions are worth to its player; A actions, H types.

  All values are for each visit: given that chance and the opponent have played to the infostate; nan where
  they never do.

  Attributes:
    reach: how often play comes here.
    value: float64[A, H], expected utility of an action if both players go on by the policy.
    best: float64[A, H], the same if the player goes on by a best response.
  """

  reach: Reach
  value: np.ndarray
  best: np.ndarray


class Worths:
  """The worth of every row of a profile.

  Args:
    tree: the compiled game, on the host.
    strategies: for each player [A, rows, H] for each block.
  """

  def __init__(self, tree: PublicTree, strategies: Strategies):
    """Computes all of it at once, in float64."""
    labels = tree.names
    self._places = {(d.player, d.block, d.row): n for n, d in enumerate(labels.decisions)}
    self._reaches = reaches(labels, strategies)
    with precision("float64"):
      values, best = _values(*to_device((tree, strategies), "float64"))
      self._values, self._best = ([[np.asarray(b) for b in bs] for bs in both] for both in (values, best))

  def at(self, decision: Decision) -> Worth:
    """The worth of one row."""
    number = self._places[decision.player, decision.block, decision.row]
    reach = self._reaches[number]
    value, best = (
      _for_each_visit(blocks[decision.player][decision.block][:, decision.row], reach.others)
      for blocks in (self._values, self._best)
    )
    return Worth(reach, value, best)


def _for_each_visit(values: np.ndarray, weight: np.ndarray) -> np.ndarray:
  """Counterfactual values [A, H] over the probability [H] that they hold; nan where that is 0."""
  return np.divide(values, weight, out=np.full_like(values, np.nan), where=weight > 0)


@jit()
def _values(tree: PublicTree, strategies: Any) -> Any:
  """Counterfactual action values of the profile, and of best responses to it: [A, rows, H] each."""
  reach = [sequence_reach(player, s) for player, s in zip(tree.players, strategies, strict=True)]
  values = [action_values(tree, i, strategies[i], reach)[0] for i in (0, 1)]
  best = [best_response_values(tree, i, strategies[1 - i])[0] for i in (0, 1)]
  return values, best
