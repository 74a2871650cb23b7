"""Table 21.3 of Schmid 2021 again: errors of river counterfactual values by action abstraction.

  taskset -c 0 python -m benchmarks.papers.resolving_actions [--situations 100] [--output FILE]

Boards and ranges are random (`river_situations`); all situations with a set run one compiled program. A
minute a situation: with `--output` each is kept as it is done, and the same command goes on from there.
Ctrl-C prints the table of what there is. The thesis does not define its errors; ours:
  values     counterfactual, of all 2 x 1,081 hands at the start of the river, with ranges that sum to one, in
             pots: of best responses to the average strategies (what a search promises), and of the average
             strategies themselves.
  errors     L1 the sum, L2 the root of the sum of squares, Linf the largest of the absolute differences;
             means over situations, with 95% intervals.
  truth      the largest set with more iterations.
The thesis's sizes are numbers of public states times 1,081 hands: 57, 45 and 93 for P, 2P and 1/2P with
all-in, as ours at the default pot and stack. Its larger sets were cut in a way that it does not tell. Here
sets of more than two sizes hold for the first bet, and later bets are P and A; that gives its 117 states of
1/2P, P, A too, and fewer than it has for the others. Its smallest bet, "Min", is left out: as the first bet
into this pot of two big blinds it is 1/2P.
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import jax.numpy as jnp
import numpy as np
from tqdm.auto import tqdm

from benchmarks.machine import describe, flags
from benchmarks.papers import river_situations as rivers
from ps_cfr_spiel import cfr
from ps_cfr_spiel.backend.device import jit, to_device
from ps_cfr_spiel.cfr import RMPlus, make_rule
from ps_cfr_spiel.resolving.subgames import GADGETS
from ps_cfr_spiel.tree import action_values, best_response_values, sequence_reach

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
PAIRS = 1081 * 990  # of hands, equally likely
VALUES = ("of best responses", "of the averages")


class Solving:
  """How a situation is solved.

  Attributes:
    rule: regret rule.
    alternating: whether player 1 answers player 0's new strategy.
    skipped: share of the first count of iterations that is left out of the averages.
  """

  def __init__(self, name: str):
    """A rule's name, or "deepstack": CFR+'s regrets, uniform averages of simultaneous updates."""
    hybrid = name == "deepstack"
    self.rule = RMPlus(gamma=0) if hybrid else make_rule(name)
    self.alternating, self.skipped = not hybrid, 0.5 if hybrid else 0.0

  def __call__(self, tree, counts: list[int]) -> Iterator[np.ndarray]:
    """After each number of iterations, rising: the `values`, [2, 2 x 1081], in the order of `VALUES`."""
    tree = to_device(tree, "float32")
    state = cfr.init(tree, self.rule, "float32")
    averaging_delay = int(self.skipped * counts[0])
    for before, count in zip([0, *counts], counts, strict=False):
      state = cfr.run(
        tree, state, count - before, averaging_delay, rule=self.rule, alternating=self.alternating
      )
      averages = cfr.average_strategy(tree, state)
      both = [np.asarray(values(tree, averages, player=player), float) for player in (0, 1)]
      yield np.concatenate(both, axis=1)


@jit(static_argnames="player")
def values(tree, averages, player: int):
  """[2, 1081], in the order of `VALUES`."""
  best = best_response_values(tree, player, averages[1 - player])[1][0]
  reach = [sequence_reach(p, s) for p, s in zip(tree.players, averages, strict=True)]
  return jnp.stack([best, action_values(tree, player, averages[player], reach)[1][0]])


def errors(situation: rivers.Situation, width: int, solving: Solving, options) -> dict[str, dict]:
  """For each betting the size, the seconds, and L1, L2, Linf of each of `VALUES`."""
  found, truth = {}, np.empty(0)
  for bets in SETS:
    began = time.perf_counter()
    game = rivers.load(situation, options.pot, options.stack, bets)
    tree = GADGETS["unsafe"](rivers.subgame(game, width), 0, situation.ranges, None).tree
    counts = [options.iterations] + ([options.truth] if bets == LARGEST else [])
    solved = [chips * PAIRS / options.pot for chips in solving(tree, counts)]
    truth = solved[-1] if bets == LARGEST else truth
    found[bets] = {
      "states": len(game.public_states),
      "errors": [[np.linalg.norm(x, order) for order in (1, 2, np.inf)] for x in solved[0] - truth],
      "seconds": time.perf_counter() - began,
    }
  return found


def main() -> None:
  """Prints the table."""
  options = flags(
    __doc__, situations=100, iterations=1000, truth=4000, rule="deepstack", ranges="even", pot=200,
    stack=20_000, seed=0, output=Path,
  )  # fmt: skip
  if not 1 <= options.iterations < options.truth:
    raise SystemExit(f"--iterations must be at least 1 and less than --truth, got {options.iterations}")
  print(describe(), flush=True)
  setting = {k: v for k, v in vars(options).items() if k not in ("output", "situations")}
  found = previous(options.output, setting)[: options.situations]
  situations = rivers.draw(options.seed, options.situations, options.ranges)
  width, solving = rivers.levels(situations), Solving(options.rule)
  try:
    done, everything = len(found), len(situations)
    for situation in tqdm(situations[done:], initial=done, total=everything, unit="situation", disable=None):
      found.append(errors(situation, width, solving, options))
      if options.output:
        with options.output.open("a") as file:
          file.write(json.dumps({"setting": setting, "found": found[-1]}) + "\n")
  except KeyboardInterrupt:
    pass
  print(f"{len(found)} situations; " + ", ".join(f"{name} {value}" for name, value in setting.items()))
  if len(found) > 1:
    report(found)


def previous(path: Path | None, setting: dict) -> list[dict]:
  """Results of the same setting in a file, if there is one."""
  if path is None or not path.exists():
    return []
  lines = [json.loads(line) for line in path.read_text().splitlines()]
  return [line["found"] for line in lines if line["setting"] == setting]


def report(found: list[dict]) -> None:
  """Prints a table for each of `VALUES`, theirs beside it, and seconds with compilation as a median."""
  for k, kind in enumerate(VALUES):
    print(f"\nvalues {kind}")
    print(
      f"{'betting':40}{'size':>7}{'L1':>17}{'L2':>17}{'Linf':>17}{'s each':>8}   thesis: size, L1, L2, Linf"
    )
    for bets, (name, *theirs) in SETS.items():
      rows = [row[bets] for row in found]
      norms = np.array([row["errors"][k] for row in rows])
      half = 1.96 * norms.std(axis=0, ddof=1) / len(rows) ** 0.5
      cells = (f"{mean:.4g} ± {spread:.2g}" for mean, spread in zip(norms.mean(axis=0), half, strict=True))
      print(
        f"{name:40}{rows[0]['states'] * 1081 / 1000:>6,.0f}k"
        + "".join(f"{cell:>17}" for cell in cells)
        + f"{np.median([row['seconds'] for row in rows]):8.1f}   {', '.join(map(str, theirs))}"
      )


if __name__ == "__main__":
  main()
