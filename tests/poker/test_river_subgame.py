import itertools
from fractions import Fraction

import numpy as np
import pyspiel
import pytest
from game_checks import (
  EVERYTHING,
  INFOSTATE,
  OBSERVATION,
  PRIVATE,
  PUBLIC,
  PUBLIC_NOW,
  run_api_tests,
)
from open_spiel.integration_tests import api_test
from open_spiel.python.observation import make_observation
from variants import ENUMERATED, WEIGHTED_RIVER, each

from ps_cfr_spiel.cards.poker import betting, cards

CHANCE, TERMINAL = int(pyspiel.PlayerId.CHANCE), int(pyspiel.PlayerId.TERMINAL)


def deal(game, first, second):
  """The state after the deal of two hands given by name."""
  state = game.new_initial_state()
  for hand in (first, second):
    state.apply_action(state.string_to_action(f"Deal {hand}"))
  return state


def play(game, first, second, moves):
  """The state after a deal and moves given in words."""
  state = deal(game, first, second)
  for move in moves:
    state.apply_action(state.string_to_action(move))
  return state


def histories(state, probability=1.0):
  """Yields every state below `state`, itself included, with chance's probability to reach it."""
  yield state, probability
  if state.is_chance_node():
    for action, chance in state.chance_outcomes():
      yield from histories(state.child(action), probability * chance)
  else:
    for action in state.legal_actions():
      yield from histories(state.child(action), probability)


def universal_poker(pot, stack, board, abstraction="fcpa", blinds=None):
  blinds = blinds or f"{pot // 2} {pot // 2}"
  return pyspiel.load_game(
    f"universal_poker(betting=nolimit,bettingAbstraction={abstraction},numPlayers=2,numRounds=4,"
    f"blind={blinds},firstPlayer=2 1 1 1,numSuits=4,numRanks=13,numHoleCards=2,numBoardCards=0 3 1 1,"
    f"stack={stack} {stack},potSize={pot},boardCards={board})"
  )


def deal_cards(state, dealt):
  """Deals cards to a universal_poker state; it numbers cards as we do."""
  for card in dealt:
    state.apply_action(card)
  return state


# Against OpenSpiel's universal_poker


def assert_same_tree(ours, theirs):
  """The number of states, all of which have the same player, actions and returns."""
  assert ours.current_player() == theirs.current_player()
  assert ours.legal_actions() == theirs.legal_actions()
  assert not ours.is_terminal() or ours.returns() == theirs.returns()
  return 1 + sum(assert_same_tree(ours.child(a), theirs.child(a)) for a in ours.legal_actions())


@pytest.mark.parametrize(
  ("pot", "stack"), [(200, 20000), (200, 101), (200, 299), (200, 300), (200, 301), (1000, 20000)]
)
@pytest.mark.parametrize("hands", [("AsAh", "2h2d"), ("Kd8c", "6h2d"), ("AsKd", "AdKs")])
def test_same_betting_as_universal_poker(pot, stack, hands):
  game = pyspiel.load_game("river_subgame", {"pot": pot, "stack": stack})
  theirs = universal_poker(pot, stack, "9s7c5s4h3c").new_initial_state()
  dealt = [int(card) for hand in hands for card in cards.parse_range(hand, game.board).cards[0]]
  assert assert_same_tree(deal(game, *hands), deal_cards(theirs, dealt)) == len(game.public_states)


def test_same_showdowns_as_universal_poker():
  rng = np.random.default_rng(0)
  for _ in range(200):
    deck = rng.permutation(52).tolist()
    board, hands = cards.card_names(deck[:5]), [sorted(deck[5:7])[::-1], sorted(deck[7:9])[::-1]]
    theirs = deal_cards(universal_poker(200, 200, board).new_initial_state(), deck[5:9])
    names = [cards.card_names(hand) for hand in hands]
    ours = pyspiel.load_game(f"river_subgame(board={board},stack=200,ranges={';'.join(names)})")
    for _ in range(2):
      theirs.apply_action(betting.CALL)
    assert play(ours, *names, ["Check", "Check"]).returns() == theirs.returns()


