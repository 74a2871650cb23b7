"""Files: headers, claims and numbers that cannot be, and what is written whole or not at all."""

import errno
import json
import os
import stat
import time
import tracemalloc

import jax
import numpy as np
import pyspiel
import pytest
from edited_files import packed, rewrite
from safetensors.numpy import load_file, save_file

import ps_cfr_spiel
from ps_cfr_spiel import OnlineOutcomeSampling, PSCFRSolver, build_tree, matches, rules, storage
from ps_cfr_spiel.apps.commands.framework.run_tables import read_points
from ps_cfr_spiel.options import LIMIT

TINY = "river_subgame(board=KhKd8c4s2h,stack=500,ranges=AsAd QsQd:0.5 7c6c;JsJd Ah8h 5c4c:3)"


@pytest.fixture(scope="module")
def solver():
  solver = PSCFRSolver(pyspiel.load_game(TINY), "pcfr+")
  solver.run(5)
  return solver


def test_policy_round_trip(solver, tmp_path):
  policy = solver.average_policy()
  policy.save(tmp_path / "policy.safetensors")
  loaded = ps_cfr_spiel.load_policy(tmp_path / "policy.safetensors")
  for a, b in zip(sum(policy.strategies, ()), sum(loaded.strategies, ()), strict=True):
    np.testing.assert_allclose(a, b, rtol=1e-15)
  assert loaded.info["options"]["rule"]["name"] == "PCFRPlus"
  assert loaded.info["iteration"] == 5
  assert loaded.info["version"] == ps_cfr_spiel.__version__
  assert loaded.info["game"] == str(solver.game)


def test_a_run_is_also_a_policy(solver, tmp_path):
  solver.save(tmp_path / "run.safetensors")
  loaded = ps_cfr_spiel.load_policy(tmp_path / "run.safetensors")
  assert ps_cfr_spiel.exploitability(loaded.game, loaded) == pytest.approx(solver.exploitability(), rel=1e-4)


def test_arrays_of_another_game_are_refused(solver, tmp_path):
  solver.save(tmp_path / "run.safetensors")
  rewrite(tmp_path / "run.safetensors", header={"game": "river_subgame(ranges=AA KK;QQ)"})
  with pytest.raises(ValueError, match="do not fit its game and options"):
    PSCFRSolver.load(tmp_path / "run.safetensors")


def test_unwritable_path(solver, tmp_path):
  with pytest.raises(OSError, match="nowhere"):
    solver.save(tmp_path / "nowhere" / "run.safetensors")
  with pytest.raises(OSError, match="nowhere"):
    solver.run(10**6, checkpoint=tmp_path / "nowhere" / "run.safetensors")  # before the work, not after it


@pytest.mark.parametrize(
  "field, value, what",
  [
    ("solver", ["PSCFRSolver"], "solver in its header must be a solver's name"),
    ("solver", "", "solver in its header must be a solver's name"),
    ("width", 0, "width in its header must be an integer of at least 1"),
    ("solver", "Sol", "holds a Sol, not a Solver"),
    ("game", 3, "game in its header must be a game string, got 3"),
    ("game", "no_such_game", "its game no_such_game is not registered; add --module=FILE"),
    ("options", ["dtype"], "options in its header must be options by name"),
    ("options.colour", 1, "damaged: PSCFROptions has the options .*, got colour"),
    ("iteration", "5", "iteration in its header must be an integer of at least 0"),
    ("iteration", 6, "names iteration 6, its arrays are of iteration 5"),
    ("options.rule", {"name": []}, r"Unknown rule \[\]"),
    ("options.rule", {"name": "PCFRPlus", "phi": "x"}, "phi must be a number"),
    ("options.limit", True, "damaged: limit must be an integer of at least 1, got True"),
    ("options.dtype", ["float32"], "Unknown dtype"),
  ],
)
def test_malformed_headers(solver, tmp_path, field, value, what):
  path = tmp_path / "run.safetensors"
  solver.save(path)
  rewrite(path, {field: value})
  for load in (ps_cfr_spiel.load_solver, ps_cfr_spiel.load_policy):
    with pytest.raises(ValueError, match=what):
      load(path)


