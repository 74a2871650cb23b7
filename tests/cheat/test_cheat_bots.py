import math
from collections import Counter

import numpy as np
import pyspiel
import pytest
from game_checks import random_histories
from ps_cfr_spiel.games.cheat import cheat_rules
from ps_cfr_spiel.games.cheat.bots import HeuristicBot, Memory, NaiveBot, chance_of_truth
from test_cheat import deal, play

FIRST = "cheat(first_player=0)"


def choice(bot, state):
  return state.action_to_string(bot.step(state))


def naive_choices(player, state, tosses=60):
  rng = np.random.RandomState(0)
  return Counter(choice(NaiveBot(player, rng), state) for _ in range(tosses))


def heuristic_choice(hands, *moves, game=FIRST):
  """The state after moves, and the name of what the heuristic bot does there."""
  state = play(deal(game, *hands), *moves)
  return choice(HeuristicBot(state.current_player()), state)


# Naive


def test_naive_challenges_what_its_own_hand_proves_false():
  state = play(deal(FIRST, "223456", "AAA234"), "23")  # claims two of four aces
  assert naive_choices(1, state) == {"Cheat!": 60}


def test_naive_answers_at_random_otherwise():
  for hand in ("AA2345", "A23456", "234567"):
    tossed = naive_choices(1, play(deal(FIRST, "223456", hand), "23"))
    assert set(tossed) == {"Pass", "Cheat!"}
    assert 15 < tossed["Pass"] < 45


def test_naive_lays_down_its_last_cards_if_they_are_of_the_rank():
  assert naive_choices(0, deal("cheat(hand_size=3,first_player=0)", "AAA", "234")) == {"Discard AAA": 60}


def test_naive_discards_at_random_otherwise():
  assert set(naive_choices(0, deal("cheat(hand_size=2,first_player=0)", "A2", "34"))) == {
    "Discard A", "Discard 2", "Discard A2",
  }  # fmt: skip
  too_many = deal("cheat(hand_size=3,max_discard=2,first_player=0)", "AAA", "234")
  assert set(naive_choices(0, too_many)) == {"Discard A", "Discard AA"}


# Heuristic


def test_heuristic_discards_all_of_the_rank():
  assert heuristic_choice(["AA2345", "A23456"]) == "Discard AA"
  assert heuristic_choice(["AAA345", "A23456"], game="cheat(max_discard=2,first_player=0)") == "Discard AA"


@pytest.mark.parametrize(
  ("hands", "lie"),
  [
    (["223456", "A23456"], "6"),  # in turns 2, 4, 6, 8, 10, 12 the rank is 3, 5, 7, 2, 4, 6
    (["222444", "A23456"], "4"),
    (["222333", "A23456"], "2"),
  ],
)
def test_heuristic_lies_with_the_card_of_no_use_for_longest(hands, lie):
  assert heuristic_choice(hands) == f"Discard {lie}"


def test_heuristic_lies_with_a_rank_that_never_comes():
  assert heuristic_choice(["333342", "A34444"], game="cheat(ranks=4,suits=8,first_player=0)") == "Discard 2"


def test_heuristic_challenges_last_cards():
  """It may as well: otherwise the game is lost."""
  game = "cheat(hand_size=1,first_player=0)"
  assert heuristic_choice(["A", "2"], "A", game=game) == "Cheat!"


def test_heuristic_remembers_what_it_laid_down():
  """Player 0 holds two of four 2s and has laid down the third, so player 1 cannot have two."""
  state = deal("cheat(ranks=2,hand_size=4,first_player=0)", "A222", "AAA2")
  play(state, "A", "pass", "2", "pass", "2", "pass", "AA")
  assert Memory(state, 0).pile == {0: 1, 1: 1}
  assert chance_of_truth(state, 0) == 0
  assert choice(HeuristicBot(0), state) == "Cheat!"


def test_heuristic_remembers_what_was_turned_up():
  """And forgets it when it may have been laid down again."""
  state = deal("cheat(ranks=3,hand_size=4,first_player=1)", "2333", "AA22")
  play(state, "A", "pass", "3", "pass", "A", "cheat")
  assert Memory(state, 0).hands[1] == {0: 1, 2: 1}  # the own 3 went with the ace turned up
  play(state, "3", "pass", "2")
  assert Memory(state, 0).hands[1] == {0: 1, 2: 1}  # as it was before the discard being answered
  assert Memory(state, 0).pile == {2: 1}
  play(state, "pass")
  assert Memory(state, 0).hands[1] == {}  # either may have been that card


def test_probability_of_truth():
  """One ace of four is held; 22 of 28 cards are unknown and player 0 has six of them."""
  state = play(deal(FIRST, "223456", "A23456"), "2")
  ways = {k: math.comb(3, k) * math.comb(19, 6 - k) for k in range(4)}
  total = sum(ways.values())
  assert chance_of_truth(state, 1) == pytest.approx(1 - ways[0] / total)
  state = play(deal(FIRST, "223456", "A23456"), "22")
  assert chance_of_truth(state, 1) == pytest.approx((ways[2] + ways[3]) / total)
  state = play(deal(FIRST, "223456", "A23456"), "2256")
  assert chance_of_truth(state, 1) == 0


