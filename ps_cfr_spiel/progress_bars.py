"""The bars of `reports.progress_bar`, one for each place where output goes; imported where a bar is made."""

import io
import sys
import time
from typing import Any

from tqdm import tqdm

TerminalBar = tqdm


class LineBar(tqdm):
  """A line now and then in place of a bar, for files and pipes."""

  def __init__(self, every: float, **options: Any):
    """Print a line where `every` seconds have passed; the others are options of tqdm."""
    layout = "{desc}: {n_fmt}/{total_fmt}{unit} after {elapsed}, {remaining} to go{postfix}"
    super().__init__(**{**options, "delay": every, "miniters": 1, "leave": False, "bar_format": layout})
    self._every, self._printed = every, time.time()

  def display(self, msg: str | None = None, pos: int | None = None) -> None:
    """Print the line, if it is due; the bar's end, which has a `msg`, prints nothing."""
    if msg is None and time.time() - self._printed >= self._every:
      print(self, file=sys.stderr, flush=True)
      self._printed = time.time()

  def set_description(self, desc: str | None = None, refresh: bool | None = True) -> None:
    """Like tqdm's, without the colon that it adds: the layout has one."""
    self.set_description_str(desc, refresh)

  def clear(self, nolock: bool = False) -> None:
    """Leave the lines."""


class NotebookBar(tqdm):
  """A bar in one output of a notebook, which is updated, and emptied where the bar is cleared."""

  def __init__(self, **options: Any):
    self._output = None
    super().__init__(**{**options, "file": io.StringIO()})  # in a notebook \r would begin a line

  def display(self, msg: str | None = None, pos: int | None = None) -> None:
    """Show the bar's state, or `msg`."""
    from IPython.display import display  # part of the notebook's kernel

    data = {"text/plain": str(self) if msg is None else msg}
    if self._output is not None:
      self._output.update(data, raw=True)
    elif data["text/plain"]:
      self._output = display(data, raw=True, display_id=True)

  def clear(self, nolock: bool = False) -> None:
    """Empty the output."""
    self.display("")