def test_a_header_nested_too_deeply(tmp_path):
  facts = {"format": "ps_cfr_spiel", "header": "[" * 100_000 + "]" * 100_000, "checksum": "0" * 8}
  save_file({}, tmp_path / "deep.safetensors", facts)
  with pytest.raises(ValueError, match=r"deep\.safetensors is truncated or not a file"):
    ps_cfr_spiel.load_policy(tmp_path / "deep.safetensors")


def test_headers_that_nobody_could_read_are_not_written(solver, tmp_path):
  policy = solver.average_policy()
  policy.info["iteration"] = "five"
  with pytest.raises(ValueError, match="iteration in its header"):
    policy.save(tmp_path / "policy.safetensors")
  assert not os.listdir(tmp_path)


@pytest.mark.parametrize("number", [np.nan, np.inf, -1.0])
def test_numbers_that_are_no_probabilities(solver, tmp_path, number):
  """In policies and in runs; what is wrong is named."""
  policy, run = tmp_path / "policy.safetensors", tmp_path / "run.safetensors"
  solver.average_policy().save(policy)
  solver.save(run)
  spoil = lambda array: np.where(np.arange(array.size).reshape(array.shape) == 1, number, array)  # noqa: E731
  spoil_run = lambda array: spoil(array).astype(array.dtype)  # noqa: E731
  rewrite(policy, arrays={"player1_block0": spoil})
  with pytest.raises(ValueError, match=r"policy\.safetensors is damaged: .*player1_block0"):
    ps_cfr_spiel.load_policy(policy)
  paths = [str(path) for path, _ in jax.tree_util.tree_flatten_with_path(solver._kept())[0]]
  for field in ("strategy", "average", *(["compensation", "rule"] if number > 0 or number != number else [])):
    solver.save(run)
    name = f"state{next(i for i, path in enumerate(paths) if field in path)}"
    rewrite(run, arrays={name: spoil_run})
    with pytest.raises(ValueError, match=rf"run\.safetensors is damaged: .*{name}\b"):
      ps_cfr_spiel.load_solver(run)


def test_probabilities_of_zero(solver, tmp_path):
  solver.average_policy().save(tmp_path / "policy.safetensors")
  rewrite(tmp_path / "policy.safetensors", arrays={"player0_block0": np.zeros_like})
  with pytest.raises(ValueError, match="player0_block0 must be finite, not negative, and not all zero"):
    ps_cfr_spiel.load_policy(tmp_path / "policy.safetensors")


def forge(path, claims, size):
  """Write a file of `size` bytes of arrays with any claims about them: shape, first byte and end of each."""
  facts = {
    "format": "ps_cfr_spiel",
    "header": json.dumps({"format_version": 4, "kind": "policy", "game": "x"}),
  }
  content = {"__metadata__": facts} | {
    name: {"dtype": "F64", "shape": shape, "data_offsets": place} for name, (shape, *place) in claims.items()
  }
  text = json.dumps(content).encode()
  path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(size))


@pytest.mark.parametrize(
  "claims, size",
  [
    ({"a": ([1000], 0, 8000), "b": ([1000], 0, 8000)}, 8000),  # the same bytes
    ({"a": ([1000], 0, 8000), "b": ([10], 80, 160)}, 8000),  # one inside the other
    ({"a": ([5 * 10**11], 0, 4 * 10**12)}, 100),  # 4 TB
    ({"a": ([2**40, 2**40], 0, 8)}, 8),  # more than can be counted
    ({"a": ([1000], 0, 800)}, 800),
    ({"a": ([10], 0, 80)}, 90),  # more bytes than it needs
    ({"a": ([10], 8, 88)}, 88),
  ],
)
def test_false_claims_cost_no_memory(tmp_path, claims, size):
  """The library refuses arrays that share bytes, leave some out, or claim more than there are."""
  path = tmp_path / "bomb.safetensors"
  forge(path, {"a": ([10], 0, 80)}, 80)
  assert storage.read(path).shapes == {"a": ((10,), np.dtype(float))}
  forge(path, claims, size)
  tracemalloc.start()
  try:
    with pytest.raises(ValueError, match=r"bomb\.safetensors is truncated or not a file of ps_cfr_spiel"):
      storage.read(path)
    assert tracemalloc.get_traced_memory()[1] < 5e6
  finally:
    tracemalloc.stop()


