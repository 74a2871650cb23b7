"""Cheat at its paper's size: learning curves with and without pruning, and how the agent behaves.

  python benchmarks/cheat.py [--seconds 60] [--games 500] [--plot docs/cheat_learning.png] [--agent run.npz]

Yi and Kaneko, Figs. 4 to 6: average game value, and games won against the naive and the heuristic player, of
external sampling with each kind of pruning, and of `ps-cfr-spiel train cheat`'s own default. Every method has
the same processor time. Their traversals are of games of at most `--turns` turns, since one of 50 turns
without pruning would not come to an end; matches are of the game of 50. A table follows of what the last
agent, or that of a file, does: lies by claim, challenges, and how many of those are right.
"""

import argparse
import collections
import time

import numpy as np
import pyspiel
from machine import describe
from ps_cfr_spiel.games.cheat import rules

import ps_cfr_spiel
from ps_cfr_spiel import PlayedExternalSolver, PlayedMCCFRSolver, matches
from ps_cfr_spiel.evaluation.match_results import wilson
from ps_cfr_spiel.solvers import PlayedPolicy

MARKS = 4
RIVALS = ("naive", "heuristic")


def main() -> None:
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("--seconds", type=float, default=60, help="of processor time, for each method")
  parser.add_argument("--games", type=int, default=500, help="against each player at each mark")
  parser.add_argument("--turns", type=int, default=8, help="of traversed games")
  parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
  parser.add_argument("--agent", help="a run of train cheat whose behaviour is shown")
  parser.add_argument("--plot", help="file to draw the curves to")
  options = parser.parse_args()
  print(describe())
  game = pyspiel.load_game("cheat")
  curves, policy = {}, None
  for name in options.methods:
    print(f"\n{name}", flush=True)
    curves[name], policy = learn(METHODS[name](options.turns), game, options.seconds, options.games)
  if options.plot:
    draw(curves, options.plot)
  if options.agent:
    policy = ps_cfr_spiel.load_policy(options.agent)
  if policy is not None:
    show_behaviour(game, policy, options.games)


def external(pruning):
  return lambda turns: PlayedExternalSolver(pyspiel.load_game(f"cheat(max_turns={turns})"), pruning)


METHODS = {
  "external sampling": external("none"),
  "external sampling, regret-based pruning": external("regret"),
  "external sampling, best-response pruning": external("best_response"),
  "plays, learned values (default)": lambda turns: PlayedMCCFRSolver(pyspiel.load_game("cheat")),
}


def learn(solver, game, seconds: float, games: int):
  """Runs for some seconds of processor time; the marks' figures, and the agent for games of 50 turns."""
  solver.compile(progress=False)
  used, rows, before, policy = 0.0, [], (0, 0), None
  for mark in range(1, MARKS + 1):
    started, ended = time.process_time(), seconds * mark / MARKS - used
    while time.process_time() - started < ended:
      solver.run(1, progress=False)
    used += time.process_time() - started
    policy = PlayedPolicy(game, game.played_form(), solver.average_policy().table, {})
    won = {rival: wins(game, policy, rival, games) for rival in RIVALS}
    nodes = (solver.nodes - before[0]) / (solver.iteration - before[1])
    before = solver.nodes, solver.iteration
    rows.append((used, solver.iteration, solver.game_value, won))
    text = "; ".join(f"{rival} {interval(*pair)}" for rival, pair in won.items())
    print(
      f"  {used:6.1f} s, iteration {solver.iteration:,}: {used / solver.iteration:.3f} s and {nodes:,.0f} "
      f"decisions an iteration, {solver.skipped:,} moves skipped, value {solver.game_value:+.3f}; {text}",
      flush=True,
    )
  return rows, policy


def wins(game, policy, rival: str, games: int) -> tuple[int, int]:
  score = matches.match(game, matches.player(policy), matches.player(rival), games).score
  return score.wins, score.games


def interval(won: int, games: int) -> str:
  low, high = wilson(won, games)
  return f"{100 * won / games:.1f}% ({100 * low:.1f} to {100 * high:.1f})"


def show_behaviour(game, policy, games: int) -> None:
  """What the agent does against itself: lies by number of cards claimed, and challenges."""
  counts = collections.Counter()
  for record in matches.play_games(game, matches.player(policy), matches.player(policy, 1), games):
    state = game.new_initial_state()
    for action in record.history:
      if not state.is_chance_node():
        count(counts, state, action)
      state.apply_action(action)
  print("\nthe agent against itself\n  claim   discards        lies  challenged rightly so")
  for claim in range(1, game.rules.max_discard + 1):
    laid, lies, called, right = (counts[what, claim] for what in ("laid", "lies", "called", "right"))
    shares = (lies / max(laid, 1), called / max(laid, 1), right / max(called, 1))
    print(f"  {claim:>5}{laid:>11,}" + "".join(f"{100 * share:>11.1f}%" for share in shares))


def count(counts: collections.Counter, state, action: int) -> None:
  if not state.discard:
    cards = state.get_game().cards(action)
    counts["laid", len(cards)] += 1
    counts["lies", len(cards)] += any(card != state.rank for card in cards)
  elif action == rules.CHALLENGE:
    cards = state.get_game().cards(state.discard)
    counts["called", len(cards)] += 1
    counts["right", len(cards)] += any(card != state.rank for card in cards)


def draw(curves, path: str) -> None:
  """Game values and shares won over processor time, as in the paper's Figs. 4 to 6."""
  from ps_cfr_spiel.pictures import figure_with_panels
  from ps_cfr_spiel.pictures.style import INK, LINES

  names = ("average game value", *(f"won against the {rival} player" for rival in RIVALS))
  figure, places = figure_with_panels(names, columns=3)
  for color, (name, rows) in zip(LINES, curves.items(), strict=False):
    times = [row[0] for row in rows]
    places[0].plot(times, [row[2] for row in rows], color=color, label=name)
    for axes, rival in zip(places[1:], RIVALS, strict=True):
      shares = np.array([[won / games, *wilson(won, games)] for won, games in (r[3][rival] for r in rows)])
      axes.plot(times, shares[:, 0], color=color)
      axes.fill_between(times, shares[:, 1], shares[:, 2], color=color, alpha=0.2, linewidth=0)
  for axes in places:
    axes.set_xlabel("seconds of one core", color=INK)
    axes.spines[["top", "right"]].set_visible(False)
  places[0].legend(frameon=False, fontsize="small")
  figure.savefig(path)
  print(f"Drawn in {path}")


if __name__ == "__main__":
  main()
