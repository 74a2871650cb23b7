import functools

import numpy as np
import pyspiel
import pytest
from reference import random_policy

import ps_cfr_spiel
from ps_cfr_spiel.evaluation import LocalBestResponsePolicy, evaluate_policy, local_best_response, match_play
from ps_cfr_spiel.evaluation.local_search import LocalSearch
from ps_cfr_spiel.tree import evaluate

RIVER = "river_subgame(ranges=AsKd QQ 76s;TT 87s AhQh)"
FOLD, CALL = 0, 1  # of Leduc poker, and of the rivers


@functools.cache
def load(name):
  game = pyspiel.load_game(name)
  return game, ps_cfr_spiel.build_tree(game)


def drawn(name, seed):
  """A policy of random probabilities, by the game's own tree: quick to look up."""
  game, tree = load(name)
  rng = np.random.default_rng(seed)
  blocks = [
    [rng.dirichlet(np.ones(a), (n, h)).transpose(2, 0, 1) for a, n, h in p.block_shapes] for p in tree.players
  ]
  return ps_cfr_spiel.TreePolicy(game, tree.names, blocks)


def always(name, action):
  """The policy that takes an action wherever it is legal, and else calls."""
  game, tree = load(name)
  blocks = [[np.zeros(shape) for shape in p.block_shapes] for p in tree.players]
  for d in tree.names.decisions:
    chosen = d.legal_actions.index(action if action in d.legal_actions else CALL)
    blocks[d.player][d.block][chosen, d.row] = 1
  return ps_cfr_spiel.TreePolicy(game, tree.names, blocks)


@pytest.mark.parametrize(("name", "count"), [("kuhn_poker", 40), ("leduc_poker", 40), (RIVER, 20)])
def test_at_most_the_best_response(name, count):
  game, tree = load(name)
  search, below = LocalSearch.of(game, None, 1, None), 0
  for seed in range(count):
    strategies = drawn(name, seed).strategies
    best = evaluate(tree, strategies).best_response
    for player in (0, 1):
      table = search.response(player, strategies[1 - player])
      value = search.value(player, table, strategies)
      assert value <= float(best[player]) + 1e-9 * max(1, abs(best[player]))
      below += value < float(best[player]) * 0.99 - 1e-3
  assert below > 0 or name == "kuhn_poker"  # where nobody decides twice after an answer


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker", "glasses", "liars_dice(dice_sides=3)", RIVER])
def test_without_limits_it_is_the_best_response(name):
  game, _ = load(name)
  policy = drawn(name, 3)
  found = local_best_response(game, policy, depth=None)
  most = max(abs(game.max_utility()), abs(game.min_utility()))
  expected = evaluate_policy(game, policy)
  np.testing.assert_allclose(found.values, expected.best_response, rtol=0, atol=1e-10 * most)
  assert found.exploitability == pytest.approx(expected.exploitability, abs=1e-10 * most)


def test_against_poker_by_hand():
  """Leduc, history by history: range, chance to be folded to, and showdowns after calls."""
  game, tree = load("leduc_poker")
  policy = random_policy(game, 5)
  found = local_best_response(game, policy)
  for decision, h, _ in list(tree.names.infostates())[::7]:
    player = decision.player
    worth = dict.fromkeys(decision.legal_actions, 0.0)
    for state, weight in histories(game, policy, tree.names.state(decision, h), player):
      for action in worth:
        worth[action] += weight * after(state.child(action), policy, player)
    chosen = found.policy.table(decision)[:, h].argmax()
    assert worth[decision.legal_actions[chosen]] == pytest.approx(max(worth.values()), abs=1e-12)


def histories(game, policy, like, player):
  """The histories of an infostate, each with the probability that chance and the opponent play to it."""
  known, actions, found = like.information_state_string(player), like.history(), []

  def walk(state, weight, at):
    if at == len(actions):
      if state.information_state_string(player) == known:
        found.append((state, weight))
    elif state.is_chance_node():
      for action, p in state.chance_outcomes():
        walk(state.child(action), weight * p, at + 1)
    elif actions[at] in state.legal_actions():
      p = 1.0 if state.current_player() == player else policy.action_probabilities(state)[actions[at]]
      walk(state.child(actions[at]), weight * p, at + 1)

  walk(game.new_initial_state(), 1.0, 0)
  return found


def after(state, policy, player, answered=False):
  """Expected utility if the opponent may fold now, and from then on everybody calls."""
  if state.is_terminal():
    return state.returns()[player]
  if state.is_chance_node():
    return sum(p * after(state.child(a), policy, player, answered) for a, p in state.chance_outcomes())
  called = after(state.child(CALL), policy, player, True)
  if answered or state.current_player() == player or FOLD not in state.legal_actions():
    return called
  fold = policy.action_probabilities(state)[FOLD]
  return fold * state.child(FOLD).returns()[player] + (1 - fold) * called


