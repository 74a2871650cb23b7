"""Cheat at its paper's size: learning curves with and without pruning, and how an agent plays.

  python -m benchmarks.papers.cheat curves [--seconds 60] [--games 500] [--plot docs/cheat_learning.png]
  python -m benchmarks.papers.cheat agent --agent run.safetensors [--games 10000]
    [--plot docs/cheat_behaviour.png]
  python -m benchmarks.papers.cheat pack --agent run.safetensors --file FILE [--games 500]
  python -m benchmarks.papers.cheat pruning [--game cheat] [--depth 5] [--seconds 60]
  python -m benchmarks.papers.cheat exact [--game 'cheat(ranks=2,max_turns=4)'] [--seeds 8]
  python -m benchmarks.papers.cheat keys [--game 'cheat(ranks=2,max_turns=4)'] [--seeds 8]
  python -m benchmarks.papers.cheat search --agents 1.safetensors 2.safetensors [--games 2000]
    [--rivals naive heuristic] [--temperatures 0.03] [--plot docs/cheat_searches.png]

curves: Yi and Kaneko, Figs. 4 to 6: average game value, and games won against the naive and the heuristic
player, of external sampling with each kind of pruning, and of `ps-cfr-spiel train cheat`'s own default, each
with the same processor time. Traversals go down `--depth` decisions of the traverser and on as one play: one
of 50 turns would not come to an end.
agent: matches of a saved agent in both seats, and its behaviour against itself: lies by claim and rank,
challenges, and how many of those are right.
pack: writes a saved agent as the policy that comes with the package, with those matches in its card.
pruning: decisions of an iteration with each kind of pruning, as learning goes on.
exact: in a game that can be walked, exploitability and decisions met after as many iterations with each kind
of pruning, medians over seeds.
keys: likewise, of plays with each key, and at the end of a search on top of the last seed's.
search: how often a searching opponent beats an agent that it knows, without a search and with one on top; and
how often the agent wins with a search against itself without, and against the naive and the heuristic player.
An opponent of the search takes it for the agent without one. All searches make the same number of rollouts.
With --plot each match is kept, by iteration, and a later run plays only the games that it lacks.
"""

import argparse
import contextlib
import functools
import time

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy
from ps_cfr_spiel.games.cheat.behaviour import RATES, Behaviour, count
from ps_cfr_spiel.games.cheat.keys import KEYS

import ps_cfr_spiel
from benchmarks.machine import flags, keep, kept, picture
from ps_cfr_spiel import KeyedExternalSolver, KeyedMCCFRSolver, matches
from ps_cfr_spiel.evaluation import evaluate_match
from ps_cfr_spiel.evaluation.match_results import wilson
from ps_cfr_spiel.options import PRUNINGS

MARKS = 4
RIVALS = ("naive", "heuristic")
PLAYS = "plays, learned values (default)"
SMALL, ROUNDS = "cheat(ranks=2,suits=3,hand_size=2,max_turns=4)", (1, 3, 10, 30, 100, 300, 1000)
LONGER = "cheat(ranks=3,suits=2,hand_size=2,max_turns=5)"
ROLLOUTS = 1000  # of a decision, and particles
OPPONENT = "searching opponent"
SHOWN = 2000  # games of an agent against itself


def curves(options: argparse.Namespace) -> dict:
  """[seconds, iterations, game value, {rival: (wins, games)}] at each mark, by method."""
  game, found = pyspiel.load_game("cheat"), {}
  for name in options.methods:
    print(f"\n{label(name)}", flush=True)
    external = functools.partial(KeyedExternalSolver, game, name, depth=options.depth)
    solver = KeyedMCCFRSolver(game) if name == PLAYS else external()
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
  score = matches.match(game, matches.player(policy), matches.player(rival, 1, game), games).score
  return score.wins, score.games


def interval(won: int, games: int) -> str:
  low, high = wilson(won, games)
  return f"{100 * won / games:.1f}% ({100 * low:.1f} to {100 * high:.1f})"


def pruning(options: argparse.Namespace) -> None:
  """Decisions and seconds of an iteration, between marks that come ever more seldom."""
  game = pyspiel.load_game(options.game or "cheat")
  for name in (method for method in options.methods if method != PLAYS):
    print(f"\n{game}, {label(name)}")
    solver = KeyedExternalSolver(game, name, depth=options.depth)
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
      solver = KeyedExternalSolver(game, method, batch=20, seed=seed)
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


