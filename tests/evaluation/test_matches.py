import builtins
import io

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as openspiel_policy
from ps_cfr_spiel.games.cheat.bots import HeuristicBot, NaiveBot

import ps_cfr_spiel
from ps_cfr_spiel import matches
from ps_cfr_spiel.evaluation import evaluate_match
from ps_cfr_spiel.evaluation.match_results import Score, wilson

CHEAT = "cheat(ranks=3,suits=2,hand_size=2,max_turns=4,first_player=0)"


@pytest.fixture(scope="module")
def cheat():
  return pyspiel.load_game(CHEAT)


def test_a_score_in_words():
  assert str(Score(50, 30, 20)) == (
    "won 50.0% (95% interval 40.4% to 59.6%), drew 30.0%, lost 20.0% of 100 games"
  )


def test_intervals_at_the_ends():
  assert wilson(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-3)
  assert wilson(10, 10) == pytest.approx((0.7225, 1.0), abs=1e-3)


def test_players_change_seats(cheat):
  seats = []

  def watched(seat):
    bot = matches.player("naive", 0, cheat)(seat)

    class Watched(NaiveBot):
      def step(self, state):
        seats.append(self._player)
        return bot.step(state)

    return Watched(seat, np.random.RandomState(0))

  matches.match(cheat, watched, matches.player("heuristic", 0, cheat), 2)
  assert set(seats) == {0, 1}
  assert seats == sorted(seats)  # first all of one game, then all of the other


@pytest.mark.parametrize("mirrored", [False, True])
def test_among_three_the_first_player_has_each_seat_in_turn(mirrored):
  """It always bets, and all others pass; mirrored, three games have the same cards."""
  game = pyspiel.load_game("kuhn_poker(players=3)")
  betting, passing = ({0: 1 - bet, 1: bet} for bet in (1, 0))
  always = [openspiel_policy.FirstActionPolicy(game), openspiel_policy.UniformRandomPolicy(game)]
  always[1].action_probabilities = lambda state, player=None: betting
  always[0].action_probabilities = lambda state, player=None: passing
  records = matches.play_games(game, *map(matches.player, always[::-1]), 9, mirrored=mirrored)
  assert [record.seat for record in records] == 3 * [0, 1, 2]
  for record in records:
    state = game.new_initial_state()
    for action in record.actions:
      if not state.is_chance_node():
        assert action == (state.current_player() == record.seat)
      state.apply_action(action)
  deals = [record.actions[:3] for record in records]
  assert (len(set(deals)) <= 3) == mirrored
  assert evaluate_match(game, records).mean > 0  # they fold to each bet: it wins two antes a game
  with pytest.raises(ValueError, match=r"has 3 players; estimates without luck are for two\. method='chips'"):
    evaluate_match(game, records, openspiel_policy.UniformRandomPolicy(game))


def test_a_match_is_from_the_first_players_view(cheat):
  ours = matches.match(
    cheat, matches.player("heuristic", 0, cheat), matches.player("random", 1), 200, seed=5
  ).score
  assert ours.games == 200
  assert ours.wins > 2 * ours.losses
  theirs = matches.match(
    cheat, matches.player("random", 1), matches.player("heuristic", 0, cheat), 200, seed=5
  ).score
  assert theirs.losses > 2 * theirs.wins


def test_a_solved_policy_loses_to_nobody():
  cheat = pyspiel.load_game("cheat(ranks=2,suits=2,hand_size=2,max_turns=4,first_player=0)")
  solver = ps_cfr_spiel.PSCFRSolver(cheat)
  solver.run(300)
  assert solver.exploitability() < 0.01
  agent = matches.player(solver.average_policy(), 3)
  for name in ("naive", "heuristic"):
    records = matches.play_games(cheat, agent, matches.player(name, 4, cheat), 300, seed=7)
    chips = evaluate_match(cheat, records)
    score = chips.score
    assert score.wins - score.losses > -42, score  # 3.5 standard deviations around zero are 0.2 a game
  result = evaluate_match(cheat, records[:100], solver.average_policy())
  assert result.mean > -0.02
  assert result.standard_error < evaluate_match(cheat, records[:100]).standard_error


def test_players_by_name():
  assert isinstance(matches.player("heuristic", game=pyspiel.load_game(CHEAT))(1), HeuristicBot)
  with pytest.raises(ValueError, match="Unknown bot 'deep blue'; choose one of 'random'"):
    matches.player("deep blue")


def test_a_policy_whose_only_move_is_action_0():
  """OpenSpiel's own bot returns -1 there."""
  game = pyspiel.load_game("tic_tac_toe")
  state = game.new_initial_state()
  for action in (1, 2, 4, 3, 5, 7, 6, 8):
    state.apply_action(action)
  assert state.legal_actions() == [0]
  bot = matches.player(openspiel_policy.UniformRandomPolicy(game))(0)
  assert bot.step(state) == 0
  assert bot.step_with_policy(state) == ([(0, 1.0)], 0)


def test_a_match_needs_games(cheat):
  with pytest.raises(ValueError, match="games must be an integer of at least 1, got 0"):
    matches.match(cheat, matches.player("random"), matches.player("random"), 0)


def test_given_moves_are_shown_and_made():
  game, output = pyspiel.load_game("tic_tac_toe"), io.StringIO()
  state = matches.play(game, matches.player("random", 2), ["4", "quit"], output=output)
  assert state.history()[0] == 4 and len(state.history()) == 2
  assert "quit): 4\n" in output.getvalue()
  assert output.getvalue().endswith("You quit.\n")


def test_given_moves_that_end_are_not_waited_for():
  game, output = pyspiel.load_game("tic_tac_toe"), io.StringIO()
  state = matches.play(game, matches.player("random", 2), ["4"], output=output)
  assert not state.is_terminal() and "You quit." in output.getvalue()


def test_without_moves_they_are_asked_for(monkeypatch, capsys):
  lines = iter(["4", "quit"])
  monkeypatch.setattr(builtins, "input", lambda: next(lines))
  state = matches.play(pyspiel.load_game("tic_tac_toe"), matches.player("random", 2))
  assert state.history()[0] == 4
  assert "You quit." in capsys.readouterr().out


def test_simultaneous_moves_are_made_in_turns():
  """The players are those of the command match; the returns of each record are those of its last state."""
  game = pyspiel.load_game("goofspiel(num_cards=3,imp_info=True,points_order=descending)")
  policy = ps_cfr_spiel.PSCFRSolver(game).average_policy()
  players = matches.player(policy), matches.player("random")
  games = matches.play_games(game, *players, games=6)
  assert [record.seat for record in games] == [0, 1] * 3
  returns = []
  for record in games:
    state = pyspiel.convert_to_turn_based(game).new_initial_state()
    for action in record.actions:
      state.apply_action(action)
    returns.append(state.returns()[record.seat])
  assert matches.match(game, *players, games=6).score.games == 6
  assert matches.evaluate_match(game, games).mean == pytest.approx(np.mean(returns))
