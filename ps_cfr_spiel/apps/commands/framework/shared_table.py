"""A table in a CSV file that several processes fill together, a row for each piece of work.

The pieces are numbered. A process claims one by a lock on that byte of the file NAME.lock, so the operating
system frees the pieces of a killed process; one more byte guards the table itself. Without
locks in the file system, a process works as if it were alone.
"""

from __future__ import annotations

import contextlib
import csv
import fcntl
import io
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

from ps_cfr_spiel.storage import replacing

TABLE = 2**31 - 1  # the byte of the table; pieces have smaller numbers


class SharedTable:
  """A CSV file of rows and the claims on those to come; open it once in a process, as a context manager."""

  def __init__(self, path: Path):
    """Nothing is read or written before the first call."""
    self.path = path
    self._lock_path = path.with_name(f"{path.name}.lock")

  def __enter__(self) -> Self:
    self._open()
    return self

  def _open(self) -> None:
    self._descriptor = os.open(self._lock_path, os.O_CREAT | os.O_RDWR, 0o666)

  def __exit__(self, *_: object) -> None:
    with contextlib.suppress(OSError):  # another process works on
      fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
      if self._is_current():
        self._lock_path.unlink()
    os.close(self._descriptor)  # with all its claims

  @contextlib.contextmanager
  def claim(self, number: int, *, wait: bool = True) -> Iterator[bool]:
    """Hold a piece for the block. False if another process has it, and `wait` is False."""
    if not self._lock(number, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB)):
      yield False
      return
    try:
      yield True
    finally:
      with contextlib.suppress(OSError):  # no locks
        fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, number)

  def _lock(self, number: int, how: int) -> bool:
    """True if a piece is locked now, in the file of all processes: one that ended may have removed it."""
    while True:
      try:
        fcntl.lockf(self._descriptor, how, 1, number)
      except (BlockingIOError, PermissionError):
        return False
      except OSError:  # no locks
        return True
      if self._is_current():
        return True
      os.close(self._descriptor)
      self._open()

  def _is_current(self) -> bool:
    """True if the path still names the open lock file."""
    with contextlib.suppress(FileNotFoundError):
      return os.path.samestat(os.fstat(self._descriptor), self._lock_path.stat())
    return False

  def text(self) -> str:
    """All whole lines, or the whole text if it has none; "" if there is no file."""
    with self.claim(TABLE):
      if not self.path.exists():
        return ""
      text = self.path.read_text(encoding="utf-8", errors="replace")
      return text[: text.rfind("\n") + 1] or text

  def append(self, names: Sequence[str], texts: Sequence[str]) -> None:
    """Add a row, to the disk, in place of one that a killed process left unfinished.

    The first one brings the names of the columns.
    """
    with self.claim(TABLE):
      first, lines = not self.path.exists(), io.StringIO()
      csv.writer(lines, lineterminator="\n").writerows([names, texts] if first else [texts])
      if first:
        with replacing(self.path, encoding="utf-8", newline="") as whole:
          whole.write(lines.getvalue())
        return
      with open(self.path, "r+b") as more:
        more.truncate(more.read().rfind(b"\n") + 1)
        more.seek(0, os.SEEK_END)
        more.write(lines.getvalue().encode())
        more.flush()
        os.fsync(more.fileno())
