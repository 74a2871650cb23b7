"""The solver of played games: runs, files and matches; and that it converges where that can be known."""

import jax
import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import expected_game_score, exploitability
from ps_cfr_spiel.games.cheat import keyed_cheat

import ps_cfr_spiel
from ps_cfr_spiel import KeyedExternalSolver, KeyedMCCFRSolver, memory
from ps_cfr_spiel.cfr import RMPlus
from ps_cfr_spiel.evaluation.match_play import match, player
from ps_cfr_spiel.sampling.keyed import NativePlays, StatePlays

SMALL = "cheat(ranks=3,suits=2,hand_size=2,max_turns=4)"


@pytest.fixture(scope="module")
def trained():
  solver = KeyedMCCFRSolver(pyspiel.load_game(SMALL), batch=64, seed=1)
  solver.run(300)
  return solver


def test_counts(trained):
  assert (trained.iteration, trained.plays) == (300, 300 * 2 * 64)
  assert 2 * trained.plays <= trained.nodes <= 8 * trained.plays
  assert 0 < trained.cells <= trained.game.keyed_form().cells


def test_a_large_gamma_runs_on():
  """t ** 10 leaves float32 at t = 4,093; the average's weights are those of float64 all the same."""
  game, averages = pyspiel.load_game("cheat(ranks=2,suits=1,hand_size=1,max_turns=2)"), []
  for dtype in ("float32", "float64"):
    solver = KeyedMCCFRSolver(game, batch=1, rule=RMPlus(gamma=10.0), dtype=dtype)
    solver.run(9000)
    assert exploitability.exploitability(game, solver.average_policy()) < 1e-3
    averages.append(solver.average_policy().table)
  assert np.isfinite(averages[0]).all()


@pytest.mark.parametrize("name", ["cheat(ranks=2,suits=1,hand_size=1,max_turns=2)", "kuhn_poker"])
def test_a_large_gamma_is_that_of_a_written_sum(name):
  """The average of a run that begins late is what the policies of its iterations say, weighted one by one."""
  game = pyspiel.load_game(name)
  options = {"batch": 8, "dtype": "float64", "cells": 24 if name == "kuhn_poker" else None}
  solver, uniform = (KeyedMCCFRSolver(game, rule=RMPlus(gamma=gamma), **options) for gamma in (10.0, 0.0))
  before, total = np.zeros_like(uniform.average_policy().table), 0.0
  for t in range(1, 70):
    for run in (solver, uniform):
      run.run(1)
    after = uniform.average_policy().table
    total, before = total + (t / 64) ** 10 * (after - before), after
  np.testing.assert_allclose(solver.average_policy().table, total, rtol=1e-9)


def test_a_policy_in_bytes_plays_as_the_run(trained, tmp_path):
  whole = trained.average_policy()
  whole.save(tmp_path / "policy.safetensors")
  packed = ps_cfr_spiel.load_policy(tmp_path / "policy.safetensors")
  first, _, moves = whole.form.shared(whole.form)
  for cell, count in zip(first.tolist(), moves.tolist(), strict=True):
    exact, rounded = (policy.shares(slice(cell, cell + count)) for policy in (whole, packed))
    np.testing.assert_allclose(rounded, exact, atol=count / 510)
  solver = KeyedMCCFRSolver(pyspiel.load_game("kuhn_poker"), batch=2, cells=100)
  with pytest.raises(ValueError, match="does not list its keys; save the solver's run instead"):
    solver.average_policy().save(tmp_path / "kuhn.safetensors")


def test_it_beats_a_random_player(trained):
  policy = trained.average_policy()
  score = match(trained.game, player(policy), player("random"), 400).score
  assert score.wins > 3 * score.losses


@pytest.fixture(params=["native", "states"])
def way(request, monkeypatch):
  """Plays of Cheat in C++, or of its states."""
  if request.param == "states":
    monkeypatch.setattr(keyed_cheat, "why_unavailable", lambda: "not here")
  return {"native": NativePlays, "states": StatePlays}[request.param]


