"""No exploitability and no gain is below zero: there rounding alone could put it."""

import math

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
