"""Post-processing: the paper's example, laws for all inputs, and OpenSpiel's tools on what comes out."""

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import exploitability
from random_policies import random_policy

import ps_cfr_spiel
from ps_cfr_spiel.cards.poker import cards
from ps_cfr_spiel.policy import (
  PostProcessing,
  Translation,
  WrappedPolicy,
  betting_class,
  cautious_purification,
  for_hands,
  post_process,
  purification,
  thresholding,
)

EXAMPLE = np.array([0.1, 0.25, 0.15, 0.15, 0.2, 0.15, 0, 0, 0])  # the third bet is the pot's
KINDS = ["fold", "call", *["bet"] * 7]
TURN = "holdem_subgame(deck=5x2,board=2c3c4d5d,stack=300,ranges=6c6d 5c4c;6c2d 5c3d)"  # 6c blocks some hands
RIVER = "river_subgame(board=KhKd8c4s2h,stack=500,bets=0.5 1 a,ranges=AsAd QsQd:0.5 7c6c;JsJd Ah8h 5c4c:3)"
SEVERAL = np.random.default_rng(0).dirichlet(np.ones(9), 40).T


def test_the_papers_example():
  """Brown, Ganzfried and Sandholm 2015, Section 4: plain purification calls, theirs bets the pot."""
  np.testing.assert_allclose(purification()(EXAMPLE, [None] * 9), np.eye(9)[1])
  np.testing.assert_array_equal(cautious_purification()(EXAMPLE, KINDS), np.eye(9)[4])
  np.testing.assert_array_equal(cautious_purification(0.05)(EXAMPLE, KINDS), np.eye(9)[0])


def test_a_threshold_by_hand():
  found = thresholding(0.2)(np.array([0.1, 0.25, 0.65]), [None] * 3)
  np.testing.assert_allclose(found, [0, 25 / 90, 65 / 90])
  np.testing.assert_array_equal(thresholding(0.9)(np.array([0.2, 0.3, 0.5]), [None] * 3), [0, 0, 1])
  np.testing.assert_allclose(purification()(np.array([0.4, 0.2, 0.4]), [None] * 3), [0.5, 0, 0.5])


def test_classes_are_rounded_first_and_then_what_is_in_them():
  how = PostProcessing(within=0.3, between=0.2, classes=betting_class)
  found = how(np.array([0.15, 0.25, 0.1, 0.5]), ["fold", "call", "bet", "bet"])
  np.testing.assert_allclose(found, [0, 0.25 / 0.85, 0, 0.6 / 0.85])


@pytest.mark.parametrize(
  "how",
  [
    thresholding(), purification(), cautious_purification(),
    PostProcessing(0.2, 0.3, betting_class, "call", 0.5), PostProcessing(0.5, 0.1, betting_class),
  ],
)  # fmt: skip
def test_laws(how):
  """What comes out is a distribution over what was played before, and one at a time gives the same."""
  found = how(SEVERAL, KINDS)
  np.testing.assert_allclose(found.sum(0), 1)
  assert (found >= 0).all()
  one = np.stack([how(column, KINDS) for column in SEVERAL.T], axis=1)
  np.testing.assert_array_equal(found, one)
  assert (how(EXAMPLE, KINDS)[EXAMPLE == 0] == 0).all()


def test_a_class_that_is_never_played_stays_unplayed():
  found = cautious_purification()(np.array([0.1, 0.9, 0.0, 0.0]), ["fold", "call", "bet", "bet"])
  np.testing.assert_array_equal(found, [0, 1, 0, 0])


def test_nothing_is_changed_by_default():
  np.testing.assert_allclose(PostProcessing()(SEVERAL, KINDS), SEVERAL, atol=1e-15)
  np.testing.assert_allclose(PostProcessing(classes=betting_class)(SEVERAL, KINDS), SEVERAL, atol=1e-15)


@pytest.mark.parametrize("how", ["purify", "threshold=0.3", "cautious"])
@pytest.mark.parametrize("name", ["leduc_poker", RIVER, TURN])
def test_a_tree_policy_is_rounded_as_any_other_is(name, how):
  policy = random_policy(name)
  rounded, lazy = post_process(policy.game, policy, how), post_process(policy.game, plain(policy), how)
  assert isinstance(rounded, ps_cfr_spiel.TreePolicy) and isinstance(lazy, WrappedPolicy)
  for decision, h, infostate in policy.labels.infostates():
    state = policy.labels.state(decision, h)
    assert rounded.at(decision.player, infostate) == pytest.approx(lazy.action_probabilities(state))


def plain(policy):
  """The same policy without our arrays."""

  class Plain(openspiel_policy.Policy):
    def action_probabilities(self, state, player_id=None):
      return policy.action_probabilities(state, player_id)

  return Plain(policy.game, [0, 1])


