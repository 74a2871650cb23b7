"""Random bytes and random edits of files: what loads is sound, the rest is refused.

For longer: `pytest tests/properties --hypothesis-profile=hour`.
"""

import functools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyspiel
import pytest
from edited_files import packed, unpacked
from hypothesis import given, settings
from hypothesis import strategies as st

import ps_cfr_spiel
from ps_cfr_spiel import learning
from ps_cfr_spiel.arguments import MOST_ITERATIONS
from ps_cfr_spiel.commands import show
from ps_cfr_spiel.evaluation import points
from ps_cfr_spiel.hierarchical import DealtGame, load_abstraction, make_abstraction, save_abstraction
from ps_cfr_spiel.solvers import LimitReachedError

many = settings(max_examples=10 * settings().max_examples)  # for a file takes milliseconds
json_values = st.recursive(
  st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
  lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
  max_leaves=6,
)
numbers = st.sampled_from([np.nan, np.inf, -np.inf, -1.0, 0.0, 0.5, 1e30, 1e-40])
integers = st.sampled_from([-(2**31), -2, -1, 0, 1, 5, 100, 2**31 - 1])
KUHN, CHEAT = "kuhn_poker", "cheat(suits=2,ranks=2,hand_size=1,max_turns=6)"
SOLVERS = (
  ("PSCFRSolver", KUHN, {}),
  ("PSCFRSolver", KUHN, {"rule": "pdcfr+", "alternating": False, "dtype": "float64"}),
  ("VRMCCFRSolver", KUHN, {}),
  ("ExternalSamplingSolver", KUHN, {}),
  ("CFRPlusIRASolver", KUHN, {}),
  ("FPIRASolver", KUHN, {}),
  ("FictitiousPlaySolver", KUHN, {}),
  ("SimulatedMCCFRSolver", KUHN, {"batch": 2, "cells": 100}),
  ("SimulatedMCCFRSolver", CHEAT, {"batch": 2, "updates": "together"}),
  ("SimulatedExternalSolver", CHEAT, {}),
  ("HierarchicalMCCFRSolver", "leduc_poker", {"clusters": 2, "buckets": 2, "batch": 2}),
)

KINDS = (
  *(f"{name} {number}" for number, (name, _, _) in enumerate(SOLVERS)),
  "run as a policy",
  "policy",
  "situations",
  "values",
  "abstraction",
  "batch",
)


class Kind(NamedTuple):
  """A kind of file.

  Attributes:
    content: of a sound one.
    use: loads what is at a path and looks whether it is sound; ValueError if the file is refused.
    clusters: names and contents of the files in the folder beside it.
  """

  content: bytes
  use: Callable[[Path], object]
  clusters: tuple[tuple[str, bytes], ...] = ()


def use_policy(path):
  """A policy, or a run's average: all its probabilities are sound."""
  policy = ps_cfr_spiel.load_policy(path, limit=10_000)
  for block in [block for blocks in policy.strategies for block in blocks]:
    assert (block >= 0).all()
    np.testing.assert_allclose(block.sum(0), 1)
  assert show.origin(policy)


def use_run(path):
  """A run goes on, or says why it cannot; what it plays is sound, before and after."""
  solver = ps_cfr_spiel.load_solver(path)
  sound(solver.average_policy())
  if solver.iteration == MOST_ITERATIONS or getattr(
    solver, "cells", None
  ):  # states on the host compile each time
    return
  try:
    solver.run(1)
  except (FloatingPointError, LimitReachedError):  # of its dtype, and its own
    return
  sound(solver.average_policy())


def sound(policy):
  for state in states_of(str(policy.game)):
    found = policy.action_probabilities(state)
    assert list(found) == state.legal_actions() and min(found.values()) >= 0
    assert sum(found.values()) == pytest.approx(1, abs=1e-5)


