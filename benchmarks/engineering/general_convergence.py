"""Iterations to a given exploitability on general games, for each regret rule.

With --plot Leduc's curves, as in Schmid 2021, Fig. 17.4.

  taskset -c 0 python -m benchmarks.engineering.general_convergence [--plot docs/leduc_convergence.png]

Exploitability is exact, of the average policy, as a share of that of the uniform policy. NRM+'s
parameters were chosen by all games that are not called held out.
"""

import argparse

import pyspiel

import ps_cfr_spiel
from benchmarks.engineering.river_convergence import first_below, marks
from benchmarks.machine import add_flags, describe, keep, kept
from ps_cfr_spiel.rules import DCFR, LCFR, RM, NRMPlus, PCFRPlus, PDCFRPlus, RMPlus

GOOFSPIEL = "turn_based_simultaneous_game(game=goofspiel(num_cards={},imp_info=True,points_order=descending))"
CHOSEN_ON = {
  "Leduc": "leduc_poker",
  "goofspiel, 4 cards": GOOFSPIEL.format(4),
  "liar's dice, 4 sides": "liars_dice(dice_sides=4)",
  "goofspiel, 5 cards": GOOFSPIEL.format(5),
  "battleship 2x2, ship of 2": (
    "battleship(board_width=2,board_height=2,ship_sizes=[2],ship_values=[1],num_shots=2,"
    "allow_repeated_shots=False)"
  ),
  "Leduc, 4 ranks": (
    "universal_poker(betting=limit,numPlayers=2,numRounds=2,blind=1 1,raiseSize=2 4,firstPlayer=1 1,"
    "maxRaises=2 2,numSuits=2,numRanks=4,numHoleCards=1,numBoardCards=0 1)"
  ),
  "Kuhn": "kuhn_poker",
}
HELD_OUT = {
  "liar's dice, 6 sides": "liars_dice",
  "dark hex 2x2 (no public states)": "dark_hex(num_rows=2,num_cols=2)",
}
RULES = {
  "NRM+": NRMPlus(),
  "DCFR(1.5, 0, 2)": DCFR(),
  "LCFR": LCFR(),
  "CFR+": RMPlus(),
  "PCFR+": PCFRPlus(),
  "PDCFR+": PDCFRPlus(),
  "CFR": RM(),
}
LEVELS = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4)  # of the uniform policy's exploitability


def main() -> None:
  """Prints a table for each game."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("--cap", type=int, default=2000, help="most iterations")
  parser.add_argument("--games", nargs="*", help="only these", default=[*CHOSEN_ON, *HELD_OUT])
  add_flags(parser, "Leduc's curves")
  options = parser.parse_args()
  if options.redraw:
    return draw(kept(options.plot), options.plot)
  print(describe())
  for name in options.games:
    game = pyspiel.load_game({**CHOSEN_ON, **HELD_OUT}[name])
    held = " (held out)" if name in HELD_OUT else ""
    print(f"\n{name}{held}\n{'rule':17}   iterations to {'/'.join(map(str, LEVELS))} of uniform", flush=True)
    curves = {}
    for rule, instance in RULES.items():
      curves[rule] = curve = measure(game, instance, options.cap)
      found = [first_below(curve, level * curve[0][1]) for level in LEVELS]
      print(f"{rule:17}   " + " ".join(f"{'-' if n is None else n:>7}" for n in found), flush=True)
    if name == "Leduc" and options.plot:
      keep(options.plot, curves)
      draw(curves, options.plot)


def measure(game: pyspiel.Game, rule, cap: int) -> list[tuple[int, float]]:
  """(iteration, exploitability) from the uniform policy (iteration 0) to the cap."""
  options = {"public_states": "none"} if game.get_type().short_name == "dark_hex" else {}
  solver = ps_cfr_spiel.PSCFRSolver(game, rule, **options)
  curve = [(0, solver.exploitability())]
  for mark in marks(cap):
    solver._advance(mark - solver.iteration)
    curve.append((mark, solver.exploitability()))
    if curve[-1][1] < LEVELS[-1] / 3 * curve[0][1]:
      break
  return curve


def draw(curves, path: str) -> None:
  """Exploitability by iterations."""
  from ps_cfr_spiel.pictures import dress, figure_with_panels

  title = "Leduc poker, float32, until 0.003% of the uniform policy's exploitability"
  figure, (axes,) = figure_with_panels([title])
  figure.set_size_inches(8, 5)
  for rule in ("NRM+", "DCFR(1.5, 0, 2)", "LCFR", "PCFR+", "PDCFR+", "CFR+", "CFR"):
    axes.loglog(*zip(*curves[rule][1:], strict=True), label=rule, linewidth=2.2 if rule == "NRM+" else 1.3)
  dress(axes, "iterations", "exploitability (chips)")
  axes.legend(frameon=False)
  figure.savefig(path)


if __name__ == "__main__":
  main()
