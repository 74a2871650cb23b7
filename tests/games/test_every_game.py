"""What holds for every game of the package: rules, OpenSpiel's own tests, copies, playthroughs, mistakes."""

import itertools
import subprocess
import sys

import numpy as np
import pyspiel
import pytest
from game_checks import (
  INFOSTATE,
  PLAYTHROUGHS,
  all_histories,
  check_laws,
  check_playthrough,
  check_with_openspiel,
  is_cheap_to_copy,
  random_action,
  random_histories,
)
from open_spiel.python.observation import make_observation
from variants import ENUMERATED, SAMPLED, each

import ps_cfr_spiel  # noqa: F401  its games are registered

GAMES = sorted({*ENUMERATED, *SAMPLED})
PLAYS = {"cheat": 4, "holdem": 10, "holdem_subgame": 5}  # random ones of a large game
FEW_ACTIONS = 100  # OpenSpiel's API tests look at every action of every state


each_game = pytest.mark.parametrize("name", GAMES)


@each(ENUMERATED)
def test_laws(game_string):
  game = pyspiel.load_game(game_string)
  check_laws(game, all_histories(game))


@each(SAMPLED)
def test_laws_on_random_plays(game_string):
  game = pyspiel.load_game(game_string)
  plays = PLAYS.get(game.get_type().short_name, 60)
  check_laws(game, itertools.chain(*(random_histories(game, plays // 2, seed) for seed in range(2))))


@each()
def test_openspiels_checks(game_string):
  game = pyspiel.load_game(game_string)
  check_with_openspiel(game, api=game.num_distinct_actions() < FEW_ACTIONS)


@pytest.mark.parametrize(
  "name", sorted({*GAMES} - {"holdem"})
)  # which shares states of betting, made on demand
def test_a_state_holds_only_small_immutable_values(name):
  """OpenSpiel deep-copies every attribute of a Python state on every clone."""
  state, rng = pyspiel.load_game(name).new_initial_state(), np.random.default_rng(0)
  while not state.is_terminal():
    values = {key: value for key, value in vars(state).items() if key != "node"}
    assert all(map(is_cheap_to_copy, values.values())), values
    assert isinstance(vars(state).get("node", 0), int)
    state.apply_action(random_action(state, rng))


@each_game
def test_observation_parameters_are_rejected(name):
  with pytest.raises(ValueError, match="no observation parameters"):
    make_observation(pyspiel.load_game(name), INFOSTATE, {"x": 1})


@pytest.mark.parametrize("path", sorted(PLAYTHROUGHS.glob("*.txt")), ids=lambda path: path.stem)
def test_playthroughs(path):
  check_playthrough(path)


def test_every_game_has_playthroughs():
  assert {*GAMES} <= {path.stem for path in PLAYTHROUGHS.glob("*.txt")}


def test_these_are_all_games():
  script = "import pyspiel; before = {*pyspiel.registered_names()}; import ps_cfr_spiel; "
  script += "print(*sorted({*pyspiel.registered_names()} - before))"
  registered = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
  assert registered.stdout.split() == GAMES


MISTAKES = {
  "cheat": [
    ({"players": 1}, "players=1: must be 2 to 4"),
    ({"players": 5}, "players=5: must be 2 to 4"),
    ({"ranks": 1}, "ranks=1: must be 2 to 13"),
    ({"ranks": 14}, "ranks=14: must be 2 to 13"),
    ({"suits": 0}, "suits=0: must be 1 to 8"),
    ({"suits": 9}, "suits=9: must be 1 to 8"),
    ({"hand_size": 0}, "hand_size=0: must be at least 1"),
    ({"hand_size": 15}, "hand_size=15: 2 players would get 30 cards; the deck has 7 ranks x 4 suits = 28"),
    ({"players": 4, "hand_size": 8}, "hand_size=8: 4 players would get 32 cards"),
    ({"max_discard": 0}, "max_discard=0: must be 1 to 4, the suits, or -1"),
    ({"max_discard": 5}, "max_discard=5: must be 1 to 4"),
    ({"max_discard": -2}, "max_discard=-2: must be 1 to 4"),
    ({"ranks": 13, "suits": 8}, "max_discard=8: 13 ranks make 203,489 discards; at most 30,000 are allowed"),
    ({"max_turns": 0}, "max_turns=0: must be at least 1"),
    ({"max_turns": -1}, "max_turns=-1: must be at least 1"),
    ({"first_player": 2}, "first_player=2: must be 0 to 1, or -1 for random"),
    ({"first_player": -2}, "first_player=-2: must be 0 to 1, or -1 for random"),
  ],
  "glasses": [
    ({"preset": "goggles"}, "preset='goggles': must be one of 'glasses', 'lens'"),
    ({"edges": ""}, "edges='': at least one edge is needed"),
    ({"edges": "0-1 1"}, "edges='0-1 1': '1' is not an edge"),
    ({"edges": "0-1 1-a"}, "edges='0-1 1-a': '1-a' is not an edge"),
    ({"edges": "0-1 -1-2"}, "edges='0-1 -1-2': '-1-2' is not an edge"),
    ({"edges": "0-1 1-1"}, "'1-1' joins a node to itself"),
    ({"edges": "0-1 1-2 1-0"}, "'1-0' stands twice"),
    ({"edges": "0-1 1-1000"}, "'1-1000' has a node above 999"),
    ({"edges": "0-1 2-3"}, "not connected, there is no way from node 0 to node 2"),
    ({"edges": "0-1 1-3"}, "not connected, there is no way from node 0 to node 2"),
    ({"start": "5"}, "start='5': must be the evader's node, ':', the stones' nodes"),
    ({"start": "5:"}, "start='5:': must be"),
    ({"start": "5:0 x"}, "start='5:0 x': must be"),
    ({"start": "5 6:0"}, "start='5 6:0': must be"),
    ({"start": "5:0 5"}, "start='5:0 5': the evader may not start on a stone"),
    ({"start": "11:0 10"}, "node 11 is not in the graph, which has nodes 0 to 10"),
    ({"start": "5:0 12"}, "node 12 is not in the graph, which has nodes 0 to 10"),
    ({"start": "5:0 0 0 0 0 0"}, "6 stones on 11 nodes have 1,771,561 positions; at most 1,000,000"),
    ({"turns": 0}, "turns=0: must be at least 1"),
    ({"turns": -2}, "turns=-2: must be at least 1"),
    ({"moving": "some"}, "moving='some': must be one of 'all', 'one'"),
    ({"stay": "maybe"}, "stay='maybe': must be one of 'yes', 'no'"),
    ({"first": "nobody"}, "first='nobody': must be one of 'chaser', 'evader'"),
    (
      {"edges": "0-1 1-2", "start": "0:1", "first": "evader"},
      "start='0:1': the evader moves first and stones are on every way out",
    ),
  ],
  "graph_pursuit": [
    ({"preset": "maze"}, "preset='maze': must be one of 'grid', 'alleys'"),
    ({"edges": ""}, "edges='': at least one edge is needed"),
    ({"edges": "0-1 1"}, "edges='0-1 1': '1' is not an edge; write two nodes as '0-1' or '0>1'"),
    ({"edges": "0-1 1>1"}, "'1>1' joins a node to itself"),
    ({"edges": "0-1 1>0"}, "'1>0' leads where another edge does"),
    ({"edges": "0-1 1-1000"}, "'1-1000' has a node above 999"),
    ({"start": "0"}, "start='0': must be the attacker's node, ':', the units' nodes"),
    ({"start": "3:3 11"}, "start='3:3 11': the attacker may not start on a unit"),
    ({"start": "0:3 12"}, "node 12 is not in the graph, which has nodes 0 to 11"),
    ({"goal": 12}, "goal=12: must be a node, 0 to 11, or -1 for the preset's"),
    ({"goal": -2}, "goal=-2: must be a node"),
    ({"turns": 0}, "turns=0: must be at least 1"),
    ({"sight": -1}, "sight=-1: must be at least 0"),
    ({"timeout": 3.0}, "timeout=3.0: must be from -1 to 2"),
    ({"goal_ends": "maybe"}, "goal_ends='maybe': must be 'yes' or 'no'"),
  ],
  "river_subgame": [
    ({"board": "9s7c5s4h"}, "board='9s7c5s4h': 4 cards"),
    ({"board": "9s7c5s4h9s"}, "board='9s7c5s4h9s': 5 cards, 4 of them different"),
    ({"board": "9s7c5s4hxx"}, "board='9s7c5s4hxx': 'xx', character 9: not a card"),
    ({"pot": 0}, "pot=0: must be a positive even number"),
    ({"pot": -2}, "pot=-2: must be a positive even number"),
    ({"pot": 201}, "pot=201: must be a positive even number"),
    ({"stack": 0}, "stack=0: must be at least 100, half of the pot"),
    ({"stack": -1}, "stack=-1: must be at least 100, half of the pot"),
    ({"stack": 99}, "stack=99: must be at least 100, half of the pot"),
    ({"bets": "1 b"}, "bets='1 b': 'b', character 3: unknown bet size; write sizes as 33% or 0.33"),
    ({"bets": "fchpa"}, "bets='fchpa': 'fchpa', character 1: unknown bet size"),
    ({"bets": "1 0 a"}, "bets='1 0 a': '0', character 3: a size is more than 0"),
    ({"bets": "0.5x a"}, "a raise is to more than the bet; for shares of the pot write 50%"),
    ({"bets": "-1 a"}, "bets='-1 a': '-1', character 1: unknown bet size"),
    ({"bets": "inf a"}, "bets='inf a': 'inf', character 1: unknown bet size"),
    ({"bets": "1/2 50"}, "bets='1/2 50': '50', character 5: write 50% or 0.5"),
    ({"bets": ""}, "bets='': '', character 1: no size given for bet 1"),
    ({"bets": "1 a;;a"}, "bets='1 a;;a': ';', character 5: no size given for bet 2"),
    ({"bets": "1 |"}, "bets='1 |': '', character 4: no size given for bet 1"),
    ({"bets": "1 | 2 | a"}, "bets='1 | 2 | a': '|', character 7: there are two players"),
    ({"bets": "1 x"}, "bets='1 x': 'x', character 3: 'x' is no bet"),
    ({"ranges": "AA"}, "ranges='AA': must be 'uniform', or two ranges"),
    ({"ranges": "AAA;KK"}, "the range of player 0='AAA': 'AAA', character 1: not understood"),
    (
      {"ranges": "AA:0;KK"},
      "the range of player 0='AA:0': empty on the board 9s7c5s4h3c, all of its weights",
    ),
    ({"ranges": "9s8h;KK"}, "the range of player 0='9s8h': empty on the board 9s7c5s4h3c"),
    ({"ranges": "AsKd;KdQd"}, "ranges='AsKd;KdQd': cannot both be dealt"),
  ],
  "holdem": [
    ({"stack": 100}, "stack=100: must be more than the big blind of 100"),
    ({"blinds": "50/100"}, "blinds='50/100': must be the big and the small blind, such as '100/50'"),
    ({"blinds": "100"}, "blinds='100'"),
    ({"bets": "1 a / a / a / a / a"}, "sizes for 5 streets"),
    ({"bets": "everything"}, "'everything', character 1: unknown bet size"),
    ({"deck": "2x2"}, "deck='2x2'"),
  ],
  "holdem_subgame": [
    ({"board": "9s7c"}, "board='9s7c': 2 cards, 2 of them different; a board has 3, 4 or 5 different cards"),
    ({"board": "9s7c5s4h3c2d"}, "6 cards"),
    ({"board": "9s7c9s"}, "3 cards, 2 of them different"),
    ({"bets": "1 a / a / a"}, "bets='1 a / a / a': sizes for 3 streets, and the board leaves only 2"),
    ({"board": "9s7c5s4h3c", "bets": "1 a / a"}, "sizes for 2 streets, and the board leaves only 1"),
    ({"bets": "1 a / "}, "bets='1 a / ': '', character 7: no size given for bet 1"),
    ({"bets": "1 b / a"}, "'b', character 3: unknown bet size"),
    ({"bets": "fcpa / 1 / 2"}, "sizes for 3 streets"),
    ({"ranges": "9s8h;KK"}, "the range of player 0='9s8h': empty on the board 9s7c5s4h"),
    ({"deck": "2x2"}, "deck='2x2': must be ranks x suits, at most 13x4 and at least 9 cards"),
    ({"deck": "14x4"}, "deck='14x4'"),
    ({"deck": "many"}, "deck='many'"),
    ({"deck": "6x2"}, "board='9s7c5s4h': not all in the deck, 2c2d3c3d4c4d5c5d6c6d7c7d"),
    ({"deck": "6x2", "board": "2c3c4c", "ranges": "AA;77"}, "outside the deck"),
    ({"pot": 3}, "pot=3"),
    ({"stack": 99}, "stack=99"),
  ],
  "parametric_poker": [
    ({"bets": 0}, "bets=0: must be at least 1"),
    ({"raises": 0}, "raises=0: must be at least 1"),
    ({"max_raises": -1}, "max_raises=-1: must be at least 0"),
    ({"ranks": 1}, "ranks=1: must be at least 2"),
    ({"copies": 0}, "copies=0: must be at least 1"),
    ({"ranks": 2, "copies": 1}, "ranks=2, copies=1: three cards are dealt, so there must be three"),
  ],
}


@pytest.mark.parametrize(
  ("name", "parameters", "message"), [(name, *row) for name, rows in MISTAKES.items() for row in rows]
)
def test_wrong_parameters(name, parameters, message):
  with pytest.raises(ValueError) as error:
    pyspiel.load_game(name, parameters)
  assert message in str(error.value)
