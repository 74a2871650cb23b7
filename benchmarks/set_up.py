"""Set-up of walked games: `build_tree` beside a bare walk, which only calls what every walk must call.

  taskset -c 0 python benchmarks/set_up.py

Processor time. The first call in a process also imports what finding public states needs.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
import pyspiel
from machine import describe
from small_games import GOOFSPIEL

from ps_cfr_spiel import build_tree

GAMES = {
  "Kuhn": "kuhn_poker",
  "Leduc": "leduc_poker",
  "goofspiel 5": GOOFSPIEL.format(5),
  "liar's dice": "liars_dice",
}


def bare(game: pyspiel.Game) -> int:
  """Visits all histories and asks each for its infostates; returns their number."""
  waiting, count = [game.new_initial_state()], 0
  while waiting:
    state, count = waiting.pop(), count + 1
    player = state.current_player()
    state.information_state_string(0)
    state.information_state_string(1)
    if player == pyspiel.PlayerId.TERMINAL:
      state.returns()
    elif player == pyspiel.PlayerId.CHANCE:
      waiting += [state.child(action) for action, _ in state.chance_outcomes()]
    else:
      waiting += [state.child(action) for action in state.legal_actions()]
  return count


def seconds(function: Callable[[pyspiel.Game], object], game: pyspiel.Game) -> float:
  """Processor time of a call."""
  start = time.process_time()
  function(game)
  return time.process_time() - start


def main() -> None:
  """Prints a line for each game."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("--repeats", type=int, default=5)
  options = parser.parse_args()
  print(describe())
  first = seconds(build_tree, pyspiel.load_game("kuhn_poker"))
  print(f"first call, on Kuhn: {1e3 * first:.0f} ms\n")
  print(f"{'':14}{'histories':>10}{'build_tree':>13}{'bare walk':>12}{'ratio':>8}")
  for name, text in GAMES.items():
    game = pyspiel.load_game(text)
    pairs = [(seconds(build_tree, game), seconds(bare, game)) for _ in range(options.repeats)]
    ours, least = np.median(pairs, 0)
    times = f"{1e3 * ours:10.1f} ms{1e3 * least:9.1f} ms{ours / least:8.2f}"
    print(f"{name:14}{bare(game):10,}{times}", flush=True)


if __name__ == "__main__":
  main()
