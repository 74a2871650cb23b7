"""Suit isomorphism: with it and without it values are the same, and so are policies and files."""

import math
import re

import jax
import numpy as np
import pyspiel
import pytest

from ps_cfr_spiel import PSCFRSolver, build_tree, load_solver, storage
from ps_cfr_spiel.backend.device import jit, precision, to_device
from ps_cfr_spiel.compilation.compiler import fold_suits
from ps_cfr_spiel.compilation.compiler.forms import PublicStateIndex
from ps_cfr_spiel.tree import action_values, evaluate, evaluation, lock_rows, sequence_reach

RANGES = "6c6d 6c6h 5d4d 5h4h 5d4h:0.5 5h4d:0.5 6d6h;6d3d 6h3h 3d2d 3h2h 6c2d:2 6c2h:2"
GAMES = {
  "turn": f"holdem_subgame(deck=5x3,board=2c3c4c5c,stack=300,ranges={RANGES})",
  "four suits": "holdem_subgame(deck=4x4,board=2c3c4c,stack=200,ranges=55;55 22 3d2d 3h2h 3s2s)",
  "three cards at once": "holdem(deck=3x3,stack=4,blinds=2/1,bets=x)",
}


@pytest.mark.parametrize(
  ("board", "count"),
  [
    ("9s7c5s4h", 48),
    ("9s7s5s4h", 35),
    ("9s7s5s4s", 22),
    ("9s7c5d", 2352),
    ("9s9c5d", 1476),
    ("9s7s5d", 1429),
    ("9s7s5s", 675),
  ],
)
def test_as_many_boards_as_others_count(board, count):
  """Runouts to compute of 48 and of 2,352, as postflop-solver's rules give them."""
  lines = PublicStateIndex.of(pyspiel.load_game(f"holdem_subgame(board={board})").bayesian_form())
  found = lines.dealt.orbits
  assert (lines.boards[-1] if found is None else found[-1].kept.sum()) == count
  if found is not None:  # by hand: every runout is what its renaming makes of the one that stands for it
    for runouts, stand in zip(lines.dealt.runouts, found, strict=True):
      np.testing.assert_array_equal(lines.form.swaps[stand.swap[:, None], runouts[stand.row]], runouts)
      assert not stand.swap[stand.kept].any()


@jit()
def worth(tree, strategies):
  """The profile's values, and every action's for each player."""
  reach = [sequence_reach(player, own) for player, own in zip(tree.players, strategies, strict=True)]
  actions = [action_values(tree, i, strategies[i], reach)[0] for i in (0, 1)]
  return evaluation(tree, strategies), actions


@pytest.mark.parametrize("name", ["turn", "four suits", "three cards at once"])
def test_on_is_off(name):
  """What strategies are worth: every action's value, the profile's, best responses; in float64.

  Strategies are those of a few iterations. (Iterates with and without isomorphism may part where two actions
  are worth the same but for rounding.)
  """
  game = pyspiel.load_game(GAMES[name])
  solver = PSCFRSolver(game, "rm+", dtype="float64")
  solver.run(5)
  folded, whole = solver._variant, solver.tree
  sizes = [sum(player.leaf.index.size for player in tree.players) for tree in (folded.tree, whole)]
  assert sizes[0] < sizes[1]
  strategies = solver.average_policy().strategies
  smaller = [folded.there(player, blocks) for player, blocks in enumerate(strategies)]
  found = []
  for tree, tables in ((folded.tree, smaller), (whole, strategies)):
    with precision("float64"):
      found.append(worth(*to_device((tree, tables), "float64")))
  jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=0, atol=1e-10), found[0][0], found[1][0])
  for player in (0, 1):
    on, off = folded.back(player, [np.asarray(x) for x in found[0][1][player]]), found[1][1][player]
    for first, second in zip(on, off, strict=True):
      np.testing.assert_allclose(first, second, rtol=0, atol=1e-10)


def test_openspiel_finds_the_same_exploitability():
  game = pyspiel.load_game(GAMES["turn"])
  solver = PSCFRSolver(game, dtype="float64")
  solver.run(20)
  theirs = pyspiel.exploitability(game, solver.average_policy().to_pyspiel())
  assert theirs == pytest.approx(solver.exploitability(), abs=1e-9)


def test_a_file_is_of_the_folded_game(tmp_path):
  """A run goes on from it as if it had never stopped; its tables have one row for each orbit."""
  game = pyspiel.load_game(GAMES["turn"])
  solver = PSCFRSolver(game, dtype="float64")
  solver.run(5)
  solver.save(tmp_path / "run.safetensors")
  sums = [np.zeros(shape).size for player in solver._tree.players for shape in player.block_shapes]
  whole = [np.zeros(shape).size for player in solver.tree.players for shape in player.block_shapes]
  saved = [math.prod(shape) for shape, _ in storage.read(tmp_path / "run.safetensors").shapes.values()]
  assert sum(whole) > sum(sums) and sum(saved) < 6 * sum(sums)
  solver.run(5)
  again = load_solver(tmp_path / "run.safetensors")
  again.run(5)
  jax.tree.map(np.testing.assert_array_equal, again._state, solver._state)
  assert again.exploitability() == solver.exploitability()


