"""The return of freed memory to the system.

The C library keeps freed memory for later allocations. Compiling takes a hundred megabytes in small pieces,
in all threads, and the large tables of the solver do not fit into the holes.
"""

import ctypes
import functools
from collections.abc import Callable


@functools.cache
def _trim() -> Callable[[int], int] | None:
  """`malloc_trim` of the C library; None without it (glibc has it)."""
  try:
    return ctypes.CDLL(None).malloc_trim
  except (AttributeError, OSError, TypeError):
    return None


def trim_heap() -> None:
  """Return free heap memory to the system; takes some milliseconds."""
  trim = _trim()
  if trim is not None:
    trim(0)
