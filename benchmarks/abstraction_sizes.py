"""How small abstractions get: CFR+IRA and its peers, as in Čermák, Lisý and Bošanský (2020).

  taskset -c 0 python benchmarks/abstraction_sizes.py --graph FILE [--games GS5 GP5 P222] [--seeds 10]
      [--methods CFR+ B10H90 "B10H90 turns" FPIRA FP DO ...] [--output sizes.jsonl]
      [--plot docs/abstraction_sizes.png] [--large]

Runs every method on every game until NashConv is 0.05 (the paper's sum of exploitabilities) or the iterations
are over, and prints sets, entries of the map, 32-bit words as the paper counts them, bytes, and seconds
beside the paper's figures (its Figs. 5 to 15 and Section 5.7). FILE is the pursuit graph: the number of
nodes, then the rows of the adjacency matrix; without it GP5 and GP6 are left out. --output keeps what was
measured, a line for each run, and goes on where an earlier call stopped; --plot draws it.

A method is CFR+, FP (fictitious play), FPIRA, DO (double oracle), or BxHy: CFR+IRA whose bound tracks x and
whose heuristic samples y infostates. After a blank, one of READINGS changes what the paper's text leaves
open. GP5+1 is GP5 with 1 for the attacker when time runs out, as in the library of the paper's authors.
"""

import argparse
import copy
import dataclasses
import functools
import json
import pathlib
import time
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np
import pyspiel
import scipy.stats
from machine import describe

import ps_cfr_spiel
from ps_cfr_spiel import cfr
from ps_cfr_spiel.abstraction import cfr_ira, double_oracle
from ps_cfr_spiel.tree import bucket_shapes

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
  "GP5+1": "graph_pursuit(edges={},start=0:7 13,goal=10,turns=5,timeout=1.0)",
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
READINGS: dict[str, dict[str, Any]] = {
  "": {},
  "cleared": {"reset": "all"},
  "unclipped": {"clip": False},
  "turns": {"time": "turns"},
  "first": {"start": "first"},
  "uniform": {"sampling": "infostates"},
  "relative": {"relative": True},
}
MARKS = (1, 0.5, 0.2, 0.1, 0.05, 0.01)  # NashConv at which sets and seconds are told
ONE_ACTION = {"GS3": 56, "GS4": 576, "GS5": 7824, "GS6": 131520}  # infostates not in OpenSpiel's game


def graph_edges(path: str) -> str:
  """The edges of an adjacency matrix, as graph_pursuit writes them."""
  rows = [line.split() for line in pathlib.Path(path).read_text().splitlines()[1:] if line.strip()]
  return " ".join(f"{i}>{j}" for i, row in enumerate(rows) for j, joined in enumerate(row) if joined == "1")


@functools.cache
def begun(method: str, text: str) -> Any:
  """A solver of the paper's experiments by its name there, before its first iteration."""
  game, common = pyspiel.load_game(text), {"public_states": "none", "limit": 10**7}
  if method == "CFR+":
    solver: Any = ps_cfr_spiel.PSCFRSolver(game, "rm+", skip=100, **common)
  elif method in ("FPIRA", "FP"):
    kind = ps_cfr_spiel.FPIRASolver if method == "FPIRA" else ps_cfr_spiel.FictitiousPlaySolver
    solver = kind(game, **common)
  else:
    sizes, _, reading = method.partition(" ")
    bound, heuristic = map(int, sizes[1:].split("H"))
    solver = ps_cfr_spiel.CFRPlusIRASolver(game, bound, heuristic, **READINGS[reading], **common)
  solver.compile()
  return solver


def make(method: str, text: str, seed: int) -> Any:
  """The same with a seed; the game is walked once for all seeds."""
  solver = copy.copy(begun(method, text))
  if method.startswith("B"):
    solver._setting = dataclasses.replace(solver._setting, seed=seed)
  return solver


