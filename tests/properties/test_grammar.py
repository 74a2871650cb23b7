"""Any typed text is one legal move of a random state, or refused; and a printed move reads as itself.

For longer: `pytest tests/properties --hypothesis-profile=hour`.
"""

import functools
import re

import numpy as np
import pyspiel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ps_cfr_spiel.cards.notation import grouped, legal_moves, play_moves, read_move
from ps_cfr_spiel.loading import sequential

SIZES = " ".join(f"{n / 20:g}" for n in range(2, 40, 2))  # of the letters some are x, c, f, a, b and r
POKER = {
  "river": f"river_subgame(pot=20,stack=987,unit=10,bets={SIZES} a;0.5 1 a;a,ranges=AsKd;TdTc)",
  "hold'em": "holdem(stack=450,blinds=4/2,bets=fullgame)",
  "hold'em of sizes": "holdem(stack=2000,bets=0.33 0.5 0.75 1 2.5x a)",
  "parametric poker": "parametric_poker(bets=3,raises=2,max_raises=2)",
  "leduc": "leduc_poker",
  "OpenSpiel's": "universal_poker(betting=nolimit,numPlayers=2,numRounds=2,blind=100 50,firstPlayer=2 1,"
  "stack=2000 2000,numSuits=2,numRanks=4,numHoleCards=1,numBoardCards=0 1,bettingAbstraction=fchpa)",
}
GAMES = POKER | {
  "kuhn": "kuhn_poker",
  "liar's dice": "liars_dice(numdice=1)",
  "cheat": "cheat(max_turns=12)",
  "glasses": "glasses",
  "pursuit": "graph_pursuit(preset=alleys)",
  "tic-tac-toe": "tic_tac_toe",
  "chess": "chess",  # bxc3 is no Bxc3
  "goofspiel": "turn_based_simultaneous_game(game=goofspiel(num_cards=4,imp_info=True))",
}
# What each reserved word may mean where players bet, as names begin.
RESERVED = {
  **dict.fromkeys(("x", "k", "check"), "Check"),
  "c": "Call|Check",
  "call": "Call",
  **dict.fromkeys(("f", "fold"), "Fold"),
  **dict.fromkeys(("a", "allin", "all-in"), "All-in"),
  **dict.fromkeys(("b", "bet"), "Bet"),
  **dict.fromkeys(("r", "raise"), "Raise"),
  "min": "Bet|Raise",
  **dict.fromkeys(("pot", "75%", "b 1/2", "r 150", "b4.1"), "Bet|Raise|All-in|HalfPot"),
}
TEXTS = st.one_of(
  st.sampled_from(
    [*RESERVED, *"abcdefghijklmnopqrstuvwxyz", "0", "1", "2", "7", "-1", "1/9", "2c", "#3", "1/0"]
  ),
  st.text("abcxrfkio0123456789.,%/ ()-+#", max_size=8),
  st.text(max_size=4),
)
each_game = pytest.mark.parametrize("name", GAMES)


@functools.cache
def load(name):
  return sequential(pyspiel.load_game(GAMES[name]))


def state_of(name, seed):
  """A state of a random play, at which somebody moves."""
  rng, state = np.random.RandomState(seed), load(name).new_initial_state()
  for _ in range(rng.randint(4, 30)):
    after = state.clone()
    actions = after.legal_actions()
    # Seldom a fold or all-in, which end a hand.
    after.apply_action(
      int(actions[int(rng.beta(1, 3) * len(actions))] if rng.rand() < 0.7 else rng.choice(actions))
    )
    if after.is_terminal():
      break
    state = after
  return state


seeds = st.integers(0, 2**31)


@each_game
@given(seed=seeds)
def test_a_printed_move_reads_as_itself(name, seed):
  moves = legal_moves(state_of(name, seed))
  few = range(0, len(moves.names), 1 + len(moves.names) // 40)
  for k in few:
    for text in (moves.names[k], grouped(moves.names[k]), f"  {moves.names[k]} "):
      assert read_move(text, moves) == k, text


@each_game
@given(seed=seeds, text=TEXTS)
@settings(max_examples=4 * settings().max_examples)
def test_any_text_is_one_move_or_refused(name, seed, text):
  moves = legal_moves(state_of(name, seed), ("Some move",))
  try:
    choice = read_move(text, moves)
  except ValueError as error:
    (line,) = str(error).splitlines()
    said, read = re.match(r"('.*?'|\".*?\")(?: \(word \d+\))? (?:is|may be) ", line), line
    assert said, read
    assert read.endswith((".", "; write which one.", "; write one move."))
  else:
    assert 0 <= choice < len(moves.names)
    assert text.strip(" ,")


@pytest.mark.parametrize("name", POKER)
@given(seed=seeds)
def test_reserved_words_read_as_nothing_else(name, seed):
  state = state_of(name, seed)
  if state.is_chance_node():
    return
  moves = legal_moves(state)
  for word, meant in RESERVED.items():
    for text in (word, word.upper(), f" {word} "):
      try:
        read = moves.names[read_move(text, moves)]
      except ValueError:
        if " " not in word and meant in {title.split()[0] for title in moves.names}:
          assert sum(title.startswith(meant) for title in moves.names) > 1, (word, moves.names)
      else:
        free = read == "Call" and "Fold" not in moves.names  # a check in games that know none
        assert re.match(meant, "Check" if free and "Check" in meant else read.replace("AllIn", "All-in")), (
          word
        )


@pytest.mark.parametrize("name", POKER)
@given(seed=seeds)
def test_a_size_is_a_share_of_the_pot_after_calling(name, seed):
  """Counted by hand from the chips in the pot."""
  state = state_of(name, seed)
  if state.is_chance_node() or "hold'em" not in name:
    return
  moves, here = legal_moves(state), state.public_state
  called = max(here.spent)
  for share in (0.33, 0.5, 0.75, 1.0, 1.7):
    try:
      read = moves.ids[read_move(f"{share:.0%}", moves)]
    except ValueError:
      continue
    chips = state.get_game().rules.moves(here)[read] - called
    assert abs(chips - 2 * called * share) <= max(1, 0.05 * 2 * called * share)


@each_game
@given(seed=seeds)
def test_a_history_of_numbers_is_openspiels(name, seed):
  state = state_of(name, seed)
  found, _ = play_moves(load(name), " ".join(map(str, state.history())))
  assert found.history() == state.history()
