"""What holds for every solver: runs in parts, files, copies, interrupts, policies, convergence, mistakes."""

import copy
import functools
import gc
import pickle
import weakref

import jax
import numpy as np
import pyspiel
import pytest
from every_solver import KUHN, NOBODY, ONE, ROWS, each_row, every_class
from interrupts import assert_same, pressing
from open_spiel.python.algorithms import exploitability as openspiel_exploitability
from open_spiel.python.algorithms.expected_game_score import policy_value
from open_spiel.python.policy import UniformRandomPolicy
from reference import sequence_form_value

from ps_cfr_spiel import ContinualResolving, OnlineOutcomeSampling, load_policy, load_solver, solvers
from ps_cfr_spiel.cfr import RMPlus
from ps_cfr_spiel.sampling.mccfr import OutcomeSampling
from ps_cfr_spiel.solvers.exact import ExactSolver, TreeSolver

WAYS = {"pickle": lambda x: pickle.loads(pickle.dumps(x)), "deepcopy": copy.deepcopy}


def test_these_are_all_solvers():
  assert every_class() == {row.kind for row in ROWS.values()}


def rest(solver):
  """Iterations that cross the ends of two blocks of random numbers, where a solver draws them in blocks."""
  if isinstance(solver, solvers.SamplingSolver):
    return 2 * solver.sampler.block(solver.sampling_tree, solver.options.batch) + 1
  return 5


@each_row()
def test_parts_files_and_copies_go_on_to_the_bits_of_a_run_in_one_piece(name, tmp_path):
  """With the same description, and a file of a run is also one of its policy."""
  row, path = ROWS[name], tmp_path / "run.safetensors"
  whole, parts = row.solver(), row.solver()
  more = rest(whole)
  whole.run(4 + more)
  parts.run(3)
  parts.evaluate_and_update_policy()
  parts.save(path)
  given = {option: row.options[option] for option in row.given}
  resumed = type(parts).load(path, **given)
  copies = [way(parts) for way in WAYS.values()]
  assert parts.is_saved_in(path)
  for solver in (parts, resumed, *copies):
    assert str(solver.game) == str(whole.game) and solver.summary() == whole.summary()
    assert solver.description == whole.description
    assert (solver.iteration, solver.dtype) == (4, whole.dtype)
    solver.run(more)
    assert_same(solver, whole)
    assert solver._header() == whole._header()
    assert type(solver) is row.kind
  if isinstance(whole, ExactSolver):
    assert resumed.exploitability() == whole.exploitability() == copies[0].exploitability()
  if isinstance(whole, TreeSolver) and whole.abstraction is not None:
    for one, other in zip(resumed.abstraction.sets, whole.abstraction.sets, strict=True):
      np.testing.assert_array_equal(one, other)
  if not given:
    whole.save(path)
    assert type(load_solver(path)) is row.kind
    for state in some_decisions(whole.game):
      expected = whole.average_policy().action_probabilities(state)
      assert load_policy(path).action_probabilities(state) == expected


@each_row()
def test_a_deleted_solver_is_gone_at_once(name):
  """Not with the next collection of garbage: the values of a flop's actions need the memory of its run."""
  solver = ROWS[name].solver()
  solver.run(2, progress=False)
  solver.evaluate_and_update_policy()
  policy, gone = solver.average_policy(), weakref.ref(solver)
  gc.disable()
  try:
    del solver
    assert gone() is None and policy is not None
  finally:
    gc.enable()


@pytest.mark.usefixtures("ctrl_c")
@each_row(lambda row: not row.given)
def test_ctrl_c_between_an_iteration_and_its_result_loses_neither(name, monkeypatch, tmp_path):
  """Nor the checkpoint, in tables that change in place; what is left of the run has the bits of the whole."""
  monkeypatch.setattr("ps_cfr_spiel.solvers.ps_cfr.LARGE", 0)
  whole, solver = ROWS[name].solver(), ROWS[name].solver()
  plain = type(solver)._step
  step = pressing(lambda *given: jax.block_until_ready(plain(*given)), after=True)
  whole.run(6)
  solver.run(2)
  with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
    patch.setattr(type(solver), "_step", step)
    solver.run(4, checkpoint=tmp_path / "run.safetensors")
  assert 2 <= solver.iteration <= 6
  kept = load_solver(tmp_path / "run.safetensors")
  assert_same(kept, solver)
  solver.average_policy()
  for one in (solver, kept):
    one.run(6 - one.iteration)
    assert_same(one, whole)