def rows_of(tree):
  """The number of rows of both players' forests."""
  return sum(rows for player in tree.players for _, rows, _ in player.block_shapes)


@pytest.mark.parametrize(
  ("name", "chosen", "less"),
  [
    ("turn", lambda d, cards: d.player == 1 and len(d.legal_actions) == 2, False),
    ("turn", lambda d, cards: "5h" in cards and d.player == 0, None),
    ("four suits", lambda d, cards: d.player == 0 and cards[:1] == ["5d"], True),
    ("four suits", lambda d, cards: d.player == 1 and len(cards) == 1, False),
  ],
  ids=["answers", "one river", "one suit", "all suits"],
)
def test_locks_fold_as_far_as_they_keep_suits_alike(name, chosen, less):
  """A locked tree is worth the same folded; a lock of one suit of three leaves the other two to fold."""
  game = pyspiel.load_game(GAMES[name])
  solver = PSCFRSolver(game, "rm+", dtype="float64")
  solver.run(2)  # hands alike play alike to the last bit
  tree, fixed = solver.tree, solver.average_policy()
  solver.run(5)
  strategies = solver.average_policy().strategies
  decisions = list(tree.names.decisions)
  named = {(d.player, d.block, d.row): name.split(" | ")[2:] for d, _, name in tree.names.infostates()}
  dealt = [[w for w in named[d.player, d.block, d.row] if re.fullmatch(r"\d[cdhs]", w)] for d in decisions]
  pairs = enumerate(zip(decisions, dealt, strict=True))
  rows = {n: fixed.table(d) for n, (d, cards) in pairs if chosen(d, cards)}
  assert 0 < len(rows) < len(decisions)
  locked = lock_rows(tree, rows)
  folded, plain = fold_suits(tree, locked), fold_suits(tree)
  assert (folded is locked) == (less is None)
  if less is not None:
    share = rows_of(folded.tree) / rows_of(locked.tree)
    assert share < 1 and (share > rows_of(plain.tree) / rows_of(tree)) == less
  found = []
  for variant in (locked, folded):
    tables = [variant.there(player, blocks) for player, blocks in enumerate(strategies)]
    with precision("float64"):
      values, actions = worth(*to_device((variant.tree, tables), "float64"))
    back = [variant.back(i, [np.asarray(x) for x in blocks]) for i, blocks in enumerate(actions)]
    found.append((values, back))
    for player, blocks in enumerate(tables):
      for whole, block in zip(variant.back(player, blocks), strategies[player], strict=True):
        assert whole.shape == block.shape
  jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=0, atol=1e-10), *found)


def test_alike_hands_play_alike():
  policy_of = PSCFRSolver(pyspiel.load_game(GAMES["turn"]))
  policy_of.run(5)
  policy, header = policy_of.average_policy(), "2c3c4c5c pot 200 stack 300 | x x"
  assert policy.at(0, f"p0 5d4d | {header} | 2h") == policy.at(0, f"p0 5h4h | {header} | 2d")
  assert policy.at(0, f"p0 5d4h | {header} | 6d") == policy.at(0, f"p0 5h4d | {header} | 6h")


@pytest.mark.parametrize(
  "parameters",
  [
    "board=2c3c4c5c,ranges=6d6h 5d4d;3d2d 3h2h",  # a hand without its twin
    "board=2c3c4c5c,ranges=5d4d:0.5 5h4h;3d2d 3h2h",  # of other weight
    "board=2c3d4h5c,ranges=55;33",  # no suits alike on the board
    "board=2c3d4h5c6d,ranges=55;33",  # no cards to come
  ],
)
def test_off_by_itself(parameters):
  solver = PSCFRSolver(pyspiel.load_game(f"holdem_subgame(deck=5x3,stack=300,{parameters})"))
  assert fold_suits(solver.tree).tree is solver.tree


def test_one_bet_on_the_river_takes_its_share():
  """postflop-solver's `one_raise_all_range`, on fewer hands: 37.5 of a pot of 60.

  Everybody checks to the river of Td9d6h. There player 0 bets half of the pot every other time, and player 1
  calls that every other time. With equal ranges a showdown is worth half of the pot, so player 0 gets 30
  after a check, 60 after a fold and 30 after a call.
  """
  game = pyspiel.load_game(
    "holdem_subgame(board=Td9d6h,pot=60,stack=1000,bets=a / a / 0.5;a,ranges=99+ AK;99+ AK)"
  )
  tree = build_tree(game)
  strategies = [[np.zeros(shape) for shape in player.block_shapes] for player in tree.players]
  mixed = {(0, (1, 2)): [0.5, 0.5], (1, (0, 1, 3)): [0.5, 0.5, 0]}  # only the river has these actions
  for decision in tree.names.decisions:
    legal = decision.legal_actions
    check = [float(action == 1) for action in legal]
    table = mixed.get((decision.player, legal), check)
    strategies[decision.player][decision.block][:, decision.row] = np.array(table)[:, None]
  folded = fold_suits(tree)
  for whole, tables in (
    (tree, strategies),
    (folded.tree, [folded.there(player, blocks) for player, blocks in enumerate(strategies)]),
  ):
    with precision("float64"):
      value = float(evaluate(*to_device((whole, tables), "float64")).value)
    assert value + 60 / 2 == pytest.approx(37.5, abs=1e-9)
