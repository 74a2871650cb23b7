"""Games played through OpenSpiel's states: how well, how fast and in how much memory they are learned.

  python benchmarks/played_games.py [NAME ...] [--iterations 60] [--games 600] [--cells 500000]

Matches are against a player who moves at random, seats alternating. Memory is the most that the process ever
had, so give one game at a time to compare.
"""

import argparse
import resource
import time

import pyspiel
from machine import describe

from ps_cfr_spiel import PlayedMCCFRSolver, matches

MARKS = 3
UNIT = 1024  # of ru_maxrss, to MB


def main() -> None:
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("names", nargs="*", default=["liars_dice(numdice=2)", "dark_hex(board_size=3)"])
  parser.add_argument("--iterations", type=int, default=60)
  parser.add_argument("--games", type=int, default=600, help="in each match")
  parser.add_argument("--cells", type=int, default=500_000, help="most moves of keys")
  options = parser.parse_args()
  print(describe())
  for name in options.names:
    print(f"\n{name}, at most {options.cells:,} cells; {memory():.0f} MB before")
    solver = PlayedMCCFRSolver(pyspiel.load_game(name), cells=options.cells)
    solver.compile(progress=False)
    used = 0.0
    for mark in range(1, MARKS + 1):
      started = time.process_time()
      solver.run(options.iterations * mark // MARKS - solver.iteration, progress=False)
      used += time.process_time() - started
      policy = matches.player(solver.average_policy())
      result = matches.match(solver.game, policy, matches.player("random", 1), options.games)
      print(
        f"  {used:6.1f} s, {solver.plays:,} plays, {solver.nodes:,} decisions, "
        f"{solver.average_policy().cells():,} cells with weight, {memory():.0f} MB: {result}",
        flush=True,
      )


def memory() -> float:
  """Megabytes, the most so far."""
  return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / UNIT


if __name__ == "__main__":
  main()
