"""Searches in games that are not enumerated: public states, strategies and values as in enumerated games."""

import dataclasses

import numpy as np
import pyspiel
import pytest

from ps_cfr_spiel import ContinualResolving, build_tree, matches
from ps_cfr_spiel.compilation.compiler import tree_of_histories
from ps_cfr_spiel.compilation.histories import find_histories, grow, history_origin, moves_beyond
from ps_cfr_spiel.loading import sequential
from ps_cfr_spiel.matches import OnDemandResolving
from ps_cfr_spiel.resolving.search import Searcher, SearchSettings
from ps_cfr_spiel.resolving.search.levels import stops_ahead
from ps_cfr_spiel.resolving.subgames import PublicStates, Subgames
from ps_cfr_spiel.tree import TERMINAL
from ps_cfr_spiel.values import CFRValues, StateValues

LIARS_DICE = "liars_dice(numdice=1,dice_sides=4)"
GOOFSPIEL = "goofspiel(num_cards=4,imp_info=True,points_order=descending,returns_type=win_loss)"
CHEAT = "cheat(ranks=3,suits=2,hand_size=1,max_turns=3,first_player=0)"
SOLVING = {"rule": "rm+", "dtype": "float64"}  # where regrets tie, last bits make no difference with cfr-d
AHEAD = {"lookahead": 1, "value_function": CFRValues(3, rule="rm+"), "iterations": 5}


def random_play(game, seed):
  """The states of a random play in which a player acts."""
  rng, state = np.random.default_rng(seed), game.new_initial_state()
  while not state.is_terminal():
    actions = state.legal_actions()
    if state.is_chance_node():
      actions = [action for action, chance in state.chance_outcomes() if chance > 0]
    else:
      yield state.clone()
    state.apply_action(int(rng.choice(actions)))


@pytest.mark.parametrize(
  "name, source, each",
  [
    ("kuhn_poker", "closure", 1),
    ("leduc_poker", "closure", 80),
    ("leduc_poker", "observer", 80),
    (LIARS_DICE, "closure", 40),
    (GOOFSPIEL, "closure", 10),
    ("liars_dice(dice_sides=5)", "closure", 1500),
    (GOOFSPIEL.replace("num_cards=4", "num_cards=5"), "closure", 1500),
    (CHEAT, "closure", 1),
  ],
)
def test_public_states_are_those_of_the_enumerated_game(name, source, each):
  game = sequential(pyspiel.load_game(name))
  origin = history_origin(build_tree(game, "sparse", public_states=source).names)
  states = PublicStates(game, source)
  for public in range(0, origin.public.max() + 1, each):
    paths = [tuple(origin.histories.path(h)) for h in np.flatnonzero(origin.public == public)]
    assert states.members(paths[-1]) == tuple(sorted(paths))


@pytest.fixture
def sparse_trees(monkeypatch):
  """Enumerated games have a row for each infostate, too.

  Sums in another order end in other last bits, which decide where regrets tie, and so the strategies of a few
  iterations.
  """
  made_of = Subgames.of
  sparse = classmethod(lambda cls, game, **options: made_of(game, leaves="sparse", **options))
  monkeypatch.setattr(Subgames, "of", sparse)
  monkeypatch.setattr("ps_cfr_spiel.solvers.agents.continual_resolving.form_of", lambda game: None)


def plays_alike(name, options, seeds):
  game = pyspiel.load_game(name)
  listed, made = (kind(game, **SOLVING | options) for kind in (ContinualResolving, OnDemandResolving))
  for seed in seeds:
    for state in random_play(game, seed):
      if state.is_simultaneous_node():
        asked = [(listed.action_probabilities(state, i), made.action_probabilities(state, i)) for i in (0, 1)]
      else:
        asked = [(listed.action_probabilities(state), made.action_probabilities(state))]
      for expected, given in asked:
        assert given == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("options", [{"iterations": 30}, AHEAD])
def test_kuhn_is_played_as_if_it_were_enumerated(options):
  plays_alike("kuhn_poker", options, range(4))


@pytest.mark.parametrize(
  "name, options",
  [
    ("leduc_poker", {"gadget": "max-margin", "iterations": 10}),
    ("leduc_poker", AHEAD | {"iterations": 3}),
    (LIARS_DICE, {"iterations": 10}),
    (GOOFSPIEL, {"iterations": 10}),
    (CHEAT, {"iterations": 3}),
  ],
)
def test_games_are_played_as_if_they_were_enumerated(sparse_trees, name, options):
  plays_alike(name, options, [1])


