"""Cheat's players: how often the heuristic one beats naive ones, and how long two naive ones play.

  python benchmarks/cheat_games.py [--plot docs/cheat_lengths.png]

Win rates as in Yi and Kaneko, Section 3.1 (about 98%); game lengths as in their Figs. 1 and 2: two naive
players, 1,000 games, with the whole deck or half of it dealt.
"""

import argparse
import collections
import math
from collections.abc import Mapping

import numpy as np
import pyspiel
from machine import describe
from ps_cfr_spiel.games.cheat_bots import HeuristicBot, NaiveBot

import ps_cfr_spiel  # noqa: F401  (registers the games)

MATCHES = {
  "half deck, 6 cards each (the paper's)": "cheat",
  "half deck, 14 cards each": "cheat(hand_size=14,max_turns=1000)",
  "three players, 6 cards each": "cheat(players=3)",
  "four players, 6 cards each": "cheat(players=4)",
}
NO_HORIZON = 1_000_000
DECKS = {
  "whole deck, 26 cards each": f"cheat(ranks=13,hand_size=26,max_turns={NO_HORIZON})",
  "half deck, 14 cards each": f"cheat(hand_size=14,max_turns={NO_HORIZON})",
}


def main() -> None:
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("--games", type=int, default=2000, help="for each seat of the heuristic player")
  parser.add_argument("--lengths", type=int, default=1000, help="games of two naive players")
  parser.add_argument("--plot", help="file to draw game lengths to")
  options = parser.parse_args()
  print(describe())
  for name, text in MATCHES.items():
    print(f"\nheuristic against naive, {name}", flush=True)
    game, total = pyspiel.load_game(text), collections.Counter()
    for seat in range(game.num_players()):
      outcomes = match(game, seat, options.games)
      total += outcomes
      print(f"  seat {seat}:    {report(outcomes)}", flush=True)
    print(f"  all seats: {report(total)}")
  lengths = {name: naive_lengths(pyspiel.load_game(text), options.lengths) for name, text in DECKS.items()}
  print()
  for name, turns in lengths.items():
    print(
      f"two naive players, {name}: {len(turns):,} games of {np.mean(turns):.1f} turns on average, median "
      f"{np.median(turns):.0f}, longest {max(turns):,}"
    )
  if options.plot:
    draw(lengths, options.plot)


def match(game: pyspiel.Game, seat: int, games: int) -> collections.Counter:
  """How many games the heuristic player at `seat` won, drew and lost against naive ones."""
  rng = np.random.RandomState(seat)
  bots = [HeuristicBot(i) if i == seat else NaiveBot(i, rng) for i in range(game.num_players())]
  outcomes = collections.Counter()
  for number in range(games):
    won = pyspiel.evaluate_bots(game.new_initial_state(), bots, number)[seat]
    outcomes["win" if won > 0 else "draw" if won == 0 else "loss"] += 1
  return outcomes


def report(outcomes: collections.Counter) -> str:
  """Wins with their 95% interval, draws and losses."""
  games = outcomes.total()
  low, high = wilson(outcomes["win"], games)
  return (
    f"{100 * outcomes['win'] / games:6.2f}% won, 95% interval {100 * low:.2f} to {100 * high:.2f}; of {games:,} "
    f"games {outcomes['draw']} drawn, {outcomes['loss']} lost"
  )


def wilson(wins: int, games: int) -> tuple[float, float]:
  """95% interval of a probability (Wilson 1927), which is right near 0 and 1 too."""
  z = 1.96
  share, spread = wins / games, z**2 / games
  middle = (share + spread / 2) / (1 + spread)
  half = z * math.sqrt(share * (1 - share) / games + spread / (4 * games)) / (1 + spread)
  return max(middle - half, 0.0), min(middle + half, 1.0)


def naive_lengths(game: pyspiel.Game, games: int) -> list[int]:
  """Turns of games between two naive players."""
  rng = np.random.RandomState(0)
  bots = [NaiveBot(seat, rng) for seat in range(2)]
  turns = []
  for number in range(games):
    state = game.new_initial_state()
    pyspiel.evaluate_bots(state, bots, number)
    turns.append(state.turn)
  return turns


def draw(lengths: Mapping[str, list[int]], path: str) -> None:
  """Every game's length, and their average."""
  from matplotlib.figure import Figure

  figure = Figure(figsize=(10, 4), dpi=150, facecolor="white", layout="constrained")
  for axes, (name, turns) in zip(figure.subplots(1, len(lengths)), lengths.items(), strict=True):
    mean = float(np.mean(turns))
    axes.plot(range(1, len(turns) + 1), turns, ".", markersize=3, color="#2f6690")
    axes.axhline(mean, color="#c0392b", linewidth=1.5, label=f"average {mean:.0f}")
    axes.set_title(f"Two naive players, {name}", loc="left", fontsize=11)
    axes.set_xlabel("game")
    axes.set_ylabel("turns")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, loc="upper right")
    axes.spines[["top", "right"]].set_visible(False)
  figure.savefig(path)
  print(f"Drawn in {path}")


if __name__ == "__main__":
  main()
