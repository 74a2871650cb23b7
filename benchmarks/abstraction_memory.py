"""What an abstraction saves of a solver's memory, and what not: two Bayesian games.

  taskset -c 0 python benchmarks/abstraction_memory.py [--iterations 3]

The default river, and a turn with 241 hands a side and every river card after it. CFR+ in the whole game;
CFR+ where players forget the suits of their own cards; and CFR+IRA that begins with that and splits it.
`benchmarks/abstraction_sizes.py` prints the same sizes for the games of the paper.
"""

import argparse
import functools
from typing import Any

import jax
import numpy as np
import pyspiel
from machine import describe

import ps_cfr_spiel
from ps_cfr_spiel import cfr
from ps_cfr_spiel.abstraction import bind, cfr_ira
from ps_cfr_spiel.tree import bucket_shapes


def counted(solver: Any) -> tuple[int, int, int]:
  """(sets, entries of the map, 32-bit words) of a solver as it is now, as the paper counts them.

  Words are a regret and an average for each action of each set (FPIRA: an average, and the best response of
  every infostate), the map, and the regrets of what CFR+IRA samples.
  """
  found = getattr(solver, "abstraction", None)
  tables = actions_of_sets(solver)
  if found is None:
    return sum(1 for _ in solver.tree.names.infostates()), 0, 2 * tables
  if isinstance(solver, ps_cfr_spiel.FPIRASolver):
    return found.count, found.words, tables + found.words + found.infostates
  sampled = 0
  if isinstance(solver, ps_cfr_spiel.CFRPlusIRASolver):
    sampled = (solver.refinement.bound + solver.refinement.heuristic) * solver._state.summed.shape[1]
  return found.count, found.words, 2 * tables + found.words + sampled


def actions_of_sets(solver: Any) -> int:
  """The number of actions of all sets of a solver's abstraction, or of all infostates if it has none."""
  if (found := getattr(solver, "abstraction", None)) is None:
    return sum(len(decision.legal_actions) for decision, _, _ in solver.tree.names.infostates())
  parts = getattr(solver._state, "parts", None) or bind(solver.tree, found)
  actions = [np.array([a for a, _, _ in bucket_shapes(own)]) for own in solver.tree.players]
  return sum(int(a[np.asarray(p.bucket)].sum()) for a, p in zip(actions, parts, strict=True))


def sizes(solver: Any) -> dict[str, int]:
  """Bytes of a solver as it is now.

  kept    what survives an iteration: the state, which has room for more sets, and the sets as laid out;
  peak    what an iteration takes, as XLA plans it: tree and state that go in, what comes out, and what is
          needed between; 0 if an iteration is not one program;
  policy  the average strategy, as tables of sets and the map.
  """
  _, entries, _ = counted(solver)
  kept, plan = nbytes(solver._state), None
  if isinstance(solver, ps_cfr_spiel.CFRPlusIRASolver):
    sets = cfr_ira.device_sets(solver._setting, jax.tree.map(np.asarray, solver._state.parts))
    kept += nbytes(sets)
    now = cfr.SolverState(solver._state.iteration, solver._state.players)
    step = jax.jit(functools.partial(cfr.take_turn, player=0, rule=cfr_ira.RULE))
    plan = step.lower(solver._tree, now, solver.skip, sets)
  elif isinstance(solver, ps_cfr_spiel.PSCFRSolver):
    kept += nbytes(solver._sets)
    step = jax.jit(functools.partial(cfr.advance, rule=solver.rule))
    plan = step.lower(solver._tree, solver._state, 1, solver.skip, solver._sets)
  return {
    "kept": kept,
    "peak": planned(plan) if plan else 0,
    "policy": 4 * (actions_of_sets(solver) + entries),
  }


def nbytes(tree: Any) -> int:
  """Bytes of all arrays of a pytree."""
  return sum(np.asarray(x).nbytes for x in jax.tree.leaves(tree))


def planned(lowered: Any) -> int:
  """Bytes of a program's arguments, results and temporaries, as XLA plans them."""
  plan = lowered.compile().memory_analysis()
  return int(plan.argument_size_in_bytes + plan.output_size_in_bytes + plan.temp_size_in_bytes)


WIDE = "22+ A2s+ K8s+ Q9s+ J9s+ T9s 98s ATo+ KTo+"
GAMES = {
  "river": "river_subgame",
  "turn": f"holdem_subgame(board=9s7c5s4h,pot=200,stack=400,ranges={WIDE};{WIDE})",
}


def without_suits(infostate: str, player: int) -> tuple[str, str]:
  """The infostate with its two cards by rank only: "P0 AsKs | ..." as "AK"."""
  hand, public = infostate.split(" | ", 1)
  cards = hand.split()[1]
  return cards[0] + cards[2], public


def main() -> None:
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("--games", nargs="+", default=list(GAMES), choices=list(GAMES))
  parser.add_argument("--iterations", type=int, default=3)
  options = parser.parse_args()
  print(describe())
  print(f"{'game':6}{'solver':>24}{'sets':>12}{'words':>14}" + "".join(f"{f'{k}, MB':>12}" for k in SIZES))
  for name in options.games:
    game = pyspiel.load_game(GAMES[name])
    forgets = ps_cfr_spiel.abstract(game, without_suits)
    solvers = {
      "CFR+": ps_cfr_spiel.PSCFRSolver(game, "rm+"),
      "CFR+, suits forgotten": ps_cfr_spiel.PSCFRSolver(game, "rm+", abstraction=forgets),
      "CFR+IRA B100H900": ps_cfr_spiel.CFRPlusIRASolver(game, 100, 900, forgets, relative=True),
    }
    for method, solver in solvers.items():
      solver.run(options.iterations, progress=False)
      sets, _, words = counted(solver)
      found = {"tree": nbytes(solver._tree), **sizes(solver)}
      print(
        f"{name:6}{method:>24}{sets:>12,}{words:>14,}" + "".join(f"{found[k] / 1e6:>12.2f}" for k in SIZES)
      )


SIZES = ("tree", "kept", "peak", "policy")

if __name__ == "__main__":
  main()
