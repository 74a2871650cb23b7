"""Leaf evaluators: equal to each other and to a double loop over hands."""

import dataclasses

import jax
import numpy as np
import pyspiel
import pytest
from cuts import TURN, values_of

import ps_cfr_spiel
from ps_cfr_spiel.backend.device import precision, to_device

GAMES = {
  "same ranges": "river_subgame(ranges=QQ T9s A5s 62o;QQ T9s A5s 62o)",
  "other ranges": "river_subgame(board=KhKd8c4s2h,ranges=AA:0.5 KQ 87s:0.25 As4d;TT 99:0.7 K8s 65s)",
  "disjoint ranges": "river_subgame(ranges=AA;KK QQ)",
  "one hand each": "river_subgame(ranges=AsAd;KsKd)",
}


def brute_force(form, player, reach, showdown_payoff, fold_payoff):
  """Values of showdowns [L0, H] and of folds [L1, H] by two loops."""
  own, opponent = player, 1 - player
  pairs = [
    (h, g, form.weights[0][h] * form.weights[1][g])
    for h, c in enumerate(form.cards[0].tolist())
    for g, d in enumerate(form.cards[1].tolist())
    if not set(c) & set(d)
  ]
  total = sum(w for _, _, w in pairs)
  values = [np.zeros((len(part), len(form.types[own]))) for part in reach]
  for h, g, w in pairs:
    hands = (h, g)
    sign = np.sign(form.strength[0][h] - form.strength[1][g])
    for part, utility in ((0, showdown_payoff * sign), (1, fold_payoff)):
      won = utility if player == 0 else -utility
      values[part][:, hands[own]] += w / total * reach[part][:, hands[opponent]] * won
  return values


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("kind", ["dense", "showdown"])
def test_equals_brute_force(name, player, kind):
  game = pyspiel.load_game(GAMES[name])
  form = game.bayesian_form()
  tree = ps_cfr_spiel.build_tree(game, kind)
  rng = np.random.default_rng(1)
  reach = [rng.random((n, len(form.types[1 - player]))) for n in tree.players[0].leaf.children]
  showdown_payoff, fold_payoff = (
    np.asarray(x) for x in (tree.leaves.showdown_payoff, tree.leaves.fold_payoff)
  )
  expected = brute_force(form, player, reach, showdown_payoff, fold_payoff)
  with precision("float64"):
    values = values_of(to_device(tree.leaves, "float64"), player, to_device(reach, "float64"))
  for value, truth in zip(values, expected, strict=True):
    np.testing.assert_allclose(value, truth, rtol=0, atol=1e-10)


