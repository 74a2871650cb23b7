"""How small abstractions get: CFR+IRA and its peers, as in Čermák, Lisý and Bošanský (2020).

  taskset -c 0 python -m benchmarks.papers.abstraction_sizes --graph FILE [--games GS5 GP5 P222] [--seeds 10]
      [--methods CFR+ B10H90 FPIRA FP DO ...] [--output sizes.jsonl]
      [--plot docs/abstraction] [--large]

Runs every method on every game until NashConv is 0.05 (the paper's sum of exploitabilities) or the iterations
are over, and prints sets, entries of the map, 32-bit words as the paper counts them, and seconds
beside the paper's figures (its Figs. 5 to 15 and Section 5.7). FILE is the pursuit graph: the number of
nodes, then the rows of the adjacency matrix; without it GP5 and GP6 are left out. --output keeps what was
measured, a line for each run, and goes on where an earlier call stopped; --plot draws it, a picture for every
pair of the paper's figures. With --seeds 0 it only reports and draws what the file has.

A method is CFR+, FP (fictitious play), FPIRA, DO (double oracle), or BxHy: CFR+IRA whose bound tracks x and
whose heuristic samples y infostates; BxHySz estimates the regrets of each turn from z traversals of external
sampling; a last R makes the tolerance relative. The games are those of abstraction_games.py.
"""

import argparse
import copy
import dataclasses
import itertools
import json
import pathlib
import re
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyspiel
import scipy.stats

import ps_cfr_spiel
from benchmarks.machine import describe, flags
from benchmarks.papers.abstraction_games import GAMES, ONE_ACTION, load
from benchmarks.papers.double_oracle import double_oracle
from ps_cfr_spiel.abstraction import bind
from ps_cfr_spiel.abstractions import CFRPlusIRASolver, FPIRASolver
from ps_cfr_spiel.arguments import declared
from ps_cfr_spiel.backend.device import precision
from ps_cfr_spiel.tree import PublicTree

LARGE = ("GS6", "GP6", "P224")
PAPER = {  # sets at NashConv 0.05, in % of all infostates
  "B10H90": {"GP5": 9.5, "GS5": 3.1, "P222": 14.9},
  "FPIRA": {"GP5": 19.6, "GS5": 15.6, "P222": 42.9},
  "DO": {"GP5": 24.0, "GS5": 17.2, "P222": 47.8, "GP6": 13.3, "GS6": 12.0, "P224": 4.0},
  "B100H900": {"GP6": 2.0, "GS6": 2.4, "P224": 0.9},
}
PEERS = ("FPIRA", "FP", "DO")
BESIDE = ("DO", "FPIRA")  # in Fig. 13
CONVERGENCE_ALONE = ("B50H50", "B100H0", "B500H500", "B1000H0")  # settings in Figs. 5 and 6 alone
MARKS = (1, 0.5, 0.2, 0.1, 0.05, 0.01)  # NashConv at which sets and seconds are told


def begun(method: str, game: pyspiel.Game, like: Any = None) -> Any:
  """A solver of the paper's experiments by its name there, before its first iteration.

  `like` may be another of this game, whose tree is taken: large games take minutes to enumerate.
  """
  common = {"public_states": "closure" if declared(game, "bayesian_form") else "none", "limit": 10**7}
  if method == "CFR+":
    solver: Any = ps_cfr_spiel.PSCFRSolver(game, "rm+", averaging_delay=100, **common)
  elif method in ("FPIRA", "FP"):
    kind = FPIRASolver if method == "FPIRA" else ps_cfr_spiel.FictitiousPlaySolver
    solver = kind(game, **common)
  else:
    bound, heuristic, samples = map(
      int, re.split("[HS]", method[1:].rstrip("R") + "S0" * ("S" not in method))
    )
    settings = {"bound": bound, "heuristic": heuristic, "samples": samples, "relative": method.endswith("R")}
    if isinstance(like, CFRPlusIRASolver) and not samples and not like.options.samples:
      return with_options(like, **settings)
    solver = CFRPlusIRASolver(game, **settings, **common)
  solver.compile()
  return solver


