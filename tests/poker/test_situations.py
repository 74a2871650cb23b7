"""River situations: read, drawn, and turned into games and back."""

import math
import re

import numpy as np
import pyspiel
import pytest

from ps_cfr_spiel.cards.poker import cards, from_words, situations
from ps_cfr_spiel.cards.poker.situations import (
  DRAWN,
  RandomSituations,
  compatible,
  of_game,
  situation,
)

BOARD = "9s7c5s4h3c"


def test_a_game_and_back():
  game = pyspiel.load_game(f"river_subgame(board={BOARD},pot=20,stack=40,bets=1 a,ranges=AA:0.5 KQs;TT+)")
  river = of_game(game)
  again = river.game()
  for mine, other in zip(game.ranges, again.ranges, strict=True):
    assert mine.names == other.names
    np.testing.assert_allclose(mine.weights / mine.weights.max(), other.weights / other.weights.max())
  assert river.ranges.shape == (2, 1326) and (river.ranges > 0).sum() == len(game.ranges[0].names) + 30
  assert (river.pot, river.stack, river.bets) == (20, 40, "1 a")


def test_weights_over_many_orders_of_magnitude_become_a_game():
  river = RandomSituations(1, seed=2)[0]
  first, _ = river.game().ranges
  expected = river.ranges[0, first.numbers]
  np.testing.assert_allclose(first.weights / first.weights.sum(), expected / expected.sum(), rtol=1e-12)
  assert len(first.names) == 1081
  uneven = np.where(np.arange(1326) % 2, 1e-30, 1.0)
  with pytest.raises(ValueError, match="differ too much"):
    situation(BOARD, ranges=np.stack([uneven, uneven])).game()


def test_numbers_alone_say_what_is_drawn():
  many, one = RandomSituations(20, seed=5), RandomSituations(3, seed=5)
  for mine, other in zip(many[:3], one, strict=True):
    assert mine.board == other.board and np.array_equal(mine.ranges, other.ranges)
  assert not np.array_equal(many[0].ranges, RandomSituations(20, seed=6)[0].ranges)
  assert {river.stack for river in many} == {1500, 3500, 10500}


def test_drawn_rivers_are_a_sequence():
  rivers = RandomSituations(3, seed=5)
  boards = [river.board for river in rivers]
  assert len(boards) == 3 and [river.board for river in reversed(rivers)] == boards[::-1]
  assert [rivers[k].board for k in (-1, -3, np.int64(2))] == [boards[2], boards[0], boards[2]]
  assert [river.board for river in rivers[-2:]] == boards[1:] and rivers[3:] == []
  assert rivers.draw(np.int64(1)).board == boards[1] != rivers.draw(3).board
  for number in (3, -4, 1.5, None, "1"):
    with pytest.raises(IndexError, match=rf"situation {number!r} of 3: out of range"):
      rivers[number]
  for number in (-1, 1.5, None, True):
    with pytest.raises(ValueError, match=rf"number={number!r}: must be a whole number from 0"):
      rivers.draw(number)


@pytest.mark.parametrize("ratios", [[1, 3.0], (np.float32(1), np.int64(3)), np.array([1.0, 3.0])])
def test_options_of_the_same_rivers_are_equal(ratios):
  mine = RandomSituations(np.int64(3), np.uint8(7), pot=np.int32(20), ratios=ratios, bets="a").options
  other = RandomSituations(3, 7, pot=20, ratios=(1.0, 3.0), bets="a").options
  assert mine == other and hash(mine) == hash(other) and repr(mine) == repr(other)


@pytest.mark.parametrize("distribution", DRAWN)
def test_drawn_ranges(distribution):
  for river in RandomSituations(5, distribution=distribution):
    np.testing.assert_allclose(river.ranges.sum(1), 1)
    blocked = np.isin(cards.ALL_HANDS, river.board).any(1)
    assert not river.ranges[:, blocked].any() and (river.ranges[:, ~blocked] > 0).all()


