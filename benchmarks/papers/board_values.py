"""Values of hold'em's rivers, turns and flops: networks and their errors; searches (thesis, Table 21.5).

  python -m benchmarks.papers.board_values make [--counts 24000 20000 5000] [--workers 1]
  python -m benchmarks.papers.board_values solve --street river --counts 4800 --ratios 1.01-3.99 --seeds 1
  python -m benchmarks.papers.board_values errors --folders runs/rivers [--save values.safetensors]
  python -m benchmarks.papers.board_values turn --values values.safetensors [--iterations 100 300]
  python -m benchmarks.papers.board_values flop --values turns.safetensors [--boards QsJh2h]
    [--iterations 100]

make: networks of rivers, then of turns by searches with that of rivers, then of flops by searches with that
of turns: boards of each stack solved by --workers processes that share the cores (`solve`), and `errors` of
them all: so the networks of the package were made. The same call goes on where it was, leaves out a street
whose network is there, and ends before one whose count is 0.
solve: boards for `make`, of one range of stacks.
errors: trains networks on solved rivers, or turns. On boards that no training river has, up to suits, it
prints the mean error of a hand's value, of hands weighed by their range, and of a range's value, all in
percent of the pot; and the same if betting added nothing. --on adds a row of the boards in other folders.
turn: a search of the turn by the network, by values that CFR finds anew (10 iterations) and to the end of
the game: seconds of the first search from the start, of the same again, and of one from a later decision on
the turn and on the river; with --whole how exploitable it is to search everywhere, in percent of the pot.
--without leaves rows out. On the river searches go to the end.
flop: a search of the flop's betting by a network of turns, its seconds, and the exploitability of its
strategy with good play afterwards, in percent of the pot: each player's flop is locked, and the whole game
solved with --solved iterations, like the flop without locks beside it.
"""

import argparse
import math
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel

from benchmarks.machine import describe, flags
from ps_cfr_spiel.batches import RandomSituations, Solution, solve_batch
from ps_cfr_spiel.cards.poker import cards
from ps_cfr_spiel.compilation.compiler import build_tree
from ps_cfr_spiel.evaluation import evaluate_policy
from ps_cfr_spiel.learning import Examples, NetworkValues, load_boards, train
from ps_cfr_spiel.learning.features import held_out
from ps_cfr_spiel.policy import PartialStrategy
from ps_cfr_spiel.resolving.search import CFRValues
from ps_cfr_spiel.solvers import ContinualResolving, PSCFRSolver

HEAD = f"{'% of the pot':24}{'boards':>8}{'seconds':>9}{'a hand':>9}{'by range':>10}{'a range':>9}"


# Stacks behind in pots: any, without a whole bet of the pot between two ends, so that a program serves each.
# A network that learns from few stacks knows no others.
RATIOS = ("0.04-0.99", "1.01-3.99", "4.01-12.9", "13.1-39.9", "40.1-90")