def test_of_openspiels_own_policies():
  game = pyspiel.load_game("leduc_poker")
  table = pyspiel.UniformRandomPolicy(game)
  state = game.new_initial_state().child(0).child(1)
  assert post_process(game, table, "purify").action_probabilities(state) == {1: 0.5, 2: 0.5}


def test_rounding_is_what_it_costs():
  """Leduc: OpenSpiel's exploitability of its own CFR, rounded, is ours; and it rises."""
  game = pyspiel.load_game("leduc_poker")
  solver = pyspiel.CFRSolver(game)
  for _ in range(10):
    solver.evaluate_and_update_policy()
  average = openspiel_policy.pyspiel_policy_to_python_policy(game, solver.tabular_average_policy())
  found = {}
  for how in ("purify", "cautious"):
    lazy = post_process(game, average, how)
    found[how] = exploitability.exploitability(game, lazy)
    assert ps_cfr_spiel.exploitability(game, lazy) == pytest.approx(found[how], abs=1e-9)
  plainly = exploitability.exploitability(game, average)
  assert found["cautious"] > found["purify"] > plainly


def test_the_first_action_is_left_alone():
  policy = random_policy("leduc_poker")
  how = PostProcessing(within=1.0, first_action=False)
  rounded, lazy = post_process(policy.game, policy, how), post_process(policy.game, plain(policy), how)
  changed = set()
  for decision, h, infostate in policy.labels.infostates():
    state = policy.labels.state(decision, h)
    first = not any(move.player == decision.player for move in state.full_history())
    found = rounded.at(decision.player, infostate)
    assert found == pytest.approx(lazy.action_probabilities(state))
    assert first == (found == pytest.approx(policy.at(decision.player, infostate)))
    changed.add(first)
  assert changed == {False, True}


def test_classes_of_moves():
  state = pyspiel.load_game(RIVER).new_initial_state().child(0).child(0)
  assert [betting_class(state, a) for a in state.legal_actions()] == ["call", *["bet"] * 3]
  state.apply_action(2)
  assert [betting_class(state, a) for a in state.legal_actions()] == ["fold", "call", *["bet"] * 2]
  full = pyspiel.load_game(
    "universal_poker(betting=nolimit,bettingAbstraction=fchpa,numPlayers=2,numRounds=1,blind=100 100,"
    "numSuits=2,numRanks=3,numHoleCards=1,numBoardCards=0 ,stack=2000 2000)"
  )
  state = full.new_initial_state().child(0).child(1).child(2)
  assert {betting_class(state, a) for a in state.legal_actions()} == {"fold", "call", "bet"}


def test_a_rounded_policy_is_saved_as_such(tmp_path):
  solver = ps_cfr_spiel.PSCFRSolver(pyspiel.load_game("kuhn_poker"))
  solver.run(20)
  rounded = post_process(solver.average_policy().game, solver.average_policy(), "purify")
  rounded.save(tmp_path / "policy.safetensors")
  read = ps_cfr_spiel.load_policy(tmp_path / "policy.safetensors")
  assert read.info["policy"] == "rounded average"
  for ours, theirs in zip(rounded.strategies, read.strategies, strict=True):
    for a, b in zip(ours, theirs, strict=True):
      np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
  "text, message",
  [
    ("purge", "'purge'.*allowed are"),
    ("threshold=2", r"within must be .*, got 2\.0; allowed"),
    ("purify=1", "allowed are"),
  ],
)
def test_bad_names(text, message):
  policy = random_policy("kuhn_poker")
  with pytest.raises(ValueError, match=message):
    post_process(policy.game, policy, text)


def test_a_game_whose_moves_have_no_classes():
  policy = random_policy("kuhn_poker")
  with pytest.raises(ValueError, match=r"Unknown poker move 'Pass' .*classes="):
    post_process(policy.game, policy, "cautious")


class Answering(openspiel_policy.Policy):
  """A policy whose every answer is what one wants."""

  def __init__(self, game, answer):
    super().__init__(game, [0, 1])
    self.answer = answer

  def action_probabilities(self, state, player_id=None):
    return self.answer


@pytest.mark.parametrize(
  "answer",
  [{0: np.nan, 1: 1.0}, {0: -1.0, 1: 2.0}, {0: 0.0, 1: 0.0}, {0: np.inf, 1: 1.0}, {0: None, 1: 1}, {}],
)
@pytest.mark.parametrize("how", ["purify", "threshold"])
def test_answers_that_are_no_probabilities_are_not_rounded_to_some(answer, how):
  game = pyspiel.load_game("kuhn_poker")
  state = game.new_initial_state().child(0).child(1)
  with pytest.raises(ValueError, match=r"expected a distribution over the legal actions \[0, 1\]"):
    post_process(game, Answering(game, answer), how).action_probabilities(state)


