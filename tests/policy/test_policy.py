"""Policies out and in: every kind that OpenSpiel knows gives the same numbers."""

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import exploitability as openspiel_exploitability
from reference import random_policy

import ps_cfr_spiel
from ps_cfr_spiel import PSCFRSolver

TINY = "river_subgame(board=KhKd8c4s2h,stack=500,ranges=AsAd QsQd:0.5 7c6c;JsJd Ah8h 5c4c:3)"


@pytest.fixture(scope="module")
def game():
  return pyspiel.load_game(TINY)


def test_any_policy_is_evaluated_as_openspiel_does(game):
  table = random_policy(game, 5)
  expected = pyspiel.exploitability(game, table)
  assert ps_cfr_spiel.exploitability(game, table) == pytest.approx(expected, abs=1e-9)
  tabular = openspiel_policy.tabular_policy_from_callable(
    game, lambda state: dict(table.action_probabilities(state.information_state_string()))
  )
  assert ps_cfr_spiel.exploitability(game, tabular) == pytest.approx(expected, abs=1e-9)
  uniform = openspiel_policy.UniformRandomPolicy(game)
  expected = openspiel_exploitability.exploitability(game, uniform)
  assert ps_cfr_spiel.exploitability(game, uniform) == pytest.approx(expected, abs=1e-9)


def test_exports_agree(game):
  solver = PSCFRSolver(game)
  solver.run(10)
  policy = solver.average_policy()
  tabular, cpp = policy.to_tabular(), policy.to_pyspiel()
  for state in tabular.states:
    lazy = policy.action_probabilities(state)
    assert tabular.action_probabilities(state) == pytest.approx(lazy)
    assert dict(cpp.action_probabilities(state)) == pytest.approx(lazy)
    assert sorted(lazy) == state.legal_actions()


def test_full_size_game_exports_without_a_walk():
  game = pyspiel.load_game("river_subgame")
  policy = PSCFRSolver(game).average_policy()
  cpp = policy.to_pyspiel()
  assert len(cpp.policy_table()) == 21_620
  with pytest.raises(ValueError, match=r"61,000,831 histories.*to_pyspiel\(\)"):
    policy.to_tabular()
  assert ps_cfr_spiel.exploitability(game, cpp) == pytest.approx(
    ps_cfr_spiel.exploitability(game, policy), rel=1e-9
  )


def test_errors_name_what_is_wrong(game):
  policy = PSCFRSolver(game).average_policy()
  with pytest.raises(ValueError, match="No player acts"):
    policy.action_probabilities(game.new_initial_state())
  with pytest.raises(ValueError, match="no information state 'nonsense'"):
    policy.at(0, "nonsense")
  with pytest.raises(TypeError, match="Expected an OpenSpiel policy, got dict"):
    ps_cfr_spiel.exploitability(game, {})
  with pytest.raises(ValueError, match="no entry for information state"):
    ps_cfr_spiel.exploitability(game, pyspiel.TabularPolicy({}))
  table = {name: [(1, 0.5)] for _, _, name in policy.labels.infostates()}
  with pytest.raises(ValueError, match="expected a distribution over the legal actions"):
    ps_cfr_spiel.exploitability(game, pyspiel.TabularPolicy(table))
  with pytest.raises(ValueError, match="Unknown dtype"):
    ps_cfr_spiel.exploitability(game, policy, dtype="int8")


def test_policies_do_not_change_with_the_solver(game):
  solver = PSCFRSolver(game)
  policy = solver.average_policy()
  before = [block.copy() for block in policy.strategies[0]]
  solver.run(5)
  for a, b in zip(before, policy.strategies[0], strict=True):
    np.testing.assert_array_equal(a, b)
