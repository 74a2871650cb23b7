"""Runs that call the library themselves: the numbers of XLA's program, on states that never change."""

import functools
import threading
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel
import pytest

from ps_cfr_spiel import PSCFRSolver, cfr, load_solver
from ps_cfr_spiel.backend.device import precision
from ps_cfr_spiel.backend.native import call_plain, why_unavailable
from ps_cfr_spiel.cfr import engines
from ps_cfr_spiel.cfr.averages import Step
from ps_cfr_spiel.cfr.engines import numbers_on_host
from ps_cfr_spiel.cfr.host_state import AHEAD, RunInBlock
from ps_cfr_spiel.tree import BoardLeaves, NativeLeaves

pytestmark = pytest.mark.skipif(why_unavailable() != "", reason=why_unavailable() or "it is there")
RIVER = "river_subgame(pot=10,stack=20,bets=1 a,ranges=AA KK QJs;QQ AKs T9s)"


def solver_of(game, **options):
  return PSCFRSolver(pyspiel.load_game(game), **options)


def equal(state, other):
  pairs = zip(jax.tree.leaves(state), jax.tree.leaves(other), strict=True)
  return all(x.dtype == y.dtype and np.array_equal(np.asarray(x), np.asarray(y)) for x, y in pairs)


def in_a_trace(solver, monkeypatch):
  """The program of a run, with the numbers of direct calls, each rounded once."""
  given = solver.options
  step = Step(np.array(1, np.int32), given.averaging_delay, solver.rule, given.tremble)
  rows = numbers_on_host(step, 2 * AHEAD, solver.dtype, given.bits == 16)
  taken = lambda step, count, *_: jax.lax.dynamic_slice_in_dim(jnp.asarray(rows), step.t - 1, count)  # noqa: E731
  monkeypatch.setattr(engines, "iteration_numbers", taken)
  method = {"rule": solver.rule, "alternating": given.alternating, "tremble": given.tremble}
  run = jax.jit(functools.partial(cfr.iterate, sets=solver._sets, **method))
  return lambda state, part: run(solver._tree, state, part, given.averaging_delay)


@pytest.mark.parametrize(
  ("game", "options"),
  [
    ("kuhn_poker", {}),
    ("kuhn_poker", {"dtype": "float64", "rule": "dcfr", "tremble": 1.0}),
    ("kuhn_poker", {"alternating": False, "averaging_delay": 5}),
    (RIVER, {"leaves": "native"}),
    (RIVER, {"leaves": "native", "bits": 16}),
  ],
)
def test_calls_of_the_library_are_those_in_a_trace(game, options, monkeypatch):
  """To the last bit, in parts that end within blocks, and beyond the numbers that are computed at once."""
  solver = solver_of(game, **options)
  state, parts = solver._state, (7, 30, AHEAD)
  with precision(solver.dtype):
    run = in_a_trace(solver, monkeypatch)
    for part in parts:
      state = run(state, part)
  for part in parts:
    solver.run(part)
  assert isinstance(solver._state, cfr.HostState)
  assert solver.iteration == sum(parts) and equal(state, solver._state)


@pytest.mark.parametrize("name", [name for name, kind in cfr.RULES.items() if kind().has_native_form])
def test_the_numbers_of_iterations_are_those_in_a_trace(name):
  """To the rounding of doubles, also where powers of two and blocks begin, and averages later."""
  rule = cfr.RULES[name]()
  with precision("float64"), np.errstate(all="ignore"):
    for t in (1, 1000, 10**6):
      step = Step(np.array(t, np.int32), t + 3, rule, 0.5)
      expected = jax.jit(lambda step=step: engines.iteration_numbers(step, 40, "float64", True))()
      np.testing.assert_allclose(numbers_on_host(step, 40, "float64", True), expected, rtol=1e-9)


def test_numbers_in_float32_are_rounded_once():
  """NRM+ fades the past by 1 - (1 - 1 / t) ** 3, of which float32 keeps two digits where t is a million."""
  step = Step(np.array(10**6, np.int32), 0, cfr.NRMPlus())
  fade = numbers_on_host(step, 1, "float32", False)[0, 7]
  assert fade == np.float32(1 - (1 - Fraction(1, 10**6)) ** 3)


def test_a_state_is_not_changed_by_further_iterations():
  solver = solver_of("kuhn_poker")
  solver.run(3)
  before, copied = solver._state, jax.tree.map(np.array, solver._state)
  solver.run(5)
  assert equal(before, copied) and not equal(solver._state.players, copied.players)


@pytest.mark.parametrize("bits", [32, 16])
def test_tables_in_their_places_are_those_in_a_trace(bits, monkeypatch, tmp_path):
  """To the last bit, in the memory of the first state, into which a file is read."""
  monkeypatch.setattr("ps_cfr_spiel.solvers.ps_cfr.LARGE", 0)
  solver, path = solver_of(RIVER, leaves="native", bits=bits), tmp_path / "run.safetensors"
  first = solver._state
  with precision(solver.dtype):
    expected = in_a_trace(solver, monkeypatch)(jax.tree.map(np.array, first), 40)
  solver.run(7, checkpoint=path)
  solver.run(33)
  later = load_solver(path)
  begun = later._state
  later.run(33)
  assert equal(expected, solver._state) and equal(expected, later._state)
  for before, after in ((first, solver._state), (begun, later._state)):
    tables = zip(*(jax.tree.leaves(state.players) for state in (before, after)), strict=True)
    assert all(np.shares_memory(x, y) for x, y in tables)
  assert load_solver(path).iteration == 7


