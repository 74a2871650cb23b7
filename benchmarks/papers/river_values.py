"""Values of hold'em's rivers or turns: how far off a network is; searches of a turn (thesis, Table 21.5).

  ps-cfr-spiel generate --count=3200 --ranges=betting --ratios=0.05,0.15,0.4,0.8,1.2,2,3,4.5,8
  python -m benchmarks.papers.river_values errors --folders runs/rivers [--save values.npz]
  python -m benchmarks.papers.river_values turn --values values.npz [--iterations 100 300]

errors: trains networks on solved rivers, or turns. On boards that no training river has, up to suits, it
prints the mean error of a hand's value, of hands weighed by their range, and of a range's value, all in
percent of the pot; and the same if betting added nothing.
turn: a search of the turn by the network, by values that CFR finds anew (10 iterations) and to the end of
the game: seconds of the first search from the start, of the same again, and of one from a later decision on
the turn and on the river; with --whole how exploitable it is to search everywhere, in percent of the pot.
--without leaves rows out. On the river searches go to the end.
"""

import argparse
import math
import time
from typing import Any

import numpy as np
import pyspiel

from benchmarks.machine import describe, flags
from ps_cfr_spiel.evaluation import evaluate_policy
from ps_cfr_spiel.learning import BoardExamples, BoardValues, train
from ps_cfr_spiel.learning.training import held_out
from ps_cfr_spiel.poker import cards
from ps_cfr_spiel.search import CFRValues
from ps_cfr_spiel.solvers import ContinualResolving

HEAD = f"{'% of the pot':24}{'rivers':>8}{'seconds':>9}{'a hand':>9}{'by range':>10}{'a range':>9}"


def errors(options: argparse.Namespace) -> None:
  """Prints the table of errors."""
  began = time.process_time()
  rivers = BoardExamples.load(*options.folders)
  held = np.flatnonzero(held_out(rivers))
  print(f"read {len(rivers):,} rivers in {time.process_time() - began:.0f} s of the processor\n\n{HEAD}")
  for seed in options.seeds:
    began = time.process_time()
    values = train(rivers, seed, options.steps, options.batch, options.width)
    seconds = time.process_time() - began
    off = off_by(values, rivers, held)
    print(f"{f'network, seed {seed}':24}{len(rivers) - len(held):8,}{seconds:9.0f}{off}", flush=True)
    if options.save and seed == options.seeds[0]:
      values.save(options.save)
  added = [v[held] - c[held] for v, c in zip(rivers.values, rivers.checked, strict=True)]
  print(
    f"{'betting adds nothing':24}{'':17}{shares(added, [r[held] for r in rivers.ranges], rivers.board[held])}"
  )
  print(f"\n{len(held):,} rivers held out")


def off_by(values: BoardValues, rivers: BoardExamples, rows: np.ndarray) -> str:
  """A network's errors on some rivers."""
  found = []
  for k in range(0, len(rows), 64):
    part = values.tensors(rivers, rows[k : k + 64]).errors(values.network)
    found.append([np.asarray(x) * values.scale for x in part.found])
  wrong = [np.concatenate([part[i] for part in found]) for i in (0, 1)]
  return shares(wrong, [r[rows] for r in rivers.ranges], rivers.board[rows])


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
  values = BoardValues.load(options.values)
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
  searcher, levels = made.searcher, made.searcher.levels[0]
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


TABLES = {"errors": errors, "turn": turn}


def main() -> None:
  options = flags(
    __doc__, table=tuple(TABLES), folders=["runs/rivers"], seeds=[0, 1, 2], steps=3000, batch=128, width=192,
    save=None, values="values.npz", ranges=None, stack=1000, iterations=[100, 300], without=[], whole=False,
  )  # fmt: skip
  print(describe() + "\n")
  TABLES[options.table](options)


if __name__ == "__main__":
  main()
