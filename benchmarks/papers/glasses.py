"""Glasses solved: sizes, values by linear programming, and CFR and CFR+ as in Schmid 2021, Fig. 17.4.

  taskset -c 0 python -m benchmarks.papers.glasses [--plot docs/glasses_convergence.png]
                                            [--picture docs/glasses_position.png]

The maps are our own (see `games/pursuit/graphs.py`), so the curves are only
of the kind of the thesis's.
"""

import argparse
import pathlib
import sys
import time
from typing import NamedTuple

import pyspiel
from open_spiel.python.algorithms import exploitability

import ps_cfr_spiel
from benchmarks.machine import add_flags, describe, keep, kept, median_seconds
from ps_cfr_spiel import PSCFRSolver
from ps_cfr_spiel.rules import RM, RMPlus

sys.path.append(str(pathlib.Path(__file__).parents[2] / "tests" / "shared"))
from reference import sequence_form_value

GAMES = ("glasses", "glasses(preset=lens)")
# CFR as first published, with simultaneous updates; CFR+ alternates and averages linearly
ALGORITHMS = {"CFR": (RM(), False), "CFR+": (RMPlus(), True)}


class Point(NamedTuple):
  """A point of a curve, as `pictures.exploitability_curve` takes it."""

  iteration: int
  exploitability: float


def main() -> None:
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("--iterations", type=int, default=10_000)
  add_flags(parser, "the curves of glasses")
  parser.add_argument("--picture", help="file to draw a position of glasses to")
  options = parser.parse_args()
  if options.redraw:
    runs = {name: [Point(*point) for point in points] for name, points in kept(options.plot).items()}
    return draw(pyspiel.load_game("glasses"), runs, options.plot)
  print(describe())
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
      checked = exploitability.exploitability(game, solver.average_policy().to_tabular())
      print(f"the last, by OpenSpiel's exploitability: {checked:.2e}")
      compare_speed(game)
      if options.plot:
        keep(options.plot, runs)
        draw(game, runs, options.plot)
      if options.picture:
        draw_position(game, solver, options.picture)


def curve(solver: PSCFRSolver, iterations: int) -> list[Point]:
  """Exploitability at about ten iterations a decade."""
  points = []
  for mark in sorted({round(10 ** (k / 10)) for k in range(200)}):
    if mark > iterations:
      return points
    solver.run(mark - solver.iteration)
    points.append(Point(mark, solver.exploitability()))
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


def draw(game: pyspiel.Game, runs: dict[str, list[Point]], path: str) -> None:
  """The curves."""
  from ps_cfr_spiel.pictures import exploitability_curve

  exploitability_curve(game, runs).savefig(path)
  print(f"drawn: {path}")


def draw_position(game: pyspiel.Game, solver: PSCFRSolver, path: str) -> None:
  """Where the evader may be, and the stones, after three moves."""
  from ps_cfr_spiel.pictures import glasses_position

  state = game.new_initial_state()
  for move in ("Stones to 1/9", "Evader to 4", "Stones to 1/7"):
    state.apply_action(state.string_to_action(move))
  glasses_position(state, solver.average_policy()).savefig(path)
  print(f"drawn: {path}")


if __name__ == "__main__":
  main()