def universal_poker_river(stack, hands, board):
  """The river of a hand with any bet size, 100 chips in from each player, blinds of 2."""
  game = pyspiel.load_game(
    "universal_poker(betting=nolimit,bettingAbstraction=fullgame,numPlayers=2,numRounds=4,blind=2 2,"
    f"firstPlayer=2 1 1 1,numSuits=4,numRanks=13,numHoleCards=2,numBoardCards=0 3 1 1,stack={stack} {stack})"
  )
  state = deal_cards(game.new_initial_state(), hands)
  state.apply_action(100)
  state.apply_action(betting.CALL)
  deal_cards(state, board[:3])
  for card in board[3:]:
    state.apply_action(betting.CALL)
    state.apply_action(betting.CALL)
    state.apply_action(card)
  return state


def test_fractional_bets_are_the_legal_ones_of_universal_poker():
  """Every size makes a bet exactly where no-limit hold'em allows one of that many chips."""
  sizes, stack = ["0.1", "0.33", "0.5", "1", "2"], 1500
  game = pyspiel.load_game("river_subgame", {"stack": stack, "bets": " ".join([*sizes, "a"])})
  dealt = [int(card) for hand in ("AsAh", "6h2d") for card in cards.parse_range(hand, game.board).cards[0]]
  seen_too_small = 0

  def compare(ours, theirs):
    nonlocal seen_too_small
    assert ours.current_player() == theirs.current_player()
    if ours.is_terminal():
      assert ours.returns() == theirs.returns()
      return
    legal = theirs.legal_actions()
    assert [a for a in legal if a < 2] == [a for a in ours.legal_actions() if a < 2]
    to_call = max(ours.public_state.spent)
    amounts = [to_call + int(Fraction(size) * 2 * to_call + Fraction(1, 2)) for size in sizes] + [stack]
    allowed = set(amounts) & set(legal)
    seen_too_small += sum(amount < min(legal[2:], default=0) for amount in amounts)
    assert {amounts[action - 2] for action in ours.legal_actions() if action >= 2} == allowed
    for action in ours.legal_actions():
      compare(ours.child(action), theirs.child(action if action < 2 else amounts[action - 2]))

  compare(deal(game, "AsAh", "6h2d"), universal_poker_river(stack, dealt, game.board))
  assert seen_too_small > 0


def test_universal_poker_pays_the_blinds_when_the_pot_is_larger():
  """Why it is no reference here: of a pot of 500 its showdown pays 100 and its folds 250."""
  theirs = universal_poker(500, 20000, "9s7c5s4h3c", blinds="100 50").new_initial_state()
  deal_cards(theirs, [51, 50, 1, 0])  # AsAh, 2d2c
  assert theirs.child(betting.CALL).child(betting.CALL).returns() == [100.0, -100.0]
  assert theirs.child(betting.FIRST_BET).child(betting.FOLD).returns() == [250.0, -250.0]
  ours = pyspiel.load_game("river_subgame(pot=500)")
  assert play(ours, "AsAh", "2d2c", ["Check", "Check"]).returns() == [250.0, -250.0]
  assert play(ours, "AsAh", "2d2c", ["Bet 500", "Fold"]).returns() == [250.0, -250.0]


# Rules