def test_a_best_response_in_cheat(way):
  """To the play of one iteration: as good as OpenSpiel's in the mean of the seats, whose keys are shared."""
  game = pyspiel.load_game("cheat(ranks=2,suits=2,hand_size=2,max_turns=2)")
  weak = KeyedMCCFRSolver(game, batch=8)
  weak.run(1)
  agent = weak.average_policy()
  best = [exploitability.best_response(game, agent, seat)["best_response_value"] for seat in (0, 1)]
  assert np.mean(best) > 0.1
  solver = KeyedMCCFRSolver(game, batch=64, against=agent)
  assert type(solver._sampler) is way
  solver.run(400 if way is NativePlays else 60)
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
  solver = KeyedMCCFRSolver(pyspiel.load_game("cheat(ranks=3,suits=3,hand_size=3)"), batch=64)
  solver.start_from(trained)
  agent, learned = solver.average_policy(), trained.average_policy()
  assert solver.cells == trained.cells
  for mine, theirs, moves in zip(*solver.game.keyed_form().shared(trained.game.keyed_form()), strict=True):
    own, weights = agent.table[mine : mine + moves], learned.table[theirs : theirs + moves]
    np.testing.assert_allclose(own, weights / max(weights.sum(), 1e-30), rtol=1e-6)
  regrets, before = (run.current_policy().table for run in (solver, trained))
  assert sorted(regrets[regrets > 0]) == sorted(before[before > 0])
  solver.run(1)
  assert solver.cells > trained.cells


def test_starts_that_cannot_be(trained):
  other = KeyedMCCFRSolver(pyspiel.load_game("kuhn_poker"), cells=24)
  for solver, earlier, message in (
    (trained, trained, "this run has done 300 iterations; only a new one can start"),
    (KeyedExternalSolver(trained.game), trained, "has not learned as KeyedExternal"),
    (other, trained, "kuhn_poker.* shares no keys with cheat"),
    (KeyedMCCFRSolver(trained.game), other, "shares no keys with kuhn_poker"),
  ):
    with pytest.raises(ValueError, match=message):
      solver.start_from(earlier)


def test_agents_that_cannot_be_played_against(trained):
  agent = trained.average_policy()
  kuhn = KeyedMCCFRSolver(pyspiel.load_game("kuhn_poker"), cells=24)
  kuhn.run(1)
  for game, options, message in (
    ("cheat(ranks=2,suits=2,hand_size=2)", {"against": agent}, "the agent plays cheat"),
    (SMALL, {"against": agent.table[:5]}, r"weights of moves, at least 0; got float32.5"),
    ("kuhn_poker", {"against": kuhn.average_policy(), "key": "observation"}, "has the key 'infostate'"),
    ("kuhn_poker", {"against": kuhn.average_policy(), "cells": 3}, "The tables are full"),
  ):
    with pytest.raises(ValueError, match=message):
      KeyedMCCFRSolver(pyspiel.load_game(game), **options)


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
  solver = KeyedMCCFRSolver(pyspiel.load_game(SMALL), batch=8, dtype="float64")
  solver.run(2)
  assert solver.average_policy().table.dtype == np.float64


@pytest.mark.parametrize(
  ("way", "estimate"),
  [("native", "learned"), ("native", "corrected"), ("states", "corrected")],
  indirect=["way"],
)
def test_exploitability_falls(estimate, way):
  """OpenSpiel's best response to the strategy, key by key, wins less, in a game where little is forgotten.

  States play with learned values in `test_a_best_response_in_cheat`.
  """
  game = pyspiel.load_game("cheat(ranks=2,suits=2,hand_size=2,max_turns=2)")
  uniform = exploitability.exploitability(game, openspiel_policy.UniformRandomPolicy(game))
  solver = KeyedMCCFRSolver(game, estimate, batch=64)
  assert type(solver._sampler) is way
  solver.run(400 if way is NativePlays else 60)
  assert exploitability.exploitability(game, solver.average_policy()) < uniform / 4


def test_games_that_cannot_be_played():
  with pytest.raises(ValueError, match=r"kuhn_poker\(\) has no keyed_form"):
    KeyedExternalSolver(pyspiel.load_game("kuhn_poker"))
  with pytest.raises(ValueError, match="key='memory': what both players know is for two"):
    KeyedMCCFRSolver(pyspiel.load_game("cheat(players=3)"), key="memory")
  with pytest.raises(TypeError, match=r"game must be a pyspiel.Game, got str 'kuhn_poker'"):
    KeyedMCCFRSolver("kuhn_poker")


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
    solver = KeyedMCCFRSolver(one_decision(unit), "corrected", batch=16, dtype="float32")
    solver.run(50)
    state = solver.game.new_initial_state().child(0)
    found.append(list(solver.average_policy().action_probabilities(state).values()))
  np.testing.assert_allclose(found[1:], [found[0]] * 2, rtol=1e-3)
  assert found[0][0] > 0.7
  for unit in (1e-40, 1e40):
    with pytest.raises(
      ValueError, match=r"cannot be played here: its largest utility.*expected 1e-30 to 1e\+30"
    ):
      KeyedMCCFRSolver(one_decision(unit), dtype="float32")


