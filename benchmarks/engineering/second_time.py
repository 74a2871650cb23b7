"""How soon things are ready the second time: the program in a new process, and another river in one process.

  taskset -c 0 python -m benchmarks.engineering.second_time

The program is `ps-cfr-spiel solve GAME`, from the command to its pictures, with a cache of compiled code of
its own for each game; the first process fills it. The floor is a process that only imports JAX, pyspiel and
matplotlib. Then some rivers with the same bets and ranges on other boards, in one process without a cache:
each is loaded, built and solved to 0.1% of the pot. Then `--help`, and what a call of `run` takes beside
its iterations.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np
import pyspiel

import ps_cfr_spiel
from benchmarks.machine import describe, flags, median_seconds

RANGES = "22+ A2s+ K9s+ QTs+ JTs ATo+ KJo+;22+ A5s+ K7s+ Q9s+ J9s+ T9s A9o+ KTo+"
RIVER = f"river_subgame(board={{}},pot=200,stack=700,bets=0.5 1 a,ranges={RANGES})"
BOARDS = ("AhJh6h9c2d", "Ks9d4c7h3s", "QcTd7h3s2c", "6c7d8hKsKc")
SHORT = ("kuhn_poker", "river_subgame(pot=10,stack=20,bets=1 a,ranges=AA KK QJs;QQ AKs T9s)")
HELP = [sys.executable, "-m", "ps_cfr_spiel", "--help"]
TARGET, EVERY = 0.001, 10  # of the pot; iterations between two looks


def floor() -> None:
  """Prints the seconds of a process that makes an array and has what draws."""
  code = "import jax, pyspiel, matplotlib.figure; jax.numpy.zeros(3).block_until_ready()"
  seconds = median_seconds(lambda: subprocess.run([sys.executable, "-c", code], check=True), 3)
  print(f"imports alone{seconds:7.2f} s", flush=True)


def processes(game: str, repeats: int) -> None:
  """Prints wall and processor seconds of the program, in one process after the other."""
  with tempfile.TemporaryDirectory() as folder:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_COMPILATION", "JAX_PERS"))}
    environment |= {"PS_CFR_SPIEL_CACHE": f"{folder}/cache", "PYTHONPYCACHEPREFIX": f"{folder}/bytecode"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-m", "ps_cfr_spiel", "solve", game, f"--output={folder}/run"]
    for number in range(1, repeats + 1):
      before, start = os.times(), time.perf_counter()
      subprocess.run(command, check=True, env=environment, capture_output=True)
      wall, after = time.perf_counter() - start, os.times()
      processor = sum(after[2:4]) - sum(before[2:4])
      print(f"{game}, process {number:2}{wall:10.2f} s{processor:10.2f} s of processor", flush=True)
    pictures = [name for name in os.listdir(f"{folder}/run") if name.endswith(".png")]
    print(f"in its folder: {', '.join(sorted(pictures))}")


def used(work: Callable[[], object], repeats: int) -> tuple[float, float]:
  """Wall and processor seconds of a call, the medians of five rounds of some calls each."""
  rounds = []
  for _ in range(5):
    wall, processor = time.perf_counter(), time.process_time()
    for _ in range(repeats):
      work()
    rounds.append((time.perf_counter() - wall, time.process_time() - processor))
  wall, processor = np.median(rounds, axis=0) / repeats
  return float(wall), float(processor)


def help_of_the_program() -> None:
  """Prints the seconds of `--help`, the medians of five processes."""
  before, walls = os.times(), []
  for _ in range(5):
    walls.append(median_seconds(lambda: subprocess.run(HELP, check=True, capture_output=True), 1))
  after = os.times()
  processor = (sum(after[2:4]) - sum(before[2:4])) / 5
  print(f"--help{np.median(walls):10.2f} s{processor:10.2f} s of processor", flush=True)


def short_calls() -> None:
  """Prints what a call of ten iterations takes beside them, which are timed in calls of 10,000."""
  for game in SHORT:
    solver = ps_cfr_spiel.PSCFRSolver(pyspiel.load_game(game))
    for iterations in (10_000, 10):
      solver.run(iterations)
    calls, long = used(lambda s=solver: s.run(10), 200), used(lambda s=solver: s.run(10_000), 1)
    wall, processor = (1e6 * (short - each / 1000) for short, each in zip(calls, long, strict=True))
    print(f"run(10) beside its iterations {wall:8.0f} us{processor:8.0f} us of processor  {game}", flush=True)


def rivers() -> None:
  """Prints what each river takes."""
  for board in BOARDS:
    start = time.perf_counter()
    game = pyspiel.load_game(RIVER.format(board))
    solver = ps_cfr_spiel.PSCFRSolver(game)
    built = time.perf_counter()
    solver.compile()
    compiled = time.perf_counter()
    target = TARGET * game.get_parameters()["pot"]
    solver.run(2000, every=EVERY, callback=lambda solver, target=target: solver.exploitability() <= target)
    end = time.perf_counter()
    types = " x ".join(str(player.types) for player in solver.tree.players)
    print(
      f"{board}{types:>12} hands: built {built - start:6.3f} s, compiled {compiled - built:6.3f} s, "
      f"{solver.iteration:4} iterations {end - compiled:6.3f} s, in all {end - start:6.3f} s",
      flush=True,
    )


def main() -> None:
  """Prints all, or without processes what comes after the rivers (--repeats 0)."""
  games = ["river_subgame", "kuhn_poker", "leduc_poker"]
  options = flags(__doc__ or "", repeats=5, games=games)
  print(describe())
  if options.repeats:
    floor()
    for game in options.games:
      processes(game, options.repeats)
    rivers()
  help_of_the_program()
  short_calls()


if __name__ == "__main__":
  main()