def test_histories_are_found_among_others():
  game = pyspiel.load_game("kuhn_poker")
  whole = grow(game, {(): 1.0}, moves_beyond(game, 0, [], None)).histories
  part = grow(game, {(0, 1): 1.0, (2, 0): 1.0}, moves_beyond(game, 0, [], 1)).histories
  at = find_histories(part, whole)
  assert [whole.path(h) for h in at] == [part.path(h) for h in range(len(at))]
  back = find_histories(whole, part)
  assert all((back[n] < 0) == (n not in at) for n in range(len(back)))
  assert (back[at] == np.arange(len(at))).all()


def test_matches_and_searches_that_are_kept():
  game = pyspiel.load_game("kuhn_poker")
  resolving = OnDemandResolving(game, 30, **SOLVING)
  first, second = resolving.bot(0, seed=1), resolving.bot(1, seed=2)
  for seed in range(8):
    for state in random_play(game, seed):
      assert (first, second)[state.current_player()].step(state) in state.legal_actions()
  played = matches.play_games(game, lambda seat: (first, second)[seat], matches.player(resolving), 4)
  assert len(played) == 4
  searches = len(resolving.seconds)
  assert resolving.kept.startswith(f"{searches} searches in ")
  resolving.action_probabilities(next(random_play(game, 0)))
  assert len(resolving.seconds) == searches  # kept, as are all others


def test_a_search_ends_with_its_time():
  """A billion iterations would take days."""
  resolving = OnDemandResolving(pyspiel.load_game("kuhn_poker"), 10**9, seconds=0.01, **SOLVING)
  assert resolving.action_probabilities(next(random_play(resolving.game, 0)))


def test_wrong_input_is_refused():
  game = pyspiel.load_game("kuhn_poker")
  with pytest.raises(ValueError, match="leave public_states='none', knowledge= and actions= out"):
    OnDemandResolving(game, knowledge=1)
  with pytest.raises(ValueError, match="has 4 players; searches are for two players"):
    OnDemandResolving(pyspiel.load_game("hearts"))
  with pytest.raises(ValueError, match="is of general sum; searches are for two players, zero-sum"):
    OnDemandResolving(pyspiel.load_game("bargaining"))
  with pytest.raises(
    ValueError, match=r"more than 20 histories\. Look less far ahead [^,]*, depth\), or raise"
  ):
    leduc = pyspiel.load_game("leduc_poker")
    OnDemandResolving(leduc, 5, limit=20).action_probabilities(next(random_play(leduc, 0)))
  with pytest.raises(
    ValueError, match=r"more than 5 lines of moves\. With limit=5 and memory=[\d,]+ bytes, .*: look less far"
  ):
    OnDemandResolving(game, 5, limit=5).action_probabilities(next(random_play(game, 0)))
  with pytest.raises(ValueError, match=r"the history \[0, 0\] is impossible"):
    PublicStates(game).members([0, 0])
  with pytest.raises(ValueError, match="has no public observer"):
    PublicStates(pyspiel.load_game("phantom_ttt"), "observer").members([0])
  with pytest.raises(ValueError, match="closure' or 'observer'"):
    PublicStates(game, "none")
  for seconds in (0, -1.0, np.nan):
    with pytest.raises(ValueError, match="seconds must be a number above 0, got"):
      OnDemandResolving(game, 5, seconds=seconds)
  dark_hex = pyspiel.load_game("dark_hex(board_size=2)")
  with pytest.raises(ValueError, match="no public states"):
    OnDemandResolving(dark_hex, 5).action_probabilities(dark_hex.new_initial_state())


def test_games_without_a_common_clock_are_refused():
  """Player 1 does not know whether player 0 moved before: chance may have left the move out."""
  game = pyspiel.load_efg_game("""EFG 2 R "clock" { "0" "1" }
c "" 1 "" { "a" 0.5 "b" 0.5 } 0
p "" 1 1 "" { "x" "y" } 0
p "" 2 1 "" { "l" "r" } 0
t "" 1 "" { 1 -1 }
t "" 2 "" { -1 1 }
t "" 3 "" { 0 0 }
p "" 2 1 "" { "l" "r" } 0
t "" 4 "" { -1 1 }
t "" 5 "" { 1 -1 }
""")
  message = r"player 1 does not know whether [12] or [12] moves were made at '1-1-1-'"
  with pytest.raises(ValueError, match=message):
    PublicStates(game).members([0, 0])
  with pytest.raises(ValueError, match="public states"):
    OnDemandResolving(game, 5).action_probabilities(game.new_initial_state().child(1))


