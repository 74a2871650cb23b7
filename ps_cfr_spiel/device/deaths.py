"""The death of a process that shares a run, seen by the others: the sockets of their meeting stay open.

A connection that ends without a goodbye is a death. JAX would end the survivors later, by an abort that names
no process. Process 0 hears all others and passes a death on; the others hear process 0.
"""

import atexit
import contextlib
import os
import selectors
import socket
import struct
import sys
import threading
import time
from collections.abc import Mapping

LOST = 3  # exit code of the survivors
SILENCE_SECONDS = 20  # after which the host of a connection counts as dead
PROBES = 4  # of the system, within that time
GRACE_SECONDS = 1.0  # for an error of this process, which may be the same
SAID = struct.Struct("!4sI")  # a word, and a process
GOODBYE, DEAD = b"bye!", b"dead"
_advice = ""


def advise(text: str) -> None:
  """Set the second sentence of the line that ends this process when another dies: where to go on."""
  global _advice
  _advice = text


def await_death() -> None:
  """Give the listening thread time to end this process, with the line that names the dead one."""
  time.sleep(2 * GRACE_SECONDS)


def watch_others(connections: Mapping[int, socket.socket]) -> None:
  """Watch connections to other processes from now on; at its own end this process says goodbye."""
  for connection in connections.values():
    _probe(connection)
  threading.Thread(target=_listen, args=(connections,), daemon=True).start()
  atexit.register(_send, connections, GOODBYE)  # before JAX waits there for all processes


def _probe(connection: socket.socket) -> None:
  """Let the system ask whether the other host is still there."""
  connection.settimeout(None)
  connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
  pause = SILENCE_SECONDS // (PROBES + 1)
  for name, value in (("KEEPIDLE", pause), ("KEEPINTVL", pause), ("KEEPCNT", PROBES)):
    if (option := getattr(socket, f"TCP_{name}", None)) is not None:  # not on every system
      connection.setsockopt(socket.IPPROTO_TCP, option, value)


def _listen(connections: Mapping[int, socket.socket]) -> None:
  """Wait for deaths; ends when all others have said goodbye."""
  with selectors.DefaultSelector() as waiting:
    for process, connection in connections.items():
      waiting.register(connection, selectors.EVENT_READ, process)
    while waiting.get_map():
      for key, _ in waiting.select():
        word, process = _hear(connections[key.data], key.data)
        if word == DEAD:
          _send(connections, DEAD, process)
          time.sleep(GRACE_SECONDS)
          _leave(process)
        waiting.unregister(key.fileobj)


def _hear(connection: socket.socket, process: int) -> tuple[bytes, int]:
  """The word of a process; its own death where the connection ends."""
  with contextlib.suppress(OSError):
    if len(said := connection.recv(SAID.size, socket.MSG_WAITALL)) == SAID.size:
      return SAID.unpack(said)
  return DEAD, process


def _send(connections: Mapping[int, socket.socket], word: bytes, process: int = 0) -> None:
  for connection in connections.values():
    with contextlib.suppress(OSError):
      connection.sendall(SAID.pack(word, process))


def _leave(process: int) -> None:
  """End this process at once: other threads in a collective would wait for the dead one."""
  print(f"\nps-cfr-spiel: process {process} is lost. {_advice}".rstrip(), file=sys.stderr, flush=True)
  os._exit(LOST)
