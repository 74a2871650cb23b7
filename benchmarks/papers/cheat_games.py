"""Cheat's players: how often the heuristic one beats naive ones, and how long two naive ones play.

  python -m benchmarks.papers.cheat_games [--plot docs/cheat_lengths.png]

Win rates as in Yi and Kaneko, Section 3.1 (about 98%); game lengths as in their Figs. 1 and 2: two naive
players, 1,000 games, with the whole deck or half of it dealt. With the whole deck our naive players
do not come to an end: who is nearly rid of their cards faces a player who holds nearly all others, and so
detects nearly every lie. How the paper's naive player chooses among random actions is not said there.
"""

import argparse
import collections
from collections.abc import Mapping

import numpy as np
import pyspiel
from ps_cfr_spiel.games.cheat.bots import HeuristicBot, NaiveBot

from benchmarks.machine import flags, picture
from ps_cfr_spiel.evaluation.match_results import wilson

MATCHES = {
  "half deck, 6 cards each (the paper's)": "cheat",
  "half deck, 14 cards each": "cheat(hand_size=14,max_turns=1000)",
  "three players, 6 cards each": "cheat(players=3)",
  "four players, 6 cards each": "cheat(players=4)",
}
DECKS = {
  "whole deck, 26 cards each": "cheat(ranks=13,hand_size=26,max_turns=2000)",
  "half deck, 14 cards each": "cheat(hand_size=14,max_turns=100000)",
  "whole deck, 6 cards each": "cheat(ranks=13,max_turns=100000)",
  "half deck, 6 cards each": "cheat(max_turns=100000)",
}
BARS = 40  # at most, in a histogram


def measure(options: argparse.Namespace) -> dict[str, tuple[list[int], int]]:
  """Prints win rates and lengths; the lengths, and how many games had a winner."""
  for name, text in MATCHES.items():
    print(f"\nheuristic against naive, {name}", flush=True)
    game, total = pyspiel.load_game(text), collections.Counter()
    for seat in range(game.num_players()):
      outcomes = match(game, seat, options.games)
      total += outcomes
      print(f"  seat {seat}:    {report(outcomes)}", flush=True)
    print(f"  all seats: {report(total)}")
  print()
  lengths = {}
  for name, text in DECKS.items():
    turns, ended = lengths[name] = naive_lengths(pyspiel.load_game(text), options.lengths)
    print(
      f"two naive players, {name}: {len(turns):,} games of {np.mean(turns):,.1f} turns on average, median "
      f"{np.median(turns):,.0f}, longest {max(turns):,}; {ended:,} had a winner",
      flush=True,
    )
  return lengths


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
    f"{100 * outcomes['win'] / games:6.2f}% won, 95% interval {100 * low:.2f} to {100 * high:.2f}; "
    f"of {games:,} games {outcomes['draw']} drawn, {outcomes['loss']} lost"
  )


def naive_lengths(game: pyspiel.Game, games: int) -> tuple[list[int], int]:
  """Turns of games between two naive players, and how many of the games had a winner."""
  rng = np.random.RandomState(0)
  bots = [NaiveBot(seat, rng) for seat in range(2)]
  turns, ended = [], 0
  for number in range(games):
    state = game.new_initial_state()
    ended += any(pyspiel.evaluate_bots(state, bots, number))
    turns.append(state.turn)
  return turns, ended


def draw(lengths: Mapping[str, tuple[list[int], int]], path: str) -> None:
  """How long the games were, as histograms, and their average."""
  from ps_cfr_spiel.apps.pictures import figure_with_panels
  from ps_cfr_spiel.apps.pictures.style import INK, LINES

  figure, places = figure_with_panels([f"Two naive players, {name}" for name in lengths], columns=2)
  for axes, (turns, ended) in zip(places, lengths.values(), strict=True):
    mean = float(np.mean(turns))
    text = f"average {mean:,.0f}" if ended else f"the horizon, {mean:,.0f}: no winner"
    width = -(-max(turns) // BARS)  # whole turns, or some bars would hold more lengths than others
    axes.hist(turns, bins=np.arange(0, max(turns) + 2 * width, width), color=LINES[1])
    axes.axvline(mean, color=LINES[0], linewidth=1.5, label=text)
    axes.set_xlabel("turns", color=INK)
    axes.set_ylabel("games", color=INK)
    for axis in (axes.xaxis, axes.yaxis):
      axis.set_major_formatter("{x:,.0f}")
    axes.legend(frameon=False, loc="upper right" if ended else "upper left")
    axes.spines[["top", "right"]].set_visible(False)
  figure.savefig(path)


def main() -> None:
  options = flags(__doc__, games=2000, lengths=1000, plot=None, redraw=False)
  picture(options, lambda: measure(options), draw)


if __name__ == "__main__":
  main()
