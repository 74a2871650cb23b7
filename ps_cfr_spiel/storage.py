"""Files of this package: arrays with a header in the format safetensors, written whole or not at all.

The library of that name (https://github.com/huggingface/safetensors) checks the layout: all arrays lie in
the file, one after the other, with the sizes of their shapes. A file may come from anywhere. Its header is
checked as a whole (`FIELDS`), and arrays are read only with the shapes that the caller expects. So a file
takes no more memory than its game, nor more than its own size. Files are written here: the library's own
writer leaves its temporary file behind when it is killed, and its errors have no `errno`.
"""

import contextlib
import dataclasses
import errno
import json
import math
import os
import re
import secrets
import tempfile
import time
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import ArrayLike
from safetensors import SafetensorError, safe_open

from ps_cfr_spiel.arguments import JSON
from ps_cfr_spiel.version import __version__

FORMAT = "ps_cfr_spiel"
FORMAT_VERSION = 4
SUFFIX = ".safetensors"  # ends the names of all files
STAMP = ("format_version", "kind")  # fields of every header
STALE_SECONDS = 600  # age of the leftovers of a killed writer
DTYPES = {  # of arrays, by their names in the format
  **{f"{letter}{8 * size}": np.dtype(f"<{letter.lower()}{size}") for letter in "IU" for size in (1, 2, 4, 8)},
  **{f"F{8 * size}": np.dtype(f"<f{size}") for size in (2, 4, 8)},
  "BOOL": np.dtype(bool),
}


def _is_count(value: JSON) -> bool:
  return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _is_counts(value: JSON) -> bool:
  return isinstance(value, list) and all(map(_is_count, value))


def _is_string(value: JSON) -> bool:
  return isinstance(value, str)


TEXT = (_is_string, "a string")
FIELDS: dict[str, tuple[Callable[[JSON], bool], str]] = {  # of a header: a check, and the demand
  "kind": (lambda value: value in list(NEEDED), "'run', 'policy', 'abstraction', 'examples' or 'values'"),
  **dict.fromkeys(("version", "policy", "situations", "features", "key"), TEXT),
  "game": (_is_string, "a game string"),
  "module": (lambda value: _is_string(value) and value.isprintable(), "the name of a module"),
  "solver": (lambda value: _is_string(value) and value.isidentifier(), "a solver's name"),
  "options": (lambda value: isinstance(value, dict), "options by name"),
  "iteration": (_is_count, "an integer of at least 0"),
  **dict.fromkeys(("locks", "part"), (_is_counts, "a list of public states")),
  "locked_types": (
    lambda value: isinstance(value, list) and all(re.fullmatch("(?:[0-9a-f]{2})*", str(x)) for x in value),
    "a list of bytes in hexadecimal digits",
  ),
  **dict.fromkeys(("run", "locked_to"), (_is_string, "a fingerprint")),
  "teacher": (lambda value: isinstance(value, str | dict), "a string or an object"),
  "shards": (
    lambda value: _is_string(value) and bool(re.fullmatch("[0-9a-f]{8}", value)),
    "eight hexadecimal digits",
  ),
  **dict.fromkeys(
    ("count", "places", "layers", "measured"),
    (lambda value: _is_count(value) and value < 2**31, "an integer of at least 0"),
  ),
  **dict.fromkeys(
    ("clustered_round", "width"),
    (lambda value: _is_count(value) and 0 < value < 2**31, "an integer of at least 1"),
  ),
  "slots": (
    lambda value: isinstance(value, list) and len(value) == 2 and all(map(_is_count, value)),
    "two integers of at least 0",
  ),
}
NEEDED = {  # fields by kind
  "run": ("game", "solver", "options", "iteration"),
  "policy": ("game",),
  "abstraction": ("game",),
  "examples": ("teacher",),
  "values": ("game", "features", "places", "slots", "width", "layers", "measured"),
}

Shape = tuple[tuple[int, ...], np.dtype]


