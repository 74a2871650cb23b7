"""Searches for games on which a regret rule does worst, and follows them to a hundred times the iterations.

  python -m benchmarks.engineering.adversarial_rules [--rules nrm+ rm+] [--games "3 x 3" "4 x 4" Kuhn]
    [--beside rm+ pcfr+] [--seeds 0 1 2] [--plot docs/adversarial_rules.png]

A game is a tree whose utilities are free: a matrix game, or the tree of Kuhn poker with any payoffs. For each
of the --seeds a population of them evolves by random changes for some --generations, towards high
exploitability of the average policy after --iterations: equal effort against each rule. All games found are
followed to the multiples --follow of these, the worst of each seed with the rules --beside too.
Exploitability is exact, in float64, as a share of the span of the game's payoffs. --save keeps the games, as
arrays, a seed's worst first. "earlier" is a name of this script alone, for the default of 500c5b8.
"""

import argparse
import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel

from benchmarks.machine import flags, picture
from ps_cfr_spiel import cfr
from ps_cfr_spiel.backend.device import precision, to_device
from ps_cfr_spiel.cfr import make_rule
from ps_cfr_spiel.compilation.compiler import build_tree
from ps_cfr_spiel.rules import RULES
from ps_cfr_spiel.tree import PublicTree, evaluate

VARIANTS = {
  "earlier": {  # with a memory of 1 regrets fade alike whether or not they agree
    "name": "nrm+", "kappa": 0.3, "fade": 2.5, "phi": 1 / 3, "ahead": 1 / 3, "memory": 1.0, "quiet": 0.0,
    "tau": 125.0, "gamma": 5.0,
  },
}  # fmt: skip


class Family(NamedTuple):
  """Games that differ in their payoffs alone.

  Attributes:
    tree: with `SparseLeaves`; its utilities are replaced.
    chance: [L] probability that chance does its part of what leads to each leaf.
  """

  tree: PublicTree
  chance: np.ndarray


def matrix_games(rows: int, columns: int) -> Family:
  """All matrix games of one size."""
  names = [[f"{kind}{k}" for k in range(count)] for kind, count in (("r", rows), ("c", columns))]
  zeros = np.zeros((rows, columns)).tolist()
  game = pyspiel.convert_to_turn_based(pyspiel.create_matrix_game("free", "free", *names, zeros, zeros))
  return Family(build_tree(game, leaves="sparse"), np.ones(rows * columns))


def kuhn_games() -> Family:
  """Kuhn poker's tree: six equally likely deals, two private cards, any payoffs."""
  tree = build_tree(pyspiel.load_game("kuhn_poker"), leaves="sparse")
  return Family(tree, np.full(len(tree.leaves.utility), 1 / 6))


FAMILIES = {
  "2 x 2": lambda: matrix_games(2, 2),
  "3 x 3": lambda: matrix_games(3, 3),
  "4 x 4": lambda: matrix_games(4, 4),
  "Kuhn": kuhn_games,
}


def runner(family: Family, name: str, alternating: bool = True):
  """A function: payoffs [B, L] and n growing iteration counts to exploitability / span, [n, B]."""
  rule = make_rule(VARIANTS.get(name, name), alternating=alternating)

  def play(utility, state, iterations):
    leaves = dataclasses.replace(family.tree.leaves, utility=utility)
    tree = dataclasses.replace(family.tree, leaves=leaves)
    state = cfr.iterate(tree, state, iterations, rule=rule, alternating=alternating)
    return state, evaluate(tree, cfr.average_strategy(tree, state)).exploitability

  batched = jax.jit(jax.vmap(play, in_axes=(0, 0, None)))

  def course(payoffs: np.ndarray, marks: list[int]) -> np.ndarray:
    found = []
    with precision("float64"):
      utility = to_device((payoffs * family.chance)[:, :, None], "float64")
      state = cfr.init(family.tree, rule, "float64")
      state = jax.tree.map(lambda x: jnp.broadcast_to(x, (len(payoffs), *x.shape)), state)
      for before, mark in zip([0, *marks], marks, strict=False):
        state, exploitability = batched(utility, state, mark - before)
        found.append(np.asarray(exploitability))
    return np.array(found) / np.ptp(payoffs, axis=1)

  return course


def to_unit_span(payoffs: np.ndarray) -> np.ndarray:
  """Payoffs [B, L] from 0 to 1 in each game."""
  low = payoffs.min(1, keepdims=True)
  return (payoffs - low) / np.maximum(np.ptp(payoffs, axis=1)[:, None], 1e-300)


def first_games(rng: np.random.Generator, count: int, leaves: int) -> np.ndarray:
  """Payoffs [count, L] of three kinds: normal, of very unequal sizes, nearly equal but for a few extremes."""
  payoffs = rng.normal(size=(count, leaves))
  payoffs[1::3] = np.exp(2 * payoffs[1::3])
  extremes = np.where(rng.random(payoffs.shape) < 0.3, np.sign(payoffs), 0.2 * payoffs)
  payoffs[2::3] = extremes[2::3]
  return to_unit_span(payoffs)


