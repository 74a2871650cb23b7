"""The solver of played games: runs, files and matches; and that it converges where that can be known."""

import itertools

import jax
import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import expected_game_score, exploitability

import ps_cfr_spiel
from ps_cfr_spiel import SimulatedExternalSolver, SimulatedMCCFRSolver, memory
from ps_cfr_spiel.cfr import RMPlus
from ps_cfr_spiel.evaluation.match_play import match, player

SMALL = "cheat(ranks=3,suits=2,hand_size=2,max_turns=4)"


@pytest.fixture(scope="module")
def trained():
  solver = SimulatedMCCFRSolver(pyspiel.load_game(SMALL), batch=64, seed=1)
  solver.run(300)
  return solver


def test_counts(trained):
  assert (trained.iteration, trained.plays) == (300, 300 * 2 * 64)
  assert 2 * trained.plays <= trained.nodes <= 8 * trained.plays
  assert 0 < trained.average_policy().cells() <= trained.game.simulated_form().cells


@pytest.mark.parametrize("updates", ["together", "auto"])
def test_a_large_gamma_runs_on(updates):
  """t ** 10 leaves float32 at t = 4,093; the average's weights are those of float64 all the same."""
  game, averages = pyspiel.load_game("cheat(ranks=2,suits=1,hand_size=1,max_turns=2)"), []
  for dtype in ("float32", "float64"):
    solver = SimulatedMCCFRSolver(game, batch=1, rule=RMPlus(gamma=10.0), dtype=dtype, updates=updates)
    solver.run(9000)
    assert exploitability.exploitability(game, solver.average_policy()) < 1e-3
    averages.append(solver.average_policy().table)
  assert np.isfinite(averages[0]).all()


def test_a_large_gamma_is_that_of_a_written_sum():
  """The average of a run that begins late is what the policies of its iterations say, weighted one by one."""
  game = pyspiel.load_game("cheat(ranks=2,suits=1,hand_size=1,max_turns=2)")
  for updates in ("together", "auto"):
    solver = SimulatedMCCFRSolver(game, batch=8, rule=RMPlus(gamma=10.0), dtype="float64", updates=updates)
    uniform = SimulatedMCCFRSolver(game, batch=8, rule=RMPlus(gamma=0.0), dtype="float64", updates=updates)
    before, total = np.zeros_like(uniform.average_policy().table), 0.0
    for t in range(1, 70):
      for run in (solver, uniform):
        run.run(1)
      after = uniform.average_policy().table
      total, before = total + (t / 64) ** 10 * (after - before), after
    np.testing.assert_allclose(solver.average_policy().table, total, rtol=1e-9)


def test_it_beats_a_random_player(trained):
  policy = trained.average_policy()
  score = match(trained.game, player(policy), player("random"), 400).score
  assert score.wins > 3 * score.losses


def test_a_best_response_in_cheat():
  """To the play of one iteration: as good as OpenSpiel's in the mean of the seats, whose keys are shared."""
  game = pyspiel.load_game("cheat(ranks=2,suits=2,hand_size=2,max_turns=2)")
  weak = SimulatedMCCFRSolver(game, batch=8)
  weak.run(1)
  agent = weak.average_policy()
  best = [exploitability.best_response(game, agent, seat)["best_response_value"] for seat in (0, 1)]
  assert np.mean(best) > 0.1
  for updates in ("auto", "together"):
    solver = SimulatedMCCFRSolver(game, batch=64, updates=updates, against=agent)
    solver.run(400)
    response = solver.average_policy()
    start = game.new_initial_state()
    values = [
      expected_game_score.policy_value(start, [response, agent])[0],
      expected_game_score.policy_value(start, [agent, response])[1],
    ]
    assert np.mean(values) == pytest.approx(np.mean(best), abs=0.03)
    assert solver.game_value > np.mean(best) / 2  # it explores


def test_a_start_from_a_smaller_game(trained):
  """Key by key: its policy as a single visit, its regrets as they are; then the run is any other."""
  solver = SimulatedMCCFRSolver(pyspiel.load_game("cheat(ranks=3,suits=3,hand_size=3)"), batch=64)
  solver.start_from(trained)
  agent, learned = solver.average_policy(), trained.average_policy()
  assert agent.cells() == learned.cells()
  for mine, theirs, moves in zip(
    *solver.game.simulated_form().shared(trained.game.simulated_form()), strict=True
  ):
    own, weights = agent.table[mine : mine + moves], learned.table[theirs : theirs + moves]
    np.testing.assert_allclose(own, weights / max(weights.sum(), 1e-30), rtol=1e-6)
  regrets, before = (run.current_policy().table for run in (solver, trained))
  assert sorted(regrets[regrets > 0]) == sorted(before[before > 0])
  solver.run(1)
  assert solver.average_policy().cells() > agent.cells()


