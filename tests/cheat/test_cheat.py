import collections
import itertools
import math

import numpy as np
import pyspiel
import pytest
from game_checks import (
  EVERYTHING,
  INFOSTATE,
  OBSERVATION,
  PRIVATE,
  PRIVATE_NOW,
  PUBLIC,
  PUBLIC_NOW,
  all_histories,
  random_histories,
  run_api_tests,
)
from open_spiel.integration_tests import api_test
from open_spiel.python.algorithms import exploitability
from open_spiel.python.observation import make_observation
from ps_cfr_spiel.games.cheat import cheat_rules, turns_observer
from reference import random_policy, sequence_form_value
from variants import CARDS_LEFT_OVER, CHEAT, each

import ps_cfr_spiel


def deal(game_string, *hands):
  """The state after a deal of hands such as "AA2"; the first player is in the game string."""
  state = pyspiel.load_game(game_string).new_initial_state()
  for cards in zip(*hands, strict=True):
    for player, card in enumerate(cards):
      state.apply_action(state.string_to_action(f"Deal {card} to p{player}"))
  return state


def play(state, *moves):
  """The state after moves such as "AA2", "pass" and "cheat"."""
  for move in moves:
    name = {"pass": "Pass", "cheat": "Cheat!"}.get(move, f"Discard {move}")
    state.apply_action_with_legality_check(state.string_to_action(name))
  return state


def hands_of(state):
  players = range(state.get_game().num_players())
  return [cheat_rules.cards_text(cheat_rules.cards_of(state.hand(player))) for player in players]


def pile_of(state):
  return cheat_rules.cards_text(cheat_rules.cards_of(state.pile))


DEFAULT = "cheat(first_player=0)"
THREE = "cheat(players=3,hand_size=2,first_player=1,max_turns=4)"

# Rules


def test_number_of_actions():
  """329 multisets of up to four of seven ranks, besides pass and challenge."""
  assert pyspiel.load_game("cheat").num_distinct_actions() == 329 + 2
  for ranks, most in [(2, 2), (3, 1), (13, 4), (5, 5)]:
    game = pyspiel.load_game(f"cheat(ranks={ranks},suits=5,hand_size=2,max_discard={most})")
    multisets = sum(math.comb(ranks + size - 1, size) for size in range(1, most + 1))
    assert game.num_distinct_actions() == len(set(game.discards)) + 2 == multisets + 2


def test_legal_discards_are_the_sub_multisets_of_the_hand():
  state = deal(DEFAULT, "AA2337", "A23456")
  hand = "AA2337"
  expected = {"".join(cards) for size in range(1, 5) for cards in itertools.combinations(hand, size)}
  names = [state.action_to_string(action) for action in state.legal_actions()]
  assert set(names) == {f"Discard {cards}" for cards in expected}
  play(state, "A")
  assert [state.action_to_string(action) for action in state.legal_actions()] == ["Pass", "Cheat!"]


def test_most_cards_in_a_discard():
  state = deal("cheat(hand_size=3,max_discard=2,first_player=0)", "A22", "345")
  assert {len(state.get_game().cards(action)) for action in state.legal_actions()} == {1, 2}


def test_a_turn_without_challenge():
  state = play(deal(DEFAULT, "AA2337", "A23456"), "33")  # claims two aces
  assert (state.current_player(), state.claim(), pile_of(state)) == (1, 2, "33")
  play(state, "pass")
  assert (state.current_player(), state.rank, pile_of(state)) == (1, 1, "33")
  assert hands_of(state) == ["AA27", "A23456"]


def test_a_liar_takes_the_pile():
  state = play(deal(DEFAULT, "AA2337", "A23456"), "33", "pass", "A2", "cheat")
  assert hands_of(state) == ["AA27", "A2333456"]
  assert (pile_of(state), state.current_player(), state.rank) == ("", 0, 2)


def test_an_honest_players_challenger_takes_the_pile():
  state = play(deal(DEFAULT, "AA2337", "A23456"), "AA", "pass", "2", "cheat")
  assert hands_of(state) == ["AA22337", "A3456"]
  assert pile_of(state) == ""


