"""Judgements against enumeration: each way through a game, with its probability."""

import collections
import json

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import expected_game_score
from random_games import random_game

from ps_cfr_spiel import PSCFRSolver, matches
from ps_cfr_spiel.matches import Played


def ways(game, policies):
  """[(actions, probability)] of all ways through a game, the players' policies in their order."""
  found = []

  def walk(state, probability):
    if probability == 0:
      return
    if state.is_terminal():
      found.append((tuple(state.history()), probability))
      return
    acting = state.current_player()
    chance = state.is_chance_node()
    odds = state.chance_outcomes() if chance else policies[acting].action_probabilities(state).items()
    for action, p in odds:
      walk(state.child(action), probability * p)

  walk(game.new_initial_state(), 1.0)
  return found


class Slips(openspiel_policy.Policy):
  """A policy that plays at random in a share of its decisions."""

  def __init__(self, game, policy, share):
    super().__init__(game, [0, 1])
    self._policy, self._share = policy, share

  def action_probabilities(self, state, player_id=None):
    played = self._policy.action_probabilities(state)
    return {a: (1 - self._share) * p + self._share / len(played) for a, p in played.items()}


class Ends(openspiel_policy.Policy):
  """The first or the last legal action, always."""

  def __init__(self, game, place):
    super().__init__(game, [0, 1])
    self._place = place

  def action_probabilities(self, state, player_id=None):
    legal = state.legal_actions()
    return {action: 1.0 * (action == legal[self._place]) for action in legal}


def solved(game, iterations=500):
  solver = PSCFRSolver(game)
  solver.run(iterations)
  return solver.average_policy()


def exact_loss(game, solution, agent, seat):
  """What the agent wins less than the solution, against the solution, by OpenSpiel."""
  played = [agent if i == seat else solution for i in (0, 1)]
  start = game.new_initial_state()
  value = expected_game_score.policy_value(start, [solution, solution])
  return value[seat] - expected_game_score.policy_value(start, played)[seat]


def judged_ways(game, solution, agent, seat, opponent=None):
  """The loss and the chips of each way through the game by agent and opponent, and its probability.

  An agent of one game has no other games to be known by. That the others play the opponent, by default the
  solution, is known.
  """
  opponent = opponent or solution
  all_ways = ways(game, [agent if i == seat else opponent for i in (0, 1)])
  names = [["other", "other"] for _ in all_ways]
  for number, pair in enumerate(names):
    pair[seat] = str(number)
  records = [Played(seat, way, None, tuple(pair)) for (way, _), pair in zip(all_ways, names, strict=True)]
  judged = {
    judgement.agent: judgement
    for judgement in matches.judge(game, records, solution, policies={"other": opponent}).agents
  }
  ours = [judged[str(number)] for number in range(len(records))]
  losses, chips = (
    np.array([part.mean for part in parts]) for parts in zip(*((j.loss, j.chips) for j in ours), strict=True)
  )
  return losses, chips, np.array([p for _, p in all_ways])


def check_unbiased(game, agent_of, tolerance=1e-6, opponent=None):
  solution = solved(game)
  agent = agent_of(solution)
  for seat in (0, 1):
    losses, _, probability = judged_ways(game, solution, agent, seat, opponent)
    assert probability @ losses == pytest.approx(exact_loss(game, solution, agent, seat), abs=tolerance)


@pytest.mark.parametrize(("name", "share"), [("kuhn_poker", 0.1), ("kuhn_poker", 1.0), ("leduc_poker", 0.1)])
def test_the_mean_is_the_loss_against_the_solution(name, share):
  game = pyspiel.load_game(name)
  check_unbiased(game, lambda solution: Slips(game, solution, share))


@pytest.mark.parametrize("name", ["kuhn_poker", "1", "2"])
def test_known_opponents_who_play_otherwise_leave_the_mean_as_it_is(name):
  """Against the solution, though none of the games is: opponents who come to all infostates are enough."""
  game = random_game(int(name)) if name.isdecimal() else pyspiel.load_game(name)
  uniform = openspiel_policy.UniformRandomPolicy(game)
  check_unbiased(game, lambda _: Slips(game, Ends(game, 0), 0.5), opponent=uniform)