def test_what_does_not_fit_is_refused_at_once(monkeypatch):
  game = pyspiel.load_game("kuhn_poker")
  monkeypatch.setattr(memory, "free_memory", lambda: 1e9)
  with pytest.raises(ValueError, match=r"100,000,000 cells and batch=256 needs about 3 GB.*1 GB are free"):
    KeyedMCCFRSolver(game, cells=10**8)
  with pytest.raises(ValueError, match=r"GB for the samples of a batch\).*a smaller batch need less"):
    KeyedMCCFRSolver(pyspiel.load_game(SMALL), batch=10**7)


def test_a_batch_of_plays_that_nothing_could_interrupt_is_refused():
  game = pyspiel.load_game("kuhn_poker")
  for batch in (2**20 + 1, 2_000_000_000):
    with pytest.raises(
      ValueError, match=rf"batch={batch:,}: .* at most 1,048,576 are allowed; choose a smaller"
    ):
      KeyedMCCFRSolver(game, batch=batch)
  assert KeyedMCCFRSolver(game, batch=2**20).options.batch == 2**20


@pytest.mark.parametrize("wrong", [np.nan, -1.0, "x", 1j])
def test_an_agent_that_is_no_table(wrong):
  game = pyspiel.load_game("kuhn_poker")
  table = np.zeros(100).astype(type(wrong) if isinstance(wrong, str) else np.asarray(wrong).dtype)
  table[3] = wrong
  with pytest.raises(ValueError, match="against: expected an agent, or 100 weights of moves, at least 0"):
    KeyedMCCFRSolver(game, cells=100, against=table)
  with pytest.raises(FloatingPointError, match="against: numbers left the range of float32"):
    KeyedMCCFRSolver(game, cells=100, against=np.full(100, 1e300))


def test_keys_that_no_run_can_have():
  """Those of a run are taken, and say where its table's weights belong; nothing else is."""
  game = pyspiel.load_game("kuhn_poker")
  earlier = KeyedMCCFRSolver(game, cells=24)
  earlier.run(20, progress=False)
  keys = earlier._form.table.arrays()
  assert KeyedMCCFRSolver(game, cells=24, keys=keys)._form.table.known == earlier._form.table.known
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
      KeyedMCCFRSolver(game, cells=24, keys=keys)
  with pytest.raises(ValueError, match="has its own keys; leave out those of another game"):
    KeyedMCCFRSolver(pyspiel.load_game(SMALL), keys=(digests, players, counts))


def test_a_start_from_another_kind_of_solver():
  game = pyspiel.load_game("kuhn_poker")
  with pytest.raises(ValueError, match="start_from: expected a solver of a keyed game, got PSCFRSolver"):
    KeyedMCCFRSolver(game).start_from(ps_cfr_spiel.PSCFRSolver(game))


def test_a_played_solver_offers_what_it_can():
  """It has a summary, and no method of those that need all histories."""
  game = pyspiel.load_game("cheat(ranks=2,suits=1,hand_size=1,max_turns=2)")
  solver = KeyedMCCFRSolver(game, batch=1)
  cells, tables = solver._form.cells, sum(x.nbytes for x in jax.tree.leaves(solver._state.tables))
  assert str(game) in solver.summary() and f"{cells:,} moves of keys" in solver.summary()
  assert f"{tables / 1e6:,.3g} MB" in solver.summary()
  assert not {"tree", "evaluation", "exploitability", "value"} & set(dir(solver))


@pytest.mark.parametrize("solver", [KeyedExternalSolver, KeyedMCCFRSolver])
def test_every_player_has_a_turn(solver):
  of_three = solver(pyspiel.load_game("cheat(players=3,ranks=3,suits=2,hand_size=2,max_turns=6)"), batch=1)
  assert of_three._sampler.players(of_three._matchup) == 3