def test_heuristic_answers_by_the_odds():
  assert heuristic_choice(["223456", "A23456"], "2") == "Pass"  # 63%
  assert heuristic_choice(["223456", "A23456"], "22") == "Cheat!"  # 15%


GAMES = [
  "cheat",
  "cheat(players=3,hand_size=5,max_turns=30)",
  "cheat(players=4,ranks=5,suits=3,hand_size=3,max_discard=2,max_turns=30)",
  "cheat(ranks=2,suits=2,hand_size=2,max_turns=30)",
  "cheat(ranks=13,hand_size=26,max_turns=60)",
  "cheat(players=3,ranks=3,suits=8,hand_size=8,max_discard=8,max_turns=30)",
  "cheat(ranks=3,suits=1,hand_size=1,max_turns=30)",
]


@pytest.mark.parametrize("game_string", GAMES)
def test_memory_is_never_wrong(game_string):
  game = pyspiel.load_game(game_string)
  remembered = 0
  for state, _ in random_histories(game, 6, seed=5):
    if state.is_chance_node():
      continue
    for player in range(game.num_players()):
      memory = Memory(state, player)
      laid = Counter(game.cards(state.discard)) if state.discard else Counter()
      assert memory.pile <= Counter(cheat_rules.cards_of(state.pile)) - laid
      assert not memory.hands[player]
      for other in range(game.num_players()):
        held = Counter(cheat_rules.cards_of(state.hand(other)))
        assert memory.hands[other] <= (held + laid if other == state.discarder else held)
      remembered += memory.pile.total() + sum(hand.total() for hand in memory.hands)
      if state.discard and player != state.discarder:
        chance = chance_of_truth(state, player)
        assert 0 <= chance <= 1
        had = Counter(cheat_rules.cards_of(state.hand(state.discarder))) + laid
        if chance in (0, 1):  # what is certain is so
          assert (had[state.rank] >= state.claim()) == chance
  assert remembered > 0


@pytest.mark.parametrize("game_string", GAMES)
def test_bots_see_only_what_their_player_sees(game_string):
  """In histories that a player cannot tell apart the heuristic bot does the same."""
  game = pyspiel.load_game(game_string)
  done = {}
  for state, _ in random_histories(game, 8, seed=6):
    if state.current_player() >= 0:
      key = state.information_state_string()
      action = HeuristicBot(state.current_player()).step(state)
      assert action in state.legal_actions()
      assert done.setdefault(key, action) == action
  assert done


def test_the_heuristic_bot_acts_on_information_states():
  """Over every history of a small game."""
  game = pyspiel.load_game("cheat(ranks=3,suits=2,hand_size=2,max_discard=1,max_turns=2,first_player=0)")
  done, histories = {}, 0

  def visit(state):
    nonlocal histories
    if state.current_player() >= 0:
      histories += 1
      action = HeuristicBot(state.current_player()).step(state)
      assert done.setdefault(state.information_state_string(), action) == action
    for action in state.legal_actions():
      visit(state.child(action))

  visit(game.new_initial_state())
  assert histories > 2 * len(done)


def wins(game, heuristic_seat, games):
  rng = np.random.RandomState(7)
  bots = [
    HeuristicBot(seat) if seat == heuristic_seat else NaiveBot(seat, rng)
    for seat in range(game.num_players())
  ]
  return sum(
    pyspiel.evaluate_bots(game.new_initial_state(), bots, seed)[heuristic_seat] == 1 for seed in range(games)
  )


@pytest.mark.parametrize("seat", [0, 1])
def test_heuristic_beats_naive(seat):
  """The paper reports about 98%."""
  assert wins(pyspiel.load_game("cheat"), seat, 300) >= 0.97 * 300


@pytest.mark.parametrize("players", [3, 4])
def test_heuristic_beats_several_naive(players):
  assert wins(pyspiel.load_game("cheat", {"players": players}), 1, 200) >= 0.95 * 200


@pytest.mark.parametrize("game_string", GAMES)
def test_bots_play_to_the_end(game_string):
  game = pyspiel.load_game(game_string)
  rng = np.random.RandomState(8)
  for make in (HeuristicBot, lambda seat: NaiveBot(seat, rng)):
    state = game.new_initial_state()
    returns = pyspiel.evaluate_bots(state, [make(seat) for seat in range(game.num_players())], 9)
    assert state.is_terminal()
    assert sum(returns) == pytest.approx(0, abs=1e-12)


def test_bots_may_be_set_anywhere():
  state = play(deal(FIRST, "223456", "AAA234"), "23")
  for bot in (HeuristicBot(1), NaiveBot(1, np.random.RandomState(0))):
    bot.restart_at(state)
    assert choice(bot, state) == "Cheat!"
