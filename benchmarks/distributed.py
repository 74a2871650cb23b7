"""Clusters in several processes: the same bits, memory, and a process that is killed.

  python benchmarks/distributed.py [--game leduc|royal] [--iterations 200] [--processes 1 2 4]

All processes run on this machine, on the loopback device. Each run begins with the same seed; printed are a
checksum of its tables, the most bytes of tables in a process, and the time of an iteration. Then a run of two
processes loses one to kill -9; it is taken up from its last checkpoint by one process alone, which must end
in the checksum of a run that was never broken.
"""

import argparse
import hashlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from machine import describe

GAMES = {
  "leduc": ("leduc_poker", 3, "lossless"),
  "royal": (
    "universal_poker(betting=limit,numPlayers=2,numRounds=2,blind=1 2,raiseSize=2 4,firstPlayer=1 1,"
    "maxRaises=3 3,numSuits=4,numRanks=5,numHoleCards=2,numBoardCards=0 3,stack=100 100)",
    8,
    "20",
  ),
}
WORKER = """
import sys, time
import jax, pyspiel
import ps_cfr_spiel

path, output, port, processes, process, iterations = sys.argv[1:]
if int(processes) > 1:
  ps_cfr_spiel.join(f"localhost:{port}", int(processes), int(process))
solver = ps_cfr_spiel.load_solver(path)
solver.compile()
start, before = time.monotonic(), solver.iteration
solver.run(int(iterations) - before, progress=False, checkpoint=output, checkpoint_seconds=1.0)
seconds = time.monotonic() - start
own = sum(shard.data.nbytes for x in solver._state for shard in x.addressable_shards)
print(f"{process} {own} {seconds / max(int(iterations) - before, 1)}", flush=True)
"""


def start(path: Path, output: Path, processes: int, iterations: int) -> list[subprocess.Popen]:
  """A run from a file in so many processes."""
  with socket.socket() as free:
    free.bind(("localhost", 0))
    port = free.getsockname()[1]
  words = [sys.executable, "-c", WORKER, path, output, port, processes]
  return [
    subprocess.Popen([*map(str, words), str(k), str(iterations)], stdout=subprocess.PIPE, text=True)
    for k in range(processes)
  ]


def checksum(path: Path) -> str:
  """Of all tables in a file."""
  with np.load(path) as file:
    names = sorted(name for name in file.files if name.startswith("state"))
    return hashlib.sha256(b"".join(file[name].tobytes() for name in names)).hexdigest()[:16]


def main() -> None:
  import pyspiel

  import ps_cfr_spiel

  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--game", choices=GAMES, default="leduc")
  parser.add_argument("--iterations", type=int, default=200)
  parser.add_argument("--processes", type=int, nargs="+", default=[1, 2, 4])
  options = parser.parse_args()
  print(describe())
  name, clusters, buckets = GAMES[options.game]
  folder = Path(tempfile.mkdtemp())
  first = folder / "first.npz"
  solver = ps_cfr_spiel.HierarchicalMCCFRSolver(
    pyspiel.load_game(name), clusters, buckets if buckets == "lossless" else int(buckets)
  )
  solver.save(first)
  print(f"{'processes':>9}{'checksum':>18}{'bytes of tables':>17}{'ms an iteration':>17}")
  for count in options.processes:
    output = folder / f"{count}.npz"
    told = [process.communicate()[0] for process in start(first, output, count, options.iterations)]
    rows = [text.splitlines()[-1].split() for text in told]  # Gloo prints lines of its own before
    most, seconds = max(int(row[1]) for row in rows), float(rows[0][2])
    print(f"{count:9}{checksum(output):>18}{most:17,}{1e3 * seconds:17.2f}", flush=True)
  output = folder / "killed.npz"
  both = start(first, output, 2, 1000 * options.iterations)
  while not output.exists() or ps_cfr_spiel.load_solver(output).iteration == 0:
    time.sleep(0.5)
  os.kill(both[1].pid, signal.SIGKILL)
  killed = time.monotonic()
  code = both[0].wait()
  waited = time.monotonic() - killed
  at = ps_cfr_spiel.load_solver(output).iteration
  print(f"one of two killed: the other ended {waited:.0f} s later with code {code}; saved at {at:,}")
  goal = at + options.iterations
  for begun, ended in ((output, "taken.npz"), (first, "unbroken.npz")):
    [process] = start(begun, folder / ended, 1, goal)
    process.communicate()
  print(f"taken up: {checksum(folder / 'taken.npz')}, unbroken: {checksum(folder / 'unbroken.npz')}")


if __name__ == "__main__":
  main()
