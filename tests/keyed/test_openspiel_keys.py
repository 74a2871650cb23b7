"""Any OpenSpiel game by its strings: learned, within its tables, and through files."""

import numpy as np
import pyspiel
import pytest
from edited_files import packed, rewrite, unpacked
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import expected_game_score, exploitability

import ps_cfr_spiel
from ps_cfr_spiel.cards.poker import cards
from ps_cfr_spiel.evaluation.match_play import match, player, search_response
from ps_cfr_spiel.memory import LimitReachedError
from ps_cfr_spiel.policy import for_hands
from ps_cfr_spiel.sampling.keyed import OpenSpielKeys


@pytest.fixture(scope="module")
def kuhn():
  solver = ps_cfr_spiel.KeyedMCCFRSolver(
    pyspiel.load_game("kuhn_poker"), "corrected", exploration=0.4, cells=24
  )
  solver.run(150)
  return solver


def test_a_walked_game_has_its_walked_figures(kuhn):
  """Kuhn's value is -1 / 18; the tables hold its 12 infostates of two moves, and nothing else."""
  policy = kuhn.average_policy()
  assert exploitability.exploitability(kuhn.game, policy) < 0.03
  value = expected_game_score.policy_value(kuhn.game.new_initial_state(), [policy] * 2)[0]
  assert value == pytest.approx(-1 / 18, abs=0.01)
  assert kuhn.cells <= 24
  assert not hasattr(kuhn, "evaluation")


def test_three_players_learn_and_a_search_answers(tmp_path):
  """OpenSpiel's NashConv falls to a fifth, through a file too; a search loses nothing to it."""
  game = pyspiel.load_game("kuhn_poker(players=3)")
  solver = ps_cfr_spiel.KeyedMCCFRSolver(game, batch=64, cells=96, exploration=0.4)
  solver.run(1)
  before = exploitability.nash_conv(game, openspiel_policy.UniformRandomPolicy(game))
  solver.save(tmp_path / "run.safetensors")
  solver = ps_cfr_spiel.load_solver(tmp_path / "run.safetensors")
  solver.run(100)
  policy = solver.average_policy()
  assert exploitability.nash_conv(game, policy) < before / 5
  assert solver.plays == 3 * 64 * 101
  value = expected_game_score.policy_value(game.new_initial_state(), [policy] * 3)[0]
  assert value - 0.2 < solver.game_value < value  # player 0 explores in the turns that are recorded
  weak = ps_cfr_spiel.KeyedMCCFRSolver(game, batch=1, cells=96)
  weak.run(1)
  result = search_response(game, weak.average_policy(), games=90, rollouts=60)
  assert result.mean > 0.1


def test_without_decay_it_is_outcome_sampling(kuhn):
  """Nothing is learned that could correct the estimates, and the strategy gets better all the same."""
  solver = ps_cfr_spiel.KeyedMCCFRSolver(kuhn.game, "corrected", exploration=0.4, decay=0, cells=24)
  solver.run(40)
  assert not np.any(solver._state.tables.learned)
  assert exploitability.exploitability(kuhn.game, solver.average_policy()) < 0.1  # uniform play: 0.46


def test_a_best_response_to_an_agent(kuhn, tmp_path):
  """In Kuhn poker, to play that is far from optimal: as good as OpenSpiel's; also through a file."""
  weak = ps_cfr_spiel.KeyedMCCFRSolver(kuhn.game, "corrected", batch=2, cells=24, seed=3)
  weak.run(2)
  agent = weak.average_policy()
  solver = ps_cfr_spiel.KeyedMCCFRSolver(kuhn.game, "corrected", exploration=0.4, cells=30, against=agent)
  solver.run(100)
  solver.save(tmp_path / "run.safetensors")
  again = ps_cfr_spiel.load_solver(tmp_path / "run.safetensors")
  again.run(50)
  solver.run(50)
  response = solver.average_policy()
  np.testing.assert_array_equal(response.table, again.average_policy().table)
  state = kuhn.game.new_initial_state().child(1).child(0)
  assert again.against.action_probabilities(state) == agent.action_probabilities(state)
  for seat in (0, 1):
    pair = [agent, agent]
    pair[seat] = response
    value = expected_game_score.policy_value(kuhn.game.new_initial_state(), pair)[seat]
    best = exploitability.best_response(kuhn.game, agent, seat)["best_response_value"]
    assert value == pytest.approx(best, abs=0.02)


