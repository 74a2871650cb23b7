"""Action translation: the mapping's axioms by hand, and the policy against a player that remembers."""

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import expected_game_score, exploitability
from open_spiel.python.bots.policy import PolicyBot
from random_policies import random_policy

import ps_cfr_spiel
from ps_cfr_spiel import abstractions
from ps_cfr_spiel.cards.notation import bet_sizes
from ps_cfr_spiel.policy import MAPPINGS, Translation, WrappedPolicy, translate
from ps_cfr_spiel.policy.action_translation import pseudo_harmonic
from ps_cfr_spiel.policy.wrapped import Wrapped

RANGES = "ranges=AsAd QsQd 7c6c;JsJd Ah8h"
SMALL = f"river_subgame(board=KhKd8c4s2h,pot=40,stack=200,bets=0.5 a,{RANGES})"
LARGE = f"river_subgame(board=KhKd8c4s2h,pot=40,stack=200,bets=0.3 0.8 2 a,{RANGES})"
TURN = "holdem_subgame(board={},deck=6x2,pot=20,stack=60,bets={},ranges={})"
HANDS = "6c6d 7c2d;7d3d 5c4c"


@pytest.mark.parametrize("lower, upper", [(0.0, 0.5), (0.5, 1.0), (1.0, 20.0)])
def test_axioms(lower, upper):
  """Ganzfried and Sandholm 2013, Section 4: ends kept, falling, and callers indifferent to the size."""
  assert pseudo_harmonic(lower, lower, upper) == 1 and pseudo_harmonic(upper, lower, upper) == 0
  x = np.linspace(lower, upper, 50)
  f = pseudo_harmonic(x, lower, upper)
  assert (np.diff(f) < 0).all()
  np.testing.assert_allclose(f / (1 + lower) + (1 - f) / (1 + upper), 1 / (1 + x))


def test_a_raise_by_hand():
  """A pot of 3, sizes 4 and 6, a raise of 5."""
  np.testing.assert_allclose(translate(5 / 3, [4 / 3, 6 / 3]), [7 / 16, 9 / 16])


@pytest.mark.parametrize("name", MAPPINGS)
def test_sizes_that_are_known_are_themselves_and_ends_stay_ends(name):
  sizes = [2.0, 0.0, 0.5]
  for size, expected in [(2.0, 0), (0.0, 1), (0.5, 2), (9.0, 0), (-1.0, 1)]:
    np.testing.assert_array_equal(translate(size, sizes, MAPPINGS[name]), np.eye(3)[expected])
  between = translate(0.9, sizes, MAPPINGS[name])
  assert between[1] == 0 and between.sum() == pytest.approx(1) and between[2] > 0


def test_the_splits_of_the_deterministic_mappings():
  assert MAPPINGS["nearest"](2.4, 1, 4) == 1 and MAPPINGS["nearest"](2.6, 1, 4) == 0
  assert MAPPINGS["nearest-ratio"](1.9, 1, 4) == 1 and MAPPINGS["nearest-ratio"](2.1, 1, 4) == 0


def test_sizes_of_bets():
  state = pyspiel.load_game(SMALL).new_initial_state()
  for _ in range(2):
    state.apply_action(0)
  assert bet_sizes(state) == {1: 0, 2: 0.5, 3: (200 - 20) / 40}
  state.apply_action(2)  # 20 into 40
  assert bet_sizes(state) == {1: 0, 2: 0.5, 3: (200 - 40) / 80}


NO_LIMIT = (
  "universal_poker(betting=nolimit,bettingAbstraction={},numPlayers=2,numRounds=2,blind=2 1,firstPlayer=2 1,"
  "numSuits=2,numRanks=4,numHoleCards=1,numBoardCards=0 1,stack=12 12)"
)


def test_sizes_of_bets_in_universal_poker():
  for abstraction, sizes in (
    ("fcpa", {1: 0, 2: (6 - 2) / 4, 3: (12 - 2) / 4}),
    ("fullgame", {1: 0, **{chips: (chips - 2) / 4 for chips in range(4, 13)}}),
  ):
    state = pyspiel.load_game(NO_LIMIT.format(abstraction)).new_initial_state()
    for card in (0, 1):
      state.apply_action(card)
    assert bet_sizes(state) == sizes