def test_a_strategy_that_was_read_stays_when_tables_change_in_their_places(monkeypatch):
  """Also one of tables in full precision, which are read as they are."""
  monkeypatch.setattr("ps_cfr_spiel.solvers.ps_cfr.LARGE", 0)
  solver = solver_of(RIVER, leaves="native", dtype="float64")
  solver.run(3)
  before = cfr.current_strategy(solver._tree, solver._state)
  copied = jax.tree.map(np.array, before)
  solver.run(5)
  assert equal(before, copied) and not equal(before, cfr.current_strategy(solver._tree, solver._state))


def test_equal_tables_of_boards_are_there_once(monkeypatch):
  """Those of both players where ranges are alike, and an opponent's hands; a flop has thousands of boards."""
  monkeypatch.setattr("ps_cfr_spiel.solvers.ps_cfr.LARGE", 0)
  alike = RIVER.replace("QQ AKs T9s", "AA KK QJs")
  for game in (RIVER, alike):
    leaves = solver_of(game, leaves="native")._tree.leaves
    assert isinstance(leaves, BoardLeaves)
    (street,) = leaves.streets
    assert isinstance(street, NativeLeaves)
    first, second = street.views
    assert np.shares_memory(first.opponent, second.hands) and np.shares_memory(second.opponent, first.hands)
    once = [name for name, table in vars(first).items() if table is vars(second)[name]]
    assert {"hands", "scale", "weight"} <= {*once} if game == alike else not once


def test_tables_in_their_places_need_no_program(monkeypatch, caplog):
  """To begin, iterate and evaluate: the first program alone takes XLA's compiler some 40 MB."""
  monkeypatch.setattr("ps_cfr_spiel.solvers.ps_cfr.LARGE", 0)
  with jax.log_compiles():
    solver = solver_of(RIVER.replace("stack=20", "stack=21"), leaves="native")
    solver.run(3)
    assert solver.exploitability() > 0
    assert not [record for record in caplog.records if "ompil" in record.getMessage()]
    jax.jit(lambda x: x + 21)(1.0)
  assert any("ompil" in record.getMessage() for record in caplog.records)


@pytest.mark.parametrize("game", [RIVER.replace("stack=20", "stack=22"), "blotto(coins=5,fields=3)"])
def test_iterations_on_small_tables_need_no_program(game, caplog):
  """No other test has games of these shapes: a program that an earlier test compiled is not logged again."""
  solver = PSCFRSolver(pyspiel.load_game(game), leaves="native" if "river" in game else "auto")
  with jax.log_compiles():
    solver.run(3)
    if "river" in game:  # values go board by board
      assert solver.exploitability() > 0 and len(solver.average_policy().worths.best) == 2
    programs = [x.getMessage() for x in caplog.records if "XLA compilation" in x.getMessage()]
  assert not programs


def test_compile_leaves_no_program_of_a_run_to_compile():
  solver = solver_of("kuhn_poker")
  solver.compile()
  assert solver._direct is not None and solver._direct.knows(solver._state, AHEAD)


def test_a_failure_in_the_library_is_raised_in_its_words():
  solver = solver_of("kuhn_poker")
  solver.run(1)
  direct = solver._direct
  assert isinstance(direct, RunInBlock)
  direct._call._frame.names[0] = b"nothing"
  with pytest.raises(RuntimeError, match="alternating"):
    solver.run(1)


@pytest.mark.parametrize(
  ("count", "words"), [(2**45, "the system has too little memory left for this call"), (2**62, "vector")]
)
def test_a_failure_of_a_function_without_xla_is_an_error(count, words):
  """Not the end of the process: one that asks for `count` numbers, more than there are or may be."""
  points = np.zeros((1, 1), np.float32)
  with pytest.raises(RuntimeError, match=words):
    call_plain("NearestCentres", points, 1, 1, points, count, 1, np.zeros(1, np.int16))


def test_threads_wait_for_each_other(monkeypatch):
  """A call hands addresses over in arrays of its own, which another must not change."""
  solver = solver_of("kuhn_poker")
  solver.run(1)
  assert isinstance(solver._direct, RunInBlock)
  direct, other = solver._direct._call, threading.Thread(target=solver.run, args=(1,))
  call = direct._frame.function

  def waiting(*given):
    monkeypatch.undo()
    other.start()
    other.join(0.2)
    assert other.is_alive()
    call(*given)

  monkeypatch.setattr(direct._frame, "function", waiting)
  solver.run(1)
  other.join()


def test_numbers_below_the_normal_ones_count_as_zero_as_in_a_trace():
  """Sums that a rule fades by a factor get there soon."""
  solver = solver_of("kuhn_poker", rule=cfr.RMPlus())
  solver.run(1)
  tiny = jax.tree.map(np.array, solver._state)
  for player in tiny.players:
    player.average.average[...] = 1e-39
  with precision(solver.dtype):
    expected = cfr.run(solver._tree, tiny, 1, rule=solver.rule)
  solver._state = tiny
  solver.run(1)
  assert equal(expected, solver._state)