def run(name: str, text: str, method: str, seed: int, options: argparse.Namespace) -> dict[str, Any]:
  """One run to the target: (iteration, NashConv, seconds, sets) whenever measured, and sizes at the end.

  Seconds are the processor's, so that other work on the machine counts little.
  """
  result = {"game": name, "method": method, "seed": seed}
  if method == "DO":
    return {**result, **run_double_oracle(pyspiel.load_game(text), options)}
  solver = make(method, text, seed)
  infostates, seconds, points = sum(1 for _ in solver.tree.names.infostates()), 0.0, []
  while solver.iteration < options.iterations:
    started = time.process_time()
    solver.run(min(options.every, options.iterations - solver.iteration), progress=False)
    seconds += time.process_time() - started
    found = getattr(solver, "abstraction", None)
    sets = found.count if found else infostates
    points.append((solver.iteration, 2 * solver.exploitability(), seconds, sets))
    if points[-1][1] <= options.target or seconds > options.seconds:
      break
  sizes = memory(solver, method)
  return {**result, "points": points, "infostates": infostates, "sets": points[-1][3], **sizes}


def run_double_oracle(game: pyspiel.Game, options: argparse.Namespace) -> dict[str, Any]:
  """The same for double oracle; "sets" are the infostates in which its small game has an action."""
  tree, points, words = ps_cfr_spiel.build_tree(game, "sparse", "none", 10**7), [], 0
  started = time.process_time()
  for number, step in enumerate(double_oracle(tree, options.target), start=1):
    points.append((number, step.nash_conv, time.process_time() - started, step.infostates))
    words = step.sequences + step.entries
    if points[-1][2] > options.seconds:
      break
  sizes = {"map": 0, "words": words, "kept": 4 * words, "peak": 0, "policy": 4 * step.sequences}
  return {
    "points": points, "infostates": sum(1 for _ in tree.names.infostates()), "sets": step.infostates, **sizes
  }  # fmt: skip


def memory(solver: Any, method: str) -> dict[str, int]:
  """Four sizes of a solver as it is now.

  words   as the paper counts them: a regret and an average for each action of each set (FPIRA: an average,
          and the best response of every infostate), the map, and the regrets of what is sampled;
  kept    bytes that survive an iteration: the state, which has room for more sets, and the sets as laid
  out; peak    bytes of tree, state and, as XLA plans them, temporaries of an iteration; 0 if it is not one
  program; policy  bytes of the average strategy, as tables of sets and the map.
  """
  found = getattr(solver, "abstraction", None)
  if found is None:
    tables, entries, sampled = sum(len(d.legal_actions) for d, _, _ in solver.tree.names.infostates()), 0, 0
  else:
    tables, entries, sampled = actions_of_sets(solver), found.words, 0
  words = 2 * tables + entries
  if method.startswith("B"):
    sampled = (solver.refinement.bound + solver.refinement.heuristic) * solver._state.summed.shape[1]
  elif method == "FPIRA":
    words = tables + entries + found.infostates
  state, tree, temporary = nbytes(solver._state), nbytes(solver._tree), 0
  if method == "CFR+":
    step = jax.jit(functools.partial(cfr.advance, rule=solver.rule))
    temporary = planned(step.lower(solver._tree, solver._state, 1, solver.skip))
  elif method.startswith("B"):
    step = jax.jit(functools.partial(cfr.take_turn, player=0, rule=cfr_ira.RULE))
    parts = jax.tree.map(np.asarray, solver._state.parts)
    sets = cfr_ira.device_sets(solver._setting, parts)
    state += nbytes(sets)
    now = cfr.SolverState(solver._state.iteration, solver._state.players)
    temporary = planned(step.lower(solver._tree, now, solver.skip, sets))
  peak = state + tree + temporary if temporary else 0
  return {
    "map": entries, "words": words + sampled, "kept": state, "peak": peak, "policy": 4 * (tables + entries)
  }  # fmt: skip


def actions_of_sets(solver: Any) -> int:
  """The number of actions of all sets of a solver's abstraction."""
  total = 0
  for own, parts in zip(solver.tree.players, solver._state.parts, strict=True):
    actions = np.array([a for a, _, _ in bucket_shapes(own)])
    total += int(actions[np.asarray(parts.bucket)].sum())
  return total


def nbytes(tree: Any) -> int:
  """Bytes of all arrays of a pytree."""
  return sum(np.asarray(x).nbytes for x in jax.tree.leaves(tree))


def planned(lowered: Any) -> int:
  """Bytes of temporaries that XLA plans for a program."""
  return int(lowered.compile().memory_analysis().temp_size_in_bytes)


def percent(result: dict[str, Any]) -> float:
  """Sets in percent of the infostates as the paper counts them, those with one action included."""
  return 100 * result["sets"] / (result["infostates"] + ONE_ACTION.get(result["game"], 0))


