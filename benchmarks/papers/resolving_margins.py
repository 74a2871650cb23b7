"""Fig. 20.7 of Schmid 2021 again: margins of a coarse river strategy refined by each kind of re-solving.

  python -m benchmarks.papers.resolving_margins [--situations 24] [--plot docs/resolving_margins.png]

Blueprint: both players' hands in buckets by strength percentile, the betting solved between buckets, a
bucket's strategy given to all of its hands. Player 0 then refines the whole river without buckets, from the
ranges at its start, with promises that are player 1's best response values against the blueprint. The margin
is by how much the refined strategy undercuts the promises, in the infostate of player 1 where that is least,
in chips for each visit (Schmid 2021, Definition 25). The thesis refines situations that its agent came to by
itself; here boards, ranges and pots are drawn (`river_situations`).
"""

import argparse
import dataclasses
from typing import NamedTuple

import numpy as np
import pyspiel
from tqdm.auto import tqdm

from benchmarks.machine import flags, picture
from benchmarks.papers import river_situations as rivers
from ps_cfr_spiel.cfr import Rule, make_rule
from ps_cfr_spiel.compilation.compiler import build_tree
from ps_cfr_spiel.resolving.subgames import GADGETS, Subgame
from ps_cfr_spiel.tree import DenseLeaves, NativeLeaves, PublicTree, ShowdownLeaves

POTS = (400, 2000, 8000)  # chips, 100 to the big blind
STACK = 20_000
BETS = "fcpa"
# Schmid 2021, Fig. 20.7: mean and 95% interval after 10,000 iterations of CFR+
THESIS = {"max-margin": (101.49, 7.09), "cfr-d": (8.79, 2.45), "unsafe": (-518.5, 49.19)}


class Setting(NamedTuple):
  """How situations are solved.

  Attributes:
    buckets: of hands, for each player.
    iterations: of CFR, in the blueprint and in each refinement.
    rule: regret rule.
    width: of `river_situations.levels`.
  """

  buckets: int
  iterations: int
  rule: Rule
  width: int


def margins(situation: rivers.Situation, pot: int, setting: Setting) -> dict[str, float]:
  """The margin of each gadget's refinement, in chips for each visit of the worst infostate."""
  game = rivers.load(situation, pot, STACK, BETS)
  river = rivers.subgame(game, setting.width)
  ranged = GADGETS["unsafe"](river, 0, situation.ranges, None).tree
  promises = rivers.response_values(ranged, 1, blueprint(situation, game, river, setting))
  weight = river.prior.weight(1, situation.ranges[0])
  found = {}
  for name in THESIS:
    tree = GADGETS[name](river, 0, situation.ranges, promises).tree
    strategy = rivers.solve(tree, setting.iterations, setting.rule)[0]
    values = rivers.response_values(ranged, 1, strategy)
    found[name] = float(((promises - values) / weight).min())
  return found


def blueprint(situation: rivers.Situation, game: pyspiel.Game, river: Subgame, setting: Setting) -> list:
  """Player 0's strategy with both players' hands in buckets, [A, rows, H] for each block."""
  hands = len(situation.strength)
  bucket = np.empty(hands, int)
  bucket[np.argsort(situation.strength, kind="stable")] = np.arange(hands) * setting.buckets // hands
  first, second = (range_.T * np.eye(setting.buckets)[bucket] for range_ in situation.ranges)
  dense, inner = build_tree(game, leaves="dense").leaves, river.tree.leaves
  assert isinstance(dense, DenseLeaves) and isinstance(inner, ShowdownLeaves | NativeLeaves)
  showdown, prior = (first.T @ matrix @ second for matrix in (dense.showdown, dense.prior))
  leaves = DenseLeaves(showdown / prior.sum(), prior / prior.sum(), inner.showdown_payoff, inner.fold_payoff)
  one, other = (dataclasses.replace(p, types=setting.buckets) for p in river.tree.players)
  average = rivers.solve(PublicTree((one, other), leaves), setting.iterations, setting.rule)[0]
  return [np.asarray(block)[:, :, bucket] for block in average]