def test_what_is_kept_is_bounded(monkeypatch):
  """Public states and searches that were dropped are made again, and are the same."""
  game, plays = pyspiel.load_game("leduc_poker"), [*random_play(pyspiel.load_game("leduc_poker"), 4)]
  kept = OnDemandResolving(game, 3, **SOLVING)
  before = [kept.action_probabilities(state) for state in plays]
  monkeypatch.setattr("ps_cfr_spiel.resolving.subgames.on_demand.KEPT", 1)
  monkeypatch.setattr("ps_cfr_spiel.solvers.agents.on_demand_resolving.CACHE_BYTES", 1)
  bounded = OnDemandResolving(game, 3, **SOLVING)
  assert [bounded.action_probabilities(state) for state in plays] == before


@pytest.mark.parametrize(
  ("history", "player", "message"),
  [
    ([0, 1], 5, "player must be 0 or 1, got 5"),
    ([0, 99], 0, r"The history \[0, 99\] is impossible: 99 \(move 1\) is not among \[1, 2\]"),
    ([0, 1], 1, r"Player 1 does not act after \[0, 1\]: player 0 acts there"),
    ([0], 0, r"Player 0 does not act after \[0\]: no player acts there"),
    ([0, 1, 0, 0], 0, "no player acts there"),
  ],
)
def test_a_search_is_where_its_player_acts(history, player, message):
  resolving = OnDemandResolving(pyspiel.load_game("kuhn_poker"), 5, **SOLVING)
  with pytest.raises(ValueError, match=message):
    resolving.search(history, player)
  assert not resolving.seconds  # nothing was searched


def lengths(states):
  """Values of states that have little to do with the game."""
  return [len(state.history()) + sum(state.history()[:2]) / 7 for state in states]


def test_a_lookahead_ends_with_the_values_of_states():
  """The first search solves the game in which the states at its end have these payoffs."""
  game = pyspiel.load_game("leduc_poker")
  grown, ends, states = grow(game, {(): 1.0}, stops_ahead(0, 1))
  player, utility = grown.player.copy(), grown.utility.copy()
  player[ends], utility[ends] = TERMINAL, lengths(states)
  short = tree_of_histories(game, dataclasses.replace(grown, player=player, utility=utility))
  expected = Searcher(Subgames(short, game), SearchSettings(iterations=20, **SOLVING)).start(0).tables[0]
  values = StateValues(lengths)
  resolving = OnDemandResolving(game, 20, lookahead=1, value_function=values, **SOLVING)
  asked = 0
  for state in (state for seed in range(3) for state in random_play(game, seed)):
    if state.current_player() == 0 and len(state.history()) == 2:
      decision, _ = short.names.decision_at(state, 0)
      column = expected[decision.block][:, decision.row, 0]
      answer, asked = list(resolving.action_probabilities(state).values()), asked + 1
      assert answer == pytest.approx(list(column / column.sum()), abs=1e-9)
  assert asked == 3


@pytest.mark.parametrize("given", [lambda states: [0.0], lambda states: [np.nan] * len(states)])
def test_wrong_values_of_states_are_refused(given):
  game = pyspiel.load_game("leduc_poker")
  resolving = OnDemandResolving(game, 2, lookahead=1, value_function=StateValues(given))
  with pytest.raises(ValueError, match=r"must give \d+ finite numbers, one for each state; got [01] in"):
    resolving.action_probabilities(next(random_play(game, 0)))
  with pytest.raises(ValueError, match="StateValues need a function"):
    StateValues(0)
  river = Subgames.of(pyspiel.load_game("river_subgame(bets=a,ranges=AA KK;QQ JJ)"))
  with pytest.raises(ValueError, match="compiled without its histories; StateValues are for OnDemandRes"):
    StateValues(given).bind(
      river, [s for s, state in enumerate(river.labels.public_states) if state.decisions][:1]
    )