def test_a_dealt_blueprint_rounded_and_translated_plays_the_full_game():
  solver = ps_cfr_spiel.abstractions.HierarchicalMCCFRSolver(
    pyspiel.load_game(NO_LIMIT.format("fcpa")), clusters=2, buckets=2, seed=1
  )
  solver.run(20)
  full = pyspiel.load_game(NO_LIMIT.format("fullgame"))
  policy = WrappedPolicy(full, abstractions.rounded(solver.average_policy(), "purify"), Translation())
  bot = PolicyBot(0, np.random.RandomState(0), policy)
  for hand in range(20):
    state, draw = full.new_initial_state(), np.random.RandomState(hand)
    while not state.is_terminal():
      if state.is_chance_node():
        state.apply_action(draw.choice([action for action, _ in state.chance_outcomes()]))
        continue
      found = policy.action_probabilities(state)
      assert sum(found.values()) == pytest.approx(1) and set(found) == set(state.legal_actions())
      # the opponent bets at will
      state.apply_action(bot.step(state) if state.current_player() == 0 else draw.choice([*found]))
    assert sum(state.returns()) == 0


def test_a_game_is_translated_to_itself():
  policy = random_policy(SMALL)
  translated = WrappedPolicy(policy.game, policy, Translation())
  for decision, h, name in policy.labels.infostates():
    state = policy.labels.state(decision, h)
    assert translated.action_probabilities(state) == pytest.approx(policy.at(decision.player, name))


def test_translations_to_one_history_are_one():
  """With equal sizes there is one translation, even after own moves that some hands never make."""
  policy = random_policy(SMALL)
  state = policy.game.new_initial_state()
  moves, hands = [0, 0, 2, 2, 1], np.arange(3)  # the deal; a bet, a raise and its call

  def ask(at, player):
    return {action: np.where(hands == k % 3, 0.0, 1.0) for k, action in enumerate(at.legal_actions())}

  for action in moves:
    state.apply_action(action)
  for player in (0, 1):
    (reading,) = Translation().translations(Wrapped(policy.game, ask), state, player)
    assert reading.state.history() == state.history()


def test_bets_are_understood_in_their_own_game():
  """The same numbers of actions are other bets in another game; one policy is asked in both by turns."""
  policy = random_policy(SMALL)
  games = [pyspiel.load_game(LARGE.replace("0.3 0.8 2", sizes)) for sizes in ("0.3 0.8 2", "0.4 0.6 4")]

  def answers(wrapped, game):
    state = game.new_initial_state()
    for _ in range(2):
      state.apply_action(state.legal_actions()[0])
    state.apply_action(3)
    return wrapped.for_hands_at(state)

  kept = WrappedPolicy(games[0], policy, Translation())
  for game in games:
    fresh = answers(WrappedPolicy(game, policy, Translation()), game)
    for action, probabilities in answers(kept, game).items():
      np.testing.assert_array_equal(probabilities, fresh[action])


def remembered(game, state, smaller, player, policy, opponent, translated):
  """The player's value by enumeration, with what it has understood carried along."""
  if state.is_terminal():
    return state.returns()[player]
  if state.is_chance_node():
    return sum(
      p
      * remembered(
        game, state.child(a), translated.how._dealt(smaller, state, a), player, policy, opponent, translated
      )
      for a, p in state.chance_outcomes()
    )
  total = 0.0
  if state.current_player() == player:
    for chosen, probability, played in translated.how._moves(
      state, player, smaller, policy.action_probabilities
    ):
      after = smaller if chosen is None else smaller.child(chosen)
      for action, share in played.items():
        total += (
          probability
          * share
          * remembered(game, state.child(action), after, player, policy, opponent, translated)
        )
    return total
  for action, probability in opponent.action_probabilities(state).items():
    ways = {None: 1.0}
    if smaller.current_player() == state.current_player():
      ways = translated.how._translated(state, action, smaller)
    for understood, share in ways.items():
      after = smaller if understood is None else smaller.child(understood)
      total += (
        probability
        * share
        * remembered(game, state.child(action), after, player, policy, opponent, translated)
      )
  return total


