"""Do sampling solvers stay finite in float32? Many trajectories in the largest batches, on Leduc poker.

  python benchmarks/sampling_endurance.py [--trajectories 10000000] [--batch 4096]

Prints for each solver whether all numbers of its state are finite, and exploitability. External sampling,
where one trajectory visits many histories, makes a tenth as many.
"""

import argparse
import time

import jax
import numpy as np
import pyspiel
from machine import describe

import ps_cfr_spiel

SOLVERS = (
  (ps_cfr_spiel.VRMCCFRSolver, {"plus": True}, 1),
  (ps_cfr_spiel.OutcomeSamplingSolver, {}, 1),
  (ps_cfr_spiel.ExternalSamplingSolver, {}, 10),
)


def main() -> None:
  """Runs the solvers."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("--trajectories", type=int, default=10_000_000)
  parser.add_argument("--batch", type=int, default=4096)
  options = parser.parse_args()
  print(describe())
  game = pyspiel.load_game("leduc_poker")
  for kind, settings, share in SOLVERS:
    solver = kind(game, batch=options.batch, dtype="float32", **settings)
    began, iterations = time.perf_counter(), -(-options.trajectories // share // options.batch)
    solver.run(iterations)
    arrays = [np.asarray(leaf) for leaf in jax.tree.leaves(solver._state)]
    finite = all(np.isfinite(a).all() for a in arrays if np.issubdtype(a.dtype, np.floating))
    print(
      f"{solver.name:20}{iterations * options.batch:12,} trajectories, batches of {options.batch:,}: "
      f"{'all finite' if finite else 'NOT FINITE'}, exploitability {solver.exploitability():.4f}, "
      f"{time.perf_counter() - began:.0f} s",
      flush=True,
    )


if __name__ == "__main__":
  main()
