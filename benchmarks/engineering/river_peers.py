"""Rivers of every depth, wide and narrow, beside a peer: an iteration, and seconds to solve.

  taskset -c 0 python -m benchmarks.engineering.river_peers --peer "taskset -c 0 PROGRAM"

The peer is another solver behind a small program of one's own (`machine.peer_lines` has its arguments); it is
run here, after ours on each river, and what it prints is shown. The documentation's figures are of
postflop-solver, in Rust, which pip does not install. Our seconds are iterations times the median time of one;
compilation is left out, and is nothing for a second river with the same bets. Looks do not count in either.
"""

import pyspiel

import ps_cfr_spiel
from benchmarks.engineering.general_convergence import LEVELS, SUBGAMES, first_below, marks
from benchmarks.machine import describe, flags, median_seconds, peer_lines

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
  "4,917 leaves": "river_subgame(bets=0.33 0.75 1.5 a)",  # with --cap 20: the way to 0.1% takes long
}


def measure(game: pyspiel.Game, rule: str, cap: int) -> tuple[float, list[tuple[int, float]]]:
  """Milliseconds an iteration, and exploitability in % of the pot at each mark."""
  solver, curve = ps_cfr_spiel.PSCFRSolver(game, rule), []
  for mark in marks(cap):
    solver._advance(mark - solver.iteration)
    curve.append((mark, 100 * solver.exploitability() / game.get_parameters()["pot"]))
    if curve[-1][1] <= LEVELS[-1]:
      break
  step = lambda count: solver.run(count, progress=False)  # noqa: E731
  count = max(4, min(100, int(0.2 / (median_seconds(lambda: step(4), 1) / 4))))
  return 1e3 * median_seconds(lambda: step(count), 7) / count, curve


def main() -> None:
  """Prints a table for each river."""
  options = flags(__doc__, cap=6000, rivers=list(RIVERS), peer=None)
  print(describe())
  for name, text in RIVERS.items():
    if not name.startswith(tuple(options.rivers)):
      continue
    game = pyspiel.load_game(text)
    levels = "/".join(map(str, LEVELS))
    print(f"\n{name}\n{'':17}{'ms/it':>7}   seconds (iterations) to {levels} % of the pot")
    for label, rule in RULES.items():
      milliseconds, curve = measure(game, rule, options.cap)
      found = [first_below(curve, level) for level in LEVELS]
      cells = ["-" if n is None else f"{n * milliseconds / 1e3:.4f} ({n})" for n in found]
      print(row(label, milliseconds, cells), flush=True)
    if options.peer:
      lines = peer_lines(options.peer, game.get_parameters(), "--target", "0.1", "--most", str(options.cap))
      print("peer, to 0.1%:", *lines[-4:], sep="\n  ", flush=True)


def row(label: str, milliseconds: float, cells: list[str]) -> str:
  """A line of the table."""
  return f"{label:17}{milliseconds:7.3f}   " + "".join(f"{cell:>15}" for cell in cells)


if __name__ == "__main__":
  main()
