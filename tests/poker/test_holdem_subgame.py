"""The game with public cards to come; what it shares with `river_subgame` is tested there."""

import itertools

import numpy as np
import pyspiel
import pytest
from game_checks import (
  EVERYTHING,
  PUBLIC,
  PUBLIC_NOW,
  all_histories,
)
from open_spiel.python.observation import make_observation
from variants import ENUMERATED

from ps_cfr_spiel.cards.poker import betting, cards


def universal_poker(pot, stack, board, ranks=13, suits=4):
  return pyspiel.load_game(
    f"universal_poker(betting=nolimit,bettingAbstraction=fcpa,numPlayers=2,numRounds=4,"
    f"blind={pot // 2} {pot // 2},firstPlayer=2 1 1 1,numSuits={suits},numRanks={ranks},numHoleCards=2,"
    f"numBoardCards=0 3 1 1,stack={stack} {stack},potSize={pot},boardCards={board})"
  )


def play(game, *moves):
  """The state after a deal and moves given in words."""
  state = game.new_initial_state()
  for move in moves:
    state.apply_action(state.string_to_action(move))
  return state


# Against OpenSpiel's universal_poker


def assert_same_game(ours, theirs, cards_to_try):
  """The number of states visited, all of which have the same player, actions, chances and returns."""
  assert ours.current_player() == theirs.current_player()
  assert ours.legal_actions() == theirs.legal_actions()
  assert not ours.is_terminal() or ours.returns() == theirs.returns()
  actions = ours.legal_actions()
  if ours.is_chance_node():
    assert dict(theirs.chance_outcomes()) == pytest.approx(dict(ours.chance_outcomes()), rel=1e-12)
    actions = [card for card in cards_to_try if card in actions]
  return 1 + sum(assert_same_game(ours.child(a), theirs.child(a), cards_to_try) for a in actions)


@pytest.mark.parametrize(
  ("pot", "stack"), [(200, 300), (200, 301), (200, 500), (200, 1000), (200, 20000), (1000, 2000)]
)
@pytest.mark.parametrize("board", ["9s7c5s4h", "QsJh2h"])
def test_same_game_as_universal_poker(pot, stack, board):
  game = pyspiel.load_game("holdem_subgame", {"pot": pot, "stack": stack, "board": board})
  rng = np.random.default_rng(stack)
  deck = [card for card in rng.permutation(52).tolist() if card not in game.board]
  hands = [sorted(deck[:2])[::-1], sorted(deck[2:4])[::-1]]
  theirs = universal_poker(pot, stack, board).new_initial_state()
  for card in itertools.chain(*hands):
    theirs.apply_action(card)
  ours = play(game, *(f"Deal {cards.card_names(hand)}" for hand in hands))
  visited = assert_same_game(ours, theirs, deck[4 : 4 + game.cards_to_come])
  assert visited >= len(game.public_states)


# Rules


def test_a_whole_hand():
  game = pyspiel.load_game("holdem_subgame(stack=1000)")
  state = play(game, "Deal AsKd", "Deal QhQd")
  assert state.legal_actions() == [1, 2, 3]
  state = play(game, "Deal AsKd", "Deal QhQd", "Check", "Bet 200", "Call")
  assert state.is_chance_node()
  assert len(state.chance_outcomes()) == 44
  assert {chance for _, chance in state.chance_outcomes()} == {1 / 44}
  assert not {cards.card_names([card]) for card in state.legal_actions()} & {
    "As",
    "Kd",
    "Qh",
    "Qd",
    "9s",
    "4h",
  }
  state.apply_action(state.string_to_action("Deal Ac"))
  assert (state.current_player(), state.public_state.spent) == (0, (300, 300))
  # The river's bets are amounts of the river, sizes are of the pot of 600.
  assert [state.action_to_string(a) for a in state.legal_actions()] == ["Check", "Bet 600", "All-in 700"]
  state.apply_action(state.string_to_action("Bet 600"))
  assert str(state) == "p0 AsKd p1 QhQd | 9s7c5s4h pot 200 stack 1000 | x b200 c | Ac | b600"
  state.apply_action(state.string_to_action("Call"))
  assert state.returns() == [900, -900]


