"""Gives freed memory back to the system.

The C library keeps what was freed for what is asked for next. Compiling takes a hundred megabytes in small
pieces, in all threads, and the large tables that come afterwards fit into none of the holes.
"""

import ctypes
import functools
from collections.abc import Callable


@functools.cache
def _trim() -> Callable[[int], int] | None:
  """The C library's function, if it is one that has it (glibc)."""
  try:
    return ctypes.CDLL(None).malloc_trim
  except (AttributeError, OSError, TypeError):
    return None


def trim_heap() -> None:
  """Gives back what can be given back; takes some milliseconds."""
  trim = _trim()
  if trim is not None:
    trim(0)