def mean(values: Sequence[float]) -> str:
  """The mean, and half the width of Student's 95% interval for it."""
  text = f"{np.mean(values):,.1f}"
  if len(values) < 2:
    return text
  half = scipy.stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values))
  return f"{text} ± {half:,.1f}"


def groups(results: list[dict[str, Any]]) -> Iterator[tuple[str, str, list[dict[str, Any]]]]:
  """(game, method, its runs)."""
  for game, method in dict.fromkeys((r["game"], r["method"]) for r in results):
    yield game, method, [r for r in results if (r["game"], r["method"]) == (game, method)]


def report(results: list[dict[str, Any]], target: float) -> None:
  """A line for every game and method: medians over the seeds that came to the target, sets also as mean."""
  heads = ("game", "method", "runs", "iterations", "sets", "mean", "% of all", "paper", *SIZES)
  print("\n" + line(heads))
  for game, method, runs in groups(results):
    done = [r for r in runs if r["points"][-1][1] <= target]
    here = done or runs
    ends, sets = np.median([r["points"][-1] for r in here], axis=0), [r["sets"] for r in here]
    facts = (
      game, method, f"{len(done)}/{len(runs)}", f"{ends[0]:,.0f}", f"{np.median(sets):,.0f}",
      mean(sets), mean([percent(r) for r in here]),
      PAPER.get(method.split()[0], {}).get(game.split("+")[0], ""),
      *(f"{np.median([r[k] for r in here]):,.0f}" for k in SIZES),
    )  # fmt: skip
    print(line(facts) + ("" if done else f"  not reached: NashConv {ends[1]:.3f}"))


def report_marks(results: list[dict[str, Any]]) -> None:
  """For every game and method sets and seconds at the first measurement below each mark (Figs. 7, 14, 15)."""
  print(f"\n{'game':>6}{'method':>17}" + "".join(f"{f'NashConv {mark:g}':>24}" for mark in MARKS))
  for game, method, runs in groups(results):
    cells = []
    for mark in MARKS:
      first = [next((p for p in r["points"] if p[1] <= mark), None) for r in runs]
      reached = [p for p in first if p]
      sets, seconds = (np.median([p[k] for p in reached]) if reached else 0 for k in (3, 2))
      cells.append(f"{sets:,.0f} sets, {seconds:,.1f} s" if len(reached) > len(runs) / 2 else "")
    print(f"{game:>6}{method:>17}" + "".join(f"{cell:>24}" for cell in cells))


def line(facts: Sequence[Any]) -> str:
  """Columns of the report."""
  return "".join(f"{fact:>{width}}" for fact, width in zip(facts, WIDTHS, strict=True))


SIZES = ("map", "words", "kept", "peak", "policy")
WIDTHS = (6, 17, 7, 11, 8, 16, 15, 7, 8, 9, 11, 12, 10)


def draw(results: list[dict[str, Any]], target: float, path: str) -> None:
  """NashConv against the share of sets, a line for each run."""
  from ps_cfr_spiel.pictures import abstraction_sizes

  panels: dict[str, dict[str, list]] = {}
  for r in results:
    share = percent({**r, "sets": 1})
    curve = [(share * sets, nash_conv) for _, nash_conv, _, sets in r["points"]]
    panels.setdefault(r["game"], {}).setdefault(r["method"], []).append(curve)
  marks = {g: {m: x[g.split("+")[0]] for m, x in PAPER.items() if g.split("+")[0] in x} for g in panels}
  abstraction_sizes(panels, marks=marks, level=target).savefig(path)
  print(f"Drawn in {path}")


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
  parser.add_argument("--seconds", type=float, default=600, help="most for a run, of the processor")
  parser.add_argument("--output", help="file of what was measured, a line of JSON for each run")
  parser.add_argument("--plot", help="file to draw to")
  options = parser.parse_args()
  print(describe())
  path = pathlib.Path(options.output) if options.output else None
  results = [json.loads(text) for text in path.read_text().splitlines()] if path and path.exists() else []
  known = {(r["game"], r["method"], r["seed"]) for r in results}
  options.games += LARGE if options.large else ()
  for name in options.games:
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
          with path.open("a") as file:
            file.write(json.dumps(results[-1]) + "\n")
      begun.cache_clear()
  results = [r for r in results if r["game"] in options.games and r["method"] in options.methods]
  report(results, options.target)
  report_marks(results)
  if options.plot:
    draw(results, options.target, options.plot)


if __name__ == "__main__":
  main()
