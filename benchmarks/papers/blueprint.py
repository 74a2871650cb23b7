"""A blueprint of no-limit hold'em with all four rounds: speed of its sampler, training, responses to it.

  python -m benchmarks.papers.blueprint speed [--seconds 5]
  python -m benchmarks.papers.blueprint train --folder FOLDER [--clusters 60] [--buckets 500] [--minutes 60]
    [--looks 4] [--rule lcfr] [--rounds 4] [--stack 20000]
  python -m benchmarks.papers.blueprint respond --folder FOLDER [--hands 400] [--rounds 4] [--plot FILE]
  python -m benchmarks.papers.blueprint pack --file FILE [--folder FOLDER] [--hands 400]

`speed` times an iteration of modified external sampling on small no-limit games (20 cards, to the flop,
fcpa, 4 clusters) by the number of lines of betting: line by visited line in the library, and all lines side
by side in JAX, its reference. `train` solves hold'em with 200 big blinds and fold, call, pot and all-in, 16
pairs of hands and a board of each cluster at a time, and saves the run along the way. `respond` plays a
local best response (Lisý and Bowling 2017) against each of them, against a player who always calls, and
against uniform play, in thousandths of a big blind a hand. `--rounds 3` ends the game on the turn. `pack`
writes the last of these runs as a policy that comes with the package, a byte for each move, with a local best
response by folds and calls to it in its card; without a folder, the card alone anew. Those of the package are
of `train --clusters 8 --buckets 100`, with `--minutes 8`, and with `--minutes 6 --looks 2` and `--stack 5000`
or `--stack 2000`.
"""

import argparse
import json
import resource
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyspiel

import ps_cfr_spiel
from benchmarks.machine import describe
from ps_cfr_spiel.abstractions import HierarchicalMCCFRSolver, Translation, WrappedPolicy
from ps_cfr_spiel.backend.device import precision
from ps_cfr_spiel.cards.poker import Betting
from ps_cfr_spiel.evaluation import local_best_response
from ps_cfr_spiel.hierarchical import (
  ClusterSampling,
  card_game,
  load_abstraction,
  make_abstraction,
  save_abstraction,
)

NO_LIMIT = (
  "universal_poker(betting=nolimit,bettingAbstraction=fcpa,numPlayers=2,numRounds={},blind=100 50,"
  "firstPlayer=2 1 1 1,numSuits=4,numRanks={},numHoleCards=2,numBoardCards={},stack={} {})"
)
BOARD_CARDS = (0, 3, 1, 1)  # that come before each round
BLIND = 100  # chips of the big blind
STACKS = (500, 2_000, 10_000, 20_000)  # chips, of `speed`
FOUND = "responses.json"
SECONDS = "seconds.json"  # of processors, of the abstraction


class ByJax(ClusterSampling):
  """The sampler without the library."""

  @property
  def natively(self) -> bool:
    return False


def seconds_of(solver: HierarchicalMCCFRSolver, seconds: float) -> float:
  """Seconds of an iteration, after those that compile."""
  solver.run(4, progress=False)
  done, start = 0, time.perf_counter()
  with precision(solver.dtype):
    while time.perf_counter() - start < seconds:
      solver._advance(10)
      done += 10
  return (time.perf_counter() - start) / done


def speed(options: argparse.Namespace) -> None:
  print(f"{'lines':>8}{'JAX, ms':>10}{'library, ms':>13}{'ratio':>8}{'lines of betting a second':>27}")
  for stack in STACKS:
    game = pyspiel.load_game(NO_LIMIT.format(2, 5, "0 3", stack, stack))
    solver = HierarchicalMCCFRSolver(game, clusters=4, buckets=20)
    lines, found = len(card_game(game).betting), []
    for kind in (ByJax, ClusterSampling):
      solver._sampler = kind(solver.abstraction.count)
      found.append(seconds_of(solver, options.seconds))
    each = (
      2 * solver.options.batch * solver.abstraction.count * lines / found[1]
    )  # the same work as in JAX, which passes all
    print(
      f"{lines:8,}{1e3 * found[0]:10.2f}{1e3 * found[1]:13.2f}{found[0] / found[1]:8.1f}{each:27,.0f}",
      flush=True,
    )


