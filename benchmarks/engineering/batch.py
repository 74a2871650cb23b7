"""Subgame-iterations a second of many rivers at once, by size of batch, beside one solver at a time.

  taskset -c 0 python -m benchmarks.engineering.batch --cores 1
  python -m benchmarks.engineering.batch --cores 2
  python -m benchmarks.engineering.batch --orders map vmap --leaves native dense   (on a GPU: vmap, dense)

The rivers are those of `RandomSituations`: all 1,081 hands for both players, pot and all-in, ten pots behind.
A figure is iterations of all rivers over the seconds of a call of `solve_batch` that finds values, tables
included, compilation not; the best of several, in turns with `PSCFRSolver.run` on a game that is built and
compiled already. Memory is the largest resident set. `--peer PROGRAM` runs another solver afterwards, with
--batch, --most, --pot and --stack (behind), on its own random rivers of the same depth.
"""

import argparse
import resource
import subprocess
import time

import jax

from benchmarks.machine import describe, flags
from ps_cfr_spiel import PSCFRSolver
from ps_cfr_spiel.batches import RandomSituations, solve_batch
from ps_cfr_spiel.runtime import use_cores

RATIO, POT = 10.0, 200


def rivers(count: int) -> RandomSituations:
  return RandomSituations(count, seed=1, ratios=(RATIO,))


def batch(count: int, iterations: int, order: str | None, leaves: str) -> float:
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
  print("rivers  order  leaves     batch    to one solver    MB")
  for n, order, leaves in cases:
    rates = [
      (n * options.iterations / batch(n, options.iterations, order, leaves), alone())
      for _ in range(options.repeats)
    ]
    best, ones = max(rate for rate, _ in rates), max(one for _, one in rates)
    print(
      f"{n:6} {order:>6} {leaves:>7} {best:9,.0f} {best / ones:16.2f} {resident():6,.0f}",
      flush=True,
    )
    if options.peer:
      words = {"batch": n, "most": options.iterations, "pot": POT, "stack": int(RATIO * POT)}
      given = [word for name, value in words.items() for word in (f"--{name}", str(value))]
      done = subprocess.run([*options.peer.split(), *given], check=True, capture_output=True, text=True)
      print(f"peer: {done.stdout.splitlines()[-1]}", flush=True)


def main() -> None:
  options = flags(
    __doc__,
    sizes=[1, 4, 16, 64],
    iterations=200,
    orders=["map"],
    leaves=["auto"],
    repeats=3,
    cores=int,
    peer=None,
  )
  if options.cores:
    use_cores(options.cores)
  print(describe())
  compare(options)


if __name__ == "__main__":
  main()
