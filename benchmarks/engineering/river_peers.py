"""Rivers of every depth, wide and narrow, beside a peer: an iteration, and seconds to solve.

  taskset -c 0 python -m benchmarks.engineering.river_peers --peer "taskset -c 0 PROGRAM"

The peer is another solver behind a small program of one's own (`machine.peer_lines` has its arguments); it is
run here, after ours on each river, and what it prints is shown. The documentation's figures are of
postflop-solver, in Rust, which pip does not install. An iteration is timed in calls of `run(100)` and of
`run(10)`, of the wall and of the processor (in brackets); our seconds are iterations times the first of these
times. Compilation is left out, and is nothing for a second river with the same bets; so are looks, in either.
Both stop at --target, in percent of the pot.

Iterations to a target are chaotic: games that hardly differ take half as many more. Ours are medians, with
the least and the most, over --neighbours rivers whose stacks are 0.2% apart, at least one chip.
"""

import math
import statistics
from collections.abc import Sequence

import pyspiel

import ps_cfr_spiel
from benchmarks.engineering.general_convergence import LEVELS, SUBGAMES, first_below, marks
from benchmarks.machine import Seconds, describe, flags, peer_lines

APART = 0.002  # the difference of neighbours' stacks
RULES = {"NRM+": "nrm+", "DCFR": "dcfr", "CFR+": "rm+"}
WIDE = SUBGAMES["paired: SPR 1, half pot and pot, wide"].replace("stack=300", "stack={}")
NARROW = SUBGAMES["straight: SPR 10, half pot and pot, sparse"].replace("stack=2100", "stack={}")
RIVERS = {
  "SPR 100, 1,081 x 1,081 hands": SUBGAMES["main: SPR 99.5, pot bets, all hands"],
  "SPR 1, 456 x 335 hands": WIDE.format(300),
  "SPR 3, 456 x 335 hands": WIDE.format(700),
  "SPR 10, 456 x 335 hands": WIDE.format(2100),
  "SPR 1, 44 x 48 hands": NARROW.format(300),
  "SPR 3, 44 x 48 hands": NARROW.format(700),
  "SPR 10, 44 x 48 hands": NARROW.format(2100),
  "4,917 leaves": "river_subgame(bets=0.33 0.75 1.5 a)",  # with --target 1: the way to 0.1% takes long
}


def neighbours(game: pyspiel.Game, count: int) -> list[pyspiel.Game]:
  """A river with its stack in the middle of `count`."""
  spot = game.get_parameters()
  step = max(1, round(APART * spot["stack"]))
  stacks = (spot["stack"] + step * (k - count // 2) for k in range(count))
  return [pyspiel.load_game("river_subgame", {**spot, "stack": stack}) for stack in stacks]


def iterations(game: pyspiel.Game, rule: str, levels: Sequence[float], cap: int) -> list[float]:
  """The iterations to each of some levels, in percent of the pot, falling; infinity beyond the cap."""
  solver, curve = ps_cfr_spiel.PSCFRSolver(game, rule), []
  for mark in marks(cap):
    solver._advance(mark - solver.iteration)
    curve.append((mark, 100 * solver.exploitability() / game.get_parameters()["pot"]))
    if curve[-1][1] <= levels[-1]:
      break
  return [first_below(curve, level) or math.inf for level in levels]


def an_iteration(game: pyspiel.Game, rule: str) -> tuple[Seconds, Seconds]:
  """An iteration, in calls of up to 100 and of 10."""
  solver = ps_cfr_spiel.PSCFRSolver(game, rule)
  step = lambda count: solver.run(count, progress=False)  # noqa: E731
  step(4)
  count = max(4, min(100, int(0.2 / (Seconds.of(lambda: step(4)).wall / 4))))
  short = min(10, count)
  return Seconds.median(lambda: step(count), 7, count), Seconds.median(lambda: step(short), 15, short)


def main() -> None:
  """Prints a table for each river."""
  options = flags(
    __doc__, cap=6000, rivers=list(RIVERS), rules=list(RULES), neighbours=5, target=0.01, peer=None
  )
  levels = [*(level for level in LEVELS if level > options.target), options.target]
  print(describe())
  for name, text in RIVERS.items():
    if not name.startswith(tuple(options.rivers)):
      continue
    game = pyspiel.load_game(text)
    print(
      f"\n{name}\n{'':17}{'ms/it':>15}{'calls of 10':>16}   seconds (iterations: median, least to most) to "
      f"{'/'.join(map(str, levels))} % of the pot"
    )
    for label in options.rules:
      rule, nearby = RULES[label], neighbours(game, options.neighbours)
      long, short = an_iteration(game, rule)
      each = [iterations(near, rule, levels, options.cap) for near in nearby]
      cells = [cell(long.wall, counts) for counts in zip(*each, strict=True)]
      print(row(label, [long, short], cells), flush=True)
    if options.peer:
      lines = peer_lines(
        options.peer, game.get_parameters(), "--target", str(levels[-1]), "--most", str(options.cap)
      )
      print(f"peer, to {levels[-1]}%:", *lines[-4:], sep="\n  ", flush=True)


def cell(seconds: float, counts: Sequence[float]) -> str:
  """The median of counts of iterations and their range, with its seconds; some may be infinite."""
  middle = statistics.median_high(counts)
  if math.isinf(middle):
    return "-"
  return f"{middle * seconds:.4f} ({middle}, {min(counts)} to {max(counts)})"


def row(label: str, times: Sequence[Seconds], cells: Sequence[str]) -> str:
  """A line of the table."""
  milliseconds = "".join(f"{1e3 * time.wall:7.4f} ({1e3 * time.processor:.4f})" for time in times)
  return f"{label:17}{milliseconds}   " + "".join(f"{cell:>28}" for cell in cells)


if __name__ == "__main__":
  main()
