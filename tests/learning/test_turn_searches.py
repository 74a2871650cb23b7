"""Rivers that searches of turns ask about: laws of ranges and pots, and the same again by the seed."""

import numpy as np
import pyspiel
import pytest

from ps_cfr_spiel.backend.device import precision
from ps_cfr_spiel.batches import RandomSituations, solve_batch
from ps_cfr_spiel.cards.poker import cards
from ps_cfr_spiel.learning import BoardFeatures, Examples, NetworkValues, load_boards, rivers_met
from ps_cfr_spiel.learning.boards import street_leaves
from ps_cfr_spiel.learning.boards.board_features import CHECKED, lines_of
from ps_cfr_spiel.learning.listening import Listener
from ps_cfr_spiel.resolving.subgames import Subgames
from ps_cfr_spiel.values import CFRValues

POT, OPTIONS = 200, {"each": 6, "most": 12, "progress": False}


def turns(count, seed=0):
  return RandomSituations(count, seed, pot=POT, ratios=(1.0,), bets="1;x", distribution="betting", cards=4)


@pytest.fixture(scope="module")
def values():
  """Of a network that has learned nothing."""
  empty = [np.zeros((1, 1326), np.float32)] * 2
  inputs = dict(zip(CHECKED, empty, strict=True))
  return NetworkValues.untrained(
    Examples({}, BoardFeatures(), inputs, empty, empty, np.zeros(1, int)), 0, 8, 1
  )


def test_moves_share_a_range_out():
  """A player who checks or bets, and is checked or called, comes to the rivers of one line or the other."""
  game = pyspiel.load_game(
    "holdem_subgame(board=9s7c5s4h,pot=200,stack=500,bets=1;x,ranges=AA KQs 8d7d;QQ JTs)"
  )
  searcher = Listener(Subgames.of(game), CFRValues(5), "round")
  searcher.marks = [2, 9]
  searcher.start(0)
  (form, lines, _), ((states, heard),) = lines_of(searcher.subgames), searcher.heard.items()
  places = [lines.place(state) for state in states]
  spent = [max(form.game.public_states[line].spent) for line, _ in places]
  assert len(heard) == 2 and sorted(set(spent)) == [100, 300]  # checked down; 200 bet and called
  told = [lines.form.game.public_states[line].line for line, _ in places]
  down = told[spent.index(100)]
  bet, checked_and_bet = sorted(set(told) - {down}, key=len)
  shares = []
  for ranges in heard:
    for player, line in ((0, bet), (1, checked_and_bet)):  # whose bet is called there
      rows = [ranges[player][: len(told)][np.array(told) == name] for name in (down, line)]
      assert rows[0].shape[0] == rows[1].shape[0] == 48
      np.testing.assert_allclose(rows[0] + rows[1], 1, atol=1e-5)
      shares.append(rows[1].mean())
  assert 0.01 < max(shares) < 0.99


def test_rivers_of_turns(values):
  met = rivers_met(values, turns(2, 3), **OPTIONS)
  assert len(met) == 12
  for number, river in enumerate(met):
    assert river.board[:4] == met[number // 6 * 6].board[:4] and len(set(river.board)) == 5
    assert river.stack == 300 and river.pot in (POT, 3 * POT) and river.bets == "1;x"
    np.testing.assert_allclose(river.ranges.sum(1), 1)
    assert not river.ranges[:, np.isin(cards.ALL_HANDS, river.board).any(1)].any()
  assert met[0].board[:4] != met[6].board[:4]
  again = rivers_met(values, turns(1, 3), **OPTIONS)
  assert [river.board for river in again] == [river.board for river in met[:6]]
  np.testing.assert_array_equal([r.ranges for r in again], [r.ranges for r in met[:6]])


def test_they_are_solved_and_learned_from(values, tmp_path):
  met = rivers_met(values, turns(1), **OPTIONS)
  solve_batch(met, iterations=5, hands="all", strategies=False, output=tmp_path, progress=False)
  data = load_boards(tmp_path, progress=False)
  assert len(data) == 6
  np.testing.assert_allclose(data.inputs["ratio"], [(r.stack - r.pot / 2) / r.pot for r in met], rtol=1e-6)


@pytest.mark.parametrize(
  ("given", "words"),
  [
    ({"turns": 1}, "turns must be RandomSituations, got int"),
    ({"turns": RandomSituations(1)}, "turns are rivers; give RandomSituations with cards=4"),
    ({"each": 0}, "each must be"),
    ({"most": 9}, "most must be"),
    ({"values": None}, r"values must derive from \w+, like NetworkValues; got None"),
    ({"values": "x"}, r"values must derive from \w+, like NetworkValues; got 'x'"),
  ],
)
def test_bad_input(values, given, words):
  with pytest.raises(ValueError, match=words):
    rivers_met(**{"values": values, "turns": turns(1), **OPTIONS, **given})


def test_tables_of_the_last_board_are_kept(monkeypatch):
  """Those of batches are not, and none are met in another precision or with other hands."""
  made = []
  monkeypatch.setattr(street_leaves, "_tables_on", lambda *given: made.append(given) or {})
  street_leaves._kept_tables.cache_clear()
  flop, other = np.array([[0, 5, 10]]), np.array([[1, 5, 10]])
  hands = np.flatnonzero(cards.unblocked((0, 1, 5, 10)))[None, 20:30]  # a few of those on both

  def new(board, hands=hands):
    before = len(made)
    street_leaves.street_tables(board, hands)
    return len(made) - before

  assert [new(board) for board in (flop, flop, other, other, flop)] == [1, 0, 1, 0, 1]
  assert [new(flop, hands[:, :5]), new(flop), new(flop)] == [1, 1, 0]
  with precision("float32"):
    new(flop)
  with precision("float64"):
    assert [new(flop), new(flop)] == [1, 0]
  both = np.concatenate([flop, other])
  assert [new(both, np.tile(hands, (2, 1))) for _ in range(2)] == [1, 1]
  boards, dealt, at = made[-1]
  np.testing.assert_array_equal(boards, both)
  np.testing.assert_array_equal(dealt[1][at[1]], cards.ALL_HANDS[hands[0]])
  street_leaves._kept_tables.cache_clear()