def test_a_large_array_where_a_small_one_belongs_is_not_read(solver, tmp_path):
  path = tmp_path / "large.safetensors"
  solver.average_policy().save(path)
  rewrite(path, arrays={"player0_block0": lambda _: np.zeros(2_500_000)})
  tracemalloc.start()
  try:
    with pytest.raises(ValueError, match=r"large\.safetensors is damaged, of another game or"):
      ps_cfr_spiel.load_policy(path)
    assert tracemalloc.get_traced_memory()[1] < 5e6
  finally:
    tracemalloc.stop()


def test_the_library_reads_what_is_written(tmp_path):
  """Every dtype, arrays of no dimension, of no number, and in an order of their own in memory."""
  arrays = {f"a{k}": np.arange(6).astype(dtype) for k, dtype in enumerate(storage.DTYPES.values())}
  arrays |= {"none": np.zeros((0, 3)), "one": np.array(5.0), "turned": np.arange(6.0).reshape(2, 3).T}
  path = tmp_path / "all.safetensors"
  storage.write(path, "policy", {"game": "kuhn_poker"}, arrays)
  stored = storage.read(path)
  for read in (load_file(path), stored.arrays(stored.shapes), stored.mapped(stored.shapes)):
    assert read.keys() == arrays.keys()
    for name, array in arrays.items():
      np.testing.assert_array_equal(read[name], array)
      assert read[name].dtype == array.dtype and read[name].shape == array.shape
  header = {name: stored.header[name] for name in ("format_version", "version", "kind", "game")}
  path.write_bytes(packed(header, arrays))
  edited = storage.read(path)
  assert edited.arrays(edited.shapes).keys() == arrays.keys()


def test_arrays_stay_on_disk_until_they_are_used(tmp_path):
  """Neither writing nor reading makes a copy in memory."""
  path, array = tmp_path / "large.safetensors", np.ones((1000, 10_000), np.float32)
  tracemalloc.start()
  try:
    storage.write(path, "policy", {"game": "kuhn_poker"}, {"a": array})
    stored = storage.read(path)
    row = stored.mapped(stored.shapes)["a"][500]
    assert tracemalloc.get_traced_memory()[1] < 1e6
  finally:
    tracemalloc.stop()
  assert row.sum() == 10_000


def test_a_file_cannot_raise_the_limit(tmp_path):
  """A game of millions of histories is refused after as many as the user allows."""
  solver = PSCFRSolver(pyspiel.load_game("kuhn_poker"))
  for save in (solver.save, solver.average_policy().save):
    save(tmp_path / "large.safetensors")
    rewrite(tmp_path / "large.safetensors", {"game": "hex(board_size=4)", "options.limit": 10**15})
    with pytest.raises(ValueError, match="more than 1,000 histories"):
      ps_cfr_spiel.load_policy(tmp_path / "large.safetensors", limit=1000)
  solver.save(tmp_path / "run.safetensors")
  rewrite(tmp_path / "run.safetensors", {"options.limit": 10**15})
  assert ps_cfr_spiel.load_solver(tmp_path / "run.safetensors").options.limit == LIMIT
  assert ps_cfr_spiel.load_solver(tmp_path / "run.safetensors", limit=LIMIT + 1).options.limit == LIMIT + 1


def test_a_file_that_is_replaced_while_it_is_read(solver, tmp_path):
  path = tmp_path / "run.safetensors"
  solver.save(path)
  stored = storage.read(path)
  later = PSCFRSolver(solver.game, solver.rule)
  later.run(solver.iteration + 3)
  later.save(path)
  arrays, newer = stored.arrays(stored.shapes), load_file(path)
  assert any(not np.array_equal(arrays[name], newer[name]) for name in arrays)
  solver.save(tmp_path / "again.safetensors")
  again = load_file(tmp_path / "again.safetensors")
  assert all(np.array_equal(array, again[name]) for name, array in arrays.items())
  assert ps_cfr_spiel.load_solver(path).iteration == later.iteration
  descriptors = len(os.listdir("/dev/fd"))
  for _ in range(5):
    storage.read(path)
  assert len(os.listdir("/dev/fd")) <= descriptors


