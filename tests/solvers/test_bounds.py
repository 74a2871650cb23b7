"""Runs end where their numbers do: utilities of all sizes, overflow, the last iteration that is counted."""

import re

import jax
import numpy as np
import pyspiel
import pytest
from edited_files import rewrite

import ps_cfr_spiel
from ps_cfr_spiel import ContinualResolving, OutcomeSamplingSolver, PSCFRSolver
from ps_cfr_spiel.apps.commands import program
from ps_cfr_spiel.arguments import MOST_ITERATIONS
from ps_cfr_spiel.rules import RM, RULES

PAYOFFS = np.array([[3.0, -1.0, 0.5], [-2.0, 1.0, 0.0], [1.0, 0.0, -1.5]])


def matrix_game(scale):
  payoffs = PAYOFFS * scale
  game = pyspiel.create_matrix_game(payoffs.tolist(), (-payoffs).tolist())
  return pyspiel.convert_to_turn_based(game)


@pytest.mark.parametrize("rule", RULES)
def test_utilities_of_all_sizes(rule):
  """The same play, and exploitability in proportion, in float32."""
  shares = []
  for scale in (1.0, 2.0**-97, 2.0**97):  # about 6e-30 and 2e29
    solver = PSCFRSolver(matrix_game(scale), rule)
    solver.run(200)
    shares.append(solver.exploitability() / scale)
    assert ps_cfr_spiel.exploitability(solver.game, solver.average_policy()) / scale == pytest.approx(
      shares[-1], rel=1e-2, abs=1e-6
    )
  assert shares[0] > 0
  np.testing.assert_allclose(shares[1:], shares[0], rtol=1e-2, atol=1e-6)


@pytest.mark.parametrize("scale", [3e36, 1e-37, 1e300, 1e-300])
def test_utilities_beyond_are_refused(scale):
  with pytest.raises(ValueError, match=re.escape(f"{3 * scale:.3g}; expected 1e-30 to 1e+30")):
    PSCFRSolver(matrix_game(scale))
  report = ps_cfr_spiel.check_game(matrix_game(scale))
  assert not report.solvable and "FAIL" in str(report) and "another unit" in str(report)


class Exploding(RM):
  """Regret matching that multiplies what it has by ten in each iteration."""

  def update(self, state, strategy, regret, t):
    total, strategy = super().update(state * 10, strategy, regret, t)
    return total, strategy


def test_overflow_ends_a_run(tmp_path):
  solver = PSCFRSolver(pyspiel.load_game("kuhn_poker"), Exploding())
  solver.run(3)  # found sound at its end; a quick machine does the rest before the next look
  with pytest.raises(FloatingPointError, match=r"Exploding .* left the range of float32; dtype='float64'"):
    solver.run(1000, checkpoint=tmp_path / "run.safetensors")
  reached = solver.iteration
  assert 3 <= reached < 1003
  assert np.isfinite(solver.exploitability())
  kept = PSCFRSolver.load(tmp_path / "run.safetensors", rule=Exploding())
  assert kept.iteration == reached
  assert all(np.isfinite(x).all() for x in jax.tree.leaves(kept._state))


def test_the_program_keeps_what_was_reached(tmp_path, monkeypatch, capsys):
  monkeypatch.setitem(RULES, "rm", Exploding)
  words = [
    "solve",
    "kuhn_poker",
    "--rule=rm",
    "--iterations=500",
    f"--output={tmp_path}",
    "--noplot",
    "--quiet",
  ]
  assert program.run(words) == 2
  error = capsys.readouterr().err
  found = re.search(
    r"left the range of float32.* The run up to iteration (\d+) is in .*run\.safetensors", error
  )
  assert error.count("\n") == 1 and found
  assert PSCFRSolver.load(tmp_path / "run.safetensors", rule=Exploding()).iteration == int(found[1]) > 0


def test_overflow_ends_a_search():
  resolving = ContinualResolving(pyspiel.load_game("kuhn_poker"), 200, rule=Exploding())
  with pytest.raises(FloatingPointError, match=r"The search from public states \[0\]"):
    resolving.tabularise()


