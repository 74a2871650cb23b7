"""Games with public cards, the boards an axis of their tables (`tree.board_passes`), against XLA on rows."""

import dataclasses
import functools

import jax
import numpy as np
import pyspiel
import pytest

from ps_cfr_spiel import PSCFRSolver, cfr, load_solver, tree
from ps_cfr_spiel.backend.device import precision, rehearsal, to_device
from ps_cfr_spiel.backend.native import why_unavailable
from ps_cfr_spiel.compilation.compiler import build_tree, fold_suits

needs_library = pytest.mark.skipif(bool(why_unavailable()), reason="no native library")
# With and without suits that are alike, with all-ins on every street, and with a rake.
GAMES = {
  "river": "river_subgame(stack=300,bets=1 a,ranges=AA KK AKs T9s;QQ JJ AQs 98s)",
  "turn": "holdem_subgame(deck=4x3,board=2c3c4c5d,stack=300,bets=1 a)",
  "flop": "holdem_subgame(deck=4x3,board=2c3c4d,stack=300,bets=a)",
  "folded turn": "holdem_subgame(deck=4x4,board=2c3c4c5c,stack=300,bets=1 a,rake=5%,cap=3)",
  "folded flop": "holdem_subgame(deck=4x4,board=2c3c4c,stack=300,bets=1 a)",
}
FLOP = GAMES["folded flop"]


def folded(game, leaves="showdown"):
  """The game's tree as a solver runs on it, on the host."""
  return dataclasses.replace(fold_suits(build_tree(pyspiel.load_game(game), leaves=leaves)).tree, labels=None)


def engine(made, rule):
  return cfr.choose(made, rule, cfr.init(made, rule, "float32").players).engine.name


@pytest.mark.parametrize(  # each street, with and without folded suits; the others below
  ("game", "rule", "alternating"),
  [("river", "dcfr", False), ("flop", "rm+", True), ("folded turn", "nrm+", True)],
)
def test_an_axis_of_boards_is_rows_of_boards(game, rule, alternating):
  """After two iterations to ten digits; after more, rounding decides where an exact regret is zero."""
  rule, plain = cfr.make_rule(rule), folded(GAMES[game])
  with precision("float64"):
    on_rows, on_axis = to_device((plain, tree.on_axis(plain)), "float64")
    assert engine(on_axis, rule) == "xla on an axis of boards" != engine(on_rows, rule)
    start = cfr.init(on_rows, rule, "float64")
    for iterations in (1, 2):
      run = functools.partial(cfr.run, state=start, iterations=iterations, rule=rule, alternating=alternating)
      ours, theirs = run(on_axis), run(on_rows)
      if iterations == 1:
        for x, y in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
          np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12 * np.abs(y).max(initial=0))
      values = cfr.evaluate_average(on_axis, ours), cfr.evaluate_average(on_rows, theirs)
      np.testing.assert_allclose(*map(jax.tree.leaves, values), rtol=1e-10, atol=1e-10)


@needs_library
@pytest.mark.parametrize(("game", "tremble"), [(GAMES["turn"], 0), (GAMES["folded flop"], 1)])
def test_an_axis_of_boards_is_the_native_boards(game, tremble):
  """Over the ends of three blocks of averages, with iterations that these leave out, and trembling."""
  rule, plain = cfr.make_rule("dcfr"), folded(game, "native")
  with precision("float64"):
    streamed, on_axis = to_device((tree.streamed(plain), tree.on_axis(plain)), "float64")
    start = cfr.init(streamed, rule, "float64")
    run = functools.partial(cfr.run, rule=rule, alternating=False, tremble=tremble)
    states = [run(made, start, 40, 3) for made in (streamed, on_axis)]
    for ours, theirs in zip(*map(jax.tree.leaves, states), strict=True):
      np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9 * np.abs(theirs).max(initial=0))


