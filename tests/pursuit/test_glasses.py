import collections

import numpy as np
import pyspiel
import pytest
from chases import play
from game_checks import (
  EVERYTHING,
  INFOSTATE,
  OBSERVATION,
  PRIVATE,
  PRIVATE_NOW,
  PUBLIC,
  PUBLIC_NOW,
  all_histories,
  run_api_tests,
)
from open_spiel.integration_tests import api_test
from open_spiel.python.algorithms import exploitability
from open_spiel.python.observation import make_observation
from ps_cfr_spiel.games.pursuit import graphs
from reference import sequence_form_value
from variants import ENUMERATED, GLASSES

import ps_cfr_spiel


def public_states(game):
  """For every public string, the acting player's information states, or {None} at an end."""
  see = make_observation(game, PUBLIC).string_from
  states = collections.defaultdict(set)
  for state, _ in all_histories(game):
    states[see(state, 0)].add(None if state.is_terminal() else state.information_state_string())
  return states


def compiled(game, source):
  """The tree's number of histories and of public states, and the infostates of those that decide."""
  labels = ps_cfr_spiel.build_tree(game, public_states=source).labels
  groups = collections.defaultdict(set)
  for decision, _, name in labels.infostates():
    groups[decision.public_state].add(name)
  return labels.histories, len(labels.public_states), set(map(frozenset, groups.values()))


# Sizes and values


@pytest.mark.parametrize(
  ("game_string", "histories", "public", "caught"),
  [
    ("glasses", 5410, 1310, 400),
    *((s, *[None] * 3) for s in ENUMERATED["glasses"].values()),
  ],
)
def test_public_states(game_string, histories, public, caught):
  """Those of the closure are those of the observer, and as many as were counted elsewhere."""
  game = pyspiel.load_game(game_string)
  seen = public_states(game)
  deciding = {frozenset(names) for names in seen.values() if None not in names}
  closure = compiled(game, "closure")
  assert closure == compiled(game, "observer")
  assert closure[1:] == (len(seen), deciding)
  ends = [public for public, names in seen.items() if None in names]
  assert all(public.split()[-1] in ("caught", "escaped") and len(seen[public]) == 1 for public in ends)
  assert histories in (None, closure[0])
  assert public in (None, closure[1])
  assert caught in (None, sum(public.endswith("caught") for public in ends))


def test_the_number_of_states_a_player_can_be_in_varies():
  """Why this game is here (thesis, Section 12.4.1). Counted as its Table 13.3 does, there are 1,517."""
  sizes = [len(names) for names in public_states(pyspiel.load_game("glasses")).values()]
  assert set(sizes) >= {1, 2, 4}
  assert sum(sizes) == 1517


@pytest.mark.parametrize(
  ("game_string", "escapes"), [("glasses", 1 / 2), ("glasses(preset=lens)", 1 / 13)], ids=["glasses", "lens"]
)
def test_values(game_string, escapes):
  assert sequence_form_value(pyspiel.load_game(game_string)) == pytest.approx(1 - 2 * escapes, abs=1e-9)


def test_solved():
  game = pyspiel.load_game("glasses")
  solver = ps_cfr_spiel.PSCFRSolver(game, "rm+")
  solver.run(1000)
  policy = solver.average_policy()
  measured = exploitability.exploitability(game, policy.to_tabular())
  assert measured < 0.01
  assert ps_cfr_spiel.exploitability(game, policy) == pytest.approx(measured, abs=1e-9)
  assert solver.value() == pytest.approx(0, abs=0.01)


# Rules

CHASER_WINS, EVADER_WINS = [1.0, -1.0], [-1.0, 1.0]