def test_players_are_asked_in_seat_order_until_one_challenges():
  state = deal(THREE, "A2", "34", "56")
  assert state.current_player() == 1
  assert play(state, "3").current_player() == 2
  assert play(state, "pass").current_player() == 0
  assert play(state, "pass").current_player() == 2  # discards in turn 1
  assert play(state, "5").current_player() == 0
  play(state, "cheat")  # player 1 is not asked
  assert (state.current_player(), hands_of(state)) == (0, ["A2", "4", "356"])


def test_the_challenger_takes_the_pile_among_three():
  state = play(deal(THREE, "A2", "A4", "56"), "A", "pass", "cheat")
  assert hands_of(state) == ["AA2", "4", "56"]


def test_ranks_wrap():
  game = "cheat(ranks=3,suits=4,hand_size=4,first_player=0)"
  state = play(deal(game, "AA23", "A223"), "A", "pass", "2", "pass", "3", "pass")
  assert state.rank == 0
  state = play(state, "A", "cheat")  # an honest ace in turn 3
  assert state.hand_sizes() == [6, 2]


@pytest.mark.parametrize(
  ("game_string", "hands", "moves", "returns"),
  [
    # honest last cards win, challenged or not
    ("cheat(hand_size=1,first_player=0)", ["A", "2"], ["A", "pass"], [1, -1]),
    ("cheat(hand_size=1,first_player=0)", ["A", "2"], ["A", "cheat"], [1, -1]),
    ("cheat(hand_size=2,first_player=1)", ["23", "AA"], ["AA", "cheat"], [-1, 1]),
    # a lie with the last cards wins if nobody challenges
    ("cheat(hand_size=1,first_player=0)", ["3", "2"], ["3", "pass"], [1, -1]),
    # caught on the last card: the game goes on, and the next player wins
    ("cheat(hand_size=1,first_player=0)", ["3", "2"], ["3", "cheat", "2", "cheat"], [-1, 1]),
    # draw at the horizon; a win in the last turn is a win
    ("cheat(hand_size=2,first_player=0,max_turns=1)", ["34", "56"], ["3", "pass"], [0, 0]),
    ("cheat(hand_size=1,first_player=0,max_turns=1)", ["3", "2"], ["3", "cheat"], [0, 0]),
    ("cheat(hand_size=1,first_player=0,max_turns=1)", ["3", "2"], ["3", "pass"], [1, -1]),
    # the loss is shared
    ("cheat(players=3,hand_size=1,first_player=1)", ["3", "2", "4"], ["2", "pass", "pass"], [-0.5, 1, -0.5]),
    (
      "cheat(players=3,hand_size=1,first_player=1,max_turns=1)",
      ["3", "2", "4"],
      ["2", "pass", "cheat"],
      [0, 0, 0],
    ),
    (
      "cheat(players=4,hand_size=1,first_player=3)",
      ["3", "2", "4", "A"],
      ["A", "pass", "pass", "pass"],
      [-1 / 3, -1 / 3, -1 / 3, 1],
    ),
  ],
)
def test_endings(game_string, hands, moves, returns):
  *before, last = moves
  state = play(deal(game_string, *hands), *before)
  assert not state.is_terminal()
  assert not any(state.returns())
  play(state, last)
  assert state.is_terminal()
  assert state.returns() == returns


def test_the_deal_is_hypergeometric():
  game = pyspiel.load_game("cheat(ranks=3,suits=2,hand_size=2,first_player=1)")
  hands = collections.Counter()

  def visit(state, probability):
    if state.is_chance_node():
      outcomes = state.chance_outcomes()
      assert sum(chance for _, chance in outcomes) == pytest.approx(1)
      for action, chance in outcomes:
        visit(state.child(action), probability * chance)
    else:
      assert state.current_player() == 1
      hands[tuple(hands_of(state))] += probability

  visit(game.new_initial_state(), 1.0)
  cards = "AA2233"
  expected = collections.Counter()
  for first in itertools.combinations(range(6), 2):
    rest = [card for card in range(6) if card not in first]
    for second in itertools.combinations(rest, 2):
      expected["".join(cards[c] for c in first), "".join(cards[c] for c in second)] += 1 / (15 * 6)
  assert hands == pytest.approx(expected)


