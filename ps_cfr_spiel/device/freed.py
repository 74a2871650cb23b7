"""Gives freed memory back to the system.

The C library keeps what was freed for what is asked for next. Compiling takes a hundred megabytes in small
pieces, in all threads, and the large tables that come afterwards fit into none of the holes.
"""

import ctypes
import functools
from collections.abc import Callable
from typing import Any

from jax import monitoring

LONG = 0.5  # seconds of compiling, after which it is worth giving back what that took


@functools.cache
def _trim() -> Callable[[int], int] | None:
  """The C library's function, if it is one that has it (glibc)."""
  try:
    return ctypes.CDLL(None).malloc_trim
  except (AttributeError, OSError, TypeError):
    return None


def give_back() -> None:
  """Gives back what can be given back; takes some milliseconds."""
  trim = _trim()
  if trim is not None:
    trim(0)


def _compiled(event: str, duration_secs: float, **_: Any) -> None:
  """JAX says how long something took; between compiling and running is the time to give back."""
  if "compile" in event and duration_secs > LONG:
    give_back()


monitoring.register_event_duration_secs_listener(_compiled)