def test_what_is_written_whole_or_not_at_all(tmp_path):
  """Tables and pages too; an error names the file that was asked for."""
  path = tmp_path / "table.csv"
  path.write_text("before")
  with pytest.raises(OSError, match=r"No space left.*table\.csv") as error, storage.replacing(path) as file:
    file.write("half")
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
  assert error.value.filename == str(path)
  with pytest.raises(KeyboardInterrupt), storage.replacing(path) as file:
    raise KeyboardInterrupt
  assert path.read_text() == "before"
  with storage.replacing(path) as file:
    file.write("after")
  assert path.read_text() == "after"
  for wrong, kind in ((tmp_path, IsADirectoryError), (tmp_path / "none" / "x.csv", FileNotFoundError)):
    with pytest.raises(kind) as error, storage.replacing(wrong) as file:
      pass
    assert error.value.filename == str(wrong)
  assert os.listdir(tmp_path) == ["table.csv"]


def test_a_file_takes_its_place_when_all_of_it_is_on_disk(tmp_path, monkeypatch):
  """A machine that loses power then keeps the earlier file or the new one."""
  seen, sync, replace = [], os.fsync, os.replace

  def synced(descriptor):
    seen.append(os.fstat(descriptor).st_size)
    sync(descriptor)

  def replaced(source, target):
    seen.append(os.path.basename(target))
    replace(source, target)

  monkeypatch.setattr(os, "fsync", synced)
  monkeypatch.setattr(os, "replace", replaced)
  with storage.replacing(tmp_path / "table.csv") as file:
    file.write("1234567")
  assert seen == [7, "table.csv"]


def test_links_lead_to_their_target(tmp_path):
  target, link = tmp_path / "target.csv", tmp_path / "link.csv"
  target.write_text("old")
  link.symlink_to(target)
  with storage.replacing(link) as file:
    file.write("new")
  assert link.is_symlink() and target.read_text() == "new"
  assert sorted(os.listdir(tmp_path)) == ["link.csv", "target.csv"]


def test_pipes_and_devices_are_written_through(tmp_path):
  """As `--csv=/dev/stdout` wants it: nothing is put in the place of a device node."""
  pipe = tmp_path / "pipe"
  os.mkfifo(pipe)
  reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
  with storage.replacing(pipe) as file:
    file.write("a,b")
  assert os.read(reader, 10) == b"a,b"
  os.close(reader)
  assert stat.S_ISFIFO(pipe.stat().st_mode) and os.listdir(tmp_path) == ["pipe"]
  reader, writer = os.pipe()
  with storage.replacing(f"/dev/fd/{writer}") as file:  # a link to a name that does not exist
    file.write("a,b")
  assert os.read(reader, 10) == b"a,b"
  os.close(reader), os.close(writer)
  with pytest.raises(OSError, match="No space left"), storage.replacing("/dev/full") as file:
    file.write("x" * 100_000)
  assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


def test_a_table_never_replaces_a_run(tmp_path):
  run = tmp_path / "run.safetensors"
  save_file({"x": np.zeros(3)}, run)
  before = run.read_bytes()
  with pytest.raises(FileExistsError, match="choose another name") as error, storage.replacing(run) as file:
    file.write("a,b")
  assert error.value.filename == str(run) and run.read_bytes() == before
  assert os.listdir(tmp_path) == ["run.safetensors"]


def test_new_files_obey_the_mode_mask_that_is_set(tmp_path):
  """The mask itself is never touched: other threads may be making files."""
  before = os.umask(0o027)
  try:
    with storage.replacing(tmp_path / "x.csv") as file:
      file.write("x")
      assert os.umask(0o027) == 0o027
  finally:
    os.umask(before)
  assert stat.S_IMODE((tmp_path / "x.csv").stat().st_mode) == 0o640


@pytest.mark.parametrize("row", ["1,-1,0.5,0", "1,1,-5,0", "1,nan,0.5,0", "1,1,inf,0", "-1,1,0.5,0"])
def test_tables_of_measurements_that_cannot_be(tmp_path, row):
  path = tmp_path / "exploitability.csv"
  path.write_text(f"iteration,seconds,exploitability,value\n0,0,0.5,0\n{row}\n")
  with pytest.raises(ValueError, match=r"exploitability\.csv is not a table of this program"):
    read_points(path, 10)


