"""Games with public cards to come, board by board (`stream.cc`), against the walk over all boards at once."""

import dataclasses
import functools

import jax
import numpy as np
import pyspiel
import pytest

from ps_cfr_spiel import PSCFRSolver, cfr, load_solver, tree
from ps_cfr_spiel.backend.device import precision, to_device
from ps_cfr_spiel.backend.native import why_unavailable
from ps_cfr_spiel.cfr import averages, sixteen_bits
from ps_cfr_spiel.cfr.filled import filled_array
from ps_cfr_spiel.compilation.compiler import build_tree, fold_suits
from ps_cfr_spiel.compilation.compiler.dealt_boards import DealtBoards
from ps_cfr_spiel.policy import worth
from ps_cfr_spiel.resolving.search import Problem, Search, SearchSettings, SubgameSolver, promises
from ps_cfr_spiel.resolving.subgames import GADGETS, Subgames, unsafe
from ps_cfr_spiel.resolving.subgames.ranged_leaves import GadgetLeaves, RangedLeaves

pytestmark = pytest.mark.skipif(bool(why_unavailable()), reason="no native library")
# All hands of small decks, with and without suits that are alike, and with all-ins on every street.
GAMES = {
  "river": ("river_subgame(stack=300,bets=1 a,ranges=AA KK AKs T9s;QQ JJ AQs 98s)", False),
  "turn": ("holdem_subgame(deck=4x3,board=2c3c4c5d,stack=300,bets=1 a)", False),
  "flop": ("holdem_subgame(deck=4x3,board=2c3c4d,stack=300,bets=1 a)", False),
  "folded flop": ("holdem_subgame(deck=4x4,board=2c3c4c,stack=300,bets=1 a)", True),
  "folded turn": ("holdem_subgame(deck=4x4,board=2c3c4c5c,stack=300,bets=1 a)", True),
}
FLOP = "holdem_subgame(deck=4x4,board=2c3c4c,stack=300,bets=1 a)"


def both(game, folded):
  """The game's tree, and the same with its walk board by board; on the host."""
  made = build_tree(pyspiel.load_game(game), leaves="native")
  plain = fold_suits(made).tree if folded else dataclasses.replace(made, labels=None)
  rows = [sum(n for _, n, _ in own.block_shapes) for own in (made.players[0], plain.players[0])]
  assert (rows[1] < rows[0]) == folded
  return plain, tree.streamed(plain)


def in_the_middle(start, generator):
  """A state whose regrets are far from zero: a rule that divides by rounding errors plays anything."""

  def positive(x):
    return generator.uniform(0.1, 1, x.shape).astype(x.dtype)

  players = [
    own._replace(
      strategy=tuple(cfr.normalise(positive(p)) for p in own.strategy),
      average=jax.tree.map(lambda x: -positive(x), own.average)._replace(
        average=None if own.average.average is None else positive(own.average.average)
      ),
      rule=jax.tree.map(positive, own.rule),
    )
    for own in start.players
  ]
  return start._replace(players=tuple(players), iteration=np.int32(31))  # a block of averages begins


def apart(ours, theirs):
  for x, y in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
    yield np.asarray(x), np.asarray(y)


METHODS = ("nrm+", True, 0.9), ("dcfr", False, 0)  # each with and without folded suits


@pytest.mark.parametrize(
  ("game", "folded", "method"),
  [(*GAMES[name], METHODS[name in ("turn", "folded flop")]) for name in GAMES],
  ids=GAMES,
)
def test_board_by_board_is_all_at_once(game, folded, method):
  """Rows of folded suits stay as renamings leave them, so there a run begins at its first iteration."""
  name, alternating, tremble = method
  with precision("float64"):
    plain, streamed = to_device(both(game, folded), "float64")
    rule = cfr.make_rule(name)
    state = jax.tree.map(np.asarray, cfr.init(plain, rule, "float64"))
    state = to_device(state if folded else in_the_middle(state, np.random.default_rng(0)), "float64")
    run = functools.partial(cfr.run, rule=rule, alternating=alternating, tremble=tremble)
    found = [run(made, state, 1) for made in (streamed, plain)]
    for ours, theirs in apart(*found):
      np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12 * np.abs(theirs).max(initial=0))
    values = [cfr.evaluate_average(made, found[0]) for made in (streamed, plain)]
    np.testing.assert_allclose(*map(jax.tree.leaves, values), rtol=1e-10)


