"""The whole game; the betting that it shares with the subgames is tested there too."""

import dataclasses

import numpy as np
import pyspiel
import pytest
from game_checks import (
  EVERYTHING,
  PUBLIC,
  PUBLIC_NOW,
)
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.observation import make_observation

from ps_cfr_spiel.abstractions import Translation, WrappedPolicy
from ps_cfr_spiel.cards.poker import betting, cards, read_card_game, strengths


def universal_poker(stack, blinds="100 50", sizes="fcpa", ranks=13, suits=4):
  return pyspiel.load_game(
    f"universal_poker(betting=nolimit,bettingAbstraction={sizes},numPlayers=2,numRounds=4,blind={blinds},"
    f"firstPlayer=2 1 1 1,numSuits={suits},numRanks={ranks},numHoleCards=2,numBoardCards=0 3 1 1,"
    f"stack={stack} {stack})"
  )


def play(game, *moves):
  """The state after moves given in words, "As" for "Deal As"; several cards may be joined."""
  state = game.new_initial_state()
  for move in moves:
    if state.is_chance_node():
      for card in cards.parse_cards(move):
        state.apply_action(game.deck.index(card))
    else:
      state.apply_action(state.string_to_action(move))
  return state


# Against OpenSpiel's universal_poker


def assert_same_line(ours, theirs, rng):
  """Random moves in both games: the same player, actions, chances, sizes and returns all the way."""
  while True:
    assert ours.current_player() == theirs.current_player()
    assert ours.legal_actions() == theirs.legal_actions()
    assert ours.is_terminal() == theirs.is_terminal()
    if ours.is_terminal():
      assert ours.returns() == theirs.returns()
      return
    if ours.is_chance_node():
      assert dict(ours.chance_outcomes()) == pytest.approx(dict(theirs.chance_outcomes()), rel=1e-12)
      moves = ours.legal_actions()
    else:  # folds are rare, and so are calls where any number of chips may be bet
      moves = [move for move in ours.legal_actions() if move != betting.FOLD or rng.random() < 0.2]
      moves = moves[:2] if len(moves) > 20 and rng.random() < 0.6 else moves
    action = int(rng.choice(moves))
    theirs_text = theirs.action_to_string(theirs.current_player(), action)
    assert not ours.is_chance_node() or theirs_text.endswith(ours.action_to_string(action))
    ours.apply_action(action)
    theirs.apply_action(action)
    assert ours.history() == theirs.history()


@pytest.mark.parametrize(
  ("stack", "blinds", "sizes", "deck"),
  [
    (20000, "100/50", "fcpa", "13x4"),
    (2000, "100/50", "fcpa", "13x4"),
    (1111, "100/50", "fcpa", "13x4"),
    (101, "100/50", "fcpa", "13x4"),
    (199, "100/50", "fullgame", "13x4"),
    (20000, "100/50", "fullgame", "13x4"),
    (37, "2/1", "fullgame", "13x4"),
    (12, "2/1", "fcpa", "5x2"),
    (100, "10/10", "fullgame", "6x3"),
  ],
)
def test_same_game_as_universal_poker(stack, blinds, sizes, deck):
  ours = pyspiel.load_game("holdem", {"stack": stack, "blinds": blinds, "bets": sizes, "deck": deck})
  ranks, suits = deck.split("x")
  theirs = universal_poker(stack, blinds.replace("/", " "), sizes, ranks, suits)
  rng = np.random.default_rng(stack)
  for _ in range(8 if sizes == "fullgame" else 20):
    assert_same_line(ours.new_initial_state(), theirs.new_initial_state(), rng)


def test_every_line_of_betting_is_universal_pokers():
  """All lines of one deal, with the default sizes and 20 big blinds."""
  dealt = cards.parse_cards("AsKdQhQc")
  ours, theirs = pyspiel.load_game("holdem(stack=2000)").new_initial_state(), universal_poker(2000)
  theirs = theirs.new_initial_state()
  for card in dealt:
    ours.apply_action(card)
    theirs.apply_action(card)

  def compare(ours, theirs):
    assert (ours.current_player(), ours.legal_actions()) == (theirs.current_player(), theirs.legal_actions())
    assert not ours.is_terminal() or ours.returns() == theirs.returns()
    moves = ours.legal_actions()
    moves = moves[-1:] if ours.is_chance_node() else moves
    return ours.is_terminal() + sum(compare(ours.child(move), theirs.child(move)) for move in moves)

  assert compare(ours, theirs) == 338