def test_full_tables_end_a_run_and_nothing_is_lost(tmp_path):
  game = pyspiel.load_game("leduc_poker")
  solver = ps_cfr_spiel.KeyedMCCFRSolver(game, batch=4, cells=700)
  with pytest.raises(LimitReachedError, match=r"The tables are full: \d+ keys have \d+ of 700 cells"):
    solver.run(2000, checkpoint=tmp_path / "run.safetensors")
  assert 0 < solver.iteration < 2000
  again = ps_cfr_spiel.load_solver(tmp_path / "run.safetensors")
  assert again.iteration == solver.iteration
  assert again.cells == solver.cells > 0
  header, arrays = unpacked((tmp_path / "run.safetensors").read_bytes())
  arrays["counts"] = arrays["counts"][:-1]  # the last key is gone
  (tmp_path / "damaged.safetensors").write_bytes(packed(header, arrays))
  with pytest.raises(
    ValueError, match=r"damaged.safetensors is damaged, of another game or .* of counts it has"
  ):
    ps_cfr_spiel.load_solver(tmp_path / "damaged.safetensors")


def test_a_file_with_players_that_the_game_lacks_is_named(tmp_path):
  solver = ps_cfr_spiel.KeyedMCCFRSolver(pyspiel.load_game("kuhn_poker"), batch=4, cells=24)
  solver.run(1)
  solver.save(tmp_path / "run.safetensors")
  rewrite(tmp_path / "run.safetensors", arrays={"players": lambda players: players + 2})
  with pytest.raises(ValueError, match=r"run.safetensors is damaged: keys: .* players from 0 to 1"):
    ps_cfr_spiel.load_solver(tmp_path / "run.safetensors")


def test_full_tables_are_told_though_plays_follow():
  """A chunk goes on after them, over keys that have cells; the next run begins anew."""
  solver = ps_cfr_spiel.KeyedMCCFRSolver(pyspiel.load_game("kuhn_poker"), batch=4, cells=23)
  with pytest.raises(LimitReachedError, match="The tables are full: 11 keys have 22 of 23 cells"):
    solver._advance(500)
  with pytest.raises(LimitReachedError, match="The tables are full: 11 keys"):
    solver._advance(500)


def test_a_game_that_cannot_be_walked_is_learned():
  """Within its tables; and it gets better against a random player."""
  game = pyspiel.load_game("liars_dice(numdice=2)")
  solver = ps_cfr_spiel.KeyedMCCFRSolver(game, cells=300_000)
  solver.run(40)
  score = match(game, player(solver.average_policy()), player("random"), 300).score
  assert score.wins > 1.3 * score.losses


@pytest.mark.parametrize(
  ("name", "options", "message"),
  [
    ("matching_pennies_3p", {}, "cannot be played here: it has no utilities that sum to zero"),
    ("kuhn_poker(players=3)", {"estimate": "corrected"}, "estimate='corrected' is for two players"),
    ("kuhn_poker(players=3)", {"against": np.zeros(96), "cells": 96}, "against: a best response is"),
    ("kuhn_poker", {"key": "hand"}, "Unknown key 'hand'; choose one of 'infostate', 'observation'"),
    ("kuhn_poker", {"key": 7}, "Unknown key 7"),
    ("kuhn_poker", {"cells": 0}, "cells must be an integer of at least 1, got 0"),
    ("cheat", {"cells": 10, "key": "memory"}, "Unknown key 'memory'; choose one of 'infostate', 'obs"),
    ("cheat(ranks=13)", {}, "too many to count the keys.* With cells=1000000"),
    ("cheat", {"key": "infostate"}, "Unknown key 'infostate'; choose one of 'observation', 'memory'"),
  ],
)
def test_wrong_input(name, options, message):
  with pytest.raises(ValueError, match=message):
    ps_cfr_spiel.KeyedMCCFRSolver(pyspiel.load_game(name), **options)


