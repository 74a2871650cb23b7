"""Random bytes and random edits of files: what loads is sound, the rest is refused.

For longer: `pytest tests/properties --hypothesis-profile=hour`.
"""

from pathlib import Path

import numpy as np
import pytest
from edited_files import packed, unpacked
from every_file import KINDS, made
from hypothesis import given, settings
from hypothesis import strategies as st

from ps_cfr_spiel.apps.commands.framework.run_tables import read_points

many = settings(max_examples=10 * settings().max_examples)  # for a file takes milliseconds
json_values = st.recursive(
  st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
  lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
  max_leaves=6,
)
numbers = st.sampled_from([np.nan, np.inf, -np.inf, -1.0, 0.0, 0.5, 1e30, 1e-40])
integers = st.sampled_from([-(2**31), -2, -1, 0, 1, 5, 100, 2**31 - 1])


def refused(kind: str, content: bytes, folder: Path) -> bool:
  """Whether a file of these bytes is refused, in few words; else it is used."""
  path = made(kind)._replace(content=content).write(folder / "edited.safetensors")
  try:
    made(kind).use(path)
  except ValueError as error:
    assert len(str(error)) < 3000
    return True
  return False


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
  return tmp_path_factory.mktemp("files")


each_kind = pytest.mark.parametrize("kind", KINDS)


@many
@given(st.binary(max_size=400), st.booleans())
def test_random_bytes(folder, content, sized):
  """Also with the size of a header before them."""
  assert refused("policy", len(content).to_bytes(8, "little") * sized + content, folder)


@many
@given(st.binary(max_size=60) | st.text("0123456789.,-einfa\n", max_size=60).map(str.encode), st.booleans())
def test_random_tables_of_measurements(folder, content, with_head):
  path = folder / "exploitability.csv"
  head = b"iteration,seconds,exploitability,value\n"
  path.write_bytes(head * with_head + content)
  try:
    assert all(type(point.iteration) is int for point in read_points(path, 10**9))
  except ValueError as error:
    assert "is not a table of this program" in str(error)


@each_kind
@given(data=st.data())
def test_random_edits_of_bytes(folder, kind, data):
  content = bytearray(made(kind).content)
  for _ in range(data.draw(st.integers(1, 4))):
    place = data.draw(st.integers(0, max(len(content) - 1, 0)))
    change = data.draw(st.sampled_from(["change", "insert", "cut", "delete"]))
    if change == "change" and content:
      content[place] = data.draw(st.integers(0, 255))
    elif change == "insert" or not content:
      content[place:place] = data.draw(st.binary(max_size=20))
    elif change == "delete":
      del content[place : place + data.draw(st.integers(1, 50))]
    else:
      del content[max(place, 1) :]
  refused(kind, bytes(content), folder)


@each_kind
@given(data=st.data())
def test_random_edits_of_headers(folder, kind, data):
  header, arrays = unpacked(made(kind).content)
  for _ in range(data.draw(st.integers(1, 3))):
    if not header:
      break
    name = data.draw(st.sampled_from(sorted(header)))
    if data.draw(st.booleans()):
      header[name] = data.draw(json_values)
    else:
      del header[name]
  refused(kind, packed(header, arrays), folder)


@each_kind
@given(data=st.data())
def test_random_edits_of_arrays(folder, kind, data):
  header, arrays = unpacked(made(kind).content)
  name, infinite = data.draw(st.sampled_from(sorted(arrays))), False
  change = data.draw(st.sampled_from(["number", "dtype", "shape", "missing", "more"]))
  array = np.array(arrays[name])
  if change == "number" and array.size and array.dtype.kind in "fi":
    drawn = data.draw(numbers if array.dtype.kind == "f" else integers)
    array.flat[data.draw(st.integers(0, array.size - 1))] = drawn
    infinite = not np.isfinite(drawn)
  elif change == "dtype":
    array = array.astype(data.draw(st.sampled_from(["float16", "float64", "int64", "complex64", "bool"])))
  elif change == "shape":
    array = array[None]
  arrays[name] = array
  if change == "missing":
    del arrays[name]
  if change == "more":
    arrays[data.draw(st.sampled_from(["state999", "x", "player7_block0"]))] = array
  gone = refused(kind, packed(header, arrays), folder)
  assert gone or not (infinite or change == "missing")
