"""Subgame-iterations a second of many rivers at once, by size of batch, beside one solver at a time.

  taskset -c 0 python -m benchmarks.engineering.batch --cores 1
  python -m benchmarks.engineering.batch --cores 2
  python -m benchmarks.engineering.batch --processes 2
  python -m benchmarks.engineering.batch --orders map vmap --leaves native dense   (on a GPU: vmap, dense)

The rivers are those of `RandomRivers`: all 1,081 hands for both players, pot and all-in, ten pots behind. A
figure is iterations of all rivers over the seconds of a call of `solve_batch` that finds values, tables
included, compilation not; the best of several, in turns with `PSCFRSolver.run` on a game that is built and
compiled already. postflop-solver, in Rust, does about 3,150 a second on one core, one river at a time
(docs/measurements.md). Memory is the largest resident set.
"""

import argparse
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time

import jax

from benchmarks.machine import describe
from ps_cfr_spiel import PSCFRSolver
from ps_cfr_spiel.batches import RandomRivers, solve_batch
from ps_cfr_spiel.runtime import join_processes, use_cores

PEER = 3150.0  # iterations a second, postflop-solver on one core
RATIO = 10.0


def rivers(count: int) -> RandomRivers:
  return RandomRivers(count, seed=1, ratios=(RATIO,))


def batch(count: int, iterations: int, order: str | None, leaves: str, output: str | None = None) -> float:
  """Seconds of a call."""
  started = time.perf_counter()
  solve_batch(
    rivers(count),
    iterations=iterations,
    hands="all",
    strategies=False,
    leaves=leaves,
    order=order,
    chunk=min(count, 1024),
    output=output,
    progress=False,
  )
  return time.perf_counter() - started


def resident() -> float:
  """The largest resident set so far, in MB (Linux counts it in KiB)."""
  return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def single(solver: PSCFRSolver, iterations: int) -> float:
  """Seconds of a run of one solver."""
  started = time.perf_counter()
  solver.run(iterations, progress=False)
  return time.perf_counter() - started


def compare(options: argparse.Namespace) -> None:
  """Prints a table; sizes and the single solver take turns."""
  solver = PSCFRSolver(rivers(1)[0].game())
  solver.compile()
  alone = lambda: options.iterations / single(solver, options.iterations)  # noqa: E731
  cases = [(n, order, leaves) for n in options.sizes for order in options.orders for leaves in options.leaves]
  for n, order, leaves in cases:
    batch(n, 1, order, leaves)  # compiles
  print(f"{jax.local_device_count()} device(s); iterations a second, also as multiples")
  print("rivers  order  leaves     batch    to one solver    to the peer    MB")
  for n, order, leaves in cases:
    rates = [
      (n * options.iterations / batch(n, options.iterations, order, leaves), alone())
      for _ in range(options.repeats)
    ]
    best, ones = max(rate for rate, _ in rates), max(one for _, one in rates)
    print(
      f"{n:6} {order:>6} {leaves:>7} {best:9,.0f} {best / ones:16.2f} {best / PEER:14.2f} {resident():6,.0f}",
      flush=True,
    )


def share(options: argparse.Namespace) -> None:
  """Several processes with a core each, and one that does it all; files included."""
  count = max(options.sizes)
  for processes in (1, options.processes):
    with socket.socket() as free:
      free.bind(("localhost", 0))
      address = f"localhost:{free.getsockname()[1]}"
    with tempfile.TemporaryDirectory() as folder:
      words = [
        sys.executable,
        "-m",
        __spec__.name,
        "--iterations",
        str(options.iterations),
        "--sizes",
        str(count),
      ]
      parts = [
        subprocess.Popen(
          [*words, "--join", address, str(processes), str(k), folder], stdout=subprocess.PIPE, text=True
        )
        for k in range(processes)
      ]
      seconds = max(float(part.communicate()[0].split()[-1]) for part in parts)
    print(f"{processes} process(es), {count} rivers: {count * options.iterations / seconds:,.0f} a second")


def take_part(options: argparse.Namespace) -> None:
  """One of the processes; prints the seconds of its share."""
  address, processes, process, folder = options.join
  use_cores(1)
  join_processes(address, int(processes), int(process))
  (count,) = options.sizes
  size = -(-count // (4 * int(processes)))
  method = {"hands": "all", "strategies": False, "chunk": size, "progress": False}
  warm = os.path.join(folder, "warm")
  solve_batch(rivers(count), iterations=1, output=warm, **method)
  started = time.perf_counter()
  solve_batch(rivers(count), iterations=options.iterations, output=os.path.join(folder, "run"), **method)
  print(time.perf_counter() - started)


def main() -> None:
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--sizes", type=int, nargs="+", default=[1, 4, 16, 64])
  parser.add_argument("--iterations", type=int, default=200)
  parser.add_argument("--orders", nargs="+", default=["map"])
  parser.add_argument("--leaves", nargs="+", default=["auto"])
  parser.add_argument("--repeats", type=int, default=3)
  parser.add_argument("--cores", type=int)
  parser.add_argument("--processes", type=int)
  parser.add_argument("--join", nargs=4, help=argparse.SUPPRESS)
  options = parser.parse_args()
  if options.join:
    take_part(options)
    return
  if options.cores:
    use_cores(options.cores)
  print(describe())
  if options.processes:
    share(options)
  else:
    compare(options)


if __name__ == "__main__":
  main()
