"""Values learned in turns, and how exploitable searches by them are; makes the values that the package ships.

  python -m benchmarks.papers.learned_values [--seeds 0 1 2] [--turns 3] [--save FILE]
  python -m benchmarks.papers.learned_values --game 'liars_dice(dice_sides=3)' --teacher search --turns 8
  python -m benchmarks.papers.learned_values --game glasses --turns 0 --draws 200 --peers

After each turn, for each seed: situations learned from, seconds of the processor for data and training so
far, loss and error on draws that were held out (`learning.Progress`), and exact exploitability of searches
with a lookahead of one decision after each of --marks iterations, with --final only after the last turn; with
--round by a lookahead of one round too. --peers adds searches by 10, 20 and 40 iterations of CFR in place of
the network, and by full lookahead (Schmid 2021, Fig. 20.12). --iterations are the teacher's (solve or
search), --steps those of training in each turn; --save keeps the values of the first seed. Exploitability is
in float64, searches are in float32.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import pyspiel

from benchmarks.machine import describe, flags
from benchmarks.papers.resolving_exploitability import draw
from ps_cfr_spiel.evaluation import evaluate_policy
from ps_cfr_spiel.learning import LearnOptions, NetworkValues, learn
from ps_cfr_spiel.options import fields_of
from ps_cfr_spiel.resolving.search import CFRValues
from ps_cfr_spiel.solvers import ContinualResolving

PEERS = {f"values by {n} iterations": CFRValues(n) for n in (10, 20, 40)}
HEAD = f"{'':28}{'situations':>12}{'seconds':>9}{'loss':>9}{'error':>8}"


def curve(game: pyspiel.Game, curves: dict[str, Any], name: str, marks: list[int], **settings: Any) -> str:
  """Exploitability of searches after each number of iterations: kept, and as text."""
  curves[name] = []
  for mark in marks:
    policy = ContinualResolving(game, mark, **settings).tabularise(progress=False)
    curves[name].append((mark, float(evaluate_policy(game, policy).exploitability)))
  return "".join(f"{x:10.4f}" for _, x in curves[name])


def learned(game: pyspiel.Game, seed: int, options: argparse.Namespace, curves: dict) -> NetworkValues:
  """Learns, and prints a line for each turn; what the measuring takes is not counted."""
  spent, began, turn = 0.0, time.process_time(), 0

  def tell(values: NetworkValues) -> None:
    nonlocal spent, began, turn
    spent += time.process_time() - began
    card, name = values.card, f"seed {seed}, turn {turn}"
    facts = f"{card['learned_from']:12,}{spent:9.0f}{card['loss']:9.5f}{100 * card['error']:7.1f}%"
    marks = [] if options.final and turn < options.turns else options.marks
    text = curve(game, curves, f"network, {name}", marks, lookahead=1, value_function=values)
    print(f"{name:28}{facts}{text}", flush=True)
    began, turn = time.process_time(), turn + 1

  wanted = {name: value for name, value in vars(options).items() if name in fields_of(LearnOptions)}
  return learn(game, LearnOptions(**wanted, seed=seed), progress=False, callback=tell)


def main() -> None:
  """Prints a table; saves the values of the first seed."""
  options = flags(
    __doc__, game="leduc_poker", seeds=[0, 1, 2], turns=3, draws=2000, chains=120, teacher="solve",
    iterations=150, steps=5000, width=192, peers=False, round=False, plot=None, save=Path,
    marks=[10, 30, 100, 300, 1000], final=False,
  )  # fmt: skip
  game = pyspiel.load_game(options.game)
  print(describe(), f"\n\n{options.game}, iterations:", sep="")
  print(HEAD + "".join(f"{mark:10,}" for mark in options.marks))
  curves: dict[str, list[tuple[int, float]]] = {}
  for seed in options.seeds:
    values = learned(game, seed, options, curves)
    if options.round:
      text = curve(game, {}, "", options.marks, lookahead="round", value_function=values)
      print(f"{f'seed {seed}, lookahead by round':{len(HEAD)}}{text}", flush=True)
    if options.save and seed == options.seeds[0]:
      values.save(options.save)
  if options.peers:
    for name, function in PEERS.items():
      text = curve(game, curves, name, options.marks, lookahead=1, value_function=function)
      print(f"{name:{len(HEAD)}}{text}", flush=True)
    print(f"{'full lookahead':{len(HEAD)}}{curve(game, curves, 'full lookahead', options.marks)}", flush=True)
  if options.plot:
    title = f"{game.get_type().short_name}: one decision of lookahead (Schmid 2021, Fig. 20.12)"
    draw({title: curves}, "", options.plot)


if __name__ == "__main__":
  main()