@pytest.mark.parametrize(
  ("hands", "moves", "won"),
  [
    (("AsAh", "2h2d"), ["Bet 200", "Fold"], 100),
    (("2h2d", "AsAh"), ["All-in 19900", "Fold"], 100),
    (("AsAh", "2h2d"), ["Check", "Bet 200", "Fold"], -100),
    (("AsAh", "2h2d"), ["Check", "Check"], 100),
    (("AsAh", "2h2d"), ["Bet 200", "Call"], 300),
    (("AsAh", "6h2d"), ["Bet 200", "Call"], -300),
    (("AsAh", "6h2d"), ["Bet 200", "Raise to 800", "Fold"], -300),
    (("AsAh", "6h2d"), ["Bet 200", "Raise to 800", "Call"], -900),
    (("AsAh", "6h2d"), ["Check", "Bet 200", "Raise to 800", "Fold"], 300),
    (("AsAh", "6h2d"), ["Check", "Bet 200", "Raise to 800", "All-in 19900", "Call"], -20000),
    (("8h6h", "6c2d"), ["All-in 19900", "Call"], 20000),
    (("AsKd", "AdKs"), ["Check", "Check"], 0),
    (("AsKd", "AdKs"), ["All-in 19900", "Call"], 0),
    (("AsKd", "AdKs"), ["Bet 200", "Raise to 800", "Fold"], -300),
  ],
)
def test_endings(hands, moves, won):
  state = play(pyspiel.load_game("river_subgame"), *hands, moves)
  assert state.is_terminal()
  assert state.returns() == [won, -won]
  assert [str(chips) for chips in state.returns()] == [str(float(won)), str(0.0 - won)]  # a tie has no -0.0


def labels(game_string, *moves):
  state = deal(pyspiel.load_game(game_string), "AsKd", "QdQc")
  for move in moves:
    state.apply_action(state.string_to_action(move))
  return {action: state.action_to_string(action) for action in state.legal_actions()}


def test_bet_sizes():
  game = "river_subgame(stack=1000,bets=0.33 1 2.5 a)"
  assert labels(game) == {1: "Check", 2: "Bet 66", 3: "Bet 200", 4: "Bet 500", 5: "All-in 900"}
  # call 200 more, then 0.33, 1 and 2.5 times 600: 198 is less than the bet and 1500 more than the stack
  assert labels(game, "Bet 200") == {0: "Fold", 1: "Call", 3: "Raise to 800", 5: "All-in 900"}
  assert labels(game, "Bet 66") == {
    0: "Fold",
    1: "Call",
    2: "Raise to 176",
    3: "Raise to 398",
    4: "Raise to 896",
    5: "All-in 900",
  }
  assert labels(game, "Check", "All-in 900") == {0: "Fold", 1: "Call"}


def test_bets_are_rounded_half_up_and_at_least_one_chip():
  assert labels("river_subgame(pot=10,stack=20,bets=0.04 0.05 0.14 0.15)") == {
    1: "Check",
    3: "Bet 1",
    5: "Bet 2",
  }


def test_sizes_of_the_same_chips_are_one_bet_with_the_smallest_action():
  assert labels("river_subgame(stack=300,bets=0.5 1 a)") == {1: "Check", 2: "Bet 100", 3: "All-in 200"}


def test_all_in_may_raise_by_less_than_the_bet_before():
  assert labels("river_subgame(stack=350)", "Bet 200") == {0: "Fold", 1: "Call", 3: "All-in 250"}
  assert labels("river_subgame(stack=350)", "Bet 200", "All-in 250") == {0: "Fold", 1: "Call"}


def test_sizes_may_differ_between_first_second_and_later_bets():
  game = "river_subgame(bets=0.5 1 a;2 a;a)"
  assert labels(game) == {1: "Check", 2: "Bet 100", 3: "Bet 200", 5: "All-in 19900"}
  assert labels(game, "Check") == labels(game)
  assert labels(game, "Bet 100") == {0: "Fold", 1: "Call", 4: "Raise to 900", 5: "All-in 19900"}
  assert labels(game, "Bet 100", "Raise to 900") == {0: "Fold", 1: "Call", 5: "All-in 19900"}