def test_after_an_all_in_the_cards_come_and_nobody_acts():
  game = pyspiel.load_game("holdem_subgame(board=9s7c5s,stack=1000)")
  state = play(game, "Deal AsKd", "Deal QhQd", "All-in 900", "Call", "Deal Ac")
  assert state.is_chance_node()
  assert len(state.chance_outcomes()) == 44
  assert state.returns() == [0, 0]
  state.apply_action(state.string_to_action("Deal Qs"))
  assert state.returns() == [-1000, 1000]
  assert str(state).endswith("| b900 c | Ac | Qs")


def test_sizes_may_differ_between_streets():
  game = pyspiel.load_game("holdem_subgame(board=9s7c5s,bets=0.5 / 1 a;a / 2)")

  def labels(*moves):
    state = play(game, "Deal AsKd", "Deal QhQd", *moves)
    return {action: state.action_to_string(action) for action in state.legal_actions()}

  check = ("Check", "Check")
  assert labels() == {1: "Check", 2: "Bet 100"}
  assert labels(*check, "Deal 2c") == {1: "Check", 3: "Bet 200", 5: "All-in 19900"}
  assert labels(*check, "Deal 2c", "Bet 200") == {0: "Fold", 1: "Call", 5: "All-in 19900"}
  assert labels(*check, "Deal 2c", *check, "Deal 3c") == {1: "Check", 4: "Bet 400"}


@pytest.mark.parametrize(
  ("board", "stack", "rows"),
  [
    ("9s7c5s4h", 300, 196),
    ("9s7c5s4h", 1000, 1_740),
    ("9s7c5s4h", 20000, 4_820),
    ("9s7c5s", 500, 57_240),
    ("9s7c5s", 20000, 804_600),
  ],
)
def test_sizes(board, stack, rows):
  """The counts were made independently, from universal_poker's own trees."""
  form = pyspiel.load_game("holdem_subgame", {"board": board, "stack": stack}).bayesian_form()
  betting = form.betting
  assert sum(len(form.runouts[street]) for street in betting.street[betting.player >= 0]) == rows


def test_with_five_cards_it_is_river_subgame():
  settings = "board=9s7c5s4h3c,stack=900,bets=0.5 1 a;a,ranges=AK QQ:0.5;TT+"
  ours, river = (pyspiel.load_game(f"{name}({settings})") for name in ("holdem_subgame", "river_subgame"))
  first, second = (game.bayesian_form() for game in (ours, river))
  np.testing.assert_equal(vars(first.betting), vars(second.betting))
  for name in ("types", "weights", "cards", "strength", "remarks"):
    np.testing.assert_equal(getattr(first, name), getattr(second, name))
  for line in np.flatnonzero(first.betting.player >= 0).tolist():
    assert first.infostate(line, (), 3) == second.infostate(line, (), 3)
  for game in (ours, river):
    assert (game.num_distinct_actions(), game.max_utility(), game.max_game_length()) == (5, 900, 4)
    assert game.information_state_tensor_shape() == river.information_state_tensor_shape()


@pytest.mark.parametrize(
  "game_string", ENUMERATED["holdem_subgame"].values(), ids=ENUMERATED["holdem_subgame"]
)
def test_game_info_is_exact(game_string):
  game = pyspiel.load_game(game_string)
  states = [state for state, _ in all_histories(game)]
  ends = [state for state in states if state.is_terminal()]
  assert game.max_utility() == max(max(state.returns()) for state in ends)
  assert game.min_utility() == min(min(state.returns()) for state in ends)
  assert ("rake" in game_string) == (game.max_utility() < -game.min_utility())
  assert game.max_chance_nodes_in_history() == 2 + game.cards_to_come
  assert game.max_game_length() == max(len(state.moves) for state in ends)
  assert game.num_distinct_actions() > max(itertools.chain(*(state.moves for state in ends)))


def test_what_can_be_won_depends_on_the_cards_to_come():
  """AdKd and AhKh tie on every river of the first board, so that only folds pay there."""
  tie = pyspiel.load_game("holdem_subgame(board=AsKsQsJs,ranges=AdKd;AhKh,stack=300,bets=a)")
  flush = pyspiel.load_game("holdem_subgame(board=AsKcJh5h,ranges=AdKd;AhKh,stack=300,bets=a)")
  assert (tie.max_utility(), flush.max_utility()) == (100, 300)


