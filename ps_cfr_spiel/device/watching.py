"""One command in several processes of this machine: started, watched, and ended together when one dies.

In a collective, a process waits for a dead one until JAX counts that as dead; the watcher sees it at once.
The watcher writes to the input of the processes: a line asks them to stop, end of file means that
the watcher has ended.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ps_cfr_spiel.device.deaths import LOST
from ps_cfr_spiel.device.processes import process_count, sum_over_processes

WATCHED = "PS_CFR_SPIEL_WATCHED"  # in the environment of watched processes
LOOK_SECONDS = 0.05  # between two looks at the processes
GRACE_SECONDS = 0.5  # for another process to show that it died first
STOP = b"stop\n"
_stop = threading.Event()
_heeded = threading.Event()  # this process looks whether it is to stop


class Ending(NamedTuple):
  """The end of a run in several processes."""

  code: int  #: exit code of the process that decided it; below 0 the signal that killed it
  process: int  #: its number, from 0

  def __str__(self) -> str:
    if self.code >= 0:
      return f"process {self.process} ended with code {self.code}"
    return f"process {self.process} was killed by {signal.Signals(-self.code).name}"


def run_together(
  command: Callable[[str, int], Sequence[str]], count: int, logs: Path, in_order: Sequence[int]
) -> Ending:
  """Run a command in several processes, until all have ended in order or one has failed.

  The first process prints here, the others to files `process1.log`, ... in `logs`. Ctrl-C asks all to stop; a
  second Ctrl-C kills them. `command` makes the command line from an address for `join_processes` and the
  number of the process; `in_order` are exit codes of processes that ended well.
  """
  with socket.socket() as free:
    free.bind(("localhost", 0))
    address = f"localhost:{free.getsockname()[1]}"
  started: list[subprocess.Popen] = []
  with contextlib.ExitStack() as stack:
    for process in range(count):
      output = stack.enter_context(open(log_path(logs, process), "wb")) if process else None
      streams: Any = {"stdin": subprocess.PIPE, "stdout": output, "stderr": output}
      words, environment = command(address, process), {**os.environ, WATCHED: "1"}
      # A session of its own: Ctrl-C in a terminal then reaches the watcher alone.
      child = subprocess.Popen(words, env=environment, start_new_session=True, **streams)
      started.append(stack.enter_context(child))
      stack.callback(lambda: [child.kill() for child in started])  # all, before any is waited for
    return _watch(started, in_order)


def log_path(folder: Path, process: int) -> Path:
  """The file with the output of any process but the first."""
  return folder / f"process{process}.log"


def _watch(started: Sequence[subprocess.Popen], in_order: Sequence[int]) -> Ending:
  asked = False
  while True:
    try:
      codes = [process.poll() for process in started]
      if any(code is not None and code not in in_order for code in codes):
        time.sleep(GRACE_SECONDS)
        return deciding_end([process.poll() for process in started], in_order)
      if None not in codes:
        return Ending(max(code for code in codes if code is not None), 0)
      time.sleep(LOOK_SECONDS)
    except KeyboardInterrupt:
      if asked:
        raise
      asked = True
      for process in started:
        assert process.stdin is not None
        with contextlib.suppress(OSError):  # it has ended
          process.stdin.write(STOP)
          process.stdin.flush()


def deciding_end(codes: Sequence[int | None], in_order: Sequence[int]) -> Ending:
  """The end that decides: of a killed process, else of the first that did not end for another's death.

  `codes` are exit statuses, None for a process that runs on; some must not be `in_order`.
  """
  wrong = [
    Ending(code, process) for process, code in enumerate(codes) if code is not None and code not in in_order
  ]
  killed = (-signal.SIGKILL, -signal.SIGTERM)
  return min(wrong, key=lambda ending: (ending.code == LOST, ending.code not in killed))


def exit_with_parent() -> None:
  """Listen to the watcher, in a watched process: stop when asked, exit when it has ended."""
  if WATCHED in os.environ:
    threading.Thread(target=_listen, daemon=True).start()


def _listen() -> None:
  while said := os.read(sys.stdin.fileno(), len(STOP)):  # no buffer, which would be locked at the end
    if said == STOP:
      _stop.set()
  os._exit(1)  # the watcher has gone


def asked_to_stop() -> bool:
  """True if the watcher, or a signal here, has asked a process of this run to stop; all must call it."""
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