def test_sizes_may_differ_between_players():
  game = pyspiel.load_game("river_subgame", {"bets": "x;1 a | 0.5;x"})

  def labels(*moves):
    state = play(game, "AsKd", "6h2d", moves)
    return {action: state.action_to_string(action) for action in state.legal_actions()}

  assert labels() == {1: "Check"}
  assert labels("Check") == {1: "Check", 2: "Bet 100"}
  assert labels("Check", "Bet 100") == {0: "Fold", 1: "Call", 3: "Raise to 500", 4: "All-in 19900"}
  assert labels("Check", "Bet 100", "Raise to 500") == {0: "Fold", 1: "Call"}


SIZES_OF_EACH = (
  "0.5 | 1 a",
  "0.5 a;1 | 0.7;x",
  "x | 1;a",
  "0.4;1;a | 0.4;1;a",
  "fcpa | 2",
)


@pytest.mark.parametrize("bets", SIZES_OF_EACH)
def test_sizes_of_each_player_are_those_of_both_with_lines_left_out(bets):
  """Beside the game in which both may use every size at every bet: the same lines, but for those left out."""
  sizes = [
    [group.replace("fcpa", "1 a").split() for group in player.split(";")] for player in bets.split("|")
  ]
  every = " ".join(sorted({size for player in sizes for group in player for size in group if size != "x"}))
  pot, stack = 200, 1500
  number = {
    size: k for k, size in enumerate(sorted(every.split(), key=lambda s: float(s.replace("a", "inf"))))
  }

  def lines(text):
    tree = betting.betting_states(pot, stack, betting.parse_bets(f"{text};{text}"))
    return {state.line: state for state in tree}, tree

  def allowed(state, tree):
    while state.parent >= 0:
      above = tree[state.parent]
      groups = sizes[above.player]
      group = groups[min(above.num_bets, len(groups) - 1)]
      if state.action >= 2 and state.action - 2 not in [number[size] for size in group if size != "x"]:
        return False
      state = above
    return True

  all_lines, tree = lines(every)
  game = pyspiel.load_game("river_subgame", {"bets": bets, "pot": pot, "stack": stack})
  ours = {state.line: state for state in game.public_states}
  assert set(ours) == {line for line, state in all_lines.items() if allowed(state, tree)}
  for line, state in ours.items():
    theirs = all_lines[line]
    same = ("action", "label", "player", "spent", "fold_payoff", "showdown_payoff", "num_bets", "min_raise")
    assert [getattr(state, name) for name in same] == [getattr(theirs, name) for name in same]


def test_equal_sizes_of_both_players_are_one_list():
  both, one = (betting.parse_bets(text, 2) for text in ("0.5 a;1 | 0.5 a;1 / 2 | 2", "0.5 a;1 / 2"))
  assert both == one


def test_a_capped_size_is_all_in_where_the_stack_is_less():
  """Against a game without the cap, which has all-in too: the same but where a size is beyond the stack."""
  capped, free = (f"river_subgame(pot=180,stack=1000,bets={bets})" for bets in ("0.7a;0.45a", "0.7 a;0.45 a"))
  line = []
  for bet in ("Bet 126", "Raise to 320", "Raise to 689"):
    assert {label.split()[0] for label in labels(capped, *line).values()} == (
      {"Fold", "Call", "Raise"} if line else {"Check", "Bet"}
    )
    assert set(labels(capped, *line).values()) == set(labels(free, *line).values()) - {"All-in 910"}
    line.append(bet)
  assert list(labels(capped, *line).values()) == ["Fold", "Call", "All-in 910"]
  assert labels(capped, *line, "All-in 910") == {0: "Fold", 1: "Call"}


def test_nobody_can_bet_when_all_chips_are_in_the_pot():
  game = "river_subgame(stack=100)"
  assert labels(game) == labels(game, "Check") == {1: "Check"}
  assert labels(game, "Check", "Check") == {}


def test_fcpa_is_short_for_pot_and_all_in():
  by_name, by_size = (pyspiel.load_game(f"river_subgame(bets={bets})") for bets in ("fcpa", "a 1"))
  assert by_name.public_states == by_size.public_states
  assert by_name.num_distinct_actions() == 4


