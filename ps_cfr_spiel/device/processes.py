"""Processes that share one run: their meeting, and the collectives between them.

They meet before JAX connects them, over sockets of their own: JAX ends the whole process without a reason if
a port is in use or a process never comes. The sockets stay open, and show a death (`deaths`).
"""

import contextlib
import socket
import struct
import time
from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils

from ps_cfr_spiel.arguments import check_count, check_seconds
from ps_cfr_spiel.device.deaths import watch_others
from ps_cfr_spiel.device.launchers import launched

MEETING_SECONDS = 300.0  # longest wait for the other processes, which a queue may start one after the other
HELLO_SECONDS = 2.0  # for the first bytes of a connection: other programs connect too
PIECE = 2**24  # bytes of a table that go to other processes at once
PAUSE = 0.1  # seconds between two attempts to reach process 0
HELLO, GO = struct.Struct("!12sII"), b"go"  # a word, the number of processes, the number of this one
WORD = b"ps_cfr_spiel"


def join_processes(
  coordinator: str | None = None,
  processes: int | None = None,
  process: int | None = None,
  seconds: float = MEETING_SECONDS,
) -> None:
  """Make this process one of several that share work; call it before JAX computes anything.

  Without the first three arguments the environment gives them (in `srun` of Slurm and `mpirun` of Open MPI),
  or JAX finds them, as on a TPU pod. When a process dies, or its host is silent for 20 s, the others print a
  line and end with exit code 3; where JAX found the processes, JAX ends them.

  Args:
    coordinator: address and port of process 0, such as "localhost:4321".
    processes: their number.
    process: number of this one, from 0.
    seconds: longest wait for the others.

  Raises:
    ValueError: there is no such process or address, the port is in use, another process has the same number,
      JAX is already running, or some of the three arguments are missing and the others are not.
    TimeoutError: a process is missing after `seconds`.
  """
  given = (coordinator, processes, process)
  if given == (None, None, None):
    given = launched() or given
  check_seconds("seconds", seconds)
  if given == (None, None, None):
    _connect({"initialization_timeout": max(int(seconds), 1)}, "others of a cluster")
    return
  coordinator, processes, process = given
  if coordinator is None or processes is None or process is None:
    raise ValueError(f"coordinator, processes and process belong together, got {given}.")
  check_count("processes", processes, 1)
  if check_count("process", process, 0) >= processes:
    raise ValueError(f"process must be less than {processes}, the number of processes, got {process}.")
  host, _, port = coordinator.rpartition(":") if isinstance(coordinator, str) else ("", "", "")
  if not host or not port.isdecimal() or int(port) >= 2**16:
    raise ValueError(f"coordinator={coordinator!r}: expected an address and a port, such as localhost:4321.")
  if process == 0:
    others = _receive(coordinator, int(port), processes, seconds)
  else:
    others = {0: _report(coordinator, (host, int(port)), processes, process, seconds)}
  place = {"coordinator_address": coordinator, "num_processes": processes, "process_id": process}
  _connect(place, f"{processes - 1} others at {coordinator}")
  watch_others(others)


def _connect(arguments: dict[str, Any], others: str) -> None:
  """Let JAX connect the processes; the arguments are those of `jax.distributed.initialize`."""
  jax.config.update("jax_cpu_collectives_implementation", "gloo")
  try:
    jax.distributed.initialize(**arguments)
  except (RuntimeError, ValueError) as error:
    raise ValueError(f"This process cannot join {others}: {error}") from error
  # The first exchange must begin within half a minute of the others'; later ones wait for hours.
  barrier("join")
  broadcast(0)