def make(options: argparse.Namespace) -> None:
  """Makes the data and the networks."""
  folder, before, rest = Path(options.output), None, []
  for street, count in zip(reversed(cards.STREETS.values()), options.counts, strict=True):
    network, began = folder / f"{street}s.safetensors", time.monotonic()
    folders = [folder / f"{street}s-{ratio}" for ratio in RATIOS]
    if not network.exists() and not count:
      break
    if not network.exists():
      calls = []
      for seed, (ratio, place) in enumerate(zip(RATIOS, folders, strict=True)):
        given = {"street": street, "counts": -(-count // len(RATIOS)), "ratios": ratio, "seeds": seed}
        given |= {"iterations": options.iterations[0], "output": place, "chunk": options.chunk}
        given |= {"values": before} if before else {}
        calls.append(
          ["benchmarks.papers.board_values", "solve", *(f"--{key}={x}" for key, x in given.items())]
        )
      _run_all(calls[::-1], options.workers)  # deep stacks take longest
      print(f"\n{street}s made in {time.monotonic() - began:.0f} s\n", flush=True)
      learn = ["benchmarks.papers.board_values", "errors", "--folders", *map(str, folders)]
      learn += [f"--steps={options.steps}", f"--batch={options.batch}", f"--width={options.width}", "--seeds"]
      first, *others = map(str, options.seeds)
      assert not _run([*learn, first, f"--save={network}"]).wait()
      print(f"\n{street}s learned after {time.monotonic() - began:.0f} s\n", flush=True)
      rest += [_run([*learn, *others])] if others else []
      if options.workers == 1:
        assert not any(process.wait() for process in rest)
    before = network
  assert not any(process.wait() for process in rest)


def solve(options: argparse.Namespace) -> None:
  """Solves random boards of a street, with stacks behind from one ratio to another."""
  size = next(size for size, name in cards.STREETS.items() if name == options.street)
  least, most = map(float, options.ratios.split("-"))
  drawn = RandomSituations(
    options.counts[0], options.seeds[0], ratios=((least, most),), distribution="betting", cards=size
  )
  values = NetworkValues.load(options.values) if size < cards.BOARD_SIZE else None
  method = {"iterations": options.iterations[0], "values": values, "hands": "all", "strategies": False}
  solve_batch(drawn, output=options.output, chunk=options.chunk, progress=False, **method)


def _run_all(calls: list[list[Any]], workers: int) -> None:
  """Runs modules, each on a share of the cores, where one process of many threads takes longer."""
  numbers = iter(range(workers))

  def take_share() -> None:  # a process inherits the cores of the thread that starts it
    if hasattr(os, "sched_setaffinity"):
      cores = sorted(os.sched_getaffinity(0))
      os.sched_setaffinity(0, cores[next(numbers) :: workers] or cores)

  with ThreadPoolExecutor(workers, initializer=take_share) as pool:
    assert not any(pool.map(lambda call: _run(call).wait(), calls))


def _run(words: list[Any]) -> subprocess.Popen:
  """A module in a process of its own, which takes no more of an accelerator's memory than it needs."""
  environment = {**os.environ, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
  return subprocess.Popen([sys.executable, "-m", *map(str, words)], env=environment)


def errors(options: argparse.Namespace) -> None:
  """Prints the table of errors."""
  began = time.process_time()
  rivers = load_boards(*options.folders)
  held = np.flatnonzero(held_out(rivers))
  seconds, street = time.process_time() - began, cards.STREETS[rivers.features.cards]
  print(f"read {len(rivers):,} {street}s in {seconds:.0f} s of the processor\n\n{HEAD}")
  for seed in options.seeds:
    began = time.process_time()
    values = train(rivers, seed=seed, steps=options.steps, batch=options.batch, width=options.width)
    seconds = time.process_time() - began
    off = off_by(values, rivers, held)
    print(f"{f'network, seed {seed}':24}{len(rivers) - len(held):8,}{seconds:9.0f}{off}", flush=True)
    if options.on:
      other = load_boards(*options.on)
      off = off_by(values, other, np.arange(len(other)))
      print(f"{'  on others':24}{len(other):8,}{'':9}{off}", flush=True)
    if options.save and seed == options.seeds[0]:
      values.save(options.save)
  boards = rivers.inputs["board"]
  added = [v[held] - rivers.inputs[f"checked{i}"][held] for i, v in enumerate(rivers.values)]
  print(f"{'betting adds nothing':24}{'':17}{shares(added, [r[held] for r in rivers.ranges], boards[held])}")
  print(f"\n{len(held):,} held out", flush=True)


def off_by(values: NetworkValues, rivers: Examples, rows: np.ndarray) -> str:
  """A network's errors on some rivers."""
  found = []
  for k in range(0, len(rows), 64):
    part = values.tensors(rivers, rows[k : k + 64]).errors(values.network)
    found.append([np.asarray(x) * values.scale for x in part.differences])
  wrong = [np.concatenate([part[i] for part in found]) for i in (0, 1)]
  return shares(wrong, [r[rows] for r in rivers.ranges], rivers.inputs["board"][rows])


def shares(wrong: list[np.ndarray], ranges: list[np.ndarray], board: np.ndarray) -> str:
  """Three means of errors [n, 1326] in pots, as percents."""
  hands = math.comb(len(cards.WHOLE_DECK) - board.shape[1], cards.HAND_SIZE) * len(board)
  mean = np.mean([np.abs(x).sum() / hands for x in wrong])
  by_range = np.mean([(np.abs(x) * r).sum(1).mean() for x, r in zip(wrong, ranges, strict=True)])
  of_range = np.abs((wrong[0] * ranges[0]).sum(1)).mean()
  return f"{100 * mean:9.2f}{100 * by_range:10.2f}{100 * of_range:9.2f}"


def turn(options: argparse.Namespace) -> None:
  """Prints the table of searches."""
  text = f"holdem_subgame(board=9s7c5s4h,pot=200,stack={options.stack},bets=fcpa"
  game = pyspiel.load_game(text + (f",ranges={options.ranges})" if options.ranges else ")"))
  values = NetworkValues.load(options.values)
  peers: dict[str, dict[str, Any]] = {
    "network": {"lookahead": "round", "value_function": values},
    "values by 10 iterations": {"lookahead": "round", "value_function": CFRValues(10)},
    "to the end": {},
  }
  print(
    f"{game}\n\n{'':24}{'iterations':>12}{'first':>9}{'again':>9}{'turn':>9}{'river':>9}{'exploitable':>13}"
  )
  for name, settings in peers.items():
    if name in options.without:
      continue
    for iterations in options.iterations:
      print(f"{name:24}{iterations:12,}{times(game, iterations, settings, options.whole)}", flush=True)


def times(game: pyspiel.Game, iterations: int, settings: dict[str, Any], whole: bool) -> str:
  """Seconds of searches, and exploitability."""
  made = ContinualResolving(game, iterations, **settings)
  searcher, levels = made.searcher, made.searcher.problems.levels[0]
  begun = [searcher.start(0) for _ in range(2)]  # the second compiles nothing
  columns = [search.seconds for search in begun]
  for street in (0, 1):
    later = [s for states in levels.passes() for s in states if levels.chance[s] == street]
    columns.append([searcher.resolve(begun[1], later[:1]).seconds for _ in range(2)][1])
  text = "".join(f"{x:9.2f}" for x in columns)
  if not whole:
    return text
  policy = made.tabularise(progress=None)
  share = float(evaluate_policy(game, policy).exploitability) / game.get_parameters()["pot"]
  return f"{text}{100 * share:13.3f}"


def flop(options: argparse.Namespace) -> None:
  """Prints a row for each flop."""
  values, iterations = NetworkValues.load(options.values), options.iterations[0]
  print(f"{'flop':10}{'first':>9}{'again':>9}{'exploitable':>13}{'solved whole':>14}")
  for board in options.boards:
    parameters = {"board": board, "pot": 200, "stack": options.stack, "bets": options.bets}
    game: Any = pyspiel.load_game("holdem_subgame", parameters)
    given, seconds = [{**parameters, "stack": options.stack - 100}], []
    for _ in range(2):
      began = time.perf_counter()
      (solution,) = solve_batch(given, iterations=iterations, hands="all", values=values, progress=False)
      seconds.append(time.perf_counter() - began)
    street: Any = pyspiel.load_game("river_subgame", {**parameters, "board": "9s7c5s4h3c", "ranges": "AA;KK"})
    won = [_locked(game, street, solution, player, options.solved) for player in (0, 1)]
    solver = PSCFRSolver(game)
    solver.run(options.solved, progress=False)
    shares = [sum(won) / 2 / 2, solver.exploitability() / 2]  # of 200 chips, in percent
    print(f"{board:10}{seconds[0]:9.2f}{seconds[1]:9.2f}{shares[0]:13.3f}{shares[1]:14.3f}", flush=True)


def _locked(game: Any, street: Any, solution: Solution, player: int, iterations: int) -> float:
  """The winnings of a best response to a player who plays so on the flop, and well afterwards, in chips."""
  tree = build_tree(game)
  lines = tree.names.source.lines  # pyright: ignore[reportOptionalMemberAccess, reportAttributeAccessIssue]
  decisions = {
    street.public_states[decision.public_state].invested: decision
    for decision in build_tree(street, "dense").names.decisions
  }
  hands = np.searchsorted(solution.hands[player], game.ranges[player].numbers)
  states, rows = [], []
  for line, state in enumerate(game.public_states):
    if state.player == player and lines.betting.street[line] == 0:
      states.append(int(lines.starts[line]))
      decision = decisions[state.invested]
      rows.append(solution.strategies[player][decision.block][:, decision.row, hands].ravel())
  solver = PSCFRSolver(game, locks=PartialStrategy(tuple(states), np.concatenate(rows)))
  solver.run(iterations, progress=False)
  return float(solver.evaluation().best_response[1 - player])


TABLES = {"make": make, "solve": solve, "errors": errors, "turn": turn, "flop": flop}


def main() -> None:
  options = flags(
    __doc__, table=tuple(TABLES), folders=["runs/rivers"], seeds=[0, 1, 2], steps=3000, batch=128, width=192,
    counts=[24000, 20000, 5000], workers=1, chunk=32, output="runs/boards",
    on=[], save=None, values="values.safetensors", ranges=None, stack=1000, iterations=[100, 300],
    street="river", ratios=RATIOS[0], boards=["QsJh2h"], bets="1 a", solved=100, without=[], whole=False,
  )  # fmt: skip
  print(describe() + "\n")
  TABLES[options.table](options)


if __name__ == "__main__":
  main()
