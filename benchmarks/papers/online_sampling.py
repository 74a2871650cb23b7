"""Redraws Fig. 19.2 of Schmid 2021: single MCCFR runs converge, online outcome sampling (OOS) need not.

  python -m benchmarks.papers.online_sampling [--seeds 20] [--iterations 1000000]
                                      [--plot docs/online_sampling.png]

One run of outcome sampling for each infostate, aimed at it, and the policy that plays at every infostate what
its own run says: what OOS plays. Exploitability is exact. "Favoured" runs begin with cumulative regrets of
--favour times an equilibrium, another for some infostates than for others, so that they differ more than
chance makes them differ. Coordinated matching pennies is OpenSpiel's `coordinated_mp`.
"""

import argparse
import functools
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel

from benchmarks.machine import flags, picture
from ps_cfr_spiel import OnlineOutcomeSampling, exploitability
from ps_cfr_spiel.backend.device import jit, precision, to_device
from ps_cfr_spiel.reports import waiting
from ps_cfr_spiel.tree import evaluation

Curves = tuple[np.ndarray, np.ndarray, np.ndarray]  # iterations, and two fields of OnlineRuns
TITLES = {"coordinated_mp": "Coordinated matching pennies", "kuhn_poker": "Kuhn poker"}


class OnlineRuns(NamedTuple):
  """Curves of all runs of online outcome sampling.

  Attributes:
    iterations: int[M], the marks.
    single: float[R, S, M], exploitability of each single run's average policy, by its target.
    tabularised: float[R, M], exploitability of the policy that plays at each infostate by its own run.
    strategies: float[R, S, M, A, S], the average policies of the single runs.
  """

  iterations: np.ndarray
  single: np.ndarray
  tabularised: np.ndarray
  strategies: np.ndarray


def online_runs(method: OnlineOutcomeSampling, seeds: Sequence[int], marks: Sequence[int]) -> OnlineRuns:
  """Follows runs at every infostate for several seeds, side by side in one jitted program.

  Args:
    method: its settings apply, but for `seed` and `iterations`.
    seeds: R seeds.
    marks: iterations of the measurements, ascending.
  """
  with precision(method.options.dtype), waiting(f"{len(seeds)} runs at every infostate"):
    runs = method.runs
    keys = jnp.stack([runs.empty(seed).key for seed in seeds])
    public_tree, each = to_device(method.tree, method.options.dtype), jnp.array(marks, jnp.int32)
    found = _curves(public_tree, runs, runs.empty(0), keys, each)
    return OnlineRuns(np.array(marks), *(np.asarray(x) for x in found))


@jit()
def _curves(public_tree, runs, empty, keys, marks):
  """The last three fields of `OnlineRuns`."""
  cells = jnp.arange(runs.tree.cells)

  def run(key, cell):
    def on(state, mark):
      state = runs.advance(state, cell, mark - state.iteration)
      return state, runs.average(state)

    return jax.lax.scan(on, runs.begin(empty._replace(key=key), cell), marks)[1]

  strategies = jax.vmap(lambda key: jax.vmap(functools.partial(run, key))(cells))(keys)

  def measure(table):
    return evaluation(public_tree, runs.tree.blocks(table)).exploitability

  single = jax.vmap(jax.vmap(jax.vmap(measure)))(strategies)
  played = jnp.diagonal(strategies, axis1=1, axis2=4)  # [R, M, A, S]
  return single, jax.vmap(jax.vmap(measure))(played), strategies


def policy_of(tables: dict[str, list[float]]) -> pyspiel.TabularPolicy:
  """A policy by information state strings; actions are 0, 1, ..."""
  return pyspiel.TabularPolicy({name: list(enumerate(p)) for name, p in tables.items()})


def pennies_equilibrium(heads: float) -> pyspiel.TabularPolicy:
  """Any share of heads on the top side is optimal with as large a share of tails on the bottom side."""
  return policy_of({"0": [0.5, 0.5], "2T": [heads, 1 - heads], "2B": [1 - heads, heads]})


def kuhn_equilibrium(bluff: float) -> pyspiel.TabularPolicy:
  """Kuhn's equilibria: player 0 bets the jack with any probability up to 1/3; the rest follows."""
  third = 1 / 3
  return policy_of(
    {
      "0": [1 - bluff, bluff],
      "0pb": [1, 0],
      "1": [1, 0],
      "1pb": [2 * third - bluff, third + bluff],
      "2": [1 - 3 * bluff, 3 * bluff],
      "2pb": [0, 1],
      "0b": [1, 0],
      "0p": [2 * third, third],
      "1b": [2 * third, third],
      "1p": [1, 0],
      "2b": [0, 1],
      "2p": [0, 1],
    }
  )


