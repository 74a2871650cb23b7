"""A game that we cannot list in memory: growing searches against OpenSpiel's IS-MCTS and a uniform player.

  python -m benchmarks.engineering.unlisted_match --games 200 --output FILE

Liar's dice with two dice of six faces each has 1,296 deals and 24 bids: some 20 billion histories. A search
opens --expansions public states; at the ends of its tree the player to act takes the last legal action, in
liar's dice the call. No value is learned. --output keeps the games, a line for every 20, and goes on where
an earlier call stopped. Seats alternate. A row has the games won and lost, the mean with its 95% interval,
processor seconds of a search (median, and 95% of all are shorter; later games find many searches made), the
histories of the largest tree, and the most memory of the process in MB.
"""

import json
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel

from benchmarks.machine import describe, duration, flags
from benchmarks.papers.hidden_moves import information_set_search
from ps_cfr_spiel import matches
from ps_cfr_spiel.matches import OnDemandResolving
from ps_cfr_spiel.values import StateValues

EVERY = 20  # games that are played and kept together


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


def row(kept: list[dict[str, Any]]) -> list[str]:
  """Score, mean, seconds of a search, size of the largest tree, memory."""
  values, seconds = (np.concatenate([games[name] for games in kept]) for name in ("values", "seconds"))
  mean = f"{values.mean():.3f} ± {1.96 * values.std(ddof=1) / len(values) ** 0.5:.3f}"
  times = map(duration, np.percentile(seconds, [50, 95])) if len(seconds) else ("-", "-")
  sizes = (f"{max(games[name] for games in kept):,}" for name in ("histories", "megabytes"))
  return [f"{(values > 0).sum()} / {(values < 0).sum()}", mean, *times, *sizes]


def main() -> None:
  """Prints a row for each opponent, and while it plays one for every 100 games."""
  options = flags(
    __doc__, game="liars_dice(numdice=2,dice_sides=6)", games=200, against=["is-mcts", "random"],
    expansions=4, iterations=200, limit=10**7, seed=0, output=None,
  )  # fmt: skip
  print(describe(), flush=True)
  game, output = pyspiel.load_game(options.game), None if options.output is None else Path(options.output)
  known = [json.loads(line) for line in output.open()] if output and output.exists() else []
  growing = {key: vars(options)[key] for key in ("iterations", "expansions", "limit")}
  search = Search(game, value_function=StateValues(last_action), **growing)
  print(search.description, flush=True)
  for who in options.against:
    match = {"game": options.game, "against": who, "seed": options.seed, **growing}
    kept = [games for games in known if match.items() <= games.items()]
    for part in range(len(kept), -(-options.games // EVERY)):
      seed, before = 4 * (1000 * options.seed + part), len(search.seconds)
      opponent = (
        matches.player(who, seed)
        if who != "is-mcts"
        else lambda seat, seed=seed: information_set_search(game, seat, seed + seat)
      )
      values = matches.match(game, matches.player(search, seed + 2), opponent, EVERY, seed=seed).values
      seconds = [round(x, 3) for x in search.seconds[before:]]
      memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
      facts = {"values": values.tolist(), "seconds": seconds}
      kept.append({**match, **facts, "histories": search.largest_tree, "megabytes": memory})
      if output:
        with output.open("a") as file:
          file.write(json.dumps(kept[-1]) + "\n")
      if part % 5 == 4:
        print("|", " | ".join([who, *row(kept)]), "|", flush=True)
    print("|", " | ".join([who, *row(kept)]), "|", flush=True)


if __name__ == "__main__":
  main()
