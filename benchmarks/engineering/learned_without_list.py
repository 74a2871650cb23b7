"""Values learned by self-play without a list of the game: exploitability of searches by them, turn by turn.

  python -m benchmarks.engineering.learned_without_list --game leduc_poker

Prints a line for each seed and turn: examples, error of values held out, exploitability, processor seconds.
"""

import time

import pyspiel

import ps_cfr_spiel
from benchmarks.machine import flags
from ps_cfr_spiel.learning import LearnOptions, NetworkValues
from ps_cfr_spiel.matches import OnDemandResolving
from ps_cfr_spiel.values import learn


def main() -> None:
  """Prints the table."""
  options = flags(
    __doc__, game="leduc_poker", seeds=3, turns=6, games=300, steps=1500, width=64, iterations=100
  )
  game, began = pyspiel.load_game(options.game), time.process_time()
  print(f"{'seed':>4}{'examples':>10}{'error':>8}{'exploitability':>16}{'seconds':>9}")
  for seed in range(options.seeds):

    def show(values: NetworkValues, seed: int = seed) -> None:
      search = OnDemandResolving(game, options.iterations, lookahead=1, value_function=values)
      gain, seconds = ps_cfr_spiel.exploitability(game, search), time.process_time() - began
      card = values.card
      print(f"{seed:4}{card['learned_from']:10}{card['error']:8.3f}{gain:16.4f}{seconds:9.0f}", flush=True)

    size = {"steps": options.steps, "width": options.width, "batch": 256, "layers": 2}
    count = {"turns": options.turns, "draws": options.games, "chains": options.games}
    teacher = {"teacher": "self-play", "iterations": options.iterations, "seed": seed}
    learn(game, LearnOptions(**size, **count, **teacher), callback=show, progress=False)


if __name__ == "__main__":
  main()
