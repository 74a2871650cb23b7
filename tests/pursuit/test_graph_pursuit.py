import itertools

import numpy as np
import pyspiel
import pytest
from game_checks import (
  INFOSTATE,
  OBSERVATION,
  PUBLIC,
)
from open_spiel.python.observation import make_observation
from ps_cfr_spiel.games.pursuit import ways
from reference import sequence_form_value
from variants import ENUMERATED, GRAPH_PURSUIT

import ps_cfr_spiel


def play(game_string, *turns):
  """The state after turns: where the attacker goes, and where the units go; or the attacker alone."""
  state = pyspiel.load_game(game_string).new_initial_state()
  for attacker, *units in turns:
    state.apply_action_with_legality_check(state.string_to_action(f"Attacker to {attacker}"))
    if units:
      name = f"Units to {'/'.join(map(str, units))}"
      state.apply_action_with_legality_check(state.string_to_action(name))
  return state


def moves_of(state):
  return [state.action_to_string(action).split()[-1] for action in state.legal_actions()]


@pytest.mark.parametrize(
  ("game_string", "turns", "won"),
  [
    (GRAPH_PURSUIT, [(1, 2), (2, 3)], 2.0),  # on the goal when time is out
    (GRAPH_PURSUIT, [(1, 2), (0, 1)], 0.0),
    (
      GRAPH_PURSUIT,
      [(1, 2), (2, 1)],
      2.0,
    ),  # crossing on the way to the goal counts as the goal
    (GRAPH_PURSUIT.replace("turns=2", "turns=3"), [(1, 2), (2, 1)], 2.0),  # before the last turn, too
    ("graph_pursuit(edges=0-1 1-2 2-3,start=0:3,goal=0,turns=3)", [(1, 2), (2, 1)], -1.0),  # they cross
    (GRAPH_PURSUIT.replace("goal=2", "goal=0"), [(1, 2), (2, 1)], -1.0),
    (
      GRAPH_PURSUIT.replace("turns=2", "turns=3"),
      [(1, 2), (2, 3), (1, 2)],
      0.0,
    ),  # no end at the goal
    ("graph_pursuit(edges=0-1 1-2 2-3,start=0:2,goal=3,turns=3)", [(1, 1)], -1.0),  # the same node
    (ENUMERATED["graph_pursuit"]["the goal ends it"], [(1, 2)], 2.0),
    (
      ENUMERATED["graph_pursuit"]["one way"],
      [(1, 3, 3), (2, 3, 3), (3, 3, 3)],
      2.0,
    ),  # units stay at dead ends
    ("graph_pursuit(edges=0-1 1-2 2-3,start=0:3,goal=3,turns=1,timeout=-0.5)", [(1, 2)], -0.5),
  ],
)
def test_returns(game_string, turns, won):
  state = play(game_string, *turns)
  assert state.is_terminal()
  assert state.returns() == [won, -won]
  assert str(state).endswith(("goal", "caught", "time out"))
  before = play(game_string, *turns[:-1])
  assert not before.is_terminal() and before.returns() == [0.0, 0.0]


def test_moves():
  state = play("graph_pursuit")
  assert moves_of(state) == ["1", "4"]
  assert moves_of(play("graph_pursuit", (1,))) == ["2/7", "2/10", "7/7", "7/10"]
  assert moves_of(play("graph_pursuit(preset=alleys)")) == ["1", "2"]
  assert play("graph_pursuit", (1,)).attacker == 0  # it goes when the units go


