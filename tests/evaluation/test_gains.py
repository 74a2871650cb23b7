"""No exploitability and no gain is below zero: there rounding alone could put it."""

import itertools
import math

import heist  # noqa: F401  (registers py_heist)
import numpy as np
import pyspiel
import pytest

from ps_cfr_spiel import PSCFRSolver, evaluate_policy
from ps_cfr_spiel.batches import solve_batch
from ps_cfr_spiel.tree import Evaluation, gain_of

RIVER = "river_subgame(pot=1000,stack=3000,bets=a,ranges=AA KK;QQ AKs)"


def test_gain_of():
  assert [gain_of(x) for x in (-1e-7, 0.0, 2.0, math.inf)] == [0, 0, 2, math.inf]
  assert math.copysign(1, gain_of(-1e-7)) == 1  # no minus zero, which would print its sign
  assert math.isnan(gain_of(math.nan))
  np.testing.assert_array_equal(gain_of(np.array([-1.0, 3.0])), [0, 3])


def test_evaluation():
  assert Evaluation.of((0.25, -0.5), 0.5).exploitability == 0
  assert Evaluation.of((0.25, -0.5), 0.5).gains == (0, 0)
  general = Evaluation(1.0, (0.9, 2.5), 0.0, others=(2.0,))
  assert general.gains == (0, 0.5)


@pytest.mark.parametrize("iterations", [100, 300])
def test_a_solved_river(iterations):
  """Hand ranges of few hands are solved exactly, and float32 has five digits behind the pot's."""
  solver = PSCFRSolver(pyspiel.load_game(RIVER))
  solver.run(iterations)
  assert solver.exploitability() >= 0 and min(solver.evaluation().gains) >= 0


def test_batches_and_policies():
  (solution,) = solve_batch([pyspiel.load_game(RIVER)], iterations=300)
  assert solution.exploitability >= 0
  for name in ("matrix_pd", "kuhn_poker(players=3)", RIVER):
    game = pyspiel.load_game(name)
    solver = PSCFRSolver(game)
    solver.run(100)
    found = evaluate_policy(game, solver.average_policy(), dtype="float32")
    assert found.exploitability >= 0 and min(found.gains) >= 0


def joint_play(game, iterations):
  """Each player's gain from leaving the joint play of CFR, by enumeration of all pure strategies."""
  infostates = {}

  def collect(state):
    if state.is_chance_node() or not state.is_terminal():
      if not state.is_chance_node():
        infostates[state.current_player(), state.information_state_string()] = state.legal_actions()
      for action in state.legal_actions():
        collect(state.child(action))

  def value(state, strategies):
    if state.is_terminal():
      return np.array(state.returns())
    if state.is_chance_node():
      return sum(p * value(state.child(a), strategies) for a, p in state.chance_outcomes())
    chances = strategies[state.current_player(), state.information_state_string()]
    below = zip(state.legal_actions(), chances, strict=True)
    return sum(p * value(state.child(a), strategies) for a, p in below if p)

  collect(root := game.new_initial_state())
  solver = PSCFRSolver(game, "rm", alternating=False, dtype="float64")
  plays = []
  for _ in range(iterations):
    policy = solver.current_policy()
    plays.append({key: [policy.at(*key)[a] for a in actions] for key, actions in infostates.items()})
    solver.run(1)
  mean = np.mean([value(root, play) for play in plays], axis=0)
  gains = []
  for i in range(game.num_players()):
    own = [key for key in infostates if key[0] == i]
    pure = itertools.product(*(np.eye(len(infostates[key])) for key in own))
    best = max(
      np.mean([value(root, {**play, **dict(zip(own, x, strict=True))})[i] for play in plays]) for x in pure
    )
    gains.append(best - mean[i])
  return gains, solver


@pytest.mark.parametrize(("name", "iterations"), [("py_heist", 4), ("tiny_hanabi", 2)])
def test_the_gap_of_a_coarse_correlated_equilibrium(name, iterations):
  gains, solver = joint_play(pyspiel.load_game(name), iterations)
  assert solver.cce_gap() == pytest.approx(max(gains), abs=1e-12) and max(gains) > 0.1


def test_the_gap_needs_sums_of_regrets():
  game = pyspiel.load_game("kuhn_poker(players=3)")
  for solver in (PSCFRSolver(game), PSCFRSolver(game, "rm"), PSCFRSolver(game, "rm+", alternating=False)):
    solver.run(3)
    assert solver.cce_gap() is None
