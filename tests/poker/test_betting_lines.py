"""Columns of lines of betting, against the states that they are made of and OpenSpiel's own."""

import numpy as np
import pyspiel
import pytest

from ps_cfr_spiel.cards.poker import Betting, betting, read_card_game

GAMES = {
  "a river": "river_subgame(bets=0.5 1 a;a)",
  "all-ins before two cards": "holdem_subgame(board=9s7c5s,stack=300,bets=1 a,ranges=AA;KK)",
  "no chips behind": "holdem_subgame(board=9s7c5s4h,stack=100,ranges=AA;KK)",
}


@pytest.mark.parametrize("name", GAMES)
def test_lines_are_those_of_the_states(name):
  game = pyspiel.load_game(GAMES[name])
  states = game.public_states
  lines = Betting.of_states(states, 100)
  assert len(lines) == len(states)
  assert lines.streets == 1 + game.cards_to_come
  for line, state in enumerate(states):
    assert lines.children(line) == list(state.children.values())
    assert lines.legal_actions(line) == list(state.children)
    assert lines.moves[line] == len(state.children)
    assert (lines.paid[line] * 100).tolist() == list(state.spent)
    for rank, (action, child) in enumerate(state.children.items()):
      assert lines.rank[child] == rank
      assert lines.child(line, action) == child
  assert lines.ends.tolist() == [n for n, state in enumerate(states) if state.player == betting.TERMINAL]
  assert lines.largest_payoff == max(max(s.fold_payoff) + s.showdown_payoff for s in states)
  assert lines.zero_sum


@pytest.mark.parametrize("name", GAMES)
def test_parts_split_a_betting_at_its_cards(name):
  """Street by street, each from the lines that cards bring: every line once, with its columns and moves."""
  whole = Betting.of_states(pyspiel.load_game(GAMES[name]).public_states)
  roots, seen = [0], []
  for street in range(whole.streets):
    part, source = whole.part(roots, range(street, street + 1))
    assert source[: len(roots)].tolist() == list(roots) and (part.street == street).all()
    assert (part.parent[: len(roots)] == -1).all() and (np.diff(part.parent) >= 0).all()
    assert source[part.parent[len(roots) :]].tolist() == whole.parent[source[len(roots) :]].tolist()
    for column in ("action", "player", "fold_payoff", "showdown_payoff", "paid"):
      np.testing.assert_array_equal(vars(part)[column], vars(whole)[column][source])
    dealt = part.player == betting.CHANCE
    assert (part.moves == np.where(dealt, 0, whole.moves[source])).all()
    np.testing.assert_array_equal(part.rank[len(roots) :], whole.rank[source[len(roots) :]])
    for line in np.flatnonzero(part.moves):
      assert source[part.children(line)].tolist() == whole.children(source[line])
    seen += source.tolist()
    roots = [child for line in source[dealt] for child in whole.children(line)]
  assert sorted(seen) == list(range(len(whole)))


@pytest.mark.parametrize("name", GAMES)
def test_last_choices_and_last_actions_are_found_by_going_back(name):
  states = pyspiel.load_game(GAMES[name]).public_states
  lines = Betting.of_states(states)
  for player in (0, 1):
    acting = [n for n, state in enumerate(states) if state.player == player]
    for line, choice in enumerate(lines.last_choices(player).tolist()):
      below, expected = line, [-1, -1]
      while expected == [-1, -1] and states[below].parent >= 0:
        above = states[below].parent
        if above in acting:
          expected = [acting.index(above), list(states[above].children.values()).index(below)]
        below = above
      assert choice == expected
  for line, last in zip(lines.ends.tolist(), lines.last_acting.tolist(), strict=True):
    while states[line].action == betting.ANY_CARD:
      line = states[line].parent
    assert last == line


def test_an_action_that_is_not_legal_leads_to_no_line():
  lines = read_card_game(pyspiel.load_game("leduc_poker")).betting
  state = pyspiel.load_game("leduc_poker").new_initial_state()
  for card in (0, 1):
    state.apply_action(card)
  assert lines.legal_actions(0) == state.legal_actions()
  with pytest.raises(ValueError, match=r"action 0 is not legal at line 0; legal are 1, 2"):
    lines.child(0, 0)


def test_without_streets_no_card_comes_and_all_showdowns_are_alike():
  lines = Betting.create([-1, 0, 0], [-1, 0, 1], [0, -4, -4], [0, -1, 0], [0, 0, 1])
  assert (lines.streets, lines.showdowns, lines.paid) == (1, 1, None)
  assert lines.fold_payoff.dtype == np.float64 and lines.parent.dtype == np.int32


def test_payoffs_to_each_player_or_to_the_first():
  ends = [-1, 0, 0], [-1, 0, 1], [0, -4, -4]
  one = Betting.create(*ends, [0, -1, 0], [0, 0, 2])
  assert one.fold_payoff.tolist() == [[0, 0], [-1, 1], [0, 0]]
  assert one.zero_sum and one.largest_payoff == 2
  both = Betting.create(*ends, [[0, 0], [-1, 0.5], [-0.25, -0.25]], [0, 0, 2])
  assert not both.zero_sum and both.largest_payoff == 2.25
