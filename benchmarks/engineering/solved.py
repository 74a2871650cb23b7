"""The table of solved games in the package, of 40 names of docs/coverage.md with their small parameters.

  python -m benchmarks.engineering.solved

Each game is solved twice in float64: without trembles, for the value and the exploitability, and with them,
for the loss at single infostates. OpenSpiel's tools confirm each value and both exploitabilities before the
table is written. --only names one game and prints its line. Seconds are of the iterations without trembles,
on a machine that was shared with other work.
"""

import json
import tempfile
from pathlib import Path

import pyspiel

import ps_cfr_spiel
from benchmarks.engineering import coverage
from benchmarks.machine import flags
from ps_cfr_spiel.loading import sequential
from ps_cfr_spiel.reports import Stopwatch

FILE = Path(ps_cfr_spiel.__file__).parent / "evaluation" / "solved_games.json"
NAMES = [
  "add_noise",
  "battleship",
  "blotto",
  "cached_tree",
  "cheat",
  "clobber",
  "connect_four",
  "coordinated_mp",
  "dots_and_boxes",
  "glasses",
  "go",
  "go_fish",
  "gomoku",
  "goofspiel",
  "graph_pursuit",
  "havannah",
  "hex",
  "holdem_subgame",
  "kuhn_poker",
  "leduc_poker",
  "liars_dice",
  "matrix_brps",
  "matrix_mp",
  "matrix_rps",
  "matrix_rpsw",
  "misere",
  "mnk",
  "nim",
  "dark_hex",
  "oshi_zumo",
  "parametric_poker",
  "python_kuhn_poker",
  "python_liars_poker",
  "repeated_leduc_poker",
  "river_subgame",
  "start_at",
  "turn_based_simultaneous_game",
  "universal_poker",
  "y",
  "zerosum",
]
DIGITS = 10  # that are kept


def solved(name: str, iterations: int) -> dict[str, object]:
  """The line of one game; AssertionError if OpenSpiel disagrees."""
  with tempfile.TemporaryDirectory() as folder:
    game = sequential(coverage.load(name, folder))
  solver = ps_cfr_spiel.PSCFRSolver(game, dtype="float64", progress=False)
  solver.run(1, progress=False)  # compiles
  watch = Stopwatch()
  with watch:
    solver.run(iterations - 1, progress=False)
  trembled = ps_cfr_spiel.PSCFRSolver(game, dtype="float64", tremble=1.0, tree=solver.tree, progress=False)
  trembled.run(iterations, progress=False)
  for each in (solver, trembled):
    confirm(each)
  losses = ps_cfr_spiel.measures.local_regrets(game, trembled.average_policy(), tree=solver.tree).losses()
  exact = {
    "value": solver.value(),
    "exploitability": solver.exploitability(),
    "trembled_exploitability": trembled.exploitability(),
    "mean_local_regret": losses.mean,
    "worst_local_regret": losses.worst,
  }
  return {
    "game": str(game),
    "infostates": losses.infostates,
    **{key: float(f"{number:.{DIGITS}g}") for key, number in exact.items()},
    "iterations": iterations,
    "seconds": round(watch.seconds, 2),
  }


def confirm(solver: ps_cfr_spiel.PSCFRSolver) -> None:
  """AssertionError unless OpenSpiel has the same value and exploitability of a solver's average strategy."""
  game, table = solver.game, solver.average_policy().to_pyspiel()
  value = pyspiel.expected_returns(game.new_initial_state(), [table, table], -1, True)[0]
  assert abs(value - solver.value()) < 1e-9, (str(game), value, solver.value())
  gain = pyspiel.nash_conv(game, table) / 2
  assert abs(gain - solver.exploitability()) < 1e-9, (str(game), gain, solver.exploitability())


def main() -> None:
  """See the module."""
  values = flags(__doc__ or "", only="", iterations=10_000)
  lines = []
  for name in [values.only] if values.only else NAMES:
    lines.append(solved(name, values.iterations))
    print(json.dumps(lines[-1]), flush=True)
  if not values.only:
    FILE.write_text("[\n" + ",\n".join(map(json.dumps, lines)) + "\n]\n")


if __name__ == "__main__":
  main()