@pytest.mark.parametrize("count", [64, 65, 200])
def test_many_showdowns_are_valued_as_one_by_one(count):
  leaves = ps_cfr_spiel.build_tree(pyspiel.load_game(GAMES["other ranges"]), "showdown").leaves
  rng = np.random.default_rng(count)
  chosen = [
    rng.integers(0, len(x), (1, n)) for x, n in ((leaves.showdown_payoff, count), (leaves.fold_payoff, 3))
  ]
  reach = [rng.random((n, len(leaves.views[0].weight))) for n in (count, 3)]
  with precision("float64"):
    values, _ = values_of(to_device(leaves.take(chosen), "float64"), 0, to_device(reach, "float64"))
    alone = jax.jit(lambda leaves, reach: leaves(0, reach))
    for k in range(count):
      one = leaves.take([chosen[0][:, k : k + 1], chosen[1]])
      value, _ = alone(*to_device((one, [reach[0][k : k + 1], reach[1]]), "float64"))
      np.testing.assert_allclose(values[k], value[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_hands_that_tie_are_worth_exactly_nothing(dtype):
  """Sums of weaker and of stronger hands leave no rounding errors where there are neither."""
  tree = ps_cfr_spiel.build_tree(pyspiel.load_game("river_subgame(board=AsKsQsJsTs)"), "showdown")
  reach = [np.random.default_rng(2).random((n, 1081)) for n in tree.players[0].leaf.children]
  with precision(dtype):
    showdowns, folds = values_of(to_device(tree.leaves, dtype), 0, to_device(reach, dtype))
  assert not np.asarray(showdowns).any() and np.asarray(folds).any()


def test_tables_for_showdowns_grow_with_hands_alone():
  """For all 1,081 hands against as many a matrix in bytes alone would take a megabyte."""
  leaves = ps_cfr_spiel.build_tree(pyspiel.load_game("river_subgame"), "showdown").leaves
  assert sum(np.asarray(table).nbytes for table in jax.tree.leaves(leaves)) < 2 * 1081 * 50


@pytest.mark.parametrize("player", [0, 1])
def test_all_ins_for_other_stakes_one_by_one(player):
  """In a game all of them are for the whole stack, but the evaluator does not go by that."""
  leaves = ps_cfr_spiel.build_tree(pyspiel.load_game(TURN)).leaves
  one = jax.tree.map(lambda table: table[0], leaves.streets[0])
  one = dataclasses.replace(one, showdown_payoff=1.0 + np.arange(len(one.showdown_payoff)))
  rng = np.random.default_rng(player)
  counts = [len(one.showdown_payoff), len(one.folds.fold_payoff)]
  reach = [rng.random((n, one.net_wins.shape[1 - player])) for n in counts]
  with precision("float64"):
    values = np.concatenate(one(player, reach))
    single = one.sampled(player, np.arange(sum(counts)), np.concatenate(reach))
  assert len(one.showdown_payoff) > 1 and np.abs(values[: len(one.showdown_payoff)]).max() > 0
  np.testing.assert_allclose(single, values, atol=1e-12)


@pytest.mark.parametrize("name", ["leduc_poker", TURN])
@pytest.mark.parametrize("player", [0, 1])
def test_single_leaves_are_worth_what_they_are_together(player, name):
  tree, rng = ps_cfr_spiel.build_tree(pyspiel.load_game(name)), np.random.default_rng(player)
  other = tree.players[1 - player]
  reach = [rng.random((n, other.types)) for n in other.leaf.children]
  with precision("float64"):
    values = np.concatenate(tree.leaves(player, reach))
    numbers = rng.permutation(len(values))[:200].astype(np.int32)
    single = tree.leaves.sampled(player, numbers, np.concatenate(reach)[numbers])
  np.testing.assert_allclose(single, values[numbers], atol=1e-12)
  assert np.abs(values[numbers]).max() > 0


@pytest.mark.parametrize("kind", ["dense", "showdown"])
def test_there_may_be_no_showdown(kind):
  leaves = ps_cfr_spiel.build_tree(pyspiel.load_game(GAMES["other ranges"]), kind).leaves
  folds = len(leaves.fold_payoff)
  fewer = leaves.take([np.zeros((1, 0), int), np.arange(folds)[None]])
  rng = np.random.default_rng(3)
  hands = len(pyspiel.load_game(GAMES["other ranges"]).bayesian_form().types[1])
  reach = [rng.random((n, hands)) for n in (len(leaves.showdown_payoff), folds)]
  with precision("float64"):
    _, values = values_of(leaves, 0, reach)
    showdowns, same = values_of(fewer, 0, [reach[0][:0], reach[1]])
  assert showdowns.shape == (0, values.shape[1])
  np.testing.assert_array_equal(same, values)


def test_full_ranges_agree_in_both_precisions():
  game = pyspiel.load_game("river_subgame")
  rng = np.random.default_rng(2)
  for dtype, tolerance in (("float64", 1e-12), ("float32", 3e-6)):
    with precision(dtype):
      trees = [to_device(ps_cfr_spiel.build_tree(game, kind), dtype) for kind in ("dense", "showdown")]
      reach = to_device([rng.random((n, 1081)) for n in trees[0].players[0].leaf.children], dtype)
      for player in (0, 1):
        dense, showdown = (values_of(tree.leaves, player, reach) for tree in trees)
        for a, b in zip(dense, showdown, strict=True):
          assert a.dtype == b.dtype == dtype
          scale = float(abs(a).max())
          np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * scale)


def test_unknown_evaluator_is_named():
  with pytest.raises(ValueError, match=r"'fast'.*'auto', 'dense', 'showdown', 'native', 'blocks', 'sparse'"):
    ps_cfr_spiel.build_tree(pyspiel.load_game("river_subgame"), "fast")