def with_options(solver: Any, **options: object) -> Any:
  """A solver that has not begun, with other options: the game is walked once for all seeds and settings."""
  solver = copy.copy(solver)
  if isinstance(solver, CFRPlusIRASolver):
    solver.options = solver.options.changed(**options)
    solver._setting = dataclasses.replace(
      solver._setting, refinement=solver.options, seed=solver.options.seed
    )
    with precision(solver.dtype):
      solver._state = solver._begin_on(bind(solver.tree, solver._start))
  return solver


def counted(solver: Any) -> tuple[int, int, int]:
  """(sets, entries of the map, 32-bit words) of a solver as it is now, as the paper counts them.

  Words are a regret and an average for each action of each set (FPIRA: an average, and the best response of
  every infostate), the map, and the regrets of what CFR+IRA samples.
  """
  found = getattr(solver, "abstraction", None)
  tables = actions_of_sets(solver)
  if found is None:
    return sum(1 for _ in solver.tree.names.infostates()), 0, 2 * tables
  if isinstance(solver, FPIRASolver):
    return found.count, found.words, tables + found.words + found.infostates
  sampled = 0
  if isinstance(solver, CFRPlusIRASolver):
    sampled = (solver.options.bound + solver.options.heuristic) * solver._state.summed.shape[1]
  return found.count, found.words, 2 * tables + found.words + sampled


def actions_of_sets(solver: Any) -> int:
  """The number of actions of all sets of a solver's abstraction, or of all infostates if it has none."""
  if (found := getattr(solver, "abstraction", None)) is None:
    return sum(len(decision.legal_actions) for decision, _, _ in solver.tree.names.infostates())
  parts = getattr(solver._state, "parts", None) or bind(solver.tree, found)
  actions = [np.array([a for a, _, _ in own.bucket_shapes]) for own in solver.tree.players]
  return sum(int(a[np.asarray(p.bucket)].sum()) for a, p in zip(actions, parts, strict=True))


class Point(NamedTuple):
  """What was measured: on the way `seconds` are the processor's, so that other work counts little."""

  iteration: int
  nash_conv: float
  seconds: float
  sets: int
  entries: int  # of the map; of double oracle, of the small game's utility
  words: int


def run(solver: Any, options: argparse.Namespace) -> dict[str, Any]:
  """One run to the target: points whenever measured."""
  seconds, points = 0.0, []
  while solver.iteration < options.iterations:
    started = time.process_time()
    solver.run(min(options.every, options.iterations - solver.iteration), progress=False)
    seconds += time.process_time() - started
    points.append(Point(solver.iteration, 2 * solver.exploitability(), seconds, *counted(solver)))
    if points[-1].nash_conv <= options.target or seconds > options.seconds:
      break
  return {"points": points}


def run_double_oracle(tree: PublicTree, options: argparse.Namespace) -> dict[str, Any]:
  """The same for double oracle; "sets" are the infostates in which its small game has an action."""
  points, started = [], time.process_time()
  for number, step in enumerate(double_oracle(tree, options.target), start=1):
    words = step.sequences + step.entries
    seconds = time.process_time() - started
    points.append(Point(number, step.nash_conv, seconds, step.infostates, step.entries, words))
    if seconds > options.seconds:
      break
  return {"points": points}


def measured(
  name: str, method: str, options: argparse.Namespace, known: Any, made: dict[str, Any]
) -> Iterator[dict[str, Any]]:
  """The runs of a method on a game, one for each seed that is not known yet; `made` keeps a solver of it."""
  seeds = range(options.seeds if method.startswith("B") else min(options.seeds, 1))
  if not (left := [seed for seed in seeds if (name, method, seed) not in known]):
    return
  game = load(name, options.graph)
  first = None if method == "DO" else begun(method, game, made.get(name))
  if isinstance(first, CFRPlusIRASolver):
    made.clear()  # of games before
    made[name] = first
  tree = first.tree if first else ps_cfr_spiel.build_tree(game, "sparse", public_states="none", limit=10**7)
  infostates = sum(1 for _ in tree.names.infostates())
  for seed in left:
    found = run(with_options(first, seed=seed), options) if first else run_double_oracle(tree, options)
    yield {"game": name, "method": method, "seed": seed, "infostates": infostates, **found}