def favoured(name: str) -> dict:
  """Which equilibrium the run aimed at an infostate favours; those that fit together worst."""
  if name == "coordinated_mp":
    return {(1, "2T"): pennies_equilibrium(1.0), (1, "2B"): pennies_equilibrium(0.0)}
  often, never = kuhn_equilibrium(1 / 3), kuhn_equilibrium(0.0)
  return {(0, "0"): often, (0, "1pb"): often, (0, "2"): never}


def limit(game: pyspiel.Game, places: dict) -> float:
  """Exploitability of playing at each infostate the equilibrium favoured there: where curves would end."""
  base = next(iter(places.values()))
  tables = {name: list(dict(row).values()) for name, row in base.policy_table().items()}
  for (_, name), policy in places.items():
    tables[name] = list(dict(policy.policy_table()[name]).values())
  return exploitability(game, policy_of(tables))


def marks(last: int) -> list[int]:
  """Four iterations a decade from 10 to `last`."""
  return sorted({int(10 ** (k / 4)) for k in range(4, int(4 * np.log10(last)) + 1)} | {last})


def print_runs(runs: OnlineRuns) -> None:
  """Medians at every decade, and the spread at the end."""
  print(f"{'iterations':>12} {'single runs':>14} {'worst target':>14} {'OOS plays':>12}")
  for column in range(len(runs.iterations) - 1, -1, -4):
    single, played = runs.single[:, :, column], runs.tabularised[:, column]
    print(
      f"{runs.iterations[column]:12,} {np.median(single):14.4f} {np.median(single, 0).max():14.4f} "
      f"{np.median(played):12.4f}"
    )
  low, high = np.percentile(runs.tabularised[:, -1], (5, 95))
  print(f"5th to 95th percentile of what OOS plays at the end: {low:.4f} to {high:.4f}", flush=True)


def draw(curves: dict[str, dict[str, Curves]], path: str) -> None:
  """A column for each game: medians, and the 5th to 95th percentile of all seeds (and targets)."""
  from ps_cfr_spiel.apps.pictures import dress, figure_with_panels
  from ps_cfr_spiel.apps.pictures.style import LINES

  figure, places = figure_with_panels([TITLES.get(name, name) for name in curves], sharey=True)
  for axes, ways in zip(places, curves.values(), strict=True):
    for color, (way, (iterations, single, played)) in zip(LINES[1::-1], ways.items(), strict=True):
      for label, values, style in (
        (f"single runs, {way}", np.reshape(single, (-1, len(iterations))), "--"),
        (f"OOS, {way}", played, "-"),
      ):
        low, middle, high = np.percentile(values, (5, 50, 95), axis=0)
        axes.loglog(iterations, middle, style, color=color, label=label)
        axes.fill_between(iterations, low, high, color=color, alpha=0.12, linewidth=0)
    dress(axes, "iterations of each run", "exploitability (utility)" if axes is places[0] else "")
  handles = places[0].get_legend_handles_labels()
  figure.legend(*handles, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
  figure.suptitle("Medians, and the 5th to 95th percentile of all seeds", fontsize=10, x=0.01, ha="left")
  figure.savefig(path)


def measure(options: argparse.Namespace) -> dict[str, dict[str, Curves]]:
  """Runs both games, plain and favoured, and prints medians."""
  print(f"{options.seeds} seeds, target {options.target!r}, delta 0.9, exploration 0.4; medians")
  curves: dict[str, dict[str, Curves]] = {}
  for name, title in TITLES.items():
    game, places, curves[name] = pyspiel.load_game(name), favoured(name), {}
    ways = {"plain": {}, f"favoured by {options.favour:,g}": {"favoured": places, "favour": options.favour}}
    for way, settings in ways.items():
      method = OnlineOutcomeSampling(game, target=options.target, **settings)
      runs = online_runs(method, range(options.seeds), marks(options.iterations))
      print(f"\n{title}, {way}")
      print_runs(runs)
      curves[name][way] = runs.iterations, runs.single, runs.tabularised
    print(f"the favoured equilibria, each where it is favoured: exploitability {limit(game, places):.4f}")
  return curves


def main() -> None:
  options = flags(
    __doc__, seeds=20, iterations=1_000_000, target="infostate", favour=10_000.0, plot=None, redraw=False
  )
  picture(options, lambda: measure(options), draw)


if __name__ == "__main__":
  main()
