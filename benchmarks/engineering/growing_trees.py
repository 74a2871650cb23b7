"""Growing-tree CFR: exploitability of searches that open more and more public states, with values of zero.

  python -m benchmarks.engineering.growing_trees --game leduc_poker --expansions 0 16 64 2000

Prints a line for each number of expansions and seed: exploitability, histories of the largest tree, processor
seconds.
"""

import time

import numpy as np
import pyspiel

import ps_cfr_spiel
from benchmarks.machine import flags
from ps_cfr_spiel.matches import OnDemandResolving
from ps_cfr_spiel.values import StateValues


def main() -> None:
  """Prints the table."""
  options = flags(__doc__, game="leduc_poker", expansions=[0, 16, 64, 2000], iterations=200, seeds=3)
  game, nothing = pyspiel.load_game(options.game), StateValues(lambda states: np.zeros(len(states)))
  print(f"{'expansions':>10}{'seed':>6}{'exploitability':>16}{'histories':>11}{'seconds':>9}")
  for expansions in options.expansions:
    for seed in range(options.seeds):
      began = time.process_time()
      search = OnDemandResolving(
        game, options.iterations, expansions=expansions, value_function=nothing, seed=seed
      )
      gain, seconds = ps_cfr_spiel.exploitability(game, search), time.process_time() - began
      line = f"{expansions:10}{seed:6}{gain:16.4f}{search.largest_tree:11,}{seconds:9.0f}"
      print(line, flush=True)


if __name__ == "__main__":
  main()
