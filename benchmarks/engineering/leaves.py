"""Microseconds of each leaf evaluator on rivers: many and few hands, many and few leaves; and what a whole
iteration gains.

  taskset -c 0 python -m benchmarks.engineering.leaves [--repeats 15]

An evaluation values all leaves for both players, within a loop that XLA compiles. Evaluators take turns.
Figures are medians of the process's CPU time, which other work on the machine disturbs less than wall time;
on one core they are the same. The ratio is the median of the ratios within a turn, of the best of the
others to "native".
"""

import time

import jax
import numpy as np
import pyspiel

import ps_cfr_spiel
from benchmarks.machine import describe, flags
from ps_cfr_spiel import PSCFRSolver, cfr
from ps_cfr_spiel.backend.device import jit, precision, to_device
from ps_cfr_spiel.compilation.compiler.from_form import LEAVES
from ps_cfr_spiel.tree.evaluators import showdown

RANGES = {
  "all": "",
  "456 x 335": (
    "22+ A2s+ K2s+ Q5s+ J7s+ T7s+ 97s+ 86s+ 75s+ 64s+ A2o+ K8o+ Q9o+ J9o+ T8o+ 98o;"
    "22+ A2s+ K5s+ Q8s+ J8s+ T8s+ 97s+ 86s+ 75s+ A5o+ K9o+ QTo+ JTo"
  ),
  "about 200": "22+ A2s+ K5s+ QTs+ AKo AQo KQo:0.5;22+ A2s+ K9s+ QTs+ AKo AQo AJo",
  "about 100": "99+ ATs+ KQs AKo AQo;TT+ ATs+ KJs+ QJs AKo AQo",
  "about 50": "TT+ AKs AQs KQs;99+ AKs AJs KQs",
  "about 20": "TT+ AKs;JJ+ AKs",
  "about 5": "AKs QsJs;JJ AsQs",
}
STACKS = {"SPR 1": 300, "SPR 3": 700, "SPR 10": 2_100, "SPR 99.5": 20_000}
BETS = "0.5 1 a"
EXTRA = {  # few leaves, and so many that their values do not fit into a cache
  "all, pot and all-in, SPR 99.5": "river_subgame",
  "all, all-in only, SPR 99.5": "river_subgame(bets=a)",
  "456 x 335, 0.33 0.75 1.5 a, SPR 99.5": (
    f"river_subgame(board=KhKd8c4s2h,bets=0.33 0.75 1.5 a,ranges={RANGES['456 x 335']})"
  ),
}
SUBGAMES = {
  **{
    f"{hands}, {BETS}, {depth}": f"river_subgame(board=KhKd8c4s2h,stack={stack},bets={BETS}"
    + (f",ranges={ranges})" if ranges else ")")
    for hands, ranges in RANGES.items()
    for depth, stack in STACKS.items()
  },
  **EXTRA,
}
ITERATIONS = ("all, pot and all-in, SPR 99.5", "456 x 335, 0.5 1 a, SPR 3", "about 50, 0.5 1 a, SPR 3")
CALL = 0.02  # seconds of a timed call, about


@jit()
def evaluations(leaves, reach, count):
  """Values of `count` evaluations for both players, each of reaches that depend on the one before."""

  def once(_, carried):
    reach, _ = carried
    values = [leaves(player, reach[1 - player]) for player in (0, 1)]
    tied = [
      [r.at[0, 0].set(1e-3 * v[0, 0]) if len(r) else r for r, v in zip(reach[i], values[1 - i], strict=True)]
      for i in (0, 1)
    ]
    return tied, values

  return jax.lax.fori_loop(0, count, once, (reach, [[0 * r for r in rows] for rows in reach]))


def loops(game, dtype: str) -> dict:
  """For each evaluator a function that runs some evaluations."""
  form = game.bayesian_form()
  tree = ps_cfr_spiel.build_tree(game, "showdown")
  showdown_payoff, fold_payoff = tree.leaves.showdown_payoff, tree.leaves.fold_payoff
  rng = np.random.default_rng(1)
  sizes = (len(showdown_payoff), len(fold_payoff))
  reach = to_device([[rng.random((n, len(types))) for n in sizes] for types in form.types], dtype)
  made = {}
  for kind, make in LEAVES.items():
    if kind == "dense" and max(sizes) > 1_000 and len(form.types[0]) > 300:
      continue  # minutes
    leaves = to_device(make.create(form, showdown_payoff, fold_payoff), dtype)
    made[kind] = lambda count, leaves=leaves: evaluations(leaves, reach, count)
  return made


def iterations(game, rule: str) -> dict:
  """For each evaluator a function that runs some iterations of the solver."""
  made = {}
  for kind in LEAVES:
    solver = PSCFRSolver(game, rule, leaves=kind)
    made[kind] = lambda count, s=solver: cfr.run(s._tree, s._state, count, rule=s.rule)
  return made


def microseconds(loops: dict, repeats: int) -> dict[str, np.ndarray]:
  """For each loop the time of one round, [repeats]; the loops take turns."""
  counts = {}
  for name, loop in loops.items():
    jax.block_until_ready(loop(2))
    start = time.process_time()
    jax.block_until_ready(loop(8))
    counts[name] = int(np.clip(8 * CALL / (time.process_time() - start), 2, 5_000))
    jax.block_until_ready(loop(counts[name]))
  found = {name: [] for name in loops}
  for _ in range(repeats):
    for name, loop in loops.items():
      start = time.process_time()
      jax.block_until_ready(loop(counts[name]))
      found[name].append(1e6 * (time.process_time() - start) / counts[name])
  return {name: np.array(times) for name, times in found.items()}


def row(name: str, found: dict[str, np.ndarray]) -> str:
  """A line of the table."""
  cells = [f"{np.median(found[kind]):10.1f}" if kind in found else f"{'-':>10}" for kind in LEAVES]
  others = [times for kind, times in found.items() if kind != "native"]
  ratio = np.median(np.min(others, 0) / found["native"])
  return f"{name:52}{''.join(cells)}{ratio:9.1f} x"


def main() -> None:
  """Prints the tables."""
  options = flags(__doc__, repeats=15, only="", chunk=showdown.CHUNK)
  showdown.CHUNK = options.chunk
  print(describe())
  head = "".join(f"{kind:>10}" for kind in LEAVES)
  for dtype in ("float32", "float64"):
    print(f"\n{f'us an evaluation, {dtype}':52}{head}   best of the others / native")
    for name, game in SUBGAMES.items():
      if options.only not in name:
        continue
      loaded = pyspiel.load_game(game)
      form = loaded.bayesian_form()
      sizes = " x ".join(str(len(types)) for types in form.types)
      with precision(dtype):
        made = loops(loaded, dtype)
        leaves = int((form.betting.player == pyspiel.PlayerId.TERMINAL).sum())
        shown = f"{sizes:12}{leaves:6,} leaves: {name.split(', ', 1)[1]}"
        print(row(shown, microseconds(made, options.repeats)), flush=True)
  for rule in ("rm+", "nrm+"):
    print(f"\n{f'us an iteration, {rule}, float32':52}{head}   best of the others / native")
    for name in ITERATIONS:
      if options.only in name:
        made = iterations(pyspiel.load_game(SUBGAMES[name]), rule)
        print(row(name, microseconds(made, options.repeats)), flush=True)


if __name__ == "__main__":
  main()
