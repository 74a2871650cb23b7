"""Games of OpenSpiel's users: simultaneous moves, infostates that forget, general sums, more players."""

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import best_response, exploitability
from reference import nash_conv_with_recall

import ps_cfr_spiel
from ps_cfr_spiel import PSCFRSolver
from ps_cfr_spiel.rules import RM, RMPlus

SIMULTANEOUS = pyspiel.GameType.Dynamics.SIMULTANEOUS
PENNIES, PERFECT = "matrix_mp", "goofspiel(num_cards=4,points_order=descending)"
GENERAL_SUM = (
  "matrix_shapleys_game",
  "first_sealed_auction(max_value=3)",
  "sheriff(item_penalty=1.0,max_bribe=1,max_items=1,num_rounds=1)",
  "bargaining(max_turns=2,max_num_instances=1)",
)
TWO_ROUNDS = (
  "universal_poker(betting=limit,numPlayers=3,numRounds=2,blind=1 1 1,raiseSize=2 4,firstPlayer=1 1,"
  "maxRaises=1 1,numSuits=2,numRanks=2,numHoleCards=1,numBoardCards=0 1,stack=20 20 20)"
)
MORE_PLAYERS = (
  "kuhn_poker(players=3)",
  TWO_ROUNDS,
  "goofspiel(players=3,num_cards=3,points_order=descending)",
)
FORGETFUL = (
  PERFECT,
  "oshi_zumo(coins=3,size=1,horizon=3)",
  "liars_dice_ir(dice_sides=2,recall_length=1)",
  "phantom_go(board_size=2,max_game_length=3)",
  "oware(num_houses_per_player=2,num_seeds_per_house=1)",
  "pig(players=2,winscore=3,horizon=6)",
  "markov_soccer(horizon=1)",
)


def compiled(name):
  """The game, and options of `build_tree` that suit it."""
  return pyspiel.load_game(name), {"public_states": "none"} if name.startswith("phantom_go") else {}


def decisions(game):
  """All states of a game of two in which players decide."""
  waiting = [game.new_initial_state()]
  while waiting:
    state = waiting.pop()
    if state.is_terminal():
      continue
    if state.is_simultaneous_node():
      yield state
      moves = [state.legal_actions(i) for i in (0, 1)]
      for a in moves[0]:
        for b in moves[1]:
          waiting.append(state.clone())
          waiting[-1].apply_actions([a, b])
    else:
      if not state.is_chance_node():
        yield state
      waiting += [state.child(action) for action in state.legal_actions()]


CFR, CFR_PLUS = (RM(), pyspiel.CFRSolver), (RMPlus(), pyspiel.CFRPlusSolver)


@pytest.mark.parametrize(
  "name, rule, reference",
  [
    *((name, *CFR) for name in (PENNIES, "matrix_rps", "matrix_brps", *GENERAL_SUM, MORE_PLAYERS[0])),
    *((name, *CFR_PLUS) for name in (PENNIES, *GENERAL_SUM[:2], *MORE_PLAYERS)),
  ],
)
def test_iterates_equal_openspiels(name, rule, reference):
  given = pyspiel.load_game(name)
  turns = pyspiel.load_game_as_turn_based(name) if given.get_type().dynamics == SIMULTANEOUS else given
  ours, theirs = PSCFRSolver(given, rule, dtype="float64"), reference(turns)
  for _ in range(7):
    ours.evaluate_and_update_policy()
    theirs.evaluate_and_update_policy()
  mine = ours.average_policy().to_pyspiel()  # of all iterates
  table = theirs.tabular_average_policy().policy_table()  # a copy of all rows at each call
  assert mine.policy_table().keys() == table.keys()
  for infostate, row in mine.policy_table().items():
    expected = dict(table[infostate])
    assert max(abs(p - expected[a]) for a, p in row) < 1e-12
  players = given.num_players()
  assert players * ours.exploitability() == pytest.approx(pyspiel.nash_conv(turns, mine), abs=1e-12)


@pytest.mark.parametrize("name", [*GENERAL_SUM, "kuhn_poker(players=4)", MORE_PLAYERS[-1]])
def test_all_players_values_and_gains(name):
  game = pyspiel.load_game(name)
  solver = PSCFRSolver(game, dtype="float64")
  solver.run(3)
  found, policy = solver.evaluation(), solver.average_policy()
  root = solver.game.new_initial_state()
  values = pyspiel.expected_returns(root, policy.to_pyspiel(), -1, False)
  assert (found.value, *found.others) == pytest.approx(tuple(values), abs=1e-9)
  expected = exploitability.nash_conv(solver.game, policy.to_tabular(), return_only_nash_conv=False)
  np.testing.assert_allclose(found.gains, expected.player_improvements, atol=1e-9)
  assert game.num_players() * found.exploitability == pytest.approx(expected.nash_conv, abs=1e-9)
  rows = [row for row in policy.to_rows() if row["others_reach"]]
  best = {(row["infostate"], row["action"]): row["best_response_value"] for row in rows}
  for row in rows:  # the last player's best responses, by OpenSpiel
    if row["player"] == game.num_players() - 1:
      response = best_response.BestResponsePolicy(solver.game, row["player"], policy)
      break
  for infostate, members in response.infosets.items():
    total = sum(p for _, p in members)
    for action in members[0][0].legal_actions() if total else ():
      worth = sum(p * response.q_value(state, action) for state, p in members) / total
      assert best[infostate, action] == pytest.approx(worth, abs=1e-9)


