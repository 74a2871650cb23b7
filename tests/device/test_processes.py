"""Processes that share a run: how they join, and what one of them does when another is not there."""

import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from ps_cfr_spiel.runtime import join_processes

JOINS = """
import select, signal, sys
from ps_cfr_spiel.backend.device import barrier, join_processes
def stop(number, frame):
  print("stopped", flush=True)
  sys.exit(5)
for number in (signal.SIGINT, signal.SIGTERM):
  signal.signal(number, stop)
print("joining", flush=True)
join_processes(sys.argv[1], 2, int(sys.argv[2]))
print("joined", flush=True)
while not select.select([sys.stdin], [], [], 0.1)[0]:  # no signal waits for longer
  pass
barrier("next")
"""


def free_address():
  with socket.socket() as free:
    free.bind(("localhost", 0))
    return f"localhost:{free.getsockname()[1]}"


def start(address, process):
  """A process that joins another one, and meets it again after a line of input."""
  command = [sys.executable, "-c", JOINS, address, str(process)]
  pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
  return subprocess.Popen(command, **pipes, env={**os.environ, "JAX_PLATFORMS": "cpu"}, text=True)


@pytest.fixture
def pair():
  """Two processes that have joined."""
  address = free_address()
  with start(address, 0) as first, start(address, 1) as second:
    try:
      for process in (first, second):
        assert "joined\n" in process.stdout  # after a line of Gloo's
      yield first, second
    finally:
      first.kill()
      second.kill()


def test_a_port_in_use():
  with socket.create_server(("", 0)) as taken:
    port = taken.getsockname()[1]
    with pytest.raises(ValueError, match=f"port {port} cannot be opened here: .*Address already in use"):
      join_processes(f"localhost:{port}", 2, 0)


@pytest.mark.parametrize("address", ["localhost", "4321", "localhost:port", "localhost:999999"])
def test_an_address_that_is_none(address):
  with pytest.raises(ValueError, match="expected an address and a port"):
    join_processes(address, 2, 0)
  with pytest.raises(ValueError, match="process must be less than 2"):
    join_processes("localhost:1", 2, 2)


def test_without_a_cluster_jax_says_what_is_missing():
  program = "import ps_cfr_spiel; ps_cfr_spiel.runtime.join_processes()"
  clean = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "OMPI_", "KUBERNETES_"))}
  told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=clean)
  assert "ValueError: This process cannot join other processes: coordinator_address should be" in told.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_waiting_for_the_others(number):
  with start(free_address(), 0) as process:
    try:
      assert process.stdout.readline() == "joining\n"
      time.sleep(0.3)
      process.send_signal(number)
      assert process.stdout.readline() == "stopped\n"
    finally:
      process.kill()


def test_signals_still_reach_handlers(pair):
  """JAX puts a handler of its own in place of that for SIGTERM."""
  for process, number in zip(pair, (signal.SIGINT, signal.SIGTERM), strict=True):
    process.send_signal(number)
    assert process.stdout.readline() == "stopped\n"


def test_after_a_death_the_next_collective_raises(pair):
  first, second = pair
  second.kill()
  second.wait()
  first.stdin.write("\n")
  first.stdin.flush()
  assert first.wait(60) != 0
  assert "Connection closed by peer" in first.stderr.read()


def test_a_death_ends_a_process_without_a_collective(pair):
  first, second = pair
  second.kill()
  assert first.wait(60) == -signal.SIGABRT
  assert "another task died" in first.stderr.read()