# What players see


def test_strings():
  game = pyspiel.load_game("holdem_subgame(board=9s7c5s)")
  see = {kind: make_observation(game, kind).string_from for kind in (PUBLIC, PUBLIC_NOW, EVERYTHING)}
  state = play(game, "Deal AhKd", "Deal 6h2d", "Check", "Check", "Deal 3d", "Bet 200", "Call", "Deal 2c")
  assert state.information_state_string(0) == "p0 AhKd | 9s7c5s pot 200 stack 20000 | x x | 3d | b200 c | 2c"
  assert see[PUBLIC](state, 0) == "9s7c5s pot 200 stack 20000 | x x | 3d | b200 c | 2c"
  assert see[PUBLIC_NOW](state, 1) == "9s7c5s pot 200 stack 20000 | 2c3d | in 300 300 | p0 to act"
  assert see[EVERYTHING](state, 0) == str(state)
  waiting = play(game, "Deal AhKd", "Deal 6h2d", "Check", "Check")
  assert see[PUBLIC_NOW](waiting, 1) == "9s7c5s pot 200 stack 20000 | in 100 100 | deal card"


def test_tensors():
  game = pyspiel.load_game("holdem_subgame(board=9s7c5s)")
  state = play(game, "Deal AhKd", "Deal 6h2d", "Check", "Check", "Deal 3d", "Bet 200")
  observer = make_observation(game, pyspiel.IIGObservationType(perfect_recall=True))
  observer.set_from(state, 1)
  assert list(observer.dict) == ["player", "private_hands", "board", "turn", "betting", "runout"]
  assert cards.card_names(observer.dict["board"].nonzero()[0]) == "3d5s7c9s"
  assert observer.dict["turn"].tolist() == [0, 0, 0, 1, 0, 0]
  assert np.argwhere(observer.dict["betting"]).tolist() == [[0, 1], [1, 1], [2, 2]]
  assert [cards.card_names(row.nonzero()[0]) for row in observer.dict["runout"]] == ["3d", ""]


# The form's names


def test_every_name_is_found_again():
  """Hands with a card of the board are left out: they cannot be held."""
  form = pyspiel.load_game(ENUMERATED["holdem_subgame"]["a small deck from the flop"]).bayesian_form()
  betting, names = form.betting, set()
  for line in np.flatnonzero(betting.player >= 0).tolist():
    player = int(betting.player[line])
    for runout in map(tuple, form.runouts[betting.street[line]].tolist()):
      for h in range(len(form.types[player])):
        name = form.infostate(line, runout, h)
        names.add(name)
        if {*runout}.isdisjoint(form.cards[player][h].tolist()):
          assert form.find(player, name) == (line, runout, h)
        else:
          with pytest.raises(ValueError, match="No information state of player"):
            form.find(player, name)
        with pytest.raises(ValueError, match="No information state of player"):
          form.find(1 - player, name)
  assert len(names) == 2 * sum(len(form.runouts[s]) for s in betting.street[betting.player >= 0])


@pytest.mark.parametrize(
  "name",
  [
    "",
    "p0",
    "p0 6d6c | elsewhere",
    "p0 6d6c | 2c3c4d pot 200 stack 200 | x x",
    "p0 6d6c | 2c3c4d pot 200 stack 200 | x x | 9z",
    "p0 6d6c | 2c3c4d pot 200 stack 200 | x x | 5d | x",
    "p0 AsKd | 2c3c4d pot 200 stack 200",
  ],
)
def test_other_names_are_not(name):
  form = pyspiel.load_game(ENUMERATED["holdem_subgame"]["a small deck from the flop"]).bayesian_form()
  with pytest.raises(ValueError, match="No information state of player 0"):
    form.find(0, name)


# Wrong input


def test_illegal_cards():
  state = play(pyspiel.load_game("holdem_subgame"), "Deal AsKd", "Deal QhQd", "Check", "Check")
  for taken in ("As", "Qh", "9s"):
    with pytest.raises(ValueError, match=r"illegal action .* legal are the cards"):
      state.apply_action(cards.parse_cards(taken)[0])
  assert state.public_state.player == betting.CHANCE