@pytest.mark.parametrize("name", FORGETFUL)
def test_infostates_hold_the_players_past(name):
  """Their laws, on the game's own states: a name has one own past, and one set of actions."""
  game, options = compiled(name)
  solver = PSCFRSolver(game, dtype="float64", **options)
  solver.run(30)
  policy = solver.average_policy()
  assert 2 * solver.exploitability() == pytest.approx(nash_conv_with_recall(solver.game, policy), abs=1e-9)
  before = solver.exploitability()
  solver.run(300)
  assert solver.exploitability() < max(before / 2, 1e-9)


@pytest.mark.parametrize("name", [PENNIES, PERFECT, "markov_soccer(horizon=1)", "matrix_shapleys_game"])
def test_policies_answer_for_states_of_the_given_game(name):
  game, options = compiled(name)
  solver = PSCFRSolver(game, **options)
  solver.run(5)
  policy = solver.average_policy()
  for state in decisions(game):
    for player in (0, 1):
      turn = solver.game.new_initial_state()
      for move in state.history():
        turn.apply_action(move)
      for hidden in turn.legal_actions() if player else [None]:
        here = turn if hidden is None else turn.child(hidden)
        assert policy.action_probabilities(state, player) == policy.action_probabilities(here, player)


def test_files_and_evaluation_of_a_simultaneous_game(tmp_path):
  game = pyspiel.load_game(PERFECT)
  solver = PSCFRSolver(game, dtype="float64")
  solver.run(4)
  solver.save(tmp_path / "run.safetensors")
  policy = ps_cfr_spiel.load_policy(tmp_path / "run.safetensors")
  for of in (game, solver.game):
    found = ps_cfr_spiel.exploitability(of, policy)
    assert found == pytest.approx(solver.exploitability(), abs=1e-12)
  with pytest.raises(ValueError, match="forget"):
    policy.to_pyspiel()
  with pytest.raises(ValueError, match="forget"):
    policy.to_tabular()


@pytest.mark.parametrize(
  "use",
  [
    lambda game: ps_cfr_spiel.VRMCCFRSolver(game),
    lambda game: ps_cfr_spiel.ContinualResolving(game),
    lambda game: PSCFRSolver(game, abstraction="observation"),
  ],
)
def test_search_baselines_and_abstractions_are_for_zero_sum_games_of_two(use):
  with pytest.raises(ValueError, match=r"is of general sum; .* zerosum\(game=bargaining"):
    use(pyspiel.load_game(GENERAL_SUM[-1]))
  with pytest.raises(ValueError, match=r"has 3 players; .* are for two"):
    use(pyspiel.load_game(MORE_PLAYERS[0]))


def test_locks_are_for_two():
  with pytest.raises(ValueError, match="has 3 players; locks are for two"):
    PSCFRSolver(pyspiel.load_game(MORE_PLAYERS[0]), locks={"": {"Pass": 1}})


@pytest.mark.parametrize("solver", [ps_cfr_spiel.OutcomeSamplingSolver, ps_cfr_spiel.ExternalSamplingSolver])
@pytest.mark.parametrize("name", [MORE_PLAYERS[0], MORE_PLAYERS[-1], GENERAL_SUM[1]])
def test_samplers_of_more_players_and_general_sums(name, solver):
  sampling = solver(pyspiel.load_game(name), batch=32, seed=3)
  sampling.run(5)
  before = sampling.exploitability()
  sampling.run(500)
  assert sampling.exploitability() < before / 5


def test_the_difference_of_a_general_sum_game_is_zero_sum():
  game = pyspiel.load_game("zerosum(game=first_sealed_auction(max_value=3))")
  solver = PSCFRSolver(game)
  assert "utilities" not in solver.tree.names.remarks
  solver.run(50)
  assert solver.exploitability() < 0.05


@pytest.mark.parametrize("name", [PENNIES, "matrix_pd"])
def test_solvers_side_by_side_on_simultaneous_games(name):
  runs = ps_cfr_spiel.measures.compare(pyspiel.load_game(name), seconds=0.001, progress=False)
  assert {"CFR+", "OpenSpiel CFR+"} < set(runs)


def test_policies_in_cpp_that_know_states_only_are_asked_in_silence(capfd):
  game = pyspiel.load_game("kuhn_poker")
  found = ps_cfr_spiel.evaluation.evaluate_policy(game, pyspiel.UniformRandomPolicy(game))
  expected = exploitability.nash_conv(game, openspiel_policy.UniformRandomPolicy(game))
  assert 2 * found.exploitability == pytest.approx(expected, abs=1e-9)
  solver = pyspiel.ExternalSamplingMCCFRSolver(game, seed=1)
  solver.run_iteration()  # knows some strings, and all states
  ps_cfr_spiel.evaluation.evaluate_policy(game, solver.average_policy())
  assert capfd.readouterr().err == ""
