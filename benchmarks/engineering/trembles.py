"""Exploitability, and local regrets everywhere, with trembles and without.

  python -m benchmarks.engineering.trembles [GAME ...] [--trembles 0 0.1 1] [--iterations 1000 3000 10000]

Of the average strategies: exploitability; what they lose at infostates if all then follow them, that is the
mean, the 99th percentile and the worst (`measures.local_regrets`); and the mean of what they lose to a best
response from there on; and the means by the number of the others' trembles on the way to an infostate. All
are in the game's utility, beside its stakes, half of the span of payoffs. Games are names of `GAMES` or
strings for OpenSpiel; those with a star had no part in the choice of the trembles. `--gadgets` adds continual
re-solving by these gadgets, with as many iterations in each search; `--time` the median microseconds of an
iteration, by calls of 100.
"""

import argparse
import json
import statistics
import time

import jax
import numpy as np
import pyspiel

import ps_cfr_spiel
from benchmarks.machine import describe

NARROW = "AA KK QQ AKs JTs T9s 98s 87s 65s A5s 77 A7s KQs"
WIDE = (
  "22+ A2s+ K2s+ Q5s+ J7s+ T7s+ 97s+ 86s+ 75s+ 64s+ A2o+ K8o+ Q9o+ J9o+ T8o+ 98o;"
  "22+ A2s+ K5s+ Q8s+ J8s+ T8s+ 97s+ 86s+ 75s+ A5o+ K9o+ QTo+ JTo"
)
GOOFSPIEL = "goofspiel(num_cards={},imp_info=True,points_order=descending)"
GAMES = {
  "Leduc": "leduc_poker",
  "liar's dice 1x3": "liars_dice(numdice=1,dice_sides=3)",
  "liar's dice 1x4": "liars_dice(numdice=1,dice_sides=4)",
  "goofspiel 4": GOOFSPIEL.format(4),
  "goofspiel 5": GOOFSPIEL.format(5),
  "battleship 2x2": (
    "battleship(board_width=2,board_height=2,ship_sizes=[1],ship_values=[1],num_shots=2,"
    "allow_repeated_shots=False)"
  ),
  "narrow river": f"river_subgame(board=9s7c5s4h3c,pot=200,stack=1000,ranges={NARROW};{NARROW})",
  "glasses*": "glasses",
  "wide river*": f"river_subgame(board=KhKd8c4s2h,pot=200,stack=300,bets=0.5 1 a,ranges={WIDE})",
  "turn*": f"holdem_subgame(board=9s7c5s4h,pot=200,stack=1000,bets=1 a,ranges={NARROW};{NARROW})",
  "Leduc, 4 ranks*": (
    "universal_poker(betting=limit,numPlayers=2,numRounds=2,blind=1 1,raiseSize=2 4,firstPlayer=1 1,"
    "maxRaises=2 2,numSuits=2,numRanks=4,numHoleCards=1,numBoardCards=0 1)"
  ),
}
TIMED = 100  # iterations of a timed call


def figures(found: ps_cfr_spiel.measures.LocalRegrets, exploitability: float, least: float) -> str:
  """The figures of a strategy, a line; `least` is the probability of a tremble, 0 without any."""
  losses, onward = found.losses(), found.losses(onward=True)
  numbers = exploitability, losses.mean, losses.percentile, losses.worst, onward.mean
  line = " | ".join(f"{x:.2g}" for x in numbers) + f" | {found.stakes:g} | {losses.infostates} | "
  if not least:
    return line
  trembles = np.rint(np.log(np.maximum(found.others, 1e-300)) / np.log(least)).astype(int)
  means = (f"{k}: {found.following[trembles == k].mean():.1g}" for k in np.unique(trembles))
  return line + ", ".join(means)


def microseconds(solver: ps_cfr_spiel.PSCFRSolver) -> float:
  """The median time of an iteration."""
  seconds = []
  for _ in range(9):
    start = time.perf_counter()
    solver.run(TIMED, progress=False)
    seconds.append((time.perf_counter() - start) / TIMED)
  return 1e6 * statistics.median(seconds)


def main() -> None:
  """Prints the table."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("games", nargs="*", default=[*GAMES], metavar="GAME")
  parser.add_argument("--trembles", nargs="+", type=float, default=[0.0, 1.0])
  parser.add_argument("--iterations", nargs="+", type=int, default=[1000, 3000, 10_000])
  parser.add_argument("--rule", default="nrm+", help='a name, or such as {"name": "nrm+", "fade": 7}')
  parser.add_argument("--dtype", default="float64")
  parser.add_argument("--bits", type=int, default=32)
  parser.add_argument("--gadgets", nargs="+", default=[])
  parser.add_argument("--time", action="store_true")
  options = parser.parse_args()
  print(describe(), f"{options.rule}, {options.dtype}, {options.bits} bits")
  columns = "exploitability | mean | 99% | worst | onward mean | stakes | infostates | by others' trembles"
  print(f"game | tremble | iterations | {columns}")
  rule = json.loads(options.rule) if options.rule.startswith("{") else options.rule
  for name in options.games:
    game = pyspiel.load_game(GAMES.get(name, name))
    tree = ps_cfr_spiel.build_tree(game)
    for tremble in options.trembles:
      method = {"rule": rule, "tremble": tremble, "dtype": options.dtype}
      solver = ps_cfr_spiel.PSCFRSolver(game, **method, bits=options.bits, tree=tree)
      for iterations in options.iterations:
        solver.run(iterations - solver.iteration, progress=False)
        found = ps_cfr_spiel.measures.local_regrets(game, solver.average_policy(), tree)
        line = figures(found, solver.exploitability(), tremble / iterations)
        print(f"{name} | {tremble:g} | {iterations} | {line}", flush=True)
      for gadget in options.gadgets:
        for iterations in options.iterations:
          policy = ps_cfr_spiel.ContinualResolving(game, iterations, **method, gadget=gadget).tabularise()
          found = ps_cfr_spiel.measures.local_regrets(game, policy, tree)
          line = figures(found, ps_cfr_spiel.exploitability(game, policy), tremble / iterations)
          print(f"{name}, {gadget} | {tremble:g} | {iterations} | {line}", flush=True)
      if options.time:
        line = f"{microseconds(solver):.1f} us an iteration, {solver.engine}"
        print(f"{name} | {tremble:g} | {line}", flush=True)
      jax.clear_caches()


if __name__ == "__main__":
  main()
