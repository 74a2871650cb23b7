"""Intervals of losses from recorded games hold the exact loss, by OpenSpiel, for any opponents."""

import itertools
import json

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms.expected_game_score import policy_value

from ps_cfr_spiel import PSCFRSolver, matches
from ps_cfr_spiel.apps.commands import program
from ps_cfr_spiel.evaluation.judging.referee import Referee
from ps_cfr_spiel.matches import Played


class Always(openspiel_policy.Policy):
  """One action wherever it is legal, else the first."""

  def __init__(self, game, action):
    super().__init__(game, [0, 1])
    self._action = action

  def action_probabilities(self, state, player_id=None):
    legal = state.legal_actions()
    choice = self._action if self._action in legal else legal[0]
    return {action: float(action == choice) for action in legal}


def solved(name, iterations):
  game = pyspiel.load_game(name)
  solver = PSCFRSolver(game, tremble=1.0)
  solver.run(iterations)
  return game, solver.average_policy()


def losses(game, solution, agent):
  """By seat, how much less the agent wins against the solution than the solution itself does."""
  start = game.new_initial_state()
  value = policy_value(start, [solution, solution])
  return [value[i] - policy_value(start, [(solution, agent)[i == j] for j in (0, 1)])[i] for i in (0, 1)]


@pytest.fixture(scope="module")
def leduc():
  return solved("leduc_poker", 1000)


def judgements(game, solution, agent, opponent, hands, seeds, known=False):
  """Judgements of the agent in matches of unequal luck, and its exact losses there."""
  exact, judged = losses(game, solution, agent), []
  for seed in range(seeds):
    players = matches.player(agent, 2 * seed + 1), matches.player(opponent, 2 * seed + 2)
    games = matches.play_games(game, *players, hands, seed=seed)
    policies = {"B": opponent} if known else None
    judgement = matches.judge(game, games, solution, policies=policies).agents[0]
    judged.append((judgement, np.mean([exact[record.seat] for record in games])))
  return judged


def share_covered(judged):
  return np.mean(
    [
      low - 1e-6 <= loss <= high + 1e-6
      for (low, high), loss in ((judgement.interval, loss) for judgement, loss in judged)
    ]
  )


@pytest.mark.parametrize("opponent", ["solution", "call", "random"])
def test_intervals_hold_the_loss_of_a_random_player_of_leduc_poker(leduc, opponent):
  """Whatever the opponents of the record play, who by calling alone hide most of the loss of 0.74."""
  game, solution = leduc
  uniform = openspiel_policy.UniformRandomPolicy(game)
  other = {"solution": solution, "call": Always(game, 1), "random": uniform}[opponent]
  judged = judgements(game, solution, uniform, other, 600, 8)
  assert share_covered(judged) == 1
  for judgement, loss in judged:
    assert judgement.loss.mean < loss < judgement.most.mean  # the games left out the rest
    assert judgement.games_for(0.1) is None  # and more of the kind would
    if opponent == "call":
      assert judgement.loss.mean < 0.1 and judgement.unseen > 1.5
    else:
      assert judgement.unseen < 1


@pytest.mark.parametrize("opponent", ["solution", "pass", "bet", "random"])
def test_intervals_hold_the_loss_of_a_random_player_of_kuhn_poker(opponent):
  game, solution = solved("kuhn_poker", 1000)
  uniform = openspiel_policy.UniformRandomPolicy(game)
  others = {"solution": solution, "pass": Always(game, 0), "bet": Always(game, 1), "random": uniform}
  judged = judgements(game, solution, uniform, others[opponent], 300, 40)
  assert share_covered(judged) >= 0.9
  if opponent == "random":  # all is seen: the interval is the usual one, and not wider than it must be
    errors = [judgement.loss.mean - loss for judgement, loss in judged]
    assert max(judgement.unseen for judgement, _ in judged) < 1e-6
    assert np.mean([j.loss.standard_error for j, _ in judged]) == pytest.approx(np.std(errors), rel=0.35)
    assert abs(np.mean(errors)) < 3 * np.std(errors) / np.sqrt(len(errors))


@pytest.mark.parametrize("opponent", ["solution", "random"])
def test_known_opponents_leave_nothing_open(leduc, opponent):
  """The mean of all matches is right, and the standard error is that of the errors."""
  game, solution = leduc
  uniform = openspiel_policy.UniformRandomPolicy(game)
  other = solution if opponent == "solution" else uniform
  judged = judgements(game, solution, uniform, other, 300, 24, known=True)
  errors = [judgement.loss.mean - loss for judgement, loss in judged]
  assert all(judgement.unseen == 0 for judgement, _ in judged)
  assert share_covered(judged) >= 0.85
  assert abs(np.mean(errors)) < 3 * np.std(errors) / np.sqrt(len(errors)) < 0.08
  assert np.mean([j.loss.standard_error for j, _ in judged]) == pytest.approx(np.std(errors), rel=0.35)


