"""Rivers whose betting is walked in parts (`betting_parts`), against the walk over all at once."""

import functools

import jax
import numpy as np
import pyspiel
import pytest

from ps_cfr_spiel import PSCFRSolver, cfr, tree
from ps_cfr_spiel.backend.device import precision, to_device
from ps_cfr_spiel.backend.native import why_unavailable
from ps_cfr_spiel.compilation.compiler import build_tree
from ps_cfr_spiel.tree.evaluators import streaming
from ps_cfr_spiel.tree.evaluators.betting_parts import LEAST, decisions_of, parts_of

pytestmark = pytest.mark.skipif(bool(why_unavailable()), reason="no native library")
RIVER = "river_subgame(board={},pot={},stack={},bets=0.5 1 a,ranges=AA KK AKs;QQ AQs KQ)"
GAME = RIVER.format("2c4d6h8sTc", 10, 200)
ROOM = 24  # sequences in a part


def cache_of(made, room=ROOM):
  return room * 2 * 4 * max(player.types for player in made.players)


@pytest.fixture
def small_cache(monkeypatch):
  """Traversals are in parts of `ROOM` sequences."""

  def small(players):
    return parts_of(players, ROOM * 2 * 4 * max(player.types for player in players))

  monkeypatch.setattr(streaming, "parts_of", small)


def test_parts_are_the_public_trees():
  """Each is one decision and decisions that follow it in the public tree, as the labels have that."""
  made = build_tree(pyspiel.load_game(GAME), leaves="native")
  parts, labels = parts_of(made.players, cache_of(made)), made.labels
  starts = [np.cumsum([0, *(n for _, n, _ in player.block_shapes)]) for player in made.players]
  part_of = [
    parts.rows[d.player][starts[d.player][d.block] + d.row] if d.public_state >= 0 else -1
    for d in labels.decisions
  ]
  assert (
    len(parts.above) > 15
    and parts.above[0] == -1
    and (parts.above[1:] < np.arange(1, len(parts.above))).all()
  )
  begun, sizes = [], np.zeros(len(parts.above), int)
  for state in labels.public_states:
    if not state.decisions:
      continue
    (decision,) = state.decisions
    sizes[part_of[decision]] += len(labels.decisions[decision].legal_actions)
    if state.parent < 0 or not labels.public_states[state.parent].decisions:
      assert part_of[decision] == 0
      continue
    (before,) = labels.public_states[state.parent].decisions
    if part_of[decision] != part_of[before]:
      begun.append(part_of[decision])
      assert parts.above[part_of[decision]] == part_of[before]
  assert sorted(begun) == list(range(1, len(parts.above)))
  assert sizes.max() <= ROOM
  # Those below a part follow it, before any other.
  for part in range(1, len(parts.above)):
    at = part - 1
    while at != parts.above[part]:
      at = parts.above[at]
      assert at >= 0


def test_leaves_are_in_the_part_of_the_last_decision():
  made = build_tree(pyspiel.load_game(GAME), leaves="native")
  parts, joined = parts_of(made.players, cache_of(made)), decisions_of(made.players)
  assert joined is not None
  rows = np.concatenate(parts.rows)
  np.testing.assert_array_equal(parts.leaves, rows[joined.row[joined.leaves]])
  last = []
  for player, of_rows in zip(made.players, parts.rows, strict=True):
    numbers = np.split(np.arange(len(of_rows)), np.cumsum([n for _, n, _ in player.block_shapes])[:-1])
    actions = [a for a, _, _ in player.block_shapes]
    row_of = np.concatenate([[-1], *(np.tile(x, a) for a, x in zip(actions, numbers, strict=True))])
    row = row_of[player.leaf.index]
    last.append(np.where(row >= 0, of_rows[row], 0))
  np.testing.assert_array_equal(parts.leaves, np.maximum(*last))  # parts below others have higher numbers


def test_a_small_tree_is_one_part():
  made = build_tree(pyspiel.load_game(GAME), leaves="native")
  whole = sum(a * n for player in made.players for a, n, _ in player.block_shapes)
  assert whole % LEAST == 0
  for room, split in (whole // LEAST, False), (whole // LEAST - 1, True):
    parts = parts_of(made.players, cache_of(made, room))
    assert (len(parts.above) > 1) == split
  assert parts_of(build_tree(pyspiel.load_game("river_subgame"), leaves="native").players).above.tolist() == [
    -1
  ]


def test_decisions_that_are_no_tree_are_one_part():
  """Moves that the opponent does not see: neither player's decisions are below the other's."""
  made = build_tree(pyspiel.load_game("goofspiel(imp_info=True,num_cards=3)"))
  assert decisions_of(made.players) is None
  assert parts_of(made.players, 8).above.tolist() == [-1]


@pytest.mark.parametrize(("dtype", "most"), [("float64", 1e-12), ("float32", 1e-4)])
@pytest.mark.parametrize(("name", "alternating", "tremble"), [("nrm+", True, 0.9), ("dcfr", False, 0)])
def test_in_parts_is_all_at_once(dtype, most, name, alternating, tremble, small_cache):
  with precision(dtype):
    plain = build_tree(pyspiel.load_game(GAME), leaves="native")
    streamed = tree.streamed(plain)
    assert len(streamed.stream.units) > 15
    plain, streamed = to_device((plain, streamed), dtype)
    rule = cfr.make_rule(name)
    state = to_device(jax.tree.map(np.asarray, cfr.init(plain, rule, dtype)), dtype)
    run = functools.partial(cfr.run, rule=rule, alternating=alternating, tremble=tremble)
    found = [run(made, state, 6) for made in (streamed, plain)]
    for ours, theirs in zip(*map(jax.tree.leaves, found), strict=True):
      atol = most * np.abs(theirs).max(initial=0)
      np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=most, atol=atol)
    values = [cfr.evaluate_average(made, found[0]) for made in (streamed, plain)]
    np.testing.assert_allclose(*map(jax.tree.leaves, values), rtol=100 * most)


@pytest.mark.parametrize("bits", [16, 32])
def test_any_number_of_threads_finds_the_same_bits(bits, on_cores, small_cache):
  found = []
  for count in (1, 2):
    on_cores(count)
    solver = PSCFRSolver(pyspiel.load_game(GAME), leaves="native", bits=bits)
    assert len(solver._tree.stream.units) > 15
    solver.run(30, progress=False)
    found.append((solver._state, solver.evaluation()))
  for ours, theirs in zip(*map(jax.tree.leaves, found), strict=True):
    np.testing.assert_array_equal(ours, theirs)


def test_the_traversal_in_parts_serves_another_river(small_cache):
  games = GAME, RIVER.format("3h5h7hJdJc", 20, 400)
  plain = [build_tree(pyspiel.load_game(game), leaves="native") for game in games]
  first, second = map(tree.streamed, plain)
  assert not np.array_equal(first.stream.layouts[0].utility, second.stream.layouts[0].utility)
  moved = tree.on_one_board(plain[1], first.stream)
  for ours, wanted in zip(jax.tree.leaves(moved), jax.tree.leaves(second), strict=True):
    np.testing.assert_array_equal(np.asarray(ours), np.asarray(wanted, ours.dtype))
