"""Iterations and seconds to a given exploitability in river subgames, for each regret rule.

  taskset -c 0 python -m benchmarks.engineering.river_convergence [--plot docs/river_convergence.png]

Exploitability is exact, of the average policy, in % of the pot. Seconds leave out compilation and the
evaluations, and come from the median time of an iteration in the same process.
"""

import argparse
import time

import jax
import numpy as np
import pyspiel

import ps_cfr_spiel
from benchmarks.machine import add_flags, describe, keep, kept
from ps_cfr_spiel import cfr

SUBGAMES = {
  "main: SPR 99.5, pot bets, all hands": "river_subgame",
  "paired: SPR 1, half pot and pot, wide": (
    "river_subgame(board=KhKd8c4s2h,pot=200,stack=300,bets=0.5 1 a,ranges="
    "22+ A2s+ K2s+ Q5s+ J7s+ T7s+ 97s+ 86s+ 75s+ 64s+ A2o+ K8o+ Q9o+ J9o+ T8o+ 98o;"
    "22+ A2s+ K5s+ Q8s+ J8s+ T8s+ 97s+ 86s+ 75s+ A5o+ K9o+ QTo+ JTo)"
  ),
  "flush: SPR 3, half pot and pot, sparse": (
    "river_subgame(board=AhJh6h9c2d,pot=200,stack=700,bets=0.5 1 a,ranges="
    "AA JJ 66 AK KQs QTs T9s 87s:0.5 54s:0.5 KTo:0.3;JJ 99 AQ:0.7 AJ KJs KTs Q9s T8s 76s:0.5 A9s)"
  ),
  "two pair: SPR 99.5, pot bets, value": (
    "river_subgame(board=8d8sJc5hAh,pot=200,stack=20000,bets=1 a,ranges="
    "AA JJ 55 A8s K8s 87s 98s AK AQ AJs KJs QJs:0.5 76s:0.5;JJ 55 A8s 98s T8s 86s:0.5 AK AJ ATs KJs T9s:0.5)"
  ),
  "dry: SPR 10, half pot and pot, polar": (
    "river_subgame(board=QcTd7h3s2c,pot=200,stack=2100,bets=0.5 1 a,ranges="
    "QQ TT 77 33 QTs AKs:0.5 J9s:0.5 98s 86s:0.5 65s A5s:0.4;KK:0.5 KQ QJ Q9s AT KTs JTs 88 99 A7s:0.6)"
  ),
  "straight: SPR 10, half pot and pot, sparse": (
    "river_subgame(board=6c7d8hKsKc,pot=200,stack=2100,bets=0.5 1 a,ranges="
    "AK KQ:0.8 KJs 88 77 T9s 95s:0.5 54s A9s:0.4 QJs:0.6;KTs KQ 66 T9s 97s 86s AQ:0.3 JTs:0.5 55)"
  ),
}
RULES = {
  "NRM+": "nrm+",
  "DCFR(1.5, 0, 2)": "dcfr",
  "LCFR": "lcfr",
  "CFR+": "rm+",
  "PCFR+": "pcfr+",
  "PDCFR+": "pdcfr+",
  "CFR": "rm",
}
LEVELS = (1, 0.3, 0.1, 0.03, 0.01)  # % of the pot


def marks(last: int) -> list[int]:
  """Iterations at which exploitability is looked at: every one to 20, then in steps of 5%."""
  points = [1]
  while points[-1] < last:
    points.append(max(points[-1] + 1, int(points[-1] * 1.05)))
  return points


def measure(game: pyspiel.Game, rule, cap: int):
  """Milliseconds an iteration, and exploitability in % of the pot at each mark."""
  solver = ps_cfr_spiel.PSCFRSolver(game, rule)
  tree, state = solver._tree, solver._state
  jax.block_until_ready(cfr.run(tree, state, 1, rule=solver.rule))
  seconds = []
  for _ in range(7):
    start = time.perf_counter()
    jax.block_until_ready(cfr.run(tree, state, 100, rule=solver.rule))
    seconds.append((time.perf_counter() - start) / 100)
  curve = []
  for mark in marks(cap):
    solver._advance(mark - solver.iteration)
    curve.append((mark, 100 * solver.exploitability() / game.get_parameters()["pot"]))
    if curve[-1][1] < 0.5 * LEVELS[-1]:
      break
  return 1e3 * float(np.median(seconds)), curve


def first_below(curve, level: float) -> int | None:
  """The first mark from which exploitability is below the level."""
  return next((mark for mark, value in curve if value <= level), None)


def main() -> None:
  """Prints the tables and draws the curves."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("--cap", type=int, default=2500, help="most iterations")
  add_flags(parser, "the curves")
  options = parser.parse_args()
  if options.redraw:
    return draw(kept(options.plot), options.plot)
  print(describe())
  curves = {}
  for name, game_string in SUBGAMES.items():
    game = pyspiel.load_game(game_string)
    print(
      f"\n{name}\n{'rule':17}{'ms/it':>7}   iterations to {'/'.join(map(str, LEVELS))} % of the pot (seconds)"
    )
    for rule, key in RULES.items():
      milliseconds, curve = measure(game, key, options.cap)
      found = [first_below(curve, level) for level in LEVELS]
      cells = ["-" if n is None else f"{n} ({n * milliseconds / 1e3:.3f})" for n in found]
      print(f"{rule:17}{milliseconds:7.3f}   " + "  ".join(f"{cell:>14}" for cell in cells), flush=True)
      curves.setdefault(name, {})[rule] = curve
  if options.plot:
    keep(options.plot, curves)
    draw(curves, options.plot)


def draw(curves, path: str) -> None:
  """Exploitability by iterations, a panel for each subgame."""
  from ps_cfr_spiel.pictures import dress, figure_with_panels

  figure, places = figure_with_panels([title(name) for name in curves], columns=3, sharex=True, sharey=True)
  for number, (axes, rules) in enumerate(zip(places, curves.values(), strict=True)):
    for rule, curve in rules.items():
      axes.loglog(*zip(*curve, strict=True), label=rule, linewidth=2.2 if rule == "NRM+" else 1.2)
    axes.set_ylim(0.005, None)
    dress(
      axes, "iterations" if number >= 3 else "", "exploitability (% of the pot)" if number % 3 == 0 else ""
    )
  places[0].legend(frameon=False, fontsize=8)
  figure.savefig(path)


def title(name: str) -> str:
  """A subgame's name and, in a line of its own, its board."""
  board = pyspiel.load_game(SUBGAMES[name]).get_parameters()["board"]
  return f"{name}\n{board}"


if __name__ == "__main__":
  main()