@each_row()
def test_a_callback_sees_its_schedule_and_ends_the_run(name, tmp_path):
  """By True, or an exception, which keeps what was reached; and counts that cannot be are refused."""
  solver, seen = ROWS[name].solver(), []
  solver.run(5, every=2, callback=lambda s: seen.append(s.iteration))
  assert seen == [2, 4, 5]
  solver.run(10, every=2, callback=lambda s: s.iteration >= 8)
  assert solver.iteration == 9

  def stop(solver):
    raise KeyboardInterrupt

  with pytest.raises(KeyboardInterrupt):
    solver.run(4, every=2, callback=stop, checkpoint=tmp_path / "run.safetensors")
  given = {option: ROWS[name].options[option] for option in ROWS[name].given}
  again = type(solver).load(tmp_path / "run.safetensors", **given)
  for arguments, message in (
    ({"iterations": -5}, "iterations must be an integer of at least 0, got -5"),
    ({"iterations": 1.5}, "iterations must be an integer"),
    ({"iterations": 5, "every": 0}, "every must be an integer of at least 1, got 0"),
  ):
    with pytest.raises(ValueError, match=message):
      solver.run(**arguments)
  solver.run(0)
  assert solver.iteration == again.iteration == 11
  for run in (solver, again):
    run.run(2)
  assert_same(again, solver)


def some_decisions(game):
  """States where somebody decides, of one line of play by a seed."""
  rng, state, found = np.random.default_rng(1), game.new_initial_state(), []
  while not state.is_terminal():
    if state.is_chance_node():
      actions, odds = zip(*state.chance_outcomes(), strict=True)
      state.apply_action(int(rng.choice(actions, p=odds)))
    else:
      found.append(state.clone())
      state.apply_action(int(rng.choice(state.legal_actions())))
  return found


@each_row()
def test_policies_are_distributions_and_copies_answer_alike(name):
  solver = ROWS[name].solver()
  solver.run(3)
  policies = {"average": solver.average_policy(), "current": solver.current_policy()}
  for kind, policy in policies.items():
    others = [way(policy) for way in WAYS.values()]
    assert policy.info["policy"].endswith(kind) and policy.info["solver"] == type(solver).__name__
    for state in some_decisions(solver.game):
      answer = policy.action_probabilities(state)
      assert list(answer) == state.legal_actions() and min(answer.values()) >= 0
      assert sum(answer.values()) == pytest.approx(1, abs=1e-5)
      assert all(other.action_probabilities(state) == answer for other in others)
  before = [policies["average"].action_probabilities(state) for state in some_decisions(solver.game)]
  solver.run(3)  # a policy that was given out is a copy
  assert [policies["average"].action_probabilities(state) for state in some_decisions(solver.game)] == before


@functools.cache
def value_of(name):
  """The value of a game to player 0 by a linear program."""
  return sequence_form_value(pyspiel.load_game(name))


@functools.cache
def uniform_exploitability(name):
  """That of uniform play, by OpenSpiel."""
  game = pyspiel.load_game(name)
  return openspiel_exploitability.exploitability(game, UniformRandomPolicy(game))


