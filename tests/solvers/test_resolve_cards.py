"""Continual re-solving with public cards to come: as in the walked game, and whole hands from the turn."""

import functools

import numpy as np
import pyspiel
import pytest

import ps_cfr_spiel
from ps_cfr_spiel import ContinualResolving, build_tree
from ps_cfr_spiel.resolving.subgames import Subgames
from ps_cfr_spiel.values import CFRValues

# No showdown of these hands is a tie: where regrets are exactly zero, rounding decides what is played.
TURN = "holdem_subgame(deck=6x2,board=3c6d2d4c,stack=200,ranges=7d6c 7d3d;5c4d 6c5c)"
ROUND = {"lookahead": "round", "value_function": CFRValues(3)}


@functools.cache
def load(name):
  return pyspiel.load_game(name)


def played(made):
  """What a search plays in every infostate, and how often it would come to that."""
  policy = made.tabularise(progress=False)
  return {
    (d.player, name): (policy.table(d)[:, h], policy.reach(d).acting[h] * policy.reach(d).others[h])
    for d, h, name in policy.labels.infostates()
  }


@pytest.mark.parametrize("options", [{}, ROUND], ids=["end", "round"])
def test_searched_as_the_walked_game(options, monkeypatch):
  """In all public states, ten iterations; the walked tree has no boards, and a row for each infostate."""
  made = ContinualResolving(load(TURN), 10, dtype="float64", **options)
  assert made.tree.leaves.kind == "boards"
  found = played(made)
  walked = Subgames(build_tree(load(TURN), leaves="sparse"))
  monkeypatch.setattr(Subgames, "of", lambda game, **_: walked)
  expected = played(ContinualResolving(load(TURN), 10, dtype="float64", **options))
  assert found.keys() == expected.keys()
  for key, (strategy, reach) in expected.items():
    if reach > 1e-9:  # elsewhere ranges are made up
      np.testing.assert_allclose(found[key][0], strategy, atol=1e-6)


def test_exploitability_falls():
  few, many = (
    ps_cfr_spiel.exploitability(load(TURN), ContinualResolving(load(TURN), n).tabularise()) for n in (5, 300)
  )
  assert -1e-4 <= many < 0.2 * few
  assert many < 0.02 * 200  # of the pot


def test_bots_play_whole_hands_and_ask_as_the_table_says():
  game = load(TURN)
  made = ContinualResolving(game, 20)
  for seed in range(4):
    bots = [made.bot(0, seed=seed), pyspiel.make_uniform_random_bot(1, seed)]
    assert sum(pyspiel.evaluate_bots(game.new_initial_state(), bots, seed)) == 0
  assert max(made.seconds) > 0
  table, asked = made.tabularise(progress=False), ContinualResolving(game, 20)
  state = game.new_initial_state()
  for action in (0, 0, 1, 1):  # both check the turn
    state.apply_action(action)
  state.apply_action(state.chance_outcomes()[0][0])
  for action in (1, 3):  # check, all-in
    expected = table.action_probabilities(state)
    assert asked.action_probabilities(state) == pytest.approx(expected, abs=1e-3)
    state.apply_action(action)


def test_a_river_is_searched_alone():
  """Below a card only that card's board is evaluated: searches on the river are as small as its subgames."""
  game = load("holdem_subgame(stack=300,ranges=AA KQs;TT 98s)")
  subgames = Subgames.of(game)
  states = subgames.labels.public_states
  cards = [s for s, state in enumerate(states) if state.player >= 0 and states[state.parent].player == -1]
  rivers = [s for s in cards if states[s].action < 52 and s][:40]
  leaves = [subgames.cut([s]).tree.leaves for s in rivers]
  assert {board.boards for board in leaves} == {(1, 1)}
  river = build_tree(load("river_subgame(stack=300,ranges=AA KQs;TT 98s)"))
  assert subgames.cut(rivers[:1]).tree.players[0].levels[0].shapes == river.players[0].levels[0].shapes
