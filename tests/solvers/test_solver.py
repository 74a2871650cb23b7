"""PSCFRSolver against OpenSpiel's own solvers and tools, an LP, and itself (resumed, saved, interrupted)."""

import contextlib
import itertools
import os
import signal
import sys
import threading

import numpy as np
import pyspiel
import pytest
from interrupts import assert_same
from open_spiel.python.algorithms import cfr as openspiel_cfr
from open_spiel.python.algorithms import exploitability as openspiel_exploitability
from reference import policy_table, sequence_form_value

import ps_cfr_spiel
from ps_cfr_spiel import ContinualResolving, PSCFRSolver
from ps_cfr_spiel.rules import RM, RULES, RMPlus
from ps_cfr_spiel.solvers import exact
from ps_cfr_spiel.solvers import solver as base
from ps_cfr_spiel.tree import player_passes

# Some combos a side, uneven weights, shared and distinct hands; shallow stacks keep OpenSpiel quick.
REDUCED = "river_subgame(stack=700,ranges=QdQh:0.5 8h7h A9s:0.25 2d2h;TdTh:0.7 6d6h 8d7d:2 8h7h AhKd)"
TINY = "river_subgame(board=KhKd8c4s2h,stack=500,ranges=AsAd QsQd:0.5 7c6c;JsJd Ah8h 5c4c:3)"

GOOFSPIEL = "turn_based_simultaneous_game(game=goofspiel(num_cards=3,imp_info=True,points_order=descending))"


@pytest.fixture(scope="module")
def reduced():
  return pyspiel.load_game(REDUCED)


@pytest.mark.parametrize(
  "rule, reference, leaves",
  [(RM(), openspiel_cfr.CFRSolver, "dense"), (RMPlus(), openspiel_cfr.CFRPlusSolver, "showdown")],
  ids=["CFR", "CFR+"],
)
def test_iterates_equal_openspiels(reduced, rule, reference, leaves):
  ours = PSCFRSolver(reduced, rule, dtype="float64", leaves=leaves)
  theirs = reference(reduced)
  for _ in range(3):
    ours.evaluate_and_update_policy()
    theirs.evaluate_and_update_policy()
    for mine, other in (
      (ours.average_policy(), theirs.average_policy()),
      (ours.current_policy(), theirs.current_policy()),
    ):
      for infostate, row in other.state_lookup.items():
        expected = other.action_probability_array[row]
        player = int(infostate[1])
        for action, probability in mine.at(player, infostate).items():
          assert abs(probability - expected[action]) < 1e-9, infostate


def test_simultaneous_iterates_equal_openspiels(reduced):
  ours = PSCFRSolver(reduced, RM(), alternating=False, dtype="float64")
  theirs = openspiel_cfr._CFRSolver(
    reduced, alternating_updates=False, linear_averaging=False, regret_matching_plus=False
  )
  for _ in range(5):
    ours.evaluate_and_update_policy()
    theirs.evaluate_and_update_policy()
  other, policy = theirs.average_policy(), ours.average_policy()
  for infostate, row in other.state_lookup.items():
    for action, probability in policy.at(int(infostate[1]), infostate).items():
      assert abs(probability - other.action_probability_array[row][action]) < 1e-9


def test_exploitability_and_value_equal_openspiels(reduced):
  solver = PSCFRSolver(reduced, dtype="float64")
  solver.run(5)
  policy = solver.average_policy()
  expected = openspiel_exploitability.exploitability(reduced, policy)
  assert abs(solver.exploitability() - expected) < 1e-9
  assert abs(ps_cfr_spiel.exploitability(reduced, policy) - expected) < 1e-9
  assert abs(pyspiel.exploitability(reduced, policy.to_pyspiel()) - expected) < 1e-9
  assert expected > 0.1  # far enough from 0 that agreement means something
  table = policy.to_pyspiel()
  value = pyspiel.expected_returns(reduced.new_initial_state(), table, -1, False)[0]
  assert abs(solver.value() - value) < 1e-9


def test_value_of_the_game_is_the_lps(reduced):
  solver = PSCFRSolver(reduced, dtype="float64")
  solver.run(4000)
  value = sequence_form_value(reduced)
  assert solver.exploitability() < 1e-3
  assert abs(solver.value() - value) <= 2 * solver.exploitability() + 1e-9
  low, high = -solver.evaluation().best_response[1], solver.evaluation().best_response[0]
  assert low - 1e-9 <= value <= high + 1e-9  # best responses bracket the value


@pytest.mark.parametrize(
  "name, game",
  [
    *((name, TINY) for name in RULES),
    *((name, GOOFSPIEL) for name in ("nrm+", "rm")),
    *(("nrm+", game) for game in (REDUCED, "leduc_poker")),
  ],
)
def test_every_rule_converges(name, game):
  solver = PSCFRSolver(pyspiel.load_game(game), name)
  start = solver.exploitability()
  solver.run(3000)
  assert -1e-5 * start < solver.exploitability() < 0.01 * start


@pytest.mark.parametrize("name", RULES)
def test_simultaneous_updates_converge(name):
  """More slowly."""
  solver = PSCFRSolver(pyspiel.load_game(TINY), name, alternating=False)
  start = solver.exploitability()
  solver.run(3000)
  assert solver.exploitability() < 0.03 * start


def test_default_river():
  """The main job: value agreed on by three independent solvers, exploitability below 0.1% of the pot."""
  solver = PSCFRSolver(pyspiel.load_game("river_subgame"))
  solver.run(400)
  assert abs(solver.value() - -7.40) <= 0.02
  assert 0 < solver.exploitability() < 0.001 * 200


