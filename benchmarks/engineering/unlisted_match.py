"""A game that we cannot list in memory: searches against IS-MCTS, a blueprint, a uniform player, a response.

  python -m benchmarks.engineering.unlisted_match --games 2000 --values FILE --output FILE

Liar's dice with two dice of six faces each has 1,296 deals and 24 bids: some 20 billion histories. With
--values, of learned_without_list and its --features, a search looks one decision ahead. Without, it opens
--expansions public states, and at the ends of its tree the player to act takes the last legal action, in
liar's dice the call. The blueprint is OpenSpiel's outcome sampling of --samples iterations, and the opponent
is-mcts has --simulations. --output keeps the games, a line for every 20, and goes on where an earlier call
stopped. Seats alternate. A row has the games won and lost, the mean with its 95% interval, searches a game,
processor seconds of a search (median, and 95% of all are shorter; later games find many searches made) and of
the opponent's decisions, the histories of the largest tree, and the most memory of the process in MB.

The opponent response knows the searches and considers the next --bids bids (`sampled_response`): what it wins
is at most their exploitability. response-to-blueprint and response-to-random play against these in place of
the search, in the same deals. Such games are deals, won or lost in expectation, and the opponent's seconds
those of a deal without its searches.
"""

import argparse
import json
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python.policy import UniformRandomPolicy

from benchmarks.engineering.learned_without_list import FEATURES
from benchmarks.engineering.sampled_response import sampled_gains
from benchmarks.machine import describe, duration, flags
from benchmarks.papers.hidden_moves import SIMULATIONS, Blueprint, information_set_search
from ps_cfr_spiel import matches
from ps_cfr_spiel.arguments import check_option
from ps_cfr_spiel.matches import OnDemandResolving
from ps_cfr_spiel.policy import OpenSpielPolicy
from ps_cfr_spiel.values import NetworkValues, StateValues

EVERY = 20  # games that are played and kept together
RESPONSE, TO_BLUEPRINT, TO_RANDOM = "response", "response-to-blueprint", "response-to-random"
OPPONENTS = ("is-mcts", "blueprint", "random", RESPONSE, TO_BLUEPRINT, TO_RANDOM)


def last_action(states: list[pyspiel.State]) -> list[float]:
  """Values to player 0 if the last legal action ends the game: a call in liar's dice."""
  return [state.child(state.legal_actions()[-1]).returns()[0] for state in states]


class Search(OnDemandResolving):
  """The search; `seconds` are the processor's."""

  def action_probabilities(self, state, player_id=None):
    count, began = len(self.seconds), time.process_time()
    probabilities = super().action_probabilities(state, player_id)
    if len(self.seconds) > count:
      self.seconds[count:] = [time.process_time() - began]
    return probabilities


class Timed(pyspiel.Bot):
  """A bot; `seconds` are the processor's."""

  def __init__(self, bot: pyspiel.Bot, seconds: list[float]):
    super().__init__()
    self.bot, self.seconds = bot, seconds  #: as given, for more

  def step(self, state):
    began = time.process_time()
    action = self.bot.step(state)
    self.seconds.append(time.process_time() - began)
    return action

  def restart(self) -> None:
    self.bot.restart()

  def restart_at(self, state: pyspiel.State) -> None:
    self.bot.restart_at(state)


def row(kept: list[dict[str, Any]]) -> list[str]:
  """Score, mean, searches a game, seconds of a search, size of the largest tree, memory."""
  values, seconds, asked = (
    np.concatenate([games[name] for games in kept]) for name in ("returns", "seconds", "opponent")
  )
  mean = f"{values.mean():.3f} ± {1.96 * values.std(ddof=1) / len(values) ** 0.5:.3f}"
  times = [*map(duration, np.percentile(seconds, [50, 95]))] if len(seconds) else ["-", "-"]
  times.append(duration(asked.mean()))
  sizes = (f"{max(games[name] for games in kept):,}" for name in ("histories", "megabytes"))
  score = f"{(values > 0).sum()} / {(values < 0).sum()}"
  return [score, mean, f"{len(seconds) / len(values):.1f}", *times, *sizes]


