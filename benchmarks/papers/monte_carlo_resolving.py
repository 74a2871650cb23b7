"""Monte Carlo continual re-solving (Šustr, Kovařík and Lisý 2019; Schmid 2021, Section 20.5.2).

  python -m benchmarks.papers.monte_carlo_resolving [--games leduc_poker 'liars_dice(numdice=1,dice_sides=4)']
      [--samples 1000 10000 100000] [--samplers external outcome] [--gadgets cfr-d max-margin] [--seeds 3]
      [--matches 2]

Prints the exact exploitability of the play of searches by samples, the median over the seeds; that of as many
samples of the whole game without searches; and seconds of processor of all searches of the game.

Then it prints the winnings of an opponent in matches of Kuhn poker, beyond the value of the game, who knows
that one of the seeds plays, and sees all cards when a match is over (Schmid 2021, Definition 12; see
`soundness`): with the same random numbers in every match, or others.
"""

import functools
import itertools
import statistics
import time

import pyspiel

from benchmarks.machine import describe, flags
from benchmarks.papers.soundness import History, response_value
from ps_cfr_spiel import ExternalSamplingSolver, OutcomeSamplingSolver, PSCFRSolver, exploitability
from ps_cfr_spiel.matches import MonteCarloResolving

WHOLE = {"external": ExternalSamplingSolver, "outcome": OutcomeSamplingSolver}


def searched(game: pyspiel.Game, samples: int, seeds: int, **settings: str) -> tuple[float, float]:
  """Exploitability of searches, and processor seconds of a seed without compilation, medians over seeds."""
  losses, seconds = [], []
  for seed in range(-1, seeds):  # the first one compiles
    search = MonteCarloResolving(game, samples, seed=max(seed, 0), **settings)
    began = time.process_time()
    table = search.tabularise(progress=False)
    if seed >= 0:
      seconds.append(time.process_time() - began)
      losses.append(exploitability(game, table, tree=search.tree))
  return statistics.median(losses), statistics.median(seconds)


def sampled(game: pyspiel.Game, sampler: str, samples: int, seeds: int) -> float:
  """Exploitability of samples of the whole game, the median over seeds."""
  losses = []
  for seed in range(seeds):
    solver = WHOLE[sampler](game, rule="rm+", seed=seed)
    solver.run(samples, progress=False)
    losses.append(solver.exploitability())
  return statistics.median(losses)


def player(game: pyspiel.Game, samples: int, seed: int, alike: bool):
  """A player of matches, for `response_value`: one strategy in all of them, or another in each."""

  @functools.cache
  def search(match: int) -> MonteCarloResolving:
    return MonteCarloResolving(game, samples, seed=1000 * seed + match)

  def play(past: tuple[History, ...], state: pyspiel.State) -> dict[int, float]:
    return search(0 if alike else len(past)).action_probabilities(state)

  return play


def main() -> None:
  options = flags(
    __doc__ or "", games=["leduc_poker", "liars_dice(numdice=1,dice_sides=4)"],
    samples=[1000, 10_000, 100_000], samplers=["external", "outcome"], gadgets=["cfr-d", "max-margin"],
    seeds=3, matches=2,
  )  # fmt: skip
  print(describe())
  for name, sampler in itertools.product(options.games, options.samplers):
    game = pyspiel.load_game(name)
    for samples in map(int, options.samples):
      cells = [f"whole {sampled(game, sampler, samples, options.seeds):.4f}"]
      for gadget in options.gadgets:
        loss, seconds = searched(game, samples, options.seeds, sampler=sampler, gadget=gadget)
        cells.append(f"{gadget} {loss:.4f} ({seconds:.1f} s)")
      print(f"{name}, {sampler}, {samples:,} samples: " + ", ".join(cells), flush=True)
  if not options.matches:
    return
  kuhn = pyspiel.load_game("kuhn_poker")
  solver = PSCFRSolver(kuhn)
  solver.run(5000, progress=False)
  for samples, alike in itertools.product(map(int, options.samples), (True, False)):
    for matches in range(1, options.matches + 1):
      losses = []
      for seat in (0, 1):
        players = [player(kuhn, samples, seed, alike) for seed in range(options.seeds)]
        won = response_value(kuhn, seat, players, matches)
        losses.append(won + solver.value() if seat == 0 else won - solver.value())
      numbers = "the same" if alike else "other"
      head = f"Kuhn, {samples:,} samples, {numbers} random numbers, {matches} matches"
      print(f"{head}: {losses[0]:.4f}, {losses[1]:.4f}", flush=True)


if __name__ == "__main__":
  main()
