"""Searches do not depend on those before them: their shapes are counted once, from the game alone."""

import functools
import itertools
import time
from types import SimpleNamespace

import jax
import numpy as np
import pyspiel
import pytest
from cuts import TURN

from ps_cfr_spiel import ContinualResolving
from ps_cfr_spiel.resolving.search import Levels, Searcher, SearchSettings, subgame_run
from ps_cfr_spiel.resolving.search.promises import find_ends
from ps_cfr_spiel.resolving.subgames import Subgames
from ps_cfr_spiel.tree import PublicState, children
from ps_cfr_spiel.values import CFRValues

GOOFSPIEL = "turn_based_simultaneous_game(game=goofspiel(num_cards=4,imp_info=True,points_order=descending))"
RIVER = "river_subgame(board=KhKd8c4s2h,bets=0.5 1 2 a,stack=500,ranges=AsAd QsQd:0.5 7c6c;JsJd Ah8h 5c4c:3)"
AHEAD = {"lookahead": 1, "value_function": CFRValues(1)}
CASES = [
  ("leduc_poker", {}),
  ("leduc_poker", AHEAD),
  ("leduc_poker", {"actions": (0, 1)}),
  ("glasses", {}),
  (GOOFSPIEL, {}),
  (RIVER, {"lookahead": 1, "actions": (0, 1, 3, 5)}),
  (TURN, {}),
  (TURN, AHEAD),
  (TURN, {**AHEAD, "lookahead": "round"}),
]


@functools.cache
def load(name):
  return pyspiel.load_game(name)


@pytest.fixture
def cuts(monkeypatch):
  """Every subgame that is cut."""
  found, cut = [], Subgames.cut

  def listening(*arguments, **options):
    found.append(cut(*arguments, **options))
    return found[-1]

  monkeypatch.setattr(Subgames, "cut", listening)
  return found


@pytest.fixture
def given(monkeypatch):
  """Every tree that the solver gets; strategies stay uniform."""
  found = []
  monkeypatch.setattr(subgame_run.cfr, "run", lambda tree, state, *_, **__: found.append(tree) or state)
  monkeypatch.setattr(subgame_run.cfr, "average_strategy", subgame_run.cfr.current_strategy)
  monkeypatch.setattr(subgame_run.cfr, "average_record", lambda state: [np.zeros(state.recorded[0].shape)])
  return found


@pytest.mark.parametrize("name, options", CASES)
def test_no_subgame_is_cut_before_the_first_search(name, options, cuts, given):
  """And then one for each search, one for what it was promised, one for what is beyond its frontier."""
  made = ContinualResolving(load(name), 1, **options)
  assert not cuts
  player = next(s.player for s in made.labels.public_states if s.player >= 0)
  made.start(player)
  ahead = 1 + ("lookahead" in options)
  assert len(cuts) == ahead
  made.search(made.searcher.problems.levels[player].states(1)[0])
  assert len(cuts) <= 2 * ahead + 1


@pytest.mark.parametrize("name, options", CASES)
def test_every_search_of_a_kind_has_one_shape(name, options, given):
  """At some public states: what the solver gets has the shape of the kind, whatever came before."""
  made = ContinualResolving(load(name), 1, **options)
  for player in (0, 1):
    made.start(player)
  shapes = {}
  places = [s for s, state in enumerate(made.labels.public_states) if state.player >= 0]
  some = np.random.default_rng(0).permutation(places)[:16].tolist()
  for s in sorted(some, reverse=True):  # the deepest first: smaller subgames before larger ones
    given.clear()
    made.search(s)
    player = made.labels.public_states[s].player
    if given:
      kind = made.searcher.problems.levels[player].kind(s)
      shapes.setdefault(kind, set()).add(str(jax.tree.map(np.shape, given[-1])))
  assert len(shapes) > 1
  assert {len(found) for found in shapes.values()} == {1}


