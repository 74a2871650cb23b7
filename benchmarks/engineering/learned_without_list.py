"""Values learned by self-play without a list of the game: exploitability of searches by them, turn by turn.

  python -m benchmarks.engineering.learned_without_list --game leduc_poker

Prints a line for each seed and every --every turns: examples, error of values held out, exploitability of
searches of one decision ahead after each of --marks iterations, processor seconds of learning so far. The
game is listed to measure alone: `ContinualResolving` plays as `OnDemandResolving` does, and is quicker to
evaluate whole.
"""

import time

import pyspiel

from benchmarks.machine import flags
from ps_cfr_spiel.evaluation import evaluate_policy
from ps_cfr_spiel.learning import LearnOptions, NetworkValues
from ps_cfr_spiel.solvers import ContinualResolving
from ps_cfr_spiel.values import learn


def main() -> None:
  """Prints the table."""
  options = flags(
    __doc__, game="leduc_poker", seeds=[0, 1, 2], turns=8, games=150, chains=60, steps=1000, width=64,
    iterations=100, marks=[100, 1000], every=2, folder="",
  )  # fmt: skip
  game = pyspiel.load_game(options.game)
  print(
    f"{'seed':>4}{'turn':>5}{'examples':>10}{'error':>8}{'seconds':>9}", *(f"{m:8}" for m in options.marks)
  )
  for seed in options.seeds:
    spent, began, turn = 0.0, time.process_time(), 0

    def show(values: NetworkValues, seed: int = seed) -> None:
      nonlocal spent, began, turn
      spent, card, gains = spent + time.process_time() - began, values.card, ""
      if not turn % options.every:
        for mark in options.marks:
          search = ContinualResolving(game, mark, lookahead=1, value_function=values)
          gains += f"{evaluate_policy(game, search.tabularise(progress=False)).exploitability:9.4f}"
      facts = f"{seed:4}{turn:5}{card['learned_from']:10}{card['error']:8.3f}{spent:9.0f}"
      print(f"{facts}{gains}", flush=True)
      began, turn = time.process_time(), turn + 1

    size = {"steps": options.steps, "width": options.width, "batch": 256, "layers": 2}
    count = {"turns": options.turns, "draws": options.games, "chains": options.chains}
    teacher = {"teacher": "self-play", "iterations": options.iterations, "seed": seed}
    folder = f"{options.folder}-{seed}" if options.folder else None
    learn(game, LearnOptions(**size, **count, **teacher), callback=show, progress=False, folder=folder)


if __name__ == "__main__":
  main()
