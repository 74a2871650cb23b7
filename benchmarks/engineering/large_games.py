"""Set-up of large enumerated games, walked in Python, in C++ and by several processes; iterations of CFR+.

  python -m benchmarks.engineering.large_games
  python -m benchmarks.engineering.large_games --games "goofspiel 7" --limit=100000000     # many minutes

Each row is a process of its own. "walk" and "set-up" (of the solver) are seconds of processor, those of the
workers added, which a busy machine lengthens less than wall time; bytes are the most memory of the process
for each history. The native walk is compiled before, and serves the last row too, with --processes. --one
measures one GAME and WAY, as JSON.
"""

import json
import os
import resource
import time

import pyspiel

from benchmarks.engineering.small_games import GOOFSPIEL
from benchmarks.machine import PeakMemory, describe, duration, flags, in_process

POKER = (
  "universal_poker(betting=limit,numPlayers=2,numRounds=2,blind=1 1,raiseSize=2 4,firstPlayer=1 1,"
  "maxRaises=2 2,numSuits=4,numRanks=10,numHoleCards=1,numBoardCards=0 1)"
)
GAMES = {
  "liar's dice": "liars_dice",
  "goofspiel 6": GOOFSPIEL.format(6),
  "liar's dice, 7 sides": "liars_dice(dice_sides=7)",
  "limit poker, 4 suits x 10 ranks": POKER,
  "goofspiel 7": GOOFSPIEL.format(7),
}
ITERATIONS = 5  # of CFR+, timed together
WAYS = ("Python", "C++", "processes")


def processor() -> float:
  """Seconds of processor of this process and of the children that have ended."""
  return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def measure(name: str, way: str, limit: int, processes: int) -> dict[str, float]:
  """The figures of a row, in this process."""
  import jax

  from ps_cfr_spiel import PSCFRSolver, cfr
  from ps_cfr_spiel.compiler import build
  from ps_cfr_spiel.histories.native_walker import compile_library

  if way == "Python":
    os.environ["PS_CFR_SPIEL_CACHE"] = "off"
  elif reason := compile_library():
    raise RuntimeError(reason)
  walk, found = build.walk, {}

  def timed_walk(*given):
    start, wall = processor(), time.perf_counter()
    walked = walk(*given, processes=processes if way == "processes" else 1)
    found.update(walk=processor() - start, wall=time.perf_counter() - wall)
    return walked

  build.walk = timed_walk
  game, peak, start = pyspiel.load_game(GAMES[name]), PeakMemory(), processor()
  solver = PSCFRSolver(game, "cfr+", limit=limit, progress=False)
  labels = solver.tree.labels
  assert labels is not None
  found.update(setup=processor() - start, histories=labels.histories)
  found["bytes"] = peak() * 2**20 / found["histories"]
  step = lambda: jax.block_until_ready(cfr.run(solver._tree, solver._state, ITERATIONS, rule=solver.rule))  # noqa: E731
  step()  # compiles
  start = time.process_time()
  step()
  return found | {"iteration": (time.process_time() - start) / ITERATIONS}


def main() -> None:
  """See the module."""
  values = flags(__doc__ or "", games=list(GAMES)[:-1], one=[], limit=5_000_000, processes=2)
  if values.one:
    print(json.dumps(measure(values.one[0], values.one[1], values.limit, values.processes)))
    return
  print(describe())
  print(f"\n{'':34}{'walk':>9}{'its wall':>10}{'set-up':>9}{'us a history':>14}{'bytes':>7}{'iteration':>12}")
  for name in values.games:
    for way in WAYS:
      limits = (f"--limit={values.limit}", f"--processes={values.processes}")
      row = in_process(__spec__.name, "--one", name, way, *limits)
      each = 1e6 * row["setup"] / row["histories"]
      times = f"{row['walk']:7.2f} s{row['wall']:8.2f} s{row['setup']:7.2f} s"
      print(
        f"{name if way == WAYS[0] else '':22}{way:12}{times}"
        f"{each:14.1f}{row['bytes']:7.0f}{duration(row['iteration']):>12}",
        flush=True,
      )


if __name__ == "__main__":
  main()