def test_halves_share_the_probability_at_random():
  """The supplement's law: the weaker half's share is uniform, so its mean is 1/2 and its variance 1/12."""
  rng = np.random.default_rng(0)
  orders = np.tile(np.arange(101), (1500, 1))
  ranges = DRAWN["halves"]([rng] * 1500, orders, ()).reshape(3000, 101)
  share, inner = ranges[:, :50].sum(1), ranges[:, :25].sum(1) / ranges[:, :50].sum(1)
  for part in (share, inner):
    assert abs(part.mean() - 1 / 2) < 4 * np.sqrt(1 / 12 / 3000)
    assert abs(part.var() - 1 / 12) < 0.006
  assert abs(np.corrcoef(share, inner)[0, 1]) < 0.08
  assert DRAWN["halves"]([rng], np.arange(1)[None], ()).tolist() == [[[1.0], [1.0]]]


@pytest.mark.parametrize("distribution", DRAWN)
def test_rivers_drawn_together_are_those_drawn_one_by_one(distribution, monkeypatch):
  monkeypatch.setattr(situations, "TOGETHER", 2)
  rivers = RandomSituations(3, 5, distribution=distribution, ratios=(1.0, 3.0))
  for number, river in enumerate(rivers[:]):
    *fields, ranges = rivers.draw(number)[:5]
    assert fields == list(river[:4]) and ranges.tobytes() == river.ranges.tobytes()


def test_compatible_is_a_sum_over_disjoint_hands():
  weights = np.random.default_rng(1).random((2, 1326))
  shared = (cards.ALL_HANDS[:, None, :, None] == cards.ALL_HANDS[None, :, None, :]).any((2, 3))
  np.testing.assert_allclose(compatible(weights), weights @ ~shared)


@pytest.mark.parametrize(
  ("given", "message"),
  [
    ({"pot": 20}, "no board"),
    ({"board": None}, "no board"),
    ({"board": BOARD, "blinds": 3}, "unknown field 'blinds'.*board, pot, stack, bets, ranges"),
    ({"board": BOARD, 3: 4, "blinds": 3}, "unknown field 3"),
    ({"board": "9s7c"}, "a river board has 5"),
    ({"board": [1, 2, 3, 4, 77]}, "numbers from 0 to 51"),
    ({"board": [[1, 2], 3]}, "numbers from 0 to 51"),
    ({"board": [1, 2, 3, 4]}, "4 cards, 4 of them different"),
    ({"board": [1, 2, 3, 4, 4]}, "5 cards, 4 of them different"),
    ({"board": BOARD, "pot": "ten"}, "pot='ten': must be a whole number from 0 to 2147483647"),
    ({"board": BOARD, "pot": 21}, "positive even"),
    ({"board": BOARD, "pot": 20, "stack": -5}, "stack=-5: must be a whole number"),
    ({"board": BOARD, "stack": 1.5}, "stack=1.5: must be a whole number"),
    ({"board": BOARD, "stack": True}, "stack=True: must be a whole number"),
    ({"board": BOARD, "bets": 5}, "bets=5: must be a text"),
    ({"board": BOARD, "bets": ["a"]}, r"bets=\['a'\]: must be a text"),
    ({"board": BOARD, "bets": "huge"}, "'huge', character 1: unknown bet size"),
    ({"board": BOARD, "ranges": "AA"}, "must be 'uniform', or two ranges"),
    ({"board": BOARD, "ranges": "99 9s9h;ZZ"}, "'ZZ', character 1: not understood"),
    ({"board": BOARD, "ranges": np.ones((2, 1081))}, r"numbers \[2, 1326\]"),
    ({"board": BOARD, "ranges": [[1, 2], [3]]}, r"numbers \[2, 1326\]"),
    ({"board": BOARD, "ranges": -np.ones((2, 1326))}, "not negative"),
    ({"board": BOARD, "ranges": np.full((2, 1326), 1e306)}, r"at most 1e\+300"),
    ({"board": BOARD, "ranges": np.where(np.arange(1326) == 7, np.inf, np.ones((2, 1326)))}, "be finite"),
    ({"board": BOARD, "ranges": np.where(np.arange(1326) == 7, np.nan, np.ones((2, 1326)))}, "be finite"),
    ({"board": BOARD, "ranges": np.zeros((2, 1326))}, "no two hands"),
  ],
)
def test_mistakes(given, message):
  with pytest.raises(ValueError, match=message):
    from_words(given)


