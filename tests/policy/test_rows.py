"""Rows of a policy against a walk through every history of OpenSpiel's own states."""

import collections
import csv
import json

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import best_response
from random_policies import random_policy

import ps_cfr_spiel
from ps_cfr_spiel.policy import tree_policy

RIVER = "river_subgame(bets=1 a,stack=400,ranges=AA:0.5 8h6h KQs;TT QQ:0.3 8h8d)"
GOOFSPIEL = "turn_based_simultaneous_game(game=goofspiel(num_cards=3,imp_info=True,points_order=descending))"
TURN = "holdem_subgame(deck=5x2,board=2c3c4d5d,stack=300,ranges=6c6d 5c4c 6d2d:0.5;6c2d 3d2d 5c3d:2)"
GAMES = {
  "kuhn": "kuhn_poker",
  "river": RIVER,
  "turn": TURN,
  "goofspiel": GOOFSPIEL,
  "glasses": "glasses(turns=2)",
}


@pytest.fixture(scope="module", params=GAMES.values(), ids=list(GAMES))
def policy(request):
  return random_policy(request.param)


def direct(policy):
  """{(infostate, action): (value, own reach, the others' reach)} from the definitions."""
  weight, total, own = collections.Counter(), collections.Counter(), {}

  def walk(state, chance, reach):
    if state.is_terminal():
      return np.array(state.returns())
    if state.is_chance_node():
      outcomes = state.chance_outcomes()
      return sum(p * walk(state.child(a), chance * p, reach) for a, p in outcomes)
    player, key = state.current_player(), state.information_state_string()
    others = chance * reach[1 - player]
    weight[key] += others
    own[key] = reach[player]
    mean = np.zeros(2)
    for action, p in policy.action_probabilities(state).items():
      below = [reach[0], reach[1]]
      below[player] *= p
      value = walk(state.child(action), chance, below)
      total[key, action] += others * value[player]
      mean += p * value
    return mean

  walk(policy.game.new_initial_state(), 1.0, [1.0, 1.0])
  return {(k, a): (value / weight[k], own[k], weight[k]) for (k, a), value in total.items()}


def test_values_and_reaches_are_those_of_a_walk(policy):
  rows, expected = policy.to_rows(), direct(policy)
  assert len(rows) == len(expected)
  for row in rows:
    found = row["value"], row["reach"], row["others_reach"]
    assert found == pytest.approx(expected[row["infostate"], row["action"]], abs=1e-9)
    assert row["probability"] == policy.at(row["player"], row["infostate"])[row["action"]]


def test_rows_one_by_one_are_those_of_all_at_once(policy, monkeypatch):
  """A chart asks for the reach of a few rows, a table for that of all."""
  monkeypatch.setattr(tree_policy, "FEW", 10**6)
  single = random_policy(policy.labels.game).to_rows()
  monkeypatch.setattr(tree_policy, "FEW", 0)
  for one, row in zip(single, random_policy(policy.labels.game).to_rows(), strict=True):
    for name in ("infostate", "reach", "others_reach", "equity", "value"):
      same = row[name] if name == "infostate" or row[name] is None else pytest.approx(row[name], abs=1e-12)
      assert one[name] == same


def test_best_responses_are_openspiels(policy):
  """At a player's first decisions the best actions add up to OpenSpiel's best response."""
  rows = policy.to_rows()
  for player in (0, 1):
    first = collections.defaultdict(list)
    for row in rows:
      state = policy.labels.public_states[row["public_state"]]
      above = []
      while state.parent >= 0:
        state = policy.labels.public_states[state.parent]
        above.append(state.player)
      if row["player"] == player and player not in above:
        first[row["infostate"]].append(row)
    response = best_response.BestResponsePolicy(policy.game, player, policy)
    expected = response.value(policy.game.new_initial_state())
    found = sum(r[0]["others_reach"] * max(row["best_response_value"] for row in r) for r in first.values())
    # Where the opponent may end the game first, player 1 wins something without a decision.
    if player == 0 or policy.labels.game.startswith(("kuhn", "turn", "glasses(", "river")):
      assert found == pytest.approx(expected, abs=1e-9)


def test_equity_is_the_share_of_the_pot_at_a_showdown():
  policy = random_policy(RIVER)
  form = policy.game.bayesian_form()
  for row in policy.to_rows():
    player, names = row["player"], form.types
    h, other = names[player].index(row["type"]), 1 - player
    # The opponent's reach, from their own rows' probabilities along the line.
    won = total = 0.0
    for g, name in enumerate(names[other]):
      if set(form.cards[player][h]) & set(form.cards[other][g]):
        continue
      deal = [h, g] if player == 0 else [g, h]
      state, reach = policy.game.new_initial_state(), form.weights[other][g]
      for action in deal:
        state.apply_action(action)
      for move in filter(None, row["line"].split(", ")):
        action = next(a for a in state.legal_actions() if state.action_to_string(a) == move)
        if state.current_player() == other:
          assert name in state.information_state_string(other)
          reach *= policy.action_probabilities(state)[action]
        state.apply_action(action)
      ahead = np.sign(form.strength[player][h] - form.strength[other][g])
      won, total = won + reach * (1 + ahead) / 2, total + reach
    assert row["equity"] == pytest.approx(won / total, abs=1e-9)


def test_what_never_happens_is_worth_nothing_known():
  game = pyspiel.load_game("kuhn_poker")
  tree = ps_cfr_spiel.build_tree(game)
  never = [[np.zeros(shape) for shape in player.block_shapes] for player in tree.players]
  for blocks in never:
    for block in blocks:
      block[0] = 1  # always pass
  rows = ps_cfr_spiel.TreePolicy(game, tree.names, never).to_rows()
  after_a_bet = [row for row in rows if row["line"].endswith("Bet")]
  assert after_a_bet and all(row["value"] is None and row["others_reach"] == 0 for row in after_a_bet)


def test_files_hold_the_rows(tmp_path):
  policy = random_policy("kuhn_poker")
  rows = policy.to_rows()
  policy.to_csv(tmp_path / "policy.csv")
  policy.to_csv(tmp_path / "policy.jsonl")
  with open(tmp_path / "policy.csv", newline="") as file:
    read = list(csv.DictReader(file))
  assert [{k: str(v) if v is not None else "" for k, v in row.items()} for row in rows] == read
  assert [json.loads(line) for line in (tmp_path / "policy.jsonl").read_text().splitlines()] == rows


def test_some_public_states():
  policy = random_policy("kuhn_poker")
  assert policy.to_rows([8]) == [row for row in policy.to_rows() if row["public_state"] == 8] != []


def test_a_game_without_public_states_has_rows_too():
  solver = ps_cfr_spiel.PSCFRSolver(
    pyspiel.load_game("dark_hex(num_rows=2,num_cols=2)"), public_states="none"
  )
  solver.run(2)
  rows = solver.average_policy().to_rows()
  assert {row["public_state"] for row in rows} == {row["line"] for row in rows} == {None}
  assert all(np.isfinite(row["probability"]) for row in rows)


def test_a_data_frame_has_the_rows():
  """Equities in hold'em alone."""
  pandas = pytest.importorskip("pandas")
  policy = random_policy("kuhn_poker")
  frame = policy.to_frame()
  pandas.testing.assert_frame_equal(frame, pandas.DataFrame(policy.to_rows()).drop(columns="equity"))
  assert frame.groupby("infostate")["probability"].sum().to_list() == pytest.approx([1.0] * 12)
  river = random_policy(RIVER)
  assert "equity" in river.to_frame([0]) and "equity" in river.to_frame([])
