"""Processes that share a run: how they join, and what one of them does when another is not there."""

import os
import signal
import socket
import time

import forked
import jax
import pytest

from ps_cfr_spiel.runtime import join_processes

JOINS = """
import signal, sys, time
from pathlib import Path
from ps_cfr_spiel.backend.device import barrier, join_processes
def stop(number, frame):
  print("stopped", flush=True)
  sys.exit(5)
for number in (signal.SIGINT, signal.SIGTERM):
  signal.signal(number, stop)
print("joining", flush=True)
join_processes(sys.argv[1], 2, int(sys.argv[2]))
print("joined", flush=True)
while not Path(sys.argv[3]).exists():
  time.sleep(0.05)
barrier("next")
"""


def free_address():
  with socket.socket() as free:
    free.bind(("localhost", 0))
    return f"localhost:{free.getsockname()[1]}"


@pytest.fixture
def meet(tmp_path):
  """A file: the processes meet once it exists."""
  return tmp_path / "meet"


def start(address, process, meet):
  """A process that joins another one, and meets it again."""
  return forked.Copy(JOINS, address, process, meet)


@pytest.fixture
def pair(meet):
  """Two processes that have joined."""
  address = free_address()
  with start(address, 0, meet) as first, start(address, 1, meet) as second:
    for process in (first, second):
      process.until_it_says("joined\n")
    yield first, second


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
  told = forked.run(program, environment=clean)
  assert "ValueError: This process cannot join other processes: coordinator_address should be" in told.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_waiting_for_the_others(number, meet):
  with start(free_address(), 0, meet) as process:
    process.until_it_says("joining\n")
    time.sleep(0.3)
    process.send_signal(number)
    process.until_it_says("stopped\n")


def test_signals_still_reach_handlers(pair):
  """JAX puts a handler of its own in place of that for SIGTERM."""
  for process, number in zip(pair, (signal.SIGINT, signal.SIGTERM), strict=True):
    process.send_signal(number)
    process.until_it_says("stopped\n")


def test_after_a_death_the_next_collective_raises(pair, meet):
  first, second = pair
  second.kill()
  second.wait()
  meet.touch()
  assert first.wait(60) != 0
  assert "Connection closed by peer" in first.err


def test_a_death_ends_a_process_without_a_collective(pair):
  first, second = pair
  second.kill()
  assert first.wait(60) == (1 if jax.__version__ == "0.7.2" else -signal.SIGABRT)
  assert "another task died" in first.err
