"""Where the attacker and the units of graph pursuit may be, by what both see; and places for its nodes."""

from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np

from ps_cfr_spiel.policy import TreePolicy
from ps_cfr_spiel.reports import waiting
from ps_cfr_spiel.views.glasses import layout


class Belief(NamedTuple):
  """Of one who knows both strategies and sees what both players see.

  Attributes:
    attacker: float64[n], how likely the attacker is on each node.
    units: float64[n], how likely at least one unit is.
  """

  attacker: np.ndarray
  units: np.ndarray


def beliefs(policy: TreePolicy) -> dict[int, Belief]:
  """What is believed at each public state in which a player decides, by its number: Bayes' rule.

  Positions are those after the last turn: where the attacker goes in this one is not asked. If the policy
  never comes to a public state, uniform play is assumed.

  Args:
    policy: of graph_pursuit, with public states. All histories are walked.
  """
  game: Any = policy.game
  nodes = len(game.pursuit.ways)
  found: dict[int, np.ndarray] = defaultdict(lambda: np.zeros((2, 2, nodes)))  # by policy, uniformly

  def walk(state: Any, weights: np.ndarray) -> None:
    if state.is_terminal():
      return
    player = state.current_player()
    name = state.information_state_string(player)
    here = found[policy.labels.find(player, name)[0].public_state]
    here[:, 0, state.attacker] += weights
    here[:, 1, list(set(state.units))] += weights[:, None]
    moves = policy.at(player, name)
    for action, probability in moves.items():
      walk(state.child(action), weights * (probability, 1 / len(moves)))

  with waiting("Beliefs"):
    walk(game.new_initial_state(), np.ones(2))
  result = {}
  for number, table in found.items():
    attacker, units = table[0] if table[0].any() else table[1]
    result[number] = Belief(attacker / attacker.sum(), units / attacker.sum())
  return result


def places(ways: tuple[tuple[int, ...], ...]) -> np.ndarray:
  """`glasses.layout` of a graph some of whose ways are one-way: for their places, all lead both ways."""
  joined = np.zeros((len(ways), len(ways)), bool)
  for a, near in enumerate(ways):
    joined[a, list(near)] = True
  joined = (joined | joined.T) & ~np.eye(len(ways), dtype=bool)
  return layout(tuple(tuple(np.flatnonzero(row).tolist()) for row in joined))
