"""Devices and processes share a batch and find the same bits; what a killed one has finished stays."""

import socket

import forked
import numpy as np
import pytest

from ps_cfr_spiel.batches import RandomSituations, solve_batch
from ps_cfr_spiel.runtime import join_processes, use_cores

COUNT, CHUNK = 14, 4
PROGRAM = """
import os, signal, sys
import ps_cfr_spiel

folder, cores, coordinator, process, chunks = sys.argv[1:]
ps_cfr_spiel.runtime.use_cores(int(cores))
if coordinator:
  ps_cfr_spiel.runtime.join_processes(coordinator, 2, int(process))
if chunks:  # killed in the middle of writing one more
  written, replace = [], os.replace
  def watched(*paths):
    if str(paths[1]).endswith(".safetensors"):
      written.append(paths)
    if len(written) > int(chunks):
      os.kill(os.getpid(), signal.SIGKILL)
    replace(*paths)
  os.replace = watched
rivers = ps_cfr_spiel.batches.RandomSituations({count}, seed=1, ratios=(1.0,), pot=20, bets="a")
ps_cfr_spiel.batches.solve_batch(
  rivers, iterations=30, hands="all", chunk={chunk}, output=folder, progress=False
)
"""


def start(folder, cores=1, coordinator="", process=0, chunks=""):
  """Another process with the batch."""
  program = PROGRAM.replace("{count}", str(COUNT)).replace("{chunk}", str(CHUNK))
  return forked.Copy(program, folder, cores, coordinator, process, chunks)


def solve(folder=None):
  """The batch here, with one device."""
  rivers = RandomSituations(COUNT, seed=1, ratios=(1.0,), pot=20, bets="a")
  return solve_batch(rivers, iterations=30, hands="all", chunk=CHUNK, output=folder, progress=False)


def same_bits(found, expected):
  for mine, other in zip(found, expected, strict=True):
    assert mine[:4] == other[:4]
    np.testing.assert_array_equal(mine.values, other.values)
    for blocks, others in zip(mine.strategies, other.strategies, strict=True):
      for x, y in zip(blocks, others, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.fixture(scope="module")
def alone():
  return solve()


def test_eight_devices_in_two_processes(alone, tmp_path):
  """Four of each; a chunk has as many situations as a process has devices."""
  with socket.socket() as free:
    free.bind(("localhost", 0))
    port = free.getsockname()[1]
  with start(tmp_path, 4, address := f"localhost:{port}", 0) as one, start(tmp_path, 4, address, 1) as other:
    assert (one.wait(300), other.wait(300)) == (0, 0)
  assert len(list(tmp_path.glob("*.safetensors"))) == 4
  before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
  missing = tmp_path / "000002.safetensors"
  missing.unlink()
  same_bits(solve(tmp_path), alone)
  after = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
  assert [path for path in after if after[path] != before[path]] == [missing]


def test_killed_while_writing(alone, tmp_path):
  with start(tmp_path, chunks=2) as process:
    assert process.wait(300) == -9
  whole = sorted(tmp_path.glob("*.safetensors"))
  assert [path.name for path in whole] == ["000000.safetensors", "000001.safetensors"]
  before = [path.stat().st_mtime_ns for path in whole]
  same_bits(solve(tmp_path), alone)
  assert [path.stat().st_mtime_ns for path in whole] == before


def test_cores_are_chosen_before_jax_starts(alone):
  use_cores()  # no more than is left to it
  use_cores(1)
  with pytest.raises(ValueError, match=r"cores=3: JAX is already running with 1 device"):
    use_cores(3)
  with pytest.raises(ValueError, match="cores must be an integer of at least 1"):
    use_cores(0)
  with pytest.raises(ValueError, match=r"cannot join the other processes at localhost:0: .*before any JAX"):
    join_processes("localhost:0", 1, 0)
  with pytest.raises(ValueError, match="process must be less than 2"):
    join_processes("localhost:1", 2, 2)