@pytest.mark.parametrize("seed", range(4))
def test_scripted_agents_in_random_games(seed):
  game = random_game(seed)
  uniform = openspiel_policy.UniformRandomPolicy(game)
  for agent in (Ends(game, 0), uniform, Slips(game, uniform, 0.3)):
    check_unbiased(game, lambda _, agent=agent: agent)


@pytest.mark.parametrize(("seed", "seat"), [(5, 0), (14, 1)])
def test_models_of_an_agent_leave_the_mean_as_it_is(seed, seat):
  """The mean over all pairs of games, by their probability; each is judged by a model from the other."""
  game = random_game(seed)
  solution = solved(game)
  agent = Slips(game, Ends(game, 0), 0.7)
  all_ways = ways(game, [agent if i == seat else solution for i in (0, 1)])
  pairs = [(i, j) for i in range(len(all_ways)) for j in range(len(all_ways))]
  records = []
  for i, j in pairs:
    players = [f"{i},{j}", "other"] if seat == 0 else ["other", f"{i},{j}"]
    records += [Played(seat, all_ways[k][0], None, tuple(players)) for k in (i, j)]
  judged = matches.judge(game, records, solution, policies={"other": solution}).agents
  losses = {judgement.agent: judgement.loss for judgement in judged}
  expected = sum(all_ways[i][1] * all_ways[j][1] * losses[f"{i},{j}"].mean for i, j in pairs)
  assert expected == pytest.approx(exact_loss(game, solution, agent, seat), abs=1e-6)


def test_luck_is_taken_out():
  """On Leduc poker, an agent with one random move in ten: some 28 times fewer games, even with no model."""
  game = pyspiel.load_game("leduc_poker")
  solution = solved(game)
  losses, chips, p = judged_ways(game, solution, Slips(game, solution, 0.1), 0)

  def variance(x):
    return p @ x**2 - (p @ x) ** 2

  assert variance(chips) / variance(losses) > 25


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker", "3"])
def test_known_probabilities_leave_no_luck(name):
  game = random_game(int(name)) if name.isdecimal() else pyspiel.load_game(name)
  solution = solved(game, 300)
  agent = Slips(game, openspiel_policy.UniformRandomPolicy(game), 0.5)
  other = matches.player("random", 1)
  assert isinstance(matches.policy_of(game, other), openspiel_policy.UniformRandomPolicy)
  games = matches.play_games(game, matches.player(agent, 2), other, 6)
  ours, theirs = matches.judge(game, games, solution, policies={"A": agent}).agents
  exact = [exact_loss(game, solution, agent, seat) for seat in (0, 1)]
  assert ours.loss.values == pytest.approx(3 * exact, abs=1e-6)
  assert (ours.exact, ours.loss.standard_error, ours.games_for(1e-9), theirs.exact) == (True, 0, 1, False)


def test_both_agents_their_games_and_their_mistakes():
  game = pyspiel.load_game("kuhn_poker")
  solution = solved(game)
  games = matches.play_games(
    game, matches.player(solution, 1), matches.player("random", 2), 400, seed=3, mirrored=True
  )
  first, second = matches.judge(game, games, solution).agents
  assert (first.agent, second.agent) == ("A", "B")
  assert abs(first.loss.mean) < 1e-3 and second.loss.mean > 0.1
  assert first.chips.mean == -second.chips.mean == pytest.approx(np.mean(first.chips.values))
  assert len(first.loss.values) == len(second.loss.values) == 400
  # The worst decision in Kuhn poker: to give up the king after a bet, or to call with the jack, loses 1.
  worst = second.mistakes[0]
  taken = collections.Counter()
  for record in games:
    state = game.new_initial_state()
    for action in record.actions:
      if not state.is_chance_node() and state.current_player() != record.seat:
        taken[state.current_player(), state.information_state_string(), state.action_to_string(action)] += 1
      state.apply_action(action)
  for mistake in second.mistakes:
    assert taken.pop((mistake.player, mistake.infostate, mistake.played)) == mistake.times
  assert not taken and worst.loss == max(mistake.loss for mistake in second.mistakes)
  assert sum(m.loss * m.times for m in second.mistakes) / 400 == pytest.approx(second.loss.mean, rel=0.2)
  assert {m.infostate: (m.played, m.best) for m in second.mistakes if m.loss > 0.9}.items() >= {
    ("2b", ("Pass", "Bet"))
  }
  # As many games as there were give the interval that there is.
  assert second.games_for(1.96 * second.loss.standard_error) in (400, 401)
  assert second.games_for(0.98 * second.loss.standard_error) == pytest.approx(1600, abs=1)


