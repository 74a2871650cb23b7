"""Local regrets against OpenSpiel's best responses, on the game's own tree."""

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import best_response, expected_game_score
from random_games import random_game

from ps_cfr_spiel import PSCFRSolver, TreePolicy, build_tree, exploitability, measures
from ps_cfr_spiel.loading import sequential

RIVER = "river_subgame(bets=1 a,stack=400,ranges=AA:0.5 8h6h KQs;TT QQ:0.3 8h8d)"
GAMES = {
  "kuhn": "kuhn_poker",
  "river": RIVER,
  "liar's dice": "liars_dice(numdice=1,dice_sides=2)",
  "goofspiel": "turn_based_simultaneous_game("
  "game=goofspiel(num_cards=3,imp_info=True,points_order=descending))",
}
LARGER = {
  "leduc": "leduc_poker",
  "turn": "holdem_subgame(deck=5x2,board=2c3c4d5d,stack=300,ranges=6c6d 5c4c 6d2d:0.5;6c2d 3d2d 5c3d:2)",
}
TREMBLE = 1e-12


def partly_pure(game, seed=1):
  """A policy in which many actions are never played, so that many infostates are never reached."""
  tree, rng = build_tree(game), np.random.default_rng(seed)
  strategies = []
  for player in tree.players:
    blocks = [rng.random(shape) * (rng.random((*shape[:2], 1)) < 0.5) for shape in player.block_shapes]
    strategies.append([block + 1.0 * (block.sum(0, keepdims=True) == 0) for block in blocks])
  return TreePolicy(game, tree.names, strategies)


def test_policies_are_not_asked_for_hands_that_cannot_be():
  """OpenSpiel's own tables have no hand that shares a card with the board."""
  game = pyspiel.load_game("leduc_poker")
  ours = partly_pure(game)
  losses = [measures.local_regrets(game, policy, tree=ours.tree) for policy in (ours, ours.to_tabular())]
  np.testing.assert_allclose(losses[1].following, losses[0].following, atol=1e-12)


@pytest.mark.parametrize("measure", [exploitability, measures.local_regrets])
def test_a_tree_of_another_game_is_refused(measure):
  """Rake and ranges change values, though not the shape of the tree."""
  texts = f"{RIVER[:-1]},rake=5%)", RIVER.replace(":0.3", ":0.2")
  game, others = pyspiel.load_game(RIVER), map(pyspiel.load_game, texts)
  for other in others:
    with pytest.raises(ValueError, match="tree is of ") as raised:
      measure(game, partly_pure(game), tree=build_tree(other))
    assert str(game) in str(raised.value) and str(other) in str(raised.value)


def test_a_tree_of_the_same_game_in_other_words_is_taken():
  simultaneous = "goofspiel(num_cards=3,imp_info=True,points_order=descending%s)"
  for text, longer in (
    ("kuhn_poker", "kuhn_poker(players=2)"),
    (simultaneous % "", simultaneous % ",players=2"),
  ):
    game, other = map(pyspiel.load_game, (text, longer))
    policy = partly_pure(sequential(game))
    found = exploitability(game, policy, tree=build_tree(other))
    assert found == pytest.approx(exploitability(game, policy), abs=1e-12)
    assert PSCFRSolver(game, tree=build_tree(other)).iteration == 0


def by_openspiel(game, policy):
  """{(player, infostate): (following, onward)} by OpenSpiel's tools, the opponent trembled."""
  losses = {}
  for player in range(2):
    trembled, theirs = policy.to_tabular(), opponents(policy, player)
    for name, row in trembled.state_lookup.items():
      mask = trembled.legal_actions_mask[row]
      if name in theirs:
        mixed = trembled.action_probability_array[row]
        trembled.action_probability_array[row] = ((1 - mask.sum() * TREMBLE) * mixed + TREMBLE) * mask
    response = best_response.BestResponsePolicy(game, player, trembled)
    for name, members in response.infosets.items():
      weight = sum(w for _, w in members)
      actions = members[0][0].legal_actions()

      def mean(value, members=members, weight=weight):
        return sum(w * value(state) for state, w in members) / weight

      def follow(state, trembled=trembled, player=player):
        return expected_game_score.policy_value(state, [trembled] * 2)[player]

      played = policy.action_probabilities(members[0][0])
      after = {a: mean(lambda state, a=a: follow(state.child(a))) for a in actions}
      best = {a: mean(lambda state, a=a, response=response: response.q_value(state, a)) for a in actions}
      value = sum(played[a] * after[a] for a in actions)
      losses[player, name] = max(after.values()) - value, max(best.values()) - value
  return losses


def opponents(policy, player):
  return {name for decision, _, name in policy.labels.infostates() if decision.player != player}