def children(parents: np.ndarray, rng: np.random.Generator) -> np.ndarray:
  """A changed copy of each parent: payoffs moved, by little or by much, or taken from another parent."""
  count = len(parents)
  size = 10 ** rng.uniform(-3.5, 0, (count, 1))
  chosen = rng.random(parents.shape) < rng.random((count, 1))
  moved = parents + size * chosen * rng.normal(size=parents.shape)
  other = parents[rng.permutation(count)]
  crossed = (rng.random(parents.shape) < 0.3) & (rng.random((count, 1)) < 0.2)
  return to_unit_span(np.where(crossed, other, moved))


def search(course, leaves: int, iterations: int, generations: int, rng, population: int = 64) -> np.ndarray:
  """Evolves games: payoffs [population, L], the worst first.

  A child replaces its parent if it is worse for the rule; at times the better half gives way to the worse.
  """
  parents = first_games(rng, population, leaves)
  scores = course(parents, [iterations])[-1]
  for generation in range(1, generations + 1):
    tried = children(parents, rng)
    found = course(tried, [iterations])[-1]
    better = found > scores
    parents[better], scores[better] = tried[better], found[better]
    if generation % 40 == 0:
      order = np.argsort(scores)
      half = population // 2
      parents[order[:half]], scores[order[:half]] = parents[order[half:]], scores[order[half:]]
  return parents[np.argsort(-scores)]


def hunt(options: argparse.Namespace) -> tuple[list[int], dict]:
  """Prints each rule's worst games and where all rules go on them; the courses, by games."""
  shown = [options.iterations * factor for factor in sorted(options.follow)]
  marks = np.unique(np.geomspace(options.iterations / 10, shown[-1], 13).round().astype(int)).tolist()
  worst, curves = {}, {}
  rules = [key for key in (*RULES, *VARIANTS) if key in (*options.rules, *options.beside)]
  for name in options.games:
    family = FAMILIES[name]()
    courses = {key: runner(family, key, not options.simultaneous) for key in rules}
    for hunted in options.rules:
      print(
        f"\n{name}, worst for {hunted}: {options.generations} generations, exploitability / span after\n"
        + " " * 28 + "".join(f"{mark:>11,}" for mark in shown)
      )  # fmt: skip
      found, reached = [], []
      for seed in options.seeds:
        rng = np.random.default_rng(seed)
        found.append(
          search(courses[hunted], len(family.chance), options.iterations, options.generations, rng)
        )
        reached.append(courses[hunted](found[-1], shown).max(1))
        row(f"seed {seed}, greatest", reached[-1])
      row("median of the seeds", np.median(reached, 0))
      first = np.stack([games[0] for games in found])
      for key, course in courses.items():
        row(f"worst of the seeds, {key}", course(first, shown).max(1))
      game = first[np.argmax([values[0] for values in reached])][None]
      print("payoffs of the worst:", " ".join(f"{value:.4g}" for value in game[0]), flush=True)
      curves[f"{name}: worst found for {hunted}"] = {
        key: course(game, marks)[:, 0] for key, course in courses.items()
      }
      worst[f"{hunted}, {name}"] = np.concatenate(found)
  if options.save:
    np.savez(options.save, **worst)
  return marks, curves


def row(name: str, values) -> None:
  """Prints a line of the table."""
  print(f"{name:28}" + "".join(f"{value:11.1e}" for value in values), flush=True)


def draw(found: tuple[list[int], dict[str, dict[str, list[float]]]], path: str) -> None:
  """Courses of the rules on the worst game of each, a panel for each; its own is bold."""
  from ps_cfr_spiel.apps.pictures import dress, figure_with_panels

  marks, curves = found
  rules = {title.split()[-1] for title in curves}
  columns = min(3, len(curves))
  figure, places = figure_with_panels(list(curves), columns, sharex=True, sharey=True)
  for number, (axes, (title, lines)) in enumerate(zip(places, curves.items(), strict=True)):
    hunted = title.split()[-1]
    for key, values in ((key, values) for key, values in lines.items() if key in rules):
      bold = {"linewidth": 2.6, "zorder": 3} if key == hunted else {"linewidth": 1.1, "alpha": 0.8}
      axes.loglog(marks, np.maximum(values, 1e-10), label=key, **bold)
    dress(axes, "iterations", "" if number % columns else "exploitability (share of the span)")
  places[0].legend(frameon=False, fontsize=8, ncols=2)
  figure.savefig(path)


def main() -> None:
  rules = [name for name in RULES if name != "rm"]
  options = flags(
    __doc__, rules=rules, games=["3 x 3"], generations=600, iterations=1000, follow=[1, 10, 100],
    beside=list(RULES), simultaneous=False, seeds=[0], plot=None, redraw=False, save=None,
  )  # fmt: skip
  picture(options, lambda: hunt(options), draw)


if __name__ == "__main__":
  main()
