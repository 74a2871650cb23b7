"""Compilation time, memory and speed with and without the XLA options of `ps_cfr_spiel.compilation`.

  taskset -c 0 python benchmarks/compile_options.py

Each figure is from a process of its own.
"""

import argparse
import json
import subprocess
import sys
import time

import jax
import pyspiel
from machine import describe, median_seconds
from table1 import PeakMemory

import ps_cfr_spiel
from ps_cfr_spiel import cfr
from ps_cfr_spiel.device import compilation

GAMES = ("river_subgame", "leduc_poker", "liars_dice")


def measure(game: str, rule: str, options: bool) -> dict:
  """Seconds to compile, microseconds an iteration, MB of memory."""
  if not options:
    compilation.OPTIONS = {}
  solver = ps_cfr_spiel.PSCFRSolver(pyspiel.load_game(game), rule)
  memory, start = PeakMemory(), time.perf_counter()
  solver.evaluate_and_update_policy()
  compiled = time.perf_counter() - start
  step = lambda: jax.block_until_ready(cfr.run(solver._tree, solver._state, 200, rule=solver.rule))  # noqa: E731
  return {"compile": compiled, "iteration": median_seconds(step, 9) / 200, "memory": memory()}


def main() -> None:
  """Prints the table."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument(
    "--one", nargs=3, metavar=("GAME", "RULE", "OPTIONS"), help="measure this only, as JSON"
  )
  options = parser.parse_args()
  if options.one:
    game, rule, on = options.one
    print(json.dumps(measure(game, rule, on == "on")))
    return
  print(describe())
  print(f"\n{'game':15}{'rule':6}{'options':>9}{'compile':>10}{'iteration':>12}{'memory':>9}")
  for game in GAMES:
    for rule in ("nrm+", "rm+"):
      for on in ("off", "on"):
        command = [sys.executable, __file__, "--one", game, rule, on]
        row = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        compiled, iteration, memory = (
          f"{row['compile']:.2f} s",
          f"{1e6 * row['iteration']:.1f} us",
          row["memory"],
        )
        print(f"{game:15}{rule:6}{on:>9}{compiled:>10}{iteration:>12}{memory:6.0f} MB", flush=True)


if __name__ == "__main__":
  main()
