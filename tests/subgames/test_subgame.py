"""Subgames: cut where one likes, the values at their roots are those of the whole game, counted history by
history."""

import jax
import numpy as np
import pyspiel
import pytest
from cuts import (
  TINY,
  TURN,
  at_roots,
  check_values,
  common_shape,
  decisions,
  levels,
  played,
  ranges_at,
  rounded,
  subgames_of,
  values_at_roots,
  whole,
)
from reference_subgames import tables_of

from ps_cfr_spiel import build_tree
from ps_cfr_spiel.compilation.compiler import one_row_per_infostate
from ps_cfr_spiel.compilation.compiler.from_form import LazyBoardLeaves
from ps_cfr_spiel.resolving.search import SolvedValues
from ps_cfr_spiel.resolving.search.value_functions import FrozenValues
from ps_cfr_spiel.resolving.subgames import FrontierLeaves, Subgames
from ps_cfr_spiel.tree import BoardLeaves

GOOFSPIEL = "turn_based_simultaneous_game(game=goofspiel(num_cards=4,imp_info=True,points_order=descending))"
DICE = "liars_dice(dice_sides=3)"
NAMES = ["kuhn_poker", "leduc_poker", GOOFSPIEL, DICE, "glasses", TINY, TURN]
# "auto" is dense in TINY.
FORMS = [
  *((name, "auto") for name in NAMES), (DICE, "sparse"),
  (TINY, "showdown"), (TURN, "showdown"), (TURN, "sparse"),
]  # fmt: skip


