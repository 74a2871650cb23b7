"""Processes that share one run, connected and watched by `jax.distributed`; the collectives between them."""

import contextlib
import re
import signal
import socket
import threading
from collections.abc import Callable, Iterator

import jax
import numpy as np
from jax.errors import JaxRuntimeError
from jax.experimental import multihost_utils

from ps_cfr_spiel.arguments import check_count
from ps_cfr_spiel.backend.device.interrupts import interruptible
from ps_cfr_spiel.reports import waiting

HEARTBEAT_SECONDS = 10  # without a sign of life, after which JAX takes a process for dead
PIECE = 2**24  # bytes of a table that go to other processes at once
_stop = threading.Event()
_heeded = threading.Event()  # this process looks whether it is to stop


def join_processes(
  coordinator: str | None = None, processes: int | None = None, process: int | None = None
) -> None:
  """Make this process one of several that share work; call it before JAX computes anything.

  The arguments are those of `jax.distributed.initialize`, and without them JAX finds the other processes: in
  `srun` of Slurm, `mpirun` of Open MPI, jobs of Kubernetes and TPU pods. All must come within five minutes.
  When one dies, the next collective of the others raises; without one, JAX aborts them within
  `HEARTBEAT_SECONDS`.

  Args:
    coordinator: address and port of process 0, such as "localhost:4321".
    processes: their number.
    process: number of this one, from 0.

  Raises:
    ValueError: there is no such process or address, the port is in use, JAX is already running, or JAX finds
      no other processes.
  """
  if coordinator is not None:
    if not isinstance(coordinator, str) or not re.fullmatch(r".+:\d{1,5}", coordinator):
      raise ValueError(
        f"coordinator={coordinator!r}: expected an address and a port, such as localhost:4321."
      )
    if processes is not None and process is not None:
      check_count("processes", processes, 1)
      if check_count("process", process, 0) >= processes:
        raise ValueError(f"process must be less than {processes}, the number of processes, got {process}.")
    if process == 0:
      _check_port(coordinator)
  jax.config.update("jax_cpu_collectives_implementation", "gloo")
  try:
    with waiting("Waiting for the other processes"):
      interruptible(
        lambda: jax.distributed.initialize(
          coordinator, processes, process, heartbeat_timeout_seconds=HEARTBEAT_SECONDS
        )
      )
  except (RuntimeError, ValueError) as error:
    others = "other processes" if coordinator is None else f"the other processes at {coordinator}"
    raise ValueError(f"This process cannot join {others}: {error}") from error
  # JAX has taken SIGTERM for itself, unseen by Python.
  if callable(handler := signal.getsignal(signal.SIGTERM)):
    signal.signal(signal.SIGTERM, handler)
  # The first exchange must begin within half a minute of the others'; later ones wait for hours.
  barrier("join")
  broadcast(0)


def _check_port(coordinator: str) -> None:
  """Raise ValueError unless the port can be opened here: JAX would crash."""
  dual = socket.has_dualstack_ipv6()
  family = socket.AF_INET6 if dual else socket.AF_INET
  port = int(coordinator.rpartition(":")[2])
  try:
    socket.create_server(("", port), family=family, dualstack_ipv6=dual).close()
  except (OSError, OverflowError) as error:
    raise ValueError(f"coordinator={coordinator}: port {port} cannot be opened here: {error}") from error


@contextlib.contextmanager
def lost_processes(advice: Callable[[], str]) -> Iterator[None]:
  """Add to an error of a run in several processes how to go on: after a death, collectives raise."""
  try:
    yield
  except (JaxRuntimeError, ValueError) as error:
    if process_count() == 1:
      raise
    raise ValueError(f"Stopped, as another process of this run may have: {error} {advice()}") from error


def process_count() -> int:
  """The number of processes that share the work."""
  return jax.process_count() if jax.distributed.is_initialized() else 1


def is_first_process() -> bool:
  """True if this process prints and writes for all."""
  return process_count() == 1 or jax.process_index() == 0


def assigned_here(numbers: np.ndarray) -> np.ndarray:
  """bool[n]: those of int[n] numbered parts of some work that fall to this process."""
  return numbers % process_count() == (jax.process_index() if process_count() > 1 else 0)


def barrier(name: str) -> None:
  """Wait until all processes have reached the barrier of this name."""
  if process_count() > 1:
    multihost_utils.sync_global_devices(name)


def broadcast(number: float) -> float:
  """The number given by the first process, in every process."""
  if process_count() == 1:
    return number
  whole, part = divmod(number, 1)
  given = np.array([whole, part * 1e6], np.int32)  # not floats, which may be of 32 bits
  seconds, micros = np.asarray(multihost_utils.broadcast_one_to_all(given)).tolist()
  return seconds + micros / 1e6


def sum_over_processes(array: np.ndarray) -> np.ndarray:
  """The sum of the arrays of all processes, in a fixed order."""
  if process_count() == 1:
    return array
  return np.asarray(multihost_utils.process_allgather(array)).sum(0)


def all_gather_rows(table: np.ndarray, rows: np.ndarray) -> None:
  """Fill the rows of a table, [K, ...] in 4 or 8 bytes, that other processes have made; all must call it.

  `rows`, bool[K], are those that this process has made. They go piece by piece, bit for bit.
  """
  if process_count() == 1 or not table.size:
    return
  table[~rows] = 0
  bits, step = table.view(np.int32).reshape(len(table), -1), max(PIECE // max(table[:1].nbytes, 1), 1)
  for start in range(0, len(bits), step):
    bits[start : start + step] = sum_over_processes(bits[start : start + step])


def asked_to_stop() -> bool:
  """True if a signal has asked a process of this run to stop; all must call it."""
  _heeded.set()
  return bool(sum_over_processes(np.array([_stop.is_set()])).any())


def ask_to_stop() -> bool:
  """Ask all processes of a run to stop together, from a signal handler.

  False if this one shares no run, or was asked before: it should stop by itself.
  """
  heeded = process_count() > 1 and _heeded.is_set() and not _stop.is_set()
  if heeded:
    _stop.set()
  return heeded
