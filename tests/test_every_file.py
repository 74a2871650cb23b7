"""What holds for every kind of file: it is read as it was written, and refused in a line if it is not whole.

`properties/test_files.py` edits them at random; `test_storage.py` has what is the same for all bytes.
"""

import errno
import os
import re
import resource

import forked
import numpy as np
import pytest
from edited_files import DELETED, rewrite, unpacked
from every_file import KINDS, ONE_EACH, made
from safetensors.numpy import save_file

from ps_cfr_spiel import storage

each_kind = pytest.mark.parametrize("kind", ONE_EACH)
each_saved = pytest.mark.parametrize(
  "kind", [kind for kind in ONE_EACH if kind not in ("run as a policy", "batch")]
)


@pytest.fixture
def path(tmp_path):
  return tmp_path / "file.safetensors"


def refusal(kind, path):
  """What is said of a file that is refused, in few words."""
  with pytest.raises(ValueError, match=r"(file|000000)\.safetensors") as error:
    made(kind).use(path)
  assert len(str(error.value)) < len(str(path)) + 3000
  return str(error.value)


def test_these_are_all_kinds():
  assert {unpacked(made(kind).content)[0]["kind"] for kind in ONE_EACH} == {*storage.NEEDED}


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_used_and_written_again_to_the_bit(kind, path, tmp_path):
  """But for the number that joins the files of one save."""
  made(kind).use(made(kind).write(path))
  copy = made(kind).copy
  if copy is None:
    return
  copy(path, tmp_path / "again.safetensors")
  header, arrays = unpacked(made(kind).content)
  again, others = unpacked((tmp_path / "again.safetensors").read_bytes())
  assert {**again, "shards": header.get("shards")} == {**header, "shards": header.get("shards")}
  assert others.keys() == arrays.keys()
  for name, array in arrays.items():
    np.testing.assert_array_equal(others[name], array)
    assert others[name].dtype == array.dtype


@each_kind
def test_one_that_is_truncated_or_foreign_or_missing(kind, path):
  content = made(kind).content
  for keep in (0, 10, 300, -20):
    path.write_bytes(content[:keep])
    assert "is truncated or not a file of ps_cfr_spiel" in refusal(kind, path)
  save_file({"x": np.ones(3)}, path)
  assert refusal(kind, path)
  with path.open("wb") as file:
    np.save(file, np.ones(3))
  assert refusal(kind, path)
  path.write_text("hello")
  assert refusal(kind, path)
  path.unlink()
  with pytest.raises(FileNotFoundError, match=r"file\.safetensors"):
    made(kind).use(path)


@each_kind
@pytest.mark.parametrize(
  ("field", "value", "message"),
  [
    ("format_version", 1, "has format version 1; this version reads 4"),
    ("format_version", 99, "has format version 99; this version reads 4"),
    ("format_version", "two", "format_version is 'two'"),
    ("format_version", None, "format_version is None"),
    ("format_version", [], "format_version is []"),
    ("format_version", "2" * 5000, "format_version is '222"),
    ("kind", DELETED, "header has no kind"),
    ("kind", ["solver"], "must be 'run', 'policy', 'abstraction', 'examples' or 'values'"),
    ("kind", "2" * 5000, "must be 'run', 'policy', 'abstraction', 'examples' or 'values'"),
  ],
)
def test_one_of_another_version_or_of_no_kind(kind, field, value, message, path):
  made(kind).write(path)
  rewrite(path, {field: value})
  said = refusal(kind, path)
  assert message in said and len(said) < len(str(path)) + 300


@each_kind
def test_one_of_another_kind(kind, path):
  """Whoever asks for one kind is told which kind the file holds; a run holds a policy too."""
  own = unpacked(made(kind).content)[0]["kind"]
  for other in ONE_EACH:
    its = unpacked(made(other).content)[0]["kind"]
    if (
      its != own
      and (not kind.startswith("policy") or its != "run")
      and (kind, its) != ("run as a policy", "policy")
      and (kind, other) != ("abstraction", "policy in bytes")  # which has one
    ):
      made(other).write(path)
      assert re.search("holds |has other results", refusal(kind, path))


@each_kind
def test_one_with_a_changed_bit(kind, path):
  """In any array, which leaves a number that could have been written."""
  content = made(kind).content
  arrays = sum(array.nbytes for array in unpacked(content)[1].values())
  for place in (1, arrays // 2, arrays):
    changed = bytearray(content)
    changed[-place] ^= 1
    path.write_bytes(changed)
    assert "is damaged: its arrays differ from those that were written" in refusal(kind, path)


@each_saved
def test_a_disc_that_is_full_leaves_the_earlier_file(kind, path, monkeypatch):
  """Found at the end, or midway: then the process may not write more than half of it."""
  copy, content = made(kind).copy, made(kind).write(path).read_bytes()
  assert copy is not None

  def full(*_args, **_kwargs):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

  with monkeypatch.context() as patch, pytest.raises(OSError, match="No space left"):
    patch.setattr(os, "fsync", full)
    copy(path, path)
  soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
  resource.setrlimit(resource.RLIMIT_FSIZE, (len(content) // 2, hard))
  try:
    with pytest.raises(OSError, match="File too large"):
      copy(path, path)
  finally:
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
  assert path.read_bytes() == content and os.listdir(path.parent) == [path.name]
  with pytest.raises(OSError, match="nowhere"):
    copy(path, path.parent / "nowhere" / path.name)


KILLED = """
import os, signal, sys
from ps_cfr_spiel import storage

os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)
stored = storage.read(sys.argv[1])
header = {name: value for name, value in stored.header.items() if name not in storage.STAMP}
storage.write(sys.argv[1], stored.header["kind"], header, stored.arrays(stored.shapes))
"""


@each_saved
def test_a_writer_that_is_killed_leaves_the_earlier_file(kind, path):
  """And a part, which the next writer sweeps away once it is old."""
  content = made(kind).write(path).read_bytes()
  assert forked.run(KILLED, path).returncode == -9
  assert path.read_bytes() == content
  made(kind).use(path)
  (part,) = {*path.parent.iterdir()} - {path}
  os.utime(part, (0, 0))
  copy = made(kind).copy
  assert copy is not None
  copy(path, path)
  assert os.listdir(path.parent) == [path.name]