def keys(options: argparse.Namespace) -> None:
  """Exploitability of plays with each key: medians over seeds, the least and the largest; and of searches."""
  game, seeds = pyspiel.load_game(options.game or LONGER), options.seeds
  loss = functools.partial(ps_cfr_spiel.exploitability, game, tree=ps_cfr_spiel.build_tree(game))
  print(f"\n{game}, {seeds} seeds")
  for key in KEYS:
    found = np.zeros((seeds, len(ROUNDS)))
    for seed in range(seeds):
      solver = KeyedMCCFRSolver(game, key=key, batch=256, seed=seed)
      for k, mark in enumerate(ROUNDS):
        solver.run(mark - solver.iteration, progress=False)
        found[seed, k] = loss(solver.average_policy())
    for mark, (low, middle, high) in zip(ROUNDS, np.percentile(found, (0, 50, 100), 0).T, strict=True):
      print(f"  {key}, iteration {mark:>5,}: {middle:.5f} ({low:.5f} to {high:.5f})", flush=True)
    print(f"  {key}, the last seed's: {found[-1, -1]:.5f}")
    for temperature in options.temperatures:
      policy = Searches(game, solver.average_policy(), temperature, options.rollouts)
      print(f"  {key}, a search on top, temperature {temperature:g}: {loss(policy):.5f}", flush=True)


class Searches(openspiel_policy.Policy):
  """The strategy of searches on top of a policy, at every infostate."""

  def __init__(self, game, policy, temperature: float, rollouts: int):
    super().__init__(game, [0, 1])
    limits = {"rollouts": rollouts, "particles": rollouts}
    self._bots = [
      matches.ParticleBot(game, seat, policy, temperature=temperature, **limits) for seat in (0, 1)
    ]

  def action_probabilities(self, state, player_id=None):
    return self._bots[state.current_player()].probabilities(state)


def search(options: argparse.Namespace) -> dict:
  """(wins, games) by match, of each agent by its iteration; with those of agents that a picture has."""
  found = {}
  with contextlib.suppress(FileNotFoundError):
    found = kept(options.plot or "")
  for path in options.agents:
    policy = ps_cfr_spiel.load_policy(path)
    game, games = policy.game, options.games
    won = found.setdefault(str(policy.info["iteration"]), {})
    print(
      f"\n{path}: key {policy.info['options']['key']}, iteration {policy.info['iteration']:,}", flush=True
    )
    searchers = []

    def searcher(temperature, tremble=0.01, game=game, policy=policy, searchers=searchers):
      limits = {"rollouts": options.rollouts, "particles": options.rollouts}
      limits |= {"temperature": temperature, "tremble": tremble}

      def make(seat):
        searchers.append(matches.ParticleBot(game, seat, policy, seed=seat, **limits))
        return searchers[-1]

      return make

    def show(text, first, second, game=game, games=games, won=won, searchers=searchers):
      wins, before = won.get(text, (0, 0))
      missing, cost = games - before, ""
      if missing > 0:
        began = time.process_time()
        score = matches.match(game, first, second, missing, seed=before).score
        used, decisions = 1000 * (time.process_time() - began), sum(len(bot.seconds) for bot in searchers)
        wins, before = won[text] = wins + score.wins, games
        each = f", {used / decisions:.1f} a decision of a search" if decisions else ""
        cost = f", {used / missing:.0f} ms a game{each}"
        if options.plot:
          keep(options.plot, found)
      print(f"  {text}: {interval(wins, before)} of {before:,} games{cost}", flush=True)
      searchers.clear()

    plain = matches.player(policy)
    for temperature in options.temperatures:
      own = searcher(temperature)
      show(f"{OPPONENT}, temperature {temperature:g}", searcher(0.0, 0.0), own)
      show(f"temperature {temperature:g} against no search", own, plain)
      for rival in options.rivals:
        show(f"temperature {temperature:g} against {rival}", own, matches.player(rival, 1, game))
    show(f"{OPPONENT}, no search", searcher(0.0, 0.0), plain)
    for rival in options.rivals:
      show(f"no search against {rival}", plain, matches.player(rival, 1, game))
  return found


def agent(options: argparse.Namespace) -> dict:
  """Matches of a saved agent, and its behaviour against itself, by name of the count."""
  policy = ps_cfr_spiel.load_policy(options.agent)
  game = policy.game
  print(f"{policy.info['solver']} after {policy.info['iteration']:,} iterations")
  for rival in RIVALS:
    games = matches.play_games(game, matches.player(policy), matches.player(rival, 1, game), options.games)
    print(f"against the {rival} player: {evaluate_match(game, games).score}", flush=True)
    for seat in (0, 1):
      own = [record for record in games if record.seat == seat]
      print(f"  in seat {seat}: {evaluate_match(game, own).score}", flush=True)
  records = matches.play_games(game, matches.player(policy), matches.player(policy, 1), SHOWN)
  behaviour = count(game, ((seat, record.actions) for record in records for seat in (0, 1)))
  print(f"\nthe agent against itself, {SHOWN:,} games\n{behaviour}")
  return behaviour._asdict()