def test_who_is_first():
  state = pyspiel.load_game("cheat(players=3)").new_initial_state()
  assert state.chance_outcomes() == [(player, pytest.approx(1 / 3)) for player in range(3)]
  assert [state.action_to_string(player) for player in range(3)] == ["p0 first", "p1 first", "p2 first"]
  assert state.child(2).first == 2
  fixed = pyspiel.load_game("cheat(players=3,first_player=2)").new_initial_state()
  assert fixed.action_to_string(0) == "Deal A to p0"


@each(games=["cheat"])
def test_cards_are_conserved_and_counts_are_public(game_string):
  game = pyspiel.load_game(game_string)
  for state, _ in random_histories(game, 5, seed=2):
    hands = np.array([list(state.hand(player)) for player in range(game.num_players())])
    total = hands.sum(axis=0) + list(state.pile)
    assert (total <= game.rules.suits).all()
    if not state.is_chance_node():
      assert total.sum() == game.rules.players * game.rules.hand_size
    assert state.hand_sizes() == hands.sum(axis=1).tolist()
    # the public record alone gives everybody's number of cards and the pile's
    sizes = [len(turns_observer.dealt_hand(state, player)) for player in range(game.num_players())]
    pile = 0
    for turn in turns_observer.seen_turns(state, ()):
      sizes[turn.discarder] -= turn.claim
      pile += turn.claim
      if turn.challenged:
        assert turn.pile_size == pile
        sizes[turn.taker] += pile
        pile = 0
    assert (sizes, pile) == (state.hand_sizes(), sum(state.pile))


def test_the_bound_on_the_length_is_reached():
  game = "cheat(hand_size=2,first_player=0,max_turns=6)"
  state = deal(game, "35", "46")
  for lie in "345634":
    play(state, lie, "cheat")
  assert state.is_terminal()
  assert len(state.history()) == state.get_game().max_game_length() + 4
  ends = [state for state, _ in all_histories(pyspiel.load_game(CHEAT)) if state.is_terminal()]
  assert {state.returns()[0] for state in ends} == {-1, 0, 1}
  assert max(len(state.history()) for state in ends) == 4 + 1 + 4


def test_illegal_actions():
  state = pyspiel.load_game("cheat(hand_size=1,ranks=2,suits=1)").new_initial_state()
  with pytest.raises(ValueError, match=r"illegal action 2 at p0 p1 .* legal are \[0, 1\]"):
    state.apply_action(2)
  state.apply_action(0)
  state.apply_action(1)
  with pytest.raises(ValueError, match=r"legal are \[0\]"):
    state.apply_action(1)  # the only 2 has been dealt
  state.apply_action(0)
  with pytest.raises(ValueError, match=r"illegal action 0 at p0 2 p1 A \| p0 first; legal are \[3\]"):
    state.apply_action(0)
  play(state, "2")
  with pytest.raises(ValueError, match=r"legal are \[0, 1\]"):
    state.apply_action(2)
  before = vars(state).copy()
  with pytest.raises(ValueError, match=r"legal are \[0, 1\]"):
    state.apply_action(331)
  assert vars(state) == before
  play(state, "pass")
  with pytest.raises(ValueError, match=r"legal are \[\]"):
    state.apply_action(0)
  many = deal(DEFAULT, "AA2337", "A23456")
  with pytest.raises(ValueError, match="legal are the discards of cards in the hand"):
    many.apply_action(0)


# What players see