def test_values_are_those_of_all_boards_at_once():
  """Of every action of every hand, by the strategies and by best responses to them."""
  with precision("float64"):
    plain, streamed = to_device(both(*GAMES["flop"]), "float64")
    start = jax.tree.map(np.asarray, cfr.init(plain, cfr.make_rule("nrm+"), "float64"))
    blocks = cfr.average_strategy(plain, in_the_middle(start, np.random.default_rng(1)))
    columns = [tree.column_of(p.join(x), p.types) for p, x in zip(plain.players, blocks, strict=True)]
    found = worth.board_by_board(streamed, columns), worth.all_at_once(plain, blocks)
    for ours, theirs in apart(*found):
      np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-13 * np.abs(theirs).max())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("game", [*(game for game, _ in GAMES.values()), FLOP.replace(")", ",rake=5%)")])
def test_policies_are_worth_what_all_boards_at_once_say(game, dtype):
  """The values to both players where there is rake; strategies in float32 are not rounded any further."""
  made, generator = build_tree(pyspiel.load_game(game), leaves="native"), np.random.default_rng(2)
  strategies = [
    [tree.normalise(generator.uniform(0.01, 1, shape)).astype(dtype) for shape in player.block_shapes]
    for player in made.players
  ]
  with precision("float64"):
    expected = jax.jit(tree.evaluate)(
      *to_device((dataclasses.replace(made, labels=None), strategies), "float64")
    )
  evaluation = worth.evaluation_of(made, strategies)
  assert len(evaluation.values) == (2 if "rake" in game else 1)
  # Strategies of float32 add up to one up to rounding; the library divides them by their sums.
  error = 1e-12 if dtype == "float64" else 1e-6
  np.testing.assert_allclose(*map(jax.tree.leaves, (evaluation, expected)), rtol=error, atol=error)


@pytest.mark.parametrize(("bits", "alternating", "tremble"), [(16, True, 1), (16, False, 0), (32, True, 0)])
def test_narrow_tables_are_xlas(bits, alternating, tremble):
  """A rounding error of float32 may move a number by a step of its bits, where it is at the edge of two."""
  rule, generator = cfr.make_rule("nrm+"), np.random.default_rng(3)
  with precision("float32"):
    plain, streamed = to_device(both(*GAMES["flop"]), "float32")
    start = jax.tree.map(np.asarray, cfr.init(plain, rule, "float32", bits=bits, compensated=False))
    middle = in_the_middle(jax.tree.map(np.asarray, cfr.init(plain, rule, "float32")), generator)

    def narrow(own):
      shares = [np.sort(generator.integers(0, 65521, x[1:].shape, np.uint16), axis=0) for x in own.strategy]
      kept = tuple(map(sixteen_bits.Shares, shares))
      average = averages.Sum(None, own.average.compensation) if bits == 32 else kept
      # No prediction is -128, which takes all of a weight: where all actions had it, nothing would be played.
      codes = tuple(generator.integers(-127, 128, p.shape, np.int8) for p in own.strategy)
      return own.compressed(rule, bits)._replace(average=average, strategy=codes)

    players = [narrow(own) for own in middle.players]
    state = to_device(middle._replace(players=tuple(players)), "float32")
    for given, first in apart(state, start):
      assert (given.shape, given.dtype) == (first.shape, first.dtype)
    run = functools.partial(cfr.run, rule=rule, alternating=alternating, tremble=tremble)
    found = [run(made, state, 1) for made in (streamed, plain)]
    for ours, theirs in apart(*found):
      assert ours.dtype == theirs.dtype
      if ours.dtype == np.int8:
        assert np.mean(ours != theirs) < 0.05
        ours, theirs = (np.asarray(sixteen_bits.ratios(jax.numpy.asarray(x))) for x in (ours, theirs))
        np.testing.assert_allclose(ours, theirs, rtol=0.13, atol=1e-4)
      elif ours.dtype in (np.int16, np.uint8, np.uint16):
        steps = np.abs(ours.astype(int) - theirs)
        assert steps.max(initial=0) <= 2 and np.mean(steps > 0) < 0.05
      else:
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5 * np.abs(theirs).max(initial=0))