def holdem(rounds: int, stack: int) -> pyspiel.Game:
  """No-limit hold'em that ends with a showdown after some rounds of betting: 4, or 3 to the turn."""
  board = " ".join(map(str, BOARD_CARDS[:rounds]))
  return pyspiel.load_game(NO_LIMIT.format(rounds, 13, board, stack, stack))


def memory() -> str:
  return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB at most"


def train(options: argparse.Namespace) -> None:
  game, folder = holdem(options.rounds, options.stack), options.folder
  folder.mkdir(parents=True, exist_ok=True)
  cards, start, spent = folder / "abstraction.safetensors", time.process_time(), 0.0
  if looks := looks_in(folder):
    spent, path = looks[-1]
    solver = HierarchicalMCCFRSolver.load(path)
  else:
    if cards.exists():
      abstraction = load_abstraction(cards, card_game(game))
    else:
      abstraction = make_abstraction(
        card_game(game), clusters=options.clusters, buckets=options.buckets, progress=False
      )
      save_abstraction(cards, abstraction)
      seconds = time.process_time() - start
      (folder / SECONDS).write_text(json.dumps({"abstraction": round(seconds)}))
      print(f"abstraction made in {seconds:.0f} s of processors, {memory()}", flush=True)
    solver = HierarchicalMCCFRSolver(game, abstraction=abstraction, rule=options.rule)
  print(
    f"{solver.summary()}\nready after {time.process_time() - start:.0f} s of processors, {memory()}",
    flush=True,
  )
  solver.run(0)  # compiles
  end = spent + 60 * options.minutes
  for look in range(options.looks):
    while spent < end * 2.0 ** (look + 1 - options.looks):
      start = time.process_time()
      solver.run(4, progress=False)
      spent += time.process_time() - start
    deals, start = 2 * solver.options.batch * solver.iteration, time.process_time()
    solver.save(folder / f"look-{spent:.0f}.safetensors")
    print(
      f"{spent:8.0f} s of processors: iteration {solver.iteration:,}, {deals:,} pairs of hands, "
      f"{deals * solver.abstraction.count:,} boards; saved in {time.process_time() - start:.1f} s, "
      f"{memory()}",
      flush=True,
    )


def looks_in(folder: Path) -> list[tuple[float, Path]]:
  """The saved runs, by seconds."""
  return sorted((float(path.stem[5:]), path) for path in folder.glob("look-*.safetensors"))


def calling(betting: Betting, hands: int) -> Callable:
  """A player who always calls."""
  moves = [np.array(betting.legal_actions(line)) for line in range(len(betting))]
  return lambda line, board: np.repeat((moves[line] == 1).astype(float)[:, None], hands, 1)


def uniform(betting: Betting, hands: int) -> Callable:
  """A player who plays all actions equally often."""
  count = betting.moves
  return lambda line, board: np.full((count[line], hands), 1 / count[line])


def respond(options: argparse.Namespace) -> None:
  game, kept = holdem(options.rounds, options.stack), options.folder / FOUND
  dealt = card_game(game)
  betting, hands = dealt.betting, len(dealt.deal.hands)
  found = json.loads(kept.read_text()) if kept.exists() else {}
  players: dict[str, Callable[[], Callable]] = {
    "always call": lambda: calling(betting, hands),
    "uniform": lambda: uniform(betting, hands),
  }
  players |= {
    path.stem[5:]: lambda path=path: ps_cfr_spiel.hierarchical.by_lines(ps_cfr_spiel.load_policy(path))
    for _, path in looks_in(options.folder)
  }
  for name, answers in players.items():
    if name not in found:
      result = local_best_response(game, answers(), hands=options.hands, progress=False)
      found[name] = [1e3 * result.mean / BLIND, 1e3 * result.error / BLIND, options.hands]
      kept.write_text(json.dumps(found))
    mean, error, played = found[name]
    print(f"{name:>12}: {mean:8,.0f} +- {1.96 * error:,.0f} mbb a hand over {played:,} hands", flush=True)
  if options.plot:
    draw(found, options.plot)


