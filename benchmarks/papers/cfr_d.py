"""CFR-D: a trunk in memory, subgames solved apart and thrown away (Schmid 2021, Section 20.3).

  python -m benchmarks.papers.cfr_d [--games leduc_poker] [--trunks round] [--iterations 50 200] [--below 40]

With --bytes_only exploitability is left out.

Prints for each game and trunk (own decisions, or round) the most bytes of trees and tables at once, beside
those of CFR on the whole game; their exploitability; and seconds of processor of the trunk's iterations, with
the trees below kept. Regrets are those of CFR+ (rm+), updated at once for both players.
"""

import itertools
import time

import pyspiel

from benchmarks.machine import describe, flags
from ps_cfr_spiel import PSCFRSolver, exploitability
from ps_cfr_spiel.backend.device import bytes_of
from ps_cfr_spiel.loading import sequential
from ps_cfr_spiel.matches import CFRD


def main() -> None:
  options = flags(
    __doc__ or "", games=["leduc_poker"], trunks=["round"], iterations=[50, 200], below=40, bytes_only=False
  )
  print(describe())
  for name, trunk in itertools.product(options.games, options.trunks):
    game = sequential(pyspiel.load_game(name))
    whole = PSCFRSolver(game, "rm+", alternating=False, leaves="sparse")
    size, lookahead = bytes_of((whole._tree, whole._state)), int(trunk) if trunk.isdecimal() else trunk
    state = game.new_initial_state()
    while state.is_chance_node():
      state.apply_action(state.legal_actions()[0])
    for iterations in map(int, options.iterations):
      whole.run(iterations - whole.iteration, progress=False)
      parts = CFRD(game, iterations, below=options.below, lookahead=lookahead, keep_trees=True)
      began = time.process_time()
      parts.action_probabilities(state)
      seconds, largest = time.process_time() - began, parts.largest
      loss = (
        f"{exploitability(game, parts, tree=whole.tree, progress=False):.4f}"
        if not options.bytes_only
        else "-"
      )
      print(
        f"{name}, trunk {trunk}, {iterations} iterations: {largest:,} bytes (CFR {size:,}, "
        f"root {size**0.5:,.0f}), exploitability {loss} (CFR {whole.exploitability():.4f}), {seconds:.1f} s",
        flush=True,
      )


if __name__ == "__main__":
  main()
