"""The sequence form beside linear programs and values over OpenSpiel's own states."""

import numpy as np
import pyspiel
import pytest
from random_policies import random_policy
from reference import sequence_form_value
from scipy.optimize import linprog
from scipy.sparse import block_array

from ps_cfr_spiel import build_tree, evaluate_policy
from ps_cfr_spiel.tree import sequence_form

RIVER = "river_subgame(board=Ks7d2c5h9s,pot=10,stack=20,ranges=AA KK;QQ JJ AK,bets=a 1)"
BATTLESHIP = "battleship(board_width=2,board_height=1,ship_sizes=[1],ship_values=[1],num_shots=1)"
GAMES = {"dice": "liars_dice(dice_sides=2)", "leduc": "leduc_poker", "river": RIVER, "hidden": BATTLESHIP}


def plan(form, policy, player):
  """A policy's plan: the product of its probabilities along the constraints."""
  before, matrix = np.zeros(form.constraints[player].shape[1]), form.constraints[player].toarray()
  before[0] = 1
  for row in matrix[1:]:
    (parent,), own = np.flatnonzero(row < 0), np.flatnonzero(row > 0)
    infostate = form.sequences[player][own[0]][0]
    chances = np.array([*policy.at(player, infostate).values()])
    assert {form.sequences[player][s][0] for s in own} == {infostate} and len(own) == len(chances)
    before[own] = before[parent] * chances
  return before


def optimum(form):
  """The value of the game by the linear program of Koller, Megiddo and von Stengel."""
  (payoff, *_), (plans, others) = form.payoffs, form.constraints
  n, m = plans.shape[1], others.shape[0]
  result = linprog(
    np.eye(n + m)[n] * -1,
    block_array([[-payoff.T, others.T]]),
    np.zeros(others.shape[1]),
    block_array([[plans, np.zeros((plans.shape[0], m))]]),
    np.eye(plans.shape[0])[0],
    [(0, None)] * n + [(None, None)] * m,
  )
  return -result.fun


@pytest.mark.parametrize("name", GAMES.values(), ids=GAMES)
def test_the_program_has_the_games_value(name):
  game = pyspiel.load_game(name)
  assert optimum(sequence_form(build_tree(game))) == pytest.approx(sequence_form_value(game), abs=1e-9)


@pytest.mark.parametrize("name", [RIVER, "kuhn_poker", "tiny_hanabi", "sheriff(num_rounds=1,max_items=1)"])
def test_plans_have_the_values_of_policies(name):
  """x A y is the value to player 0, and in a general-sum game x B y that to player 1."""
  policy = random_policy(name)
  form = sequence_form(build_tree(policy.game))
  plans = [plan(form, policy, i) for i in (0, 1)]
  values = [plans[0] @ (payoff @ plans[1]) for payoff in form.payoffs]
  assert values == pytest.approx(evaluate_policy(policy.game, policy).values, abs=1e-12)
  for matrix, x in zip(form.constraints, plans, strict=True):
    np.testing.assert_allclose(matrix @ x, np.eye(matrix.shape[0])[0], atol=1e-12)


def test_refusals(monkeypatch):
  with pytest.raises(ValueError, match="3 players"):
    sequence_form(build_tree(pyspiel.load_game("kuhn_poker(players=3)")))
  monkeypatch.setattr("ps_cfr_spiel.tree.evaluators.sequence_form.MOST_PAIRS", 10)
  with pytest.raises(ValueError, match="pairs of hands at its ends; the sequence form is for whole games"):
    sequence_form(build_tree(pyspiel.load_game("kuhn_poker")))
