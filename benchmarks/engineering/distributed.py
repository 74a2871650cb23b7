"""Clusters in several processes: the same bits, memory and bytes a turn.

  python -m benchmarks.engineering.distributed [--game leduc|royal|large] [--iterations 200]
    [--processes 1 2 4]

All processes run on this machine, on the loopback device. Each run begins with the same seed; printed are a
checksum of its tables, the most bytes of tables in a process beside what they should be (those of the trunk,
and a P-th of the clusters'), bytes that the loopback device carried in a turn beside what is gathered (4 S B
for each cluster, to P - 1 processes), and the time of an iteration. Frames are taken off the bytes, 66 for
each packet, acknowledgements included; what is still more than the formula is Gloo's own.

The last columns are memory, in MB: what a process holds when it has compiled, and its most while it runs,
saves, and evaluates the strategy, over what it held before it read the run; of the process that took most.
"large" is "royal" with 774 MB of tables, most of whose cells are never used.
"""

import hashlib
import json
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.machine import describe, flags

ROYAL = (
  "universal_poker(betting=limit,numPlayers=2,numRounds=2,blind=1 2,raiseSize=2 4,firstPlayer=1 1,"
  "maxRaises=3 3,numSuits=4,numRanks=5,numHoleCards=2,numBoardCards=0 3,stack=100 100)"
)
# Game, clusters, buckets, and the distance of the numbers of two buckets.
GAMES = {
  "leduc": ("leduc_poker", 3, "lossless", 1),
  "royal": (ROYAL, 8, 20, 1),
  "large": (ROYAL, 24, 20, 800),
}
MOST = 5  # numbers of a process of which the largest counts
FRAME = 66  # bytes of Ethernet's, IP's and TCP's headers, with TCP's time stamps
WORKER = """
import json, sys, time
import jax, pyspiel
import ps_cfr_spiel
from benchmarks.machine import PeakMemory

def carried():
  with open("/proc/net/dev") as file:
    return next([int(x) for x in line.split()[1:3]] for line in file if line.strip().startswith("lo:"))

def most(work):
  used = PeakMemory()
  work()
  return used() + used.before - begun.before

path, output, iterations, port, processes, process = sys.argv[1:]
iterations = int(iterations)
if int(processes) > 1:
  ps_cfr_spiel.runtime.join_processes(f"localhost:{port}", int(processes), int(process))
begun = PeakMemory()
solver = ps_cfr_spiel.load_solver(path)
solver.compile()
memory = [PeakMemory().before - begun.before]
own = sum(shard.data.nbytes for x in jax.tree.leaves(solver._state) for shard in x.addressable_shards)
before = carried()
solver._advance(iterations)
sent = [(y - x) / (2 * iterations) for x, y in zip(before, carried())]
start = time.monotonic()
memory.append(most(lambda: solver.run(iterations, progress=False)))
milliseconds = 1e3 * (time.monotonic() - start) / iterations
memory.append(most(lambda: solver.save(output)))
memory.append(most(lambda: solver.evaluation(progress=False)))
print(json.dumps([own, *memory, milliseconds, *sent]), flush=True)
"""


def shared(first: Path, output: Path, iterations: int, count: int) -> list[float]:
  """A run in some processes: most bytes of tables and of memory of one, then the numbers of the first."""
  with socket.socket() as free:
    free.bind(("localhost", 0))
    port = free.getsockname()[1]
  words = [sys.executable, "-c", WORKER, *map(str, (first, output, iterations, port, count))]
  started = [subprocess.Popen([*words, str(k)], stdout=subprocess.PIPE, text=True) for k in range(count)]
  told = [process.communicate()[0] for process in started]
  rows = [json.loads(text.splitlines()[-1]) for text in told]  # Gloo prints lines of its own before
  return [*map(max, zip(*(row[:MOST] for row in rows), strict=True)), *rows[0][MOST:]]


def checksum(path: Path) -> str:
  """Of all tables of a run."""
  import jax

  import ps_cfr_spiel

  solver = ps_cfr_spiel.load_solver(path)
  digest = hashlib.sha256()
  for leaf in jax.tree.leaves((solver._kept(), [part for _, part in sorted(solver._here().items())])):
    digest.update(np.ascontiguousarray(leaf).tobytes())
  return digest.hexdigest()[:16]


def begin(game: str, first: Path) -> tuple[int, int, int, int]:
  """Save a new run: bytes of its trunk, bytes of a cluster, lines that leave the trunk, and the batch."""
  import jax
  import pyspiel

  from ps_cfr_spiel.abstractions import HierarchicalMCCFRSolver
  from ps_cfr_spiel.hierarchical import DealtAbstraction, card_game, make_abstraction

  name, clusters, buckets, apart = GAMES[game]
  dealt = card_game(pyspiel.load_game(name))
  made = make_abstraction(dealt, clusters=clusters, buckets=buckets, restarts=2, progress=False)
  spread = [np.where(table < 0, -1, (table + 1) * apart - 1) for table in made.buckets[1:]]
  made = DealtAbstraction.of(dealt, made.clusters, [made.buckets[0], *spread])
  solver = HierarchicalMCCFRSolver(pyspiel.load_game(name), abstraction=made)
  solver.save(first)
  trunk, cluster = (
    sum(x.nbytes for x in jax.tree.leaves(part)) for part in (solver._kept(), solver._here()[0])
  )
  return trunk, cluster, len(solver._tree.leaving), solver.options.batch


def main() -> None:
  options = flags(__doc__, game="leduc", iterations=200, processes=[1, 2, 4])
  print(describe())
  folder, clusters = Path(tempfile.mkdtemp()), GAMES[options.game][1]
  first = folder / "first.safetensors"
  trunk, cluster, lines, batch = begin(options.game, first)
  print(
    f"{'processes':>9}{'checksum':>18}{'bytes of tables':>17}{'formula':>13}{'bytes a turn':>14}"
    f"{'packets':>9}{'less frames':>13}{'formula':>10}{'ms an iteration':>17}"
    f"{'at rest':>9}{'running':>9}{'saving':>9}{'looking':>9}"
  )
  for count in options.processes:
    output = folder / f"{count}.safetensors"
    tables, *memory, milliseconds, carried, packets = shared(first, output, options.iterations, count)
    padded = clusters + -clusters % count
    expected = trunk + padded // count * cluster
    gathered = 4 * lines * batch * padded * (count - 1)
    print(
      f"{count:9}{checksum(output):>18}{tables:17,}{expected:13,}{carried:14,.0f}"
      f"{packets:9.1f}{carried - FRAME * packets:13,.0f}{gathered:10,}{milliseconds:17.2f}"
      + "".join(f"{used:9,.0f}" for used in memory),
      flush=True,
    )


if __name__ == "__main__":
  main()
