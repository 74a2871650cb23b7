"""Subgame-iterations a second of many rivers at once, by size of batch, beside one solver at a time.

  taskset -c 0 python -m benchmarks.engineering.batch --cores 1
  python -m benchmarks.engineering.batch --cores 2
  python -m benchmarks.engineering.batch --orders map vmap --leaves native dense   (on a GPU: vmap, dense)

The rivers are those of `RandomSituations`: all 1,081 hands for both players, pot and all-in, ten pots behind.
A figure is iterations of all rivers over the seconds, of the wall and of the processor, of a call of
`solve_batch` that finds values, tables included, compilation not; the best of several. Its multiples are of
seconds of processor, in turns with a `PSCFRSolver` for each of the same rivers: made before, so that `run`
alone counts, and made, run and evaluated.
Memory is the largest resident set. `--peer PROGRAM` runs another solver afterwards, with --batch, --most,
--pot and --stack (behind), on its own random rivers of the same depth.
"""

import argparse
import resource
import subprocess

import jax

from benchmarks.machine import Seconds, describe, flags
from ps_cfr_spiel import PSCFRSolver
from ps_cfr_spiel.batches import RandomSituations, solve_batch
from ps_cfr_spiel.runtime import use_cores

RATIO, POT = 10.0, 200


def rivers(count: int) -> RandomSituations:
  return RandomSituations(count, seed=1, ratios=(RATIO,))


def batch(count: int, iterations: int, order: str | None, leaves: str) -> None:
  """A call of `solve_batch`."""
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


def one_by_one(count: int, iterations: int) -> None:
  """A solver for each river."""
  for river in rivers(count):
    solver = PSCFRSolver(river.game())
    solver.run(iterations, progress=False)
    solver.evaluation()


def resident() -> float:
  """The largest resident set so far, in MB (Linux counts it in KiB)."""
  return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def compare(options: argparse.Namespace) -> None:
  """Prints a table; sizes and solvers take turns."""
  iterations, made = options.iterations, [PSCFRSolver(river.game()) for river in rivers(max(options.sizes))]
  for solver in made:
    solver.compile()
  cases = [(n, order, leaves) for n in options.sizes for order in options.orders for leaves in options.leaves]
  for n, order, leaves in cases:
    batch(n, 1, order, leaves)  # compiles
  print(f"{jax.local_device_count()} device(s); iterations a second, also as multiples by processor")
  print("rivers  order  leaves     batch  by processor   to runs alone    to one each    MB")
  for n, order, leaves in cases:
    works = (
      lambda case=(n, iterations, order, leaves): batch(*case),
      lambda n=n: [solver.run(iterations, progress=False) for solver in made[:n]],
      lambda n=n: one_by_one(n, iterations),
    )
    turns = zip(*([Seconds.of(work) for work in works] for _ in range(options.repeats)), strict=True)
    ours, runs, whole = (Seconds(*map(min, zip(*times, strict=True))) for times in turns)
    ratios = (other.processor / ours.processor for other in (runs, whole))
    rates = f"{n * iterations / ours.wall:9,.0f} {n * iterations / ours.processor:13,.0f}"
    print(
      f"{n:6} {order:>6} {leaves:>7} {rates} {next(ratios):16.2f} {next(ratios):14.2f} {resident():5,.0f}",
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
