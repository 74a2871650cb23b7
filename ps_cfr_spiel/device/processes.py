"""Processes that share one run: how they meet, and what they then tell each other.

They meet before JAX does, over a connection of their own: JAX ends the whole process where a port is in use
or somebody never comes, and says neither.
"""

import contextlib
import socket
import struct
import time

import jax
import numpy as np

from ps_cfr_spiel.arguments import check_count, check_seconds

MEETING_SECONDS = 60.0  # how long to wait for one another
HEARTBEAT_SECONDS = 20  # without one for so long a process counts as dead, should its connections be open
HELLO_SECONDS = 2.0  # how long a connection may take to say who it is: strangers connect too
PAUSE = 0.1  # seconds between two attempts to reach process 0
HELLO, GO = struct.Struct("!12sII"), b"go"  # a word, how many processes, which of them
WORD = b"ps_cfr_spiel"


def join(coordinator: str, processes: int, process: int, seconds: float = MEETING_SECONDS) -> None:
  """Makes this one of several processes that share work; call it before JAX computes anything.

  Args:
    coordinator: address and port of process 0, such as "localhost:4321".
    processes: how many there are.
    process: which this is, from 0.
    seconds: how long to wait for the others.

  Raises:
    ValueError: there is no such process or address, the port is in use, another process says the same of
      itself, or JAX has started already.
    TimeoutError: not all have come in time.
  """
  check_count("processes", processes, 1)
  if check_count("process", process, 0) >= processes:
    raise ValueError(f"process must be less than {processes}, the number of processes, got {process}.")
  check_seconds("seconds", seconds)
  host, _, port = coordinator.rpartition(":") if isinstance(coordinator, str) else ("", "", "")
  if not host or not port.isdecimal() or int(port) >= 2**16:
    raise ValueError(f"coordinator={coordinator!r}: expected an address and a port, such as localhost:4321.")
  if process == 0:
    _receive(coordinator, int(port), processes, seconds)
  else:
    _report(coordinator, (host, int(port)), processes, process, seconds)
  jax.config.update("jax_cpu_collectives_implementation", "gloo")
  try:
    jax.distributed.initialize(coordinator, processes, process, heartbeat_timeout_seconds=HEARTBEAT_SECONDS)
  except RuntimeError as error:
    raise ValueError(f"This process cannot join {processes - 1} others at {coordinator}: {error}") from error
  # Their first exchange has to begin within half a minute of each other's; later ones wait for hours.
  meet("join")
  agreed(0)


def _receive(coordinator: str, port: int, processes: int, seconds: float) -> None:
  """Process 0 waits for all others, and tells them to go on."""
  end, both = time.monotonic() + seconds, socket.has_dualstack_ipv6()
  family = socket.AF_INET6 if both else socket.AF_INET
  try:
    server = socket.create_server(("", port), family=family, dualstack_ipv6=both)
  except OSError as error:
    raise ValueError(
      f"coordinator={coordinator}: port {port} cannot be opened here: {error.strerror}"
    ) from error
  with contextlib.ExitStack() as stack:
    stack.enter_context(server)
    come: dict[int, socket.socket] = {}
    while missing := sorted(set(range(1, processes)) - set(come)):
      try:
        server.settimeout(max(end - time.monotonic(), PAUSE))
        connection = stack.enter_context(server.accept()[0])
      except TimeoutError:
        late = ", ".join(map(str, missing))
        raise TimeoutError(
          f"Of {processes} processes these did not come to {coordinator} within {seconds:g} s: {late}."
        ) from None
      said = _hello(connection)
      if len(said) < HELLO.size or said[: len(WORD)] != WORD:
        connection.close()  # a stranger's
        continue
      _, count, number = HELLO.unpack(said)
      if count != processes or number not in missing:
        raise ValueError(
          f"Process {number} of {count} came to {coordinator}, where {', '.join(map(str, missing))} of "
          f"{processes} are waited for."
        )
      come[number] = connection
    for connection in come.values():
      connection.sendall(GO)


def _hello(connection: socket.socket) -> bytes:
  """The first bytes that a connection sends; fewer than `HELLO.size` of a stranger."""
  connection.settimeout(HELLO_SECONDS)
  with contextlib.suppress(OSError):
    return connection.recv(HELLO.size, socket.MSG_WAITALL)
  return b""


def _report(coordinator: str, address: tuple[str, int], processes: int, process: int, seconds: float) -> None:
  """Any other process comes to process 0 and waits until it may go on."""
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
  with connection:
    try:
      connection.sendall(HELLO.pack(WORD, processes, process))
      # A second more than process 0 waits, which can say what is wrong.
      connection.settimeout(max(end - time.monotonic(), PAUSE) + 1)
      said = connection.recv(len(GO), socket.MSG_WAITALL)
    except OSError:
      said = b""
    if said != GO:
      raise TimeoutError(
        f"Process 0 at {coordinator} waited in vain for other processes, and says for which."
      )


def processes() -> int:
  """How many processes share the work."""
  return jax.process_count() if jax.distributed.is_initialized() else 1


def meet(name: str) -> None:
  """Waits until all processes of `jax.distributed` have come here; `name` says where."""
  if processes() > 1:
    from jax.experimental import multihost_utils

    multihost_utils.sync_global_devices(name)


def leads() -> bool:
  """Whether this is the process that speaks and writes for all."""
  return processes() == 1 or jax.process_index() == 0


def agreed(number: float) -> float:
  """The number that the first process gives, in every process."""
  if processes() == 1:
    return number
  from jax.experimental import multihost_utils

  whole, part = divmod(number, 1)
  given = np.array([whole, part * 1e6], np.int32)  # not floats, which may be of 32 bits
  seconds, micros = np.asarray(multihost_utils.broadcast_one_to_all(given)).tolist()
  return seconds + micros / 1e6


def added_up(array: np.ndarray) -> np.ndarray:
  """The sum of what all processes give, in one order."""
  if processes() == 1:
    return array
  from jax.experimental import multihost_utils

  return np.asarray(multihost_utils.process_allgather(array)).sum(0)
