"""Files: round trips, damage, and disks that refuse."""

import errno
import os
import resource

import numpy as np
import pyspiel
import pytest

import ps_cfr_spiel
from ps_cfr_spiel import PSCFRSolver, storage

TINY = "river_subgame(board=KhKd8c4s2h,stack=500,ranges=AsAd QsQd:0.5 7c6c;JsJd Ah8h 5c4c:3)"


@pytest.fixture(scope="module")
def solver():
  solver = PSCFRSolver(pyspiel.load_game(TINY), "pcfr+")
  solver.run(5)
  return solver


def test_policy_round_trip(solver, tmp_path):
  policy = solver.average_policy()
  policy.save(tmp_path / "policy.npz")
  loaded = ps_cfr_spiel.load_policy(tmp_path / "policy.npz")
  for a, b in zip(sum(policy.strategies, ()), sum(loaded.strategies, ()), strict=True):
    np.testing.assert_allclose(a, b, rtol=1e-15)
  assert loaded.info["rule"]["name"] == "PCFRPlus"
  assert loaded.info["iteration"] == 5
  assert loaded.info["version"] == ps_cfr_spiel.__version__
  assert loaded.info["game"] == str(solver.game)


def test_a_run_is_also_a_policy(solver, tmp_path):
  solver.save(tmp_path / "run.npz")
  loaded = ps_cfr_spiel.load_policy(tmp_path / "run.npz")
  assert ps_cfr_spiel.exploitability(loaded.game, loaded) == pytest.approx(solver.exploitability(), rel=1e-4)


@pytest.mark.parametrize("keep", [0, 10, 300, -20])
def test_truncated_file(solver, tmp_path, keep):
  path = tmp_path / "run.npz"
  solver.save(path)
  path.write_bytes(path.read_bytes()[:keep])
  with pytest.raises(ValueError, match=r"run\.npz"):
    PSCFRSolver.load(path)


def test_foreign_files(solver, tmp_path):
  np.savez(tmp_path / "other.npz", x=np.ones(3))
  np.save(tmp_path / "array.npy", np.ones(3))
  (tmp_path / "text.npz").write_text("hello")
  for name in ("other.npz", "array.npy", "text.npz"):
    with pytest.raises(ValueError, match=name):
      ps_cfr_spiel.load_policy(tmp_path / name)
  solver.average_policy().save(tmp_path / "policy.npz")
  with pytest.raises(ValueError, match="holds a policy, not a PSCFRSolver"):
    PSCFRSolver.load(tmp_path / "policy.npz")
  with pytest.raises(FileNotFoundError):
    PSCFRSolver.load(tmp_path / "missing.npz")


def test_arrays_of_another_game_are_refused(solver, tmp_path):
  solver.save(tmp_path / "run.npz")
  header, arrays = storage.read(tmp_path / "run.npz")
  header["game"] = "river_subgame(ranges=AA KK;QQ)"
  storage.write(tmp_path / "bad.npz", "solver", header, arrays)
  with pytest.raises(ValueError, match="do not fit"):
    PSCFRSolver.load(tmp_path / "bad.npz")


def test_newer_format_is_refused(solver, tmp_path, monkeypatch):
  monkeypatch.setattr(storage, "FORMAT_VERSION", 99)
  solver.save(tmp_path / "run.npz")
  monkeypatch.undo()
  with pytest.raises(ValueError, match="format version 99"):
    PSCFRSolver.load(tmp_path / "run.npz")


def test_full_disk_leaves_the_earlier_file(solver, tmp_path, monkeypatch):
  path = tmp_path / "run.npz"
  solver.save(path)
  before = path.read_bytes()

  def full(*_args, **_kwargs):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

  monkeypatch.setattr(os, "fsync", full)
  with pytest.raises(OSError, match="No space left"):
    solver.save(path)
  assert path.read_bytes() == before
  assert os.listdir(tmp_path) == ["run.npz"]


def test_write_that_fails_midway(solver, tmp_path):
  """A real one: the process may not write files of more than 2,000 bytes."""
  path = tmp_path / "run.npz"
  solver.save(path)
  before = path.read_bytes()
  assert len(before) > 2000
  soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
  resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))
  try:
    with pytest.raises(OSError, match="File too large"):
      solver.save(path)
  finally:
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
  assert path.read_bytes() == before
  assert os.listdir(tmp_path) == ["run.npz"]


def test_unwritable_path(solver, tmp_path):
  with pytest.raises(OSError, match="nowhere"):
    solver.save(tmp_path / "nowhere" / "run.npz")
  with pytest.raises(OSError, match="nowhere"):
    solver.run(10**6, checkpoint=tmp_path / "nowhere" / "run.npz")  # before the work, not after it