# Sizes


def infostates(form):
  """All strings of a form without public cards."""
  return [
    form.infostate(line, (), h)
    for line, player in enumerate(form.betting.player.tolist())
    for h in range(len(form.types[player]) if player >= 0 else 0)
  ]


def test_the_default_has_the_papers_sizes():
  game = pyspiel.load_game("river_subgame")
  form = game.bayesian_form()
  players = form.betting.player.tolist()
  assert (len(players), players.count(0), players.count(1)) == (57, 10, 10)
  assert (form.betting.showdown_payoff > 0).sum() == 19
  assert (form.betting.fold_payoff != 0).sum(0).tolist() == [18, 18]
  strings = infostates(form)
  assert len(strings) == len(set(strings)) == 21_620
  assert game.disjoint.sum() == 1_070_190
  assert 57 * 1_070_190 + 1 == 61_000_831  # histories, the deal being one event


@each(ENUMERATED, games=["river_subgame"])
def test_game_info_is_exact(game_string):
  game = pyspiel.load_game(game_string)
  states = [state for state, _ in histories(game.new_initial_state())]
  ends = [state for state in states if state.is_terminal()]
  assert game.max_utility() == max(max(state.returns()) for state in ends)
  assert game.min_utility() == min(min(state.returns()) for state in ends)
  assert ("rake" in game_string) == (game.max_utility() < -game.min_utility())
  assert game.max_game_length() == max(len(state.history()) for state in ends) - 2
  assert game.max_chance_nodes_in_history() == 2
  assert game.max_history_length() == game.max_game_length() + 2
  deals = [a for state in states if state.is_chance_node() for a in state.legal_actions()]
  assert game.max_chance_outcomes() == max(deals) + 1
  moves = [a for state in states if not state.is_chance_node() for a in state.legal_actions()]
  assert game.num_distinct_actions() == max(moves) + 1 or "stack=100" in game_string  # nobody can bet


# Bayesian form


@each(ENUMERATED, games=["river_subgame"])
def test_bayesian_form_is_the_game(game_string):
  """Follows every history and looks up in the form what OpenSpiel says about it."""
  game = pyspiel.load_game(game_string)
  form = game.bayesian_form()
  betting = form.betting
  moves = zip(betting.parent.tolist(), betting.action.tolist(), strict=True)
  child = {move: line for line, move in enumerate(moves)}
  prior = np.outer(*form.weights) * [
    [not set(h) & set(g) for g in form.cards[1].tolist()] for h in form.cards[0].tolist()
  ]
  assert (prior.sum(axis=1) > 0).all()
  assert (prior.sum(axis=0) > 0).all()
  deals, visited, strings = {}, set(), set()
  for state, probability in histories(game.new_initial_state()):
    if state.is_chance_node():
      continue
    first, second, *actions = state.history()
    deals[first, second] = probability
    node = 0
    for action in actions:
      node = child[node, action]
    visited.add(node)
    player = state.current_player()
    assert betting.player[node] == player
    assert state.legal_actions() == [a for (parent, a) in child if parent == node]
    if state.is_terminal():
      sign = np.sign(form.strength[0][first] - form.strength[1][second])
      won = betting.showdown_payoff[node] * sign
      assert state.returns() == (betting.fold_payoff[node] + [won, -won]).tolist()
    else:
      string = form.infostate(node, (), (first, second)[player])
      assert string == state.information_state_string(player)
      strings.add(string)
      assert not betting.fold_payoff[node].any() and betting.showdown_payoff[node] == 0
  assert visited == set(range(len(betting)))
  assert strings == set(infostates(form))
  reached = np.zeros_like(prior)
  reached[tuple(zip(*deals, strict=True))] = list(deals.values())
  np.testing.assert_allclose(reached, prior / prior.sum(), rtol=1e-12, atol=0)