def test_starts_that_cannot_be(trained):
  other = SimulatedMCCFRSolver(pyspiel.load_game("kuhn_poker"), cells=24)
  for solver, earlier, message in (
    (trained, trained, "this run has done 300 iterations; only a new one can start"),
    (SimulatedExternalSolver(trained.game), trained, "has not learned as SimulatedExternal"),
    (other, trained, "kuhn_poker.* shares no keys with cheat"),
    (SimulatedMCCFRSolver(trained.game), other, "shares no keys with kuhn_poker"),
  ):
    with pytest.raises(ValueError, match=message):
      solver.start_from(earlier)


def test_agents_that_cannot_be_played_against(trained):
  agent = trained.average_policy()
  kuhn = SimulatedMCCFRSolver(pyspiel.load_game("kuhn_poker"), cells=24)
  kuhn.run(1)
  for game, options, message in (
    ("cheat(ranks=2,suits=2,hand_size=2)", {"against": agent}, "the agent plays cheat"),
    (SMALL, {"against": agent.table[:5]}, r"weights of moves, at least 0; got float32.5"),
    ("kuhn_poker", {"against": kuhn.average_policy(), "key": "observation"}, "has the key 'infostate'"),
    ("kuhn_poker", {"against": kuhn.average_policy(), "cells": 3}, "The tables are full"),
  ):
    with pytest.raises(ValueError, match=message):
      SimulatedMCCFRSolver(pyspiel.load_game(game), **options)


def test_probabilities_are_of_the_legal_actions(trained):
  policy = trained.average_policy()
  state = trained.game.new_initial_state()
  rng = np.random.default_rng(0)
  while not state.is_terminal():
    if not state.is_chance_node():
      found = policy.action_probabilities(state)
      assert list(found) == state.legal_actions()
      assert sum(found.values()) == pytest.approx(1)
    state.apply_action(int(rng.choice(state.legal_actions())))
  with pytest.raises(ValueError):
    policy.action_probabilities(state)


def test_double_precision():
  solver = SimulatedMCCFRSolver(pyspiel.load_game(SMALL), batch=8, dtype="float64")
  solver.run(2)
  assert solver.average_policy().table.dtype == np.float64


@pytest.mark.parametrize(
  ("estimate", "updates"), [*itertools.product(("learned", "corrected"), ("auto", "together"))]
)
def test_exploitability_falls(estimate, updates):
  """By OpenSpiel's best response to the strategy, key by key, in a game where little is forgotten."""
  game = pyspiel.load_game("cheat(ranks=2,suits=2,hand_size=2,max_turns=2)")
  uniform = exploitability.exploitability(game, openspiel_policy.UniformRandomPolicy(game))
  solver = SimulatedMCCFRSolver(game, estimate, batch=64, updates=updates)
  solver.run(400)
  assert exploitability.exploitability(game, solver.average_policy()) < uniform / 4


def test_games_that_cannot_be_played():
  with pytest.raises(ValueError, match=r"kuhn_poker\(\) has no simulated_form"):
    SimulatedExternalSolver(pyspiel.load_game("kuhn_poker"))
  with pytest.raises(ValueError, match="players=3: keys are counted for two players only"):
    SimulatedMCCFRSolver(pyspiel.load_game("cheat(players=3)"))
  with pytest.raises(TypeError, match=r"game must be a pyspiel.Game, got str 'kuhn_poker'"):
    SimulatedMCCFRSolver("kuhn_poker")


def one_decision(unit):
  """A coin is guessed: heads win a unit twice as often as tails."""
  head = 'EFG 2 R "any" { "A" "B" } ""\nc "" 1 "" { "h" 0.66 "t" 0.34 } 0\n'
  guess = 'p "" 1 1 "i" {{ "h" "t" }} 0\nt "" {} "" {{ {} {} }}\nt "" {} "" {{ {} {} }}\n'
  heads, tails = guess.format(1, unit, -unit, 2, -unit, unit), guess.format(3, -unit, unit, 4, unit, -unit)
  return pyspiel.load_efg_game(head + heads + tails)