def _receive(coordinator: str, port: int, processes: int, seconds: float) -> dict[int, socket.socket]:
  """Wait for all other processes, as process 0, and let them go on; returns the connections, by process."""
  end, both = time.monotonic() + seconds, socket.has_dualstack_ipv6()
  family = socket.AF_INET6 if both else socket.AF_INET
  try:
    server = socket.create_server(("", port), family=family, dualstack_ipv6=both)
  except OSError as error:
    raise ValueError(
      f"coordinator={coordinator}: port {port} cannot be opened here: {error.strerror}"
    ) from error
  come: dict[int, socket.socket] = {}
  with server, contextlib.ExitStack() as stack:
    while missing := sorted(set(range(1, processes)) - set(come)):
      try:
        server.settimeout(max(end - time.monotonic(), PAUSE))
        connection = stack.enter_context(server.accept()[0])
      except TimeoutError:
        late = ", ".join(map(str, missing))
        raise TimeoutError(
          f"{coordinator}: processes {late} of {processes} did not come within {seconds:g} s."
        ) from None
      said = _hello(connection)
      if len(said) < HELLO.size or said[: len(WORD)] != WORD:
        connection.close()  # another program
        continue
      _, count, number = HELLO.unpack(said)
      if count != processes or number not in missing:
        raise ValueError(
          f"Process {number} of {count} came to {coordinator}, which waits for process "
          f"{', '.join(map(str, missing))} of {processes}; give each its own number and the same count."
        )
      come[number] = connection
    for connection in come.values():
      connection.sendall(GO)
    stack.pop_all()  # they stay open
  return come


def _hello(connection: socket.socket) -> bytes:
  """The first bytes of a connection; fewer than `HELLO.size` from other programs."""
  connection.settimeout(HELLO_SECONDS)
  with contextlib.suppress(OSError):
    return connection.recv(HELLO.size, socket.MSG_WAITALL)
  return b""


def _report(
  coordinator: str, address: tuple[str, int], processes: int, process: int, seconds: float
) -> socket.socket:
  """Come to process 0, as any other process, and wait for its answer; returns the connection."""
  end = time.monotonic() + seconds
  while True:
    try:
      connection = socket.create_connection(address, timeout=max(end - time.monotonic(), PAUSE))
      break
    except OSError as error:
      if time.monotonic() >= end:
        raise TimeoutError(
          f"Process 0 did not answer at {coordinator} within {seconds:g} s ({error})."
        ) from error
      time.sleep(PAUSE)
  try:
    connection.sendall(HELLO.pack(WORD, processes, process))
    # One second longer than process 0 waits: its error names the missing process.
    connection.settimeout(max(end - time.monotonic(), PAUSE) + 1)
    said = connection.recv(len(GO), socket.MSG_WAITALL)
  except OSError:
    said = b""
  if said != GO:
    connection.close()
    raise TimeoutError(f"Process 0 at {coordinator} did not see all other processes; its error names them.")
  return connection


def process_count() -> int:
  """The number of processes that share the work."""
  return jax.process_count() if jax.distributed.is_initialized() else 1


def barrier(name: str) -> None:
  """Wait until all processes have reached the barrier of this name."""
  if process_count() > 1:
    multihost_utils.sync_global_devices(name)


def is_first_process() -> bool:
  """True if this process prints and writes for all."""
  return process_count() == 1 or jax.process_index() == 0


def broadcast(number: float) -> float:
  """The number given by the first process, in every process."""
  if process_count() == 1:
    return number
  whole, part = divmod(number, 1)
  given = np.array([whole, part * 1e6], np.int32)  # not floats, which may be of 32 bits
  seconds, micros = np.asarray(multihost_utils.broadcast_one_to_all(given)).tolist()
  return seconds + micros / 1e6


def mine(numbers: np.ndarray) -> np.ndarray:
  """bool[n]: those of int[n] numbered parts of some work that fall to this process."""
  return numbers % process_count() == (jax.process_index() if process_count() > 1 else 0)


def fill_in(table: np.ndarray, own: np.ndarray) -> None:
  """Fill the rows of a table, [K, ...] in 4 or 8 bytes, that other processes have made; all must call it.

  `own`, bool[K], are the rows of this process. They go piece by piece, bit for bit.
  """
  if process_count() == 1 or not table.size:
    return
  table[~own] = 0
  bits, rows = table.view(np.int32).reshape(len(table), -1), max(PIECE // max(table[:1].nbytes, 1), 1)
  for start in range(0, len(bits), rows):
    bits[start : start + rows] = sum_over_processes(bits[start : start + rows])


def sum_over_processes(array: np.ndarray) -> np.ndarray:
  """The sum of the arrays of all processes, in a fixed order."""
  if process_count() == 1:
    return array
  return np.asarray(multihost_utils.process_allgather(array)).sum(0)