@functools.cache
def states_of(game):
  """Some states of a game where players decide, its first ones by uniform play."""
  random, state, found = np.random.default_rng(1), pyspiel.load_game(game).new_initial_state(), []
  while not state.is_terminal():
    if not state.is_chance_node():
      found.append(state.clone())
    moves = [a for a, p in state.chance_outcomes() if p] if state.is_chance_node() else state.legal_actions()
    state.apply_action(int(random.choice(moves)))
  return found


def use_situations(path):
  """Situations can be learned from."""
  found = learning.Examples.load(path)
  states, place = found.features, found.inputs["place"]
  assert ((place >= 0) & (place < len(states.public_states))).all()
  for own, values, possible in zip(found.ranges, found.values, states.possible, strict=True):
    assert (own >= 0).all() and not own[~possible[place]].any()
    np.testing.assert_allclose(own.sum(1), 1, atol=1e-3)
    assert np.isfinite(values).all()


def use_values(path):
  """A network answers."""
  values = learning.NetworkValues.load(path)
  assert str(values.card) and np.isfinite(values.losses).all()


def use_batch(path):
  """A chunk of solutions is read."""
  folder = path.parent / "batch"
  folder.mkdir(exist_ok=True)
  (folder / "000000.safetensors").write_bytes(path.read_bytes())
  solutions = batch(folder)
  for number, solution in enumerate(solutions):
    assert np.isfinite(solution.exploitability) and len(solution.values) == 2
    sound(solutions.policy(number))


def use_abstraction(path):
  """An abstraction has a bucket for every hand, and no more buckets than hands."""
  game = dealt()
  found = load_abstraction(path, game)
  for table, classes in zip(found.buckets, game.classes, strict=True):
    assert ((table >= 0) == (classes >= 0)).all() and table.max() < table.size


@functools.cache
def dealt():
  return DealtGame.of(pyspiel.load_game("leduc_poker"))


def batch(folder):
  """Two solved games, or those that the folder has."""
  return ps_cfr_spiel.batches.solve_batch([KUHN] * 2, iterations=2, output=folder, progress=False)


@functools.cache
def made(kind) -> Kind:
  """A file of a kind that the package writes."""
  with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "file.safetensors"
    if kind in KINDS[: len(SOLVERS)]:
      name, game, options = SOLVERS[KINDS.index(kind)]
      solver = getattr(ps_cfr_spiel.solvers, name)(pyspiel.load_game(game), **options)
      solver.run(5)
      solver.save(path)
      clusters = tuple((file.name, file.read_bytes()) for file in path.parent.glob("*.clusters/*"))
      return Kind(path.read_bytes(), use_run, clusters)
    if kind == "run as a policy":
      return made(KINDS[0])._replace(use=use_policy)
    if kind == "policy":
      path.write_bytes(made(KINDS[0]).content)
      ps_cfr_spiel.load_policy(path).save(path)
      return Kind(path.read_bytes(), use_policy)
    if kind == "batch":
      batch(Path(folder) / "batch")
      (chunk,) = (Path(folder) / "batch").iterdir()
      return Kind(chunk.read_bytes(), use_batch)
    if kind == "abstraction":
      save_abstraction(path, make_abstraction(dealt(), clusters=2, buckets=2))
      return Kind(path.read_bytes(), use_abstraction)
    situations = learning.generate_examples(pyspiel.load_game(KUHN), 4, iterations=5, progress=False)
    if kind == "situations":
      situations.save(path)
      return Kind(path.read_bytes(), use_situations)
    learning.train(situations, steps=2, batch=4, width=4, layers=1, progress=False).save(path)
    return Kind(path.read_bytes(), use_values)


def refused(kind: str, content: bytes, folder: Path) -> bool:
  """Whether a file of these bytes is refused, in few words; else it is used."""
  path = folder / "edited.safetensors"
  path.write_bytes(content)
  for name, beside in made(kind).clusters:
    (file := path.with_suffix(".clusters") / name).parent.mkdir(exist_ok=True)
    file.write_bytes(beside)
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


@each_kind
def test_files_as_they_were_written(folder, kind):
  assert not refused(kind, made(kind).content, folder)


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
    assert all(type(point.iteration) is int for point in points.read_points(path, 10**9))
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