def searched(game: pyspiel.Game, options: argparse.Namespace) -> Search:
  """The searches of the flags."""
  how = {"iterations": options.iterations, "limit": options.limit}
  if options.values is None:
    return Search(game, value_function=StateValues(last_action), expansions=options.expansions, **how)
  values, function = NetworkValues.load(options.values), FEATURES[options.features]
  values = values if function is None else values.with_features(function)
  return Search(game, value_function=values, lookahead=1, **how)


def responded(
  game: pyspiel.Game, policy: OpenSpielPolicy, searches: list[float], part: int, options: argparse.Namespace
) -> tuple[np.ndarray, list[float]]:
  """What a policy wins against its response in each deal of a part, and seconds without those of searches."""
  values, spent = list[float](), list[float]()
  for deal in range(EVERY * part, EVERY * (part + 1)):
    count, began = len(searches), time.process_time()
    values += (-sampled_gains(game, policy, options.bids, range(deal, deal + 1), options.seed)).tolist()
    spent.append(time.process_time() - began - sum(searches[count:]))
  return np.array(values), spent


def played(
  game: pyspiel.Game, search: Search, who: str | OpenSpielPolicy, part: int, options: argparse.Namespace
) -> tuple[np.ndarray, list[float]]:
  """What the search wins in each game of a part, and seconds of each of the opponent's decisions."""
  seed, spent = 4 * (1000 * options.seed + part), list[float]()

  def opponent(seat: int) -> Timed:
    if who == "is-mcts":
      bot = information_set_search(game, seat, seed + seat, options.simulations)
    else:
      bot = matches.player(who, seed)(seat)
    return Timed(bot, spent)

  return matches.match(game, matches.player(search, seed + 2), opponent, EVERY, seed=seed).values, spent


def main() -> None:
  """Prints a row for each opponent, and while it plays one for every 100 games."""
  options = flags(
    __doc__, game="liars_dice(numdice=2,dice_sides=6)", games=200, against=["is-mcts", "blueprint", "random"],
    values=None, features="last-bid", expansions=4, iterations=100, limit=10**7, samples=5 * 10**6,
    simulations=SIMULATIONS, bids=4, seed=0, output=None,
  )  # fmt: skip
  check_option("--features", options.features, FEATURES)
  for who in options.against:
    check_option("--against", who, OPPONENTS)
  print(describe(), flush=True)
  game, output = pyspiel.load_game(options.game), None if options.output is None else Path(options.output)
  known = [json.loads(line) for line in output.open()] if output and output.exists() else []
  told = ("game", "values", "expansions", "iterations", "samples", "simulations", "bids", "seed")
  settings = {key: vars(options)[key] for key in told}
  search = searched(game, options)
  print(search.description, flush=True)
  blueprint = Blueprint(game, options.samples) if {"blueprint", TO_BLUEPRINT} & {*options.against} else None
  policies = {RESPONSE: search, TO_BLUEPRINT: blueprint, TO_RANDOM: UniformRandomPolicy(game)}
  for who in options.against:
    match = {"against": who, **settings, **({"bids": options.bids} if who in policies else {})}
    kept = [games for games in known if match.items() <= games.items()]
    for part in range(len(kept), -(-options.games // EVERY)):
      before = len(search.seconds)
      if who in policies:
        returns, spent = responded(game, policies[who], search.seconds, part, options)
      else:
        returns, spent = played(game, search, blueprint if who == "blueprint" else who, part, options)
      rounded = {"seconds": search.seconds[before:], "opponent": spent}
      memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
      facts = {name: [round(x, 4) for x in times] for name, times in rounded.items()}
      facts |= {"returns": returns.tolist(), "histories": search.largest_tree, "megabytes": memory}
      kept.append({**match, **facts})
      if output:
        with output.open("a") as file:
          file.write(json.dumps(kept[-1]) + "\n")
      if part % 5 == 4:
        print("|", " | ".join([who, *row(kept)]), "|", flush=True)
    print("|", " | ".join([who, *row(kept)]), "|", flush=True)


if __name__ == "__main__":
  main()
