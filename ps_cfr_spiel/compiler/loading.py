"""Loading games without what OpenSpiel's C++ writes to stderr."""

import contextlib
import os
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def quiet_stderr() -> Iterator[None]:
  """Hides what OpenSpiel's C++ writes to stderr before it raises an exception with the same text."""
  sys.stderr.flush()
  kept = os.dup(2)
  try:
    with open(os.devnull, "w") as nowhere:
      os.dup2(nowhere.fileno(), 2)
    yield
  finally:
    os.dup2(kept, 2)
    os.close(kept)
