"""Speed of the games: states per second of random play and cost of a clone, beside OpenSpiel's Python games.

  taskset -c 0 python benchmarks/games.py

Every game is played by the same loop; the games take turns, and medians over the rounds are printed.
"""

import argparse
import random
import time

import numpy as np
import pyspiel
from machine import describe
from open_spiel.python.games import kuhn_poker, liars_poker  # noqa: F401  (registers the peers)

import ps_cfr_spiel  # noqa: F401  (registers the games)

OURS = {
  "glasses": "glasses",
  "glasses, lens": "glasses(preset=lens)",
  "cheat, half deck": "cheat",
  "cheat, full deck": "cheat(ranks=13,hand_size=26)",
  "cheat, 4 players": "cheat(players=4)",
  "river_subgame, AA KK v QQ JJ": "river_subgame(ranges=AA KK;QQ JJ)",
  "river_subgame, all hands": "river_subgame",
}
PEERS = {
  "python_kuhn_poker": "python_kuhn_poker",
  "python_liars_poker": "python_liars_poker",
}


def main() -> None:
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("--rounds", type=int, default=7)
  parser.add_argument("--seconds", type=float, default=0.3, help="of play for each game and round")
  options = parser.parse_args()
  print(describe())
  games = {name: pyspiel.load_game(text) for name, text in {**OURS, **PEERS}.items()}
  rng = random.Random(0)
  for game in games.values():
    rate(game, rng, 0.05)  # warm up
  rates = {name: [] for name in games}
  clones = {name: [] for name in games}
  for _ in range(options.rounds):
    for name, game in games.items():
      rates[name].append(rate(game, rng, options.seconds))
      clones[name].append(clone_seconds(game, rng))
  rows = {name: (np.median(rates[name]), 1e6 * np.median(clones[name])) for name in games}
  print(
    f"\n{'':29} {'states/s':>9} {'x kuhn':>7} {'x liars':>7}   {'clone us':>8} {'x kuhn':>7} {'x liars':>7}"
  )
  for name, (speed, clone) in rows.items():
    ratios = [(speed / rows[peer][0], clone / rows[peer][1]) for peer in PEERS]
    print(
      f"{name:29} {speed:9,.0f} {ratios[0][0]:7.2f} {ratios[1][0]:7.2f}   {clone:8.2f} {ratios[0][1]:7.2f} "
      f"{ratios[1][1]:7.2f}"
    )
  print(f"Medians of {options.rounds} rounds; a clone is one of a state half way through a random play.")


def random_play(game: pyspiel.Game, rng: random.Random) -> list[int]:
  """Actions of a random play."""
  state = game.new_initial_state()
  while not state.is_terminal():
    if state.is_chance_node():
      actions, chances = zip(*state.chance_outcomes(), strict=True)
      state.apply_action(rng.choices(actions, chances)[0])
    else:
      state.apply_action(rng.choice(state.legal_actions()))
  return state.history()


def rate(game: pyspiel.Game, rng: random.Random, seconds: float) -> float:
  """States per second of random play, terminal ones included."""
  states, start = 0, time.perf_counter()
  while time.perf_counter() - start < seconds:
    states += 1 + len(random_play(game, rng))
  return states / (time.perf_counter() - start)


def clone_seconds(game: pyspiel.Game, rng: random.Random, plays: int = 5, clones: int = 500) -> float:
  """Mean time of a clone, over states half way through some plays."""
  total = 0.0
  for _ in range(plays):
    history = random_play(game, rng)
    state = game.new_initial_state()
    for action in history[: len(history) // 2]:
      state.apply_action(action)
    start = time.perf_counter()
    for _ in range(clones):
      state.clone()
    total += time.perf_counter() - start
  return total / (plays * clones)


if __name__ == "__main__":
  main()
