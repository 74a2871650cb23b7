"""Hold'em to the flop in public clusters: clustered, solved and evaluated exactly in the whole game.

  taskset -c 0 python -m benchmarks.papers.hierarchical solve [--game royal|flop|turn] [--clusters 60]
    [--buckets 50] [--flat 3000] [--ways distance flat fair random ranks] [--seeds 0 1 2] [--seconds 60]
    [--looks 4] [--folder FOLDER] [--plot FILE]
  taskset -c 0 python -m benchmarks.papers.hierarchical play --folder FOLDER [--ways distance flat ranks]
    [--roundings none purify threshold=0.15 cautious=0.2] [--seeds 0 1 2]

"flop" is limit hold'em with the whole deck and three raises, to the flop: 1.46 x 10^9 infostates, whose
tables would take 29 GB. "royal" is the same with 20 cards, "turn" is no-limit (fold, call, pot, all-in) with
20 big blinds, to the turn. `solve` clusters boards in several ways: by how hands fall into buckets
(distance), at random, by the sum of the board's ranks, and not at all (flat: one cluster with many buckets),
always with buckets of one kind. A pair of hands meets a board of each cluster, flat a single one, so "fair"
is flat with the same number of boards for a pair of hands as clusters have. Each row is the average strategy
after so many seconds of the processor: pairs of hands dealt, and its exploitability in the whole game, in
big blinds and as a share of uniform play's. The runs and all curves are kept in the folder, and what is
there is drawn.

`play` rounds the first way's strategy in several ways and plays it against those of the other ways with the
same seed, as they are: what it wins on average in both seats, exactly, in thousandths of a big blind a hand;
on average and against the worst of them (Table 2 of the paper), and how exploitable it is. Each is a mean
over the seeds, with the distance of the least and the greatest.
"""

import argparse
import itertools
import json
import time
from pathlib import Path

import jax
import numpy as np
import pyspiel

import ps_cfr_spiel
from benchmarks.machine import describe, flags
from ps_cfr_spiel.abstractions import exact_values, rounded, value_against
from ps_cfr_spiel.cards.poker import CardDeal, CardGame
from ps_cfr_spiel.hierarchical import card_game, make_abstraction, measure

LIMIT = (
  "universal_poker(betting=limit,numPlayers=2,numRounds=2,blind=1 2,raiseSize=2 4,firstPlayer=1 1,"
  "maxRaises=3 3,numSuits=4,numRanks={},numHoleCards=2,numBoardCards=0 3,stack=100 100)"
)
TURN = (
  "universal_poker(betting=nolimit,bettingAbstraction=fcpa,numPlayers=2,numRounds=3,blind=1 2,"
  "firstPlayer=1 1 1,numSuits=4,numRanks=13,numHoleCards=2,numBoardCards=0 3 1,stack=40 40)"
)
GAMES = {"royal": LIMIT.format(5), "flop": LIMIT.format(13), "turn": TURN}
BLIND = 2  # chips of the big blind
CURVES = "curves.json"
CHUNK = 8  # iterations between two looks at the clock
FLAT = ("flat", "fair")
ROUNDINGS = ("none", "purify", "threshold=0.15", "cautious=0.2")


