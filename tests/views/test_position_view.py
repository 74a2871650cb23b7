from typing import ClassVar

import numpy as np
import pyspiel
import pytest
from open_spiel.python.bots.uniform_random import UniformRandomBot
from ps_cfr_spiel.games import ForPeople, Map, Position

import ps_cfr_spiel
from ps_cfr_spiel import matches
from ps_cfr_spiel.apps import pictures
from ps_cfr_spiel.apps.views import belief_at, belief_text, explorer_page, watch
from ps_cfr_spiel.evaluation import player_views

PATH = "glasses(edges=0-1 1-2 2-3 3-4 4-5,start=2:0 5,turns=2)"


@pytest.fixture(scope="module")
def resolving():
  return ps_cfr_spiel.ContinualResolving(pyspiel.load_game(PATH), 50)


@pytest.mark.parametrize("seed", range(4))
def test_a_search_knows_where_the_evader_may_be(resolving, seed):
  chase = watch(resolving, UniformRandomBot(1, np.random.RandomState(seed)), seed)
  assert chase.state.is_terminal()
  history = chase.state.history()
  assert len(chase.beliefs) == len(history) + 1
  assert len(chase.seconds) == len(history[::2])
  assert chase.beliefs[0].sought.tolist() == [0, 0, 1, 0, 0, 0]
  state = resolving.game.new_initial_state()
  for action, belief in zip([None, *history], chase.beliefs, strict=True):
    if action is not None:
      state.apply_action(action)
    assert belief.sought[state.evader] > 0
    assert belief.sought.sum() == pytest.approx(1)
    assert np.flatnonzero(belief.others == 1).tolist() == sorted({*state.stones})


def test_the_first_decision_waits_for_the_first_search():
  fresh = ps_cfr_spiel.ContinualResolving(pyspiel.load_game(PATH), 5)
  chase = watch(fresh, UniformRandomBot(1, np.random.RandomState(0)))
  assert chase.seconds[0] >= fresh.seconds[0]
  assert sum(chase.seconds) >= sum(fresh.seconds)


def test_beliefs_are_those_of_the_expected_evader(resolving):
  """After the evader's first move the chaser has searched twice, and the evader's part is from the first."""
  chase = watch(resolving, UniformRandomBot(1, np.random.RandomState(0)), 0)
  state = resolving.game.new_initial_state()
  state.apply_action(chase.state.history()[0])
  first = resolving.start(0).tables
  policy = ps_cfr_spiel.TreePolicy(resolving.game, resolving.labels, first)
  probabilities = policy.action_probabilities(state)
  expected = {node: p for node, p in probabilities.items() if p}
  sought = chase.beliefs[2].sought
  assert {n: sought[n] for n in np.flatnonzero(sought)} == pytest.approx(expected)


def test_other_games_are_rejected():
  resolving = ps_cfr_spiel.ContinualResolving(pyspiel.load_game("kuhn_poker"), 10)
  with pytest.raises(ValueError, match=r"Expected a game with a map.*kuhn_poker.* has none"):
    watch(resolving, UniformRandomBot(1, np.random.RandomState(0)))


TYPE = pyspiel.GameType(
  "hide_and_seek",
  "Hide and seek",
  pyspiel.GameType.Dynamics.SEQUENTIAL,
  pyspiel.GameType.ChanceMode.DETERMINISTIC,
  pyspiel.GameType.Information.IMPERFECT_INFORMATION,
  pyspiel.GameType.Utility.ZERO_SUM,
  pyspiel.GameType.RewardModel.TERMINAL,
  2,
  2,
  provides_information_state_string=True,
  provides_information_state_tensor=False,
  provides_observation_string=False,
  provides_observation_tensor=False,
)


class Hides(pyspiel.Game, ForPeople):
  """Player 0 hides on one of three nodes in a row, player 1 looks on one of them, first the middle one."""

  bots: ClassVar = {"last": lambda seat, rng: LastBot()}

  def __init__(self, params=None):
    super().__init__(TYPE, pyspiel.GameInfo(3, 0, 2, -1.0, 1.0, 0.0, 2), params or {})

  def new_initial_state(self):
    return Hidden(self)

  def make_py_observer(self, kind=None, params=None):
    return Watcher()

  def map(self):
    return Map(((1,), (0, 2), (1,)), "hider", "seeker")

  def position(self, state):
    node, seeker = (*state.history(), 0, 1)[:2] if state.history() else (1, 1)
    return Position(node, (seeker if len(state.history()) > 1 else 1,), f"After {len(state.history())} of 2")


class Hidden(pyspiel.State):
  def current_player(self):
    return pyspiel.PlayerId.TERMINAL if self.is_terminal() else len(self.history())

  def is_terminal(self):
    return len(self.history()) == 2

  def _legal_actions(self, player):
    return [0, 1, 2]

  def _apply_action(self, action):
    pass

  def _action_to_string(self, player, action):
    return f"Node {action}"

  def returns(self):
    won = 1.0 - 2.0 * (self.is_terminal() and len({*self.history()}) == 1)
    return [won, -won] if self.is_terminal() else [0.0, 0.0]

  def information_state_string(self, player=None):
    seen = self.history()[:1] if (self.current_player() if player is None else player) == 0 else []
    return f"{player}{seen}{len(self.history())}"

  def __str__(self):
    return str(self.history())


class Watcher:
  """Sees how many moves were made, and where player 1 looked."""

  dict, tensor = {}, None

  def set_from(self, state, player):
    pass

  def string_from(self, state, player):
    return f"{len(state.history())}{state.history()[1:]}"


class LastBot(pyspiel.Bot):
  def step(self, state):
    return state.legal_actions()[-1]

  def restart_at(self, state):
    pass


def test_a_game_of_ones_own_has_a_map_and_bots(tmp_path):
  """Beliefs, page, picture, the map for a player, and an opponent: nothing of it names a game."""
  game = Hides()
  tree = ps_cfr_spiel.build_tree(game)
  hides, seeks = (player.block_shapes[0] for player in tree.players)
  strategies = [[np.reshape([0.2, 0.5, 0.3], hides)], [np.full(seeks, 1 / 3)]]
  policy = ps_cfr_spiel.TreePolicy(game, tree.labels, strategies)
  state = game.new_initial_state()
  state.apply_action(2)
  assert belief_at(state, policy).sought == pytest.approx([0.2, 0.5, 0.3])
  assert belief_at(state).sought == pytest.approx(3 * [1 / 3])
  assert "node 1    50.00%" in belief_text(state, policy)
  page = explorer_page.page_data(policy)
  assert page["map"]["edges"] == [(0, 1, False), (1, 2, False)]
  assert page["nodes"][1]["belief"] == pytest.approx([0.2, 0.5, 0.3])
  assert page["nodes"][1]["pieces"] == [[1, 1]]
  pictures.position(state, policy, revealed=True).savefig(tmp_path / "position.png")
  assert "the hider starts on 1, the seeker on 1:\n  0: 1\n  1: 0 2\n  2: 1" in player_views.map_of(game)
  end = matches.play_games(game, matches.player("last", game=game), matches.player("last", game=game), 1)
  assert end[0].actions == (2, 2)
