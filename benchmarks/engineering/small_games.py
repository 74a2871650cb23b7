"""CFR+ on small games beside the peers that pip installs: set-up, compilation, iteration, time to solve.

  pip install chex LiteEFG        # the peers that need it; left out if missing
  taskset -c 0 python -m benchmarks.engineering.small_games

One thread each, all in the same run, each solver in a process of its own, so that memory can be told. "to
1e-3": wall time until our exploitability is below 0.1% of the uniform policy's, without evaluations and
compilation. OpenSpiel's C++ solver leaves out what is out of reach and so speeds up in its first iterations;
it is warmed up by `WARM` of them. An iteration has wall and processor time; multiples are of processor
time. --limit is in seconds, for one solver on one game; --one measures one GAME and SOLVER, as JSON.
"""

import contextlib
import importlib.util
import io
import json
import subprocess
import time

import pyspiel

from benchmarks.machine import PeakMemory, Seconds, describe, duration, flags, in_process

WARM = 30
GOOFSPIEL = "turn_based_simultaneous_game(game=goofspiel(num_cards={},imp_info=True,points_order=descending))"
GAMES = {
  "Leduc": "leduc_poker",
  "Leduc, three players": "leduc_poker(players=3)",
  "liar's dice": "liars_dice",
  "goofspiel 4": GOOFSPIEL.format(4),
  "goofspiel 5": GOOFSPIEL.format(5),
}


def ours(game, rule):
  """`ps_cfr_spiel.PSCFRSolver`."""
  import jax

  import ps_cfr_spiel
  from ps_cfr_spiel import cfr

  start = time.perf_counter()
  solver = ps_cfr_spiel.PSCFRSolver(game, rule)
  setup = time.perf_counter() - start
  start = time.perf_counter()
  solver.run(1)
  compiled = time.perf_counter() - start
  batch = 200
  step = lambda: jax.block_until_ready(cfr.run(solver._tree, solver._state, batch, rule=solver.rule))  # noqa: E731
  found = _figures(setup, compiled, Seconds.median(step, 7, batch))
  if game.num_players() > 2:
    return found  # no rule is sure to come near
  level = 1e-3 * ps_cfr_spiel.PSCFRSolver(game).exploitability()
  while solver.exploitability() > level and solver.iteration < 20_000:
    solver._advance(max(1, solver.iteration // 20))
  return {**found, "reached": solver.iteration}


def _figures(setup: float, compiled: float, iteration: Seconds) -> dict[str, float]:
  """A solver's times in seconds, by the names of the columns."""
  return {"setup": setup, "compile": compiled, "iteration": iteration.wall, "processor": iteration.processor}


def _time(step, setup: float, compiled: float = 0.0, batch: int = 1, repetitions: int = 5):
  """A peer's figures; `step` does `batch` iterations."""
  return _figures(setup, compiled, Seconds.median(step, repetitions, batch))


def openspiel_cpp(game):
  """`pyspiel.CFRPlusSolver`."""
  start = time.perf_counter()
  solver = pyspiel.CFRPlusSolver(game)
  setup = time.perf_counter() - start
  for _ in range(WARM):
    solver.evaluate_and_update_policy()
  return _time(solver.evaluate_and_update_policy, setup)


def openspiel_python(game):
  """`open_spiel.python.algorithms.cfr.CFRPlusSolver`."""
  from open_spiel.python.algorithms import cfr

  start = time.perf_counter()
  solver = cfr.CFRPlusSolver(game)
  return _time(solver.evaluate_and_update_policy, time.perf_counter() - start, repetitions=2)


def openspiel_jax(game):
  """`open_spiel.python.jax.cfr.jax_cfr.JaxCFR`."""
  import jax
  from open_spiel.python.jax.cfr import jax_cfr

  start = time.perf_counter()
  solver = jax_cfr.JaxCFR(game)
  setup = time.perf_counter() - start

  def steps(count):
    solver.multiple_steps(count)
    arrays = [x for x in jax.tree.leaves(vars(solver)) if isinstance(x, jax.Array)]
    jax.block_until_ready(arrays)  # else only the dispatch is timed

  start = time.perf_counter()
  steps(1)
  return _time(lambda: steps(20), setup, time.perf_counter() - start, 20, 3)


def lite_efg(game):
  """LiteEFG's CFR+."""
  import LiteEFG
  from LiteEFG.baselines import CFRplus

  with contextlib.redirect_stdout(io.StringIO()):
    start = time.perf_counter()
    graph = CFRplus.graph()
    environment = LiteEFG.OpenSpielEnv(game, traverse_type="Enumerate", regenerate=False)
    environment.set_graph(graph)
    setup = time.perf_counter() - start
    return _time(lambda: graph.update_graph(environment), setup, repetitions=20)


SOLVERS = {
  "ours, CFR+": lambda game: ours(game, "rm+"),
  "ours, NRM+": lambda game: ours(game, "nrm+"),
  "OpenSpiel JAX": openspiel_jax,
  "LiteEFG": lite_efg,
  "OpenSpiel C++": openspiel_cpp,
  "OpenSpiel Python": openspiel_python,
}
NEEDS = {"OpenSpiel JAX": "chex", "LiteEFG": "LiteEFG"}


def measure(game: str, solver: str) -> dict:
  """One solver on one game, in this process."""
  loaded = pyspiel.load_game(GAMES[game])
  memory = PeakMemory()
  return {**SOLVERS[solver](loaded), "memory": memory()}


def main() -> None:
  """Prints a table for each game."""
  options = flags(__doc__, games=list(GAMES), solvers=list(SOLVERS), one=[], limit=240.0)
  if options.one:
    print(json.dumps(measure(*options.one)))
    return
  print(describe())
  for game in options.games:
    heads = f"{'set-up':>11}{'compile':>11}{'iteration':>12}{'processor':>12}{'memory':>9}   {'to 1e-3':>10}"
    print(f"\n{game}\n{'':18}{heads}")
    base = None
    for solver in options.solvers:
      if solver in NEEDS and importlib.util.find_spec(NEEDS[solver]) is None:
        print(f"{solver:18} not installed (pip install {NEEDS[solver]})")
        continue
      try:
        words = ("--one", game, solver)
        row = in_process(__spec__.name, *words, timeout=options.limit, OMP_NUM_THREADS="1")
      except subprocess.TimeoutExpired:
        print(f"{solver:18} more than {options.limit:.0f} s")
        continue
      except subprocess.CalledProcessError as error:
        print(f"{solver:18} failed: {error.stderr.strip().splitlines()[-1][:90]}")
        continue
      base = base or row["processor"]
      solved = duration(row["iteration"] * row["reached"]) if "reached" in row else ""
      print(
        f"{solver:18}{duration(row['setup']):>11}{duration(row['compile']):>11}"
        f"{duration(row['iteration']):>12}{duration(row['processor']):>12}{row['memory']:6.0f} MB"
        f"   {solved:>10}   {row['processor'] / base:10.1f} x ours"
        + (f", {row['reached']} iterations" if solved else ""),
        flush=True,
      )


if __name__ == "__main__":
  main()