def clusters_of(way: str, dealt: CardGame[CardDeal], count: int, seed: int) -> int | np.ndarray:
  """How boards are clustered: the argument of `make_abstraction`."""
  boards = dealt.deal.tables[1].cards
  even = np.arange(len(boards)) * count // len(boards)
  if way == "random":
    return np.random.default_rng(seed).permutation(even)
  if way == "ranks":
    found = np.empty(len(boards), int)
    found[np.argsort((boards // dealt.deal.deck.suits).sum(1), kind="stable")] = even
    return found
  return 1 if way in FLAT else count


def run(solver, seconds: float, looks: int, uniform: float) -> list[tuple[float, float]]:
  """Solves for some seconds, prints a row at every look; (seconds, exploitability) of them."""
  solver.run(0)  # compiles
  spent, points = 0.0, []
  for look in range(looks):
    while spent < seconds * 2.0 ** (look + 1 - looks):
      start = time.process_time()
      solver.run(CHUNK, progress=False)
      spent += time.process_time() - start
    start = time.process_time()
    found, deals = solver.exploitability(), 2 * solver.options.batch * solver.iteration
    took = time.process_time() - start
    print(
      f"  {spent:7.1f} s{deals:14,}{found / BLIND:12.4f}{found / uniform:9.1%}   evaluated in {took:.0f} s",
      flush=True,
    )
    points.append((spent, found / BLIND))
  return points


def solve(options: argparse.Namespace) -> None:
  game = pyspiel.load_game(GAMES[options.game])
  dealt = card_game(game)
  sizes = measure(dealt.betting, dealt.deal)
  up_to_suits, gigabytes = sizes.infostate_classes, sizes.bytes / 1e9
  print(f"{sizes.infostates:,} infostates, {up_to_suits:,} up to suits, {gigabytes:.3g} GB of tables")
  options.folder.mkdir(parents=True, exist_ok=True)
  kept = options.folder / CURVES
  curves = json.loads(kept.read_text()) if kept.exists() else {}
  for way, seed in itertools.product(options.ways, options.seeds):
    start, clusters = time.process_time(), clusters_of(way, dealt, options.clusters, seed)
    buckets = options.flat if way in FLAT else options.buckets
    boards = min(options.clusters, len(dealt.deal.tables[1].cards)) if way == "fair" else 1
    abstraction = make_abstraction(dealt, clusters=clusters, buckets=buckets, seed=seed, restarts=2)
    took, members = time.process_time() - start, np.bincount(abstraction.clusters)
    solver = ps_cfr_spiel.abstractions.HierarchicalMCCFRSolver(
      game, abstraction=abstraction, batch=options.batch, boards=boards, seed=seed
    )
    own = sum(x.nbytes for x in jax.tree.leaves(solver._state.tables)) / 1e6
    print(
      f"{way}, seed {seed}: {abstraction.count} clusters of {members.min()} to {members.max()} classes of "
      f"boards, buckets {abstraction.sizes}, {own:.1f} MB of tables, made in {took:.0f} s",
      flush=True,
    )
    if "uniform" not in curves:
      curves["uniform"] = solver.exploitability()
    uniform = curves["uniform"]
    print(f"  {'uniform':>9}{0:>14,}{uniform / BLIND:12.4f}{1:9.1%}", flush=True)
    name = f"{way}, {abstraction.count} x {buckets:,} buckets"
    curves.setdefault(name, []).append(run(solver, options.seconds, options.looks, uniform))
    solver.save(options.folder / f"{way}.{seed}.safetensors")
    kept.write_text(json.dumps(curves))
  if options.plot:
    from benchmarks.papers.abstraction_pictures import abstraction_sizes

    named = {name: runs for name, runs in curves.items() if name != "uniform"}
    words = "seconds of one core", "exploitability, big blinds a hand"
    abstraction_sizes({options.game: named}, *words).savefig(options.plot)


def play(options: argparse.Namespace) -> None:
  print(
    f"{'rounded':>16}{'average':>18}{'worst':>18}{'exploitability':>18}   mbb/h, {len(options.seeds)} seeds"
  )
  for how in options.roundings:
    rows = []
    for seed in options.seeds:
      paths = [options.folder / f"{way}.{seed}.safetensors" for way in options.ways]
      first, *others = (ps_cfr_spiel.load_policy(path) for path in paths if path.exists())
      policy = first if how == "none" else rounded(first, how)
      won = [1000 * value_against(policy, other) / BLIND for other in others]
      rows.append((np.mean(won), min(won), 1000 * exact_values(policy).exploitability / BLIND))
    found = zip(np.mean(rows, 0), np.ptp(rows, 0), strict=True)
    print(f"{how:>16}" + "".join(f"{mean:10.1f} ({apart:5.1f})" for mean, apart in found), flush=True)


def main() -> None:
  options = flags(
    __doc__, what=("solve", "play"), game="royal", ways=["distance", "flat", "random", "ranks"],
    roundings=list(ROUNDINGS), clusters=60, buckets=50, flat=3000, seconds=60.0, looks=4, batch=16,
    seeds=[0], folder=Path("runs/hierarchical"), plot=None,
  )  # fmt: skip
  print(describe())
  {"solve": solve, "play": play}[options.what](options)


if __name__ == "__main__":
  main()