@pytest.mark.parametrize(
  "small, large, player",
  [
    (SMALL, LARGE, 0),
    (LARGE, SMALL, 1),
    (TURN.format("2c3c4d5d", "1 a", HANDS), TURN.format("2c3c4d5d", "0.2 0.7 a", HANDS), 1),
  ],
  ids=["finer", "coarser", "turn"],
)
def test_the_policy_wins_what_a_player_that_remembers_wins(small, large, player):
  policy, opponent = random_policy(small), random_policy(large)
  game = opponent.game
  translated = WrappedPolicy(game, policy, Translation())
  expected = remembered(
    game, game.new_initial_state(), policy.game.new_initial_state(), player, policy, opponent, translated
  )
  seats = [translated, opponent] if player == 0 else [opponent, translated]
  found = expected_game_score.policy_value(game.new_initial_state(), seats)[player]
  assert found == pytest.approx(expected, abs=1e-9)


def test_a_good_strategy_stays_better_than_uniform_play():
  """Measured by OpenSpiel, in the game with the sizes that the strategy does not know."""
  solver = ps_cfr_spiel.PSCFRSolver(pyspiel.load_game(SMALL))
  solver.run(100)
  game = pyspiel.load_game(LARGE)
  found = {
    name: exploitability.exploitability(game, WrappedPolicy(game, solver.average_policy(), Translation(name)))
    for name in ("pseudo-harmonic", "nearest-ratio")
  }
  uniform = exploitability.exploitability(game, ps_cfr_spiel.PSCFRSolver(game).average_policy())
  assert solver.exploitability() < max(found.values()) < uniform / 2


def test_hands_are_found_by_name_and_missed_with_both_named():
  small = "river_subgame(board=KhKd8c4s2h,pot=40,stack=200,bets=0.5 a,ranges=7c6c AsAd;Ah8h JsJd)"
  game = pyspiel.load_game(
    "river_subgame(board=KhKd8c4s2h,pot=40,stack=200,bets=0.5 a,ranges=AsAd;JsJd Ah8h Tc9c)"
  )
  policy = random_policy(small)
  translated = WrappedPolicy(game, policy, Translation())
  state = game.new_initial_state()
  for name in ("Deal AsAd", "Deal JsJd"):
    state.apply_action(state.string_to_action(name))
  twin = policy.game.new_initial_state()
  for name in ("Deal AsAd", "Deal JsJd"):
    twin.apply_action(twin.string_to_action(name))
  assert translated.action_probabilities(state) == pytest.approx(policy.action_probabilities(twin))
  other = game.new_initial_state()
  for name in ("Deal AsAd", "Deal Tc9c"):
    other.apply_action(other.string_to_action(name))
  with pytest.raises(ValueError, match=r"7c6c AsAd.*no 'Deal Tc9c'"):
    translated.action_probabilities(other)


def test_bad_input():
  policy = random_policy(SMALL)
  with pytest.raises(ValueError, match=r"'harmonic'.*pseudo-harmonic"):
    Translation("harmonic")
  kuhn = random_policy("kuhn_poker")
  state = kuhn.game.new_initial_state().child(0).child(1)
  with pytest.raises(ValueError, match=r"kuhn_poker has no sizes of bets.*sizes="):
    WrappedPolicy(kuhn.game, kuhn, Translation()).action_probabilities(state)
  with pytest.raises(ValueError, match="Unknown mapping None"):
    Translation(None)
  with pytest.raises(ValueError, match=r"sizes must be a function of a state, got {}"):
    Translation(sizes={})
  with pytest.raises(TypeError, match="Expected a Python policy of OpenSpiel, got NoneType"):
    WrappedPolicy(policy.game, None, Translation())
  with pytest.raises(TypeError, match=r"game must be a pyspiel.Game, got NoneType"):
    WrappedPolicy(None, policy, Translation())


@pytest.mark.parametrize("below", [float("nan"), -1.0, 5.0, None])
def test_a_mapping_that_gives_no_probability(below):
  with pytest.raises(ValueError, match=f"mapping must give a probability; for size 0.5 it gave {below}"):
    translate(0.5, [0.25, 1.0], lambda *_: below)


@pytest.mark.parametrize("sizes", [{}, {0: float("nan")}, {0: None}])
def test_sizes_that_are_none(sizes):
  policy = random_policy(SMALL)
  state = policy.game.new_initial_state()
  while state.is_chance_node():
    state.apply_action(state.legal_actions()[0])
  state.apply_action(state.legal_actions()[-1])
  with pytest.raises(ValueError, match="sizes must give the size in pots of each action but a fold"):
    WrappedPolicy(policy.game, policy, Translation(sizes=lambda _: sizes)).action_probabilities(state)
