import numpy as np
import pyspiel
import pytest
from game_checks import (
  INFOSTATE,
  OBSERVATION,
  PUBLIC,
  all_histories,
)
from open_spiel.python.observation import make_observation
from reference import sequence_form_value
from variants import PARAMETRIC_POKER, SAMPLED

import ps_cfr_spiel


def play(game_string, *moves):
  """The state after moves in words."""
  state = pyspiel.load_game(game_string).new_initial_state()
  for move in moves:
    state.apply_action_with_legality_check(state.string_to_action(move))
  return state


def moves_of(state):
  return [state.action_to_string(action) for action in state.legal_actions()]


@pytest.mark.parametrize(
  ("game_string", "histories", "infostates"),
  [
    ("parametric_poker", 5045, 504),
    ("parametric_poker(ranks=3,copies=2)", 1939, 288),  # Leduc poker up to suits, but for the limit on raises
  ],
)
def test_sizes(game_string, histories, infostates):
  """Those of the paper's P111, and of OpenSpiel's Leduc, whose two raises are a bet and a raise."""
  labels = ps_cfr_spiel.build_tree(pyspiel.load_game(game_string), public_states="none").names
  assert (labels.histories, sum(1 for _ in labels.infostates())) == (histories, infostates)


def test_value_of_the_same_game_in_openspiel():
  """universal_poker with suits: other infostates, the same value."""
  theirs = pyspiel.load_game(
    "universal_poker(betting=limit,numPlayers=2,numRounds=2,blind=1 1,firstPlayer=1 1,numSuits=2,numRanks=3,"
    "numHoleCards=1,numBoardCards=0 1,raiseSize=2 4,maxRaises=2 2)"
  )
  ours = pyspiel.load_game("parametric_poker(ranks=3,copies=2)")
  assert sequence_form_value(ours) == pytest.approx(sequence_form_value(theirs), abs=1e-9)


@pytest.mark.parametrize(
  ("moves", "won"),
  [
    (["Deal 1", "Deal 0", "Bet 2", "Fold"], 1),
    (["Deal 1", "Deal 0", "Check", "Bet 2", "Fold"], -1),
    (["Deal 1", "Deal 0", "Bet 2", "Raise 2", "Fold"], -3),
    (["Deal 1", "Deal 0", "Check", "Check", "Deal 2", "Check", "Check"], 1),  # the higher card
    (["Deal 1", "Deal 0", "Check", "Check", "Deal 0", "Check", "Check"], -1),  # a pair beats it
    (["Deal 1", "Deal 1", "Bet 2", "Call", "Deal 1", "Bet 4", "Raise 4", "Call"], 0),
    (["Deal 3", "Deal 0", "Bet 2", "Raise 2", "Call", "Deal 3", "Check", "Bet 4", "Raise 4", "Call"], 13),
  ],
)
def test_returns(moves, won):
  state = play("parametric_poker", *moves)
  assert state.is_terminal()
  assert state.returns() == [won, -won]
  assert str(state.returns()[1]) != "-0.0"


def test_moves():
  two = "parametric_poker(bets=3,raises=2,max_raises=2)"
  assert moves_of(play(two, "Deal 0", "Deal 1")) == ["Check", "Bet 2", "Bet 4", "Bet 6"]
  facing = play(two, "Deal 0", "Deal 1", "Bet 4")
  assert moves_of(facing) == ["Fold", "Call", "Raise 2", "Raise 4"]
  raised = play(two, "Deal 0", "Deal 1", "Bet 4", "Raise 2", "Raise 4")
  assert (raised.paid, moves_of(raised)) == ((11, 7), ["Fold", "Call"])  # two raises in a row are all
  later = play(two, "Deal 0", "Deal 1", "Bet 2", "Call", "Deal 1")
  assert (later.current_player(), moves_of(later)) == (0, ["Check", "Bet 4", "Bet 8", "Bet 12"])
  assert moves_of(play(two, "Deal 0")) == ["Deal 0", "Deal 1", "Deal 2", "Deal 3"]
  assert moves_of(play("parametric_poker(copies=1)", "Deal 0")) == ["Deal 1", "Deal 2", "Deal 3"]


