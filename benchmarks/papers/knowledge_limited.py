"""Search by a player's knowledge over a cheap blueprint, in a game without public states.

  python -m benchmarks.papers.knowledge_limited [--sampled] [--seeds 0 1 2]

The loss of each player against the value of abrupt dark hex, by an exact best response of the opponent,
before and after searches at all own decisions; and the size of a search (Zhang and Sandholm 2021).

With --sampled: exact exploitability of `ParticleBot` by the depth of its searches, with sampled histories
and plays as in `hidden_moves`, the mean of strategies of some seeds; and with all histories and exact values.
"""

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from benchmarks.machine import flags
from benchmarks.papers.hidden_moves import Blueprint
from ps_cfr_spiel import build_tree
from ps_cfr_spiel.evaluation import evaluate_policy
from ps_cfr_spiel.matches import ParticleBot
from ps_cfr_spiel.resolving.subgames import KnownSubgames
from ps_cfr_spiel.solvers import ContinualResolving
from ps_cfr_spiel.tree import sequence_starts

GAME, VALUE = "dark_hex(board_size=2,gameversion=adh)", 0.5
BLUEPRINTS = (2, 10, 50)  # iterations of OpenSpiel's CFR+
ITERATIONS = 500  # of a search
METHODS = {
  "knowledge 1, cfr-d": {"knowledge": 1},
  "knowledge 1, max-margin": {"knowledge": 1, "gadget": "max-margin"},
  "knowledge 1, max-margin, not kept": {"knowledge": 1, "gadget": "max-margin", "keep": False},
  "knowledge 20, cfr-d": {"knowledge": 20},
  "knowledge 20, max-margin": {"knowledge": 20, "gadget": "max-margin"},
}

SAMPLED = (100, 1_000, 10_000)  # iterations of OpenSpiel's outcome sampling
DEPTHS = (1, 2, 3, None)


def losses(game: pyspiel.Game, policy) -> str:
  """Both players' losses."""
  responses = evaluate_policy(game, policy).best_response
  return f"{VALUE + responses[1]:.4f} / {responses[0] - VALUE:.4f}"


def leaves(game: pyspiel.Game, knowledge: int) -> str:
  """The mean number of leaves of each player's searches."""
  subgames, found = KnownSubgames.of(game, knowledge), ([], [])
  for n, decision in enumerate(subgames.labels.decisions):
    if subgames.decided[n]:
      count = sequence_starts(subgames.tree.players[decision.player].block_shapes)[-1]
      subgame = subgames.at(n, np.ones(count))
      assert subgame is not None
      found[decision.player].append(subgame.shape.leaves[0][1])
  return " / ".join(f"{np.mean(sizes):.0f}" for sizes in found)


class Bots(openspiel_policy.Policy):
  """The strategies of bots, one for each seat."""

  def __init__(self, game: pyspiel.Game, bots):
    super().__init__(game, [0, 1])
    self.bots = bots

  def action_probabilities(self, state, player_id=None):
    return self.bots[state.current_player()].probabilities(state)


class Values:
  """The exact value of the blueprint at each of some states, to player 0."""

  def __init__(self, policy):
    self.policy, self.known = policy, {}

  def __call__(self, states):
    return np.array([self.of(state) for state in states])

  def of(self, state: pyspiel.State) -> float:
    """The value at one state."""
    path = tuple(state.history())
    if path not in self.known:
      odds = {} if state.is_terminal() else self.policy.action_probabilities(state)
      below = sum(share * self.of(state.child(action)) for action, share in odds.items() if share)
      self.known[path] = below if odds else state.player_return(0)
    return self.known[path]


def sampled(seeds: list[int]) -> None:
  """Print exploitability over blueprints of outcome sampling: with samples / with everything."""
  game = pyspiel.load_game(GAME)
  tree = build_tree(game, public_states="none")
  for iterations in SAMPLED:
    blueprint = Blueprint(game, iterations)
    cells = [f"{evaluate_policy(game, blueprint, tree=tree).exploitability:.3f}"]
    few = {"histories": 20, "rollouts": 400}
    everything = {"histories": 10_000, "values": Values(blueprint)}
    for depth in DEPTHS:
      found = []
      for settings, own in ((few, seeds), (everything, [0])):
        bots = [
          [
            ParticleBot(game, seat, blueprint, depth, iterations=100, seed=2 * seed + seat, **settings)
            for seat in (0, 1)
          ]
          for seed in own
        ]
        found.append(
          np.mean([evaluate_policy(game, Bots(game, two), tree=tree).exploitability for two in bots])
        )
      cells.append(" / ".join(f"{mean:.3f}" for mean in found))
    print(f"| {iterations:,} |", " | ".join(cells), "|", flush=True)


def main() -> None:
  """Print the tables."""
  options = flags(__doc__, sampled=False, seeds=[0, 1, 2])
  if options.sampled:
    sampled(options.seeds)
    return
  game, blueprints = pyspiel.load_game(GAME), []
  for iterations in BLUEPRINTS:
    solver = pyspiel.CFRPlusSolver(game)
    for _ in range(iterations):
      solver.evaluate_and_update_policy()
    blueprints.append(solver.tabular_average_policy())
  print("| blueprint |", " | ".join(losses(game, policy) for policy in blueprints), "| |", flush=True)
  for name, settings in METHODS.items():
    cells = [
      losses(
        game, ContinualResolving(game, ITERATIONS, blueprint=policy, dtype="float64", **settings).tabularise()
      )
      for policy in blueprints
    ]
    print(f"| {name} |", " | ".join(cells), f"| {leaves(game, settings['knowledge'])} |", flush=True)


if __name__ == "__main__":
  main()