def check_by_openspiel(name):
  game = pyspiel.load_game(name)
  policy = partly_pure(game)
  regrets = measures.local_regrets(game, policy)
  expected = by_openspiel(game, policy)
  assert len(regrets.following) == len(expected)
  for number, h, *losses in zip(
    regrets.decision, regrets.type, regrets.following, regrets.onward, strict=True
  ):
    decision = policy.labels.decisions[number]
    np.testing.assert_allclose(losses, expected[decision.player, decision.infostates[h]], atol=1e-6)
  assert (regrets.others == 0).any()


@pytest.mark.parametrize("name", GAMES.values(), ids=GAMES)
def test_losses_are_those_of_openspiel(name):
  check_by_openspiel(name)


@pytest.mark.parametrize("name", LARGER.values(), ids=LARGER)
def test_losses_are_those_of_openspiel_in_larger_games(name):
  check_by_openspiel(name)


def test_trembles_of_the_opponent_leave_no_infostate_out():
  """In a game whose strings of moves are long, and each action is played with 0 or 1."""
  for seed in range(5):
    game = random_game(seed)
    policy = partly_pure(game, seed)
    regrets, expected = measures.local_regrets(game, policy), by_openspiel(game, policy)
    got = {
      (policy.labels.decisions[n].player, policy.labels.decisions[n].infostates[h]): loss
      for n, h, loss in zip(regrets.decision, regrets.type, regrets.following, strict=True)
    }
    assert got == pytest.approx({key: loss for key, (loss, _) in expected.items()}, abs=1e-6)


def test_rare_infostates_are_told_by_play_alone():
  """Chance's part is left out: of the dice, and of hands that the opponent's cards block."""
  game = pyspiel.load_game("liars_dice(numdice=1,dice_sides=2)")
  policy = partly_pure(game)
  regrets = measures.local_regrets(game, policy)
  reach = {}

  def walk(state, own):
    if state.is_chance_node():
      for action in state.legal_actions():
        walk(state.child(action), own)
    elif not state.is_terminal():
      player, name = state.current_player(), state.information_state_string()
      reach.setdefault((player, name), []).append(own)
      for action, p in policy.action_probabilities(state).items():
        walk(state.child(action), [x * p if i == player else x for i, x in enumerate(own)])

  walk(game.new_initial_state(), [1.0, 1.0])
  for n, h, acting, others in zip(
    regrets.decision, regrets.type, regrets.acting, regrets.others, strict=True
  ):
    decision = policy.labels.decisions[n]
    every = np.array(reach[decision.player, decision.infostates[h]])  # two rolls of the opponent, alike
    assert acting == pytest.approx(every[0, decision.player])
    assert others == pytest.approx(every[:, 1 - decision.player].mean())
  groups = regrets.groups
  assert (groups["rare for the player"] == (regrets.acting < 1e-3)).all()
  assert (groups["rare for the others"] == (regrets.others < 1e-4)).all()


def test_hidden_moves_count_once_for_each_deal():
  """In goofspiel chance deals nothing: the others' reach is a probability, whatever they have hidden."""
  game = pyspiel.load_game(GAMES["goofspiel"])
  solver = PSCFRSolver(game)
  solver.run(1)
  regrets = measures.local_regrets(
    game,
    TreePolicy(game, solver.tree.names, [[x * 0 + 1 for x in s] for s in solver.average_policy().strategies]),
  )
  assert regrets.others.max() == pytest.approx(1)
  assert regrets.others.min() > 1 / 7


def test_locked_infostates_are_no_decisions():
  game = pyspiel.load_game("kuhn_poker")
  solver = PSCFRSolver(game, locks={"": {"Bet": 0.8, "Pass": 0.2}})
  solver.run(100)
  regrets = measures.local_regrets(game, solver.average_policy())
  assert len(regrets.following) == 9  # all hands at the start are locked


def test_losses_are_summed_up():
  game = pyspiel.load_game("kuhn_poker")
  always_bet = TreePolicy(
    game,
    build_tree(game).names,
    [[np.stack([0 * x[0], 1 + 0 * x[0]]) for x in s] for s in partly_pure(game).strategies],
  )
  regrets = measures.local_regrets(game, always_bet)
  assert regrets.stakes == 2
  losses = regrets.losses()
  assert losses.infostates == 12 and losses.worst == regrets.worst(1)[0][2]
  assert losses.mean == pytest.approx(regrets.following.mean())
  assert (regrets.onward >= regrets.following - 1e-12).all()
  _, name, loss = regrets.worst(1)[0]
  # The lowest card loses 2 by a call, and 1 by a fold.
  assert name in ("0pb", "0b") and loss == pytest.approx(1)
