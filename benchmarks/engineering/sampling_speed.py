"""Trajectories a second, and exploitability by wall time, beside OpenSpiel's C++ samplers in the same run.

  taskset -c 0 python -m benchmarks.engineering.sampling_speed [--game leduc_poker] [--seconds 20]

An iteration of OpenSpiel's and of ours updates both players, so with batch B it is 2 B trajectories.
Compilation and the evaluations are left out of all times.
"""

import time

import pyspiel

from benchmarks.machine import describe, flags
from ps_cfr_spiel.solvers import ExternalSamplingSolver, OutcomeSamplingSolver, VRMCCFRSolver

SPEEDS = {
  "outcome sampling": (OutcomeSamplingSolver, {}),
  "VR-MCCFR": (VRMCCFRSolver, {}),
  "external sampling": (ExternalSamplingSolver, {}),
  "VR-MCCFR, public moves": (VRMCCFRSolver, {"trajectories": "public"}),
}
BATCHES = (1, 16, 256)
RACES = {
  "VR-MCCFR, B = 1": (VRMCCFRSolver, {}),
  "VR-MCCFR, B = 16": (VRMCCFRSolver, {"batch": 16}),
  "VR-MCCFR, B = 256": (VRMCCFRSolver, {"batch": 256}),
  "external sampling, B = 16": (ExternalSamplingSolver, {"batch": 16}),
  "VR-MCCFR+, public moves, B = 1": (VRMCCFRSolver, {"trajectories": "public", "rule": "rm+"}),
  "VR-MCCFR+, public moves, B = 4": (VRMCCFRSolver, {"trajectories": "public", "rule": "rm+", "batch": 4}),
}


def advance(solver, seconds: float, pace: float) -> tuple[float, float]:
  """Runs one of our solvers for about so long: seconds spent, iterations a second."""
  spent, done = 0.0, 0
  while spent < seconds:
    steps = max(1, int(min(pace, 2 * pace if not done else pace) * min(seconds - spent, 0.25)))
    start = time.perf_counter()
    solver._advance(steps)
    spent += time.perf_counter() - start
    done += steps
    pace = done / spent
  return spent, pace


def peers(game: pyspiel.Game) -> dict:
  """OpenSpiel's C++ solvers by name."""
  return {
    "OpenSpiel C++ external sampling": pyspiel.ExternalSamplingMCCFRSolver(game, seed=1),
    "OpenSpiel C++ outcome sampling": pyspiel.OutcomeSamplingMCCFRSolver(game, 0.6, 1),
  }


def advance_peer(solver, seconds: float) -> tuple[float, float]:
  """The same for OpenSpiel's."""
  start, done = time.perf_counter(), 0
  while (spent := time.perf_counter() - start) < seconds:
    for _ in range(100):
      solver.run_iteration()
    done += 100
  return spent, done / spent


def print_speeds(game: pyspiel.Game) -> None:
  """Trajectories a second; for external sampling, traversals."""
  print(f"\n{'trajectories a second':34}" + "".join(f"{f'B = {b}':>14}" for b in BATCHES))
  for name, peer in peers(game).items():
    print(f"{name:34}{2 * advance_peer(peer, 2.0)[1]:14,.0f}", flush=True)
  for name, (kind, options) in SPEEDS.items():
    cells = []
    for batch in BATCHES:
      solver = kind(game, batch=batch, **options)
      solver._advance(1)
      pace = advance(solver, 0.5, 100.0)[1]
      cells.append(2 * batch * advance(solver, 1.5, pace)[1])
    print(f"{name:34}" + "".join(f"{cell:14,.0f}" for cell in cells), flush=True)


def race(game: pyspiel.Game, seconds: float) -> None:
  """Exploitability of the average policies after the same wall times."""
  times = [seconds * share for share in (0.05, 0.15, 0.5, 1)]
  print(f"\n{'exploitability after':34}" + "".join(f"{t:12.1f} s" for t in times) + f"{'iterations':>14}")
  for name, peer in peers(game).items():
    spent, done, cells = 0.0, 0.0, []
    for mark in times:
      more, pace = advance_peer(peer, mark - spent)
      spent, done = spent + more, done + pace * more
      cells.append(pyspiel.exploitability(game, peer.average_policy()))
    print(f"{name:34}" + "".join(f"{cell:14.4f}" for cell in cells) + f"{done:14,.0f}", flush=True)
  for name, (kind, options) in RACES.items():
    solver = kind(game, **options)
    solver._advance(0)
    solver.evaluation()
    spent, pace, cells = 0.0, 100.0, []
    for mark in times:
      more, pace = advance(solver, mark - spent, pace)
      spent += more
      cells.append(solver.exploitability())
    row = "".join(f"{cell:14.4f}" for cell in cells)
    print(f"{name:34}{row}{solver.iteration:14,}", flush=True)


def main() -> None:
  """Prints both tables."""
  options = flags(__doc__, game="leduc_poker", seconds=20.0)
  print(describe())
  game = pyspiel.load_game(options.game)
  print_speeds(game)
  race(game, options.seconds)


if __name__ == "__main__":
  main()
