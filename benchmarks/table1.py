"""Table 1 of Kovařík et al. 2021 again: set-up, time and memory of CFR on the river subgame.

  taskset -c 0 python benchmarks/table1.py

Each row runs in a process of its own. The two solvers that work history by history do so on a smaller
deck, and are extrapolated to 61,000,831 histories in proportion; those figures are marked "~".
"""

import argparse
import json
import subprocess
import sys
import time

import numpy as np
import pyspiel
from machine import describe, median_seconds

HISTORIES = 61_000_831
# The same betting with a deck of 2 suits and 9 ranks: 13 cards are left for the hands, dealt one by one.
REDUCED_DECK = (
  "universal_poker(betting=nolimit,bettingAbstraction=fcpa,numPlayers=2,numRounds=4,blind=100 100,"
  "firstPlayer=2 1 1 1,numSuits=2,numRanks=9,numHoleCards=2,numBoardCards=0 3 1 1,stack=20000 20000,"
  "potSize=200,boardCards=9d7c5d4c3c)"
)
PAPER = {  # Kovařík et al. 2021, Table 1, on their machine
  "OpenSpiel C++ CFR": ("1.57 min", "92.71 s", "25.75 h", "292 MB"),
  "vanilla CFR, tree kept": ("2.92 min", "19.73 s", "5.48 h", "22 GB"),
  "PS-CFR, dense": ("2.36 s", "173 ms", "2.89 min", "736 MB"),
  "PS-CFR, showdown": ("2.82 s", "85 ms", "1.42 min", "526 MB"),
}


class PeakMemory:
  """Most memory that this process has used since this object was made, over what it used then, in MB."""

  def __init__(self):
    with open("/proc/self/clear_refs", "w") as file:
      file.write("5")  # forget the peak so far (Linux)
    self.before = self._read("VmRSS")

  def _read(self, name: str) -> float:
    with open("/proc/self/status") as file:
      return next(int(line.split()[1]) for line in file if line.startswith(name)) / 1024

  def __call__(self) -> float:
    """Reads it."""
    return self._read("VmHWM") - self.before


def openspiel_cfr() -> dict:
  """`pyspiel.CFRSolver`: keeps strategies, visits histories anew in each iteration."""
  game = pyspiel.load_game(REDUCED_DECK)
  memory, start = PeakMemory(), time.perf_counter()
  solver = pyspiel.CFRSolver(game)
  setup = time.perf_counter() - start
  seconds = median_seconds(solver.evaluate_and_update_policy, 3)
  count, stack = 0, [game.new_initial_state()]
  used = memory()
  while stack:
    state = stack.pop()
    count += 1
    stack += [state.child(action) for action in state.legal_actions()]
  return {"setup": setup, "iteration": seconds, "memory": used, "histories": count}


def vanilla_cfr() -> dict:
  """CFR over arrays of histories; checked against OpenSpiel's while it is at it."""
  from open_spiel.python.algorithms import cfr as openspiel
  from vanilla_cfr import VanillaCFR

  from ps_cfr_spiel.histories.walker import walk

  _check_against(openspiel.CFRSolver(pyspiel.load_game("leduc_poker")), VanillaCFR, walk)
  game = pyspiel.load_game(REDUCED_DECK)
  memory, start = PeakMemory(), time.perf_counter()
  histories = walk(game)
  solver = VanillaCFR(histories)
  setup = time.perf_counter() - start
  seconds = median_seconds(solver.iterate, 5)
  return {
    "setup": setup,
    "iteration": seconds,
    "memory": memory(),
    "histories": len(histories.parent),
  }


