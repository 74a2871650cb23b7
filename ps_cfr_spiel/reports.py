"""Reports for people: lines of facts, progress bars and notices, and a stopwatch."""

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

from tqdm import tqdm as text_bar
from tqdm.auto import tqdm

COLUMN = 21  # of the facts
PATIENCE = 2  # seconds before an unasked bar or notice appears
TICK = 0.5  # seconds between two updates of a notice


def report(facts: Mapping[str, object]) -> str:
  """Lines such as "game:                kuhn_poker()", one for each fact."""
  return "\n".join(f"{name + ':':{COLUMN - 1}} {fact}" for name, fact in facts.items())


class Stopwatch:
  """Adds up the seconds of its `with` blocks, also of a block that an exception ends.

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


def progress_bar(progress: bool | None, **options: Any) -> tqdm:
  """A progress bar.

  Args:
    progress: True: show it; False: hide it. None: show it after two seconds, on a terminal or in a notebook,
      and clear it at the end.
    options: tqdm's.
  """
  if progress is None:
    progress = _is_seen()
    options |= {"delay": PATIENCE, "leave": False}
  return tqdm(disable=not progress, **options)


@contextlib.contextmanager
def waiting(what: str, progress: bool | None = None) -> Iterator[None]:
  """Prints a notice with a clock during a step without known progress, such as compiling.

  Args:
    what: the notice, such as "Compiling".
    progress: None: print the notice after two seconds, on a terminal or in a notebook, and clear it at the
      end. True or False: print nothing, because the caller shows a bar or wants silence.
  """
  if progress is not None or not _is_seen():
    yield
    return
  done, start = threading.Event(), time.time()

  def tell() -> None:
    if done.wait(PATIENCE):
      return
    # Text in notebooks too: widgets want no threads.
    with text_bar(desc=what, bar_format="{desc} ... {elapsed}", leave=False) as bar:
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


def _is_seen() -> bool:
  """Whether the output is a terminal or a notebook."""
  return sys.stderr.isatty() or "ipykernel" in sys.modules
