"""Does exploitability keep falling? Long float32 runs of the default rule and CFR+, on Leduc and two rivers.

  python benchmarks/endurance.py [--iterations 1000000]

Exploitability of the average policy at powers of ten, measured in float64: in utility on Leduc, in % of the
pot on rivers. Sums without compensation lose late iterations, and it rises again.
"""

import argparse
import itertools

import pyspiel
from machine import describe
from river_convergence import SUBGAMES

import ps_cfr_spiel

GAMES = {
  "Leduc": "leduc_poker",
  "river, SPR 3, 52 x 46 hands": SUBGAMES["flush: SPR 3, half pot and pot, sparse"],
  "river, SPR 100, all hands": "river_subgame",
}


def main() -> None:
  """Prints a line for each game and rule."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("--iterations", type=int, default=1_000_000)
  parser.add_argument("--games", nargs="*", default=list(GAMES), choices=list(GAMES))
  options = parser.parse_args()
  points = [10**k for k in range(2, 9) if 10**k <= options.iterations]
  print(describe())
  print(f"{'exploitability after':35}" + "".join(f"{point:>12,}" for point in points))
  for name, rule in itertools.product(options.games, ("nrm+", "rm+")):
    game = pyspiel.load_game(GAMES[name])
    share = 1.0 if name == "Leduc" else 100 / game.get_parameters()["pot"]
    solver = ps_cfr_spiel.PSCFRSolver(game, rule)
    print(f"{name + ', ' + solver.name:35}", end="", flush=True)
    for point in points:
      solver.run(point - solver.iteration)
      found = ps_cfr_spiel.exploitability(game, solver.average_policy())
      print(f"{share * found:12.2e}", end="", flush=True)
    print()


if __name__ == "__main__":
  main()