def _check_against(reference, kind, walk) -> None:
  """Checks that three iterations equal OpenSpiel's to 1e-9."""
  histories = walk(pyspiel.load_game("leduc_poker"))
  ours = kind(histories)
  for _ in range(3):
    ours.iterate()
    reference.evaluate_and_update_policy()
  policy = reference.average_policy()
  for player in (0, 1):
    average = ours.average[player] / ours.average[player].sum(1, keepdims=True).clip(1e-300)
    for number in np.unique(histories.infostate[player][histories.player == player]):
      row = policy.action_probability_array[policy.state_lookup[histories.names[player][number]]]
      assert abs(np.sort(row) - np.sort(np.pad(average[number], (0, 3)))[-3:]).max() < 1e-9


def ps_cfr(leaves: str) -> dict:
  """Our solver, float32, one jitted loop."""
  import jax
  import jax.numpy as jnp

  import ps_cfr_spiel
  from ps_cfr_spiel import cfr

  game = pyspiel.load_game("river_subgame")
  jax.block_until_ready(jax.jit(lambda x: x @ x + 1)(jnp.ones((64, 64))))  # the bare runtime
  memory, start = PeakMemory(), time.perf_counter()
  solver = ps_cfr_spiel.PSCFRSolver(pyspiel.load_game(str(game)), leaves=leaves)
  setup = time.perf_counter() - start
  built = memory()
  start = time.perf_counter()
  solver.run(1)
  compile_seconds = time.perf_counter() - start
  run = lambda: jax.block_until_ready(cfr.run(solver._tree, solver._state, 1000, rule=solver.rule))  # noqa: E731
  seconds = median_seconds(run, 5) / 1000
  return {
    "setup": setup,
    "iteration": seconds,
    "memory": memory(),
    "built": built,
    "compile": compile_seconds,
    "histories": HISTORIES,
  }


ROWS = {
  "OpenSpiel C++ CFR": openspiel_cfr,
  "vanilla CFR, tree kept": vanilla_cfr,
  "PS-CFR, dense": lambda: ps_cfr("dense"),
  "PS-CFR, showdown": lambda: ps_cfr("showdown"),
}


def main() -> None:
  """Prints the table."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("--row", choices=ROWS, help="measure this row only, as JSON")
  options = parser.parse_args()
  if options.row:
    print(json.dumps(ROWS[options.row]()))
    return
  print(describe())
  print(f"\n{'':24}{'set-up':>12}{'iteration':>13}{'1000 iterations':>17}{'memory':>11}   paper's figures")
  found = {}
  for name in ROWS:
    command = [sys.executable, __file__, "--row", name]
    found[name] = row = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    scale = HISTORIES / row["histories"]
    mark = "~" if scale > 1 else " "
    share = scale if "tree kept" in name else 1  # OpenSpiel's solver keeps no tree
    cells = [
      f"{mark}{duration(row['setup'] * scale)}",
      f"{mark}{duration(row['iteration'] * scale)}",
      f"{mark}{duration(1000 * row['iteration'] * scale)}",
      f"{mark if 'tree kept' in name else ' '}{row['memory'] * share:,.0f} MB",
    ]
    line = f"{name:24}{cells[0]:>12}{cells[1]:>13}{cells[2]:>17}{cells[3]:>11}"
    print(f"{line}   {', '.join(PAPER[name])}")
    if scale > 1:
      print(
        f"{'':24}measured on {row['histories']:,} histories: {1e3 * row['iteration']:.1f} ms an iteration"
      )
    else:
      print(f"{'':24}compilation {row['compile']:.1f} s; the tree alone {row['built']:.0f} MB")
  fast = found["PS-CFR, showdown"]["iteration"]
  for name, row in found.items():
    ratio = row["iteration"] * HISTORIES / row["histories"] / fast
    print(f"{name}: {ratio:,.1f} x the time of PS-CFR, showdown")


def duration(seconds: float) -> str:
  """A time with a unit that suits it."""
  for unit, size in (("h", 3600), ("min", 60), ("s", 1)):
    if seconds >= size:
      return f"{seconds / size:.2f} {unit}"
  return f"{1e3 * seconds:.2f} ms" if seconds >= 1e-4 else f"{1e6 * seconds:.1f} us"


if __name__ == "__main__":
  main()