def test_an_agent_may_sit_in_every_seat():
  game = pyspiel.load_game("kuhn_poker")
  records = [Played(0, (0, 1, 0, 0), players=("x", "x")), Played(0, (2, 1, 1, 1), players=("x", "y"))]
  x, y = matches.judge(game, records).agents
  assert (x.agent, len(x.loss.values), y.agent, len(y.loss.values)) == ("x", 3, "y", 1)


def test_three_players():
  game = pyspiel.load_game("kuhn_poker(players=3)")
  games = matches.play_games(game, matches.player("random", 1), matches.player("random", 2), 30)
  first, second = matches.judge(game, games, iterations=100).agents
  assert (len(first.loss.values), len(second.loss.values)) == (30, 60)


def test_files(tmp_path):
  game = pyspiel.load_game("kuhn_poker")
  state = game.new_initial_state()
  for action in (0, 2, 1, 0):
    state.apply_action(action)
  file = tmp_path / "games.jsonl"
  trajectory = json.loads(pyspiel.Trajectory(state).to_string())
  values = ["[0, 2, 1, 0]", '"Deal:0, Deal:2, Bet, Pass"', '{"actions": "0 2 1 0", "players": ["x", "y"]}']
  file.write_text("\n".join([*values, json.dumps(trajectory, indent=1)]))
  records = matches.read_games(file, game)
  assert [record.actions for record in records] == 4 * [(0, 2, 1, 0)]
  assert [record.players for record in records] == [("player 0", "player 1")] * 2 + [("x", "y")] + [
    ("player 0", "player 1")
  ]
  assert {a.agent for a in matches.judge(game, records).agents} == {"player 0", "player 1", "x", "y"}


def test_lists_of_games_and_of_names(tmp_path):
  game, file = pyspiel.load_game("kuhn_poker"), tmp_path / "games.json"
  names = '["Deal:0", "Deal:2", "Bet", "Pass"]'
  for text, count in [
    ("[[0, 2, 1, 0], [0, 2, 1, 0]]", 2),
    (names, 1),
    (f'[{names}, "0 2 1 0",\n{{"actions": {names}}}]', 3),
    ('["0", "2", "1", "0"]', 1),
  ]:
    file.write_text(text)
    records = matches.read_games(file, game)
    assert [record.actions for record in records] == count * [(0, 2, 1, 0)]


