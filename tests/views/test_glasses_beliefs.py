import numpy as np
import pyspiel
import pytest
from open_spiel.python.bots.uniform_random import UniformRandomBot

import ps_cfr_spiel
from ps_cfr_spiel.views import evader_beliefs

PATH = "glasses(edges=0-1 1-2 2-3 3-4 4-5,start=2:0 5,turns=2)"


@pytest.fixture(scope="module")
def resolving():
  return ps_cfr_spiel.ContinualResolving(pyspiel.load_game(PATH), 50)


@pytest.mark.parametrize("seed", range(4))
def test_a_search_knows_where_the_evader_may_be(resolving, seed):
  chase = evader_beliefs.watch(resolving, UniformRandomBot(1, np.random.RandomState(seed)), seed)
  assert chase.state.is_terminal()
  history = chase.state.history()
  assert len(chase.beliefs) == len(history) + 1
  assert len(chase.seconds) == len(history[::2])
  assert chase.beliefs[0] == {2: 1.0}
  state = resolving.game.new_initial_state()
  for action, belief in zip([None, *history], chase.beliefs, strict=True):
    if action is not None:
      state.apply_action(action)
    assert state.evader in belief
    assert sum(belief.values()) == pytest.approx(1)


def test_the_first_decision_waits_for_the_first_search():
  fresh = ps_cfr_spiel.ContinualResolving(pyspiel.load_game(PATH), 5)
  chase = evader_beliefs.watch(fresh, UniformRandomBot(1, np.random.RandomState(0)))
  assert chase.seconds[0] >= fresh.seconds[0]
  assert sum(chase.seconds) >= sum(fresh.seconds)


def test_beliefs_are_those_of_the_expected_evader(resolving):
  """After the evader's first move the chaser has searched twice, and the evader's part is from the first."""
  chase = evader_beliefs.watch(resolving, UniformRandomBot(1, np.random.RandomState(0)), 0)
  state = resolving.game.new_initial_state()
  state.apply_action(chase.state.history()[0])
  first = resolving.start(0).tables
  policy = ps_cfr_spiel.TreePolicy(resolving.game, resolving.labels, first)
  probabilities = policy.action_probabilities(state)
  expected = {node: p for node, p in probabilities.items() if p}
  assert {n: p for n, p in chase.beliefs[2].items() if p} == pytest.approx(expected)


def test_other_games_are_rejected():
  resolving = ps_cfr_spiel.ContinualResolving(pyspiel.load_game("kuhn_poker"), 10)
  with pytest.raises(ValueError, match="Expected a search of glasses, got one of kuhn_poker"):
    evader_beliefs.watch(resolving, UniformRandomBot(1, np.random.RandomState(0)))
