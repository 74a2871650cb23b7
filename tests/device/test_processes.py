"""Processes that meet, and one that watches others."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from ps_cfr_spiel.device import log_path, processes, run_together
from ps_cfr_spiel.device.deaths import LOST
from ps_cfr_spiel.device.watching import Ending, deciding_end
from ps_cfr_spiel.runtime import join_processes

STOPS = """
import sys, time
from ps_cfr_spiel.device import asked_to_stop, exit_with_parent
exit_with_parent()
print("ready", flush=True)
while not asked_to_stop():
  time.sleep(0.05)
sys.exit(130)
"""
WATCHES = f"""
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in what a shell began in the background
from pathlib import Path
from ps_cfr_spiel.device import run_together
stops = {STOPS!r}
print(run_together(lambda address, process: [sys.executable, "-c", stops], 2, Path(sys.argv[1]), (130,)))
"""


def free_address():
  with socket.socket() as free:
    free.bind(("localhost", 0))
    return f"localhost:{free.getsockname()[1]}"


def test_a_port_in_use():
  with socket.create_server(("", 0)) as taken:
    port = taken.getsockname()[1]
    with pytest.raises(ValueError, match=f"port {port} cannot be opened here: Address already in use"):
      join_processes(f"localhost:{port}", 2, 0)


@pytest.mark.parametrize(
  ("process", "message"),
  [
    (0, "processes 1, 2 of 3 did not come within 0.3 s"),
    (2, "Process 0 did not answer at .* within 0.3 s"),
  ],
)
def test_a_process_that_never_comes(process, message):
  with pytest.raises(TimeoutError, match=message):
    join_processes(free_address(), 3, process, seconds=0.3)


def test_processes_that_do_not_agree():
  """One thinks that there are three of them; both are told."""
  address, told = free_address(), []

  def other():
    with pytest.raises(TimeoutError, match="did not see all other") as raised:
      join_processes(address, 3, 1, seconds=20)
    told.append(raised.value)

  thread = threading.Thread(target=other)
  thread.start()
  with pytest.raises(ValueError, match=r"Process 1 of 3 came to .*, which waits for process 1 of 2"):
    join_processes(address, 2, 0, seconds=20)
  thread.join()
  assert told


def test_a_silent_stranger_delays_no_process(monkeypatch):
  """Process 0 listens to others while a connection that says nothing stays open."""
  monkeypatch.setattr(processes, "HELLO_SECONDS", 0.2)
  address = free_address()
  host, port = address.split(":")
  come = []

  def meet():
    come.extend(processes._receive(address, int(port), 2, 20).items())

  thread = threading.Thread(target=meet)
  thread.start()
  for _ in range(100):
    try:
      stranger = socket.create_connection((host, int(port)))
      break
    except OSError:
      time.sleep(0.05)
  with stranger:
    time.sleep(0.1)  # the stranger stands first in line
    with processes._report(address, (host, int(port)), 2, 1, 20):
      thread.join()
      ((process, connection),) = come
      assert process == 1
      connection.close()


@pytest.mark.parametrize("address", ["localhost", "4321", "localhost:port", "localhost:99999"])
def test_an_address_that_is_none(address):
  with pytest.raises(ValueError, match="expected an address and a port"):
    join_processes(address, 2, 0)
  with pytest.raises(ValueError, match="process must be less than 2"):
    join_processes("localhost:1", 2, 2)


def test_what_ends_in_order_is_waited_for(tmp_path):
  program = "import sys; print(sys.argv[2]); sys.exit(5 * int(sys.argv[2]))"
  ending = run_together(
    lambda address, process: [sys.executable, "-c", program, address, str(process)], 2, tmp_path, (0, 5)
  )
  assert ending.code == 5
  assert log_path(tmp_path, 1).read_text() == "1\n"


def test_one_that_dies_takes_the_others_along(tmp_path):
  """The others would sleep for minutes."""
  program = (
    "import os, signal, sys, time; time.sleep(300) if sys.argv[1] != '1' else os.kill(os.getpid(), signal.{})"
  )
  for name in ("SIGKILL", "SIGABRT"):
    words = [sys.executable, "-c", program.format(name)]
    start = time.monotonic()
    ending = run_together(lambda _, process, words=words: [*words, str(process)], 3, tmp_path, (0,))
    assert str(ending) == f"process 1 was killed by {name}"
    assert time.monotonic() - start < 200


def test_ctrl_c_asks_all_to_stop(tmp_path):
  command = [sys.executable, "-c", WATCHES, str(tmp_path)]
  with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watcher:
    try:
      assert watcher.stdout.readline() == "ready\n"  # of the first one
      while not log_path(tmp_path, 1).read_text():
        time.sleep(0.05)
      os.kill(watcher.pid, signal.SIGINT)
      assert watcher.communicate(timeout=100)[0] == "process 0 ended with code 130\n"
    finally:
      watcher.kill()


def test_the_deciding_end_is_that_of_a_killed_process():
  """Else of the first that did not end because another had."""
  assert deciding_end([1, None, -signal.SIGKILL, LOST], (0,)) == Ending(-signal.SIGKILL, 2)
  assert deciding_end([0, LOST, 5, 4], (0,)) == Ending(5, 2)
  assert deciding_end([0, LOST], (0,)) == Ending(LOST, 1)
