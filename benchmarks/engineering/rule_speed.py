"""Time of an iteration with every regret rule, on games of every kind: what the loop around the leaves costs.

  taskset -c 0 python -m benchmarks.engineering.rule_speed

Microseconds an iteration of both players, the median of several runs, and in brackets the seconds that
compiling the loop takes; float32, leaves as `auto` chooses them. The last column is the distance from the
hardware: the time that NumPy takes to copy as many bytes as the last rule's tables have, each of which an
iteration reads and writes. Run it on two versions of the package, in turn, to compare them.
"""

import time

import jax
import numpy as np
import pyspiel

from benchmarks.machine import describe, flags, median_seconds
from ps_cfr_spiel import PSCFRSolver
from ps_cfr_spiel.rules import RULES

GOOFSPIEL = "turn_based_simultaneous_game(game=goofspiel(num_cards={},imp_info=True,points_order=descending))"
GAMES = {  # game: iterations of a run
  "Kuhn": ("kuhn_poker", 20000),
  "Leduc": ("leduc_poker", 2000),
  "goofspiel 4": (GOOFSPIEL.format(4), 5000),
  "goofspiel 5": (GOOFSPIEL.format(5), 1000),
  "river": ("river_subgame", 100),
  "river, SPR 1": ("river_subgame(pot=200,stack=300)", 500),
  "liar's dice": ("liars_dice", 50),
  "turn": ("holdem_subgame(board=9s7c5s4h,pot=200,stack=1000,bets=1 a)", 10),
}


def iteration(solver: PSCFRSolver, iterations: int, repetitions: int) -> tuple[float, float]:
  """Seconds an iteration, and seconds of processor time to compile it."""
  began = time.process_time()
  solver.run(1, progress=False)
  compiling = time.process_time() - began
  step = lambda: solver.run(iterations, progress=False)  # noqa: E731
  step()  # finds its pace
  return median_seconds(step, repetitions) / iterations, compiling


def copying(solver: PSCFRSolver, repetitions: int) -> float:
  """Seconds to copy a run's tables once."""
  size = sum(np.asarray(x).nbytes for x in jax.tree.leaves(solver._state))
  tables, copy = np.ones(size, np.uint8), np.zeros(size, np.uint8)
  times = max(1, 10**7 // size)
  return median_seconds(lambda: [np.copyto(copy, tables) for _ in range(times)], repetitions) / times


def main() -> None:
  """Prints a line for each game."""
  options = flags(__doc__, games=list(GAMES), rules=list(RULES), repetitions=7)
  jax.config.update("jax_enable_compilation_cache", False)
  print(describe())
  print(f"{'us an iteration':16}" + "".join(f"{name:>17}" for name in (*options.rules, "a copy")))
  for name in options.games:
    game, iterations = GAMES[name]
    solvers = [PSCFRSolver(pyspiel.load_game(game), rule, dtype="float32") for rule in options.rules]
    row = [iteration(solver, iterations, options.repetitions) for solver in solvers]
    cells = [f"{1e6 * seconds:9.1f} ({compiling:.2f})" for seconds, compiling in row]
    copied = 1e6 * copying(solvers[-1], options.repetitions)
    print(f"{name:16}" + "".join(f"{cell:>17}" for cell in (*cells, f"{copied:.1f}")), flush=True)


if __name__ == "__main__":
  main()