def test_a_street_solved_alone_does_not_say_how_many_are_left():
  """All streets left are one in its own tree, so `e` would be all-in; a number says what is meant."""
  with pytest.raises(ValueError, match=r"'e' counts the streets .* write 2e"):
    situation(BOARD[:8], bets="a; e", sizes=(4,))
  with pytest.raises(ValueError, match="write 3e"):
    RandomSituations(1, bets="e", cards=3)
  assert situation(BOARD[:8], bets="2e", sizes=(4,)).bets == "2e"
  assert situation(BOARD, bets="e").bets == "e"


@pytest.mark.parametrize(
  ("name", "allowed", "values"),
  [
    ("count", "must be a whole number from 0 to 2147483647", (True, 2.5, None, "x", -1, 10**20)),
    ("pot", "must be a positive even number", (21,)),
    ("ratios", "must be one or more numbers above 0", (1.0, b"x", "x", (), [True], [[1.0]], [1, "a"])),
    (
      "ratios",
      "must be one or more numbers above 0",
      ((-1.0,), (0,), (1.0, 0.0), (math.nan,), (math.inf,), [[1.0], 2.0], [(2.0, 1.0)], [(0, 1)]),
    ),
    ("bets", "must be a text", (5, None, ["a"])),
  ],
)
def test_bad_generators(name, allowed, values):
  for value in values:
    with pytest.raises(ValueError, match=f"^{re.escape(f'{name}={value!r}: {allowed}')}"):
      RandomSituations(**{"count": 1, name: value})


@pytest.mark.parametrize(
  ("name", "message", "values"),
  [
    ("distribution", "Unknown distribution {!r}; choose one of", ("odd", None, ["even"])),
    ("seed", "seed must be an integer from 0 to 4294967295, got {!r}", (None, 2.5, -1, "x", [], True, 2**32)),
    ("pot", "pot must be an integer from 2 to 2147483647, got {!r}", (None, math.inf, 20.0, "20", 0, 10**20)),
    ("cards", "cards must be 3 or 4 or 5, got {!r}", (2, 6, None, "5", True)),
  ],
)
def test_bad_options(name, message, values):
  for value in values:
    with pytest.raises(ValueError, match=f"^{re.escape(message.format(value))}"):
      RandomSituations(1, **{name: value})


def test_stacks_between_two():
  """By the logarithm: half of those between a quarter and four pots are below one."""
  drawn = RandomSituations(400, ratios=[(0.25, 4.0)], distribution="even")
  behind = np.array([river.stack - 500 for river in drawn])
  assert 250 <= behind.min() < 300 and 3500 < behind.max() <= 4000
  assert abs((behind < 1000).mean() - 0.5) < 4 * np.sqrt(0.25 / 400)


def test_a_stack_behind_has_a_chip():
  with pytest.raises(ValueError, match=r"0\.2 of pot=2 is less than a chip"):
    RandomSituations(1, pot=2, ratios=(1.0, 0.2))


def test_stacks_have_an_end():
  with pytest.raises(ValueError, match="stack=4000000001: must be a whole number"):
    RandomSituations(1, pot=2, ratios=[2e9])


def test_a_hand_beside_a_light_one_is_kept():
  """Whether hands can be dealt together does not depend on how their weights round."""
  aces, kings, other = (
    cards.set_numbers(np.array(cards.parse_cards(hand))) for hand in ("AdAc", "KdKc", "AhAd")
  )
  ranges = np.zeros((2, 1326))
  ranges[0, [aces, kings]] = 1, 1e-20
  ranges[1, other] = 1
  np.testing.assert_array_equal(situation(BOARD, ranges=ranges[::-1]).ranges[0].nonzero(), [[other]])
  assert situation(BOARD, ranges=ranges).ranges[0].nonzero()[0].tolist() == [kings]


@pytest.mark.parametrize("number", [np.float16, np.float32, np.float64, np.longdouble, np.uint8, float])
def test_amounts_are_whole_numbers_of_any_type(number):
  """NumPy's make the same situation as Python's, with the same types in it."""
  fields = {"board": BOARD, "pot": 20, "stack": 40, "rake": "5%", "cap": 2, "bets": "a"}
  typed = from_words({name: number(x) if isinstance(x, int) else x for name, x in fields.items()})
  plain = from_words(fields)
  for one, other in zip(typed, plain, strict=True):
    assert type(one) is type(other) and np.array_equal(one, other)
  assert str(typed.game()) == str(plain.game())
