"""Redraws Figs. 17.7 and 17.8 of Schmid 2021: convergence and variance of MCCFR variants on Leduc poker.

  python -m benchmarks.papers.vr_mccfr [--runs 100] [--iterations 1000000] [--trajectories histories]

All runs of a method go side by side. Exploitability is exact, of the average policies; ribbons are the 5th to
95th percentile over runs. The published figures were made with the vector form (public trajectories, uniform
sampling; Schmid et al. 2019, appendix), the default here. Variance is exact too (`sampling_variance`).
Plain MCCFR goes on for --longer times as many iterations, to tell how many of them VR-MCCFR+ saves. What each
method gives is kept as it ends; --methods runs some of them, beside what was kept of the others.
"""

import time
from pathlib import Path

import numpy as np
import pyspiel

from benchmarks.machine import describe, flags, keep, kept
from ps_cfr_spiel.apps import pictures
from ps_cfr_spiel.measures import Runs, sampling_runs

METHODS = {
  "MCCFR": {"baseline": "zero"},
  "MCCFR+": {"baseline": "zero", "rule": "rm+"},
  "VR-MCCFR": {},
  "VR-MCCFR+": {"rule": "rm+"},
  "VR-MCCFR+, oracle": {"baseline": "oracle", "rule": "rm+"},
}
PICTURES = {"public": "vr_mccfr", "histories": "vr_mccfr_histories"}  # names by trajectories
PLAIN, FAST = "MCCFR", "VR-MCCFR+"


def marks(last: int) -> list[int]:
  """Eight iterations a decade from 100 to `last`."""
  return sorted({int(10 ** (k / 8)) for k in range(16, int(8 * np.log10(last)) + 1)} | {last})


def reached(runs: Runs, level: float) -> float:
  """Iterations at which the median exploitability falls to a level, interpolated on logarithmic scales."""
  median = np.minimum.accumulate(np.median(runs.exploitability, 0))
  if not median[-1] <= level <= median[0]:
    return np.nan
  return float(np.exp(np.interp(-np.log(level), -np.log(median), np.log(runs.iterations))))


def print_factors(results: dict[str, Runs]) -> None:
  """How many times as many iterations plain MCCFR needs."""
  plain, fast = results[PLAIN], results[FAST]
  print(f"\nexploitability   {PLAIN:>12}   {FAST:>12}   factor (iterations, medians)")
  for column in range(len(plain.iterations) - 1, 0, -4):
    level = float(np.median(plain.exploitability[:, column]))
    needed = reached(fast, level)
    if np.isfinite(needed):
      count = plain.iterations[column]
      print(f"{level:14.4f}   {count:12,}   {needed:12,.0f}   {count / needed:6.1f}")


def main() -> None:
  """Runs all methods, prints medians and factors, draws both figures."""
  options = flags(
    __doc__, game="leduc_poker", runs=100, iterations=1_000_000, longer=10, methods=list(METHODS),
    trajectories="public", output=Path("docs"), redraw=False,
  )  # fmt: skip
  game, name = pyspiel.load_game(options.game), PICTURES[options.trajectories]
  if options.redraw:
    return draw(game, found(name), options.output, name)
  print(describe())
  print(f"{options.game}, {options.runs} runs of {options.iterations:,} iterations, {options.trajectories}")
  results = {} if set(options.methods) == set(METHODS) else found(name)
  for method in options.methods:
    settings = METHODS[method]
    last = options.iterations * (options.longer if method == PLAIN else 1)
    started = time.perf_counter()
    results[method] = runs = sampling_runs(
      game,
      {**settings, "trajectories": options.trajectories},
      range(options.runs),
      last,
      marks(last),
      with_variance=True,
    )
    print(
      f"\n{method}: {time.perf_counter() - started:.0f} s\niterations, exploitability (5th, 95th), variance"
    )
    for column in range(len(runs.iterations) - 1, -1, -8):
      low, middle, high = np.percentile(runs.exploitability[:, column], (5, 50, 95))
      noise = np.median(runs.variance[:, column])
      print(
        f"{runs.iterations[column]:12,}  {middle:8.4f} ({low:.4f}, {high:.4f})  {noise:10.3g}", flush=True
      )
    keep(name, results)
  if PLAIN in results and FAST in results:
    print_factors(results)
  draw(game, results, options.output, name)


def found(name: str) -> dict[str, Runs]:
  """What earlier runs kept, by methods; nothing where there were none."""
  try:
    return {method: Runs(*map(np.array, runs)) for method, runs in kept(name).items()}
  except FileNotFoundError:
    return {}


def draw(game: pyspiel.Game, results: dict[str, Runs], folder: Path, name: str) -> None:
  """Both figures."""
  folder.mkdir(parents=True, exist_ok=True)
  for what in ("exploitability", "variance"):
    path = folder / f"{name}_{what}.png"
    pictures.bands(game, results, what).savefig(path)
    print(f"drawn: {path}")


if __name__ == "__main__":
  main()