def draw_curves(found: dict, path: str) -> None:
  """Game values and shares won over processor time, as in the paper's Figs. 4 to 6."""
  from ps_cfr_spiel.apps.pictures import figure_with_panels
  from ps_cfr_spiel.apps.pictures.style import INK, LINES

  names = ("average game value", *(f"won against the {rival} player" for rival in RIVALS))
  figure, places = figure_with_panels(names, columns=3)
  for color, (name, rows) in zip(LINES, found.items(), strict=False):
    times = [row[0] for row in rows]
    places[0].plot(times, [row[2] for row in rows], color=color, label=label(name))
    for axes, rival in zip(places[1:], RIVALS, strict=True):
      draw_wins(axes, times, [row[3][rival] for row in rows], color)
  for axes in places:
    axes.set_xlabel("seconds of one core", color=INK)
    axes.spines[["top", "right"]].set_visible(False)
  figure.legend(*places[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
  figure.savefig(path)


def draw_wins(axes, places: list, pairs: list, color: str, name: str | None = None) -> None:
  """Shares of (wins, games), with their intervals."""
  axes.plot(places, [won / games for won, games in pairs], color=color, label=name)
  axes.fill_between(places, *zip(*(wilson(*pair) for pair in pairs), strict=True), color=color, alpha=0.2)


def draw_searches(found: dict, path: str) -> None:
  """Shares won by a searching opponent, and by the agent, over the agent's iterations."""
  from ps_cfr_spiel.apps.pictures import figure_with_panels
  from ps_cfr_spiel.apps.pictures.style import INK, LINES

  titles = "won by a searching opponent against", "won by the agent"
  figure, places = figure_with_panels(titles, sharey=True)
  agents = sorted(found, key=int)
  for axes, ours in zip(places, (False, True), strict=True):
    names = {name: [agent for agent in agents if name in found[agent]] for name in found[agents[-1]]}
    lines = [
      (name, there) for name, there in names.items() if name.startswith(OPPONENT) != ours and there[1:]
    ]
    for color, (name, there) in zip(LINES, lines, strict=False):
      thousands = [int(agent) / 1000 for agent in there]
      draw_wins(axes, thousands, [found[agent][name] for agent in there], color, name.split(", ")[-1])
    axes.axhline(0.5, color=INK, linewidth=0.5)
    axes.set_xlabel("thousands of iterations of training", color=INK)
    axes.set_ylim(0.3, 1)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
  figure.savefig(path)


def draw_behaviour(found: dict, path: str) -> None:
  """Lies and challenges in bars."""
  import numpy as np

  from ps_cfr_spiel.apps.pictures import bars

  behaviour = Behaviour(**{name: np.array(counts) for name, counts in found.items()})
  bars(behaviour.panels(), RATES, f"The agent against itself, {SHOWN:,} games").savefig(path)


DRAW = {"curves": draw_curves, "agent": draw_behaviour, "search": draw_searches}


def pack(options: argparse.Namespace) -> None:
  """Writes an agent's policy alone, a byte for each move: `learning/pretrained/cheat_policy.safetensors`."""
  policy = ps_cfr_spiel.load_policy(options.agent)
  assert isinstance(policy, ps_cfr_spiel.KeyedPolicy)
  won = {rival: wins(policy.game, policy, rival, options.games)[0] for rival in RIVALS}
  made = {"made_by": "ps-cfr-spiel train cheat, benchmarks/papers/cheat.py"}
  policy.save(options.file, {**made, "games": options.games, "won": won})
  print(f"{options.file}: of {options.games} games it wins {won}")


def main() -> None:
  options = flags(
    __doc__, part=("curves", "agent", "pruning", "exact", "keys", "search", "pack"), seconds=60.0, games=500,
    methods=[*PRUNINGS, PLAYS],
    game=None, seeds=8, depth=5, agent=None, agents=[], rivals=[*RIVALS], temperatures=[0.03],
    file="cheat_policy.safetensors", rollouts=ROLLOUTS, plot=None, redraw=False,
  )  # fmt: skip
  if options.part == "pruning":
    return pruning(options)
  if options.part == "exact":
    return exact(options.game or SMALL, options.seeds)
  if options.part == "pack":
    return pack(options)
  if options.part == "keys":
    return keys(options)
  measure = {"curves": curves, "agent": agent, "search": search}[options.part]
  picture(options, lambda: measure(options), DRAW[options.part])


if __name__ == "__main__":
  main()
