"""Cheat at its paper's size: learning curves with and without pruning, and how an agent plays.

  python -m benchmarks.papers.cheat curves [--seconds 60] [--games 500] [--plot docs/cheat_learning.png]
  python -m benchmarks.papers.cheat agent --agent run.npz [--games 10000] [--plot docs/cheat_behaviour.png]
  python -m benchmarks.papers.cheat pruning [--game cheat] [--depth 5] [--seconds 60]
  python -m benchmarks.papers.cheat exact [--game 'cheat(ranks=2,max_turns=4)'] [--seeds 8]
  python -m benchmarks.papers.cheat start [--games 500]
  python -m benchmarks.papers.cheat methods [--seconds 300] [--games 2000]

curves: Yi and Kaneko, Figs. 4 to 6: average game value, and games won against the naive and the heuristic
player, of external sampling with each kind of pruning, and of `ps-cfr-spiel train cheat`'s own default, each
with the same processor time. Traversals go down `--depth` decisions of the traverser and on as one play: one
of 50 turns would not come to an end.
agent: matches of a saved agent in both seats, and its behaviour against itself: lies by claim and rank,
challenges, and how many of those are right.
pruning: decisions of an iteration with each kind of pruning, as learning goes on.
exact: in a game that can be walked, exploitability and decisions met after as many iterations with each kind
of pruning, medians over seeds.
start: the default begun with what it learned of four cards each, and begun with nothing.
methods: `ps-cfr-spiel train cheat` with its own settings and with others, each with the same processor time:
games won against the naive and the heuristic player, and against the agent of the own settings.
"""

import argparse
import functools
import time

import numpy as np
import pyspiel
from ps_cfr_spiel.games.cheat.behaviour import Behaviour, count

import ps_cfr_spiel
from benchmarks.machine import add_flags, describe, keep, kept
from ps_cfr_spiel import PlayedExternalSolver, PlayedMCCFRSolver, matches
from ps_cfr_spiel.evaluation import evaluate_match
from ps_cfr_spiel.evaluation.match_results import wilson
from ps_cfr_spiel.simulated import PRUNINGS
from ps_cfr_spiel.views import behaviour_text

MARKS = 4
RIVALS = ("naive", "heuristic")
PLAYS = "plays, learned values (default)"
SMALL, ROUNDS = "cheat(ranks=2,suits=3,hand_size=2,max_turns=4)", (1, 3, 10, 30, 100, 300, 1000)
EARLIER, STARTED = 200, (50, 150, 300)  # iterations
SHOWN = 2000  # games of an agent against itself
CONSTANT = {"decay": 0.05, "decay_power": 0.0}
SETTINGS = {  # of plays, beside the command's own
  "the default": {},
  "linear average, constant decay": {**CONSTANT, "gamma": 1.0},
  "corrected values": {"estimate": "corrected", "dtype": "float64"},  # weights leave the range of float32
  "constant decay": CONSTANT,
  "exploration 0.02": {"exploration": 0.02},
}


def main() -> None:
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("part", choices=("curves", "agent", "pruning", "exact", "start", "methods"))
  parser.add_argument("--seconds", type=float, default=60, help="of processor time, for each method")
  parser.add_argument("--games", type=int, default=500, help="against each player, at each mark")
  parser.add_argument("--methods", nargs="*", default=[*PRUNINGS, PLAYS], choices=[*PRUNINGS, PLAYS])
  parser.add_argument("--game", help=f"for pruning (default: cheat) and exact (default: {SMALL})")
  parser.add_argument("--seeds", type=int, default=8, help="for exact")
  parser.add_argument("--depth", type=int, default=5, help="decisions that are traversed before play")
  parser.add_argument("--updates", default="at_once", choices=("at_once", "together"), help="for pruning")
  parser.add_argument("--agent", help="a run of train cheat")
  add_flags(parser, "curves or behaviour")
  options = parser.parse_args()
  if options.redraw:
    return DRAW[options.part](kept(options.plot), options.plot)
  print(describe())
  if options.part == "pruning":
    return pruning(options)
  if options.part == "exact":
    return exact(options.game or SMALL, options.seeds)
  if options.part == "start":
    return start(options.games)
  if options.part == "methods":
    return methods(options.seconds, options.games)
  found = curves(options) if options.part == "curves" else agent(options)
  if options.plot:
    keep(options.plot, found)
    DRAW[options.part](kept(options.plot), options.plot)