def test_what_is_seen():
  """On the path both see each other within two edges; what is not seen is in nobody's string."""
  state = play("graph_pursuit(edges=0-1 1-2 2-3 3-4,start=0:4,goal=2,turns=3)")
  assert state.information_state_string(0) == "p0 | 0 | - | attacker to move"
  assert state.information_state_string(1) == "p1 | 4 | - | attacker to move"
  state = play("graph_pursuit(edges=0-1 1-2 2-3 3-4,start=0:4,goal=2,turns=3)", (1, 3), (2,))
  assert state.information_state_string(0) == "p0 | 0 1 2 | -, 1 sees 3 | defender to move"
  assert state.information_state_string(1) == "p1 | 4 3 | -, 1 sees 3 | defender to move"
  assert state.observation_string(0) == "p0 | 1 to 2 | 1 sees 3 | 1 of 3 turns | defender to move"
  assert state.observation_string(1) == "p1 | 3 | 1 sees 3 | 1 of 3 turns | defender to move"
  assert make_observation(state.get_game(), PUBLIC).string_from(state, 0) == "-, 1 sees 3 | defender to move"
  directed = pyspiel.load_game(ENUMERATED["graph_pursuit"]["one way"])
  assert directed.contact(0, (1, 3)) == (0, 1)  # one edge away
  assert directed.contact(3, (2, 2)) == ()  # no way back


def test_tensors():
  state = play("graph_pursuit", (1, 7, 10), (5,))
  info = make_observation(state.get_game(), INFOSTATE)
  info.set_from(state, 0)
  assert {name: piece.shape for name, piece in info.dict.items()} == {
    "player": (2,),
    "attacker_path": (4, 12),
    "units_path": (4, 2, 12),
    "turn": (5,),
    "turns": (4,),
    "contact_path": (4, 3, 12),
  }
  assert np.argwhere(info.dict["attacker_path"]).tolist() == [[0, 0], [1, 1], [2, 5]]
  assert not info.dict["units_path"].any()
  assert info.dict["turn"].tolist() == [0, 1, 0, 0, 0]
  info.set_from(state, 1)
  assert np.argwhere(info.dict["units_path"]).tolist() == [[0, 0, 3], [0, 1, 11], [1, 0, 7], [1, 1, 10]]
  now = make_observation(state.get_game(), OBSERVATION)
  now.set_from(state, 1)
  assert np.argwhere(now.dict["units"]).tolist() == [[0, 7], [1, 10]]
  assert np.argwhere(now.dict["turns"]).tolist() == [[1]]


def test_distances():
  """Against matrix powers: the first power of the graph that joins two nodes."""
  for preset in ways.PRESETS.values():
    reach = ways.parse_ways(preset["edges"])
    pursuit = pyspiel.load_game("graph_pursuit").pursuit._replace(ways=reach)
    adjacency = np.array([[b in near for b in range(len(reach))] for near in pursuit.ways], int)
    power, first = np.eye(len(reach), dtype=int), np.full(adjacency.shape, ways.FAR)
    for steps in range(len(reach)):
      first = np.where((power > 0) & (first == ways.FAR), steps, first)
      power = power @ adjacency
    params = {"preset": next(name for name, p in ways.PRESETS.items() if p is preset)}
    assert np.array_equal(first, pyspiel.load_game("graph_pursuit", params).pursuit.distance)


def test_solved():
  """The value by linear programming; the solver's, and that of what CFR+IRA finds."""
  game = pyspiel.load_game("graph_pursuit(preset=alleys)")
  value = sequence_form_value(game)
  solver = ps_cfr_spiel.PSCFRSolver(game, dtype="float64")
  solver.run(500)
  assert solver.exploitability() < 1e-3
  assert solver.value() == pytest.approx(value, abs=2e-3)


def test_public_states_of_the_observer_are_common_knowledge():
  """What everybody sees splits no public state of the closure, which may know more."""
  game = pyspiel.load_game("graph_pursuit(preset=alleys,turns=2)")
  closure, observer = (ps_cfr_spiel.build_tree(game, public_states=s).names for s in ("closure", "observer"))
  of = {}
  for (d, _, name), (e, _, other) in zip(closure.infostates(), observer.infostates(), strict=True):
    assert name == other
    assert of.setdefault(d.public_state, e.public_state) == e.public_state


def test_presets_are_short_for_their_parameters():
  for name, preset in ways.PRESETS.items():
    short, long = (pyspiel.load_game("graph_pursuit", p) for p in ({"preset": name}, preset))
    assert short.pursuit == long.pursuit
    assert len(set(itertools.chain(*short.pursuit.ways))) > 5


def test_illegal_actions():
  with pytest.raises(ValueError, match=r"illegal action 5 at 0:3/11; legal are \[1, 4\]"):
    play("graph_pursuit").apply_action(5)
