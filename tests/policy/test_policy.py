"""Policies out and in: every kind that OpenSpiel knows gives the same numbers."""

import pickle

import numpy as np
import pyspiel
import pytest
from faulty_games import FaultyGame
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import exploitability as openspiel_exploitability
from reference import random_policy

import ps_cfr_spiel
from ps_cfr_spiel import (
  ContinualResolving,
  KeyedMCCFRSolver,
  OnlineOutcomeSampling,
  PSCFRSolver,
  TreePolicy,
  build_tree,
  matches,
)
from ps_cfr_spiel.abstractions import post_process

TINY = "river_subgame(board=KhKd8c4s2h,stack=500,ranges=AsAd QsQd:0.5 7c6c;JsJd Ah8h 5c4c:3)"


@pytest.fixture(scope="module")
def game():
  return pyspiel.load_game(TINY)


def test_any_policy_is_evaluated_as_openspiel_does(game):
  table = random_policy(game, 5)
  expected = pyspiel.exploitability(game, table)
  assert ps_cfr_spiel.exploitability(game, table) == pytest.approx(expected, abs=1e-9)
  tabular = openspiel_policy.tabular_policy_from_callable(
    game, lambda state: dict(table.action_probabilities(state.information_state_string()))
  )
  assert ps_cfr_spiel.exploitability(game, tabular) == pytest.approx(expected, abs=1e-9)
  uniform = openspiel_policy.UniformRandomPolicy(game)
  expected = openspiel_exploitability.exploitability(game, uniform)
  assert ps_cfr_spiel.exploitability(game, uniform) == pytest.approx(expected, abs=1e-9)


def test_exports_agree(game):
  solver = PSCFRSolver(game)
  solver.run(10)
  policy = solver.average_policy()
  tabular, cpp = policy.to_tabular(), policy.to_pyspiel()
  for state in tabular.states:
    lazy = policy.action_probabilities(state)
    assert tabular.action_probabilities(state) == pytest.approx(lazy)
    assert dict(cpp.action_probabilities(state)) == pytest.approx(lazy)
    assert sorted(lazy) == state.legal_actions()


def test_full_size_game_exports_without_a_walk():
  game = pyspiel.load_game("river_subgame")
  policy = PSCFRSolver(game).average_policy()
  cpp = policy.to_pyspiel()
  assert len(cpp.policy_table()) == 21_620
  with pytest.raises(ValueError, match=r"61,000,831 histories.*to_pyspiel\(\)"):
    policy.to_tabular()
  assert ps_cfr_spiel.exploitability(game, cpp) == pytest.approx(
    ps_cfr_spiel.exploitability(game, policy), rel=1e-9
  )


def test_errors_name_what_is_wrong(game):
  policy = PSCFRSolver(game).average_policy()
  with pytest.raises(ValueError, match="No player acts"):
    policy.action_probabilities(game.new_initial_state())
  with pytest.raises(ValueError, match="no information state 'nonsense'"):
    policy.at(0, "nonsense")
  with pytest.raises(TypeError, match="Expected an OpenSpiel policy, got dict"):
    ps_cfr_spiel.exploitability(game, {})
  with pytest.raises(ValueError, match="no entry for information state"):
    ps_cfr_spiel.exploitability(game, pyspiel.TabularPolicy({}))
  table = {name: [(1, 0.5)] for _, _, name in policy.labels.infostates()}
  with pytest.raises(ValueError, match="expected a distribution over the legal actions"):
    ps_cfr_spiel.exploitability(game, pyspiel.TabularPolicy(table))
  with pytest.raises(ValueError, match="Unknown dtype"):
    ps_cfr_spiel.exploitability(game, policy, dtype="int8")


def test_the_policy_of_a_game_of_the_same_shape_is_not_taken_for_one_of_this(game):
  other = pyspiel.load_game(TINY.replace("QsQd", "TsTd"))
  policy = PSCFRSolver(other).average_policy()
  with pytest.raises(ValueError, match="no information state 'p0 QsQd"):
    ps_cfr_spiel.exploitability(game, policy)


