"""Iterations that a regret rule needs, as ratios to another's: the default's parameters were chosen by these.

  python benchmarks/rule_parameters.py [--rules nrm+ nrm+:tau=200] [--against rm+] [--games main Leduc]

Games and targets are those of `river_convergence.py` and `general_convergence.py`; then a family of diagonal
matrix games, 30 x 30 with entries exp(2 z), z normal, after 50,000 iterations. A single run says little: when
a target is first met depends on the last bit, on some games by a third. So every rule runs several times side
by side, from strategies that differ from the uniform one by up to 0.1%; ratios are geometric means.
"""

import argparse
import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel
from adversarial_rules import matrix_games
from general_convergence import CHOSEN_ON
from general_convergence import LEVELS as GENERAL_LEVELS
from machine import describe
from river_convergence import LEVELS as RIVER_LEVELS
from river_convergence import SUBGAMES, marks

from ps_cfr_spiel import build_tree, cfr
from ps_cfr_spiel.cfr import Rule, make_rule
from ps_cfr_spiel.device import jit, precision, to_device
from ps_cfr_spiel.tree import PublicTree, evaluate

NOISE = 1e-3
DIAGONALS, DIAGONAL_SIZE, DIAGONAL_ITERATIONS = 24, 30, 50_000


def read_rule(text: str) -> Rule:
  """A rule from its name and, after a colon, parameters: 'nrm+:tau=200,kappa=0.25'."""
  name, _, parameters = text.partition(":")
  fields = (pair.split("=") for pair in parameters.split(",") if pair)
  return make_rule({"name": name, **{key: float(value) for key, value in fields}})


def course(tree: PublicTree, rule: Rule, runs: int, points: list[int], floor: float) -> np.ndarray:
  """Exploitability of each run at each point, [n, runs]; it ends where all are below the floor."""

  @jit()
  def advance(states, iterations):
    def one(state):
      state = cfr.iterate(tree, state, iterations, rule=rule)
      return state, evaluate(tree, tuple(cfr.average_strategy(p) for p in state.players)).exploitability

    return jax.vmap(one)(states)

  states = disturbed(cfr.init(tree, rule, "float32"), runs)
  found = []
  for before, point in zip([0, *points], points, strict=False):
    states, exploitability = advance(states, point - before)
    found.append(np.asarray(exploitability))
    if (found[-1] < floor).all():
      break
  return np.array(found)


def disturbed(state: cfr.SolverState, runs: int) -> cfr.SolverState:
  """States for all runs, `runs` in front of every axis, whose strategies are not quite uniform."""
  rng = np.random.default_rng(0)

  def strategy(block):
    weights = 1 + NOISE * rng.uniform(-1, 1, (runs, *block.shape))
    return jnp.asarray(weights / weights.sum(1, keepdims=True), block.dtype)

  state = jax.tree.map(lambda x: jnp.broadcast_to(x, (runs, *x.shape)), state)
  players = [p._replace(strategy=tuple(strategy(block[0]) for block in p.strategy)) for p in state.players]
  return state._replace(players=tuple(players))


def iterations_to(tree: PublicTree, rule: Rule, runs: int, levels: list[float], cap: int) -> np.ndarray:
  """Iterations to each level of exploitability, [levels, runs]; the cap where it is not met."""
  points = marks(cap)
  curve = course(tree, rule, runs, points, levels[-1])
  met = curve[None] <= np.array(levels)[:, None, None]
  first = np.array(points)[met.argmax(1)]
  return np.where(met.any(1), first, cap)


def compiled(text: str) -> PublicTree:
  """The game's tree in float32."""
  return to_device(build_tree(pyspiel.load_game(text)), "float32")


def uniform_exploitability(tree: PublicTree) -> float:
  """Of the policy that every run begins with."""
  state = cfr.init(tree, make_rule("rm"), "float32")
  return float(evaluate(tree, tuple(p.strategy for p in state.players)).exploitability)


def diagonal_games(rule: Rule) -> np.ndarray:
  """Exploitability as a share of the span on each diagonal game, [DIAGONALS], in float64."""
  family = matrix_games(DIAGONAL_SIZE, DIAGONAL_SIZE)
  entries = np.exp(2 * np.random.default_rng(0).normal(size=(DIAGONALS, DIAGONAL_SIZE)))
  games = entries[:, :, None] * np.eye(DIAGONAL_SIZE)

  @jax.jit
  def play(utility):
    tree = dataclasses.replace(family.tree, leaves=dataclasses.replace(family.tree.leaves, utility=utility))
    state = cfr.iterate(tree, cfr.init(tree, rule, "float64"), DIAGONAL_ITERATIONS, rule=rule)
    return evaluate(tree, tuple(cfr.average_strategy(p) for p in state.players)).exploitability

  with precision("float64"):
    found = jax.vmap(play)(to_device(games.reshape(DIAGONALS, -1, 1), "float64"))
  return np.asarray(found) / entries.max(1)


def main() -> None:
  """Prints ratios for each game and over all."""
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument("--rules", nargs="*", default=["nrm+", "nrm+:tau=200"], help="name:parameter=value,...")
  parser.add_argument("--against", default="rm+")
  parser.add_argument("--games", nargs="*", help="those whose name begins so; diagonal too")
  parser.add_argument("--runs", type=int, default=8)
  parser.add_argument("--cap", type=int, default=2500, help="most iterations")
  options = parser.parse_args()
  print(describe())
  names = [options.against, *options.rules]
  rules = {name: read_rule(name) for name in names}

  def wanted(name: str) -> bool:
    return not options.games or any(name.lower().startswith(given.lower()) for given in options.games)

  for title, games, levels in (
    ("river", SUBGAMES, RIVER_LEVELS), ("general", CHOSEN_ON, GENERAL_LEVELS)
  ):  # fmt: skip
    logs = {name: [] for name in rules}
    for game, text in games.items():
      if not wanted(game):
        continue
      tree = compiled(text)
      pot = pyspiel.load_game(text).get_parameters().get("pot") if title == "river" else None
      unit = pot / 100 if pot else uniform_exploitability(tree)
      absolute = [level * unit for level in levels]
      counts = {
        name: np.log(iterations_to(tree, rule, options.runs, absolute, options.cap)).mean(1)
        for name, rule in rules.items()
      }
      print(f"\n{title}, {game}: iterations to {'/'.join(map(str, levels))}")
      for name, count in counts.items():
        ratio = count - counts[options.against]
        logs[name].append(ratio)
        cells = " ".join(f"{n:7.0f}" for n in np.exp(count))
        shares = " ".join(f"{r:5.2f}" for r in np.exp(ratio))
        print(f"{name:34}{cells}   ratio {shares}   all {np.exp(ratio.mean()):5.2f}", flush=True)
    for name, rows in logs.items():
      if rows:
        by_level = " ".join(f"{r:5.2f}" for r in np.exp(np.mean(rows, 0)))
        print(f"{title}, all games, {name:34} {np.exp(np.mean(rows)):5.2f}; by target {by_level}")
  if wanted("diagonal"):
    print(f"\ndiagonal games, exploitability / span after {DIAGONAL_ITERATIONS:,}: median, worst")
    for name, rule in ({"rm+": make_rule("rm+")} | rules).items():
      found = diagonal_games(rule)
      print(f"{name:34}{np.median(found):9.1e}{found.max():9.1e}", flush=True)


if __name__ == "__main__":
  main()