def curves(options: argparse.Namespace) -> dict:
  """[seconds, iterations, game value, {rival: (wins, games)}] at each mark, by method."""
  game, found = pyspiel.load_game("cheat"), {}
  for name in options.methods:
    print(f"\n{label(name)}", flush=True)
    external = functools.partial(PlayedExternalSolver, game, name, depth=options.depth)
    solver = PlayedMCCFRSolver(game) if name == PLAYS else external()
    found[name] = learn(solver, game, options.seconds, options.games)
  return found


def label(name: str) -> str:
  return name if name == PLAYS else f"external sampling, pruning: {name.replace('_', ' ')}"


def learn(solver, game, seconds: float, games: int) -> list:
  """Runs for some seconds of processor time; the marks' figures."""
  solver.compile(progress=False)
  used, rows = 0.0, []
  for mark in range(1, MARKS + 1):
    used += run(solver, seconds * mark / MARKS - used)
    policy = solver.average_policy()
    won = {rival: tuple(wins(game, policy, rival, games)) for rival in RIVALS}
    rows.append((used, solver.iteration, solver.game_value, won))
    text = "; ".join(f"{rival} {interval(*pair)}" for rival, pair in won.items())
    print(
      f"  {used:6.1f} s, iteration {solver.iteration:,}: {used / solver.iteration:.3f} s and "
      f"{solver.nodes / solver.iteration:,.0f} decisions an iteration, {solver.skipped:,} moves skipped, "
      f"value {solver.game_value:+.3f}; {text}",
      flush=True,
    )
  return rows


def run(solver, seconds: float) -> float:
  """Runs iterations, at least one, until so much processor time is used; how much it was."""
  started = time.process_time()
  while True:
    solver.run(1, progress=False)
    if (used := time.process_time() - started) >= seconds:
      return used


def wins(game, policy, rival, games: int) -> tuple[int, int]:
  score = matches.match(game, matches.player(policy), matches.player(rival, 1), games).score
  return score.wins, score.games


def interval(won: int, games: int) -> str:
  low, high = wilson(won, games)
  return f"{100 * won / games:.1f}% ({100 * low:.1f} to {100 * high:.1f})"


def pruning(options: argparse.Namespace) -> None:
  """Decisions and seconds of an iteration, between marks that come ever more seldom."""
  game = pyspiel.load_game(options.game or "cheat")
  for name in (method for method in options.methods if method != PLAYS):
    print(f"\n{game}, {label(name)}")
    solver = PlayedExternalSolver(game, name, updates=options.updates, depth=options.depth)
    solver.compile(progress=False)
    used, mark, before = 0.0, 1, (0, 0, 0.0)
    while used < options.seconds:
      used += run(solver, 0)
      if solver.iteration >= mark or used >= options.seconds:
        nodes, iterations, time_taken = (
          new - old for new, old in zip((solver.nodes, solver.iteration, used), before, strict=True)
        )
        print(
          f"  to iteration {solver.iteration:>7,}: {nodes / iterations:>14,.0f} decisions and "
          f"{time_taken / iterations:.4f} s an iteration",
          flush=True,
        )
        mark, before = 2 * solver.iteration, (solver.nodes, solver.iteration, used)


def exact(name: str, seeds: int) -> None:
  """Exploitability and decisions met, medians over seeds, with the least and the largest exploitability."""
  game = pyspiel.load_game(name)
  print(f"\n{game}, {seeds} seeds")
  for method in PRUNINGS:
    found = np.zeros((seeds, len(ROUNDS), 2))
    for seed in range(seeds):
      solver = PlayedExternalSolver(game, method, batch=20, seed=seed)
      for k, mark in enumerate(ROUNDS):
        solver.run(mark - solver.iteration, progress=False)
        found[seed, k] = ps_cfr_spiel.exploitability(game, solver.average_policy()), solver.nodes
    print(label(method))
    for k, mark in enumerate(ROUNDS):
      low, middle, high = np.percentile(found[:, k, 0], (0, 50, 100))
      print(
        f"  iteration {mark:>5,}: {middle:.5f} ({low:.5f} to {high:.5f}), "
        f"{np.median(found[:, k, 1]):>10,.0f} decisions",
        flush=True,
      )


