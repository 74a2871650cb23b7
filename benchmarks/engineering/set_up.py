"""The way to the first iteration of a river, a turn and a flop with all hands: seconds and memory by stage.

  python -m benchmarks.engineering.set_up
  python -m benchmarks.engineering.set_up --games flop --repeats 3

The stages are a game's load, its form, its tree, and a solver ready for its first iteration, which builds a
tree of its own; and then, in another process, `check` with the estimate of memory. Imports, and the start of
JAX, come before all of them. Seconds are those on the wall and those of the processor, in all threads; of
several repeats the least. On a shared machine only the latter count, and two versions of the package are
compared by runs in turn. Memory is the largest resident set of a stage over what was resident when it began.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import pyspiel

from benchmarks.machine import PeakMemory, describe, flags, in_process
from ps_cfr_spiel import PSCFRSolver, build_tree, check_game

GAMES = {
  "river": "holdem_subgame(board=9s7c5s4h3c,pot=200,stack=1000)",
  "turn": "holdem_subgame(board=9s7c5s4h,pot=200,stack=1000)",
  "flop": "holdem_subgame(board=9s7c5s,pot=200,stack=500)",
}
STAGES = ("load", "form", "tree", "solver", "check")


def stages(name: str, checks: bool) -> dict[str, tuple[float, float, float]]:
  """The wall-clock seconds, processor seconds and megabytes of each stage."""
  jnp.zeros(3).block_until_ready()
  measured = {}

  def stage(name: str, function: Callable[[], Any]) -> Any:
    peak, wall, processor = PeakMemory(), time.perf_counter(), time.process_time()
    result = function()
    measured[name] = time.perf_counter() - wall, time.process_time() - processor, peak()
    return result

  game = stage("load", lambda: pyspiel.load_game(GAMES[name]))
  if checks:
    stage(
      "check",
      lambda: (str(check_game(game)), PSCFRSolver.memory_needs(game), PSCFRSolver.memory_needs(game, 16)),
    )
  else:
    stage("form", game.bayesian_form)
    stage("tree", lambda: build_tree(game))
    stage("solver", lambda: PSCFRSolver(game))
  return measured


def main() -> None:
  """Prints a line for each stage of each game."""
  options = flags(__doc__, games=list(GAMES), repeats=1, inside=None)
  if options.inside:
    name, _, kind = options.inside.partition(",")
    print(json.dumps(stages(name, kind == "check")))
    return
  print(describe())
  print(f"{'':12}{'wall':>10}{'processor':>12}{'memory':>10}")
  for name in options.games:
    runs = [
      {key: value for kind in ("solver", "check") for key, value in inside(f"{name},{kind}").items()}
      for _ in range(options.repeats)
    ]
    for key in STAGES:
      wall, processor, memory = (min(values) for values in zip(*(run[key] for run in runs), strict=True))
      print(f"{name:6}{key:6}{wall:8.2f} s{processor:10.2f} s{memory:7.0f} MB", flush=True)


def inside(words: str) -> dict[str, Any]:
  """What a process of its own measures."""
  return in_process("benchmarks.engineering.set_up", f"--inside={words}")


if __name__ == "__main__":
  sys.exit(main())