def test_the_order_of_the_papers_authors_is_of_the_same_game():
  """Every history of one order, move by move in words, is one of the other with the same returns."""
  theirs = "parametric_poker(bets=3,raises=2,max_raises=2,fold_last=true)"
  assert moves_of(play(theirs, "Deal 0", "Deal 1")) == ["Bet 2", "Bet 4", "Bet 6", "Check"]
  assert moves_of(play(theirs, "Deal 0", "Deal 1", "Bet 4")) == ["Call", "Raise 2", "Raise 4", "Fold"]
  small = "parametric_poker(bets=2,raises=1,max_raises=1,ranks=2,copies=2{})"

  def ends(state, line=""):
    if state.is_terminal():
      return {f"{line} = {state}": state.returns()}
    return {
      text: returns
      for action in state.legal_actions()
      for text, returns in ends(state.child(action), f"{line}, {state.action_to_string(action)}").items()
    }

  orders = ("", ",fold_last=true")
  one, other = (ends(pyspiel.load_game(small.format(order)).new_initial_state()) for order in orders)
  assert one == other
  assert list(one) != list(other)


def test_chance_knows_the_deck():
  state = play("parametric_poker", "Deal 2", "Deal 2", "Check", "Check")
  assert dict(state.chance_outcomes()) == pytest.approx({0: 0.3, 1: 0.3, 2: 0.1, 3: 0.3})


@pytest.mark.parametrize("game_string", [PARAMETRIC_POKER, SAMPLED["parametric_poker"]["sizes"]])
def test_bounds(game_string):
  """The largest utility is reached: all bets and raises of both rounds, and a showdown."""
  game = pyspiel.load_game(game_string)
  ends = [state for state, _ in all_histories(pyspiel.load_game(PARAMETRIC_POKER)) if state.is_terminal()]
  if game_string == PARAMETRIC_POKER:
    assert max(state.returns()[0] for state in ends) == game.max_utility() == 13
    assert max(len(state.path()) for state in ends) == game.max_game_length()
  else:
    top = ["Bet 4", "Raise 6", "Raise 6", "Call"]
    state = play(game_string, "Deal 1", "Deal 0", *top, "Deal 1", "Bet 8", "Raise 12", "Raise 12", "Call")
    assert state.returns()[0] == game.max_utility()


def test_strings_and_tensors():
  state = play("parametric_poker", "Deal 3", "Deal 1", "Check", "Bet 2", "Call", "Deal 0", "Check")
  assert str(state) == "p0 3 p1 1 | x b2 c [0] x"
  assert state.information_state_string(1) == "p1 1 | x b2 c [0] x"
  assert state.observation_string(0) == "p0 3 | table 0 | in 3 3, 0 raises | p1 to act"
  assert make_observation(state.get_game(), PUBLIC).string_from(state, 0) == "| x b2 c [0] x"
  info = make_observation(state.get_game(), INFOSTATE)
  info.set_from(state, 1)
  assert np.argwhere(info.dict["private_cards"]).tolist() == [[0, 1]]
  assert info.dict["table"].tolist() == [1, 0, 0, 0]
  assert info.dict["turn"].tolist() == [0, 0, 0, 0, 1, 0]
  assert np.argwhere(info.dict["betting"]).tolist() == [[0, 1], [1, 2], [2, 1], [3, 1]]
  now = make_observation(state.get_game(), OBSERVATION)
  now.set_from(play("parametric_poker", "Deal 3", "Deal 1", "Bet 2", "Raise 2"), 0)
  assert now.dict["pot_contribution"].tolist() == [3, 5]
  assert now.dict["raises"].tolist() == [0, 1]


def test_illegal_actions():
  with pytest.raises(ValueError, match=r"illegal action 0 at p0 3 p1 1; legal are \[1, 2\]"):
    play("parametric_poker", "Deal 3", "Deal 1").apply_action(0)
  with pytest.raises(ValueError, match="illegal action 4"):
    pyspiel.load_game("parametric_poker").new_initial_state().apply_action(4)
