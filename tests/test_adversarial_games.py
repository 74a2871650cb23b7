"""The default rule where it is hardest: games found by search against rules, and the bound of docs/regret_rules.md."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel
import pytest

from ps_cfr_spiel import NRM, PSCFRSolver, RMPlus, cfr
from ps_cfr_spiel.build import build_tree
from ps_cfr_spiel.evaluate import evaluate
from ps_cfr_spiel.precision import precision, to_device
from ps_cfr_spiel.rules import NRMPlus

DEFAULT = NRMPlus()
CYCLES = np.array(  # NRM cycles here; which way round and from where depends on rounding
  [
    [[0.624, 0.56, 0.548], [0.686, 0.561, 0.481], [0, 0.703, 1]],
    [[0.645, 0.602, 1], [0.789, 0.946, 0], [0.709, 0.699, 0.648]],
  ]
)


def every_way_round(games):
  """Games [B, m, m] as each player sees them and with each player first, [4 B, m, m]."""
  swapped = games.transpose(0, 2, 1)
  return np.concatenate([games, 1 - games, swapped, 1 - swapped])


def matrix_game(rows, columns):
  """A matrix game of nothing, moved in turns."""
  names = [[f"{kind}{k}" for k in range(count)] for kind, count in (("r", rows), ("c", columns))]
  zeros = np.zeros((rows, columns)).tolist()
  return pyspiel.convert_to_turn_based(pyspiel.create_matrix_game("m", "m", *names, zeros, zeros))


@functools.cache
def player(rows, columns, rule, alternating):
  """A jitted function: games [B, L, 1], their states and a number of iterations to new states and exploitability."""
  tree = build_tree(matrix_game(rows, columns), leaves="sparse")

  def play(utility, state, iterations):
    leaves = dataclasses.replace(tree.leaves, utility=utility)
    game = dataclasses.replace(tree, leaves=leaves)
    state = cfr.iterate(game, state, iterations, rule=rule, alternating=alternating)
    return state, evaluate(game, tuple(cfr.average_strategy(p) for p in state.players)).exploitability

  start = functools.partial(cfr.init, tree, rule)
  return start, jax.jit(jax.vmap(play, in_axes=(0, 0, None)))


def course(games, rule, marks, dtype="float64", alternating=True):
  """Exploitability as a share of the span, [marks, B]."""
  start, play = player(*games.shape[1:], rule, alternating)
  span = np.ptp(games, axis=(1, 2))
  found = []
  with precision(dtype):
    utility = to_device(games.reshape(len(games), -1, 1), dtype)
    state = jax.tree.map(lambda x: jnp.broadcast_to(x, (len(games), *x.shape)), start(dtype))
    for before, mark in zip([0, *marks], marks, strict=False):
      state, exploitability = play(utility, state, mark - before)
      found.append(np.asarray(exploitability) / span)
  return np.array(found)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_cycling_games_fall(dtype):
  worst = course(every_way_round(CYCLES), DEFAULT, [100_000], dtype).max()
  assert worst < 1e-6


def test_the_cycling_games_are_hard():
  """Among slightly moved copies NRM stays where it is; the default does not."""
  moved = CYCLES[:, None] + 1e-4 * np.random.default_rng(5).normal(size=(2, 16, 3, 3))
  games = every_way_round(moved.reshape(-1, 3, 3))
  assert course(games, NRM(), [20_000]).max() > 1e-4
  assert course(games, DEFAULT, [20_000]).max() < 1e-4


def test_the_solver_of_the_user_falls_too():
  game = pyspiel.create_matrix_game("m", "m", list("abc"), list("xyz"), CYCLES[0].tolist(), (-CYCLES[0]).tolist())
  solver = PSCFRSolver(pyspiel.convert_to_turn_based(game), DEFAULT, dtype="float64")
  solver.run(100_000)
  assert solver.exploitability() < 1e-6
