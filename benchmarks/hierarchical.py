"""Hold'em to the flop in public clusters: clustered, solved and evaluated exactly in the whole game.

  python benchmarks/hierarchical.py [--game leduc|royal|flop] [--clusters 60] [--buckets 50] [--seconds 60]
    [--looks 4] [--peers]

"flop" is limit hold'em with the whole deck and three raises, to the flop: 1.46 x 10^9 infostates, whose
tables would take 29 GB. "royal" is the same with 20 cards. Each row is the average strategy after so many
seconds of sampling: pairs of hands dealt, and its exploitability in the whole game, in big blinds and as a
share of uniform play's. With --peers the clusters are made in two other ways too, at random and by the sum
of the board's ranks, with buckets of the same kind and number.
"""

import argparse
import time

import numpy as np
import pyspiel
from machine import describe

import ps_cfr_spiel
from ps_cfr_spiel.abstraction import board_distances, spread
from ps_cfr_spiel.dealing import SPECIAL, DealtGame, make_abstraction, measure
from ps_cfr_spiel.dealing.clustering import Equities, board_transitions

LIMIT = (
  "universal_poker(betting=limit,numPlayers=2,numRounds=2,blind=1 2,raiseSize=2 4,firstPlayer=1 1,"
  "maxRaises=3 3,numSuits=4,numRanks={},numHoleCards=2,numBoardCards=0 3,stack=100 100)"
)
GAMES = {"leduc": ("leduc_poker", 1), "royal": (LIMIT.format(5), 2), "flop": (LIMIT.format(13), 2)}
CHUNK = 8  # iterations between two looks at the clock


def clusterings(dealt: DealtGame, count: int, seed: int):
  """For each way to cluster boards the cluster of each class."""
  boards = len(dealt.runouts[SPECIAL].cards)
  generator = np.random.default_rng(seed)
  ranks = (dealt.runouts[SPECIAL].cards // dealt.form.deck.suits).sum(1)
  by_rank = np.empty(boards, int)
  by_rank[np.argsort(ranks, kind="stable")] = np.arange(boards) * count // boards
  return {"at random": generator.permutation(np.arange(boards) % count), "by the sum of ranks": by_rank}


def run(game, abstraction, seconds: float, looks: int, batch: int, unit: float) -> None:
  """Solves for some seconds, and prints a row at every look."""
  solver = ps_cfr_spiel.HierarchicalMCCFRSolver(game, abstraction=abstraction, batch=batch)
  start = time.monotonic()
  uniform = solver.exploitability()
  took = time.monotonic() - start
  print(f"  {'uniform':>9}{0:>14,}{uniform / unit:12.4f}{1:9.1%}   evaluated in {took:.0f} s")
  start = time.monotonic()
  solver.compile()
  print(f"  compiled in {time.monotonic() - start:.1f} s")
  spent = 0.0
  for look in range(looks):
    while spent < seconds * (look + 1) / looks:
      start = time.monotonic()
      solver.run(CHUNK, progress=False)
      spent += time.monotonic() - start
    found, deals = solver.exploitability(), 2 * batch * solver.iteration
    print(f"  {spent:7.0f} s{deals:14,}{found / unit:12.4f}{found / uniform:9.1%}", flush=True)


def main() -> None:
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--game", choices=GAMES, default="royal")
  parser.add_argument("--clusters", type=int, default=60)
  parser.add_argument("--buckets", default="50")
  parser.add_argument("--seconds", type=float, default=60)
  parser.add_argument("--looks", type=int, default=4)
  parser.add_argument("--batch", type=int, default=16)
  parser.add_argument("--seed", type=int, default=0)
  parser.add_argument("--peers", action="store_true")
  options = parser.parse_args()
  print(describe())
  name, unit = GAMES[options.game]
  game = pyspiel.load_game(name)
  dealt = DealtGame.of(game)
  sizes = measure(dealt.form)
  up_to_suits, gigabytes = sizes.infostate_classes, sizes.bytes / 1e9
  print(f"{sizes.infostates:,} infostates, {up_to_suits:,} up to suits, {gigabytes:.3g} GB of tables")
  buckets = int(options.buckets) if options.buckets.isdecimal() else options.buckets
  ways = {"by distance": options.clusters}
  if options.peers:
    ways |= clusterings(dealt, options.clusters, options.seed)
    table = board_transitions(dealt, Equities.of(dealt, options.seed), options.seed)
    distances = board_distances(table)
  for way, clusters in ways.items():
    start = time.monotonic()
    abstraction = make_abstraction(dealt, clusters, buckets, options.seed, restarts=2)
    members = np.bincount(abstraction.clusters)
    print(
      f"clusters {way}: {abstraction.count}, of {members.min()} to {members.max()} classes of boards, "
      f"buckets {abstraction.sizes}, made in {time.monotonic() - start:.0f} s"
      + (f", W = {spread(distances, abstraction.clusters):.1f}" if options.peers else "")
    )
    run(game, abstraction, options.seconds, options.looks, options.batch, unit)


if __name__ == "__main__":
  main()
