"""What long use may spoil: the memory of a process that goes on, and runs that are killed.

  python -m benchmarks.engineering.endurance memory [--seconds 3600]
  python -m benchmarks.engineering.endurance kills [--count 10]
  python -m benchmarks.engineering.endurance writers

memory: searches of new games, batches of random rivers and runs, in turn, in one process; the resident
set after each tenth of the time. kills: commands in processes of their own, killed by SIGKILL after random
times of up to 0.7 of a whole run, until they end by themselves; their files beside those of a run left alone.
writers: the same commands, each twice at once into one folder; the file beside that of a run left alone.
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import jax
import numpy as np
import pyspiel

import ps_cfr_spiel
from benchmarks.machine import describe, flags
from ps_cfr_spiel.batches import RandomRivers, solve_batch

CHEAT = "cheat(ranks=2,suits=3,hand_size=2,max_turns=4)"
KILLED = {  # words of a command, and the iterations of a run that is resumed by their number
  "solve": (["solve", "leduc_poker", "--noplot", "--checkpoint_seconds=0.1"], 300_000),
  "solve, 16 bits": (["solve", "leduc_poker", "--bits=16", "--noplot", "--checkpoint_seconds=0.1"], 100_000),
  "train": (["train", CHEAT, "--checkpoint_seconds=0.1", "--games=10", "--batch=64"], 2_000),
  "hierarchical, 2 processes": (
    [
      "solve",
      "leduc_poker",
      "--solver=hierarchical",
      "--processes=2",
      "--noplot",
      "--checkpoint_seconds=0.1",
    ],
    400,
  ),
  "learn": (["learn", "leduc_poker", "--draws=40", "--turns=2", "--chains=4", "--steps=200", "--noplot"], 0),
}


def resident() -> float:
  """MB of this process."""
  with open("/proc/self/status") as file:
    return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024


def memory(seconds: float) -> None:
  """Prints the resident set and what was done, ten times."""
  games = [pyspiel.load_game(name) for name in ("leduc_poker", "glasses", "river_subgame")]
  begun, done = time.monotonic(), {"searches": 0, "batches": 0, "runs": 0}
  for part in range(1, 11):
    while time.monotonic() < begun + part * seconds / 10:
      game = games[done["searches"] % len(games)]
      search = ps_cfr_spiel.ContinualResolving(game, iterations=20)
      bots = [search.bot(player, seed=done["searches"]) for player in (0, 1)]
      play(game, bots, random.Random(done["searches"]))
      solve_batch(RandomRivers(4, seed=done["batches"]), iterations=20)
      ps_cfr_spiel.PSCFRSolver(game).run(50)
      done = {name: number + 1 for name, number in done.items()}
    told = ", ".join(f"{number:,} {name}" for name, number in done.items())
    print(f"after {part * seconds / 10:6.0f} s: {resident():6.0f} MB; {told}", flush=True)


def play(game: pyspiel.Game, bots, draw: random.Random) -> None:
  """A game of two bots."""
  state = game.new_initial_state()
  for bot in bots:
    bot.restart_at(state)
  while not state.is_terminal():
    if state.is_chance_node():
      actions, weights = zip(*state.chance_outcomes(), strict=True)
      state.apply_action(draw.choices(actions, weights)[0])
    else:
      state.apply_action(bots[state.current_player()].step(state))


def command(words: list[str], folder: Path, iterations: int) -> list[str]:
  """The command that begins, or goes on where a killed one stopped; empty if it had done all."""
  run, program = folder / "run.npz", [sys.executable, "-m", "ps_cfr_spiel"]
  if not iterations or not run.exists():
    more = [f"--iterations={iterations}"] if iterations else []
    return [*program, *words, f"--output={folder}", *more, "--quiet"]
  left = iterations - ps_cfr_spiel.load_solver(run).iteration
  again = ("--checkpoint", "--noplot", "--games", "--processes")
  kept = [word for word in words if word.startswith(again)]
  return [*program, words[0], f"--resume={run}", *kept, f"--iterations={left}", "--quiet"] if left else []


def arrays(folder: Path) -> list[np.ndarray]:
  """All that a finished command leaves behind, less times."""
  if (folder / "run.npz").exists():
    solver = ps_cfr_spiel.load_solver(folder / "run.npz")
    return [np.asarray(x) for x in jax.tree.leaves(solver._kept())]
  with np.load(folder / "values.npz") as file:
    return [file[name] for name in sorted(file) if file[name].dtype.kind == "f"]


def kills(count: int, only: str, draw: random.Random) -> None:
  """Prints for each command how often it was killed, and whether its file is that of a run not killed."""
  for name, (words, iterations) in KILLED.items():
    if only not in name:
      continue
    with tempfile.TemporaryDirectory() as place:
      whole, broken = Path(place, "whole"), Path(place, "broken")
      begun = time.monotonic()
      subprocess.run(command(words, whole, iterations), check=True, capture_output=True)
      length, killed = time.monotonic() - begun, 0
      while again := command(words, broken, iterations):
        process = subprocess.Popen(
          again,
          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        try:
          told = process.communicate(timeout=draw.uniform(0.2, 0.7 * length) if killed < count else None)[1]
          assert process.returncode == 0, told.decode()
          break
        except subprocess.TimeoutExpired:
          os.killpg(process.pid, signal.SIGKILL)
          process.communicate()
          killed += 1
      show(name, whole, broken, killed=killed)


def show(name: str, whole: Path, other: Path, **more: object) -> None:
  """Prints whether two folders hold the same numbers."""
  pairs = list(zip(arrays(whole), arrays(other), strict=True))
  same = all(np.array_equal(x, y) for x, y in pairs)
  print(json.dumps({"command": name, **more, "same bits": same, "arrays": len(pairs)}), flush=True)


def writers(only: str) -> None:
  """Prints for each command the codes of two that begin at once, and whether they leave the file of one."""
  for name, (words, iterations) in KILLED.items():
    if only not in name:
      continue
    with tempfile.TemporaryDirectory() as place:
      whole, both = Path(place, "whole"), Path(place, "both")
      subprocess.run(command(words, whole, iterations), check=True, capture_output=True)
      twice = [
        subprocess.Popen(command(words, both, iterations), stdout=subprocess.DEVNULL) for _ in range(2)
      ]
      codes = [process.wait() for process in twice]
      show(name, whole, both, codes=codes, left=sorted(path.name for path in both.rglob("*.part")))


def main() -> None:
  options = flags(__doc__, what=("memory", "kills", "writers"), seconds=3600.0, count=10, seed=1, only="")
  print(describe())
  if options.what == "memory":
    memory(options.seconds)
  elif options.what == "kills":
    kills(options.count, options.only, random.Random(options.seed))
  else:
    writers(options.only)


if __name__ == "__main__":
  main()
