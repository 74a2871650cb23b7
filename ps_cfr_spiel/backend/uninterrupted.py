"""Sections that Ctrl-C and other signals do not interrupt: a state and the arrays that replace it stay whole.

A loop whose tables change in place gives up the old state with the call, and has the new one only after the
assignment. An exception of a signal handler, such as KeyboardInterrupt, may come between the two. In the
import of a library in C++ it would be another error, or a crash.
"""

import contextlib
import importlib
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Self

from ps_cfr_spiel.reports import waiting

_signal = importlib.import_module("_signal")  # without enumerations: for all numbers these take 50 us
NUMBERS = tuple(map(int, signal.valid_signals()))


class Uninterrupted:
  """A context in which no signal handler runs: those of Python wait for its end, and run there.

  So KeyboardInterrupt, or an exception of the user's handler, comes after the block. Signals without a
  handler in Python keep their effect. In other threads than the main one, where no handler runs, it does
  nothing.
  """

  def __init__(self, notice: str = ""):
    """Begin nothing yet; `notice` is shown if a signal has to wait for long."""
    self._notice, self._stack = notice, contextlib.ExitStack()
    self._arrived: list[int] = []
    self._handlers: dict[int, Callable[[int, FrameType | None], object]] = {}
    self._over = False

  def __enter__(self) -> Self:
    if threading.current_thread() is threading.main_thread():
      self._handlers = {n: f for n in NUMBERS if callable(f := _signal.getsignal(n))}
      try:
        for number in self._handlers:
          _signal.signal(number, self._arrive)
      except BaseException:  # of a handler not replaced yet
        self._restore()
        raise
    return self

  def __exit__(self, *_: object) -> None:
    try:
      self._restore()
    finally:
      for number in dict.fromkeys(self._arrived):
        signal.raise_signal(number)

  def _restore(self) -> None:
    """Put the handlers back; if one that is back raises meanwhile, `_arrive` passes on to the others."""
    try:
      self._stack.close()
      for number, handler in self._handlers.items():
        _signal.signal(number, handler)
    finally:
      self._over = True

  def _arrive(self, number: int, frame: FrameType | None) -> None:
    if self._over:
      self._handlers[number](number, frame)
      return
    self._arrived.append(number)
    if self._notice and len(self._arrived) == 1:
      self._stack.enter_context(waiting(self._notice))
