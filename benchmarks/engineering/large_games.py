"""Large enumerated games: set-up, bytes, an iteration, exploitability over time; beside two peers.

  python -m benchmarks.engineering.large_games
  python -m benchmarks.engineering.large_games --games "goofspiel 7" --ways threads --seconds=1200
  python -m benchmarks.engineering.large_games --games growth --ways threads --rule nrm+

A row for each game and way to enumerate it, in a process of its own. "enumeration" and "set-up" (of the
solver) are seconds of processor, which a busy machine lengthens less than wall time; bytes are the most
memory of the process for each history. An iteration is one of --rule, in time of processor and of the wall;
the last line says how it grows with entries, the numbers of a strategy: the exponent of a fitted power. Games
with a form (liar's dice with two dice each, royal hold'em) are not enumerated. With --seconds a solver with
the default rule then runs until NashConv is below --target, and prints it whenever the time has doubled. With
--peers OpenSpiel's C++ CFR+ and LiteEFG, if it is installed, follow in the same minutes, each for at most
--patience seconds. The native enumeration is compiled before. --one measures one GAME and WAY, as JSON.
"""

import contextlib
import importlib.util
import io
import json
import os
import resource
import subprocess
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyspiel

from benchmarks.engineering.small_games import GOOFSPIEL
from benchmarks.machine import PeakMemory, describe, duration, flags, in_process

POKER = (
  "universal_poker(betting=limit,numPlayers=2,numRounds=2,blind=1 1,raiseSize=2 4,firstPlayer=1 1,"
  "maxRaises=2 2,numSuits=4,numRanks=10,numHoleCards=1,numBoardCards=0 1)"
)
ROYAL = (
  "universal_poker(betting=limit,numPlayers=2,numRounds=3,blind=5 5,raiseSize=10 20 20,firstPlayer=1 1 1,"
  "maxRaises=3 3 3,numSuits=4,numRanks=5,numHoleCards=1,numBoardCards=0 1 1)"
)
SHIPS = (
  "battleship(board_width=3,board_height=2,ship_sizes=[{}],ship_values=[{}],num_shots=3,"
  "allow_repeated_shots={})"
)
GAMES = {
  "liar's dice": "liars_dice",
  "goofspiel 6": GOOFSPIEL.format(6),
  "battleship 3x2, ship 2": SHIPS.format("2", "1", "false"),
  "liar's dice, 7 sides": "liars_dice(dice_sides=7)",
  "limit poker, 4 suits x 10 ranks": POKER,
  "battleship 3x2, ships 2 2, no shot again": SHIPS.format("2;2", "1;1", "false"),
  "battleship 3x2, ships 2 2": SHIPS.format("2;2", "1;1", "true"),
  "goofspiel 7": GOOFSPIEL.format(7),
  "liar's dice, 2 dice x 4 sides": "liars_dice(numdice=2,dice_sides=4)",
  "liar's dice, 2 dice x 5 sides": "liars_dice(numdice=2,dice_sides=5)",
  "royal hold'em": ROYAL,
}
SMALL = list(GAMES)[:3]
GROWTH = [  # `--games growth`: two families of which members differ in size alone
  "liar's dice",
  "goofspiel 6",
  "liar's dice, 7 sides",
  "liar's dice, 2 dice x 4 sides",
  "liar's dice, 2 dice x 5 sides",
  "goofspiel 7",
]
PUBLISHED = """
Published, on other machines: NoRegret (Kim and Sandholm 2026; CFR, its GPU): liar's dice 13.5 ms, goofspiel 6
12.5 ms, goofspiel 7 16.3 ms after 525 s of set-up, battleship 3x2 with ships 2 2 24 ms, royal Rhode Island
hold'em 28.4 ms. GPU-CFR (Li and Huang 2026, an A100): 30 to 80 times the speed of the previous GPU CFR.
""".strip()
TIMED = 0.3  # seconds of the wall of the call that is timed, at least
LEAST = 8  # iterations of a call: large tables are looked at after each
WAYS = ("Python", "C++", "threads")
PEERS = {"OpenSpiel C++": None, "LiteEFG": "LiteEFG"}  # the module that each needs


def processor() -> float:
  """Seconds of processor of this process and of the children that have ended."""
  return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def measure(name: str, way: str, rule: str, threads: int, seconds: float, target: float) -> dict:
  """The figures of a row, in this process."""
  if way in PEERS:
    return peer(name, way)
  from ps_cfr_spiel import PSCFRSolver
  from ps_cfr_spiel.compilation.compiler import build
  from ps_cfr_spiel.compilation.histories.native_enumeration import compile_library

  if way == "Python":
    os.environ["PS_CFR_SPIEL_CACHE"] = "off"
  elif reason := compile_library():
    raise RuntimeError(reason)
  found: dict[str, Any] = {"enumeration": 0.0, "wall": 0.0}
  enumerate_histories = build.enumerate_histories

  def timed_enumeration(*given):
    start, wall = processor(), time.perf_counter()
    histories = enumerate_histories(*given, threads=threads if way == "threads" else 1)
    found.update(enumeration=processor() - start, wall=time.perf_counter() - wall)
    return histories

  build.enumerate_histories = timed_enumeration
  game, peak, start, wall = pyspiel.load_game(GAMES[name]), PeakMemory(), processor(), time.perf_counter()
  options = {"limit": 10**9, "progress": False}
  solver = PSCFRSolver(game, rule, **options)
  found.update(setup=processor() - start, setup_wall=time.perf_counter() - wall)
  found |= {"histories": solver.tree.names.histories, "entries": entries(solver.tree)}
  found |= an_iteration(solver)
  found["megabytes"] = peak()
  del solver  # before another is made
  found["solved"] = solve(PSCFRSolver(game, **options), seconds, target) if seconds else []
  return found