class _Held:
  """A file that stays open as long as this object: a run may replace it meanwhile."""

  def __init__(self, path: Path):
    self.path = path
    with open(path, "rb") as file:
      self.descriptor = os.dup(file.fileno())
    weakref.finalize(self, os.close, self.descriptor)


@dataclasses.dataclass(frozen=True)
class Stored:
  """A file whose arrays are still on disk; all reads are of one and the same file.

  Attributes:
    path: of the file.
    header: checked against `FIELDS`.
    shapes: shape and dtype of each array, by name.
    checksum: of the bytes of all arrays, as the file claims it.
  """

  path: Path
  header: dict[str, JSON]
  shapes: dict[str, Shape]
  checksum: str
  _held: _Held

  @property
  def fingerprint(self) -> str:
    """Eight hexadecimal digits of all its content."""
    return f"{zlib.crc32(repr((self.header, self.shapes, self.checksum)).encode()):08x}"

  def mapped(self, expected: Mapping[str, Shape]) -> dict[str, np.ndarray]:
    """The arrays, if they are exactly the expected ones; their bytes stay on disk until used, unchecked."""
    self._check_shapes(expected)
    with open(self._held.descriptor, "rb", closefd=False) as file:
      content = np.memmap(file, np.uint8, "r")
    return {
      name: content[start : start + _bytes(self.shapes[name])].view(dtype).reshape(shape)
      for name, (start, (shape, dtype)) in self._places()
    }

  @property
  def content(self) -> str:
    """The kind of its content for messages, such as "a policy", "values" or "a PSCFRSolver"."""
    kind = self.header["solver"] if self.header["kind"] == "run" else self.header["kind"]
    return kind if kind in ("examples", "values") else f"{'an' if kind[0] in 'AEIOUaeiou' else 'a'} {kind}"

  def arrays(
    self, expected: Mapping[str, Shape], into: Mapping[str, np.ndarray] | None = None
  ) -> dict[str, np.ndarray]:
    """Read the arrays, if they are exactly the expected ones; contiguous ones may be given to read `into`.

    OSError if the file cannot be read; ValueError if it has other arrays, is damaged, or a number in it is
    not finite.
    """
    self._check_shapes(expected)
    arrays = {}
    with open(self._held.descriptor, "rb", closefd=False) as file:
      for name, (start, (shape, dtype)) in self._places():
        file.seek(start)
        arrays[name] = into[name] if into and name in into else np.empty(shape, dtype)
        # It comes back with fewer bytes only where the file ends too soon: the checksum then differs.
        file.readinto(arrays[name].reshape(-1).view(np.uint8).data)
    if _checksum(arrays.values()) != self.checksum:
      raise ValueError(f"{self.path} is damaged: its arrays differ from those that were written.")
    for name, array in arrays.items():
      if np.issubdtype(array.dtype, np.floating) and not np.isfinite(array).all():
        raise ValueError(f"{self.path} is damaged: {name} holds numbers that are not finite.")
    return arrays

  def _check_shapes(self, expected: Mapping[str, Shape]) -> None:
    for name in dict.fromkeys([*expected, *self.shapes]):
      given, wanted = self.shapes.get(name), expected.get(name)
      if given is None or wanted is None or given != wanted:
        raise ValueError(
          f"{self.path} is damaged, of another game or of an earlier version: its arrays do not fit its game "
          f"and options; of {name} it has {_shape_text(given)}, expected {_shape_text(wanted)}."
        )

  def _places(self) -> Iterator[tuple[str, tuple[int, Shape]]]:
    """The first byte of each array, its shape and dtype; arrays lie at the end of the file, in this order."""
    start = os.fstat(self._held.descriptor).st_size - sum(map(_bytes, self.shapes.values()))
    for name, shape in self.shapes.items():
      yield name, (start, shape)
      start += _bytes(shape)


def _shape_text(shape: Shape | None) -> str:
  return "none" if shape is None else f"{shape[1]}{list(shape[0])}"