def test_bayesian_form_shapes():
  form = pyspiel.load_game(WEIGHTED_RIVER).bayesian_form()
  nodes, types, betting = len(form.betting), [len(names) for names in form.types], form.betting
  integers = betting.parent, betting.action, betting.player, betting.street
  assert {(column.dtype, column.shape) for column in integers} == {(np.dtype(np.int32), (nodes,))}
  payoffs = betting.fold_payoff, betting.showdown_payoff
  assert [column.shape for column in payoffs] == [(nodes, 2), (nodes,)]
  assert {column.dtype for column in payoffs} == {np.dtype(np.float64)}
  for player, size in enumerate(types):
    assert form.weights[player].shape == form.strength[player].shape == (size,)
    assert form.cards[player].shape == (size, 2)
    assert form.weights[player].dtype == np.float64
    assert form.cards[player].dtype == form.strength[player].dtype == np.int32
    assert form.types[player] == tuple(map(cards.card_names, form.cards[player]))


@each(games=["river_subgame"])
def test_public_states_are_in_preorder_by_ascending_action(game_string):
  form = pyspiel.load_game(game_string).bayesian_form()
  children = {n: [] for n in range(len(form.betting.parent))}
  for node, parent in enumerate(form.betting.parent[1:].tolist(), start=1):
    children[parent].append(node)

  def preorder(node):
    ascending = sorted(children[node], key=lambda n: form.betting.action[n])
    return [node, *itertools.chain(*map(preorder, ascending))]

  assert form.betting.parent[0] == form.betting.action[0] == -1
  assert preorder(0) == list(range(len(form.betting.parent)))


def test_first_deal_allows_for_what_the_second_can_be():
  """Player 1 holds AhKh or QQ; AhKc leaves only the six QQ, KcKd everything, so 6 to 7."""
  state = pyspiel.load_game("river_subgame(ranges=AhKc KcKd;AhKh QQ)").new_initial_state()
  assert [state.action_to_string(action) for action in state.legal_actions()] == ["Deal KdKc", "Deal AhKc"]
  assert [chance for _, chance in state.chance_outcomes()] == pytest.approx([7 / 13, 6 / 13], rel=1e-15)
  assert len(state.child(0).chance_outcomes()) == 7
  assert len(state.child(1).chance_outcomes()) == 6


# What players see


def test_strings():
  game = pyspiel.load_game("river_subgame")
  state = game.new_initial_state()
  see = {kind: make_observation(game, kind).string_from for kind in (PUBLIC, PUBLIC_NOW, PRIVATE, EVERYTHING)}
  assert state.information_state_string(0) == "p0 | 9s7c5s4h3c pot 200 stack 20000 | deal p0"
  assert str(state) == "p0 p1 | 9s7c5s4h3c pot 200 stack 20000 | deal p0"
  state.apply_action(state.string_to_action("Deal AhKd"))
  assert state.information_state_string(0) == "p0 AhKd | 9s7c5s4h3c pot 200 stack 20000 | deal p1"
  assert state.information_state_string(1) == "p1 | 9s7c5s4h3c pot 200 stack 20000 | deal p1"
  state.apply_action(state.string_to_action("Deal 6h2d"))
  assert state.information_state_string(0) == "p0 AhKd | 9s7c5s4h3c pot 200 stack 20000"
  assert state.information_state_string(1) == "p1 6h2d | 9s7c5s4h3c pot 200 stack 20000"
  for move in ("Check", "Bet 200", "Raise to 800"):
    state.apply_action(state.string_to_action(move))
  assert state.information_state_string() == "p1 6h2d | 9s7c5s4h3c pot 200 stack 20000 | x b200 r800"
  assert state.observation_string() == "p1 6h2d | 9s7c5s4h3c pot 200 stack 20000 | in 900 300 | p1 to act"
  assert see[PUBLIC](state, 0) == "9s7c5s4h3c pot 200 stack 20000 | x b200 r800"
  assert see[PUBLIC_NOW](state, 1) == "9s7c5s4h3c pot 200 stack 20000 | in 900 300 | p1 to act"
  assert see[PRIVATE](state, 0) == "p0 AhKd"
  assert see[EVERYTHING](state, 0) == str(state)
  assert str(state) == "p0 AhKd p1 6h2d | 9s7c5s4h3c pot 200 stack 20000 | x b200 r800"
  state.apply_action(state.string_to_action("Call"))
  assert state.information_state_string(0).endswith("| x b200 r800 c")
  assert state.observation_string(0).endswith("| in 900 900 | end")