@pytest.mark.parametrize("name, options", [("leduc_poker", AHEAD), (GOOFSPIEL, {})])
def test_a_search_is_the_same_whatever_came_before(name, options):
  """Bit for bit, in an object that has searched elsewhere and in one that has not."""
  fresh, used = (ContinualResolving(load(name), 3, **options) for _ in range(2))
  states = fresh.searcher.problems.levels[1].states(1)
  for s in (states[-1], states[len(states) // 2]):
    used.search(s)
  assert fresh.searcher.problems.paddings.keys() == used.searcher.problems.paddings.keys()
  began = time.perf_counter()
  first, second = fresh.search(states[0]), used.search(states[0])
  assert 0 < first.seconds + second.seconds < time.perf_counter() - began
  for i in (0, 1):
    for a, b in itertools.zip_longest(first.tables[i], second.tables[i]):
      np.testing.assert_array_equal(a, b)


def test_levels_are_counted_along_the_longest_history():
  def most(state, player):
    if state.is_terminal():
      return 0
    children = (most(state.child(action), player) for action in state.legal_actions())
    return (state.current_player() == player) + max(children)

  for game in map(pyspiel.load_game, ("kuhn_poker", "leduc_poker")):
    levels = Levels.of(Subgames.of(game).labels, 1)
    for player in (0, 1):
      assert levels[player].count() == most(game.new_initial_state(), player)


def labels_of(*states):
  """Of public states, given as (parent, action, player)."""
  found = [PublicState(parent, action, player, ()) for parent, action, player in states]
  below = children([s.parent for s in found], [s.action for s in found])
  return SimpleNamespace(game="a game", public_states=found, children=below)


def ends(*below):
  """Two players decide, a card comes, and then what is given, from public state 3 on."""
  labels = labels_of((-1, -1, 0), (0, 0, 1), (1, 0, -1), (2, 0, 0), *below)
  return find_ends(labels, Levels.of(labels, "round"))


def test_by_the_round_a_search_ends_where_anybody_acts():
  """And player 1's next begins one move of player 0's below, bound by what the end was worth."""
  assert ends((3, 0, 1), (3, 1, 1)) == {4: 3, 5: 3}
  assert ends((3, -1, 1)) == {4: 3}  # a hidden move that leads to one public state
  for game in ("leduc_poker", TURN):
    labels = Subgames.of(load(game)).labels
    levels = Levels.of(labels, "round")
    firsts = [
      s for s, state in enumerate(labels.public_states)
      if state.player == 0 and levels[0].chance[s] and labels.public_states[state.parent].player == -1
    ]  # fmt: skip
    for own in levels:
      assert list(own.frontier(own.horizon(0))) == firsts
    assert set(find_ends(labels, levels).values()) == set(firsts)


@pytest.mark.parametrize(
  "below",
  [
    ((3, 0, 0), (4, 0, 1)),
    ((3, -1, 1), (3, -1, 1)),
    ((3, -1, 1), (3, 2, 1)),
    ((3, 0, 1), (3, 0, 1)),  # one move may lead to two public states
    ((3, 0, -1), (4, 0, 1)),
  ],
)
def test_ends_that_bound_nothing(below):
  with pytest.raises(ValueError, match="lookahead='round': in a game a search would begin in public state"):
    ends(*below)


def test_ranges_are_zero_in_padding():
  """Gadgets of one's own see them."""
  subgames = Subgames.of(pyspiel.load_game("kuhn_poker"))
  problems = Searcher(subgames, SearchSettings(iterations=1)).problems
  state = next(s for s, state in enumerate(subgames.labels.public_states) if state.player == 1)
  pad_to = lambda shape: shape._replace(roots=(shape.roots[0] + 2, shape.roots[1] + 3))  # noqa: E731
  subgame = subgames.cut([state], pad_to=pad_to)
  for range_, roots, more in zip(
    problems.promises.ranges(problems.uniform(1), subgame), subgame.roots, (2, 3), strict=True
  ):
    assert len(range_) == len(roots.public) + more
    assert range_[: len(roots.public)].all() and not range_[len(roots.public) :].any()