def test_current_strategies_are_worth_what_they_are_on_rows():
  rule, plain = cfr.make_rule("rm+"), folded(FLOP)
  with precision("float64"):
    on_rows, on_axis = to_device((plain, tree.on_axis(plain)), "float64")
    state = cfr.run(on_axis, cfr.init(on_axis, rule, "float64"), 2, rule=rule)
    values = [cfr.evaluate_current(made, state, rule=rule) for made in (on_axis, on_rows)]
  assert values[0].exploitability > 0
  np.testing.assert_allclose(*map(jax.tree.leaves, values), rtol=1e-10)


@needs_library
def test_a_turn_with_all_hands_is_that_of_another_program():
  """Values and exploitability of CFR+ by an array program that shares no tables with this package."""
  plain = folded("holdem_subgame(board=9s7c5s4h,bets=fcpa,stack=1000)", "native")
  with precision("float64"):
    on_axis, rule = to_device(tree.on_axis(plain), "float64"), cfr.make_rule("rm+")
    state = cfr.run(on_axis, cfr.init(on_axis, rule, "float64"), 2, rule=rule)
    result = cfr.evaluate_average(on_axis, state)
  values = float(result.value), float(result.exploitability)
  np.testing.assert_allclose(values, [-60.3499620669, 199.6517240897], rtol=1e-11)


def test_a_run_in_two_calls_is_a_run_in_one():
  """Bit by bit, with the narrow tables of a large game."""
  rule, made = cfr.make_rule("nrm+"), tree.on_axis(folded(GAMES["folded turn"]))
  with precision("float32"):
    made = to_device(made, "float32")
    start = cfr.init(made, rule, "float32", compensated=False)
    once = cfr.run(made, start, 20, rule=rule)
    twice = cfr.run(made, cfr.run(made, start, 7, rule=rule), 13, rule=rule)
  for x, y in zip(jax.tree.leaves(once), jax.tree.leaves(twice), strict=True):
    np.testing.assert_array_equal(x, y)


def test_averages_in_16_bits_are_evaluated_as_the_policy_is():
  with rehearsal("gpu"):
    solver = PSCFRSolver(pyspiel.load_game(GAMES["river"]), bits=16, device="gpu")
    assert str(solver.engine) == "xla on an axis of boards"
    solver.run(20, progress=False)
    value, exploitability = solver.value(), solver.exploitability()
    strategies = solver.average_policy().strategies
  expected = tree.evaluate(solver.tree, strategies)
  np.testing.assert_allclose(value, expected.value, atol=1e-3)
  np.testing.assert_allclose(exploitability, expected.exploitability, rtol=1e-4)


def test_a_checkpoint_of_either_engine_goes_on_in_the_other(tmp_path):
  game, path = pyspiel.load_game(FLOP), tmp_path / "run.safetensors"
  options = {"rule": "dcfr", "alternating": False, "dtype": "float64"}
  with rehearsal("gpu"):
    first = PSCFRSolver(game, **options, device="gpu")
    assert str(first.engine) == "xla on an axis of boards"
    first.run(9, progress=False, checkpoint=path)
  later = load_solver(path)
  assert isinstance(later, PSCFRSolver)
  assert str(later.engine) == "boards, 32 bits"
  later.run(9, progress=False, checkpoint=path)
  with rehearsal("gpu"):
    last = load_solver(path, device="gpu")
    assert isinstance(last, PSCFRSolver)
    assert str(last.engine) == "xla on an axis of boards"
    last.run(9, progress=False)
    whole = PSCFRSolver(game, **options, device="gpu")
    whole.run(27, progress=False)
    np.testing.assert_allclose(last.exploitability(), whole.exploitability(), rtol=1e-9)
  for x, y in zip(last.average_policy().strategies, whole.average_policy().strategies, strict=True):
    for ours, theirs in zip(x, y, strict=True):
      np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
  ("game", "options", "reason"),
  [
    ("kuhn_poker", {}, "the tree has no axis of boards"),
    (FLOP, {"locks": {"check": {"check": 1}}}, "the tree has no axis of boards"),
    (FLOP, {"abstraction": "initial"}, "an abstraction joins infostates in sets"),
  ],
)
def test_what_has_no_axis_is_told(game, options, reason):
  with rehearsal("gpu"):
    solver = PSCFRSolver(pyspiel.load_game(game), device="gpu", **options)
    assert str(solver.engine).startswith(f"xla: {reason}")