def test_large_tables_begin_as_small_ones(monkeypatch):
  found = []
  for least in (0, 10**9):
    monkeypatch.setattr("ps_cfr_spiel.cfr.filled.LARGE_PAGES", least)
    for values in ([2, -3], "float32"), ([1, -1, 0], "int8"), ([7], "uint16"), ([], "float32"):
      first = np.array(values[0], values[1])[:, None, None]
      found.append(np.asarray(filled_array(first, (len(first), 70, 300))))
  for large, small in zip(found[:4], found[4:], strict=True):
    np.testing.assert_array_equal(large, small)
    assert large.dtype == small.dtype


def test_narrow_tables_of_hands_that_never_come_stay_finite():
  """Hands with a card of the board never hear a regret; in 32 bits, from the start."""
  rule = cfr.make_rule("nrm+")
  with precision("float32"):
    plain, streamed = to_device(both(*GAMES["turn"]), "float32")
    start = cfr.init(plain, rule, "float32", bits=32, compensated=False)
    for x in jax.tree.leaves(cfr.run(streamed, start, 3, rule=rule)):
      assert np.isfinite(np.asarray(x)).all()


def test_what_a_sum_rounds_off_stays_in_its_compensation():
  """Where a block begins, of sums so large that float32 rounds off what came since the last block."""
  rule = cfr.make_rule("dcfr")
  with precision("float32"):
    plain, streamed = to_device(both(*GAMES["turn"]), "float32")
    state = in_the_middle(
      jax.tree.map(np.asarray, cfr.init(plain, rule, "float32")), np.random.default_rng(2)
    )
    players = [
      own._replace(average=own.average._replace(average=np.float32(1e8) * own.average.average))
      for own in state.players
    ]
    state = to_device(state._replace(players=tuple(players)), "float32")
    ours, theirs = (
      [np.asarray(own.average.compensation) for own in cfr.run(made, state, 1, rule=rule).players]
      for made in (streamed, plain)
    )
  for x, y in zip(ours, theirs, strict=True):
    np.testing.assert_allclose(x, y, atol=1e-3)


@pytest.mark.parametrize("tremble", [0, 1])
def test_many_iterations_are_those_of_all_boards_at_once(tremble):
  """Over the ends of three blocks; simultaneously, since with many ties rounding decides between actions."""
  with precision("float64"):
    plain, streamed = to_device(both(FLOP, True), "float64")
    rule = cfr.make_rule("dcfr")
    start = cfr.init(plain, rule, "float64")
    run = functools.partial(cfr.run, rule=rule, alternating=False, tremble=tremble)
    found = [run(made, start, 40, 3) for made in (streamed, plain)]
    for ours, theirs in apart(*found):
      np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9 * np.abs(theirs).max(initial=0))


def test_nobody_reads_the_matrices_of_all_ins(monkeypatch):
  """Neither the set-up nor the values of a policy read them: for a flop with all hands they are large."""
  monkeypatch.setattr(DealtBoards, "net_wins", None)
  solver = PSCFRSolver(pyspiel.load_game(FLOP), leaves="native")
  solver.run(2, progress=False)
  assert solver.exploitability() > 0 and solver.average_policy().worths


@pytest.mark.parametrize("name", ["river", "folded flop"])
def test_current_strategies_are_worth_what_they_are_on_all_boards_at_once(name):
  plain, streamed = both(*GAMES[name])
  rule = cfr.RMPlus()
  with precision("float64"):
    plain, streamed = to_device((plain, streamed), "float64")
    state = cfr.run(plain, cfr.init(plain, rule, "float64"), 3, rule=rule)  # suits that are alike play alike
    found = [cfr.evaluate_current(made, state, rule=rule, tremble=1) for made in (streamed, plain)]
  assert found[0].exploitability > 0
  for ours, theirs in apart(*found):
    np.testing.assert_allclose(ours, theirs, rtol=1e-10)


@pytest.mark.parametrize("bits", [16, 32])
def test_any_number_of_threads_finds_the_same_bits(on_cores, bits):
  found = []
  for count in (1, 2):
    on_cores(count)
    solver = PSCFRSolver(pyspiel.load_game(FLOP), leaves="native", bits=bits)
    assert solver._tree.stream is not None
    solver.run(20, progress=False)
    found.append((solver._state, solver.evaluation()))
  for ours, theirs in apart(*found):
    np.testing.assert_array_equal(ours, theirs)