@pytest.mark.parametrize(
  ("game_string", "moves", "returns"),
  [
    # a stone moves onto the evader's node
    ("glasses", [(2, 9), 4, (4, 7)], CHASER_WINS),
    ("glasses", [(1, 9), 6, (3, 7), 5, (5, 7)], CHASER_WINS),
    ("glasses(preset=lens)", [4, (4, 6)], CHASER_WINS),
    # free after the last turn
    ("glasses", [(0, 10), 3, (0, 10), 1, (2, 9)], EVADER_WINS),
    ("glasses(turns=1)", [(0, 10)], EVADER_WINS),
    ("glasses(preset=lens,turns=1)", [4, (2, 8)], EVADER_WINS),
    # boxed in: caught if it has to move, free if the chaser's turns are over
    (GLASSES, [(1,), 2, (2,)], CHASER_WINS),
    ("glasses(edges=0-1 1-2 2-3,start=3:1,turns=2)", [(2,)], CHASER_WINS),
    ("glasses(edges=0-1 1-2 2-3,start=3:1,turns=1)", [(2,)], EVADER_WINS),
    # stones cross, and share a node
    ("glasses(edges=0-1 1-2 2-3 3-4,start=4:0 1,turns=1)", [(1, 0)], EVADER_WINS),
    ("glasses(edges=0-1 1-2 2-3 3-4,start=4:0 1,turns=1)", [(1, 1)], EVADER_WINS),
  ],
)
def test_endings(game_string, moves, returns):
  *before, last = moves
  state = play(game_string, *before)
  assert not state.is_terminal()
  assert [str(won) for won in state.returns()] == ["0.0", "0.0"]
  state.apply_action(state.string_to_action(f"Stones to {'/'.join(map(str, last))}"))
  assert state.is_terminal()
  assert state.returns() == returns
  assert str(state).split()[-1] == ("caught" if returns == CHASER_WINS else "escaped")


def moves_of(state):
  return [state.action_to_string(action).split()[-1] for action in state.legal_actions()]


def test_moves():
  assert moves_of(play("glasses")) == ["0/8", "0/9", "0/10", "1/8", "1/9", "1/10", "2/8", "2/9", "2/10"]
  assert moves_of(play("glasses(stay=no)")) == ["1/8", "1/9", "2/8", "2/9"]
  assert moves_of(play("glasses(moving=one)")) == ["0/8", "0/9", "0/10", "1/10", "2/10"]
  assert moves_of(play("glasses(moving=one,stay=no)")) == ["0/8", "0/9", "1/10", "2/10"]
  assert moves_of(play("glasses", (1, 9))) == ["3", "4", "6", "7"]
  assert moves_of(play("glasses", (1, 9), 3, (0, 9))) == ["1", "5"]


def test_stones_may_share_a_node_and_cross():
  state = play("glasses(edges=0-1 1-2 2-3 3-4,start=4:0 1,turns=3)")
  assert moves_of(state) == ["0/0", "0/1", "0/2", "1/0", "1/1", "1/2"]
  assert play("glasses(edges=0-1 1-2 2-3 3-4,start=4:0 1,turns=3)", (1, 0)).stones == (1, 0)


def test_the_evader_may_not_enter_a_stones_node():
  state = play("glasses", (2, 9), 4, (2, 7))
  assert moves_of(state) == ["5"]
  with pytest.raises(ValueError, match=r"illegal action 2 at 5:0/10 2/9 4 2/7; legal are \[5\]"):
    state.apply_action(2)
  assert state.history() == play("glasses", (2, 9), 4, (2, 7)).history()


def test_illegal_actions():
  state = play("glasses")
  with pytest.raises(ValueError, match="illegal action 5 at 5:0/10; legal are"):
    state.apply_action(5)
  assert (state.history(), state.current_player()) == ([], 0)
  end = play("glasses(turns=1)", (1, 9))
  with pytest.raises(ValueError, match=r"legal are \[\]"):
    end.apply_action(end.history()[0])


@pytest.mark.parametrize("game_string", ["glasses", "glasses(preset=lens,turns=3)"])
def test_bounds_are_reached(game_string):
  game = pyspiel.load_game(game_string)
  ends = [state for state, _ in all_histories(game) if state.is_terminal()]
  assert {state.returns()[0] for state in ends} == {game.min_utility(), game.max_utility()}
  assert max(len(state.history()) for state in ends) == game.max_game_length()


def test_presets_are_short_for_their_parameters():
  for name, preset in graphs.PRESETS.items():
    short, long = pyspiel.load_game("glasses", {"preset": name}), pyspiel.load_game("glasses", preset)
    assert short.chase == long.chase
    nodes = len(short.chase.neighbours)
    assert nodes == 11
    assert all(
      (b in short.chase.neighbours[a]) == (a in short.chase.neighbours[b])
      for a in range(nodes)
      for b in range(nodes)
    )
    assert all(  # the map is its own mirror image about the evader's node
      tuple(sorted(nodes - 1 - b for b in near)) == short.chase.neighbours[nodes - 1 - a]
      for a, near in enumerate(short.chase.neighbours)
    )


