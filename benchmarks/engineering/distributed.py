"""Clusters in several processes: the same bits, memory and bytes a turn.

  python -m benchmarks.engineering.distributed [--game leduc|royal] [--processes 1 2 4]

All processes run on this machine, on the loopback device. Each run begins with the same seed; printed are a
checksum of its tables, the most bytes of tables in a process beside what they should be (those of the head,
and a P-th of the clusters'), bytes that the loopback device carried in a turn beside what is gathered (4 S B
for each cluster, to P - 1 processes), and the time of an iteration. Frames are taken off the bytes, 66 for
each packet, acknowledgements included; what is still more than the formula is Gloo's own.
"""

import hashlib
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.machine import describe, flags

GAMES = {
  "leduc": ("leduc_poker", 3, "lossless"),
  "royal": (
    "universal_poker(betting=limit,numPlayers=2,numRounds=2,blind=1 2,raiseSize=2 4,firstPlayer=1 1,"
    "maxRaises=3 3,numSuits=4,numRanks=5,numHoleCards=2,numBoardCards=0 3,stack=100 100)",
    8,
    "20",
  ),
}
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


def main() -> None:
  import jax
  import pyspiel

  import ps_cfr_spiel

  options = flags(__doc__, game="leduc", iterations=200, processes=[1, 2, 4])
  print(describe())
  name, clusters, buckets = GAMES[options.game]
  folder = Path(tempfile.mkdtemp())
  first = folder / "first.npz"
  solver = ps_cfr_spiel.abstractions.HierarchicalMCCFRSolver(
    pyspiel.load_game(name), clusters, buckets if buckets == "lossless" else int(buckets)
  )
  solver.save(first)
  state, lines = solver._kept(), len(solver._tree.leaving)
  clusters_own = jax.tree.leaves(state.tables.clusters)
  small = sum(x.nbytes for x in jax.tree.leaves((state.iteration, state.key, state.tables.head)))
  print(
    f"{'processes':>9}{'checksum':>18}{'bytes of tables':>17}{'formula':>10}{'bytes a turn':>14}"
    f"{'packets':>9}{'less frames':>13}{'formula':>10}{'ms an iteration':>17}"
  )
  for count in options.processes:
    output = folder / f"{count}.npz"
    most, seconds, carried, packets = shared(first, output, options.iterations, count)
    padded = clusters + -clusters % count
    each = sum(x[0].nbytes for x in clusters_own)
    expected = small + padded // count * each
    gathered = 4 * lines * solver.batch * padded * (count - 1)
    print(
      f"{count:9}{checksum(output):>18}{most:17,}{expected:10,}{carried:14,.0f}"
      f"{packets:9.1f}{carried - FRAME * packets:13,.0f}{gathered:10,}{1e3 * seconds:17.2f}",
      flush=True,
    )


if __name__ == "__main__":
  main()