def write(
  path: str | os.PathLike, kind: str, header: Mapping[str, JSON], arrays: Mapping[str, ArrayLike]
) -> None:
  """Write a file, replacing an earlier one only when the new one is complete on disk.

  `kind` names the content, one of `NEEDED`; `header` has JSON values, and `version`, that of this package, by
  default. Arrays go to the disk one by one, without a copy in memory but of one whose order is not C's.
  OSError if the path cannot be written or the disk is full: an earlier file is left unchanged. ValueError if
  a field violates `FIELDS`, so the file would be unreadable.
  """
  path = Path(path)
  header = {"format_version": FORMAT_VERSION, "version": __version__, "kind": kind, **header}
  _check_header(path, header)
  given = {name: np.asarray(array) for name, array in arrays.items()}
  given = {name: given[name] for name in sorted(given, key=lambda name: (-given[name].itemsize, name))}
  checksum, names = _checksum(given.values()), {dtype: name for name, dtype in DTYPES.items()}
  content: dict[str, JSON] = {
    "__metadata__": {"format": FORMAT, "header": json.dumps(header), "checksum": checksum}
  }
  start = 0
  for name, array in given.items():
    place = {"data_offsets": [start, start := start + array.nbytes]}
    content[name] = {"dtype": names[array.dtype], "shape": array.shape, **place}
  text = json.dumps(content).encode()
  text += b" " * (-len(text) % 8)  # arrays begin at multiples of eight bytes, and the widest come first
  with replacing(path, "wb") as file:
    file.write(len(text).to_bytes(8, "little") + text)
    for array in given.values():
      file.write(_data(array))


def _data(array: np.ndarray) -> memoryview:
  """The bytes of an array in the order of C; a copy if it is in another."""
  return np.asarray(array, order="C").reshape(-1).view(np.uint8).data


def _checksum(arrays: Iterable[np.ndarray]) -> str:
  total = 0
  for array in arrays:
    total = zlib.crc32(_data(array), total)
  return f"{total:08x}"


def _bytes(shape: Shape) -> int:
  return shape[1].itemsize * math.prod(shape[0])


def check_no_arrays(path: str | os.PathLike) -> None:
  """FileExistsError if a file holds arrays, such as a run, which no text may replace."""
  try:
    with safe_open(path, "np"):
      pass
  except (OSError, SafetensorError):  # none, or another one
    return
  reason = "It holds a run or other arrays: choose another name, or delete it"
  raise FileExistsError(errno.EEXIST, reason, str(path))


