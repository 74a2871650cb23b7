"""The evader's possible nodes in Glasses, by a policy or by a search's expectation; and a map."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from ps_cfr_spiel.policy import TreePolicy

if TYPE_CHECKING:
  from ps_cfr_spiel.solvers import ContinualResolving

CHASER, EVADER = 0, 1


def evader_belief(state: pyspiel.State, policy: openspiel_policy.Policy | None = None) -> dict[int, float]:
  """The chaser's belief, {node: probability}, about the evader by the evader's strategy and Bayes' rule.

  Only the public part of the state is used; ValueError for one of another game. Without a policy, or if it
  never gets here, every move is equally likely.
  """
  game = state.get_game()
  if game.get_type().short_name != "glasses":
    raise ValueError(f"Expected a state of glasses, got one of {game}.")
  policy = openspiel_policy.UniformRandomPolicy(game) if policy is None else policy
  weights = _evader_weights(state, policy)
  if not sum(weights.values()):
    weights = _evader_weights(state, openspiel_policy.UniformRandomPolicy(game))
  total = sum(weights.values())
  return {node: weight / total for node, weight in sorted(weights.items())}


def _evader_weights(state: Any, policy: openspiel_policy.Policy) -> dict[int, float]:
  """Probability that the evader's strategy leads to each node and to the public part of `state`."""
  public = state.information_state_string(CHASER)
  reached = [(state.get_game().new_initial_state(), 1.0)]
  for action in state.history():
    after = []
    for position, probability in reached:
      if position.current_player() == CHASER:
        after.append((position.child(action), probability))
      elif position.current_player() == EVADER:
        chances = policy.action_probabilities(position, EVADER)
        after += [(position.child(move), probability * chance) for move, chance in chances.items()]
    reached = after
  weights: dict[int, float] = defaultdict(float)
  for position, probability in reached:
    if position.information_state_string(CHASER) == public:
      weights[position.evader] += probability
  return weights


class RecordedChase(NamedTuple):
  """A play of Glasses with a search as the chaser."""

  state: pyspiel.State  #: the end
  #: for every position from the start, the search's belief about the evader, node to probability.
  beliefs: list[dict[int, float]]
  seconds: list[float]  #: duration of every decision of the chaser, the first with compilation


def watch(resolving: ContinualResolving, evader: pyspiel.Bot, seed: int = 0) -> RecordedChase:
  """Let a search of glasses chase an evader, a bot for player 1, and record its beliefs.

  The search's prediction of the evader comes from the first search that looked that far ahead. An evader that
  plays otherwise cannot make the chaser lose more, but may be elsewhere. `seed` is for the chaser's choices.
  """
  game = resolving.game
  if game.get_type().short_name != "glasses":
    raise ValueError(f"Expected a search of glasses, got one of {game}.")
  chaser = resolving.bot(CHASER, seed)
  places = {(d.player, name): d.public_state for d, _, name in resolving.labels.infostates()}
  state, expected = game.new_initial_state(), None
  beliefs = [evader_belief(state)]
  while not state.is_terminal():
    if state.current_player() == CHASER:
      action = chaser.step(state)
      public_state = places[CHASER, state.information_state_string(CHASER)]
      expected = TreePolicy(game, resolving.labels, resolving.search(public_state).tables)
    else:
      action = evader.step(state)
    state.apply_action(action)
    beliefs.append(evader_belief(state, expected))
  return RecordedChase(state, beliefs, chaser.seconds)


# --- The map -------------------------------------------------------------------------------------


def layout(neighbours: tuple[tuple[int, ...], ...], iterations: int = 300) -> np.ndarray:
  """Place the nodes of a graph, float64[n, 2], with distances in the plane close to those along edges.

  Stress majorisation (Gansner, Koren and North 2005) from classical scaling, the longest side level;
  `neighbours` has for each node the nodes next to it.
  """
  distance = _distances(neighbours)
  count = len(distance)
  weight = np.divide(1.0, distance**2, out=np.zeros_like(distance), where=distance > 0)
  laplacian = np.diag(weight.sum(1)) - weight
  inverse = np.linalg.pinv(laplacian)
  centre = np.eye(count) - 1 / count
  values, vectors = np.linalg.eigh(-centre @ distance**2 @ centre / 2)
  place = vectors[:, -1:-3:-1] * np.sqrt(np.maximum(values[-1:-3:-1], 0.01))
  for _ in range(iterations):
    apart = np.linalg.norm(place[:, None] - place[None], axis=-1)
    pull = np.divide(-weight * distance, apart, out=np.zeros_like(apart), where=apart > 1e-9)
    pull -= np.diag(pull.sum(1))
    place = inverse @ (pull @ place)
  _, axes = np.linalg.eigh(place.T @ place)
  place = place @ axes[:, ::-1]
  # Node 0 to the left; on top the node farthest aside, the first of several.
  aside = np.abs(place[:, 1])
  first = place[[0, np.flatnonzero(aside > aside.max() - 1e-6)[0]], [0, 1]]
  return place * np.where(first * (-1, 1) < -1e-9, -1.0, 1.0)


def _distances(neighbours: tuple[tuple[int, ...], ...]) -> np.ndarray:
  """Number of edges between every two nodes, float64[n, n]."""
  from scipy.sparse import coo_array, csgraph  # imported here: large, and only for pictures

  rows = np.repeat(np.arange(len(neighbours)), [len(near) for near in neighbours])
  edges = coo_array((np.ones(len(rows)), (rows, np.concatenate(neighbours))))
  return csgraph.shortest_path(edges.tocsr(), unweighted=True)
