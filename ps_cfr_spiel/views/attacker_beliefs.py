"""Beliefs about the attacker and the units of graph pursuit, by shared observations; places of nodes."""

from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np

from ps_cfr_spiel.policy import TreePolicy
from ps_cfr_spiel.reports import waiting
from ps_cfr_spiel.views.evader_beliefs import layout


class Belief(NamedTuple):
  """The belief of an observer who knows both strategies and sees all that both players see."""

  attacker: np.ndarray  #: float64[n], probability of the attacker on each node
  units: np.ndarray  #: float64[n], probability of at least one unit


def beliefs(policy: TreePolicy) -> dict[int, Belief]:
  """The belief at each public state in which a player decides, by its number: Bayes' rule.

  Positions are those after the last turn, without the attacker's move in this one. If the policy never comes
  to a public state, uniform play is assumed. All histories are enumerated.
  """
  game: Any = policy.game
  nodes = len(game.pursuit.ways)
  tables: dict[int, np.ndarray] = defaultdict(lambda: np.zeros((2, 2, nodes)))  # by policy, uniformly

  def visit(state: Any, weights: np.ndarray) -> None:
    if state.is_terminal():
      return
    player = state.current_player()
    name = state.information_state_string(player)
    table_at = tables[policy.labels.find(player, name)[0].public_state]
    table_at[:, 0, state.attacker] += weights
    table_at[:, 1, list(set(state.units))] += weights[:, None]
    moves = policy.at(player, name)
    for action, probability in moves.items():
      visit(state.child(action), weights * (probability, 1 / len(moves)))

  with waiting("Beliefs"):
    visit(game.new_initial_state(), np.ones(2))
  result = {}
  for number, table in tables.items():
    attacker, units = table[0] if table[0].any() else table[1]
    result[number] = Belief(attacker / attacker.sum(), units / attacker.sum())
  return result


def pursuit_layout(ways: tuple[tuple[int, ...], ...]) -> np.ndarray:
  """`glasses.layout` of a graph with one-way edges, as if all led both ways."""
  joined = np.zeros((len(ways), len(ways)), bool)
  for a, near in enumerate(ways):
    joined[a, list(near)] = True
  joined = (joined | joined.T) & ~np.eye(len(ways), dtype=bool)
  return layout(tuple(tuple(np.flatnonzero(row).tolist()) for row in joined))