@contextlib.contextmanager
def replacing(
  path: str | os.PathLike, mode: str = "w", encoding: str | None = None, newline: str | None = None
) -> Iterator[IO]:
  """A file to write, which replaces an earlier one when it is complete on disk, and else vanishes.

  A link leads to its target. A pipe or device is written through, never replaced. FileExistsError where a
  text (`mode` "w") would replace arrays, such as a run; OSError if the path cannot be written.
  """
  path, target, temporary = Path(path), Path(os.path.realpath(path)), None
  try:
    if target.is_dir():
      raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if path.exists() and not path.is_file():  # the real path of /dev/stdout may not exist
      with open(path, mode, encoding=encoding, newline=newline) as file:
        yield file
      return
    if mode == "w":
      check_no_arrays(path)
    _sweep(target)
    temporary_path = target.with_name(f"{target.name}{secrets.token_hex(4)}.part")
    handle = os.open(temporary_path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    temporary = temporary_path
    with os.fdopen(handle, mode, encoding=encoding, newline=newline) as file:
      yield file
      file.flush()
      os.fsync(file.fileno())
    os.replace(temporary, target)
  except BaseException as error:
    if temporary is not None:
      with contextlib.suppress(OSError):
        os.unlink(temporary)
    if isinstance(error, OSError):  # it may name the temporary file
      raise type(error)(error.errno, error.strerror, str(path)) from error
    raise


def try_folder(folder: Path) -> Path:
  """The folder; OSError unless files can be written to it, now rather than after long work."""
  with tempfile.TemporaryFile(dir=folder):
    return folder


def make_folder(folder: Path) -> Path:
  """The folder, made if needed; OSError as in `try_folder`."""
  folder.mkdir(parents=True, exist_ok=True)
  return try_folder(folder)


def _sweep(path: Path) -> None:
  """Delete the leftovers of killed writers of the same file."""
  with contextlib.suppress(OSError), os.scandir(path.parent) as entries:
    for entry in entries:
      match = re.fullmatch(re.escape(path.name) + r"[0-9a-f]{8}\.part", entry.name)
      if match and time.time() - entry.stat(follow_symlinks=False).st_mtime > STALE_SECONDS:
        os.unlink(entry.path)


def read(path: str | os.PathLike) -> Stored:
  """Read the header of a file of `write`, and the shapes of its arrays.

  OSError if it cannot be read; ValueError if it is truncated, not one of this package's, or of another format
  version, or a field of its header violates `FIELDS`.
  """
  path = Path(path)
  held = _Held(path)
  try:
    with safe_open(f"/dev/fd/{held.descriptor}", "np") as file:  # the very file, should a run replace it now
      facts = file.metadata() or {}
      slices = {name: file.get_slice(name) for name in file.offset_keys()}
      shapes = {name: (tuple(x.get_shape()), DTYPES[x.get_dtype()]) for name, x in slices.items()}
    header = json.loads(facts["header"]) if facts.get("format") == FORMAT else None
  except (SafetensorError, LookupError, RecursionError, ValueError) as error:
    raise ValueError(f"{path} is truncated or not a file of {FORMAT}: {_brief(str(error), 200)}") from error
  if not isinstance(header, dict):
    raise ValueError(f"{path} is not a file of {FORMAT}.")
  _check_header(path, header)
  return Stored(path, header, shapes, facts.get("checksum", ""), held)


def shard(folder: Path, number: int, of: str = "") -> Path:
  """The file of a part of a large result; `of` distinguishes it from parts of others in the same folder."""
  return folder / f"{of}{number:06}{SUFFIX}"


def shards(folder: Path) -> list[Path]:
  """The files of all parts in a folder, in order."""
  return sorted(folder.glob(f"*{SUFFIX}"))


def has_same_options(path: Path, header: Mapping[str, JSON]) -> bool:
  """Whether a file has these fields in its header; False without a file, ValueError if it differs."""
  if not path.exists():
    return False
  saved, wanted = _flat(read(path).header), _flat(json.loads(json.dumps(header)))
  nested = {name for name in saved if name.rpartition(".")[0] in header}
  for name in dict.fromkeys([*wanted, *nested]):
    if saved.get(name) != wanted.get(name):
      raise ValueError(
        f"{path} has other results: {name} in its header is {saved.get(name)!r}, expected "
        f"{wanted.get(name)!r}. Use another folder, or delete this one."
      )
  return True


def _flat(header: Mapping[str, JSON]) -> dict[str, JSON]:
  """A header whose mappings have their values beside the others, such as "options.rule"."""
  inner = {
    f"{name}.{key}": x for name, more in header.items() if isinstance(more, dict) for key, x in more.items()
  }
  return {**{name: x for name, x in header.items() if not isinstance(x, dict)}, **inner}


def _check_header(path: Path, header: Mapping[str, JSON]) -> None:
  """ValueError unless a header has all fields of its kind, as `FIELDS` demands."""
  version = header.get("format_version")
  if not _is_count(version):
    raise ValueError(
      f"{path} is damaged: its format_version is {_brief(repr(version))}, expected an integer."
    )
  if version != FORMAT_VERSION:
    raise ValueError(f"{path} has format version {version}; this version reads {FORMAT_VERSION}.")
  for name in ("kind", *NEEDED.get(str(header.get("kind")), ())):
    if name not in header:
      raise ValueError(f"{path} is damaged: its header has no {name}.")
  for name, (holds, what) in FIELDS.items():
    if name in header and not holds(header[name]):
      raise ValueError(
        f"{path} is damaged: {name} in its header must be {what}, got {_brief(repr(header[name]))}."
      )


def _brief(text: str, most: int = 80) -> str:
  """A text of a file for a message: no longer than `most` characters."""
  return text if len(text) <= most else f"{text[: most - 3]}..."
