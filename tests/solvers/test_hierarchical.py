import hashlib
import os
import subprocess
import sys

import numpy as np
import pyspiel
import pytest

from ps_cfr_spiel import (
  ExternalSamplingSolver,
  HierarchicalMCCFRSolver,
  evaluate_policy,
  load_policy,
  load_solver,
)

GAME = "leduc_poker"
PROGRAM = """
import sys
import pyspiel
import ps_cfr_spiel

ps_cfr_spiel.use_cores(int(sys.argv[1]))
path, output = sys.argv[2:]
solver = ps_cfr_spiel.HierarchicalMCCFRSolver.load(path)
solver.run(5)
solver.save(output)
"""


def make(**options):
  given = {"clusters": np.array([2, 0, 1]), "buckets": "lossless", "batch": 8} | options
  return HierarchicalMCCFRSolver(pyspiel.load_game(GAME), **given)


def same(one, other):
  for x, y in zip(one._kept(), other._kept(), strict=True):
    np.testing.assert_array_equal(x, y)


def digest(solver):
  return hashlib.sha256(b"".join(np.asarray(x).tobytes() for x in solver._kept())).hexdigest()


@pytest.fixture(scope="module")
def ten():
  solver = make()
  solver.run(10)
  return solver


def test_in_parts_through_a_file_it_is_the_same(ten, tmp_path):
  first = make()
  first.run(4)
  first.save(tmp_path / "run.npz")
  second = load_solver(tmp_path / "run.npz")
  second.run(6)
  same(second, ten)
  assert second.description == ten.description
  np.testing.assert_array_equal(second.abstraction.clusters, [2, 0, 1])


@pytest.mark.parametrize("devices", [2, 4])
def test_any_number_of_devices_finds_the_same_bits(ten, tmp_path, devices):
  """Three clusters on two and on four devices, taken up from a run on one."""
  first = make()
  first.run(5)
  first.save(tmp_path / "one.npz")
  words = [sys.executable, "-c", PROGRAM, str(devices), str(tmp_path / "one.npz"), str(tmp_path / "many.npz")]
  subprocess.run(
    words, check=True, env=os.environ | {"JAX_PLATFORMS": "cpu", "JAX_ENABLE_X64": "1"}, timeout=300
  )
  assert digest(load_solver(tmp_path / "many.npz")) == digest(ten)


def test_policies_are_of_the_whole_game(ten, tmp_path):
  walked = evaluate_policy(ten.game, ten.average_policy())
  assert ten.exploitability() == pytest.approx(walked.exploitability, abs=1e-5)
  assert ten.value() == pytest.approx(walked.value, abs=1e-5)
  ten.save(tmp_path / "run.npz")
  policy = load_policy(tmp_path / "run.npz")
  state = pyspiel.load_game(GAME).new_initial_state()
  for action in (0, 3, 1, 1, 4):
    state.apply_action(action)
  assert policy.action_probabilities(state) == ten.average_policy().action_probabilities(state)
  assert policy.bucket(state)[0] == 1  # the board is a king
  with pytest.raises(ValueError, match="the state is of another game"):
    policy.action_probabilities(pyspiel.load_game("kuhn_poker").new_initial_state().child(0).child(1))


def test_with_one_cluster_it_converges_as_external_sampling_does():
  """Lossless, regret matching: both are external sampling, with different random numbers."""
  solver = make(clusters=1, plus=False, batch=32)
  solver.run(600)
  other = ExternalSamplingSolver(solver.game, batch=32)
  other.run(600)
  assert solver.exploitability() == pytest.approx(other.exploitability(), rel=0.35)


def test_the_printed_weights_do_not_converge():
  errors = {}
  for printed in (False, True):
    solver = make(printed=printed, batch=64)
    solver.run(1500)
    errors[printed] = solver.exploitability()
  assert errors[True] > 3 * errors[False]


def test_wrong_input(tmp_path):
  with pytest.raises(ValueError, match="expected universal_poker for two"):
    HierarchicalMCCFRSolver(pyspiel.load_game("kuhn_poker"))
  with pytest.raises(ValueError, match="clusters=7: there are only 3 boards"):
    make(clusters=7)
  with pytest.raises(ValueError, match="batch must be an integer from 1"):
    make(batch=0)
  with pytest.raises(ValueError, match="printed must be True or False"):
    make(printed=1)
  solver = make()
  with pytest.raises(ValueError, match="no rows of a public tree"):
    solver._strategies(True)
  solver.save(tmp_path / "run.npz")
  with pytest.raises(ValueError, match="do not fit"):
    HierarchicalMCCFRSolver.load(tmp_path / "run.npz", abstraction=make(clusters=1).abstraction)
