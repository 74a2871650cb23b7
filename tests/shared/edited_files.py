"""Files of arrays, taken apart and put together by the library safetensors alone, as anybody could."""

import json
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import numpy as safetensors

DELETED = object()  # in place of a field


def unpacked(content: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
  """The header and the arrays of a file."""
  size = int.from_bytes(content[:8], "little")
  header = json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["header"])
  return header, safetensors.load(content)


def packed(header: Any, arrays: Mapping[str, np.ndarray]) -> bytes:
  """A file with this header and these arrays, and the checksum of their bytes."""
  arrays = {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in arrays.items()}
  content = safetensors.save(arrays)
  checksum = zlib.crc32(content[8 + int.from_bytes(content[:8], "little") :])
  facts = {"format": "ps_cfr_spiel", "header": json.dumps(header), "checksum": f"{checksum:08x}"}
  return safetensors.save(arrays, facts)


def rewrite(
  path: Path,
  header: Mapping[str, Any] | None = None,
  arrays: Mapping[str, Callable[[np.ndarray], np.ndarray]] | None = None,
) -> None:
  """Change fields of a file's header (`DELETED` deletes one; "options.x" is an option) and some arrays."""
  fields, content = unpacked(path.read_bytes())
  for name, value in (header or {}).items():
    outer, _, inner = name.partition(".")
    fields[outer] = {**fields[outer], inner: value} if inner else value
  fields = {name: value for name, value in fields.items() if value is not DELETED}
  changed = {name: change(content[name]) for name, change in (arrays or {}).items()}
  path.write_bytes(packed(fields, content | changed))