def test_tables_that_change_in_place_are_the_same_and_leave_no_state_to_go_back_to(monkeypatch, tmp_path):
  game, path = pyspiel.load_game(FLOP), tmp_path / "run.safetensors"
  monkeypatch.setattr("ps_cfr_spiel.solvers.ps_cfr.LARGE", 0)
  kept = PSCFRSolver(game, leaves="native")
  kept._in_place = False
  kept.run(12, progress=False)
  solver = PSCFRSolver(game, leaves="native")
  solver.run(5, progress=False, checkpoint=path)
  solver.run(7, progress=False)
  for ours, theirs in apart(solver._state, kept._state):
    np.testing.assert_array_equal(ours, theirs)
  own = solver._state.players[0]
  broken = own._replace(average=averages.Sum(own.average.average, own.average.compensation * np.nan))
  solver._state = solver._state._replace(players=(broken, solver._state.players[1]))
  with pytest.raises(FloatingPointError, match="go on from the last checkpoint"):
    solver.run(3, progress=False)
  later = load_solver(path)
  assert later.iteration == 5
  monkeypatch.undo()
  again = load_solver(path)  # where averages have a second array, it stays without
  for solver in (later, again):
    solver.run(7, progress=False)
    for ours, theirs in apart(solver._state, kept._state):
      np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("rake", ["", "rake=5%,"])
def test_the_traversal_of_a_river_serves_another_with_the_same_decisions(rake):
  game = f"river_subgame(board={{}},pot={{}},stack={{}},bets=1 a,{rake}ranges=KK KQ;QQ AK)"
  (_, first), (plain, second) = (
    both(game.format(*given), False) for given in (("2c4d6h8sTc", 10, 20), ("3h5h7hJdJc", 20, 40))
  )
  moved = jax.jit(tree.on_one_board)(plain, first.stream)
  assert not np.array_equal(first.stream.layouts[0].utility, second.stream.layouts[0].utility)
  assert jax.tree.structure(moved) == jax.tree.structure(second)
  for ours, wanted in zip(jax.tree.leaves(moved), jax.tree.leaves(second), strict=True):
    np.testing.assert_array_equal(ours, np.asarray(wanted, ours.dtype))


def cuts(name):
  """Subgames from the first decision, after a bet, and after a card has come, if cards come."""
  subgames = Subgames.of(pyspiel.load_game(GAMES[name][0]), leaves="native")
  states = subgames.labels.public_states
  acting = [s for s, state in enumerate(states) if state.decisions]
  dealt = [s for s in acting if states[s].parent >= 0 and states[states[s].parent].player == tree.CHANCE]
  return [subgames.cut([place]) for place in (*acting[:2], *dealt[1:2])]


def given(subgame, player):
  """Both players' ranges, with hands that do not come, and promises to the player's opponent."""
  generator, types = np.random.default_rng(2), [p.types for p in subgame.tree.players]
  first, second = (generator.uniform(-0.2, 1, (1, h)).clip(0) for h in types)
  return (first, second), generator.normal(0, 0.01, (1, types[1 - player]))


@pytest.mark.parametrize("name", ["river", "flop"])
def test_gadgets_board_by_board_are_those_of_all_at_once(name):
  """An iteration of both players, and best responses of every hand to a strategy."""
  rule = cfr.make_rule("nrm+")
  for number, subgame in enumerate(cuts(name)):
    player, generator = number % 2, np.random.default_rng(number)
    ranges, promised = given(subgame, player)
    for gadget in (GADGETS["cfr-d"], unsafe):
      made = gadget(subgame, player, ranges, promised).tree
      with precision("float64"):
        plain, streamed = to_device((made, tree.streamed(made)), "float64")
        assert streamed.stream is not None
        start = jax.tree.map(np.asarray, cfr.init(plain, rule, "float64"))
        state = to_device(in_the_middle(start, generator), "float64")
        for ours, theirs in apart(*(cfr.run(x, state, 1, rule=rule) for x in (streamed, plain))):
          np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-12 * np.abs(theirs).max(initial=0))
    with precision("float64"):  # the last is unsafe, as best responses are
      blocks = cfr.average_strategy(plain, state)[player]
      theirs = tree.best_response_values(plain, 1 - player, blocks)[1]
    ours = promises.best_responses(made, [*map(np.asarray, blocks)], 1 - player, "float64")
    np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-13 * np.abs(theirs).max())