def test_bad_input():
  policy, leduc = random_policy("kuhn_poker"), pyspiel.load_game("leduc_poker")
  with pytest.raises(ValueError, match=r"The policy is for kuhn_poker\(\), not for leduc_poker\(\)"):
    post_process(leduc, policy, "purify")
  with pytest.raises(TypeError, match=r"game must be a pyspiel.Game, got NoneType"):
    post_process(None, policy, "purify")
  with pytest.raises(TypeError, match="Expected an OpenSpiel policy, got int"):
    post_process(leduc, 3, "purify")
  with pytest.raises(ValueError, match="how must be a PostProcessing or its name, got 5"):
    post_process(policy.game, policy, 5)
  for options in (
    {"within": "x"},
    {"between": None},
    {"caution": 2},
    {"first_action": "x"},
    {"classes": "x"},
  ):
    with pytest.raises(ValueError, match=f"{next(iter(options))} must be"):
      PostProcessing(**options)


class ByRank(openspiel_policy.Policy):
  """Bets more often with higher cards, in each hand otherwise."""

  def action_probabilities(self, state, player_id=None):
    high, low = sorted(state.hole(state.current_player()))[::-1]
    bet = (13 * (high // 4) + low // 4 + 1) / 200
    first, *others = state.legal_actions()
    return {first: 1 - bet, **dict.fromkeys(others, bet / len(others))}


def test_all_hands_are_rounded_as_each_of_them_is():
  """And of a policy that is wrapped twice, rounded first and then played with other bets."""
  small, large = (pyspiel.load_game(f"holdem(stack=1000,bets={bets})") for bets in ("1 a", "0.5 2 a"))
  inner = ByRank(small, [0, 1])
  rounded = WrappedPolicy(small, inner, PostProcessing(within=0.3))
  for policy in (rounded, WrappedPolicy(large, rounded, Translation())):
    state = policy.game.new_initial_state()
    for card in (50, 51, 0, 1):
      state.apply_action(card)
    state.apply_action(state.legal_actions()[-1])  # all-in
    by_hand = for_hands(policy, state)
    for hand in ((48, 49), (3, 2), (40, 7)):
      held = policy.game.new_initial_state()
      player = state.current_player()
      for card in (*hand, 44, 45) if player == 0 else (44, 45, *hand):
        held.apply_action(card)
      held.apply_action(state.history()[-1])
      h = int(cards.set_numbers(np.array(hand)))
      expected = policy.action_probabilities(held)
      assert {action: by_hand[action][h] for action in by_hand} == pytest.approx(
        {action: expected[action] for action in by_hand}
      )
      assert sum(expected.values()) == pytest.approx(1)
    assert len({round(float(p), 6) for p in by_hand[0]}) > 20


def test_answers_along_a_hand_are_those_of_a_policy_that_was_asked_nothing_before():
  """Translations of a hand so far are kept for the questions behind it, of each player by itself."""
  small, large = (pyspiel.load_game(f"holdem(stack=1000,bets={bets})") for bets in ("1 a", "0.5 2 a"))
  fresh = lambda: WrappedPolicy(large, ByRank(small, [0, 1]), Translation())  # noqa: E731
  asked = fresh()
  for moves in ((1,), (2, 2), (1, 2, 2)):  # by number among the legal actions
    state = large.new_initial_state()
    for card in (50, 51, 0, 1):
      state.apply_action(card)
    for move in moves:
      state.apply_action(state.legal_actions()[move])
    while state.is_chance_node():
      state.apply_action(state.legal_actions()[7])
    expected = for_hands(fresh(), state)
    for action, chances in for_hands(asked, state).items():
      np.testing.assert_allclose(chances, expected[action], atol=1e-12)


def test_policies_of_simultaneous_games_are_rounded():
  """The loaded game is accepted, though the policy takes turns; a policy of another game is refused."""
  game = pyspiel.load_game("goofspiel(num_cards=3,imp_info=True,points_order=descending)")
  uniform = ps_cfr_spiel.PSCFRSolver(game).average_policy()
  for policy in (uniform, uniform.to_tabular()):
    state = pyspiel.convert_to_turn_based(game).new_initial_state()
    assert post_process(game, policy, "threshold=0.4").action_probabilities(state) == pytest.approx(
      dict.fromkeys(range(3), 1 / 3)
    )
    with pytest.raises(ValueError, match=r"The policy is for .*goofspiel.*, not for .*oshi_zumo"):
      post_process(pyspiel.load_game("oshi_zumo"), policy, "purify")
