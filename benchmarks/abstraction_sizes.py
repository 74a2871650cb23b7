"""How small abstractions get: CFR+IRA and FPIRA beside the whole game, as in Čermák, Lisý and Bošanský
(2020).

  taskset -c 0 python benchmarks/abstraction_sizes.py --graph FILE [--games GS5 GP5 P222] [--seeds 10]
      [--methods CFR+ B10H90 ...] [--output sizes.json] [--plot docs/abstraction_sizes.png] [--large]

Runs every method on every game until NashConv is 0.05 (the paper's sum of exploitabilities) or the iterations
are over, and prints sets, entries of the map, 32-bit words as the paper counts them, bytes, and seconds
beside the paper's figures (its Figs. 5 to 15 and Section 5.7). FILE is the pursuit graph: the number of
nodes, then the rows of the adjacency matrix; without it GP5 and GP6 are left out. --output keeps what was
measured, run by run, and goes on where an earlier call stopped; --plot draws it.
"""

import argparse
import json
import pathlib
import time
from typing import Any

import numpy as np
import pyspiel
from machine import describe

import ps_cfr_spiel
from ps_cfr_spiel.abstraction import memory

GOOFSPIEL = (
  "turn_based_simultaneous_game(game=goofspiel(num_cards={},imp_info=True,points_order=descending,"
  "returns_type=point_difference))"
)
GAMES = {
  **{f"GS{n}": GOOFSPIEL.format(n) for n in (3, 4, 5, 6)},
  **{
    f"P{b}{r}{c}": f"parametric_poker(bets={b},raises={r},max_raises={c})"
    for b, r, c in ((1, 1, 1), (2, 2, 2), (2, 2, 4))
  },
  "GP5": "graph_pursuit(edges={},start=0:7 13,goal=10,turns=5)",
  "GP6": "graph_pursuit(edges={},start=0:7 13,goal=10,turns=6)",
  "Kuhn": "kuhn_poker",
}
LARGE = ("GS6", "GP6", "P224")
PAPER = {  # sets at NashConv 0.05, in % of all infostates
  "B10H90": {"GP5": 9.5, "GS5": 3.1, "P222": 14.9},
  "FPIRA": {"GP5": 19.6, "GS5": 15.6, "P222": 42.9},
  "DO": {"GP5": 24.0, "GS5": 17.2, "P222": 47.8, "GP6": 13.3, "GS6": 12.0, "P224": 4.0},
  "B100H900": {"GP6": 2.0, "GS6": 2.4, "P224": 0.9},
}
ONE_ACTION = {"GS3": 56, "GS4": 576, "GS5": 7824, "GS6": 131520}  # infostates that OpenSpiel's game plays itself
METHODS = ("CFR+", "B10H90", "B100H900", "FPIRA", "FP", "DO")


def graph_edges(path: str) -> str:
  """The edges of an adjacency matrix, as graph_pursuit writes them."""
  rows = [line.split() for line in pathlib.Path(path).read_text().splitlines()[1:] if line.strip()]
  return " ".join(f"{i}>{j}" for i, row in enumerate(rows) for j, joined in enumerate(row) if joined == "1")


def make(method: str, game: pyspiel.Game, seed: int) -> Any:
  """A solver of the paper's experiments by its name there."""
  common: dict[str, Any] = {"public_states": "none", "dtype": "float64", "limit": 10**7}
  if method == "CFR+":
    return ps_cfr_spiel.PSCFRSolver(game, "rm+", skip=100, **common)
  if method in ("FPIRA", "FP"):
    kind = ps_cfr_spiel.FPIRASolver if method == "FPIRA" else ps_cfr_spiel.FictitiousPlaySolver
    del common["public_states"]
    return kind(game, **common)
  bound, heuristic = map(int, method[1:].split("H"))
  return ps_cfr_spiel.CFRPlusIRASolver(game, bound, heuristic, seed=seed, **common)


def run(name: str, text: str, method: str, seed: int, options: argparse.Namespace) -> dict[str, Any]:
  """One run to the target: a point for every measurement, and its size at the end."""
  game = pyspiel.load_game(text)
  started = time.perf_counter()
  solver = make(method, game, seed)
  solver.compile()
  setup, seconds, points = time.perf_counter() - started, 0.0, []
  while solver.iteration < options.iterations:
    started = time.perf_counter()
    solver.run(options.every)
    seconds += time.perf_counter() - started
    nash_conv = 2 * solver.exploitability()
    points.append((solver.iteration, nash_conv, seconds, getattr(solver, "sets", 0)))
    if nash_conv <= options.target or seconds > options.seconds:
      break
  return {
    "game": name, "method": method, "seed": seed, "setup": setup, "points": points,
    "infostates": sum(1 for _ in solver.tree.names.infostates()), **memory.measure(solver),
  }  # fmt: skip


