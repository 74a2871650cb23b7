"""Beyond the paper: begin with poker's buckets and refine them: exploitability falls below their floor.

  taskset -c 0 python benchmarks/abstraction_buckets.py [--iterations 2000] [--plot FILE]

Leduc, where a player tells only the king from the other cards before the table's card comes, and after it
also a pair; and the river of the default game, where hands are known by twelve classes of equal share in
their equity against all hands of the opponent. CFR+ on these buckets comes to a floor in the whole game,
below which no strategy of buckets can get; CFR+IRA begins with them and splits them. The loss by sets names
those that cost most.
"""

import argparse
import re
import time

import numpy as np
import pyspiel
from machine import describe

import ps_cfr_spiel

BUCKETS = 12


def leduc_key(infostate: str, player: int) -> str:
  """The infostate with its card as "king" or "other", and as "pair" if the table's is the same."""
  own = re.search(r"\[Private: (\d)\]", infostate)
  table = re.search(r"\[Public: (\d)\]", infostate)
  assert own is not None
  pair = table is not None and table[1] == own[1]
  return infostate.replace(own[0], "pair" if pair else "king" if own[1] == "2" else "other")


def equity_buckets(game: pyspiel.Game, count: int) -> tuple[dict[str, int], dict[str, int]]:
  """For each player the class of every hand by its equity: the chance to win against the opponent's range."""
  form, found = game.bayesian_form(), []
  apart = ~(form.cards[0][:, None, :, None] == form.cards[1][None, :, None, :]).any((2, 3))
  for i in (0, 1):
    weights = (apart if i == 0 else apart.T) * form.weights[1 - i]
    wins = np.sign(form.strength[i][:, None] - form.strength[1 - i]) / 2 + 0.5
    equity = (weights * wins).sum(1) / weights.sum(1)
    rank = equity.argsort(kind="stable").argsort(kind="stable")
    found.append(dict(zip(form.types[i], (rank * count // len(rank)).tolist(), strict=True)))
  return found[0], found[1]


def river_key(game: pyspiel.Game):
  """The key that knows a hand by its class, and all that is public."""
  buckets = equity_buckets(game, BUCKETS)

  def key(infostate: str, player: int) -> tuple[int, str]:
    hand, public = infostate.split(" | ", 1)
    return buckets[player][hand.split()[1]], public

  return key


def curve(solver, marks: list[int]) -> list[tuple[int, float]]:
  """Exploitability at the marks, printed with the number of sets and seconds."""
  points, seconds = [], 0.0
  for mark in marks:
    started = time.perf_counter()
    solver.run(mark - solver.iteration)
    seconds += time.perf_counter() - started
    points.append((mark, solver.exploitability()))
    size = f"{solver.abstraction.count:>7,} sets {seconds:>8.1f} s"
    print(f"{solver.name:16}{mark:>7,} iterations {points[-1][1]:>12.6g}  {size}", flush=True)
  return points


def main() -> None:
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("--iterations", type=int, default=2000)
  parser.add_argument("--games", nargs="+", default=["Leduc", "river"], choices=["Leduc", "river"])
  parser.add_argument("--plot", help="file to draw to")
  options = parser.parse_args()
  print(describe())
  steps = {round(10 ** (k / 8)) for k in range(17, 80)}
  marks = [*sorted(n for n in steps if n < options.iterations), options.iterations]
  river = pyspiel.load_game("river_subgame")
  games = {
    "Leduc": (pyspiel.load_game("leduc_poker(suit_isomorphism=True)"), leduc_key),
    "river": (river, river_key(river)),
  }
  panels = {}
  for name in options.games:
    game, key = games[name]
    buckets = ps_cfr_spiel.abstract(game, key)
    print(f"\n{name}\n{buckets.summary()}")
    fixed = ps_cfr_spiel.PSCFRSolver(game, "rm+", skip=100, abstraction=buckets)
    sampled = (100, 900) if name == "river" else (5, 10)
    # On the river sets that are split off keep what they averaged as part of a bucket: if they begin anew,
    # exploitability rises again with the splits.
    how = {"relative": True, "reset": "none"} if name == "river" else {}
    refined = ps_cfr_spiel.CFRPlusIRASolver(game, *sampled, abstraction=buckets, **how)
    panels[name] = {
      "CFR+ on buckets": [curve(fixed, marks)],
      "CFR+IRA from buckets": [curve(refined, marks)],
    }
    print(ps_cfr_spiel.abstraction_loss(game, fixed.average_policy(), buckets).summary())
  if options.plot:
    from ps_cfr_spiel.pictures import abstraction_sizes

    abstraction_sizes(panels, "iterations", "exploitability (chips)").savefig(options.plot)
    print(f"Drawn in {options.plot}")


if __name__ == "__main__":
  main()