def test_tensors():
  game = pyspiel.load_game("river_subgame")
  state = play(game, "AhKd", "6h2d", ["Check", "Bet 200"])
  info = make_observation(game, INFOSTATE)
  info.set_from(state, 1)
  assert list(info.dict) == ["player", "private_hands", "board", "turn", "betting"]
  assert info.dict["player"].tolist() == [0, 1]
  assert cards.card_names(info.dict["private_hands"][0].nonzero()[0]) == "2d6h"
  assert cards.card_names(info.dict["board"].nonzero()[0]) == "3c4h5s7c9s"
  assert info.dict["turn"].tolist() == [0, 0, 1, 0, 0]
  assert np.argwhere(info.dict["betting"]).tolist() == [[0, 1], [1, 2]]
  assert info.dict["betting"].shape == (7, 4)
  now = make_observation(game, OBSERVATION)
  now.set_from(state, 0)
  assert list(now.dict) == ["player", "private_hands", "board", "turn", "pot_contribution"]
  assert now.dict["pot_contribution"].tolist() == [100, 300]
  everything = make_observation(game, EVERYTHING)
  everything.set_from(state, 0)
  assert everything.dict["private_hands"].sum(axis=1).tolist() == [2, 2]
  assert state.information_state_tensor(1) == info.tensor.tolist()
  assert state.observation_tensor(0) == now.tensor.tolist()


# OpenSpiel's own checks


def test_api_on_all_states(monkeypatch):
  game = pyspiel.load_game("river_subgame(ranges=AsKd QdQc;TdTc QdTd 8h7h)")
  deals = 5  # of 2 x 3, QdQc and QdTd share a card
  monkeypatch.setitem(api_test.TOTAL_NUM_STATES, "river_subgame", (1 + 2, 20 * deals, 37 * deals))
  monkeypatch.setitem(api_test.PERFECT_RECALL_NUM_STATES, "river_subgame", 10 * 2 + 10 * 3)
  run_api_tests(api_test.EnforceAPIOnFullTreeBase, game)


# Wrong input


def test_too_many_public_states(monkeypatch):
  monkeypatch.setattr(betting, "MAX_PUBLIC_STATES", 56)
  with pytest.raises(ValueError, match="pot=200, stack=20000: more than 56 public states"):
    pyspiel.load_game("river_subgame")
  monkeypatch.setattr(betting, "MAX_PUBLIC_STATES", 57)
  pyspiel.load_game("river_subgame")


def test_illegal_actions():
  game = pyspiel.load_game("river_subgame(ranges=AsKd QdQc;QdTd TdTc)")
  state = game.new_initial_state()
  with pytest.raises(ValueError, match="illegal action 2 at p0 p1"):
    state.apply_action(2)
  state.apply_action(0)  # QdQc
  with pytest.raises(ValueError, match="illegal action 1 at p0 QdQc p1"):
    state.apply_action(1)  # QdTd
  state.apply_action(0)
  with pytest.raises(ValueError, match=r"illegal action 0 at p0 QdQc p1 TdTc .* legal are \[1, 2, 3\]"):
    state.apply_action(0)
  assert (state.history(), state.current_player()) == ([0, 0], 0)
  state.apply_action(1)
  state.apply_action(1)
  with pytest.raises(ValueError, match=r"legal are \[\]"):
    state.apply_action(1)
