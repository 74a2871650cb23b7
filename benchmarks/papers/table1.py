"""Table 1 of Kovařík et al. 2021 again: set-up, time and memory of CFR on the river subgame.

  taskset -c 0 python -m benchmarks.papers.table1
  taskset -c 0 python -m benchmarks.papers.table1 --plot docs/theorem4.png

Each row runs in a process of its own; its times are of the processor, so that other work counts
little. Two solvers work history by history, do so on a smaller deck, and are
extrapolated to 61,000,831 histories in proportion; those figures are marked "~". OpenSpiel's makes histories
anew in every iteration; CFR "in memory" is ours on enumerated histories, whose ends it keeps.

With --plot it measures Theorem 4 instead: an iteration takes time in proportion to the pairs of hands (dense)
or to the hands (native), here of random ranges.
"""

import itertools
import json
import random
import time

import pyspiel

from benchmarks.machine import PeakMemory, describe, duration, flags, in_process, median_seconds, picture

HISTORIES = 61_000_831
# The same betting with a deck of 2 suits and 9 ranks: 13 cards are left for the hands, dealt one by one.
REDUCED_DECK = (
  "universal_poker(betting=nolimit,bettingAbstraction=fcpa,numPlayers=2,numRounds=4,blind=100 100,"
  "firstPlayer=2 1 1 1,numSuits=2,numRanks=9,numHoleCards=2,numBoardCards=0 3 1 1,stack=20000 20000,"
  "potSize=200,boardCards=9d7c5d4c3c)"
)
PAPER = {  # Kovařík et al. 2021, Table 1, on their machine
  "OpenSpiel C++ CFR": ("1.57 min", "92.71 s", "25.75 h", "292 MB"),
  "CFR, in memory": ("2.92 min", "19.73 s", "5.48 h", "22 GB"),
  "PS-CFR, dense": ("2.36 s", "173 ms", "2.89 min", "736 MB"),
  "PS-CFR, showdown": ("2.82 s", "85 ms", "1.42 min", "526 MB"),
}


def openspiel_cfr() -> dict:
  """`pyspiel.CFRSolver`: keeps strategies, visits histories anew in each iteration."""
  game = pyspiel.load_game(REDUCED_DECK)
  memory, start = PeakMemory(), time.process_time()
  solver = pyspiel.CFRSolver(game)
  setup = time.process_time() - start
  seconds = median_seconds(solver.evaluate_and_update_policy, 3, time.process_time)
  count, stack = 0, [game.new_initial_state()]
  used = memory()
  while stack:
    state = stack.pop()
    count += 1
    stack += [state.child(action) for action in state.legal_actions()]
  return {"setup": setup, "iteration": seconds, "memory": used, "histories": count}


def in_memory() -> dict:
  """Ours on all histories, kept as pairs of sequences: the paper's Algorithm 2, on the smaller deck."""
  import jax

  from ps_cfr_spiel import PSCFRSolver, cfr
  from ps_cfr_spiel.compilation.histories import history_origin

  jax.block_until_ready(jax.jit(lambda x: x + 1)(0))  # the bare runtime
  memory, start = PeakMemory(), time.process_time()
  game = pyspiel.load_game(REDUCED_DECK)
  solver = PSCFRSolver(game, "rm", leaves="sparse", public_states="none")
  setup = time.process_time() - start
  start = time.process_time()
  solver.run(1)
  compile_seconds = time.process_time() - start
  run = lambda: jax.block_until_ready(cfr.run(solver._tree, solver._state, 10, rule=solver.rule))  # noqa: E731
  seconds = median_seconds(run, 3, time.process_time) / 10
  used, source = memory(), history_origin(solver.tree.names)
  assert source is not None
  histories = len(source.histories.parent)
  return {
    "setup": setup,
    "iteration": seconds,
    "memory": used * HISTORIES / histories,
    "compile": compile_seconds,
    "histories": histories,
  }


def ps_cfr(leaves: str) -> dict:
  """Our solver, float32, one jitted loop."""
  import jax
  import jax.numpy as jnp

  import ps_cfr_spiel
  from ps_cfr_spiel import cfr

  game = pyspiel.load_game("river_subgame")
  jax.block_until_ready(jax.jit(lambda x: x @ x + 1)(jnp.ones((64, 64))))  # the bare runtime
  memory, start = PeakMemory(), time.process_time()
  solver = ps_cfr_spiel.PSCFRSolver(pyspiel.load_game(str(game)), leaves=leaves)
  setup = time.process_time() - start
  built = memory()
  start = time.process_time()
  solver.run(1)
  compile_seconds = time.process_time() - start
  run = lambda: jax.block_until_ready(cfr.run(solver._tree, solver._state, 1000, rule=solver.rule))  # noqa: E731
  seconds = median_seconds(run, 5, time.process_time) / 1000
  return {
    "setup": setup,
    "iteration": seconds,
    "memory": memory(),
    "built": built,
    "compile": compile_seconds,
    "histories": HISTORIES,
  }