def start(games: int) -> None:
  """Games won after some iterations, with a start from a smaller game and without."""
  game, smaller = pyspiel.load_game("cheat"), PlayedMCCFRSolver(pyspiel.load_game("cheat(hand_size=4)"))
  seconds = sum(run(smaller, 0) for _ in range(EARLIER))
  print(f"\n{smaller.game}: {EARLIER} iterations in {seconds:.1f} s")
  for name in ("begun with nothing", "begun with that"):
    print(name)
    solver, used = PlayedMCCFRSolver(game), 0.0
    if name == "begun with that":
      solver.start_from(smaller)
    for mark in STARTED:
      used += sum(run(solver, 0) for _ in range(mark - solver.iteration))
      won = (f"{rival} {interval(*wins(game, solver.average_policy(), rival, games))}" for rival in RIVALS)
      print(f"  {used:6.1f} s, iteration {mark}: {'; '.join(won)}", flush=True)


def methods(seconds: float, games: int) -> None:
  """Games won by the agents of some seconds of processor time."""
  game, default = pyspiel.load_game("cheat"), None
  for name, settings in SETTINGS.items():
    solver = PlayedMCCFRSolver(game, **settings)
    solver.compile(progress=False)
    used = run(solver, seconds)
    policy = solver.average_policy()
    rivals = {**{rival: rival for rival in RIVALS}, **({"the default": default} if default else {})}
    won = (f"{rival} {interval(*wins(game, policy, who, games))}" for rival, who in rivals.items())
    print(f"{name}: {used:.0f} s, iteration {solver.iteration:,}; {'; '.join(won)}", flush=True)
    default = default or policy


def agent(options: argparse.Namespace) -> dict:
  """Matches of a saved agent, and its behaviour against itself, by name of the count."""
  policy = ps_cfr_spiel.load_policy(options.agent)
  game = policy.game
  print(f"{policy.info['solver']} after {policy.info['iteration']:,} iterations")
  for rival in RIVALS:
    games = matches.play_games(game, matches.player(policy), matches.player(rival, 1), options.games)
    print(f"against the {rival} player: {evaluate_match(game, games).score}", flush=True)
    for seat in (0, 1):
      own = [record for record in games if record.seat == seat]
      print(f"  in seat {seat}: {evaluate_match(game, own).score}", flush=True)
  records = matches.play_games(game, matches.player(policy), matches.player(policy, 1), SHOWN)
  behaviour = count(game, ((seat, record.actions) for record in records for seat in (0, 1)))
  print(f"\nthe agent against itself, {SHOWN:,} games\n{behaviour_text(behaviour)}")
  return behaviour._asdict()


def draw_curves(found: dict, path: str) -> None:
  """Game values and shares won over processor time, as in the paper's Figs. 4 to 6."""
  from ps_cfr_spiel.pictures import figure_with_panels
  from ps_cfr_spiel.pictures.style import INK, LINES

  names = ("average game value", *(f"won against the {rival} player" for rival in RIVALS))
  figure, places = figure_with_panels(names, columns=3)
  for color, (name, rows) in zip(LINES, found.items(), strict=False):
    times = [row[0] for row in rows]
    places[0].plot(times, [row[2] for row in rows], color=color, label=label(name))
    for axes, rival in zip(places[1:], RIVALS, strict=True):
      pairs = [row[3][rival] for row in rows]
      axes.plot(times, [won / games for won, games in pairs], color=color)
      axes.fill_between(times, *zip(*(wilson(*pair) for pair in pairs), strict=True), color=color, alpha=0.2)
  for axes in places:
    axes.set_xlabel("seconds of one core", color=INK)
    axes.spines[["top", "right"]].set_visible(False)
  figure.legend(*places[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
  figure.savefig(path)
  print(f"drawn: {path}")


def draw_behaviour(found: dict, path: str) -> None:
  """Lies and challenges in bars."""
  import numpy as np

  from ps_cfr_spiel.pictures import cheat_behaviour

  behaviour = Behaviour(**{name: np.array(counts) for name, counts in found.items()})
  cheat_behaviour(behaviour, f"The agent against itself, {SHOWN:,} games").savefig(path)
  print(f"drawn: {path}")


DRAW = {"curves": draw_curves, "agent": draw_behaviour}

if __name__ == "__main__":
  main()
