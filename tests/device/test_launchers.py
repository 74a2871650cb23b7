"""The place of a process among those that a launcher started; what happens when one of them dies."""

import os
import shutil
import socket
import subprocess
import sys

import pytest

from ps_cfr_spiel.device import LOST, launched
from ps_cfr_spiel.device.deaths import DEAD, GOODBYE, SAID

STEP = {"SLURM_JOB_ID": "123456", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "8", "SLURM_PROCID": "3"}
MPI = {"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_SIZE": "2", "OMPI_COMM_WORLD_RANK": "1"}
WATCHES = """
import socket, sys, time
from ps_cfr_spiel.device import advise, deaths
deaths.watch_others({k: socket.socket(fileno=int(fd)) for k, fd in enumerate(sys.argv[1:], 1)})
advise("Go on.")
print("ready", flush=True)
time.sleep(300)
"""


@pytest.fixture
def environment(monkeypatch):
  """Sets variables of a launcher, in a process that none started."""
  for name in os.environ:
    if name.startswith(("SLURM_", "OMPI_")):
      monkeypatch.delenv(name)
  return lambda given: [monkeypatch.setenv(*item) for item in given.items()]


@pytest.mark.parametrize(
  ("nodes", "host"),
  [
    ("gpu1", "gpu1"),
    ("gpu1,gpu2", "gpu1"),
    ("node[003-007,9],cpu1", "node003"),
    ("a-b[12,14]", "a-b12"),
  ],
)
def test_a_task_of_slurm(environment, nodes, host):
  assert launched() is None
  environment({**STEP, "SLURM_STEP_NODELIST": nodes})
  place = launched()
  assert place.coordinator.rpartition(":")[0] == host and (place.processes, place.process) == (8, 3)
  port = int(place.coordinator.rpartition(":")[2])
  environment({"SLURM_STEP_ID": "1"})
  assert 60000 < port < 2**16 and launched().coordinator != place.coordinator  # two steps do not meet


def test_a_batch_script_is_no_step(environment):
  environment({"SLURM_JOB_ID": "1", "SLURM_NTASKS": "8", "SLURM_PROCID": "0", "SLURM_JOB_NODELIST": "gpu1"})
  assert launched() is None


@pytest.mark.parametrize(
  ("uri", "host"),
  [
    ("1551302656.0;tcp://192.0.2.2:40147;tcp6://[fd00::2]:56167", "192.0.2.2"),
    ("1531576320.0;tcp://10.96.0.1,10.148.0.1:34911", "10.96.0.1"),
  ],
)
def test_a_rank_of_open_mpi(environment, uri, host):
  environment({**MPI, "OMPI_MCA_orte_hnp_uri": uri})
  place = launched()
  assert place.coordinator.startswith(f"{host}:") and (place.processes, place.process) == (4, 1)
  environment({"OMPI_COMM_WORLD_LOCAL_SIZE": "4"})
  assert launched().coordinator.startswith("localhost:")
  environment({"OMPI_COMM_WORLD_SIZE": "1"})
  assert launched() is None


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="needs Open MPI")
def test_mpirun_describes_its_processes():
  program = "from ps_cfr_spiel.device import launched; print('place', *launched())"
  words = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", sys.executable, "-c", program]
  told = subprocess.run(words, capture_output=True, text=True, check=True).stdout
  places = sorted(line.split() for line in told.splitlines() if line.startswith("place"))
  assert [place[2:] for place in places] == [["2", "0"], ["2", "1"]]
  assert places[0][1] == places[1][1] and places[0][1].startswith("localhost:")


def test_a_death_ends_the_others():
  """The first says goodbye and goes; the second dies, which the third hears too."""
  with socket.create_server(("localhost", 0)) as server:
    pairs = [(socket.create_connection(server.getsockname()), server.accept()[0]) for _ in range(3)]
  ours, theirs = zip(*pairs, strict=True)
  numbers = [sock.fileno() for sock in theirs]
  words = [sys.executable, "-c", WATCHES, *map(str, numbers)]
  with subprocess.Popen(
    words, pass_fds=numbers, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
  ) as watcher:
    for sock in theirs:
      sock.close()
    assert watcher.stdout.readline() == "ready\n"
    ours[0].sendall(SAID.pack(GOODBYE, 0))
    ours[0].close()
    with pytest.raises(subprocess.TimeoutExpired):
      watcher.wait(0.2)
    ours[1].close()
    assert SAID.unpack(ours[2].recv(SAID.size)) == (DEAD, 2)
    assert watcher.wait(60) == LOST
    assert watcher.stderr.read().endswith("ps-cfr-spiel: process 2 is lost. Go on.\n")
  ours[2].close()