def test_what_needs_all_boards_at_once_gets_them():
  """Trembles, which a gadget's decisions do not have, and gadgets that weigh by the reach."""
  subgame = cuts("river")[0]
  cases = ("cfr-d", 0, True), ("cfr-d", 1, False), ("max-margin", 0, False), ("expected-cfr-d", 0, False)
  for gadget, tremble, streams in cases:
    settings = SearchSettings(gadget=gadget, tremble=tremble)
    with precision(settings.dtype):
      placed = settings.placed(settings.gadget(subgame, 0, *given(subgame, 0)))
    assert (placed.stream is not None) == streams, gadget


def derived(leaves):
  return type("Derived", (type(leaves),), {})(**vars(leaves))


def test_leaves_of_a_derived_class_are_called():
  """At the top and within others: the class may value leaves in another way."""
  subgame = cuts("river")[0]
  for gadget in (unsafe, GADGETS["cfr-d"]):
    made = gadget(subgame, 0, *given(subgame, 0)).tree
    assert tree.streamed(made).stream is not None and isinstance(made.leaves, RangedLeaves | GadgetLeaves)
    inside = dataclasses.replace(made.leaves, inner=derived(made.leaves.inner))
    for leaves in (derived(made.leaves), inside):
      own = dataclasses.replace(made, leaves=leaves)
      assert tree.streamed(own) is own


def test_a_gadget_without_boards_of_its_own_is_walked_all_at_once():
  """An example is a gadget that replaces the players of the subgame's tree and keeps its boards."""
  subgame = cuts("flop")[0]
  made = GADGETS["cfr-d"](subgame, 0, *given(subgame, 0)).tree
  own = dataclasses.replace(made, boards=subgame.tree.boards)
  assert tree.streamed(made).stream is not None and tree.streamed(own) is own


def search_of(begun):
  """A search that begins with strategies, if it has `begun`: its solver, problem, and tree with a gadget."""
  subgames, settings = Subgames.of(pyspiel.load_game(FLOP), leaves="native"), SearchSettings(dtype="float64")
  subgame, generator = subgames.cut([1]), np.random.default_rng(4)
  ranges, promised = given(subgame, 0)
  shapes = [p.block_shapes for p in subgames.tree.players]
  first, second = ([cfr.normalise(generator.uniform(0.1, 1, x)) for x in blocks] for blocks in shapes)
  last = Search(0, np.inf, (first, second), (), {}, 0.0)
  problem = Problem(last, subgame, ranges, promised, None, np.inf, (), begun)
  made = GADGETS["cfr-d"](subgame, 0, ranges, promised)
  return SubgameSolver(subgames, settings), problem, made


def test_a_search_in_place_is_that_of_all_boards_at_once(monkeypatch):
  """It begins with strategies, which it leaves as they are, and goes on in two parts."""
  solver, problem, made = search_of(begun=5)
  before, results = jax.tree.map(np.copy, problem.last.tables), []
  for _ in range(2):
    with precision("float64"):
      placed = solver.settings.placed(made)
      assert (placed.stream is not None) == (not results)
      state = solver.first(problem, placed)
      for _ in range(2):
        state = solver.iterate(placed, state, 1, problem.begun)
      results.append(cfr.average_strategy(placed, state))
    monkeypatch.setattr("ps_cfr_spiel.resolving.search.subgame_run.streamed", lambda tree: tree)
  for ours, theirs in apart(*results):
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9)
  for now, then in apart(problem.last.tables, before):
    np.testing.assert_array_equal(now, then)


def test_searches_begin_and_iterate_without_programs(monkeypatch, caplog):
  """Also on large tables: a fresh search, and one that begins with strategies; both in their first memory."""
  monkeypatch.setattr("ps_cfr_spiel.cfr.filled.LARGE_PAGES", 0)
  structures = []
  for begun in (0, 5):
    solver, problem, made = search_of(begun)
    with precision("float64"), jax.log_compiles():
      placed = solver.settings.placed(made)
      first = solver.first(problem, placed)
      later = solver.iterate(placed, first, 3, begun)
      cfr.average_strategy(placed, later)
    assert not [x for x in caplog.records if "XLA compilation" in x.getMessage()]
    for before, after in apart(first.players, later.players):
      assert np.shares_memory(before, after)
    structures.append(jax.tree.structure(later))
  assert structures[0] == structures[1]  # a pair of sums in both
