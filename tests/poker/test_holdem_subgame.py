import itertools

import numpy as np
import pyspiel
import pytest
from game_checks import (
  PUBLIC,
  PUBLIC_NOW,
  all_histories,
  check_api,
  check_copies,
  check_laws,
  check_playthrough,
  check_simulations,
  is_cheap_to_copy,
  random_histories,
  PLAYTHROUGHS,
)
from open_spiel.python.observation import make_observation
from ps_cfr_spiel.games.poker import betting, cards

CHANCE = int(pyspiel.PlayerId.CHANCE)

TINY = "holdem_subgame(deck=5x2,board=2c3c4d5d,stack=300,ranges=6c6d 5c4c;6c2d 3d2d)"
VARIANTS = {
  "turn": "holdem_subgame(stack=1000)",
  "flop": "holdem_subgame(board=QsJh2h,bets=0.5 a / 1 a;a / fcpa)",
  "river": "holdem_subgame(board=9s7c5s4h3c,ranges=AsKd QQ;TT 87s)",
  "a small deck": TINY,
  "a small deck from the flop": "holdem_subgame(deck=5x2,board=2c3c4d,stack=200,ranges=6c6d 5c4c;6c2d 5d3d)",
  "weighted ranges": "holdem_subgame(stack=900,ranges=AhKh:0.5 QQ:0.1 6h2d;AhQh:3 QhTs 62o:0.25)",
  "all-in before the turn": "holdem_subgame(stack=100,ranges=AsKd QQ;TT 87s)",
  "sizes by street": "holdem_subgame(stack=700,bets=0.5 a / 1 a;a,ranges=AsKd;QQ)",
}
each_variant = pytest.mark.parametrize("game_string", VARIANTS.values(), ids=VARIANTS)


def universal_poker(pot, stack, board, ranks=13, suits=4):
  dealt = {3: "0 3 1 1", 4: "0 3 1 1", 5: "0 3 1 1"}[len(board) // 2]
  return pyspiel.load_game(
    f"universal_poker(betting=nolimit,bettingAbstraction=fcpa,numPlayers=2,numRounds=4,"
    f"blind={pot // 2} {pot // 2},firstPlayer=2 1 1 1,numSuits={suits},numRanks={ranks},numHoleCards=2,"
    f"numBoardCards={dealt},stack={stack} {stack},potSize={pot},boardCards={board})"
  )


def deal(game, *hands):
  """The state after the deal of two hands given by name."""
  state = game.new_initial_state()
  for hand in hands:
    state.apply_action(state.string_to_action(f"Deal {hand}"))
  return state


def play(game, hands, moves):
  """The state after a deal and moves given in words."""
  state = deal(game, *hands)
  for move in moves:
    state.apply_action(state.string_to_action(move))
  return state


# Against OpenSpiel's universal_poker


def assert_same_tree(ours, theirs, runouts):
  """The number of states; all have the same player, actions and returns. `runouts`: cards to try on a street."""
  assert ours.current_player() == theirs.current_player()
  assert ours.legal_actions() == theirs.legal_actions()
  assert not ours.is_terminal() or ours.returns() == theirs.returns()
  actions = ours.legal_actions()
  if ours.is_chance_node():
    assert [p for _, p in ours.chance_outcomes()] == pytest.approx([1 / len(actions)] * len(actions))
    assert dict(theirs.chance_outcomes()) == pytest.approx(dict(ours.chance_outcomes()))
    actions = [card for card in runouts if card in actions][: 2 if len(runouts) > 1 else 1]
  return 1 + sum(assert_same_tree(ours.child(a), theirs.child(a), runouts) for a in actions)


@pytest.mark.parametrize(
  ("pot", "stack"), [(200, 20000), (200, 300), (200, 500), (200, 1000), (1000, 2000), (200, 301)]
)
@pytest.mark.parametrize("board", ["9s7c5s4h", "QsJh2h"])
def test_same_game_as_universal_poker(pot, stack, board):
  game = pyspiel.load_game("holdem_subgame", {"pot": pot, "stack": stack, "board": board})
  rng = np.random.default_rng(stack)
  deck = [c for c in rng.permutation(52).tolist() if c not in game.board]
  hands = [sorted(deck[:2])[::-1], sorted(deck[2:4])[::-1]]
  theirs = universal_poker(pot, stack, board).new_initial_state()
  for card in itertools.chain(*hands):
    theirs.apply_action(card)
  runouts = deck[4:6] if len(board) == 8 else deck[4:5] + deck[5:6]
  count = assert_same_tree(deal(game, *map(cards.card_names, hands)), theirs, runouts)
  assert count >= len(game.public_states) - 1
