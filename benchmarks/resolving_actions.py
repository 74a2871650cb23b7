"""Table 21.3 of Schmid 2021 again: errors of river counterfactual values by action abstraction.

  python benchmarks/resolving_actions.py [--situations 10] [--iterations 1000] [--truth 2000]
                                         [--ranges halves] [--pot 200]

Boards and ranges are random (`river_situations`); all situations of a set run one compiled program. The
thesis does not define its errors; ours:
  values     of both players at the start of the river: of a best response to the other's average strategy
             (what a search promises), for each visit of the infostate (divided by the probability that
             chance and the other's range lead there), in pots.
  errors     of the vector of all 2 x 1,081 hands: L1 the sum, L2 the root of the sum of squares, Linf the
             largest of the absolute differences; means over situations, with 95% intervals.
  truth      the largest set with more iterations.
The thesis's sizes are numbers of public states times 1,081 hands: 57, 45 and 93 for P, 2P and 1/2P with
all-in, as ours at the default pot and stack. Its larger sets were cut in a way that it does not tell. Here
sets of more than two sizes hold for the first bet, and later bets are P and A; that gives its 117 states of
1/2P, P, A too, and fewer than it has for the others. Its smallest bet, "Min", is left out: as the first bet
into this pot of two big blinds it is 1/2P.
"""

import argparse
import time

import numpy as np
import river_situations as rivers
from machine import describe
from tqdm.auto import tqdm

from ps_cfr_spiel.gadgets import GADGETS
from ps_cfr_spiel.rules import RULES, RMPlus, make_rule

LARGEST = "0.25 0.5 0.75 1 2 3 10 a;1 a"
# Bets as of `river_subgame`; Schmid 2021, Table 21.3: betting, size, L1, L2, Linf
SETS = {
  LARGEST: ("F,C,Min,1/4P,1/2P,3/4P,P,2P,3P,10P,A", "555k", 18.06, 0.891, 0.2724),
  "1 a": ("F,C,P,A", "61k", 25.51, 1.272, 0.3372),
  "2 a": ("F,C,2P,A", "48k", 64.79, 2.672, 0.3445),
  "0.5 a": ("F,C,1/2P,A", "100k", 58.24, 3.426, 0.7376),
  "0.5 1 a;1 a": ("F,C,1/2P,P,A", "126k", 41.42, 1.541, 0.2955),
  "1 2 a;1 a": ("F,C,P,2P,A", "204k", 27.69, 1.390, 0.2543),
  "0.5 1 2 a;1 a": ("F,C,1/2P,P,2P,A", "360k", 20.96, 1.059, 0.2653),
}


class Solving:
  """How a situation is solved.

  Attributes:
    rule: regret rule.
    hybrid: whether the updates are simultaneous and the first half is left out of the averages.
  """

  def __init__(self, name: str):
    """A rule's name, or "deepstack"."""
    self.hybrid = name == "deepstack"
    self.rule = RMPlus(gamma=0) if self.hybrid else make_rule(name)

  def __call__(self, tree, iterations: int):
    """Average strategies of both players."""
    skip = iterations // 2 if self.hybrid else 0
    return rivers.solve(tree, iterations, self.rule, not self.hybrid, skip)


def values(situation: rivers.Situation, pot: int, stack: int, bets: str, width: int, solving, counts):
  """Values of both players' hands after each number of iterations, [2 x 1081] each, and the public states."""
  game = rivers.load(situation, pot, stack, bets)
  river = rivers.subgame(game, width)
  tree = GADGETS["unsafe"](river, 0, situation.ranges, None)
  found = []
  for count in counts:
    strategy = solving(tree, count)
    both = []
    for player in (0, 1):
      weight = river.prior.weight(player, situation.ranges[1 - player])
      both.append(rivers.response_values(tree, player, strategy[1 - player]) / weight / pot)
    found.append(np.concatenate(both, axis=None))
  return found, len(game.public_states)


def errors(difference: np.ndarray) -> list[float]:
  """L1, L2 and Linf."""
  return [float(np.linalg.norm(difference, order)) for order in (1, 2, np.inf)]


def main() -> None:
  """Prints the table."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("--situations", type=int, default=10)
  parser.add_argument("--iterations", type=int, default=1000)
  parser.add_argument("--truth", type=int, default=2000, help="iterations of the largest set, as the truth")
  parser.add_argument("--rule", default="nrm", choices=[*RULES, "deepstack"])
  parser.add_argument("--ranges", default="halves", choices=rivers.KINDS)
  parser.add_argument("--pot", type=int, default=200)
  parser.add_argument("--stack", type=int, default=20_000)
  parser.add_argument("--seed", type=int, default=0)
  options = parser.parse_args()
  print(describe())
  print(
    f"{options.situations} situations, seed {options.seed}, ranges '{options.ranges}', pot {options.pot}, "
    f"stack {options.stack:,}; {options.rule}, {options.iterations:,} iterations, the truth {options.truth:,}"
  )
  situations = rivers.draw(options.seed, options.situations, options.ranges)
  width, solving = rivers.levels(situations), Solving(options.rule)
  print(
    f"\n{'betting':40}{'size':>9}{'L1':>16}{'L2':>16}{'Linf':>16}{'s each':>8}   thesis: size, L1, L2, Linf"
  )
  truth = []
  for bets, (name, *theirs) in SETS.items():
    counts = [options.iterations] + ([options.truth] if bets == LARGEST else [])
    rows, size, began = [], 0, time.perf_counter()
    for k, situation in enumerate(tqdm(situations, desc=name, leave=False, disable=None)):
      found, size = values(situation, options.pot, options.stack, bets, width, solving, counts)
      if bets == LARGEST:
        truth.append(found[1])
      rows.append(errors(found[0] - truth[k]))
    seconds = (time.perf_counter() - began) / len(situations)
    cells = [
      f"{np.mean(column):.4g} ± {1.96 * np.std(column, ddof=1) / len(column) ** 0.5:.2g}"
      for column in zip(*rows, strict=True)
    ]
    hands = f"{size * 1081 / 1000:,.0f}k"
    print(
      f"{name:40}{hands:>9}"
      + "".join(f"{cell:>16}" for cell in cells)
      + f"{seconds:8.1f}   {', '.join(map(str, theirs))}",
      flush=True,
    )


if __name__ == "__main__":
  main()
