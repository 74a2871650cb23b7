"""Memory of dealt cards: what tables, buckets and runs take, and the estimates by which they are refused.

  python -m benchmarks.engineering.dealt_memory [--rows NAME ...]

Each row is a process of its own: the most memory in use, in MB beyond what the process held before, next to
the estimate. `cards` numbers boards and hands and puts all hands of a round into one bucket; `buckets`
makes some; `run` compiles a solver and runs it for two iterations. Boards are dealt out to the clusters in
turn, without being compared.
"""

import json
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import pyspiel

from benchmarks.machine import PeakMemory, describe, flags, in_process
from benchmarks.papers.hierarchical import GAMES
from ps_cfr_spiel import hierarchical
from ps_cfr_spiel.abstractions import HierarchicalMCCFRSolver
from ps_cfr_spiel.cards.poker.dealt import read_card_game
from ps_cfr_spiel.hierarchical import DealtAbstraction, card_game, clustering
from ps_cfr_spiel.memory import card_needs
from ps_cfr_spiel.options import DISTRIBUTION, POTENTIAL


class Row(NamedTuple):
  """What is made, and of what."""

  game: str
  what: str
  clusters: int = 1
  buckets: int = 0  # none: the hands of a round are alike
  aware: str = POTENTIAL
  batch: int = 16


ROWS = {
  "royal, cards": Row("royal", "cards"),
  "royal, 1 x 50 buckets": Row("royal", "buckets", 1, 50),
  "royal, 10 x 20 buckets, run": Row("royal", "run", 10, 20),
  "flop, cards": Row("flop", "cards"),
  "flop, 60 x 50 buckets": Row("flop", "buckets", 60, 50),
  "flop, 1 x 50 buckets": Row("flop", "buckets", 1, 50),
  "flop, 60 x 50 buckets, run": Row("flop", "run", 60, 50),
  "the same, a batch of 4,096": Row("flop", "run", 60, 50, batch=4096),
  "the same, a batch of 32,768": Row("flop", "run", 60, 50, batch=2**15),
  "flop, 600 x 500 buckets, run": Row("flop", "run", 600, 500),
  "turn, cards": Row("turn", "cards"),
  "turn, 60 x 0 buckets, run": Row("turn", "run", 60),
  "turn, 20 x 50 buckets": Row("turn", "buckets", 20, 50, DISTRIBUTION),
}


def measured(row: Row) -> tuple[float, float]:
  """Most MB in use, and the estimate."""
  jnp.ones((2, 2)) @ jnp.ones((2, 2))
  game = pyspiel.load_game(GAMES[row.game])
  needs = card_needs(read_card_game(game).deal)
  check = clustering.check_needs

  def noted(name, asked, *rest):
    needs.update(asked)
    check(name, asked, *rest)

  clustering.check_needs = noted
  used = PeakMemory()
  dealt = card_game(game)
  classes = dealt.deal.hand_classes
  own = np.arange(len(classes[1])) % row.clusters
  if row.what == "buckets":
    hierarchical.make_abstraction(
      dealt, clusters=own, buckets=row.buckets, restarts=1, progress=False, aware=row.aware
    )
    return used(), sum(needs.values()) / 2**20
  numbers = [np.where(table < 0, -1, table % max(row.buckets, 1)) for table in classes[1:]]
  abstraction = DealtAbstraction.of(dealt, own, [classes[0], *numbers])
  if row.what == "run":
    solver = HierarchicalMCCFRSolver(game, abstraction=abstraction, batch=row.batch)
    solver.run(2, progress=False)
    tree = hierarchical.dealt_tree(dealt, abstraction)
    needs |= hierarchical.run_needs(tree, hierarchical.all_devices(), row.batch, solver.dtype)
  return used(), sum(needs.values()) / 2**20


def main() -> None:
  options = flags(__doc__, rows=list(ROWS), row=None)
  if options.row:
    print(json.dumps(measured(ROWS[options.row])))
    return
  print(describe(), flush=True)
  print(f"{'':32}{'peak, MB':>10}{'estimate':>10}")
  environment = {"JAX_ENABLE_COMPILATION_CACHE": "false", "JAX_PLATFORMS": "cpu"}
  for name in options.rows:
    peak, estimate = in_process(__spec__.name, "--row", name, **environment)
    print(f"{name:32}{peak:10,.0f}{estimate:10,.0f}", flush=True)


if __name__ == "__main__":
  main()