def interval(values) -> tuple[float, float]:
  """Mean, and half of its 95% confidence interval."""
  return float(np.mean(values)), 1.96 * float(np.std(values, ddof=1)) / len(values) ** 0.5


def measure(options: argparse.Namespace) -> dict[int, list[dict[str, float]]]:
  """Prints margins by pot and over all situations; those of each situation, by pot."""
  situations = rivers.draw(options.seed, options.situations, options.ranges)
  setting = Setting(options.buckets, options.iterations, make_rule(options.rule), rivers.levels(situations))
  print(
    f"{options.situations} situations, seed {options.seed}, ranges '{options.ranges}', {options.buckets} "
    f"buckets, bets {BETS}, stacks of {STACK:,}; {options.iterations:,} iterations of {options.rule}"
  )
  found = {pot: [] for pot in POTS}
  for k, situation in enumerate(tqdm(situations, unit=" situations", disable=None)):
    pot = POTS[k % len(POTS)]
    found[pot].append(margins(situation, pot, setting))
  report(found)
  return found


def report(found: dict[int, list[dict[str, float]]]) -> None:
  """Prints mean margins with 95% intervals, in chips for each visit (100 to the big blind)."""
  print(f"\n{'':12}" + "".join(f"{f'pot {pot / 100:g} bb':>20}" for pot in found), end="")
  print(f"{'all':>20}{'thesis':>20}   below -1")
  for name, (theirs, spread) in THESIS.items():
    groups = [[row[name] for row in rows] for rows in found.values()]
    everything = [value for group in groups for value in group]
    cells = ["{:.2f} ± {:.2f}".format(*interval(group)) for group in (*groups, everything)]
    below = sum(value < -1 for value in everything)
    print(
      f"{name:12}"
      + "".join(f"{cell:>20}" for cell in (*cells, f"{theirs} ± {spread}"))
      + f"   {below} of {len(everything)}"
    )


def draw(found: dict[str, list[dict[str, float]]], path: str) -> None:
  """Every situation's margins and their means, a panel for each pot."""
  from ps_cfr_spiel.apps.pictures import figure_with_panels
  from ps_cfr_spiel.apps.pictures.style import INK, LINES

  titles = [f"pot of {int(pot) / 100:g} big blinds ({len(rows)} situations)" for pot, rows in found.items()]
  figure, places = figure_with_panels(titles, sharey=True)
  for axes, rows in zip(places, found.values(), strict=True):
    for place, (name, color) in enumerate(zip(THESIS, LINES, strict=False)):
      values = [row[name] for row in rows]
      shift = np.linspace(-0.25, 0.25, len(values))
      axes.scatter(place + shift, values, s=14, alpha=0.5, linewidths=0, color=color)
      mean, half = interval(values)
      axes.errorbar(place, mean, half, color=INK, capsize=6, marker="_", markersize=22)
      axes.annotate(f"{mean:.1f}", (place + 0.32, mean), va="center", fontsize=9)
    axes.axhline(0, color=INK, linewidth=0.8)
    axes.set_yscale("symlog", linthresh=10)
    axes.set_xticks(range(len(THESIS)), THESIS)
    axes.set_xlim(-0.5, len(THESIS) - 0.2)
    axes.grid(color="#d9dce0", linewidth=0.8, axis="y")
    axes.spines[["top", "right"]].set_visible(False)
  figure.axes[0].set_ylabel("margin, chips for each visit (big blind 100)")
  figure.suptitle("Margins of refined river strategies, with means and 95% intervals", fontsize=11)
  figure.savefig(path)


def main() -> None:
  options = flags(
    __doc__, situations=24, buckets=10, iterations=4000, rule="nrm+", ranges="even", seed=0, plot=None,
    redraw=False,
  )  # fmt: skip
  picture(options, lambda: measure(options), draw)


if __name__ == "__main__":
  main()
