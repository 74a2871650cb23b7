"""A turn or a flop: set-up, compilation, an iteration, memory, and the way to an accuracy.

  taskset -c 0 python -m benchmarks.engineering.streets
  taskset -c 0 python -m benchmarks.engineering.streets --rule rm+ --target 0.1
  taskset -c 0 python -m benchmarks.engineering.streets --board 9s7c5s --stack 500 --ranges wide
  taskset -c 0 python -m benchmarks.engineering.streets --board 9s7s5s4s --lock check=check --most 10
  python -m benchmarks.engineering.streets --ranges preset --target 0.1

The turn is 9s7c5s4h, pot 200, stack 1,000, fcpa, all hands; "wide" stands for 241 hands of each player on
9s7c5s, "preset" for a whole flop of postflop-solver's tests (`PRESET`), whose first player gets 105.11 of 180
chips there, as PioSOLVER says too. The estimate of memory is the one with which trees that do not fit are
refused. Memory is the largest resident set; seconds are of the wall, in brackets of the processor. `--peer
PROGRAM` runs another solver on the same spot afterwards (`machine.peer_lines`).
"""

import resource

import pyspiel

from benchmarks.machine import Seconds, anchor, describe, flags, peer_lines
from ps_cfr_spiel import PSCFRSolver
from ps_cfr_spiel.apps.views import pot_of

WIDE = "22+ A2s+ K8s+ Q9s+ J9s+ T9s 98s ATo+ KTo+"
PRESET = {  # sizes beyond the stack are all-in
  "board": "QsJh2h",
  "pot": 180,
  "stack": 1000,
  "bets": "0.52a;0.45a / 0.55a;0.45a / 0.7a;0.45a",
  "ranges": "88+ A8s+ A5s-A2s:0.5 AJo+ ATo:0.75 K9s+ KQo KJo:0.75 KTo:0.25 Q9s+ QJo:0.5 J8s+ JTo:0.25 "
  "T8s+ T7s:0.45 97s+ 96s:0.45 87s 86s:0.75 85s:0.45 75s+:0.75 74s:0.45 65s:0.75 64s:0.5 63s:0.45 54s:0.75 "
  "53s:0.5 52s:0.45 43s:0.5 42s:0.45 32s:0.45;AA:0.25 99-22 AJs-A2s AQo-A8o K2s+ K9o+ Q2s+ Q9o+ J6s+ J9o+ "
  "T6s+ T9o 96s+ 95s:0.5 98o 86s+ 85s:0.5 75s+ 74s:0.5 64s+ 63s:0.5 54s 53s:0.5 43s",
}


def resident() -> float:
  """The largest resident set so far, in MB (Linux counts it in KiB)."""
  return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
  options = flags(
    __doc__, board="9s7c5s4h", stack=1000, ranges="uniform", rule="nrm+", leaves="auto", lock=None,
    abstraction=None, target=0.3, most=1000, every=10, bits=32, peer=None,
  )  # fmt: skip
  print(describe())
  anchor()  # starts JAX
  ranges = f"{WIDE};{WIDE}" if options.ranges == "wide" else options.ranges
  spot = {"board": options.board, "pot": 200, "stack": options.stack, "ranges": ranges}
  game = pyspiel.load_game("holdem_subgame", PRESET if options.ranges == "preset" else spot)
  line, _, action = (options.lock or "").rpartition("=")
  locks = {line: {action: 1}} if options.lock else None
  bare = resident()
  how = {"leaves": options.leaves, "locks": locks, "abstraction": options.abstraction, "bits": options.bits}
  solvers: list[PSCFRSolver] = []
  took = Seconds.of(lambda: solvers.append(PSCFRSolver(game, options.rule, **how)))
  solver = solvers[0]
  grown = f"{resident() - bare:,.0f} MB over the runtime"
  print(f"set-up {took.wall:.2f} s ({took.processor:.2f}); {grown}'s {bare:,.0f}")
  hands = [len(names) for names in solver.tree.names.types]
  rows = [sum(n for _, n, _ in player.block_shapes) for player in solver._tree.players]
  needs = PSCFRSolver.memory_needs(game, options.bits, options.leaves)
  print(f"{hands} hands, {rows} rows on the device; estimate {needs.run / 2**20:,.0f} MB")
  took = Seconds.of(solver.compile)
  print(f"compilation {took.wall:.1f} s ({took.processor:.1f}); {resident() - bare:,.0f} MB over the runtime")
  pot, wall, used, times, share = pot_of(game) or 1.0, 0.0, 0.0, [], float("inf")
  print("iterations          seconds   ms an iteration   % of the pot      value")
  while share > options.target and solver.iteration < options.most:
    took = Seconds.of(lambda: solver.run(options.every, progress=False))
    wall, used, times = wall + took.wall, used + took.processor, [*times, 1000 * took.wall / options.every]
    share = 100 * solver.exploitability() / pot
    seconds = f"{wall:.2f} ({used:.2f})"
    print(
      f"{solver.iteration:10} {seconds:>16} {times[-1]:17.1f} {share:14.4f} {solver.value():10.4f}",
      flush=True,
    )
  median = sorted(times)[len(times) // 2]
  print(f"an iteration takes {median:.1f} ms, the matrix product {anchor():.2f} ms")
  print(f"{resident() - bare:,.0f} MB over the runtime")
  if options.peer:
    shared = {name: str(vars(options)[name]) for name in ("target", "most", "every", "bits")}
    words = (word for name, value in shared.items() for word in (f"--{name}", value))
    print("peer:", *peer_lines(options.peer, game.get_parameters(), *words)[-6:], sep="\n  ")


if __name__ == "__main__":
  main()