def pack(options: argparse.Namespace) -> None:
  if options.folder is not None:
    spent, path = looks_in(options.folder)[-1]
    solver = HierarchicalMCCFRSolver.load(path)
    card = {
      "made_by": "benchmarks/papers/blueprint.py",
      "processor_seconds": {**json.loads((options.folder / SECONDS).read_text()), "iterations": round(spent)},
      "abstraction": solver.abstraction.facts(),
    }
    solver.average_policy().save(options.file, card)
  packed = ps_cfr_spiel.load_policy(options.file)
  assert isinstance(packed, ps_cfr_spiel.KeyedPolicy)
  stack = int(packed.game.get_parameters()["stack"].split()[0])
  game = pyspiel.load_game("holdem", {"stack": stack})
  policy = WrappedPolicy(game, packed, Translation())
  result = local_best_response(game, policy, "fc", hands=options.hands, progress=False)
  mean, error = 1e3 * result.mean / BLIND, 1e3 * result.error / BLIND
  response = {"actions": "fc", "mbb": round(mean), "standard_error": round(error), "hands": options.hands}
  packed.save(options.file, {"local_best_response": response})
  size = options.file.stat().st_size / 1e6
  print(f"{options.file}: {size:.2f} MB; a local best response wins {mean:,.0f} +- {1.96 * error:,.0f} mbb")


def draw(found: dict, file: Path) -> None:
  from matplotlib.figure import Figure

  from ps_cfr_spiel.apps.pictures.style import DPI, LINES

  figure = Figure(figsize=(7, 4), dpi=DPI, facecolor="white", layout="constrained")
  axes = figure.add_subplot()
  points = sorted((float(name), *found[name][:2]) for name in found if name.replace(".", "").isdigit())
  seconds, means, errors = np.array(points).T
  axes.errorbar(seconds / 60, means, 1.96 * errors, color=LINES[0], marker="o", label="blueprint")
  for color, name in zip(LINES[1:], ("always call", "uniform"), strict=False):
    axes.axhline(found[name][0], color=color, label=name)
  axes.set(
    xlabel="minutes of processor time",
    ylabel="local best response, mbb a hand",
    yscale="log",
    xlim=(0, None),
  )
  axes.legend(frameon=False)
  figure.savefig(file)


def main() -> None:
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  commands = parser.add_subparsers(required=True)
  for work in (speed, train, respond, pack):
    command = commands.add_parser(work.__name__)
    command.set_defaults(work=work)
    if work is speed:
      command.add_argument("--seconds", type=float, default=5.0)
      continue
    command.add_argument("--folder", type=Path, required=work is not pack)
    command.add_argument("--rounds", type=int, default=4)
    command.add_argument("--stack", type=int, default=20_000, help="chips, of which the big blind is 100")
    if work is train:
      command.add_argument("--clusters", type=int, default=60)
      command.add_argument("--buckets", type=int, default=500)
      command.add_argument("--minutes", type=float, default=60.0, help="of processors")
      command.add_argument("--looks", type=int, default=4)
      command.add_argument("--rule", default="lcfr")
    else:
      command.add_argument("--hands", type=int, default=400)
    if work is respond:
      command.add_argument("--plot", type=Path)
    if work is pack:
      command.add_argument("--file", type=Path, required=True)
  options = parser.parse_args()
  print(describe(), flush=True)
  options.work(options)


if __name__ == "__main__":
  main()
