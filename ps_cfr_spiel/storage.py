"""Files of this package: one .npz with a JSON header, written whole or not at all.

A file may come from anywhere. Its header is checked as a whole (`FIELDS`), the shapes of its arrays are read
before the arrays, and the arrays only with the shapes that the caller expects; nothing is compressed. So a
file takes no more memory than its game, nor more than its own size.
"""

import contextlib
import dataclasses
import errno
import json
import os
import re
import secrets
import struct
import tempfile
import time
import weakref
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from ps_cfr_spiel.version import __version__

FORMAT = "ps_cfr_spiel"
FORMAT_VERSION = 3
STAMP = ("format", "format_version", "kind")  # fields of every header
HEADER = "header"  # the name of the header among the arrays
LONGEST_HEADER = 2**24  # bytes
STALE_SECONDS = 600  # age of the leftovers of a killed writer
DAMAGE = (
  ArithmeticError,
  AttributeError,
  EOFError,
  LookupError,
  MemoryError,  # an array with an absurd size
  OSError,  # of `zipfile`, for places outside the file
  RuntimeError,  # encrypted; nested too deeply
  TypeError,
  ValueError,
  struct.error,
  zipfile.BadZipFile,
  zlib.error,
)


def _is_count(value: Any) -> bool:
  return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _is_counts(value: Any) -> bool:
  return isinstance(value, list) and all(map(_is_count, value))


def _is_string(value: Any) -> bool:
  return isinstance(value, str)


FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {  # of a header: a check, and the demand
  "kind": (
    lambda value: value in list(NEEDED),
    "'solver', 'policy', 'kept', 'abstraction', 'batch', 'examples' or 'values'",
  ),
  "version": (_is_string, "a string"),
  "game": (_is_string, "a game string"),
  "module": (lambda value: _is_string(value) and value.isprintable(), "the name of a module"),
  "solver": (lambda value: _is_string(value) and value.isidentifier(), "a solver's name"),
  "policy": (_is_string, "a string"),
  "run": (_is_string, "a fingerprint"),
  "options": (lambda value: isinstance(value, list) and all(map(_is_string, value)), "a list of names"),
  "iteration": (_is_count, "an integer of at least 0"),
  "rule": (
    lambda value: isinstance(value, dict) and _is_string(value.get("name")),
    "a rule's name and parameters",
  ),
  "alternating": (lambda value: isinstance(value, bool), "true or false"),
  "leaves": (_is_string, "a string"),
  "locks": (_is_counts, "a list of public states"),
  "locked_types": (
    lambda value: isinstance(value, list) and all(re.fullmatch("(?:[0-9a-f]{2})*", str(x)) for x in value),
    "a list of bytes in hexadecimal digits",
  ),
  "locked_to": (_is_string, "a fingerprint"),
  "part": (_is_counts, "a list of public states"),
  "public_states": (_is_string, "a string"),
  "limit": (lambda value: _is_count(value) and value > 0, "an integer of at least 1"),
  "work": (_is_string, "a string"),
  "situations": (_is_string, "a string"),
  "shards": (
    lambda value: _is_string(value) and bool(re.fullmatch("[0-9a-f]{8}", value)),
    "eight hexadecimal digits",
  ),
  "features": (_is_string, "a string"),
  "teacher": (_is_string, "a string"),
  **{
    name: (lambda value: _is_count(value) and value < 2**31, "an integer of at least 0")
    for name in ("count", "places", "layers", "measured")
  },
  **{
    name: (lambda value: _is_count(value) and 0 < value < 2**31, "an integer of at least 1")
    for name in ("special", "width")
  },
  "slots": (
    lambda value: isinstance(value, list) and len(value) == 2 and all(map(_is_count, value)),
    "two integers of at least 0",
  ),
}
NEEDED = {  # by kind
  "solver": ("game", "solver", "options", "iteration"),
  "policy": ("game",),
  "kept": ("game", "run"),
  "abstraction": ("game",),
  "batch": ("work", "situations"),
  "examples": ("game", "teacher", "count", "places", "slots"),
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
    shapes: claimed shape and dtype of each array, by name.
  """

  path: Path
  header: dict[str, Any]
  shapes: dict[str, Shape]
  _held: _Held

  @property
  def fingerprint(self) -> str:
    """Eight hexadecimal digits of all its content, from the archive's own checksums."""
    with _opened(self._held) as archive:
      members = [(info.filename, info.CRC, info.file_size) for info in archive.infolist()]
    return f"{zlib.crc32(repr(members).encode()):08x}"

  def mapped(self) -> dict[str, np.ndarray]:
    """All arrays, which stay on disk until they are used; their numbers are not checked."""
    starts, descriptor = {}, self._held.descriptor
    with _opened(self._held) as archive:
      for name in self.shapes:
        info = archive.getinfo(f"{name}.npy")
        with archive.open(info) as member:
          _array_header(member)
          before = member.tell()
        # A member lies unchanged in the archive, after a header of 30 bytes, its name and an extra field.
        lengths = struct.unpack("<HH", os.pread(descriptor, 4, info.header_offset + 26))
        starts[name] = info.header_offset + 30 + sum(lengths) + before
    with open(descriptor, "rb", closefd=False) as file:
      return {
        name: np.memmap(file, dtype, "r", starts[name], shape) for name, (shape, dtype) in self.shapes.items()
      }

  @property
  def content(self) -> str:
    """The kind of its content for messages, such as "a policy", "values" or "a PSCFRSolver"."""
    kind = self.header["solver"] if self.header["kind"] == "solver" else self.header["kind"]
    kind = "policy with its values" if kind == "kept" else kind
    return kind if kind in ("examples", "values") else f"{'an' if kind[0] in 'AEIOUaeiou' else 'a'} {kind}"

  def arrays(self, expected: Mapping[str, Shape]) -> dict[str, np.ndarray]:
    """Read the arrays, if they are exactly the expected ones.

    OSError if the file cannot be read; ValueError if it has other arrays, is damaged, or a number in it is
    not finite.
    """
    for name in dict.fromkeys([*expected, *self.shapes]):
      found, wanted = self.shapes.get(name), expected.get(name)
      if found is None or wanted is None or found != wanted:
        raise ValueError(
          f"{self.path} is damaged or of another game: its arrays do not fit its game and options; "
          f"of {name} it has {_shape_text(found)}, expected {_shape_text(wanted)}."
        )
    with _opened(self._held) as archive:
      arrays = {name: _member(archive, name) for name in expected}
    for name, array in arrays.items():
      if np.issubdtype(array.dtype, np.floating) and not np.isfinite(array).all():
        raise ValueError(f"{self.path} is damaged: {name} holds numbers that are not finite.")
    return arrays


def _shape_text(shape: Shape | None) -> str:
  return "none" if shape is None else f"{shape[1]}{list(shape[0])}"


def write(path: str | os.PathLike, kind: str, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
  """Write a file, replacing an earlier one only when the new one is complete on disk.

  `kind` is of the content, one of `NEEDED`; `header` has JSON values, and `version`, that of this package, by
  default. OSError if the path cannot be written or the disk is full: an earlier file is left unchanged.
  ValueError if a field violates `FIELDS`, so the file would be unreadable.
  """
  path = Path(path)
  stamp = {"format": FORMAT, "format_version": FORMAT_VERSION, "version": __version__, "kind": kind}
  _check_header(path, stamp | dict(header))
  content: dict[str, Any] = {name: np.asarray(array) for name, array in arrays.items()}
  content[HEADER] = np.array(json.dumps({**stamp, **header}))
  with replacing(path, "wb") as file:
    np.savez(file, **content)


def write_array(path: str | os.PathLike, array: np.ndarray) -> None:
  """Write one array to a file of its own, for `open_array`; OSError as of `write`."""
  with replacing(path, "wb") as file:
    np.lib.format.write_array(file, np.ascontiguousarray(array), allow_pickle=False)


def open_array(path: str | os.PathLike, shape: tuple[int, ...], dtype: str) -> np.ndarray:
  """The array in a file of `write_array`, whose numbers stay on disk until they are used.

  OSError if there is no such file; ValueError if it is truncated, or its array has another shape or dtype.
  """
  try:
    array = np.lib.format.open_memmap(path, mode="r")
  except OSError:
    raise
  except DAMAGE as error:
    raise ValueError(f"{path} is damaged: {_brief(str(error), 200)}") from error
  found = array.shape, array.dtype
  if found != (shape, np.dtype(dtype)):
    raise ValueError(
      f"{path} is damaged or of another run: it has {_shape_text(found)}, expected "
      f"{_shape_text((shape, np.dtype(dtype)))}."
    )
  return array


def check_no_archive(path: str | os.PathLike) -> None:
  """FileExistsError if a file is an archive, such as a run, which no text may replace."""
  if os.path.exists(path) and zipfile.is_zipfile(path):
    reason = "It holds a run or other arrays: choose another name, or delete it"
    raise FileExistsError(errno.EEXIST, reason, str(path))


@contextlib.contextmanager
def replacing(path: str | os.PathLike, mode: str = "w", **options: Any) -> Iterator[Any]:
  """A file to write, which replaces an earlier one when it is complete on disk, and else vanishes.

  A link leads to its target. A pipe or device is written through, never replaced. FileExistsError where a
  text (`mode` "w") would replace an archive, such as a run; OSError if the path cannot be written.
  """
  path, target, temporary = Path(path), Path(os.path.realpath(path)), None
  try:
    if target.is_dir():
      raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if path.exists() and not path.is_file():  # the real path of /dev/stdout may not exist
      with open(path, mode, **options) as file:
        yield file
      return
    if mode == "w":
      check_no_archive(path)
    _sweep(target)
    own = target.with_name(f"{target.name}{secrets.token_hex(4)}.part")
    handle = os.open(own, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    temporary = own
    with os.fdopen(handle, mode, **options) as file:
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
      own = re.fullmatch(re.escape(path.name) + r"[0-9a-f]{8}\.part", entry.name)
      if own and time.time() - entry.stat(follow_symlinks=False).st_mtime > STALE_SECONDS:
        os.unlink(entry.path)


def read(path: str | os.PathLike) -> Stored:
  """Read the header of a file of `write`, and the shapes of its arrays.

  OSError if it cannot be read; ValueError if it is truncated, not one of this package's, or of another format
  version, or a field of its header violates `FIELDS`.
  """
  path = Path(path)
  held = _Held(path)
  with _opened(held) as archive:
    shapes = {name.removesuffix(".npy"): _claimed(archive, name) for name in archive.namelist()}
    size, claimed = os.fstat(held.descriptor).st_size, sum(map(_bytes, shapes.values()))
    if claimed > size:  # members may share their bytes
      raise ValueError(f"its arrays claim {claimed:,} bytes, the file has {size:,}")
    shape, dtype = shapes.pop(HEADER)
    if shape != () or dtype.kind != "U" or dtype.itemsize > LONGEST_HEADER:
      raise ValueError("its header is not a text of moderate length")
    header = json.loads(str(_member(archive, HEADER)))
  if not isinstance(header, dict) or header.get("format") != FORMAT:
    raise ValueError(f"{path} is not a file of {FORMAT}.")
  _check_header(path, header)
  return Stored(path, header, shapes, held)


def made_alike(path: Path, header: Mapping[str, Any]) -> bool:
  """Whether a file has these fields in its header; False without a file, ValueError if it differs."""
  if not path.exists():
    return False
  found = read(path).header
  for name, value in json.loads(json.dumps(header)).items():
    if found.get(name) != value:
      raise ValueError(
        f"{path} has other results: {name} in its header is {found.get(name)!r}, expected {value!r}. Use "
        f"another folder, or delete this one."
      )
  return True


@contextlib.contextmanager
def _opened(held: _Held):
  """The file as an archive; damage becomes a ValueError that names the file."""
  with open(held.descriptor, "rb", closefd=False) as file:
    try:
      with zipfile.ZipFile(file) as archive:
        yield archive
    except DAMAGE as error:
      what = _brief(str(error), 200)  # `zipfile` quotes names, of up to 64 kB
      raise ValueError(f"{held.path} is truncated or not a file of {FORMAT}: {what}") from error


def _claimed(archive: zipfile.ZipFile, name: str) -> Shape:
  """Shape and dtype of a member, from its first bytes; ValueError unless they make up its size."""
  info = archive.getinfo(name)
  if info.compress_type != zipfile.ZIP_STORED:
    raise ValueError(f"{name} is compressed; write it with numpy.savez")
  with archive.open(info) as member:
    shape, dtype = _array_header(member)
    before = member.tell()
  if dtype.hasobject or before + _bytes((shape, dtype)) != info.file_size:
    raise ValueError(f"{name} does not hold the claimed array")
  return shape, dtype


def _bytes(shape: Shape) -> int:
  return shape[1].itemsize * int(np.prod(shape[0], dtype=object))


def _array_header(member: IO[bytes]) -> Shape:
  readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
  version = np.lib.format.read_magic(member)
  if version not in readers:
    raise ValueError(f"arrays are of NumPy's format {version}")
  shape, _, dtype = readers[version](member)
  return shape, dtype


def _member(archive: zipfile.ZipFile, name: str) -> np.ndarray:
  with archive.open(f"{name}.npy") as member:
    return np.lib.format.read_array(member, allow_pickle=False)


def _check_header(path: Path, header: Mapping[str, Any]) -> None:
  """ValueError unless a header has all fields of its kind, as `FIELDS` demands."""
  version: Any = header.get("format_version")
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
