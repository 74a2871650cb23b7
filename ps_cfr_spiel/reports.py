"""Reports for people: lines of facts, progress bars and notices, and a stopwatch."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
  from tqdm import tqdm

COLUMN = 21  # of the facts
PATIENCE = 2  # seconds before an unasked bar or notice appears
TICK = 0.5  # seconds between two updates of a notice
MINUTE = 60  # seconds between two lines where the output is a file or a pipe


def report(facts: Mapping[str, object]) -> str:
  """Lines such as "game:                kuhn_poker()", one for each fact."""
  return "\n".join(f"{name + ':':{COLUMN - 1}} {fact}" for name, fact in facts.items())


class Stopwatch:
  """A clock that adds up the seconds of its `with` blocks, also of a block that an exception ends.

  Attributes:
    seconds: of all blocks so far.
    last: of the last block.
  """

  def __init__(self, clock: Callable[[], float] = time.perf_counter):
    """Stands at zero; `clock` gives the time in seconds."""
    self.seconds, self.last, self._clock = 0.0, 0.0, clock

  def __enter__(self) -> Self:
    self._start = self._clock()
    return self

  def __exit__(self, *_: object) -> None:
    self.last = self._clock() - self._start
    self.seconds += self.last


class HiddenBar:
  """A bar for runs too short to show one: tqdm's takes longer to make than they do."""

  n = 0

  def update(self, n: float) -> None:
    """See tqdm's, as in all these."""

  def set_postfix_str(self, s: str, refresh: bool) -> None:
    """Show nothing."""

  def clear(self) -> None:
    """Show nothing."""

  def refresh(self) -> None:
    """Show nothing."""

  def close(self) -> None:
    """Show nothing."""


def in_notebook() -> bool:
  """Whether the kernel of a notebook runs this process; test runners import `ipykernel` too."""
  if "ipykernel" not in sys.modules:
    return False
  from ipykernel.zmqshell import ZMQInteractiveShell

  return ZMQInteractiveShell.initialized()


def progress_bar(progress: bool | None, **options: Any) -> tqdm:
  """A progress bar, with tqdm's options. True: show it; False: hide it.

  None: show it after two seconds, on a terminal or in a notebook, and clear it at the end; elsewhere print a
  line a minute.
  """
  # Here, since tqdm imports much, and help shows no bar.
  from ps_cfr_spiel.progress_bars import LineBar, NotebookBar, TerminalBar

  notebook = in_notebook()
  if progress is None and not (notebook or sys.stderr.isatty()):
    return LineBar(MINUTE, **options)
  if progress is None:
    progress = True
    options |= {"delay": PATIENCE, "leave": False}
  return (NotebookBar if notebook else TerminalBar)(disable=not progress, **options)


@contextlib.contextmanager
def waiting(what: str, progress: bool | None = None) -> Iterator[None]:
  """Print a notice, such as "Compiling", with a clock during a step without known progress.

  None: after two seconds, on a terminal or in a notebook, and clear it at the end; elsewhere print it once a
  minute. True or False: print nothing, because the caller shows a bar or wants silence.
  """
  if progress is not None:
    yield
    return
  done, start = threading.Event(), time.time()
  seen = sys.stderr.isatty() or in_notebook()

  def tell() -> None:
    while not seen and not done.wait(MINUTE):
      print(f"{what} ... {time.time() - start:.0f} s", file=sys.stderr, flush=True)
    if done.wait(PATIENCE):
      return
    with progress_bar(True, desc=what, bar_format="{desc} ... {elapsed}", leave=False) as bar:
      bar.start_t = start
      while not done.wait(TICK):
        bar.refresh()

  teller = threading.Thread(target=tell, daemon=True)
  teller.start()
  try:
    yield
  finally:
    done.set()
    teller.join()


@contextlib.contextmanager
def quiet_stderr() -> Iterator[None]:
  """Hide the text that OpenSpiel's C++ writes to stderr before it raises an exception with the same text."""
  sys.stderr.flush()
  kept = os.dup(2)
  try:
    with open(os.devnull, "w") as nowhere:
      os.dup2(nowhere.fileno(), 2)
    yield
  finally:
    os.dup2(kept, 2)
    os.close(kept)