def test_overflow_ends_sampling():
  solver = OutcomeSamplingSolver(pyspiel.load_game("kuhn_poker"), rule="rm+")
  tables = solver._state.tables
  spoilt = tables._replace(regrets=tables.regrets.at[:, 0].set(3e38))
  solver._state = solver._state._replace(tables=spoilt)
  with pytest.raises(FloatingPointError, match="OutcomeSampling"):
    solver.run(1000)


def test_nan_does_not_become_uniform_play():
  weights = np.array([[[np.nan, 0.0, 2.0]], [[1.0, 0.0, 6.0]]])
  shares = np.asarray(ps_cfr_spiel.cfr.normalise(weights))
  assert np.isnan(shares[:, 0, 0]).all()
  np.testing.assert_allclose(shares[:, 0, 1:], [[0.5, 0.25], [0.5, 0.75]])


@pytest.mark.parametrize("kind", [PSCFRSolver, OutcomeSamplingSolver])
def test_the_last_iteration(kind, tmp_path):
  """A run gets there, says so, and goes no further; what it counts beside iterations does not overflow."""
  path = tmp_path / "run.safetensors"
  solver = kind(pyspiel.load_game("kuhn_poker"), **({"rule": "rm+"} if kind is OutcomeSamplingSolver else {}))
  solver.run(20)
  solver.save(path)
  rewrite(
    path, {"iteration": MOST_ITERATIONS - 30}, {"state0": lambda _: np.array(MOST_ITERATIONS - 30, np.int32)}
  )
  solver = kind.load(path)
  with pytest.raises(ValueError, match="has done 1,999,999,970, and a run has at most 2,000,000,000"):
    solver.run(31)
  solver.run(30)
  assert solver.iteration == MOST_ITERATIONS
  assert 0 <= solver.exploitability() < 1
  with pytest.raises(ValueError, match="iterations=1: this run has done 2,000,000,000"):
    solver.run(1)


@pytest.mark.parametrize(
  "options, message",
  [
    ({"checkpoint_seconds": "x"}, "checkpoint_seconds must be a number of at least 0, got 'x'"),
    ({"checkpoint_seconds": float("nan")}, "checkpoint_seconds must be .* got nan"),
    ({"checkpoint_seconds": -1}, "checkpoint_seconds must be .* got -1"),
    ({"callback": 3}, "callback must be a function of the solver, got 3"),
    ({"iterations": 10**30}, "iterations must be at most"),
  ],
)
def test_bad_arguments_of_run(options, message):
  solver = PSCFRSolver(pyspiel.load_game("kuhn_poker"))
  with pytest.raises(ValueError, match=message):
    solver.run(**{"iterations": 10, **options})
  assert solver.iteration == 0


def test_bad_arguments_elsewhere():
  game = pyspiel.load_game("kuhn_poker")
  with pytest.raises(ValueError, match=r"Unknown rule \[\]"):
    ps_cfr_spiel.rules.make_rule({"name": []})
  with pytest.raises(ValueError, match="seeds must be a sequence, got 3"):
    ps_cfr_spiel.evaluation.sampling_runs(game, seeds=3)
  with pytest.raises(ValueError, match="public_states must be a sequence, got None"):
    ps_cfr_spiel.resolving.subgames.Subgames.of(game).cut(None)
  for options in ("x", [1], {"seed": 3}):
    with pytest.raises(ValueError, match="options must be a mapping of the solver's options but seed"):
      ps_cfr_spiel.evaluation.sampling_runs(game, options, seeds=[0])
  with pytest.raises(
    ValueError, match="solver must be a class of sampling solvers, such as VRMCCFRSolver, got"
  ):
    ps_cfr_spiel.evaluation.sampling_runs(game, seeds=[0], solver=ps_cfr_spiel.abstractions.CFRPlusIRASolver)
  with pytest.raises(ValueError, match="coordinator=5: expected an address and a port"):
    ps_cfr_spiel.runtime.join_processes(5, 2, 1)
