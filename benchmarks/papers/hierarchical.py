"""Hold'em to the flop in public clusters: clustered, solved and evaluated exactly in the whole game.

  taskset -c 0 python -m benchmarks.papers.hierarchical solve [--game royal|flop|turn] [--clusters 60]
    [--buckets 50] [--flat 3000] [--ways distance flat fair random ranks] [--seeds 0 1 2] [--seconds 60]
    [--looks 4] [--folder FOLDER]
  taskset -c 0 python -m benchmarks.papers.hierarchical play --folder FOLDER [--ways distance flat ranks]
    [--roundings none purify threshold=0.15 cautious=0.2] [--seeds 0 1 2] [--wins_only]
  python -m benchmarks.papers.hierarchical draw [--folder FOLDER] --plot docs/hierarchical_flop.png

"flop" is limit hold'em with the whole deck and three raises, to the flop: 1.46 x 10^9 infostates, whose
tables would take 29 GB. "royal" is the same with 20 cards, "turn" is no-limit (fold, call, pot, all-in) with
20 big blinds, to the turn. `solve` clusters boards in several ways: by how hands fall into buckets
(distance), at random, by the sum of the board's ranks, and not at all (flat: one cluster with many buckets),
always with buckets of one kind. A pair of hands meets a board of each cluster, flat a single one, so "fair"
is flat with the same number of boards for a pair of hands as clusters have. Each row is the average strategy
after so many seconds of the processor: pairs of hands dealt, and its exploitability in the whole game, in
big blinds and as a share of uniform play's. The runs and all curves are kept in the folder: a run
there is not repeated. `draw` draws them (benchmarks/data/hierarchical has those of the documentation).

`play` rounds the first way's strategy in several ways and plays it against those of the other ways with the
same seed, as they are: what it wins on average in both seats, exactly, in thousandths of a big blind a hand;
on average and against the worst of them (Table 2 of the paper), and how exploitable it is. Each is a mean
over the seeds, with the distance of the least and the greatest. They too are kept in the folder.
--wins_only leaves exploitability out.
"""

import argparse
import functools
import itertools
import json
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pyspiel

import ps_cfr_spiel
from benchmarks.machine import describe, flags
from ps_cfr_spiel.abstractions import exact_values, rounded, value_against
from ps_cfr_spiel.cards.poker import CardDeal, CardGame
from ps_cfr_spiel.hierarchical import Hierarchy, card_game, make_abstraction, measure
from ps_cfr_spiel.sampling.keyed import KeyedPolicy

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
CURVES, ROUNDED, UNIFORM = "curves.json", "rounded.json", "uniform"
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
  return np.zeros(len(boards), int) if way in FLAT else count


def kept_in(path: Path) -> dict[str, Any]:
  """The results in a file of an earlier call; empty without one."""
  return json.loads(path.read_text()) if path.exists() else {}


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
  curves = kept_in(kept)
  made: dict[tuple[str, int], Hierarchy] = {}  # of the last way that shares it, and seed
  for seed, way in itertools.product(options.seeds, options.ways):
    buckets = options.flat if way in FLAT else options.buckets
    runs = curves.setdefault(f"{way}, {buckets:,} buckets", {})
    if str(seed) in runs:
      continue
    start, key = time.process_time(), (FLAT[0] if way in FLAT else way, seed)
    if key not in made:
      clusters = clusters_of(way, dealt, options.clusters, seed)
      made = {key: make_abstraction(dealt, clusters=clusters, buckets=buckets, seed=seed, restarts=2)}
    abstraction, took = made[key], time.process_time() - start
    boards = min(options.clusters, len(dealt.deal.tables[1].cards)) if way == "fair" else 1
    members = np.bincount(abstraction.clusters)
    solver = ps_cfr_spiel.abstractions.HierarchicalMCCFRSolver(
      game, abstraction=abstraction, batch=options.batch, boards=boards, seed=seed
    )
    own = sum(x.nbytes for x in jax.tree.leaves(solver._state.tables)) / 1e6
    print(
      f"{way}, seed {seed}: {abstraction.count} clusters of {members.min()} to {members.max()} classes of "
      f"boards, buckets {abstraction.sizes}, {own:.1f} MB of tables, made in {took:.0f} s",
      flush=True,
    )
    if UNIFORM not in curves:
      curves[UNIFORM] = solver.exploitability()
    uniform = curves[UNIFORM]
    print(f"  {UNIFORM:>9}{0:>14,}{uniform / BLIND:12.4f}{1:9.1%}", flush=True)
    runs[str(seed)] = run(solver, options.seconds, options.looks, uniform)
    solver.save(options.folder / f"{way}.{seed}.safetensors")
    kept.write_text(json.dumps(curves))


def draw(options: argparse.Namespace) -> None:
  from benchmarks.papers.abstraction_pictures import abstraction_sizes

  curves = kept_in(options.folder / CURVES)
  uniform = curves.pop(UNIFORM)
  for name, runs in curves.items():
    ends = [runs[seed][-1] for seed in runs]
    shares = ", ".join(f"{BLIND * found / uniform:.1%}" for _, found in ends)
    print(f"{name}: {shares} of uniform play's exploitability after {max(s for s, _ in ends):.0f} s")
  panel = {options.game: {name: list(runs.values()) for name, runs in curves.items()}}
  abstraction_sizes(panel, "seconds of one core", "exploitability, big blinds a hand").savefig(options.plot)


def play(options: argparse.Namespace) -> None:
  print(f"rounded {options.ways[0]} against {' and '.join(options.ways[1:])}, mbb/h:")
  print(f"{'':>16}" + "".join(f"{name:>18}" for name in ("average", "worst", "exploitability")))
  path = options.folder / ROUNDED
  kept = kept_in(path)
  for how in options.roundings:
    rows = []
    for seed in options.seeds:
      first, *others = (options.folder / f"{way}.{seed}.safetensors" for way in options.ways)
      policy = functools.cache(lambda first=first, how=how: policy_in(first, how))
      measured = kept.setdefault(f"{how}, seed {seed}", {})
      for other in [x.name for x in others if x.exists()] + ["exploitability"] * (not options.wins_only):
        if other not in measured:
          if other == "exploitability":
            found = exact_values(policy()).exploitability
          else:
            found = value_against(policy(), policy_in(options.folder / other))
          measured[other] = 1000 * found / BLIND
          path.write_text(json.dumps(kept))
      won = [value for name, value in measured.items() if name != "exploitability"]
      rows.append((np.mean(won), min(won), measured.get("exploitability", np.nan)))
    columns = zip(np.mean(rows, 0), np.ptp(rows, 0), strict=True)
    print(f"{how:>16}" + "".join(f"{mean:10.1f} ({apart:5.1f})" for mean, apart in columns), flush=True)


def policy_in(path: Path, how: str = "none") -> KeyedPolicy:
  """The strategy of a file, rounded."""
  policy = ps_cfr_spiel.load_policy(path)
  assert isinstance(policy, KeyedPolicy)
  return policy if how == "none" else rounded(policy, how)


def main() -> None:
  options = flags(
    __doc__, what=("solve", "play", "draw"), game="royal", ways=["distance", "flat", "random", "ranks"],
    roundings=list(ROUNDINGS), clusters=60, buckets=50, flat=3000, seconds=60.0, looks=4, batch=16,
    seeds=[0], wins_only=False, folder=Path("runs/hierarchical"), plot=None,
  )  # fmt: skip
  print(describe())
  {"solve": solve, "play": play, "draw": draw}[options.what](options)


if __name__ == "__main__":
  main()