def test_float32_and_float64_agree():
  results = []
  for dtype in ("float32", "float64"):
    solver = PSCFRSolver(pyspiel.load_game(REDUCED), dtype=dtype)  # no ties, where rounding would decide
    solver.run(8)
    results.append((solver.exploitability(), solver.value()))
  np.testing.assert_allclose(results[0], results[1], rtol=1e-3)


def test_float32_keeps_late_iterations():
  """A long run stays where it converged; tests/cfr/test_averages.py has the sums themselves."""
  solver = PSCFRSolver(pyspiel.load_game("kuhn_poker"))
  solver.run(100_000)
  assert solver.exploitability() < 1e-6


def test_skip_leaves_out_the_first_iterations():
  game = pyspiel.load_game(TINY)
  solver = PSCFRSolver(game, RM(), dtype="float64", averaging_delay=3)
  late = []
  for t in range(5):
    if t >= 3:
      late.append(solver.current_policy())
    solver.evaluate_and_update_policy()
  root = solver.tree.labels.decisions[0]
  rows = [p.table(root) for p in late]
  average = solver.average_policy().table(root)
  np.testing.assert_allclose(average, np.mean(rows, 0), atol=1e-12)  # at the root the reach is 1


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_keeps_what_was_reached(tmp_path):
  solver = PSCFRSolver(pyspiel.load_game(TINY))
  solver.run(1)
  timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
  timer.start()
  with pytest.raises(KeyboardInterrupt):
    solver.run(10**9, checkpoint=tmp_path / "run.safetensors")
  assert 1 < solver.iteration < 10**9
  assert_same(solver, PSCFRSolver.load(tmp_path / "run.safetensors"))


def test_a_short_run_is_little_work_beside_its_iterations():
  """The second run of ten iterations makes 620 calls in Python; 1,440 took as long as 200 iterations."""
  solver, calls = PSCFRSolver(pyspiel.load_game("kuhn_poker")), itertools.count()
  solver.run(100)
  solver.run(10)
  sys.setprofile(lambda frame, event, argument: next(calls) if event.endswith("call") else None)
  try:
    solver.run(10)
  finally:
    sys.setprofile(None)
  assert next(calls) < 800


def test_policy_table_is_complete(reduced):
  policy = PSCFRSolver(reduced).average_policy()
  table = policy_table(reduced, policy)
  assert len(table) == len(list(policy.labels.infostates()))
  for probabilities in table.values():
    assert abs(sum(probabilities.values()) - 1) < 1e-12


def test_who_waits_is_told_once_for_what(monkeypatch):
  said = []

  @contextlib.contextmanager
  def waiting(what, progress=None):
    said.append((what, progress))
    yield

  for module in (exact, base):
    monkeypatch.setattr(module, "waiting", waiting)
  solver = PSCFRSolver(pyspiel.load_game("kuhn_poker"))
  for _ in range(2):
    solver.run(2)
    solver.exploitability()
  solver.exploitability()
  assert said == [("Compiling NRMPlus", None), ("Evaluating", None), ("Evaluating", None)]
  said.clear()
  PSCFRSolver(pyspiel.load_game("kuhn_poker")).compile(progress=False)
  assert said == [("Compiling NRMPlus", False), ("Evaluating", False)]


def test_a_game_without_public_states_is_solved_at_once(tmp_path):
  """And says so; what needs public states still refuses the game."""
  game = pyspiel.load_game("dark_hex(num_rows=2,num_cols=2)")
  solver = PSCFRSolver(game)
  assert "without public states: time or the acting player is not common knowledge" in solver.summary()
  assert "without public states" not in PSCFRSolver(pyspiel.load_game("kuhn_poker")).summary()
  solver.run(30)
  assert solver.exploitability() < 1e-3
  solver.save(tmp_path / "run.safetensors")
  assert type(solver).load(tmp_path / "run.safetensors").iteration == 30
  with pytest.raises(ValueError, match="has no public states"):
    ContinualResolving(game)


@pytest.mark.parametrize("rule, last", [("hs-pcfr+", True), ("rm", False)])
def test_the_better_of_average_and_last_strategies(rule, last, tmp_path):
  """By OpenSpiel's own evaluation; a file keeps the choice."""
  game = pyspiel.load_game("kuhn_poker")
  solver, plain = (PSCFRSolver(game, rule, dtype="float64", strategy=name) for name in ("best", "average"))
  solver.run(20)
  plain.run(20)
  found = [
    openspiel_exploitability.exploitability(game, policy)
    for policy in (plain.average_policy(), plain.current_policy())
  ]
  assert (found[1] < found[0]) == last
  assert solver.exploitability() == pytest.approx(min(found), abs=1e-12)
  assert openspiel_exploitability.exploitability(game, solver.average_policy()) == pytest.approx(
    min(found), abs=1e-12
  )
  solver.save(tmp_path / "run.safetensors")
  assert PSCFRSolver.load(tmp_path / "run.safetensors").exploitability() == solver.exploitability()
  assert "better of average and last" in solver.description != plain.description


def test_a_large_game_may_pay_nothing(monkeypatch):
  """The groups in which the native library pays its leaves are then empty."""
  monkeypatch.setattr(player_passes, "MANY", 1)
  text = 'EFG 2 R "zero" { "0" "1" }\np "" 1 1 "" { "x" "y" } 0\n'
  text += 2 * ('p "" 2 1 "" { "x" "y" } 0\n' + 2 * 't "" 1 "" { 0 0 }\n')
  solver = PSCFRSolver(pyspiel.load_efg_game(text), public_states="none")
  solver.run(3, progress=False)
  assert solver.exploitability() == 0