def share(run: dict[str, Any], number: float) -> float:
  """A number of sets in percent of the infostates, those with one action included, as the paper counts."""
  return 100 * number / (run["infostates"] + ONE_ACTION.get(run["game"], 0))


def as_paper(game: str) -> str:
  """The paper's name of a game: it does not tell GS5 from GS5+."""
  return game.partition("+")[0]


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


def reached(run: dict[str, Any], target: float) -> Point | None:
  """The first measurement of a run at or below a NashConv."""
  return next((p for p in run["points"] if p.nash_conv <= target), None)


def report(results: list[dict[str, Any]], target: float) -> None:
  """A line for every game and method: medians over the seeds that came to the target, sets also as mean."""
  print("\n" + line(HEADS))
  for game, method, runs in groups(results):
    ends = [(r, p) for r in runs if (p := reached(r, target))]
    here = ends or [(r, r["points"][-1]) for r in runs]
    middle = Point(*np.median([p for _, p in here], axis=0))
    facts = (
      game, method, f"{len(ends)}/{len(runs)}", f"{middle.iteration:,.0f}", f"{middle.sets:,.0f}",
      mean([p.sets for _, p in here]), mean([share(r, p.sets) for r, p in here]),
      PAPER.get(method, {}).get(as_paper(game), ""),
      f"{middle.entries:,.0f}", f"{np.median([share(r, p.entries) for r, p in here]):.1f}",
      f"{middle.words:,.0f}",
    )  # fmt: skip
    print(line(facts) + ("" if ends else f"  not reached: NashConv {middle.nash_conv:.3f}"))


def report_marks(results: list[dict[str, Any]]) -> None:
  """For every game and method sets and seconds at the first measurement below each mark (Figs. 7, 14, 15)."""
  print(f"\n{'game':>6}{'method':>17}" + "".join(f"{f'NashConv {mark:g}':>24}" for mark in MARKS))
  for game, method, runs in groups(results):
    cells = []
    for mark in MARKS:
      first = [p for r in runs if (p := reached(r, mark))]
      middle = Point(*np.median(first, axis=0)) if len(first) > len(runs) / 2 else None
      cells.append(f"{middle.sets:,.0f} sets, {middle.seconds:,.1f} s" if middle else "")
    print(f"{game:>6}{method:>17}" + "".join(f"{cell:>24}" for cell in cells))


def line(facts: Sequence[Any]) -> str:
  """Columns of the report."""
  return "".join(f"{fact:>{width}}" for fact, width in zip(facts, WIDTHS, strict=True))


HEADS = (
  "game", "method", "runs", "iterations", "sets", "mean", "% of all", "paper", "entries", "% of all",
  "words",
)  # fmt: skip
WIDTHS = (6, 17, 7, 11, 8, 16, 15, 7, 10, 9, 10)


def draw(results: list[dict[str, Any]], target: float, prefix: str) -> None:
  """NashConv against each of five quantities, a line for each run.

  By iterations all settings of CFR+IRA are beside CFR+, as in the paper, in other pictures two beside all
  methods. But by iterations, a point is where a run first came so low.
  """
  from benchmarks.papers.abstraction_pictures import abstraction_sizes

  games = [g for g in GAMES if any(r["game"] == g for r in results)]
  for name, (label, of) in QUANTITIES.items():
    panels = {
      game: {
        method: [[(of(r, p), p.nash_conv) for p in (r["points"] if name == "iterations" else best(r))]
                 for r in runs]
        for g, method, runs in groups(results)
        if g == game and method not in (PEERS if name == "iterations" else CONVERGENCE_ALONE)
      }
      for game in games
    }  # fmt: skip
    paper = {g: {m: x[as_paper(g)] for m, x in PAPER.items() if as_paper(g) in x} for g in games}
    marks = paper if name == "sets" else None
    picture = abstraction_sizes(panels, label, marks=marks, level=target, columns=3)
    picture.savefig(f"{prefix}_{name}.png")
  if any(panels := by_size(results, target)):
    picture = abstraction_sizes(panels, "infostates of the game", "sets of CFR+IRA, %")
    picture.savefig(f"{prefix}_games.png")
  print(f"Drawn in {prefix}_*.png")