@pytest.mark.parametrize(
  ("text", "fault"),
  [
    ("[[0, 2, 1, 0],\n[0, 2, 1]]", "line 1, game 2: it is not over"),
    ('["Deal:0", "Deal:2", "Bet", "Fold"]', "line 1: .*Fold"),
    ("[0, 2, 1, 0]\n\n[0, 2, 1]", "line 3: it is not over; a game has all actions"),
    ("[0, 0, 1, 0]", r"line 1: 0 is not legal after \[0\]"),
    ("[0, 2, 1, 0, 1]", "line 1: 1 is not legal after"),
    ('[0, 2, 1, "0"]', "line 1: '0' is not legal after"),
    ("[0, 2, true, 0]", "line 1: True is not legal after"),
    ('"Deal:0, Deal:2, Bet, Fold"', "line 1: .*Fold"),
    ("[0, 2, 1, 0]\n[0, 2", "line 2: Expecting ',' delimiter"),
    ("7", "line 1: expected a list of OpenSpiel's actions, .*; got 7"),
    ('{"moves": []}', "line 1: expected a list"),
    (
      '{"actions": [0, 2, 1, 0], "players": ["x"]}',
      r"line 1: players must be a list of 2 names, got \['x'\]",
    ),
    (
      '{"header": {"game_string": "leduc_poker"}, "transitions": []}',
      "line 1: the trajectory is of leduc_poker; games of kuhn_poker",
    ),
    (
      '{"header": {"returns": [2, -2]}, "transitions": [{"action": 0}, {"action": 2}, {"action": 1}, '
      '{"action": 0}]}',
      r"line 1: the trajectory's returns are \[2, -2\]",
    ),
    ('{"transitions": [3]}', "line 1: "),
    ('{"header": 3, "transitions": []}', "line 1: "),
  ],
)
def test_what_is_no_game_is_refused_with_its_line(tmp_path, text, fault):
  file = tmp_path / "games.jsonl"
  file.write_text(text)
  with pytest.raises(ValueError, match=fault):
    matches.read_games(file, pyspiel.load_game("kuhn_poker"))


def test_mistakes_of_the_caller():
  game = pyspiel.load_game("kuhn_poker")
  with pytest.raises(ValueError, match="There are no games to evaluate"):
    matches.judge(game, [])
  with pytest.raises(ValueError, match=r"Game 0 \(\[2, 1, 0\]\): it is not over"):
    matches.judge(game, [Played(0, (2, 1, 0))])
  with pytest.raises(ValueError, match=r"Game 0: expected Played"):
    matches.judge(game, [[2, 1, 0, 0]])
  with pytest.raises(ValueError, match=r"player must be 0 or 1, got 2"):
    matches.judge(game, [Played(2, (2, 1, 0, 0))])
  with pytest.raises(ValueError, match="it names 1 players, and kuhn_poker"):
    matches.judge(game, [Played(0, (2, 1, 0, 0), players=("x",))])
  with pytest.raises(ValueError, match="leduc_poker"):
    matches.judge(game, [Played(0, (2, 1, 0, 0))], solved(pyspiel.load_game("leduc_poker"), 1))
  policies = {"A": Ends(game, 1), "C": Ends(game, 1)}
  with pytest.raises(ValueError, match="policies has 'C'; the agents of these games are A, B"):
    matches.judge(game, [Played(0, (2, 1, 0, 0))], iterations=3, policies=policies)
  with pytest.raises(ValueError, match="Game 0: A plays Pass at '2', which its policy never does"):
    matches.judge(game, [Played(0, (2, 1, 0, 0))], iterations=3, policies={"A": Ends(game, 1)})


def test_two_hundred_games_judge_scripted_agents():
  """Three in random games: of fixed moves the loss is known within 5%, and most intervals hold it.

  The opponent plays at random, yet the loss is that against the solution. By chips fewer than a tenth of the
  intervals are as narrow as 5%.
  """
  near, covered, by_chips = [], [], []
  for seed in range(12):
    game = random_game(seed)
    solution = solved(game, 300)
    uniform = openspiel_policy.UniformRandomPolicy(game)
    for agent in (Ends(game, 0), Ends(game, -1), uniform):
      games = matches.play_games(game, matches.player(agent, 2), matches.player("random", 1), 200, seed=seed)
      judgement = matches.judge(game, games, solution).agents[0]
      expected = np.mean([exact_loss(game, solution, agent, seat) for seat in (0, 1)])
      error = abs(judgement.loss.mean - expected)
      covered.append(error <= 1.96 * judgement.loss.standard_error + 1e-6)
      by_chips.append(1.96 * judgement.chips.standard_error < 0.05 * expected)
      if agent is not uniform:
        near.append(error <= 0.05 * expected + 1e-6)
  assert all(near) and np.mean(covered) > 0.9 and np.mean(by_chips) < 0.1
