"""Random bytes and random edits of files: what loads is sound, the rest is refused.

For longer: `pytest tests/properties --hypothesis-profile=hour`.
"""

import io
import json

import numpy as np
import pyspiel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ps_cfr_spiel
from ps_cfr_spiel.commands import show
from ps_cfr_spiel.evaluation import points

many = settings(max_examples=10 * settings().max_examples)  # for a file takes milliseconds
json_values = st.recursive(
  st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
  lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
  max_leaves=6,
)
numbers = st.sampled_from([np.nan, np.inf, -np.inf, -1.0, 0.0, 0.5, 1e30, 1e-40])


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
  """A folder to write to, a saved run and a saved policy as bytes."""
  folder = tmp_path_factory.mktemp("files")
  solver = ps_cfr_spiel.PSCFRSolver(pyspiel.load_game("kuhn_poker"))
  solver.run(5)
  solver.save(folder / "run.npz")
  solver.average_policy().save(folder / "policy.npz")
  return folder, [(folder / name).read_bytes() for name in ("run.npz", "policy.npz")]


def loads_or_is_refused(folder, content):
  """The policy in a file of these bytes, all its probabilities sound; None if it is refused."""
  path = folder / "edited.npz"
  path.write_bytes(content)
  try:
    policy = ps_cfr_spiel.load_policy(path, limit=10_000)
  except ValueError as error:
    assert len(str(error)) < 3000
    return None
  for block in [block for blocks in policy.strategies for block in blocks]:
    assert (block >= 0).all()
    np.testing.assert_allclose(block.sum(0), 1)
  assert show.origin(policy)
  return policy


def unpacked(content):
  with np.load(io.BytesIO(content)) as file:
    arrays = {name: file[name] for name in file.files}
  return json.loads(str(arrays.pop("header"))), arrays


def packed(header, arrays):
  content = io.BytesIO()
  np.savez(content, header=np.array(json.dumps(header)), **arrays)
  return content.getvalue()


@many
@given(st.binary(max_size=400), st.booleans())
def test_random_bytes(saved, content, zipped):
  assert loads_or_is_refused(saved[0], b"PK\x03\x04" * zipped + content) is None


@many
@given(st.binary(max_size=60) | st.text("0123456789.,-einfa\n", max_size=60).map(str.encode), st.booleans())
def test_random_tables_of_measurements(saved, content, with_head):
  path = saved[0] / "exploitability.csv"
  head = b"iteration,seconds,exploitability,value\n"
  path.write_bytes(head * with_head + content)
  try:
    assert all(type(point.iteration) is int for point in points.read_points(path, 10**9))
  except ValueError as error:
    assert "is not a table of this program" in str(error)


@many
@given(st.integers(0, 1), st.data())
def test_random_edits_of_bytes(saved, which, data):
  content = bytearray(saved[1][which])
  for _ in range(data.draw(st.integers(1, 4))):
    place = data.draw(st.integers(0, max(len(content) - 1, 0)))
    kind = data.draw(st.sampled_from(["change", "insert", "cut", "delete"]))
    if kind == "change" and content:
      content[place] = data.draw(st.integers(0, 255))
    elif kind == "insert" or not content:
      content[place:place] = data.draw(st.binary(max_size=20))
    elif kind == "delete":
      del content[place : place + data.draw(st.integers(1, 50))]
    else:
      del content[max(place, 1) :]
  loads_or_is_refused(saved[0], bytes(content))


@many
@given(st.integers(0, 1), st.data())
def test_random_edits_of_headers(saved, which, data):
  header, arrays = unpacked(saved[1][which])
  for _ in range(data.draw(st.integers(1, 3))):
    if not header:
      break
    name = data.draw(st.sampled_from(sorted(header)))
    if data.draw(st.booleans()):
      header[name] = data.draw(json_values)
    else:
      del header[name]
  loads_or_is_refused(saved[0], packed(header, arrays))


@many
@given(st.integers(0, 1), st.data())
def test_random_edits_of_arrays(saved, which, data):
  header, arrays = unpacked(saved[1][which])
  name = data.draw(st.sampled_from(sorted(arrays)))
  kind = data.draw(st.sampled_from(["number", "dtype", "shape", "missing", "more"]))
  array = np.array(arrays[name])
  if kind == "number" and array.size and array.dtype.kind == "f":
    array.flat[data.draw(st.integers(0, array.size - 1))] = data.draw(numbers)
  elif kind == "dtype":
    array = array.astype(data.draw(st.sampled_from(["float16", "float64", "int64", "complex128", "U3"])))
  elif kind == "shape":
    array = array[None]
  arrays[name] = array
  if kind == "missing":
    del arrays[name]
  if kind == "more":
    arrays[data.draw(st.sampled_from(["state999", "x", "player7_block0"]))] = array
  loads_or_is_refused(saved[0], packed(header, arrays))