def by_size(results: list[dict[str, Any]], target: float) -> dict[str, dict[str, list[list[tuple]]]]:
  """Fig. 13, over the games of parametric poker: the sets of CFR+IRA in percent of other numbers of sets.

  A panel for each of these numbers: of all infostates, of double oracle, of FPIRA. Sets are medians over the
  runs that came to the target.
  """
  sets: dict[str, dict[str, float]] = {"all infostates": {}, **{peer: {} for peer in BESIDE}}
  for game, method, runs in groups(sorted(results, key=lambda run: run["infostates"])):
    ends = [point.sets for run in runs if (point := reached(run, target))]
    if game.startswith("P") and ends:
      sets["all infostates"][game] = runs[0]["infostates"]
      sets.setdefault(method, {})[game] = float(np.median(ends))
  sizes = sets["all infostates"]
  return {
    f"in % of {other}": {
      method: [[(sizes[game], 100 * n / sets[other][game]) for game, n in sets[method].items()
                if game in sets[other]]]
      for method in PAPER if method in sets and method.startswith("B")
    }
    for other in ("all infostates", *BESIDE)
  }  # fmt: skip


def best(run: dict[str, Any]) -> list[Point]:
  """The measurements of a run that are below all earlier ones."""
  lows = np.minimum.accumulate([p.nash_conv for p in run["points"]])
  return [p for p, low, before in zip(run["points"], lows, [np.inf, *lows], strict=False) if low < before]


QUANTITIES = {  # the paper's Figs. 5 and 6; 7 and 10; 8 and 11; 9 and 12; 14 and 15
  "iterations": ("iterations", lambda run, point: point.iteration),
  "sets": ("sets, % of the infostates", lambda run, point: share(run, point.sets)),
  "entries": ("entries of the map, % of the infostates", lambda run, point: share(run, point.entries)),
  "words": ("32-bit words", lambda run, point: point.words),
  "seconds": ("seconds of one core", lambda run, point: point.seconds),
}


def main() -> None:
  options = flags(
    __doc__, games=["GS5", "GP5", "P222"], large=False, methods=["CFR+", "B10H90", "FPIRA"], graph=None,
    seeds=10, target=0.05, iterations=10_000, every=25, seconds=600.0, output=None, plot=None,
  )  # fmt: skip
  print(describe())
  path = pathlib.Path(options.output) if options.output else None
  results = [json.loads(text) for text in path.read_text().splitlines()] if path and path.exists() else []
  for result in results:
    result["points"] = [Point(*p) for p in result["points"]]
  known = {(r["game"], r["method"], r["seed"]) for r in results}
  options.games += LARGE if options.large else ()
  made: dict[str, Any] = {}
  for name, method in itertools.product(options.games, options.methods):
    if options.seeds and name.startswith("GP") and not options.graph:
      print(f"{name} is left out: it needs --graph")
      continue
    for result in measured(name, method, options, known, made):
      results.append(result)
      print(f"{name} {method} seed {result['seed']}: {result['points'][-1]}", flush=True)
      if path:
        with path.open("a") as file:
          file.write(json.dumps(result) + "\n")
  results = [r for r in results if r["game"] in options.games and r["method"] in options.methods]
  report(results, options.target)
  report_marks(results)
  if options.plot:
    draw(results, options.target, options.plot)


if __name__ == "__main__":
  main()
