"""Search by a player's knowledge over a cheap blueprint, in a game without public states.

  python -m benchmarks.papers.knowledge_limited

The loss of each player against the value of abrupt dark hex, by an exact best response of the opponent,
before and after searches at all own decisions; and the size of a search (Zhang and Sandholm 2021).
"""

import numpy as np
import pyspiel

from benchmarks.machine import flags
from ps_cfr_spiel.evaluation import evaluate_policy
from ps_cfr_spiel.solvers import ContinualResolving
from ps_cfr_spiel.subgames import KnownSubgames
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


def main() -> None:
  """Print the table."""
  flags(__doc__)
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