def test_against_those_who_always_call_or_fold():
  game, _ = load(RIVER)
  callers = always(RIVER, CALL)
  found, best = local_best_response(game, callers), evaluate_policy(game, callers)
  assert found.values == pytest.approx(best.best_response, abs=1e-9)
  folders = always(RIVER, FOLD)  # they check where nobody has bet
  pot = game.get_parameters()["pot"]
  assert min(local_best_response(game, folders).values) == pytest.approx(pot / 2, abs=1e-9)


def test_actions_by_round():
  game, tree = load("leduc_poker")
  policy = drawn("leduc_poker", 8)
  passive = local_best_response(game, policy, actions=(FOLD, CALL))
  assert passive.values == local_best_response(game, policy, actions=[(FOLD, CALL), (FOLD, CALL)]).values
  assert passive.values == local_best_response(game, policy, actions="fc").values
  calling = [local_best_response(game, policy, actions=a).values for a in ("fc/c", [(FOLD, CALL), (CALL,)])]
  assert calling[0] == calling[1] != passive.values
  later = local_best_response(game, policy, actions=[(FOLD, CALL), None])
  for response, first, second in ((passive, False, False), (later, False, True)):
    raised = {False: False, True: False}
    for d in tree.names.decisions:
      name = next(filter(None, d.infostates))
      if 2 in d.legal_actions:
        raised["[Round 2]" in name] |= bool(response.policy.table(d)[d.legal_actions.index(2)].any())
    assert raised == {False: first, True: second}


def test_in_play_it_does_as_in_the_table():
  for name in ("leduc_poker", RIVER):
    game, tree = load(name)
    policy = drawn(name, 2)
    table = local_best_response(game, policy)
    responses = LocalBestResponsePolicy(game, policy)
    for decision, h, _ in list(tree.names.infostates())[::11]:
      state = tree.names.state(decision, h)
      assert responses.action_probabilities(state) == table.policy.action_probabilities(state)


def test_what_it_wins_in_play_is_what_it_is_worth():
  game, _ = load("leduc_poker")
  policy = drawn("leduc_poker", 4)
  worth = local_best_response(game, policy)
  first, second = LocalBestResponsePolicy(game, policy).bot, match_play.player(policy)
  found = match_play.match(game, first, second, 400, seed=1)
  assert 0 < found.standard_error < 0.5
  assert found.mean == pytest.approx(sum(worth.values) / 2, abs=3 * found.standard_error)


def test_a_bot_asks_only_about_the_way_and_the_answers():
  game, tree = load("leduc_poker")
  policy, asked = drawn("leduc_poker", 2), set()

  class Watched(ps_cfr_spiel.TreePolicy):
    def at(self, player, infostate):
      asked.add((player, tree.names.find(player, infostate)[0].public_state))
      return super().at(player, infostate)

  watched = Watched(game, tree.names, policy.strategies)
  watched.strategies = ()  # so that it is asked, and not read
  watched.table = policy.table
  state = game.new_initial_state()
  for action in (0, 2):
    state.apply_action(action)
  LocalBestResponsePolicy(game, watched).bot(0).step(state)
  assert {player for player, _ in asked} == {1}
  assert len(asked) == 2  # after a check and after a raise


def test_rollouts_of_ones_own():
  game, tree = load("liars_dice(dice_sides=3)")
  policy = drawn("liars_dice(dice_sides=3)", 1)
  uniform = [[np.full(shape, 1.0) for shape in p.block_shapes] for p in tree.players]
  same = ps_cfr_spiel.TreePolicy(game, tree.names, uniform)
  found = [local_best_response(game, policy, rollout=r).values for r in (None, "uniform", same)]
  assert found[0] == found[1] == pytest.approx(found[2], abs=1e-12)


@pytest.mark.parametrize(
  ("options", "message"),
  [
    ({"depth": 0}, "depth must be an integer of at least 1, got 0"),
    ({"rollout": "raise"}, "Unknown rollout 'raise'; choose one of 'call', 'uniform'"),
    ({"actions": ()}, r"actions must be OpenSpiel actions, or a list of them for each round, got \(\)"),
    ({"actions": "fcpa"}, "actions='fcpa': in a compiled game write 'c' for calls or 'fc'"),
    ({"actions": [(7,)]}, r"actions: \[7\] has no legal action at"),
    ({"public_states": "none"}, "public states"),
  ],
)
def test_bad_input(options, message):
  game, _ = load("leduc_poker")
  with pytest.raises(ValueError, match=message):
    local_best_response(game, drawn("leduc_poker", 0), **options)


def test_calling_needs_calls():
  game, _ = load("kuhn_poker")
  with pytest.raises(ValueError, match="rollout='call': 0 of the moves"):
    local_best_response(game, drawn("kuhn_poker", 0), rollout="call")