def test_strings():
  state = play(deal("cheat(hand_size=3,first_player=1)", "A22", "3A7"), "37", "pass", "22", "cheat", "A")
  state = play(state, "cheat", "A", "cheat")
  kinds = (PUBLIC, PUBLIC_NOW, PRIVATE, PRIVATE_NOW, EVERYTHING)
  public, public_now, private, private_now, everything = (
    make_observation(state.get_game(), kind).string_from for kind in kinds
  )
  told = "p1 2xA{} pass; p0 2x2 cheat! 22 p1 +4{}; p1 1x3 cheat! A p1 +1{}; p0 1x4 cheat! A p0 +1{}"
  assert state.information_state_string(0) == "p0 A22 | p1 first; " + told.format("", "", "", "(A)")
  assert state.information_state_string(1) == "p1 A37 | p1 first; " + told.format("(37)", "(2237)", "(A)", "")
  assert public(state, 0) == public(state, 1) == "p1 first; " + told.format("", "", "", "")
  assert str(state) == "p0 A22 p1 A37 | p1 first; " + told.format("(37)", "(2237)", "(A)", "(A)")
  assert everything(state, 1) == str(state)
  now = "cards 1 5 | pile 0 | rank 5 | p1 to discard"
  assert state.observation_string(0) == f"p0 A | {now}"
  assert public_now(state, 0) == now
  assert private_now(state, 1) == "p1 A2237"
  assert private(state, 1) == "p1 A37 | turn 0 -37 | turn 1 +2237 | turn 2 -A | turn 2 +A"
  play(state, "22")
  assert state.observation_string(0) == "p0 A | cards 1 3 | pile 2 | rank 5 | p1 claims 2, p0 to answer"
  assert state.information_state_string(0).endswith("; p1 2x5")
  assert state.information_state_string(1).endswith("; p1 2x5(22)")


def test_strings_during_the_deal_and_at_the_end():
  state = pyspiel.load_game("cheat(hand_size=1,max_turns=1)").new_initial_state()
  assert state.information_state_string(0) == "p0 | 0 of 2 cards dealt"
  assert state.observation_string(0) == "p0 | cards 0 0 | pile 0 | rank A | dealing"
  state.apply_action(1)
  state.apply_action(3)
  assert state.information_state_string(0) == "p0 4 | p1 first, 1 of 2 cards dealt"
  assert state.information_state_string(1) == "p1 | p1 first, 1 of 2 cards dealt"
  assert state.observation_string(1) == "p1 | cards 1 0 | pile 0 | rank A | p1 first, dealing"
  state.apply_action(2)
  end = play(state.clone(), "3", "cheat")
  assert end.observation_string(0) == "p0 4 | cards 1 1 | pile 0 | draw"
  end = play(state, "3", "pass")
  assert end.observation_string(0) == "p0 4 | cards 1 0 | pile 1 | p1 wins"


def test_the_order_of_the_deal_is_not_seen():
  first, second = deal(DEFAULT, "A22337", "A23456"), deal(DEFAULT, "732A32", "A23456")
  assert first.information_state_string(0) == second.information_state_string(0)
  assert first.information_state_tensor(0) == second.information_state_tensor(0)


