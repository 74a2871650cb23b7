"""One command in several processes of this machine: started, watched, and ended together when one dies.

A process that waits for a dead one in a collective would wait until JAX counts that as dead. The watcher sees
it at once. It speaks to the processes through their input: a line asks them to stop, and its end says that
the watcher itself has gone.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, NamedTuple

WATCHED = "PS_CFR_SPIEL_WATCHED"  # in the environment of processes that somebody watches
LOOK_SECONDS = 0.05  # between two looks at the processes
GRACE_SECONDS = 0.5  # for others to show that they died first
STOP = b"stop\n"
_stop = threading.Event()


class Ending(NamedTuple):
  """How processes ended.

  Attributes:
    code: the exit code of the one that decided it; below 0 the signal that killed it.
    process: which that was, from 0.
  """

  code: int
  process: int

  def __str__(self) -> str:
    if self.code >= 0:
      return f"process {self.process} ended with code {self.code}"
    return f"process {self.process} was killed by {signal.Signals(-self.code).name}"


def run_together(
  command: Callable[[str, int], Sequence[str]], count: int, logs: Path, in_order: Sequence[int]
) -> Ending:
  """Runs a command in so many processes, until all have ended in order, or one has not.

  The first one has this process's output; what others print goes to files. Ctrl-C asks all to stop; if it
  comes again, they are killed.

  Args:
    command: (address for `join`, which process) -> what to run.
    count: how many processes.
    logs: folder for the files `process1.log`, ...
    in_order: exit codes after which the others are waited for.
  """
  address = f"localhost:{_free_port()}"
  started: list[subprocess.Popen] = []
  files: list[IO[bytes]] = []
  try:
    for process in range(count):
      output = None
      if process:
        output = open(log_of(logs, process), "wb")  # noqa: SIM115  (closed below)
        files.append(output)
      words, environment = command(address, process), {**os.environ, WATCHED: "1"}
      # A session of its own, so that Ctrl-C in a terminal comes to the watcher alone.
      started.append(
        subprocess.Popen(
          words,
          stdin=subprocess.PIPE,
          stdout=output,
          stderr=output,
          env=environment,
          start_new_session=True,
        )
      )
    return _watch(started, in_order)
  finally:
    for process in started:
      process.kill()
    for process in started:
      process.wait()
      assert process.stdin is not None
      process.stdin.close()
    for file in files:
      file.close()


def log_of(folder: Path, process: int) -> Path:
  """Where what a process prints goes, but for the first."""
  return folder / f"process{process}.log"


def _watch(started: Sequence[subprocess.Popen], in_order: Sequence[int]) -> Ending:
  asked = False
  while True:
    try:
      codes = [process.poll() for process in started]
      if any(code is not None and code not in in_order for code in codes):
        time.sleep(GRACE_SECONDS)
        return _cause([process.poll() for process in started], in_order)
      if None not in codes:
        return Ending(max(code for code in codes if code is not None), 0)
      time.sleep(LOOK_SECONDS)
    except KeyboardInterrupt:
      if asked:
        raise
      asked = True
      for process in started:
        _ask_to_stop(process)


def _cause(codes: Sequence[int | None], in_order: Sequence[int]) -> Ending:
  """Whose end it was: of one that was killed, or else of the first whose code is not in order."""
  wrong = [
    Ending(code, process) for process, code in enumerate(codes) if code is not None and code not in in_order
  ]
  return min(wrong, key=lambda ending: ending.code not in (-signal.SIGKILL, -signal.SIGTERM))


def _ask_to_stop(process: subprocess.Popen) -> None:
  assert process.stdin is not None
  try:
    process.stdin.write(STOP)
    process.stdin.flush()
  except OSError:
    pass  # it has ended


def exit_with_parent() -> None:
  """Listens, in a process that is watched, to what the watcher says."""
  if WATCHED in os.environ:
    threading.Thread(target=_listen, daemon=True).start()


def _listen() -> None:
  while said := os.read(sys.stdin.fileno(), len(STOP)):  # no buffer, which would be locked at the end
    if said == STOP:
      _stop.set()
  os._exit(1)  # the watcher has gone


def asked_to_stop() -> bool:
  """Whether the watcher has asked this process to stop."""
  return _stop.is_set()


def _free_port() -> int:
  with socket.socket() as free:
    free.bind(("localhost", 0))
    return free.getsockname()[1]
