"""Clusters in several processes: the same bits, memory, bytes a turn, and processes that are killed.

  python -m benchmarks.engineering.distributed [--game leduc|royal] [--processes 1 2 4] [--kills 3]

All processes run on this machine, on the loopback device. Each run begins with the same seed; printed are a
checksum of its tables, the most bytes of tables in a process beside what they should be (those of the head,
and a P-th of the clusters'), bytes that the loopback device carried in a turn beside what is gathered (4 S B
for each cluster, to P - 1 processes), and the time of an iteration. Frames are taken off the bytes, 66 for
each packet, acknowledgements included; what is still more than the formula is Gloo's own.

Then `solve --processes=2` loses one of its processes to kill -9 again and again, at random times; printed
is how long before that it was saved. It must end in the checksum of a run that was never broken.
"""

import argparse
import hashlib
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.machine import describe

GAMES = {
  "leduc": ("leduc_poker", 3, "lossless"),
  "royal": (
    "universal_poker(betting=limit,numPlayers=2,numRounds=2,blind=1 2,raiseSize=2 4,firstPlayer=1 1,"
    "maxRaises=3 3,numSuits=4,numRanks=5,numHoleCards=2,numBoardCards=0 3,stack=100 100)",
    8,
    "20",
  ),
}
SAVE_SECONDS = 2.0
FRAME = 66  # bytes of Ethernet's, IP's and TCP's headers, with TCP's time stamps
WORKER = """
import sys, time
import jax, pyspiel
import ps_cfr_spiel

def carried():
  with open("/proc/net/dev") as file:
    return next([int(x) for x in line.split()[1:3]] for line in file if line.strip().startswith("lo:"))

path, output, iterations, port, processes, process = sys.argv[1:]
if int(processes) > 1:
  ps_cfr_spiel.runtime.join_processes(f"localhost:{port}", int(processes), int(process))
solver = ps_cfr_spiel.load_solver(path)
solver.compile()
start = time.monotonic()
solver.run(int(iterations), progress=False, checkpoint=output, checkpoint_seconds=1.0)
seconds = time.monotonic() - start
own = sum(shard.data.nbytes for x in solver._state for shard in x.addressable_shards)
before = carried()
solver._advance(int(iterations))
sent = [(y - x) / (2 * int(iterations)) for x, y in zip(before, carried())]
print(own, seconds / int(iterations), *sent, flush=True)
"""


def shared(first: Path, output: Path, iterations: int, count: int) -> tuple[int, float, float, float]:
  """A run in so many processes: most bytes of one, seconds an iteration, bytes and packets a turn."""
  with socket.socket() as free:
    free.bind(("localhost", 0))
    port = free.getsockname()[1]
  words = [sys.executable, "-c", WORKER, *map(str, (first, output, iterations, port, count))]
  started = [subprocess.Popen([*words, str(k)], stdout=subprocess.PIPE, text=True) for k in range(count)]
  told = [process.communicate()[0] for process in started]
  rows = [text.splitlines()[-1].split() for text in told]  # Gloo prints lines of its own before
  return max(int(row[0]) for row in rows), *map(float, rows[0][1:])


def checksum(path: Path) -> str:
  """Of all tables in a file."""
  with np.load(path) as file:
    names = sorted(name for name in file.files if name.startswith("state"))
    return hashlib.sha256(b"".join(file[name].tobytes() for name in names)).hexdigest()[:16]


def solved(words: list[str], kills: int) -> None:
  """`solve`, one of whose processes is killed so often, each time after something new was saved."""
  program = [sys.executable, "-m", "ps_cfr_spiel", "solve", *words, "--noplot", "--quiet"]
  running = subprocess.Popen([*program, f"--checkpoint_seconds={SAVE_SECONDS}"], stdout=subprocess.DEVNULL)
  file = Path(words[-1].removeprefix("--output=")) / "run.npz"
  seen = 0.0
  for _ in range(kills):
    while running.poll() is None and (not file.exists() or file.stat().st_mtime == seen):
      time.sleep(0.1)
    time.sleep(random.uniform(0, 2 * SAVE_SECONDS))
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
    if running.poll() is not None or not children:
      break
    victim = random.choice(children)
    os.kill(int(victim), signal.SIGKILL)
    seen = file.stat().st_mtime
    print(f"killed one of two {time.time() - seen:.1f} s after the last save", flush=True)
  if running.wait():
    sys.exit("The run did not end well.")


def main() -> None:
  import pyspiel

  import ps_cfr_spiel

  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--game", choices=GAMES, default="leduc")
  parser.add_argument("--iterations", type=int, default=200)
  parser.add_argument("--processes", type=int, nargs="+", default=[1, 2, 4])
  parser.add_argument("--kills", type=int, default=3)
  parser.add_argument("--long", type=int, default=5000, help="iterations of the run that is killed")
  options = parser.parse_args()
  print(describe())
  name, clusters, buckets = GAMES[options.game]
  folder = Path(tempfile.mkdtemp())
  first = folder / "first.npz"
  solver = ps_cfr_spiel.HierarchicalMCCFRSolver(
    pyspiel.load_game(name), clusters, buckets if buckets == "lossless" else int(buckets)
  )
  solver.save(first)
  state, lines = solver._kept(), len(solver._sampled.leaving)
  small = sum(x.nbytes for x in (state.iteration, state.key, state.head_regrets, state.head_average))
  print(
    f"{'processes':>9}{'checksum':>18}{'bytes of tables':>17}{'formula':>10}{'bytes a turn':>14}"
    f"{'packets':>9}{'less frames':>13}{'formula':>10}{'ms an iteration':>17}"
  )
  for count in options.processes:
    output = folder / f"{count}.npz"
    most, seconds, carried, packets = shared(first, output, options.iterations, count)
    padded = clusters + -clusters % count
    each = 2 * state.regrets[0].nbytes
    expected = small + padded // count * each
    gathered = 4 * lines * solver.batch * padded * (count - 1)
    print(
      f"{count:9}{checksum(output):>18}{most:17,}{expected:10,}{carried:14,.0f}"
      f"{packets:9.1f}{carried - FRAME * packets:13,.0f}{gathered:10,}{1e3 * seconds:17.2f}",
      flush=True,
    )
  words = [name, "--solver=hierarchical", f"--clusters={clusters}", f"--buckets={buckets}"]
  words.append(f"--iterations={options.long}")
  solved([*words, "--processes=2", f"--output={folder / 'killed'}"], options.kills)
  solved([*words, "--processes=1", f"--output={folder / 'unbroken'}"], 0)
  broken, unbroken = (checksum(folder / kind / "run.npz") for kind in ("killed", "unbroken"))
  print(f"killed {broken}, unbroken {unbroken}")
  if broken != unbroken:
    sys.exit("They differ.")


if __name__ == "__main__":
  main()