def test_policies_do_not_change_with_the_solver(game):
  solver = PSCFRSolver(game)
  policy = solver.average_policy()
  before = [block.copy() for block in policy.strategies[0]]
  solver.run(5)
  for a, b in zip(before, policy.strategies[0], strict=True):
    np.testing.assert_array_equal(a, b)


# Chance never deals y, but OpenSpiel's tools go there too.
NEVER = """EFG 2 R "never" { "A" "B" } ""
c "" 1 "deal" { "x" 1.0 "y" 0.0 } 0
p "" 1 1 "i" { "l" "r" } 0
t "" 1 "" { 1 -1 }
p "" 2 1 "k" { "l" "r" } 0
t "" 2 "" { 0 0 }
t "" 3 "" { 2 -2 }
p "" 1 2 "j" { "l" "r" "m" } 0
t "" 4 "" { 2 -2 }
t "" 5 "" { 0 0 }
t "" 6 "" { 3 -3 }
"""


@pytest.mark.parametrize("kind", ["average", "re-solving", "online sampling"])
def test_openspiels_tools_go_where_chance_never_does(kind):
  game = pyspiel.load_efg_game(NEVER)
  impossible = game.new_initial_state().child(1)
  if kind == "average":
    solver = PSCFRSolver(game)
    solver.run(20)
    policy = solver.average_policy()
    assert pyspiel.exploitability(game, policy.to_pyspiel()) == pytest.approx(
      solver.exploitability(), abs=1e-6
    )
    assert policy.to_tabular().action_probabilities(impossible) == dict.fromkeys(range(3), 1 / 3)
  elif kind == "re-solving":
    policy = ps_cfr_spiel.ContinualResolving(game, iterations=5)
  else:
    policy = ps_cfr_spiel.OnlineOutcomeSampling(game, iterations=20)
  expected = ps_cfr_spiel.exploitability(game, policy)
  assert openspiel_exploitability.exploitability(game, policy) == pytest.approx(expected, abs=1e-6)
  assert policy.action_probabilities(impossible) == dict.fromkeys(range(3), 1 / 3)


def test_play_behind_a_chance_outcome_that_is_not_listed_is_uniform():
  game = FaultyGame()
  state, policy = game.new_initial_state(), PSCFRSolver(game).average_policy()
  actions = state.child(0).legal_actions()
  state.apply_action(5)  # of two outcomes
  assert policy.action_probabilities(state, 0) == dict.fromkeys(actions, 1 / len(actions))


def test_states_of_other_games_are_refused():
  policy = PSCFRSolver(pyspiel.load_game("kuhn_poker")).average_policy()
  dice = pyspiel.load_game("liars_dice").new_initial_state()
  for action in (0, 1):
    dice.apply_action(action)
  assert any(d.player == 0 and "0" in d.infostates for d in policy.labels.decisions)
  dice_policy = PSCFRSolver(pyspiel.load_game("leduc_poker")).average_policy()
  for one in (policy, dice_policy):
    with pytest.raises(ValueError, match=r"the state is of another game, liars_dice\(\)"):
      one.action_probabilities(dice)
  same = pyspiel.load_game("leduc_poker(players=2)").new_initial_state()
  for action in (0, 1):
    same.apply_action(action)
  assert len(dice_policy.action_probabilities(same)) == 2  # the same game, written otherwise


def kuhn_state(players=2):
  """The first decision."""
  state = pyspiel.load_game(f"kuhn_poker(players={players})").new_initial_state()
  for card in range(players):
    state.apply_action(card)
  return state


MAKERS = {
  "TreePolicy": lambda game: PSCFRSolver(game).average_policy(),
  "KeyedPolicy": lambda game: KeyedMCCFRSolver(game).average_policy(),
  "WrappedPolicy": lambda game: post_process(game, PSCFRSolver(game).average_policy().to_tabular(), "purify"),
  "ContinualResolving": ContinualResolving,
  "OnlineOutcomeSampling": OnlineOutcomeSampling,
  "MonteCarloResolving": matches.MonteCarloResolving,
}