def an_iteration(solver) -> dict[str, float]:
  """Seconds of processor and of the wall of an iteration, compiled, in calls no shorter than a run's."""
  solver._advance(1)  # compiles
  count, used, wall = LEAST // 2, 0.0, 0.0
  while wall < TIMED:  # short calls would be mostly the call
    count *= 2
    start, before = time.process_time(), time.perf_counter()
    solver._advance(count)
    used, wall = time.process_time() - start, time.perf_counter() - before
  return {"iteration": used / count, "iteration_wall": wall / count}


def entries(tree) -> int:
  """The numbers of both players' strategies."""
  return sum(a * rows * types for player in tree.players for a, rows, types in player.bucket_shapes)


def growth(rows: Sequence[dict]) -> float:
  """The exponent of entries by which an iteration's time of processor grows, fitted by least squares."""
  sizes, times = (np.log([row[key] for row in rows]) for key in ("entries", "iteration"))
  return float(np.polyfit(sizes, times, 1)[0])


def solve(solver, seconds: float, target: float) -> list[tuple[int, float, float, float]]:
  """(iterations, seconds of wall and of processor without evaluations, NashConv) at each doubling of time."""
  solver.compile()
  rows, wall, used, due = [], 0.0, 0.0, 1.0
  while wall < seconds:
    start, before = time.perf_counter(), time.process_time()
    while time.perf_counter() - start < due - wall:
      solver.run(max(LEAST, solver.iteration // 8), progress=False)
    wall, used, due = wall + time.perf_counter() - start, used + time.process_time() - before, 2 * due
    rows.append((solver.iteration, wall, used, 2 * solver.exploitability()))
    if rows[-1][-1] < target:
      break
  return rows


def peer(name: str, way: str) -> dict:
  """Set-up and an iteration of a peer."""
  game, start = pyspiel.load_game(GAMES[name]), time.perf_counter()
  if way == "LiteEFG":
    lite, baselines = map(importlib.import_module, ("LiteEFG", "LiteEFG.baselines"))
    with contextlib.redirect_stdout(io.StringIO()):
      graph = baselines.CFRplus.graph()
      environment = lite.OpenSpielEnv(game, traverse_type="Enumerate", regenerate=False)
      environment.set_graph(graph)
    step = lambda: graph.update_graph(environment)  # noqa: E731
  else:
    step = pyspiel.CFRPlusSolver(game).evaluate_and_update_policy
  setup = time.perf_counter() - start
  step()
  start = time.perf_counter()
  step()
  return {"setup": setup, "iteration": time.perf_counter() - start}


def main() -> None:
  """See the module."""
  values = flags(
    __doc__ or "", games=SMALL, ways=list(WAYS), one=[], rule="cfr+", threads=2, seconds=0.0, target=1e-3,
    peers=False, patience=240.0,
  )  # fmt: skip
  if values.one:
    limits = values.rule, values.threads, values.seconds, values.target
    print(json.dumps(measure(values.one[0], values.one[1], *limits)))
    return
  print(describe())
  heads = (
    "enumeration", "its wall", "set-up", "its wall", "us each", "bytes", "entries", "iteration", "its wall",
  )  # fmt: skip
  print(f"\n{'':34}" + "".join(f"{head:>12}" for head in heads))
  given = [f"--{name}={getattr(values, name)}" for name in ("rule", "threads", "seconds", "target")]
  last = []  # of each game, the row of its last way
  for name in GROWTH if values.games == ["growth"] else values.games:
    for way in values.ways:
      row = in_process(__spec__.name, *given, "--one", name, way)
      times = (row[key] for key in ("enumeration", "wall", "setup", "setup_wall"))
      each, size = 1e6 * row["setup"] / row["histories"], row["megabytes"] * 2**20 / row["histories"]
      print(
        f"{name if way == values.ways[0] else '':25}{way:9}" + "".join(f"{x:10.2f} s" for x in times)
        + f"{each:12.2f}{size:12.0f}{row['entries']:12,}"
        + f"{duration(row['iteration']):>12}{duration(row['iteration_wall']):>12}",
        flush=True,
      )  # fmt: skip
      for iterations, wall, used, gap in row["solved"]:
        print(
          f"{'':34}{iterations:8,} iterations, {wall:.1f} s ({used:.1f} s of processor): NashConv {gap:.2e}"
        )
    last.append(row)
    for way, module in PEERS.items() if values.peers else ():
      if module is not None and importlib.util.find_spec(module) is None:
        print(f"{'':25}{way}: not installed")
        continue
      try:
        row = in_process(__spec__.name, "--one", name, way, timeout=values.patience)
        print(f"{'':25}{way}: set-up {duration(row['setup'])}, an iteration {duration(row['iteration'])}")
      except subprocess.TimeoutExpired:
        print(f"{'':25}{way}: more than {values.patience:.0f} s")
  if len(last) > 1:
    print(f"\nan iteration of {values.rule} grows as entries^{growth(last):.2f} over {len(last)} games")
  print(f"\n{PUBLISHED}")


if __name__ == "__main__":
  main()