def test_files_of_killed_writers_are_swept(solver, tmp_path):
  others = ["run.safetensors.old.part", "other.safetensorsabcdef12.part", "run.safetensors"]
  for name in ("run.safetensorsabcdef12.part", *others):
    (tmp_path / name).write_bytes(b"")
    os.utime(tmp_path / name, (time.time() - 2 * storage.STALE_SECONDS,) * 2)
  (tmp_path / "run.safetensors00000000.part").write_bytes(
    b""
  )  # perhaps of somebody who writes at this moment
  solver.save(tmp_path / "run.safetensors")
  assert sorted(os.listdir(tmp_path)) == sorted([*others, "run.safetensors00000000.part"])


def test_checkpoints_take_little_of_the_time(tmp_path, monkeypatch):
  """With a clock that advances by a second at each look, and by 10 seconds at each save."""
  now, saves = 0.0, 0

  def clock():
    nonlocal now
    now += 1
    return now

  def save(_):
    nonlocal now, saves
    now, saves = now + 10, saves + 1

  solver = PSCFRSolver(pyspiel.load_game("kuhn_poker"))
  monkeypatch.setattr(solver, "clock", clock)
  monkeypatch.setattr(solver, "save", save)
  solver.run(800, checkpoint=tmp_path / "run.safetensors", checkpoint_seconds=0, progress=False)
  assert saves >= 3 and 10 * (saves - 2) <= 0.05 * now  # but for the first and the last


def test_a_file_without_a_field_is_not_made_alike(tmp_path):
  header = {"teacher": "x", "situations": "y"}
  storage.write(tmp_path / "batch.safetensors", "examples", header, {})
  assert storage.has_same_options(tmp_path / "batch.safetensors", header)
  with pytest.raises(ValueError, match="method in its header is None, expected 'z'"):
    storage.has_same_options(tmp_path / "batch.safetensors", {**header, "method": "z"})


def test_an_array_that_no_reader_asks_for_is_refused(tmp_path):
  storage.write(
    tmp_path / "a.safetensors",
    "examples",
    {"teacher": "x"},
    {"one": np.ones(2), "more": np.ones(3)},
  )
  expected = {"one": ((2,), np.dtype(float))}
  with pytest.raises(ValueError, match=r"of more it has float64\[3\], expected none"):
    storage.read(tmp_path / "a.safetensors").arrays(expected)


NUMBERS = [np.int64(1), np.uint8(1), np.float16(0.5), np.float32(0.5), np.longdouble(0.5)]


@pytest.mark.parametrize("number", NUMBERS, ids=repr)
def test_numbers_of_numpy_are_saved_as_those_of_python(number, tmp_path):
  game, path = pyspiel.load_game("kuhn_poker"), tmp_path / "run.safetensors"
  solver = PSCFRSolver(game, tremble=number, rule=rules.DCFR(alpha=number))
  solver.run(2)
  solver.save(path)
  plain = int(number) if isinstance(number, np.integer) else float(number)
  loaded = PSCFRSolver.load(path)
  assert loaded.options.tremble == loaded.rule.alpha == plain
  bot = matches.ParticleBot(game, 0, temperature=number, seconds=number)
  taken = [solver.options.tremble, solver.rule.alpha, bot.options.temperature, bot.options.seconds]
  taken += [OnlineOutcomeSampling(game, exploration=number).options.exploration]
  assert taken == [plain] * len(taken) and {*map(type, taken)} == {type(plain)}
  assert build_tree(game, memory=np.float32(1e9)).names.game == str(game)
  (solved,) = ps_cfr_spiel.batches.solve_batch([TINY], iterations=200, target=number)
  assert solved.exploitability <= plain


@pytest.mark.parametrize("number", [True, np.True_, np.float32("nan"), np.complex64(0.5), "0.5", None])
def test_what_is_no_number_is_refused(number):
  with pytest.raises(ValueError, match="tremble must be a number from 0 to "):
    PSCFRSolver(pyspiel.load_game("kuhn_poker"), tremble=number)