def test_known_opponents_who_never_come_leave_as_much_open_as_unknown_ones(leduc):
  game, solution = leduc
  uniform = openspiel_policy.UniformRandomPolicy(game)
  known, unknown = (
    judgements(game, solution, uniform, Always(game, 1), 300, 1, known)[0][0] for known in (True, False)
  )
  assert known.interval == unknown.interval and known.unseen > 1


def test_one_game_bounds_the_mean_of_all():
  """Enumerated: the bounds of one game hold the loss in the mean, against opponents who never raise."""
  game, solution = solved("kuhn_poker", 1000)
  agent, other = openspiel_policy.UniformRandomPolicy(game), Always(game, 0)
  exact = losses(game, solution, agent)
  for seat in (0, 1):
    records, chances = [], []

    def walk(state, chance, seat=seat, records=records, chances=chances):
      if state.is_terminal():
        names = [f"{len(records)}", "other"]
        records.append(Played(seat, tuple(state.history()), None, tuple(names if seat == 0 else names[::-1])))
        chances.append(chance)
        return
      acts = state.current_player()
      odds = state.chance_outcomes() if acts < 0 else (agent if acts == seat else other)
      odds = odds if acts < 0 else odds.action_probabilities(state).items()
      for action, p in odds:
        if p > 0:
          walk(state.child(action), chance * p)

    walk(game.new_initial_state(), 1.0)
    judged = {j.agent: j for j in matches.judge(game, records, solution).agents}
    ours = [judged[str(number)] for number in range(len(records))]
    least, most = (
      np.dot(chances, [part.mean for part in parts])
      for parts in (([j.loss for j in ours]), ([j.most for j in ours]))
    )
    assert least - 1e-6 <= exact[seat] <= most + 1e-6 and most - least > 0.05


def test_the_worst_play_by_all_pure_strategies():
  """Each player of Kuhn poker has 64 pure strategies; the worst of them loses as much."""
  game, solution = solved("kuhn_poker", 1000)
  referee = Referee(matches.judge(game, [Played(0, (0, 1, 0, 0))], solution).solution)
  for player in (0, 1):
    uniform = openspiel_policy.TabularPolicy(game)
    names = list(uniform.states_per_player[player])
    least = np.inf
    for choices in itertools.product((0, 1), repeat=len(names)):
      for name, choice in zip(names, choices, strict=True):
        uniform.policy_for_key(name)[:] = np.eye(2)[choice]
      pair = [uniform if i == player else solution for i in (0, 1)]
      least = min(least, policy_value(game.new_initial_state(), pair)[player])
    assert referee.worst(player).value == pytest.approx(least, abs=1e-6)


def test_the_command_prints_an_interval(tmp_path, capsys):
  """It is that of the JSON, and of the loss where opponents never bet it says how much is unseen."""
  game = pyspiel.load_game("kuhn_poker")
  players = matches.player("random", 1), matches.player(Always(game, 0), 2)
  games = matches.play_games(game, *players, 60, seed=3)
  file = tmp_path / "games.jsonl"
  names = [("mine", "other") if record.seat == 0 else ("other", "mine") for record in games]
  file.write_text(
    "\n".join(
      json.dumps({"actions": list(record.actions), "players": pair})
      for record, pair in zip(games, names, strict=True)
    )
  )
  words = ["judge", "kuhn_poker", f"--games={file}", "--iterations=300"]
  assert program.run([*words, "--json"]) == 0
  agents = {agent["agent"]: agent for agent in json.loads(capsys.readouterr().out)["agents"]}
  mine, (low, high) = agents["mine"], agents["mine"]["interval"]
  least, most = mine["loss"], mine["loss_at_most"]
  assert low == pytest.approx(least["mean"] - 1.96 * least["standard_error"])
  assert high == pytest.approx(most["mean"] + 1.96 * most["standard_error"])
  assert most["mean"] - least["mean"] > 0.05 and mine["games_needed"]["games"] is None
  assert program.run(words) == 0
  text = capsys.readouterr().out
  assert f"loses {low:.4g} to {high:.4g} a game (95% interval) by" in text
  assert f"0 to {most['mean'] - least['mean']:.4g} of it, at infostates that these games never" in text
