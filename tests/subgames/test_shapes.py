"""Shapes of subgames: what is counted for all of a level at once is what cutting them one by one gives."""

import functools

import pyspiel
import pytest
from cuts import TURN, decisions, levels
from random_games import random_game

from ps_cfr_spiel import build_tree
from ps_cfr_spiel.resolving.subgames import Subgames

RIVER = "river_subgame(board=KhKd8c4s2h,stack=500,ranges=AsAd QsQd:0.5 7c6c;JsJd Ah8h 5c4c:3)"
RICH = "river_subgame(pot=10,stack=20,bets=1 2 a,ranges=AA KK QJs;QQ AKs T9s)"
GOOFSPIEL = "turn_based_simultaneous_game(game=goofspiel(num_cards=4,imp_info=True,points_order=descending))"
GAMES = ["kuhn_poker", "leduc_poker", GOOFSPIEL, "glasses", RIVER, TURN, "3", "6"]
DICE = "liars_dice(dice_sides=3)"
FORMS = [(name, "auto") for name in [*GAMES, DICE]] + [("kuhn_poker", "sparse"), (DICE, "sparse")]


@functools.cache
def subgames_of(name, leaves="auto"):
  return Subgames(build_tree(random_game(int(name)) if name.isdigit() else pyspiel.load_game(name), leaves))


def union(shapes):
  return functools.reduce(lambda a, b: a.union(b), shapes)


@pytest.mark.parametrize("name, leaves", FORMS)
def test_counted_is_cut_at_every_public_state(name, leaves):
  """Alone, to the end of the game."""
  subgames = subgames_of(name, leaves)
  for s in decisions(subgames)[:120]:
    assert subgames.shape([[s]]) == subgames.cut([s]).shape


@pytest.mark.parametrize("name, leaves", FORMS)
def test_counted_is_cut_for_whole_levels(name, leaves):
  """The least shape that holds all of a level: to the end, and to each frontier that a search may have."""
  subgames = subgames_of(name, leaves)
  for player in (0, 1):
    own = levels(subgames, player)
    for k, states in enumerate(own[:3]):
      for frontier in ((), *own[k + 1 : k + 3]):
        cut = [subgames.cut([s], frontier) for s in states]
        assert subgames.shape([[s] for s in states], frontier) == union(c.shape for c in cut)
        reached = [sorted({int(s) for infostates in c.frontier for s in infostates.public}) for c in cut]
        assert subgames.reached(states, frontier) == dict(zip(states, reached, strict=True))
        groups = [group for group in reached if group]
        if groups:
          assert subgames.shape(groups) == union(subgames.cut(group).shape for group in groups)


def test_counted_is_cut_with_fewer_actions():
  subgames = subgames_of(RICH)
  for kept in ((0, 1, 2), (1, 0), (0, 1, 2, 3)):
    for own in (levels(subgames, 0), levels(subgames, 1)):
      for k, states in enumerate(own):
        for frontier in ((), *own[k + 1 : k + 2]):
          cut = [subgames.cut([s], frontier, kept).shape for s in states]
          assert subgames.shape([[s] for s in states], frontier, kept) == union(cut)


def test_nothing_to_count():
  """No subgame needs no rows, but the parts of leaves are still those of the game."""
  subgames = subgames_of("kuhn_poker")
  assert subgames.shape([]) == subgames.cut((), pad_to=lambda own: own).shape


def test_overlapping_groups_and_unknown_states():
  subgames = subgames_of("kuhn_poker")
  with pytest.raises(ValueError, match="cut overlapping subgames"):
    subgames.shape([[s] for s in decisions(subgames)])
  with pytest.raises(ValueError, match=r"has the public states 0..10, got 99"):
    subgames.shape([[99]])
