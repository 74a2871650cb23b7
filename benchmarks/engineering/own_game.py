"""A game of one's own in Python, learned and played from the command line: the time of each step.

  python -m benchmarks.engineering.own_game

The game and its features are those of examples/new_features.py. Each step is a command as typed, in a new
process; all share a cache of compiled code, empty at first. Prints the processor and wall seconds of each
with its result, then the exploitability, by OpenSpiel, of searches by the values and of a uniform player,
and the total.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import pyspiel
from open_spiel.python.algorithms.exploitability import nash_conv
from open_spiel.python.policy import UniformRandomPolicy

from benchmarks.machine import describe, duration, flags
from ps_cfr_spiel.matches import OnDemandResolving
from ps_cfr_spiel.values import NetworkValues

EXAMPLE = Path(__file__).parents[2] / "examples" / "new_features.py"
GAME, FEATURES = "full_street", "features"
LEARNING = "--teacher=self-play --turns=1 --draws=60 --steps=600"
ITERATIONS = 100  # of a search that is measured
MOVES = "1\n" * 3  # typed by the person, who bets and calls
RESULTS = {"learn": "validation", "play": "You ", "match": "chips", "judge": "search"}  # beginnings of lines


def typed(words: Sequence[str], environment: dict[str, str], moves: str = "") -> tuple[float, float]:
  """Runs a command of the program; prints its seconds and its result, and returns the seconds."""
  before, start = os.times(), time.perf_counter()
  command = [sys.executable, "-m", "ps_cfr_spiel", *words]
  done = subprocess.run(command, input=moves, capture_output=True, text=True, env=environment)
  if done.returncode:
    raise SystemExit(f"{' '.join(words)} failed: {done.stderr}")
  after, wall = os.times(), time.perf_counter() - start
  processor = sum(after[2:4]) - sum(before[2:4])
  result = next(x for x in done.stdout.splitlines() if x.startswith(RESULTS[words[0]]))
  told(f"{words[0]}: {result.rpartition(': ')[2]}", processor, wall)
  return processor, wall


def told(what: str, processor: float, wall: float) -> None:
  """Prints a row."""
  print(f"{duration(processor):>10} of processor{duration(wall):>10} of the wall  {what}", flush=True)


def measured(file: Path) -> tuple[float, float]:
  """Prints the exploitability of searches by the values, and of a uniform player; returns the seconds."""
  sys.path.insert(0, str(EXAMPLE.parent))
  began, start = time.process_time(), time.perf_counter()
  import new_features

  game = pyspiel.load_game(GAME)
  values = NetworkValues.load(file).with_features(new_features.features)
  search = OnDemandResolving(game, ITERATIONS, lookahead=1, value_function=values)
  gain, uniform = (
    nash_conv(game, policy, use_cpp_br=False) / 2 for policy in (search, UniformRandomPolicy(game))
  )
  seconds = time.process_time() - began, time.perf_counter() - start
  told(f"exploitability {gain:.1g} (uniform play {uniform:.3f})", *seconds)
  return seconds


def main() -> None:
  """Prints the rows."""
  options = flags(__doc__, learning=LEARNING, hands=100)
  print(describe(), flush=True)
  with tempfile.TemporaryDirectory() as folder:
    file, module = Path(folder) / "values.safetensors", f"--module={EXAMPLE}"
    environment = {**os.environ, "PS_CFR_SPIEL_CACHE": f"{folder}/cache"}
    player, hands = f"search:{file}", f"--hands={options.hands}"
    learning = ["learn", GAME, module, f"--features={FEATURES}", f"--output={folder}", "--noplot"]
    steps = [
      typed([*learning, *options.learning.split()], environment),
      typed(["play", GAME, module, f"--opponent={player}", "--seat=1", "--seed=1"], environment, MOVES),
      typed(["match", player, "random", module, hands], environment),
      typed(["judge", GAME, player, "random", module, hands, "--rows=0"], environment),
      measured(file),
    ]
  told("in all", *(sum(seconds) for seconds in zip(*steps, strict=True)))


if __name__ == "__main__":
  main()