ROWS = {
  "OpenSpiel C++ CFR": openspiel_cfr,
  "CFR, in memory": in_memory,
  "PS-CFR, dense": lambda: ps_cfr("dense"),
  "PS-CFR, showdown": lambda: ps_cfr("showdown"),
  "PS-CFR, native": lambda: ps_cfr("native"),
}


HANDS = 135, 270, 540, 1081  # the last are all on a board


def growth() -> dict[str, list[float]]:
  """Seconds of an iteration of RM+ by evaluator, for each number of hands."""
  import jax

  import ps_cfr_spiel
  from ps_cfr_spiel import cfr

  deck = [rank + suit for rank in "23456789TJQKA" for suit in "cdhs"]
  board = "9s7c5s4h3c"
  left = [card for card in deck if card not in board]
  hands = ["".join(pair) for pair in itertools.combinations(left, 2)]
  random.Random(0).shuffle(hands)
  times: dict[str, list[float]] = {}
  for leaves, count in itertools.product(("dense", "native"), HANDS):
    chosen = " ".join(hands[:count])
    game = pyspiel.load_game(f"river_subgame(board={board},ranges={chosen};{chosen})")
    solver = ps_cfr_spiel.PSCFRSolver(game, "rm+", leaves=leaves)

    def run(solver: ps_cfr_spiel.PSCFRSolver = solver) -> object:
      return jax.block_until_ready(cfr.run(solver._tree, solver._state, 300, rule=solver.rule))

    times.setdefault(leaves, []).append(median_seconds(run, 5, time.process_time) / 300)
    print(f"{leaves:8}{count:6,} hands: {duration(times[leaves][-1])} an iteration", flush=True)
  for leaves, seconds in times.items():
    more = HANDS[-1] / HANDS[0]
    print(f"{leaves}: {seconds[-1] / seconds[0]:.1f} times the time for {more:.1f} times the hands")
  return times


def draw(times: dict[str, list[float]], path: str) -> None:
  """Microseconds of an iteration by hands."""
  from ps_cfr_spiel.apps.pictures import dress, figure_with_panels

  figure, (axes,) = figure_with_panels(["Theorem 4: time of an iteration by hands"])
  for leaves, seconds in times.items():
    axes.loglog(HANDS, [1e6 * x for x in seconds], marker="o", label=leaves)
  dress(axes, "hands of each player", "microseconds")
  axes.legend(frameon=False)
  figure.savefig(path)


def main() -> None:
  """Prints the table, or measures and draws Theorem 4."""
  options = flags(__doc__ or "", row=None, plot=None, redraw=False)
  if options.row:
    print(json.dumps(ROWS[options.row]()))
    return
  if options.plot:
    picture(options, growth, draw)
    return
  print(describe())
  print(f"\n{'':24}{'set-up':>12}{'iteration':>13}{'1000 iterations':>17}{'memory':>11}   paper's figures")
  found = {}
  for name in ROWS:
    found[name] = row = in_process(__spec__.name, "--row", name)
    scale = HISTORIES / row["histories"]
    mark = "~" if scale > 1 else " "
    cells = [
      f"{mark}{duration(row['setup'] * scale)}",
      f"{mark}{duration(row['iteration'] * scale)}",
      f"{mark}{duration(1000 * row['iteration'] * scale)}",
      f"{row['memory']:,.0f} MB",  # OpenSpiel's solver keeps no tree; that in memory is extrapolated
    ]
    line = f"{name:24}{cells[0]:>12}{cells[1]:>13}{cells[2]:>17}{cells[3]:>11}"
    print(f"{line}   {', '.join(PAPER.get(name, ()))}")
    if scale > 1:
      print(
        f"{'':24}measured on {row['histories']:,} histories: {1e3 * row['iteration']:.1f} ms an iteration"
      )
    else:
      print(f"{'':24}compilation {row['compile']:.1f} s; the tree alone {row['built']:.0f} MB")
  fast = found["PS-CFR, showdown"]["iteration"]
  for name, row in found.items():
    ratio = row["iteration"] * HISTORIES / row["histories"] / fast
    print(f"{name}: {ratio:,.1f} x the time of PS-CFR, showdown")


if __name__ == "__main__":
  main()
