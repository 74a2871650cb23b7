"""Runs that call the library themselves: the numbers of XLA's program, on states that never change."""

import threading

import jax
import numpy as np
import pyspiel
import pytest

from ps_cfr_spiel import PSCFRSolver, cfr, load_solver
from ps_cfr_spiel.backend.device import precision
from ps_cfr_spiel.backend.native import why_unavailable
from ps_cfr_spiel.cfr.host_state import AHEAD, RunInBlock

pytestmark = pytest.mark.skipif(why_unavailable() != "", reason=why_unavailable() or "it is there")
RIVER = "river_subgame(pot=10,stack=20,bets=1 a,ranges=AA KK QJs;QQ AKs T9s)"


def solver_of(game, **options):
  return PSCFRSolver(pyspiel.load_game(game), **options)


def equal(state, other):
  pairs = zip(jax.tree.leaves(state), jax.tree.leaves(other), strict=True)
  return all(x.dtype == y.dtype and np.array_equal(np.asarray(x), np.asarray(y)) for x, y in pairs)


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
def test_calls_of_the_library_are_those_in_a_trace(game, options):
  """To the last bit, in parts that end within blocks, and beyond the numbers that are computed at once."""
  solver = solver_of(game, **options)
  given, state = solver.options, solver._state
  parts = (7, 30, AHEAD)
  with precision(solver.dtype):
    for part in parts:
      method = {"rule": solver.rule, "alternating": given.alternating, "tremble": given.tremble}
      state = cfr.run(solver._tree, state, part, given.averaging_delay, solver._sets, **method)
  for part in parts:
    solver.run(part)
  assert isinstance(solver._state, cfr.HostState)
  assert solver.iteration == sum(parts) and equal(state, solver._state)


def test_a_state_is_not_changed_by_further_iterations():
  solver = solver_of("kuhn_poker")
  solver.run(3)
  before, copied = solver._state, jax.tree.map(np.array, solver._state)
  solver.run(5)
  assert equal(before, copied) and not equal(solver._state.players, copied.players)


@pytest.mark.parametrize("bits", [32, 16])
def test_tables_in_their_places_are_those_in_a_trace(bits, monkeypatch, tmp_path):
  """To the last bit, in the memory of the first state; a file's, which may not be written, are copied."""
  monkeypatch.setattr("ps_cfr_spiel.solvers.ps_cfr.LARGE", 0)
  solver, path = solver_of(RIVER, leaves="native", bits=bits), tmp_path / "run.safetensors"
  first = solver._state
  with precision(solver.dtype):
    expected = cfr.run(solver._tree, jax.tree.map(np.array, first), 40, rule=solver.rule)
  solver.run(7, checkpoint=path)
  solver.run(33)
  later = load_solver(path)
  later.run(33)
  assert equal(expected, solver._state) and equal(expected, later._state)
  tables = zip(*(jax.tree.leaves(state.players) for state in (first, solver._state)), strict=True)
  assert all(np.shares_memory(x, y) for x, y in tables)
  assert load_solver(path).iteration == 7


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
