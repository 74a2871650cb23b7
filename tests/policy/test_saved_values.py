"""A policy saved with its values beside its run: rows as computed, of that run alone, and without JAX."""

import json
import subprocess
import sys

import numpy as np
import pyspiel
import pytest

import ps_cfr_spiel as ps
from ps_cfr_spiel.memory import TooLarge
from ps_cfr_spiel.policy import SAVED, saved_values, tree_policy

TURN = "holdem_subgame(deck=6x2,board=2c3d4c5d,pot=4,stack=300,bets=1 a)"  # twelve tables of a player


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
  """A solver, its policy, and its run."""
  solver = ps.PSCFRSolver(pyspiel.load_game(TURN))
  solver.run(30)
  run = tmp_path_factory.mktemp("kept") / "run.safetensors"
  solver.save(run)
  policy = solver.average_policy()
  assert policy.save_values(run) == run.with_name(SAVED)
  return solver, policy, run


def test_it_has_the_computed_rows(solved):
  _, policy, run = solved
  beside = ps.TreePolicy.with_values(run)
  assert isinstance(beside, ps.TreePolicy) and "worths" in vars(beside)
  assert beside.info == policy.info | beside.info
  for found, row in zip(beside.to_rows(), policy.to_rows(), strict=True):
    for column, value in row.items():
      assert found[column] == (value if not isinstance(value, float) else pytest.approx(value, 1e-12))


def test_it_is_of_one_run_alone(solved, tmp_path):
  """A run that went on, another file, and a damaged one have none."""
  solver, _, run = solved
  moved = tmp_path / "run.safetensors"
  moved.write_bytes(run.read_bytes())
  assert ps.TreePolicy.with_values(moved) is None
  moved.with_name(SAVED).write_bytes(run.with_name(SAVED).read_bytes())
  assert ps.TreePolicy.with_values(moved) is not None
  moved.with_name(SAVED).write_bytes(run.with_name(SAVED).read_bytes()[:-2000])
  assert ps.TreePolicy.with_values(moved) is None
  moved.with_name(SAVED).write_bytes(run.read_bytes())
  assert ps.TreePolicy.with_values(moved) is None
  moved.with_name(SAVED).write_bytes(run.with_name(SAVED).read_bytes())
  other = ps.PSCFRSolver(solver.game)
  other.run(31)
  other.save(moved)
  assert ps.TreePolicy.with_values(moved) is None
  with pytest.raises(ValueError, match="holds the values of a run's policy; name the run beside it"):
    ps.load_policy(run.with_name(SAVED))


def test_it_is_saved_as_any_policy(solved, tmp_path):
  beside = ps.TreePolicy.with_values(solved[2])
  assert beside is not None
  beside.save(tmp_path / "policy.safetensors")
  again = ps.load_policy(tmp_path / "policy.safetensors")
  for one, other in zip(sum(again.strategies, ()), sum(beside.strategies, ()), strict=True):
    np.testing.assert_allclose(one, other, rtol=1e-12)


def test_its_tables_stay_on_disk(solved):
  beside = ps.TreePolicy.with_values(solved[2])
  assert beside is not None
  tables = [
    block for both in (beside.strategies, beside.worths.values) for blocks in both for block in blocks
  ]
  assert all(isinstance(block.base, np.memmap) for block in tables)


def test_large_games_are_saved_in_float32(solved, tmp_path, monkeypatch):
  """And the reach of their rows is never computed for all at once."""
  solver, policy, run = solved
  (tmp_path / "run.safetensors").write_bytes(run.read_bytes())
  with monkeypatch.context() as patch:
    for module in (saved_values, tree_policy):
      patch.setattr(module, "EXACT", 0)
    assert solver.average_policy().save_values(tmp_path / "run.safetensors") is not None
    with pytest.raises(TooLarge, match=r"all values of turn .* needs about .* and 1 MB are allowed"):
      solver.average_policy().save_values(tmp_path / "run.safetensors", memory=1e6)
  monkeypatch.setattr(tree_policy, "TOGETHER", 0)
  monkeypatch.setattr(tree_policy, "MANY", 5)
  monkeypatch.setattr(tree_policy, "reaches", None)
  found = ps.TreePolicy.with_values(tmp_path / "run.safetensors")
  assert found is not None
  assert {block.dtype for both in found.worths.values for block in both} == {np.dtype("float32")}
  ours, theirs = found.to_rows(), policy.to_rows()
  for column in ("probability", "value", "best_response_value", "reach", "others_reach", "equity"):
    numbers = [np.array([row[column] for row in rows], float) for rows in (ours, theirs)]
    np.testing.assert_allclose(*numbers, rtol=1e-4, atol=1e-4)


def test_games_to_walk_have_none(tmp_path):
  solver = ps.PSCFRSolver(pyspiel.load_game("kuhn_poker"))
  solver.save(tmp_path / "run.safetensors")
  assert solver.average_policy().save_values(tmp_path / "run.safetensors") is None


def test_a_look_needs_no_jax(solved, tmp_path):
  looks = [[], ["--at=x, x"], [f"--csv={tmp_path / 't.csv'}"], [f"--html={tmp_path / 't.html'}"]]
  code = (
    "import json, sys; from ps_cfr_spiel.apps.commands.program import run\n"
    "for words in json.loads(sys.argv[2]):\n"
    "  print(len(words), run(['show', sys.argv[1], *words]), 'jax' in sys.modules, file=sys.stderr)"
  )
  command = [sys.executable, "-c", code, str(solved[2]), json.dumps(looks)]
  done = subprocess.run(command, capture_output=True, text=True, timeout=120)
  assert done.stderr.splitlines() == ["0 0 False", *3 * ["1 0 False"]]
  assert done.stdout and (tmp_path / "t.csv").exists() and (tmp_path / "t.html").exists()