def test_as_dealt_cards_it_is_universal_poker():
  """A blueprint of dealt cards takes either game."""
  games = pyspiel.load_game("holdem(stack=700)"), universal_poker(700)
  ours, theirs = map(read_card_game, games)
  np.testing.assert_equal(*(dataclasses.asdict(game.deal) for game in (ours, theirs)))
  np.testing.assert_equal(vars(ours.betting), vars(theirs.betting))
  with pytest.raises(ValueError, match=r"expected universal_poker .* holdem with sizes of bets"):
    read_card_game(pyspiel.load_game("holdem(bets=fullgame)"))


def test_a_policy_of_universal_poker_plays_it():
  """With the same sizes its probabilities stay the same; other bets are translated."""
  theirs = _Bold(universal_poker(2000))
  for bets in ("fcpa", "fullgame"):
    game = pyspiel.load_game("holdem", {"stack": 2000, "bets": bets})
    state = play(game, "AsKd", "QhQd", "Raise to 300", "Call", "2c3c4c", "Bet 600")
    found = WrappedPolicy(game, theirs, Translation()).action_probabilities(state)
    assert {a: p for a, p in found.items() if p} == pytest.approx(
      {0: 0.1, 1: 0.2, state.legal_actions()[-1]: 0.7}
    )
  state = play(game, "AsKd", "QhQd", "Raise to 400", "Call", "2c3c4c")
  assert sum(
    WrappedPolicy(game, theirs, Translation()).action_probabilities(state).values()
  ) == pytest.approx(1)


class _Bold(openspiel_policy.Policy):
  """Folds with 0.1, calls with 0.2, and else does the most that it may."""

  def __init__(self, game):
    super().__init__(game, [0, 1])

  def action_probabilities(self, state, player_id=None):
    *others, last = state.legal_actions()
    found = {action: 0.1 * (action + 1) for action in others if action < 2}
    return {**dict.fromkeys(others, 0.0), **found, last: 1 - sum(found.values())}


# Rules


def test_a_whole_hand():
  state = play(pyspiel.load_game("holdem"), "As", "Kd", "Qh", "Qd")
  assert [state.action_to_string(a) for a in state.legal_actions()] == [
    "Fold",
    "Call",
    "Raise to 300",
    "All-in 20000",
  ]
  moves = (
    "AsKd",
    "QhQd",
    "Raise to 300",
    "Call",
    "9s7c5s",
    "Check",
    "Bet 600",
    "Call",
    "Ac",
    "Check",
    "Check",
  )
  state = play(pyspiel.load_game("holdem"), *moves)
  assert str(state) == "p0 AsKd p1 QhQd | stack 20000 blinds 100/50 | r300 c | 5s7c9s | x b600 c | Ac | x x"
  assert len(state.chance_outcomes()) == 44
  state = play(pyspiel.load_game("holdem"), *moves, "2c", "All-in 19100", "Fold")
  assert state.returns() == [900, -900]


def test_the_big_blind_may_raise_after_a_call():
  state = play(pyspiel.load_game("holdem"), "AsKd", "QhQd", "Call")
  assert (state.current_player(), state.public_state.spent) == (0, (100, 100))
  assert [state.action_to_string(a) for a in state.legal_actions()] == [
    "Check",
    "Raise to 300",
    "All-in 20000",
  ]


def test_least_bets_are_those_of_the_acpc():
  """A big blind opens a street; a raise adds at least as much as the one before."""
  game = pyspiel.load_game("holdem(bets=fullgame)")
  moves = ["AsKd", "QhQd", "Raise to 250", "Call", "2c3c4c"]

  def least(*more):
    state = play(game, *moves, *more)
    return state.action_to_string(state.legal_actions()[2 - (state.legal_actions()[0] == 1)])

  assert least() == "Bet 100"
  assert least("Bet 100") == "Raise to 200"
  assert least("Bet 300", "Raise to 1000") == "Raise to 1700"
  with pytest.raises(ValueError, match=r"illegal action 349 at .* legal are 0 and 1, if there is a bet"):
    play(game, *moves).apply_action(349)


def test_after_an_all_in_the_cards_come_and_no_player_acts():
  state = play(pyspiel.load_game("holdem"), "AsAd", "KsKd", "All-in 20000", "Call")
  for count in range(5):
    assert state.is_chance_node() and len(state.chance_outcomes()) == 48 - count
    state.apply_action(state.legal_actions()[0])
  assert state.returns() == [20000, -20000]


def test_multiples_before_the_flop_are_of_the_big_blind():
  state = play(pyspiel.load_game("holdem(bets=2.5x 3x)"), "AsAd", "KsKd")
  assert [state.action_to_string(a) for a in state.legal_actions()][2:] == ["Raise to 250", "Raise to 300"]
  state.apply_action(2)
  assert [state.action_to_string(a) for a in state.legal_actions()][2:] == ["Raise to 625", "Raise to 750"]


