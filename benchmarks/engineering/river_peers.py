"""Rivers of every depth, wide and narrow, beside postflop-solver: an iteration, and seconds to solve.

  taskset -c 0 python -m benchmarks.engineering.river_peers

postflop-solver is a program in Rust that pip does not install, so its figures are a record: `PEER` has what
it took on an Intel Xeon (Sapphire or Emerald Rapids, AVX-512) in November 2026, one thread pinned to a core,
float32, with the same boards, ranges, stacks and bet sizes; exploitability was looked at every 10 iterations,
and that time not counted. Values agreed within 0.005 chips. The ranges of its two narrow rivers (44 x 66
hands) were not kept; those here are about as wide, and its figures say no more than the order of magnitude.

Its seconds are scaled to this machine by the matrix product of `machine.py`. On an AMD EPYC with an equal
product one and the same version of our CFR+, which is work of the same kind, took `EPYC` times as long as
there, and so may the Rust program: the second row, "at best", is what it would take then.

Our seconds are iterations times the median time of one; compilation is left out, and is nothing for a second
river with the same bets. "restarts" is DCFR as postflop-solver averages it: gamma 3, and the average begins
anew at every power of 4 (here weighted t ** 3 within such a stretch).
"""

import jax
import jax.numpy as jnp
import pyspiel

import ps_cfr_spiel
from benchmarks.engineering.general_convergence import LEVELS, SUBGAMES, first_below, marks
from benchmarks.machine import anchor, describe, flags, median_seconds
from ps_cfr_spiel import cfr
from ps_cfr_spiel.rules import DCFR

PRODUCT_THERE = 1.03  # ms
EPYC = 0.19 / 0.39  # of the default river, in ms
RULES = {"NRM+": "nrm+", "DCFR": "dcfr", "DCFR, restarts": DCFR(gamma=3.0), "CFR+": "rm+"}
WIDE = SUBGAMES["paired: SPR 1, half pot and pot, wide"].replace("stack=300", "stack={}")
NARROW = SUBGAMES["straight: SPR 10, half pot and pot, sparse"].replace("stack=2100", "stack={}")
# Rivers; ms an iteration of postflop-solver, and its seconds to 1, 0.1 and 0.01% of the pot.
PEER = {
  "SPR 100, 1,081 x 1,081 hands": (
    SUBGAMES["main: SPR 99.5, pot bets, all hands"],
    0.39,
    (0.079, 0.61, 2.32),
  ),
  "SPR 1, 456 x 335 hands": (WIDE.format(300), 0.057, (0.003, 0.005, 0.028)),
  "SPR 3, 456 x 335 hands": (WIDE.format(700), 0.18, (0.015, 0.049, 0.27)),
  "SPR 10, 456 x 335 hands": (WIDE.format(2100), 0.42, (0.046, 0.20, 0.92)),
  "SPR 3, 44 x 48 hands": (NARROW.format(700), 0.025, (0.0008, 0.0034, 0.013)),
  "SPR 10, 44 x 48 hands": (NARROW.format(2100), 0.061, (0.004, 0.013, 0.048)),
}
PEER_LEVELS = (1, 0.1, 0.01)  # % of the pot


def forget_average(solver: ps_cfr_spiel.PSCFRSolver) -> None:
  """The average strategy begins anew."""
  empty = jnp.zeros_like
  players = [p._replace(average=jax.tree.map(empty, p.average)) for p in solver._state.players]
  solver._state = solver._state._replace(players=tuple(players))


def measure(game: pyspiel.Game, rule, restarts: bool, cap: int) -> tuple[float, list[tuple[int, float]]]:
  """Milliseconds an iteration, and exploitability in % of the pot at each mark."""
  solver = ps_cfr_spiel.PSCFRSolver(game, rule)
  solver.compile()
  start = solver._state
  step = lambda: jax.block_until_ready(cfr.run(solver._tree, start, 100, rule=solver.rule))  # noqa: E731
  milliseconds = 1e3 * median_seconds(step, 7) / 100
  powers = [4**k for k in range(1, 10)] if restarts else []
  curve = []
  for mark in sorted({*marks(cap), *(p for p in powers if p < cap)}):
    solver._advance(mark - solver.iteration)
    curve.append((mark, 100 * solver.exploitability() / game.get_parameters()["pot"]))
    if curve[-1][1] <= LEVELS[-1]:
      break
    if mark in powers:
      forget_average(solver)
  return milliseconds, curve


def main() -> None:
  """Prints a table for each river."""
  options = flags(__doc__, cap=6000, rivers=list(PEER))
  print(describe())
  product = anchor() / PRODUCT_THERE
  scales = {"Rust, by product": product, "Rust, at best": product * EPYC}
  for name, (text, peer_iteration, peer_seconds) in PEER.items():
    if not name.startswith(tuple(options.rivers)):
      continue
    game = pyspiel.load_game(text)
    print(
      f"\n{name}\n{'':17}{'ms/it':>7}   seconds (iterations) to {'/'.join(map(str, LEVELS))} % of the pot"
    )
    recorded = dict(zip(PEER_LEVELS, peer_seconds, strict=True))
    for label, scale in scales.items():
      cells = [f"{scale * recorded[level]:.4f}" if level in recorded else "" for level in LEVELS]
      print(row(label, scale * peer_iteration, cells))
    for label, rule in RULES.items():
      milliseconds, curve = measure(game, rule, "restarts" in label, options.cap)
      found = [first_below(curve, level) for level in LEVELS]
      cells = ["-" if n is None else f"{n * milliseconds / 1e3:.4f} ({n})" for n in found]
      print(row(label, milliseconds, cells), flush=True)


def row(label: str, milliseconds: float, cells: list[str]) -> str:
  """A line of the table."""
  return f"{label:17}{milliseconds:7.3f}   " + "".join(f"{cell:>15}" for cell in cells)


if __name__ == "__main__":
  main()