@each_row(lambda row: row.iterations is not None)
def test_exploitability_falls_and_is_openspiels(name):
  """From that of uniform play; the value comes as near to the linear program's as that allows."""
  row = ROWS[name]
  solver, start = row.solver(), uniform_exploitability(row.game)
  solver.run(row.iterations)
  policy = solver.average_policy()
  exact = openspiel_exploitability.exploitability(solver.game, policy)
  assert -1e-6 < exact < row.share * start
  value = policy_value(solver.game.new_initial_state(), [policy, policy])[0]
  assert abs(value - value_of(row.game)) <= 2 * exact + 1e-6 * start
  if isinstance(solver, ExactSolver):
    assert solver.exploitability() == pytest.approx(exact, abs=1e-5 * start)
    assert solver.value() == pytest.approx(value, abs=1e-5 * start)
    low, high = -solver.evaluation().best_response[1], solver.evaluation().best_response[0]
    assert low - 1e-5 * start <= value_of(row.game) <= high + 1e-5 * start


NOT_ANY_GAME = {
  "SamplingSolver",
  "HierarchicalMCCFRSolver",
  "KeyedExternalSolver",
}  # or no sampler of its own


@pytest.mark.parametrize("kind", sorted({row.kind.__name__ for row in ROWS.values()} - NOT_ANY_GAME))
@pytest.mark.parametrize("text", [NOBODY, ONE], ids=["nobody", "one"])
def test_games_in_which_hardly_anybody_decides(kind, text):
  """Every solver has the value that chance gives them, and plays what it is asked about."""
  game = pyspiel.load_efg_game(text)
  solver = getattr(solvers, kind)(game)
  solver.run(1000 if isinstance(solver, ExactSolver) else 20)
  policy = solver.average_policy()
  for state in some_decisions(game):
    assert sum(policy.action_probabilities(state).values()) == pytest.approx(1)
  if isinstance(solver, ExactSolver):
    assert solver.exploitability() == pytest.approx(0, abs=0.05)
    assert solver.value() == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("kind", [ContinualResolving, OnlineOutcomeSampling])
def test_copies_of_policies_that_search_answer_alike(kind):
  game = pyspiel.load_game(KUHN)
  policy = kind(game, iterations=3)
  for state in some_decisions(game):
    for way in WAYS.values():
      assert way(policy).action_probabilities(state) == policy.action_probabilities(state)


def test_a_file_of_other_options_is_another_run(tmp_path):
  game = pyspiel.load_game(KUHN)
  solvers.PSCFRSolver(game, bits=16).save(tmp_path / "run.safetensors")
  with pytest.raises(ValueError, match="bits"):
    solvers.PSCFRSolver(game).is_saved_in(tmp_path / "run.safetensors")