def test_sizes_of_bets_in_pots():
  state = play(pyspiel.load_game("holdem(bets=0.5 1 a)"), "AsAd", "KsKd")
  assert state.bet_sizes() == {1: 0, 2: 0.5, 3: 1, 4: 99.5}


@pytest.mark.parametrize(
  ("game_string", "moves"),
  [
    ("holdem", 13),  # raises to 300, 900, 2700, 8100 and 20000, and two other moves a street
    ("holdem(stack=2000,bets=0.5 1 a)", 13),
    ("holdem(stack=10,blinds=2/1,bets=fullgame)", 12),  # raises to 4, 6, 8 and 10
    ("holdem(stack=1000,bets=x)", 8),
  ],
)
def test_longest_lines(game_string, moves):
  """The bound of the game, and the longest line by a walk over the situations of betting."""
  game, known = pyspiel.load_game(game_string), {}

  def longest(state):
    key = (state.street, state.player, state.spent, state.num_bets, state.min_raise)
    if state.player == betting.TERMINAL:
      return 0
    if key not in known:
      known[key] = (state.player >= 0) + max(map(longest, game.rules.successors(state)))
    return known[key]

  assert longest(game.rules.root) == moves <= game.max_game_length() <= moves + 1


def test_guesses_of_values():
  """By equity, found here board by board with the other ranking of hands."""
  game = pyspiel.load_game("holdem")
  moves = ("AsKd", "QhQd", "Raise to 300", "Call", "9s7c5s", "Check", "Check", "Ac")
  state = play(game, *moves)
  live = [card for card in game.deck if card not in state.cards]

  def lead(*more):
    board = cards.parse_cards("9s7c5sAc") + more
    hands = np.array([cards.parse_cards("AsKd"), cards.parse_cards("QhQd")])
    first, second = strengths(np.array(board), hands).tolist()
    return int(np.sign(first - second))

  equity = np.mean([lead(card) for card in live])
  assert game.guess_values(state) == pytest.approx({1: 300 * equity, 2: 900 * equity, 3: 20000 * equity})
  state = play(game, *moves, "Check", "Bet 600")
  assert game.guess_values(state)[0] == -300
  state = play(game, *moves, "Check", "Check")
  found = game.guess_values(state)
  assert found == pytest.approx({game.deck.index(card): 300 * lead(card) for card in live})
  assert set(game.guess_values(game.new_initial_state()).values()) == {0}
  flop = game.guess_values(play(game, *moves[:4]))
  assert len(flop) == 48 and flop[game.deck.index(cards.parse_cards("Qc")[0])] < -200


# What players see


def test_strings():
  game = pyspiel.load_game("holdem")
  see = {kind: make_observation(game, kind).string_from for kind in (PUBLIC, PUBLIC_NOW, EVERYTHING)}
  state = play(game, "KdAh", "6h2d", "Call", "Check", "9s3d7c", "Check", "Bet 200", "Call", "2c")
  line = "stack 20000 blinds 100/50 | c x | 3d7c9s | x b200 c | 2c"
  assert state.information_state_string(0) == f"p0 AhKd | {line}"
  assert see[PUBLIC](state, 0) == line
  assert see[PUBLIC_NOW](state, 1) == "stack 20000 blinds 100/50 | 2c3d7c9s | in 300 300 | p0 to act"
  assert see[EVERYTHING](state, 0) == str(state)
  same = play(game, "AhKd", "6h2d", "Call", "Check", "3d7c9s", "Check", "Bet 200", "Call", "2c")
  assert same.information_state_string(0) == state.information_state_string(0)


def test_tensors():
  game = pyspiel.load_game("holdem")
  state = play(game, "AhKd", "6h2d", "Raise to 300", "Call", "9s3d7c", "Check", "Bet 600")
  observer = make_observation(game, pyspiel.IIGObservationType(perfect_recall=True))
  observer.set_from(state, 0)
  assert list(observer.dict) == ["player", "private_hands", "board", "turn", "betting", "runout"]
  assert cards.card_names(observer.dict["board"].nonzero()[0]) == "3d7c9s"
  assert observer.dict["turn"].tolist() == [0, 0, 1, 0, 0, 0]
  assert observer.dict["betting"].tolist()[:5] == [300, 300, 300, 900, 0]
  assert [cards.card_names(row.nonzero()[0]) for row in observer.dict["runout"]] == ["3d7c9s", "", ""]