def test_any_unit_of_utility_or_none():
  """What is played does not depend on the unit, down to 1e-30; what is beyond is refused."""
  found = []
  for unit in (1.0, 1e-25, 1e25):
    solver = SimulatedMCCFRSolver(one_decision(unit), "corrected", batch=16, dtype="float32")
    solver.run(50)
    state = solver.game.new_initial_state().child(0)
    found.append(list(solver.average_policy().action_probabilities(state).values()))
  np.testing.assert_allclose(found[1:], [found[0]] * 2, rtol=1e-3)
  assert found[0][0] > 0.7
  for unit in (1e-40, 1e40):
    with pytest.raises(
      ValueError, match=r"cannot be played here: its largest utility.*expected 1e-30 to 1e\+30"
    ):
      SimulatedMCCFRSolver(one_decision(unit), dtype="float32")


def test_what_does_not_fit_is_refused_at_once(monkeypatch):
  game = pyspiel.load_game("kuhn_poker")
  monkeypatch.setattr(memory, "free_memory", lambda: 1e9)
  with pytest.raises(ValueError, match=r"100,000,000 cells and batch=256 needs about 3 GB.*1 GB are free"):
    SimulatedMCCFRSolver(game, cells=10**8)
  with pytest.raises(ValueError, match=r"GB for the samples of a batch\).*a smaller batch need less"):
    SimulatedMCCFRSolver(game, batch=10**7)


@pytest.mark.parametrize("wrong", [np.nan, -1.0, "x", 1j])
def test_an_agent_that_is_no_table(wrong):
  game = pyspiel.load_game("kuhn_poker")
  table = np.zeros(101).astype(type(wrong) if isinstance(wrong, str) else np.asarray(wrong).dtype)
  table[3] = wrong
  with pytest.raises(ValueError, match="against: expected an agent, or 101 weights of moves, at least 0"):
    SimulatedMCCFRSolver(game, cells=100, against=table)
  with pytest.raises(FloatingPointError, match="against: numbers left the range of float32"):
    SimulatedMCCFRSolver(game, cells=100, against=np.full(101, 1e300))


def test_keys_that_no_run_can_have():
  """Those of a run are taken, and say where its table's weights belong; nothing else is."""
  game = pyspiel.load_game("kuhn_poker")
  earlier = SimulatedMCCFRSolver(game, cells=24)
  earlier.run(20, progress=False)
  keys = earlier._host.table.arrays()
  assert SimulatedMCCFRSolver(game, cells=24, keys=keys)._host.table.known == earlier._host.table.known
  digests, players, counts = keys
  wrong = (
    3,
    (digests, players),
    (digests[:, :8], players, counts),
    (digests, players[:-1], counts),
    (digests, players + 2, counts),
    (digests, players, counts - 9),
    (digests, players, counts / 2),
    (digests.tolist(), players, counts),
  )
  for keys in wrong:
    with pytest.raises(ValueError, match=r"keys: expected those of an earlier run: digests uint8\[n, 16\]"):
      SimulatedMCCFRSolver(game, cells=24, keys=keys)
  with pytest.raises(ValueError, match="has its own keys; leave out those of another game"):
    SimulatedMCCFRSolver(pyspiel.load_game(SMALL), keys=(digests, players, counts))


def test_a_start_from_another_kind_of_solver():
  game = pyspiel.load_game("kuhn_poker")
  with pytest.raises(ValueError, match="start_from: expected a solver of a simulated game, got PSCFRSolver"):
    SimulatedMCCFRSolver(game).start_from(ps_cfr_spiel.PSCFRSolver(game))


def test_a_played_solver_offers_what_it_can():
  """It has a summary, and no method of those that need all histories."""
  game = pyspiel.load_game("cheat(ranks=2,suits=1,hand_size=1,max_turns=2)")
  solver = SimulatedMCCFRSolver(game, batch=1)
  cells, tables = solver._host.cells, sum(x.nbytes for x in jax.tree.leaves(solver._state.tables))
  assert str(game) in solver.summary() and f"{cells:,} moves of keys" in solver.summary()
  assert f"{tables / 1e6:,.3g} MB" in solver.summary()
  assert not {"tree", "evaluation", "exploitability", "value"} & set(dir(solver))
