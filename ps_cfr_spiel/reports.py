"""Reports for people: lines of facts, and bars and notices for those who wait."""

import contextlib
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any

from tqdm import tqdm as text_bar
from tqdm.auto import tqdm

COLUMN = 21  # where facts begin
PATIENCE = 2  # seconds before a bar or a notice appears that nobody asked for
TICK = 0.5  # seconds between two looks at the clock of a notice


def report(facts: Mapping[str, object]) -> str:
  """Lines such as "game:                kuhn_poker()", one for each fact."""
  return "\n".join(f"{name + ':':{COLUMN - 1}} {fact}" for name, fact in facts.items())


def progress_bar(progress: bool | None, **options: Any) -> tqdm:
  """A progress bar.

  Args:
    progress: show it, or not. None shows it where somebody looks, on a terminal or in a notebook, once two
      seconds have passed, and clears it away in the end.
    options: tqdm's.
  """
  if progress is None:
    progress = _is_seen()
    options |= {"delay": PATIENCE, "leave": False}
  return tqdm(disable=not progress, **options)


@contextlib.contextmanager
def waiting(what: str, progress: bool | None = None) -> Iterator[None]:
  """Says what is being done, with a clock, for steps that cannot tell how far they are, such as compiling.

  Args:
    what: is being done, such as "Compiling".
    progress: None says it as a bar that nobody asked for appears: to people, after two seconds, and cleared
      away in the end. True and False say nothing, since a bar speaks already, or nothing shall.
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
  """Whether somebody looks: on a terminal or in a notebook."""
  return sys.stderr.isatty() or "ipykernel" in sys.modules