def test_simultaneous_moves_come_one_after_the_other():
  """Solvers play the game in turns; its own states have no player to move."""
  game = pyspiel.load_game("matrix_rps")
  with pytest.raises(ValueError, match="no players who move one after the other"):
    OpenSpielKeys(game)
  solver = ps_cfr_spiel.KeyedMCCFRSolver(game, batch=1)
  assert solver.game.get_type().dynamics == pyspiel.GameType.Dynamics.SEQUENTIAL


def test_moves_that_are_forced():
  """In dark hex a player may have one field left, whose action is 0."""
  game = pyspiel.load_game("dark_hex(board_size=2)")
  solver = ps_cfr_spiel.KeyedMCCFRSolver(game, batch=32, cells=2000)
  solver.run(20)
  score = match(game, player(solver.average_policy()), player("random"), 60).score
  assert score.wins > score.losses


def test_keys_that_both_players_share():
  """In Kuhn poker with strings that say nothing."""
  form = OpenSpielKeys(pyspiel.load_game("kuhn_poker"))
  form._string = lambda state: "the same"
  state = form.game.new_initial_state().child(0).child(1)
  form.visit(state)
  with pytest.raises(ValueError, match="players 0 and 1 have the infostate 'the same'"):
    form.visit(state.child(0))


def test_keys_with_other_moves():
  """In Leduc poker with strings that say only whose they are: a raise makes three moves of two."""
  form = OpenSpielKeys(pyspiel.load_game("leduc_poker"), "observation")
  form._string = lambda state: f"player {state.current_player()}"
  state = form.game.new_initial_state().child(0).child(1)
  form.visit(state)
  with pytest.raises(ValueError, match="2 moves and 3 moves are legal at the same observation 'player 0'"):
    form.visit(state.child(1).child(2))


def test_a_key_that_was_not_met_has_no_cells():
  """To look at it gives it none."""
  form = OpenSpielKeys(pyspiel.load_game("kuhn_poker"), cells=24)
  state = form.game.new_initial_state().child(0).child(1)
  assert form.locate(state) == (slice(0, 0), [0, 1])
  assert form.visit(state) == form.locate(state) == (slice(0, 2), [0, 1])
  assert form.visit(state.child(0)) == (slice(2, 4), [0, 1])


def test_cheat_by_keys_that_plays_meet(tmp_path):
  """The whole deck, whose keys are too many to count: as few cells as were met, also from a file."""
  game = pyspiel.load_game("cheat(ranks=13,hand_size=2,max_turns=6)")
  solver = ps_cfr_spiel.KeyedMCCFRSolver(game, cells=50_000, batch=16)
  solver.run(4)
  solver.save(tmp_path / "run.safetensors")
  again = ps_cfr_spiel.load_solver(tmp_path / "run.safetensors")
  for run in (solver, again):
    run.run(2)
  assert 500 < solver.cells < 50_000
  np.testing.assert_array_equal(solver.average_policy().table, again.average_policy().table)
  assert match(game, player(solver.average_policy()), player("random"), 20).score.games == 20


class HandByHand(openspiel_policy.Policy):
  """Another policy, which is asked for one hand at a time."""

  def __init__(self, policy):
    super().__init__(policy.game, [0, 1])
    self._policy = policy

  def action_probabilities(self, state, player_id=None):
    return self._policy.action_probabilities(state, player_id)


@pytest.mark.parametrize("key", ["infostate", "observation"])
def test_all_hands_of_holdem_at_once(key):
  """The answers are those of each hand, also of hands that no play has met."""
  game = pyspiel.load_game("holdem(deck=5x2,stack=6,blinds=2/1,bets=a/x/a)")
  solver = ps_cfr_spiel.KeyedMCCFRSolver(game, batch=64, key=key)
  solver.run(4)
  policy, state, spread = solver.average_policy(), game.new_initial_state(), 0
  for action in (0, 1, 2, 3, 1, 1, 4, 5, 6, 1):
    if not state.is_chance_node():
      found, asked = for_hands(policy, state), for_hands(HandByHand(policy), state)
      live = cards.unblocked({*cards.WHOLE_DECK} - {*game.deck} | {*state.runout})
      for legal in state.legal_actions():
        np.testing.assert_allclose(found[legal][live], asked[legal][live])
        spread = max(spread, np.ptp(found[legal][live]))
    state.apply_action(action)
  assert spread > 0.1