# What players see


def test_strings():
  state = play("glasses", (1, 9), 4, (3, 7), 2)
  game = state.get_game()
  kinds = (PUBLIC, PUBLIC_NOW, PRIVATE, PRIVATE_NOW, EVERYTHING)
  public, public_now, private, private_now, everything = (
    make_observation(game, kind).string_from for kind in kinds
  )
  assert state.information_state_string(0) == "p0 | 5:0/10 1/9 ? 3/7 ?"
  assert state.information_state_string(1) == "p1 | 5:0/10 1/9 4 3/7 2"
  assert state.observation_string(0) == "p0 | stones 3/7 | 4 of 5 moves | chaser to move"
  assert state.observation_string(1) == "p1 at 2 | stones 3/7 | 4 of 5 moves | chaser to move"
  assert public(state, 0) == "5:0/10 1/9 ? 3/7 ?"
  assert public_now(state, 1) == "stones 3/7 | 4 of 5 moves | chaser to move"
  assert [private(state, player) for player in (0, 1)] == ["p0", "p1 at 5 4 2"]
  assert [private_now(state, player) for player in (0, 1)] == ["p0", "p1 at 2"]
  assert everything(state, 0) == str(state) == "5:0/10 1/9 4 3/7 2"
  assert play(GLASSES, (1,), 2, (2,)).information_state_string(0) == "p0 | 3:0 1 ? 2 caught"
  assert play("glasses(turns=1)", (1, 9)).information_state_string(1) == "p1 | 5:0/10 1/9 escaped"
  assert play("glasses(turns=1)", (1, 9)).observation_string(0) == "p0 | stones 1/9 | 1 of 1 moves | escaped"


def test_tensors():
  state = play("glasses", (1, 9), 4, (3, 7))
  info = make_observation(state.get_game(), INFOSTATE)
  info.set_from(state, 1)
  assert {name: piece.shape for name, piece in info.dict.items()} == {
    "player": (2,),
    "evader_path": (3, 11),
    "turn": (4,),
    "stones_path": (4, 2, 11),
  }
  assert info.dict["player"].tolist() == [0, 1]
  assert np.argwhere(info.dict["evader_path"]).tolist() == [[0, 5], [1, 4]]
  assert info.dict["turn"].tolist() == [0, 1, 0, 0]
  stones = [[0, 0, 0], [0, 1, 10], [1, 0, 1], [1, 1, 9], [2, 0, 3], [2, 1, 7]]
  assert np.argwhere(info.dict["stones_path"]).tolist() == stones
  assert state.information_state_tensor(1) == info.tensor.tolist()
  info.set_from(state, 0)
  assert not info.dict["evader_path"].any()
  now = make_observation(state.get_game(), OBSERVATION)
  now.set_from(state, 1)
  assert list(now.dict) == ["player", "evader", "turn", "stones", "moves"]
  assert np.argwhere(now.dict["evader"]).tolist() == [[4]]
  assert np.argwhere(now.dict["stones"]).tolist() == [[0, 3], [1, 7]]
  assert np.argwhere(now.dict["moves"]).tolist() == [[3]]
  assert state.observation_tensor(1) == now.tensor.tolist()


# OpenSpiel's own checks, copies


def test_api_on_all_states(monkeypatch):
  # the stone stays on 0 or moves to 1; the evader leaves 3 for 2; the stone has 2 or 3 moves left
  monkeypatch.setitem(api_test.TOTAL_NUM_STATES, "glasses", (0, 1 + 2 + 2, 2 + 3))
  monkeypatch.setitem(api_test.PERFECT_RECALL_NUM_STATES, "glasses", 1 + 2 + 2)
  run_api_tests(api_test.EnforceAPIOnFullTreeBase, pyspiel.load_game(GLASSES))


# Wrong input


def test_an_evader_without_a_way_out_may_start_if_the_chaser_moves_first():
  state = play("glasses(edges=0-1 1-2,start=0:1,turns=2)")
  assert moves_of(state) == ["0", "1", "2"]
