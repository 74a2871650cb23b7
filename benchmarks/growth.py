"""How set-up, compilation, an iteration and memory grow with the game, beside OpenSpiel's C++ CFR+.

  taskset -c 0 python benchmarks/growth.py --plot docs/growth.png

CFR+ on both sides, one thread, each case in a process of its own, so that memory can be told. OpenSpiel's
solver leaves out what is out of reach and speeds up in its first iterations; it is warmed up by `WARM` of
them, or for `WARM_SECONDS`. Rivers are compiled from their Bayesian form; their histories are too many for
OpenSpiel's solver. Memory is the peak beyond what the process held when JAX had run something.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from typing import NamedTuple

import pyspiel
from machine import describe, median_seconds
from small_games import GOOFSPIEL
from table1 import PeakMemory, duration

WARM, WARM_SECONDS = 30, 45
BATCH_SECONDS = 0.3  # of iterations that are timed together
POKER = (
  "universal_poker(betting=limit,numPlayers=2,numRounds=2,blind=1 1,raiseSize=2 4,firstPlayer=1 1,"
  "maxRaises=2 2,numSuits={},numRanks={},numHoleCards=1,numBoardCards=0 1)"
)
FAMILIES = {
  "liar's dice": {f"{n} sides": f"liars_dice(dice_sides={n})" for n in range(3, 8)},
  "goofspiel": {f"{n} cards": GOOFSPIEL.format(n) for n in range(4, 7)},
  "limit poker": {f"{s} x {r} cards": POKER.format(s, r) for s, r in ((2, 3), (2, 8), (4, 10))},
  "river": {
    f"bets {bets}": f"river_subgame(bets={bets})" for bets in ("a", "1 a", "0.5 1 a", "0.33 0.75 1.5 a")
  },
}
PANELS = {"setup": "set-up", "compile": "compilation", "iteration": "iteration", "memory": "memory"}
HEADS = f"{'set-up':>10}{'compile':>10}{'iteration':>11}{'memory':>10}"


class Case(NamedTuple):
  """A solver on a game, as it was measured: seconds, and MB.

  Attributes:
    histories: of the game, 0 if nobody walked them.
    leaves: of the tree.
    setup, compile, iteration: seconds.
    memory: MB.
  """

  histories: int
  leaves: int
  setup: float
  compile: float
  iteration: float
  memory: float


Found = dict[str, dict[str, list[Case]]]  # by family and solver, from small to large


def ours(text: str) -> Case:
  """`ps_cfr_spiel.PSCFRSolver`."""
  import jax
  import jax.numpy as jnp

  import ps_cfr_spiel
  from ps_cfr_spiel import cfr

  game = pyspiel.load_game(text)
  jax.block_until_ready(jnp.ones(3) + 1)
  memory, start = PeakMemory(), time.perf_counter()
  solver = ps_cfr_spiel.PSCFRSolver(game, "rm+")
  setup = time.perf_counter() - start

  def run(count):
    jax.block_until_ready(cfr.run(solver._tree, solver._state, count, rule=solver.rule))

  start = time.perf_counter()
  run(1)
  compiled = time.perf_counter() - start
  batch = max(1, min(10_000, int(BATCH_SECONDS / median_seconds(lambda: run(1), 3))))
  iteration = median_seconds(lambda: run(batch), 5) / batch
  labels = solver.tree.names
  walked = 0 if hasattr(game, "bayesian_form") else labels.histories
  leaves = sum(solver.tree.players[0].leaf.children)
  return Case(walked, leaves, setup, compiled, iteration, memory())


def openspiel(text: str) -> Case:
  """`pyspiel.CFRPlusSolver`."""
  game = pyspiel.load_game(text)
  memory, start = PeakMemory(), time.perf_counter()
  solver = pyspiel.CFRPlusSolver(game)
  setup = time.perf_counter() - start
  until = time.perf_counter() + WARM_SECONDS
  for _ in range(WARM):
    solver.evaluate_and_update_policy()
    if time.perf_counter() > until:
      break
  return Case(0, 0, setup, 0.0, median_seconds(solver.evaluate_and_update_policy, 5), memory())


SOLVERS = {"ours": ours, "OpenSpiel C++": openspiel}


def measured(family: str, size: str, solver: str) -> Case:
  """A case in a process of its own, without compiled code that an earlier one left."""
  command = [sys.executable, __file__, "--one", family, size, solver]
  environment = {name: value for name, value in os.environ.items() if name != "JAX_COMPILATION_CACHE_DIR"}
  environment["OMP_NUM_THREADS"] = "1"
  out = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
  return Case(*json.loads(out.stdout.strip().splitlines()[-1]))


def line(case: Case) -> str:
  """The figures of a case as a part of a table's line."""
  compiled = duration(case.compile) if case.compile else ""
  return f"{duration(case.setup):>10}{compiled:>10}{duration(case.iteration):>11}{case.memory:7,.0f} MB"