@pytest.mark.parametrize("maker", sorted({*MAKERS} - {"WrappedPolicy"}))
def test_states_of_a_game_with_more_players_are_refused(maker):
  """The first player sees the same there, has the same actions, and the game's name is the same."""
  policy = MAKERS[maker](pyspiel.load_game("kuhn_poker"))
  with pytest.raises(ValueError, match=r"for kuhn_poker\(\); the state is of .* kuhn_poker\(players=3\)"):
    policy.action_probabilities(kuhn_state(3))


@pytest.mark.parametrize("maker", MAKERS)
def test_a_player_who_does_not_act_is_named(maker):
  policy = MAKERS[maker](pyspiel.load_game("kuhn_poker"))
  with pytest.raises(ValueError, match=r"Player 1 does not act at this state \(current player 0\)\.$"):
    policy.action_probabilities(kuhn_state(), 1)


@pytest.mark.parametrize("depth", [0, 1])
@pytest.mark.parametrize("other", ["kuhn_poker(players=3)", "leduc_poker"])
def test_a_bot_of_particles_refuses_states_of_other_games(depth, other):
  bot = matches.ParticleBot(pyspiel.load_game("kuhn_poker"), 0, depth=depth, rollouts=10)
  state = kuhn_state(3) if "kuhn" in other else pyspiel.load_game(other).new_initial_state().child(0).child(1)
  with pytest.raises(ValueError, match=r"for kuhn_poker\(\); the state is of another game"):
    bot.step(state)


@pytest.mark.parametrize("value", [None, 3, "x"])
def test_what_is_no_state_is_refused(game, value):
  with pytest.raises(TypeError, match=r"Expected a pyspiel\.State"):
    PSCFRSolver(game).average_policy().action_probabilities(value)


def test_what_chance_deals_does_not_depend_on_play():
  """Hands that the opponent never brings along are dealt all the same."""
  game = pyspiel.load_game("river_subgame(pot=10,stack=20,bets=a,ranges=AA KK;QQ TT)")
  tree, random = build_tree(game), np.random.default_rng(0)
  uniform = [[np.ones(shape) for shape in own.block_shapes] for own in tree.players]
  chosen = [[random.integers(len(x), size=x.shape[1:]) for x in own] for own in uniform]
  pure = [
    [1.0 * (np.arange(len(x))[:, None, None] == c) for x, c in zip(*both, strict=True)]
    for both in zip(uniform, chosen, strict=True)
  ]
  policies = [
    TreePolicy(game, tree.names, [[x / x.sum(0) for x in own] for own in p]) for p in (uniform, pure)
  ]
  pairs = [[policy.reach(decision) for policy in policies] for decision in tree.names.decisions]
  for one, other in pairs:
    np.testing.assert_allclose(one.dealt, other.dealt)
  assert any(not np.allclose(one.others, other.others) for one, other in pairs)


def test_a_policy_that_was_asked_is_pickled(game):
  """Its reach and values, which it keeps, go along, with an equity that is computed when asked for."""
  policy = PSCFRSolver(game).average_policy()
  decision = policy.labels.decisions[0]
  policy.worths.at(decision)
  copy = pickle.loads(pickle.dumps(policy))
  equity = policy.reach(decision).equity
  assert equity is not None and equity.any()
  np.testing.assert_array_equal(copy.reach(decision).equity, equity)


def test_openspiel_reads_a_solved_policy_as_its_table():
  game = pyspiel.load_game("kuhn_poker")
  solver = PSCFRSolver(game)
  solver.run(50)
  policy = solver.average_policy()
  own = openspiel_policy.python_policy_to_pyspiel_policy(policy)
  for name, row in policy.state_lookup.items():
    assert dict(own.action_probabilities(name)) == pytest.approx(policy.at(int(len(name) == 2), name))
    assert policy.action_probability_array[row].sum() == pytest.approx(1)
  with pytest.raises(ValueError, match="read-only"):
    policy.action_probability_array[0] = 0.5