def percent(result: dict[str, Any]) -> float:
  """Sets in percent of the infostates as the paper counts them, those with one action included."""
  return 100 * result["sets"] / (result["infostates"] + ONE_ACTION.get(result["game"], 0))


def report(results: list[dict[str, Any]], target: float) -> None:
  """A line for every game and method: medians over the seeds that came to the target, and their range."""
  print(
    f"\n{'game':6}{'method':10}{'runs':>6}{'iterations':>12}{'sets':>22}{'% of all':>10}{'paper':>7}{'map':>8}"
    f"{'words':>10}{'kept':>10}{'peak':>12}{'policy':>10}{'seconds':>9}"
  )
  for game, method in dict.fromkeys((r["game"], r["method"]) for r in results):
    runs = [r for r in results if (r["game"], r["method"]) == (game, method)]
    done = [r for r in runs if r["points"][-1][1] <= target]
    here = done or runs
    middle = {k: np.median([r[k] for r in here]) for k in ("sets", "map", "words", "kept", "peak", "policy")}
    sets = sorted(r["sets"] for r in here)
    paper = PAPER.get(method, {}).get(game)
    ends = np.median([[r["points"][-1][k] for k in (0, 1, 2)] for r in here], axis=0)
    note = "" if done else f"  not reached: NashConv {ends[1]:.3f}"
    print(
      f"{game:6}{method:10}{f'{len(done)}/{len(runs)}':>6}{ends[0]:>12,.0f}"
      f"{middle['sets']:>10,.0f} ({sets[0]:,}-{sets[-1]:,})".ljust(56)
      + f"{np.median([percent(r) for r in here]):>10.1f}{'' if paper is None else paper:>7}{middle['map']:>8,.0f}"
      f"{middle['words']:>10,.0f}{middle['kept']:>10,.0f}{middle['peak']:>12,.0f}{middle['policy']:>10,.0f}"
      f"{ends[2]:>9.1f}{note}",
    )


def main() -> None:
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("--games", nargs="+", default=["GS5", "GP5", "P222"], choices=list(GAMES))
  parser.add_argument("--large", action="store_true", help="the three large games too")
  parser.add_argument("--methods", nargs="+", default=["CFR+", "B10H90", "FPIRA"])
  parser.add_argument("--graph", help="adjacency matrix of the pursuit graph")
  parser.add_argument("--seeds", type=int, default=10)
  parser.add_argument("--target", type=float, default=0.05, help="NashConv at which to stop")
  parser.add_argument("--iterations", type=int, default=10_000)
  parser.add_argument("--every", type=int, default=25, help="iterations between measurements")
  parser.add_argument("--seconds", type=float, default=600, help="most for a run")
  parser.add_argument("--output", help="JSON file of what was measured")
  parser.add_argument("--plot", help="file to draw to")
  options = parser.parse_args()
  print(describe())
  path = pathlib.Path(options.output) if options.output else None
  results = json.loads(path.read_text()) if path and path.exists() else []
  known = {(r["game"], r["method"], r["seed"]) for r in results}
  for name in (*options.games, *(LARGE if options.large else ())):
    if name.startswith("GP") and not options.graph:
      print(f"{name} is left out: it needs --graph")
      continue
    text = GAMES[name].format(graph_edges(options.graph)) if name.startswith("GP") else GAMES[name]
    for method in options.methods:
      for seed in range(options.seeds if method.startswith("B") else 1):
        if (name, method, seed) in known:
          continue
        results.append(run(name, text, method, seed, options))
        last = results[-1]["points"][-1]
        print(f"{name} {method} seed {seed}: {last}, {results[-1]['sets']:,} sets", flush=True)
        if path:
          path.write_text(json.dumps(results))
  report(results, options.target)
  if options.plot:
    from ps_cfr_spiel.pictures import abstraction_sizes

    abstraction_sizes(results).savefig(options.plot)
    print(f"Drawn in {options.plot}")


if __name__ == "__main__":
  main()