SAMPLED = [
  ({"batch": 0}, "batch must be an integer of at least 1, got 0"),
  ({"seed": -1}, "seed must be an integer from 0 to .* got -1"),
  ({"seed": 2**32}, "seed must be an integer"),
  ({"rule": 1}, "Expected a rule such as"),
  ({"rule": "dcfr"}, r"Sampling takes the rules 'rm'.* and .*, got 'dcfr'"),
]
PLAYED = [
  ({"decay": 2}, "decay must be a number from 0 to 1, got 2"),
  ({"batch": 2**31}, "batch must be at most 2147483647"),
]
MISTAKES = {
  "PS-CFR": [
    ({"rule": "nrn"}, "Unknown rule 'nrn'"),
    ({"leaves": "fast"}, "Unknown leaves 'fast'"),
    ({"averaging_delay": -1}, "averaging_delay must be an integer of at least 0, got -1"),
    ({"alternating": "yes"}, "alternating must be True or False, got 'yes'"),
    ({"abstraction": "suits"}, "Unknown key 'suits'"),
  ],
  "fictitious play": [({"public_states": "some"}, "Unknown public_states 'some'")],
  "FPIRA": [({"abstraction": "suits"}, "Unknown key 'suits'")],
  "CFR+IRA": [
    ({"bound": -1}, "bound must be an integer of at least 0, got -1"),
    ({"heuristic": 1.5}, "heuristic must be an integer of at least 0, got 1.5"),
    ({"seed": -1}, "seed must be an integer from 0"),
    ({"tolerance": -1}, "tolerance must be a number from 0"),
    ({"relative": 1}, "relative must be True or False, got 1"),
    ({"abstraction": "suits"}, "Unknown key 'suits'"),
  ],
  "external sampling": SAMPLED,
  "outcome sampling": [
    *SAMPLED,
    ({"exploration": 0}, "exploration must be a number above 0 and at most 1, got 0"),
  ],
  "VR-MCCFR": [
    *SAMPLED,
    ({"baseline": "best"}, "Unknown baseline 'best'; choose one of 'learned', 'zero', 'oracle'"),
    ({"trajectories": "all"}, "Unknown trajectories 'all'; choose one of 'histories', 'public'"),
    ({"exploration": float("nan")}, "exploration must be .* got nan"),
    ({"decay": 1.5}, "decay must be a number from 0 to 1, got 1.5"),
    ({"chance_baseline": "no"}, "chance_baseline must be True or False, got 'no'"),
  ],
  "a sampler of one's own": [*SAMPLED, ({"sampler": OutcomeSampling}, "Expected a sampler such as")],
  "played": [
    *SAMPLED,
    *PLAYED,
    ({"estimate": "exact"}, "Unknown estimate 'exact'; choose one of 'learned', 'corrected'"),
    ({"exploration": 0}, "exploration must be a number above 0"),
    (
      {"estimate": "learned", "decay": 0},
      "decay=0 learns no values; estimate='learned' needs a decay above 0",
    ),
    ({"most_weight": 0.5}, "most_weight must be a number from 1 to 1e.30, got 0.5"),
    ({"most_weight": 10**400}, r"most_weight must be a number from 1 to 1e\+30"),
    ({"rule": RMPlus(gamma=4.0).gamma}, "Expected a rule such as"),
    ({"rule": "lcfr"}, "Sampling takes the rules 'rm' and 'rm.'"),
    ({"decay_power": -0.5}, "decay_power must be a number from 0 to 1, got -0.5"),
  ],
  "traversed in C++": [
    *PLAYED,
    ({"updates": "late"}, "Unknown updates 'late'; choose one of 'at_once', 'together'"),
    ({"depth": 0}, "depth must be an integer of at least 1, got 0"),
    ({"pruning": "all"}, "Unknown pruning 'all'; choose one of 'none', 'regret', 'best_response'"),
    ({"decay": -1}, "decay must be a number from 0 to 1"),
    ({"most_nodes": 0}, "most_nodes must be an integer of at least 1"),
    ({"batch": 10**9}, "2,000 GB for the samples of a batch"),
  ],
  "hierarchical": [
    *SAMPLED,
    ({"clusters": 7}, "clusters=7: there are only 3 boards"),
    ({"boards": 2**32 - 1}, "boards must be at most 2147483647"),
    ({"abstraction": 5}, "abstraction must be one of make_abstraction or load_abstraction, got 5"),
    ({"rule": "dcfr"}, r"Sampling takes the rules 'rm', 'rm\+' and 'lcfr'"),
    ({"pruning": -100.0}, "are never negative; choose rule='rm' or 'lcfr'"),
    ({"rule": "lcfr", "pruning": 0}, "give a negative regret"),
  ],
}


def test_every_solver_has_mistakes_to_refuse():
  assert every_class() == {ROWS[name].kind for name in MISTAKES}


@pytest.mark.parametrize(
  ("name", "options", "message"), [(name, *row) for name, rows in MISTAKES.items() for row in rows]
)
def test_mistaken_options_are_refused(name, options, message):
  row = ROWS[name]
  with pytest.raises(ValueError, match=message):
    row.kind(pyspiel.load_game(row.game), **{**row.options, **options})


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_that_all_solvers_refuse(name):
  row = ROWS[name]
  with pytest.raises(ValueError, match=r"Unknown dtype 'float16'; choose one of 'float32', 'float64'"):
    row.kind(pyspiel.load_game(row.game), **{**row.options, "dtype": "float16"})
  for game in (None, "kuhn_poker"):
    with pytest.raises(TypeError, match=r"game must be a pyspiel.Game, got (NoneType|str 'kuhn_poker')"):
      row.kind(game, **row.options)
  with pytest.raises(TypeError, match="colour"):
    row.kind(pyspiel.load_game(row.game), **{**row.options, "colour": 1})
