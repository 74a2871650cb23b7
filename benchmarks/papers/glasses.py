"""Glasses solved: sizes, values by linear programming, and CFR and CFR+ as in Schmid 2021, Fig. 17.4.

  taskset -c 0 python -m benchmarks.papers.glasses [--plot docs/glasses_convergence.png]
                                            [--position docs/glasses_position.png]

The maps are our own (see `games/pursuit/graphs.py`), so the curves are only
of the kind of the thesis's.
"""

import argparse
import collections
import pathlib
import sys
import time

import pyspiel
from open_spiel.python.algorithms import exploitability

import ps_cfr_spiel
from benchmarks.machine import flags, median_seconds, picture
from ps_cfr_spiel import PSCFRSolver
from ps_cfr_spiel.rules import RM, RMPlus

sys.path.append(str(pathlib.Path(__file__).parents[2] / "tests" / "shared"))
from reference import sequence_form_value

GAMES = ("glasses", "glasses(preset=lens)")
Point = collections.namedtuple("Point", ("iteration", "exploitability"))  # as pictures take them
# CFR as first published, with simultaneous updates; CFR+ alternates and averages linearly
ALGORITHMS = {"CFR": (RM(), False), "CFR+": (RMPlus(), True)}


def measure(options: argparse.Namespace) -> dict[str, list[tuple[int, float]]]:
  """Prints sizes, values and curves; the curves of glasses."""
  kept = {}
  for text in GAMES:
    game = pyspiel.load_game(text)
    print(f"\n{ps_cfr_spiel.build_tree(game).summary()}")
    value = sequence_form_value(game)
    print(
      f"value by linear programming: {value:.9f}; the evader escapes with probability {(1 - value) / 2:.9f}"
    )
    runs = {}
    for name, (rule, alternating) in ALGORITHMS.items():
      solver = PSCFRSolver(game, rule, alternating=alternating, dtype="float64")
      runs[name] = curve(solver, options.iterations)
      print(f"{name:5}", *(f"{n:,}: {e:.2e} " for n, e in runs[name] if n in (10, 100, 1000, 10_000)))
    if text == "glasses":
      kept, checked = runs, exploitability.exploitability(game, solver.average_policy().to_tabular())
      print(f"the last, by OpenSpiel's exploitability: {checked:.2e}")
      compare_speed(game)
      if options.position:
        draw_position(game, solver, options.position)
  return kept


def curve(solver: PSCFRSolver, iterations: int) -> list[tuple[int, float]]:
  """Exploitability at about ten iterations a decade."""
  points = []
  for mark in sorted({round(10 ** (k / 10)) for k in range(200)}):
    if mark > iterations:
      break
    solver.run(mark - solver.iteration)
    points.append((mark, solver.exploitability()))
  return points


def compare_speed(game: pyspiel.Game) -> None:
  """Seconds of an iteration of CFR+, beside OpenSpiel's C++ solver, which walks the Python game."""
  theirs = pyspiel.CFRPlusSolver(game)
  openspiel = median_seconds(theirs.evaluate_and_update_policy, 5)
  ours = PSCFRSolver(game, RMPlus())
  ours.run(500)
  start = time.perf_counter()
  ours.run(2000)
  seconds = (time.perf_counter() - start) / 2000
  print(
    f"an iteration of CFR+: {1e3 * seconds:.3f} ms, OpenSpiel's C++ CFRPlusSolver {1e3 * openspiel:.0f} ms, "
    f"{openspiel / seconds:,.0f} times as long"
  )


def draw(runs: dict[str, list[list[float]]], path: str) -> None:
  """The curves."""
  from ps_cfr_spiel.apps.pictures import exploitability_curve

  points = {name: [Point(*point) for point in points] for name, points in runs.items()}
  exploitability_curve(pyspiel.load_game("glasses"), points).savefig(path)


def draw_position(game: pyspiel.Game, solver: PSCFRSolver, path: str) -> None:
  """Where the evader may be, and the stones, after three moves."""
  from ps_cfr_spiel.apps.pictures import position

  state = game.new_initial_state()
  for move in ("Stones to 1/9", "Evader to 4", "Stones to 1/7"):
    state.apply_action(state.string_to_action(move))
  position(state, solver.average_policy()).savefig(path)


def main() -> None:
  options = flags(__doc__, iterations=10_000, plot=None, redraw=False, position=None)
  picture(options, lambda: measure(options), draw)


if __name__ == "__main__":
  main()