def main() -> None:
  """Prints a table for each family, and draws it."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("--families", nargs="*", default=list(FAMILIES), choices=FAMILIES)
  parser.add_argument("--most", type=int, default=10, help="sizes of each family, from the smallest on")
  parser.add_argument(
    "--one", nargs=3, metavar=("FAMILY", "SIZE", "SOLVER"), help="measure this only, as JSON"
  )
  parser.add_argument("--save", help="file to keep the figures in, as JSON; they are added to what is there")
  parser.add_argument("--plot", help="file to draw the figures to")
  options = parser.parse_args()
  if options.one:
    family, size, solver = options.one
    print(json.dumps(SOLVERS[solver](FAMILIES[family][size])))
    return
  print(describe())
  found = load(options.save)
  for family in options.families:
    found[family] = table(family, list(FAMILIES[family])[: options.most])
  if options.save:
    with open(options.save, "w") as file:
      json.dump(found, file)
  if options.plot:
    draw(found, options.plot)


def load(path: str | None) -> Found:
  """The figures in a file; none if there is no such file yet."""
  if not path or not os.path.exists(path):
    return {}
  with open(path) as file:
    return {
      family: {solver: [Case(*case) for case in cases] for solver, cases in solvers.items()}
      for family, solvers in json.load(file).items()
    }


def table(family: str, sizes: list[str]) -> dict[str, list[Case]]:
  """Measures the sizes of a family and prints a line for each."""
  peer = family != "river"
  print(f"\n{family:18}{'histories' if peer else 'leaves':>10}{HEADS}" + f"   |{HEADS}, OpenSpiel C++" * peer)
  cases: dict[str, list[Case]] = {solver: [] for solver in (SOLVERS if peer else ("ours",))}
  for size in sizes:
    case = measured(family, size, "ours")
    cases["ours"].append(case)
    text = f"{size:18}{case.histories or case.leaves:10,}{line(case)}"
    if peer:
      other = measured(family, size, "OpenSpiel C++")._replace(histories=case.histories)
      cases["OpenSpiel C++"].append(other)
      text += f"   |{line(other)}   {other.iteration / case.iteration:6,.0f} x ours"
    print(text, flush=True)
  return cases


def draw(found: Found, path: str) -> None:
  """A panel for each figure: walked games by histories above, rivers by leaves below; OpenSpiel dashed."""
  from matplotlib.figure import Figure

  from ps_cfr_spiel.pictures.style import DPI, INK, LINES

  figure = Figure(figsize=(13, 6.2), dpi=DPI, facecolor="white", layout="constrained")
  rows = [[family for family in found if (family == "river") == river] for river in (False, True)]
  rows = [row for row in rows if row]
  colors = dict(zip(FAMILIES, LINES, strict=False))
  for row, panels in zip(rows, figure.subplots(len(rows), len(PANELS), squeeze=False), strict=True):
    for (field, title), axes in zip(PANELS.items(), panels, strict=True):
      for family, solver, cases in ((f, s, cases) for f in row for s, cases in found[f].items()):
        points = [(case.histories or case.leaves, getattr(case, field)) for case in cases]
        if (points and points[0][1]) or field == "memory":
          style = {"linestyle": "-", "label": family} if solver == "ours" else {"linestyle": "--"}
          axes.loglog(*zip(*points, strict=True), color=colors[family], marker="o", markersize=4, **style)
      axes.set_title(f"{title} ({'MB' if field == 'memory' else 's'})", fontsize=11, color=INK, loc="left")
      axes.set_xlabel("leaves" if "river" in row else "histories", fontsize=9, color=INK)
      axes.grid(alpha=0.25)
      axes.spines[["top", "right"]].set_visible(False)
    panels[1].legend(frameon=False, fontsize=8)
  figure.suptitle("How CFR+ grows with the game; dashed: OpenSpiel's C++", fontsize=12, color=INK)
  figure.savefig(path)
  print(f"drawn: {path}")


if __name__ == "__main__":
  main()
