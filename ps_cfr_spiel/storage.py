"""Files of this package: one .npz with a JSON header, written whole or not at all."""

import contextlib
import io
import json
import os
import tempfile
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ps_cfr_spiel.version import __version__

FORMAT = "ps_cfr_spiel"
FORMAT_VERSION = 1
DAMAGE = (
  ValueError,
  KeyError,
  EOFError,
  AttributeError,
  TypeError,
  NotImplementedError,
  zipfile.BadZipFile,
  zlib.error,
)


def write(path: str | os.PathLike, kind: str, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
  """Writes a file, replacing an earlier one only when the new one is complete on disk.

  Args:
    path: where; its folder must exist.
    kind: what the file holds, "solver" or "policy".
    header: JSON values; `version` is added, that of this package, unless it is there.
    arrays: arrays by name.

  Raises:
    OSError: the path cannot be written or the disk is full; an earlier file is left as it was.
  """
  path = Path(path)
  stamp = {"format": FORMAT, "format_version": FORMAT_VERSION, "version": __version__, "kind": kind}
  content: dict[str, Any] = {name: np.asarray(array) for name, array in arrays.items()}
  packed = io.BytesIO()  # an archive that fails halfway would try to write on when it is cleaned up
  np.savez(packed, header=np.array(json.dumps({**stamp, **header})), **content)
  handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
  try:
    with os.fdopen(handle, "wb") as file:
      file.write(packed.getbuffer())
      file.flush()
      os.fsync(file.fileno())
    os.chmod(temporary, 0o666 & ~_umask())
    os.replace(temporary, path)
  except BaseException:
    with contextlib.suppress(OSError):
      os.unlink(temporary)
    raise


def _umask() -> int:
  """The process's file mode mask, which can be read only by setting it."""
  mask = os.umask(0)
  os.umask(mask)
  return mask


def read(path: str | os.PathLike) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
  """Reads a file of `write`.

  Returns:
    Header and arrays.

  Raises:
    OSError: there is no such file or it cannot be read.
    ValueError: the file is truncated, or not one of this package's, or of a newer format.
  """
  try:
    with open(path, "rb") as file, np.load(file, allow_pickle=False) as content:
      arrays = {name: content[name] for name in content.files}
    header = json.loads(str(arrays.pop("header")))
    known = isinstance(header, dict) and header.get("format") == FORMAT
  except OSError:
    raise
  except DAMAGE as error:
    raise ValueError(f"{path} is truncated or not a file of {FORMAT}: {error}") from error
  if not known:
    raise ValueError(f"{path} is not a file of {FORMAT}.")
  if header.get("format_version", 0) > FORMAT_VERSION:
    raise ValueError(
      f"{path} has format version {header['format_version']}; this version reads up to {FORMAT_VERSION}."
    )
  return header, arrays