def test_tensors():
  state = play(
    deal("cheat(hand_size=3,first_player=1,max_turns=4)", "A22", "3A7"), "37", "pass", "22", "cheat", "A"
  )
  info = make_observation(state.get_game(), INFOSTATE)
  info.set_from(state, 1)
  assert {name: piece.shape for name, piece in info.dict.items()} == {
    "player": (2,), "dealt": (1, 7), "discarded": (1, 4, 7), "taken": (1, 4, 7), "cards_dealt": (1,),
    "first": (2,), "claims": (4, 4), "challenger": (4, 2), "turned_up": (4, 7), "answering": (1,),
    "to_move": (4,),
  }  # fmt: skip
  assert info.dict["player"].tolist() == [0, 1]
  assert info.dict["dealt"].tolist() == [[1, 0, 1, 0, 0, 0, 1]]
  assert np.argwhere(info.dict["discarded"]).tolist() == [[0, 0, 2], [0, 0, 6], [0, 2, 0]]
  assert info.dict["taken"][0, 1].tolist() == [0, 2, 1, 0, 0, 0, 1]
  assert info.dict["taken"].sum() == 4
  assert np.argwhere(info.dict["claims"]).tolist() == [[0, 1], [1, 1], [2, 0]]
  assert np.argwhere(info.dict["challenger"]).tolist() == [[1, 1]]
  assert info.dict["turned_up"][1].tolist() == [0, 2, 0, 0, 0, 0, 0]
  assert info.dict["to_move"].tolist() == [1, 0, 0, 0]
  assert info.dict["cards_dealt"].tolist() == [6]
  assert info.dict["answering"].tolist() == [1]
  assert state.information_state_tensor(1) == info.tensor.tolist()
  now = make_observation(state.get_game(), OBSERVATION)
  now.set_from(state, 0)
  assert list(now.dict) == [
    "player",
    "hands",
    "hand_sizes",
    "pile_size",
    "rank",
    "discarder",
    "claim",
    "to_move",
  ]
  assert now.dict["hands"].tolist() == [[1, 0, 0, 0, 0, 0, 0]]
  assert now.dict["hand_sizes"].tolist() == [1, 4]
  assert now.dict["pile_size"].tolist() == [1]
  assert np.argwhere(now.dict["rank"]).tolist() == [[2]]
  assert now.dict["discarder"].tolist() == [0, 1]
  assert now.dict["claim"].tolist() == [1, 0, 0, 0]
  assert state.observation_tensor(0) == now.tensor.tolist()


# Small instances, solved exactly


@pytest.mark.parametrize("public_states", ["closure", "observer"])
@pytest.mark.parametrize("game_string", [CHEAT, CARDS_LEFT_OVER])
def test_compiled(game_string, public_states):
  game = pyspiel.load_game(game_string)
  tree = ps_cfr_spiel.build_tree(game, public_states=public_states)
  decisions = {
    state.information_state_string()
    for state, _ in all_histories(game)
    if not (state.is_chance_node() or state.is_terminal())
  }
  assert sorted(name for _, _, name in tree.labels.infostates()) == sorted(decisions)


@pytest.mark.parametrize("game_string", [CHEAT, CARDS_LEFT_OVER])
def test_exploitability_is_openspiels(game_string):
  game = pyspiel.load_game(game_string)
  policy = random_policy(game, seed=4)
  expected = pyspiel.exploitability(game, policy)
  assert ps_cfr_spiel.exploitability(game, policy) == pytest.approx(expected, abs=1e-9)


def test_solved():
  game = pyspiel.load_game(CHEAT)
  value = sequence_form_value(game)
  solver = ps_cfr_spiel.PSCFRSolver(game, "rm+", dtype="float64")
  solver.run(1000)
  policy = solver.average_policy()
  measured = exploitability.exploitability(game, policy.to_tabular())
  assert measured < 2e-3
  assert ps_cfr_spiel.exploitability(game, policy) == pytest.approx(measured, abs=1e-9)
  assert solver.value() == pytest.approx(value, abs=2 * measured)


def test_three_players_are_too_large_for_a_public_tree():
  with pytest.raises(ValueError, match=r"more than .* histories, by "):
    ps_cfr_spiel.build_tree(pyspiel.load_game("cheat(players=3,hand_size=2)"))


# OpenSpiel's own checks, copies


def test_api_on_all_states(monkeypatch):
  """A2 is dealt as A and 2 or as 2 and A; either player must play the one card and be answered."""
  game = pyspiel.load_game("cheat(ranks=2,suits=1,hand_size=1,max_turns=1,first_player=0)")
  monkeypatch.setitem(api_test.TOTAL_NUM_STATES, "cheat", (1 + 2, 2 + 2, 4))
  monkeypatch.setitem(api_test.PERFECT_RECALL_NUM_STATES, "cheat", 2 + 2)
  run_api_tests(api_test.EnforceAPIOnFullTreeBase, game)


# Wrong input


def test_players_up_to_the_bound():
  for players in (2, 3, 4):
    game = pyspiel.load_game("cheat", {"players": players, "hand_size": 28 // players})
    assert game.num_players() == players
    assert (game.min_utility(), game.max_utility()) == (-1 / (players - 1), 1)
