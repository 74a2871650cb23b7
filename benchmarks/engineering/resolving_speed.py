"""How long searches take: all of Leduc at once, a decision on the river, decisions in play of Leduc.

  taskset -c 0 python -m benchmarks.engineering.resolving_speed [--iterations 1000] [--repetitions 5]

Compilation is apart: everything is done once before it is timed, by objects that keep nothing but compiled
code. Prints ratios to the targets: 0.6 s (aim 0.2 s) for Leduc, 1 s for a decision on the river.
"""

import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pyspiel
from open_spiel.python.algorithms import evaluate_bots

from benchmarks.machine import describe, flags
from ps_cfr_spiel.evaluation import evaluate_policy
from ps_cfr_spiel.policy import TreePolicy
from ps_cfr_spiel.solvers import ContinualResolving

LEDUC, LEDUC_AIM, RIVER = 0.6, 0.2, 1.0  # seconds, the targets
COMPILED = "/jax/core/compile/backend_compile_duration"


class Compilations:
  """Counts what XLA compiles."""

  def __init__(self):
    """Counts from now on."""
    self.count, self.seconds = 0, 0.0
    jax.monitoring.register_event_duration_secs_listener(self._listen)

  def _listen(self, event: str, duration_secs: float, **_: Any) -> None:
    if event == COMPILED:
      self.count, self.seconds = self.count + 1, self.seconds + duration_secs

  def __call__(self, function: Callable[[], Any]) -> tuple[Any, str]:
    """Calls a function: its result, and in words what was compiled for it."""
    count, seconds = self.count, self.seconds
    result = function()
    return result, f"{self.count - count} programs compiled in {self.seconds - seconds:.1f} s"


def leduc(iterations: int, repetitions: int, compilations: Compilations) -> None:
  """Both players' searches in all public states."""
  game, seconds = pyspiel.load_game("leduc_poker"), []
  policy, compiled = compilations(lambda: ContinualResolving(game, iterations).tabularise())
  for _ in range(repetitions):
    resolving = ContinualResolving(game, iterations)
    began = time.perf_counter()
    resolving.tabularise()
    seconds.append(time.perf_counter() - began)
  middle = float(np.median(seconds))
  print(
    f"Leduc, both players everywhere: {middle:.3f} s (from {min(seconds):.3f} to {max(seconds):.3f}), "
    f"{middle / LEDUC:.2f} of the target, {middle / LEDUC_AIM:.2f} of the aim; exploitability "
    f"{evaluate_policy(game, policy).exploitability:.2e}; {compiled}"
  )


def river(iterations: int, repetitions: int, compilations: Compilations) -> None:
  """Player 0's first decision, and the first of the second ones, after player 1 has bet or raised."""
  game = pyspiel.load_game("river_subgame")

  def play() -> ContinualResolving:
    resolving = ContinualResolving(game, iterations)
    resolving.search(resolving.searcher.problems.levels[0].states(1)[0])
    return resolving

  resolving, compiled = compilations(play)
  seconds = np.array([play().seconds for _ in range(repetitions)])
  for name, column in zip(("first", "second"), seconds.T, strict=True):
    middle = float(np.median(column))
    print(
      f"river, {name} decision: {middle:.3f} s (from {column.min():.3f} to {column.max():.3f}), "
      f"{middle / RIVER:.2f} of the target"
    )
  start = TreePolicy(game, resolving.labels, resolving.start(0).tables)
  of_start, of_all = (
    100 * evaluate_policy(game, policy).exploitability / game.get_parameters()["pot"]
    for policy in (start, resolving.tabularise())
  )
  print(
    f"river, exploitability of the first search {of_start:.4f}%, of all {of_all:.4f}% of the pot; {compiled}"
  )


def match(iterations: int, games: int, compilations: Compilations) -> None:
  """Searches during games of Leduc against a random player, each public state at most once."""
  game = pyspiel.load_game("leduc_poker")

  def play() -> list[float]:
    resolving = ContinualResolving(game, iterations)
    for k in range(games):
      bots = [resolving.bot(k % 2, seed=k), pyspiel.make_uniform_random_bot(1 - k % 2, k)]
      evaluate_bots.evaluate_bots(
        game.new_initial_state(), bots[:: 1 - 2 * (k % 2)], np.random.default_rng(k)
      )
    return resolving.seconds

  first, compiled = compilations(play)
  again, more = compilations(play)
  print(
    f"Leduc, {games} games: {len(again)} searches, the first of {again[0]:.3f} s, then a median of "
    f"{1e3 * np.median(again[1:]):.0f} ms (at most {1e3 * max(again[1:]):.0f} ms); {compiled}, which "
    f"makes the longest search {max(first):.1f} s; when played again {more}"
  )


def main() -> None:
  """Prints all of them."""
  options = flags(__doc__, iterations=1000, repetitions=5, games=30)
  print(describe())
  print(f"{options.iterations:,} iterations for each search, float32, the default rule and gadget")
  compilations = Compilations()
  leduc(options.iterations, options.repetitions, compilations)
  river(options.iterations, options.repetitions, compilations)
  match(options.iterations, options.games, compilations)


if __name__ == "__main__":
  main()