@pytest.mark.parametrize("name, leaves", FORMS)
def test_values_at_public_states(name, leaves):
  """At all, or 15 of them, in one padded shape, so that little is compiled; so padding changes nothing."""
  subgames = subgames_of(name, leaves)
  states = decisions(subgames)
  pad_to = common_shape(subgames, [[s] for s in states])
  check_values(name, leaves, states[:: max(len(states) // 15, 1)], pad_to)
  check_values(name, leaves, states[:: max(len(states) // 5, 1)], pad_to, best=True)


def test_values_in_a_game_of_few_histories():
  check_values("0", "auto", decisions(subgames_of("0")))


@pytest.mark.parametrize("seed", range(6))
def test_values_in_random_games(seed):
  name = str(seed)
  states = decisions(subgames_of(name))
  check_values(name, "auto", states, common_shape(subgames_of(name), [[s] for s in states]))


@pytest.mark.parametrize("name", ["kuhn_poker", GOOFSPIEL, DICE, TINY, TURN, "3"])
def test_many_roots_at_once(name):
  """Rows come back as if each had been cut alone."""
  subgames, game = subgames_of(name), whole(name)
  profile, tables, reach = played(name)
  truth = game.values(profile)
  for states in levels(subgames, 0)[-1:] + levels(subgames, 1)[-1:]:
    subgame = subgames.cut(states)
    assert subgame.public_states == tuple(sorted(states))
    assert all(set(infostates.public) == set(states) for infostates in subgame.roots)
    found = values_at_roots(subgame, tables, ranges_at(subgame, reach))
    for i in (0, 1):
      alone = [subgames.cut([s]).roots[i].knowledge for s in states]
      assert sorted(np.concatenate(alone)) == subgame.roots[i].knowledge.tolist()
      expected = at_roots(game, subgames, i, subgame.roots[i], truth[i])
      np.testing.assert_allclose(found[i], expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("name, leaves", FORMS)
def test_there_and_back(name, leaves):
  """Inverse to each other inside the subgame; outside nothing is touched; all of the game is somewhere."""
  subgames = subgames_of(name, leaves)
  _, tables, _ = played(name, leaves)
  everything = subgames.cut([0])
  for i in (0, 1):
    blank = [np.zeros_like(block) for block in tables[i]]
    found = everything.back(i, everything.there(i, tables[i]), blank)
    assert not any(block.any() for block in blank)
    for block, copy in zip(tables[i], found, strict=True):
      np.testing.assert_array_equal(copy, block)
  rng = np.random.default_rng(0)
  for s in decisions(subgames)[1::10]:
    subgame = subgames.cut([s], pad_to=rounded)
    below = {s}
    for t, state in enumerate(subgames.labels.public_states):
      if state.parent in below:
        below.add(t)
    for i in (0, 1):
      blocks = [rng.random(shape) for shape in subgame.tree.players[i].block_shapes]
      table = subgame.back(i, blocks, tables[i])
      for block, back, (source, _) in zip(blocks, subgame.there(i, table), subgame.rows[i], strict=True):
        np.testing.assert_array_equal(back[:, : len(source)], block[:, : len(source)])
      for d in subgames.labels.decisions:
        if d.player == i:
          same = (table[d.block][:, d.row] == tables[i][d.block][:, d.row]).all()
          assert same == (d.public_state not in below)


def test_there_follows_infostates():
  """The strategy at a row of the subgame is the strategy of the infostate that stands there."""
  subgames, game = subgames_of("glasses"), whole("glasses")
  profile, tables, _ = played("glasses")
  labels = subgames.labels
  s = max(s for s in decisions(subgames) if labels.public_states[s].player == 1)
  rows = {(d.block, d.row): d for d in labels.decisions if d.player == 1}
  subgame = subgames.cut([s])
  seen = 0
  for gathered, (source, action) in zip(subgame.there(1, tables[1]), subgame.rows[1], strict=True):
    for r, place in enumerate(map(tuple, source.tolist())):
      d = rows[place]
      expected = [profile[1, d.infostates[0]][d.legal_actions[a]] for a in action[:, r]]
      np.testing.assert_array_equal(gathered[:, r, 0], expected)
      assert d.infostates[0] in game.info
      seen += 1
  assert seen


@pytest.mark.parametrize(
  "name, kept",
  [("leduc_poker", {1, 2}), (DICE, {0, 1, 3, 6}), ("kuhn_poker", {0, 1}), (TINY, {0, 1, 3})],
)
def test_restricted_actions(name, kept):
  """As if the players had come by all actions, and below the roots the others were never played."""
  subgames, game = subgames_of(name), whole(name)
  profile, tables, reach = played(name)
  narrow = game.random(2, kept)
  states = decisions(subgames)[1:]
  for s in states[:: max(len(states) // 8, 1)]:
    subgame = subgames.cut([s], actions=kept)
    labels, below = subgames.labels, {s}
    for t, state in enumerate(labels.public_states):
      if state.parent in below:
        below.add(t)
    inside = {(d.player, n): d.public_state in below for d, _, n in labels.infostates()}
    mixed = {key: narrow[key] if inside[key] else row for key, row in profile.items()}
    found = values_at_roots(subgame, tables_of(subgames.tree, mixed), ranges_at(subgame, reach))
    truth = game.values(mixed)
    for i in (0, 1):
      expected = at_roots(game, subgames, i, subgame.roots[i], truth[i])
      np.testing.assert_allclose(found[i], expected, rtol=0, atol=1e-11)
      legal = [labels.decisions[d].legal_actions for d in range(len(labels.decisions))]
      rows = {(d.block, d.row): row for d, row in zip(labels.decisions, legal, strict=True) if d.player == i}
      for source, action in subgame.rows[i]:
        for r, place in enumerate(map(tuple, source.tolist())):
          assert {rows[place][a] for a in action[:, r]} == set(rows[place]) & kept
      table = subgame.back(i, subgame.there(i, tables_of(subgames.tree, mixed)[i]), tables[i])
      for source, action in subgame.rows[i]:
        for r, (k, row) in enumerate(source.tolist()):
          left = np.delete(table[k][:, row], action[:, r], axis=0)
          assert not left.any()
          total = tables_of(subgames.tree, mixed)[i][k][action[:, r], row].sum(0)
          np.testing.assert_allclose(table[k][:, row].sum(0), total, atol=1e-12)


@pytest.mark.parametrize("name, leaves", FORMS)
def test_frontier_changes_nothing(name, leaves):
  """Cut to a frontier, with the values that are found there: the same at the roots as without a frontier.

  The values are looked up (frozen), and worked out from both players' strategies.
  """
  subgames, game = subgames_of(name, leaves), whole(name)
  profile, tables, reach = played(name, leaves)
  truth = game.values(profile)
  for player in (0, 1):
    above, *below = levels(subgames, player)[:2]
    for frontier in below:
      subgame = subgames.cut(above, frontier)
      assert subgame.limited
      values = tuple(at_roots(game, subgames, i, subgame.frontier[i], truth[i]) for i in (0, 1))
      ranges = ranges_at(subgame, reach)
      found = values_at_roots(subgame, tables, ranges, FrozenValues(values))
      for i in (0, 1):
        expected = at_roots(game, subgames, i, subgame.roots[i], truth[i])
        np.testing.assert_allclose(found[i], expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("player", [0, 1])
def test_the_frontier_is_the_last_part(player):
  """On a river, whose own ends are of two kinds: a value function hears the ranges at the frontier alone."""
  subgames, heard, rng = subgames_of(TINY, "showdown"), [], np.random.default_rng(0)
  above, frontier, *_ = levels(subgames, player)
  subgame = subgames.cut(above, frontier)

  def beyond(asked, ranges):
    heard[:] = ranges
    return ranges[asked]

  forests = subgame.tree.players
  leaves = FrontierLeaves(
    subgame.tree.leaves,
    beyond,
    tuple((n, p.types) for n, p in zip(subgame.shape.frontier, forests, strict=True)),
  )
  own, other = (
    [rng.random((n, p.types)) for n in p.leaf.children] for p in (forests[player], forests[1 - player])
  )
  assert len(own) == 3
  values = leaves(player, other, own)
  np.testing.assert_array_equal(values[-1], own[-1])
  np.testing.assert_array_equal(heard[player], own[-1])
  np.testing.assert_array_equal(heard[1 - player], other[-1])
  assert leaves.recorded(player, values) == (values[-1],)


@pytest.mark.parametrize("name", [GOOFSPIEL, "glasses", TINY, TURN])
def test_solved_values_are_best_responses_at_the_frontier(name):
  subgames, game = subgames_of(name), whole(name)
  profile, tables, reach = played(name)
  frontier = levels(subgames, 0)[1]
  bound = SolvedValues(tables).bind(subgames, frontier)
  whole_cut = subgames.cut([0], frontier)
  for i in (0, 1):
    reached = [np.asarray(reach[j][whole_cut.frontier[j].sequence]) for j in (0, 1)]
    found = jax.jit(lambda ranges, i=i: bound(i, ranges))((reached[0], reached[1]))
    expected = at_roots(game, subgames, i, whole_cut.frontier[i], game.responses(profile, i))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11)


def test_ranges_scale_the_opponents_values():
  """Values are linear in the opponent's range, and know nothing of the own."""
  subgames = subgames_of("leduc_poker")
  _, tables, reach = played("leduc_poker")
  subgame = subgames.cut([decisions(subgames)[3]])
  first, second = ranges_at(subgame, reach)
  plain = values_at_roots(subgame, tables, (first, second))
  scaled = values_at_roots(subgame, tables, (first * 5, second * 3))
  np.testing.assert_allclose(scaled[0], plain[0] * 3, atol=1e-12)
  np.testing.assert_allclose(scaled[1], plain[1] * 5, atol=1e-12)
  blind = values_at_roots(subgame, tables, (np.eye(6)[:1], second))
  np.testing.assert_allclose(blind[0], plain[0], atol=1e-12)


@pytest.mark.parametrize("name", ["leduc_poker", "glasses", TINY, TURN, "5"])
def test_weights_by_chance(name):
  """`Prior.weight` is what chance and the opponent's range have to do with each infostate."""
  subgames, game = subgames_of(name), whole(name)
  profile, _, reach = played(name)
  own = game.reach(profile)
  for s in decisions(subgames)[::5]:
    subgame = subgames.cut([s], pad_to=rounded)
    ranges = ranges_at(subgame, reach)
    for i in (0, 1):
      weight = {}
      for h in range(game.size):
        weight[game.known[h][i]] = weight.get(game.known[h][i], 0) + game.chance[h] * own[h][1 - i]
      found = subgame.prior.weight(i, ranges[1 - i])
      count = len(subgame.roots[i].knowledge)
      expected = at_roots(game, subgames, i, subgame.roots[i], weight)
      np.testing.assert_allclose(found[:count], expected, rtol=0, atol=1e-12)
      assert not found[count:].any()


def test_shapes_are_shared():
  """A padded subgame has the arrays of its shape and no other, so that compiled code is shared."""
  subgames = subgames_of("leduc_poker")
  states = levels(subgames, 0)[1]
  pad_to = common_shape(subgames, [[s] for s in states])
  structures = {
    str(jax.tree.map(np.shape, (subgame.tree.players, subgame.tree.leaves, subgame.leaf_roots)))
    for subgame in (subgames.cut([s], pad_to=pad_to) for s in states)
  }
  assert len(structures) == 1
  with pytest.raises(ValueError, match="does not fit into"):
    subgames.cut([0], pad_to=pad_to)


def test_leaves_know_their_root():
  """Of several roots, a leaf counts the reach at its own."""
  subgames = subgames_of("kuhn_poker")
  states = levels(subgames, 1)[0]
  subgame = subgames.cut(states)
  assert len(states) > 1
  for i in (0, 1):
    roots = np.concatenate(subgame.leaf_roots[i])
    assert set(roots) == set(range(len(states)))


@pytest.mark.parametrize(
  "public_states, frontier, message",
  [
    ([-1], (), r"public_states: kuhn_poker\(\) has the public states 0..10, got -1"),
    ([11], (), r"public_states: kuhn_poker\(\) has the public states 0..10, got 11"),
    ([True], (), "got True"),
    ([2.0], (), "got 2.0"),
    (["2"], (), "got '2'"),
    (
      [1],
      (),
      r"public_states: no player acts in public state 1 of kuhn_poker\(\); choose a state where one does",
    ),
    ([2], (1,), "frontier: no player acts in public state 1"),
    ([2], (12,), "frontier: .* 0..10, got 12"),
    ([], (), "public_states is empty; name at least one public state"),
  ],
)
def test_bad_public_states(public_states, frontier, message):
  with pytest.raises(ValueError, match=message):
    subgames_of("kuhn_poker").cut(public_states, frontier)


def test_nested_roots():
  subgames = subgames_of("kuhn_poker")
  first, second, *_ = decisions(subgames)
  with pytest.raises(ValueError, match=f"{second} lies below {first}; cut overlapping subgames one by one"):
    subgames.cut([first, second])


def test_no_action_left():
  subgames = subgames_of("kuhn_poker")
  with pytest.raises(ValueError, match=r"actions: none of \[7\] is legal .*; keep at least one of \[0, 1\]"):
    subgames.cut([decisions(subgames)[0]], actions=[7])


def test_trees_without_public_states():
  game = pyspiel.load_game("kuhn_poker")
  with pytest.raises(ValueError, match="Subgames need public states; build the tree with"):
    Subgames(build_tree(game, public_states="none"))
  with pytest.raises(ValueError, match="Subgames need public states; build the tree with"):
    Subgames.of(game, public_states="none")


def test_types_are_split_without_another_walk():
  """Where types hide what players know, the tree is the one that a walk with leaves='sparse' gives."""
  game = pyspiel.load_game("leduc_poker")
  found = one_row_per_infostate(game, build_tree(game, leaves="blocks"))
  expected = build_tree(game, leaves="sparse")
  assert found.labels.decisions == expected.labels.decisions
  assert found.labels.public_states == expected.labels.public_states
  np.testing.assert_array_equal(found.leaves.utility, expected.leaves.utility)
  for one, other in zip(found.players, expected.players, strict=True):
    assert one.block_shapes == other.block_shapes
    np.testing.assert_array_equal(one.leaf.index, other.leaf.index)


@pytest.mark.parametrize("fault, kind", [(None, "blocks"), ("knows more", "sparse")])
def test_a_game_is_walked_and_its_nodes_are_found_once(fault, kind, monkeypatch):
  from ps_cfr_spiel.compilation.compiler import build
  from ps_cfr_spiel.resolving.subgames import nodes

  enumerate_histories, find, calls = build.enumerate_histories, nodes._nodes, []
  monkeypatch.setattr(
    build, "enumerate_histories", lambda *given: calls.append("walk") or enumerate_histories(*given)
  )
  monkeypatch.setattr(nodes, "_nodes", lambda tree: calls.append("nodes") or find(tree))
  monkeypatch.setattr(nodes, "types_fault", lambda tree: calls.append("types") or fault)
  subgames = Subgames.of(pyspiel.load_game("kuhn_poker"), limit=100)
  assert calls == ["walk", "types", "nodes"]
  assert subgames.tree.leaves.kind == kind
  made_again = build_tree(pyspiel.load_game("kuhn_poker"), **subgames.options)
  assert made_again.labels.decisions == subgames.labels.decisions


def test_leaves_of_a_cut_are_made_when_they_are_read(monkeypatch):
  """They have the tables that taking rows of the whole game's tables gives, also at places of other lines."""
  subgames, asked = Subgames.of(pyspiel.load_game(TURN), leaves="native"), []
  take = LazyBoardLeaves.take
  monkeypatch.setattr(LazyBoardLeaves, "take", lambda self, part: asked.append(part) or take(self, part))
  states = decisions(subgames)
  rivers = [s for s in states if subgames.labels.source.lines.place(s)[1]]
  every, whole_leaves = [subgames.cut([s]) for s in states], subgames.tree.leaves
  assert "streets" not in vars(whole_leaves)
  every.append(subgames.cut([rivers[0], rivers[-1]]))  # which keeps other ends on each board
  assert "streets" in vars(whole_leaves)
  made = BoardLeaves(whole_leaves.streets, whole_leaves.boards, whole_leaves.leaves, whole_leaves.batched)
  kinds = set()
  for cut, part in zip(every, asked, strict=True):
    kinds.add(type(cut.tree.leaves))
    expected = made.take(part)
    assert (cut.tree.leaves.boards, cut.tree.leaves.leaves) == (expected.boards, expected.leaves)
    jax.tree.map(np.testing.assert_array_equal, jax.tree.leaves(cut.tree.leaves), jax.tree.leaves(expected))
  assert kinds == {LazyBoardLeaves, BoardLeaves}
