"""Bet sizes: what each means in chips, by hand; what is refused, and where; their text reads back."""

import math
from fractions import Fraction

import pyspiel
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ps_cfr_spiel
from ps_cfr_spiel.cards.notation import (
  ALL_IN,
  Measure,
  Size,
  add_sizes,
  parse_sizes,
  sizes_text,
  split_streets,
)
from ps_cfr_spiel.cards.poker import betting


def bets_after(line, bets, pot=100, stack=950, streets=1):
  """The bets and raises after a line of betting, in words, in a pot with some chips behind."""
  tree = betting.betting_states(pot, stack + pot // 2, betting.parse_bets(bets, streets))
  (here,) = (state for state in tree if state.line == line)
  return [tree[child].label for action, child in here.children.items() if action > betting.CALL]


@pytest.mark.parametrize(
  ("line", "size", "expected"),
  [
    ("", "33%", "Bet 33"),
    ("", "0.33 0.33", "Bet 33"),
    ("", "1/3", "Bet 33"),
    ("", "pot", "Bet 100"),
    ("", "40c", "Bet 40"),
    ("", "allin", "All-in 950"),
    ("", "all-in", "All-in 950"),
    ("", "all in", "All-in 950"),
    ("", "A", "All-in 950"),
    ("", "e", "All-in 950"),  # one street is left
    # Over two streets each bet makes the pot sqrt(2000 / 100) = 4.472 times as large: (447.2 - 100) / 2.
    ("", "2e", "Bet 174"),
    ("", "3e", "Bet 86"),  # 20^(1/3) = 2.714
    # Raises count from the call: the pot is 200 then, and 900 are behind.
    ("b50", "50%", "Raise to 150"),
    ("b50", "1/2", "Raise to 150"),
    ("b50", "2.5x", "Raise to 125"),
    ("b50", "140c", "Raise to 140"),
    ("b50", "2e", "Raise to 266"),  # 200 to 2000 in two streets: 316.2 each in the pot, 50 of them before
    ("b50", "e", "All-in 950"),
    ("b50", "1000%a", "All-in 950"),
    ("b50", "960ca", "All-in 950"),
  ],
)
def test_sizes_in_chips(line, size, expected):
  first = size if not line else "50c"
  assert bets_after(line, f"{first}; {size}") == [expected]


def test_geometric_sizes_end_all_in_on_the_last_street():
  """A pot of 60 with 370 behind on a flop: 800 / 60 = 13.33, 2.371 a street."""
  assert bets_after("", "e", 60, 370, streets=3) == ["Bet 41"]
  assert bets_after("b41 c | {}", "e", 60, 370, streets=3) == ["Bet 98"]  # of 142, with 329 behind: 97.5
  assert bets_after("b41 c | {} | b98 c | {}", "e", 60, 370, streets=3) == ["All-in 231"]
  assert bets_after("", "2e", 60, 370, streets=3) == ["Bet 80"]  # as if all-in on the turn


def test_chips_count_in_units():
  game = ps_cfr_spiel.river(pot=5.5, stack=20, bets="2.5c", ranges=("AA", "KK"))
  assert [state.label for state in game.public_states[:9] if state.label.startswith("Bet")][:1] == ["Bet 2.5"]


SAME = [
  ("33%, 75%, a", "0.33 0.75 a"),
  ("pot; all-in", "1 1;a"),
  ("fcpa", "1 a"),
  ("1/2, 3/4 / 1/3a", "0.5 75% / 1/3a"),
  ("50 %,ALLIN | x", "0.5 a | x"),
  ("1/2 / 3", "0.5 / 3"),
  ("0.5,,0.5 ", "50% 50%"),
]


def test_a_pot_behind_a_comma_is_a_size_of_its_own_in_game_strings_too():
  game = ps_cfr_spiel.river(pot=100, stack=300, bets="1/2, POT", ranges=("AA", "KK"))
  assert [state.label for state in game.public_states if state.line in ("b50", "b100")] == [
    "Bet 50",
    "Bet 100",
  ]


@pytest.mark.parametrize(("text", "other"), SAME)
def test_one_meaning(text, other):
  assert parse_sizes(text) == parse_sizes(other)


@pytest.mark.parametrize(
  ("text", "place", "why"),
  [
    ("33", "'33', character 1", "write 33% or 0.33"),
    ("0.5, 75", "'75', character 6", "write 75% or 0.75"),
    ("a; 33a", "'33a', character 4", "write 33%a or 0.33a"),
    ("50 / 60", "'50', character 1", "write 50% or 0.5"),
    ("33/75", "'33', character 1", "write 33% or 0.33"),
    ("a | 150", "'150', character 5", "write 150% or 1.5"),
    ("10.5", "'10.5', character 1", "write 10.5% or 0.105"),
    ("a foo", "'foo', character 3", "unknown bet size; write sizes as 33%"),
    ("geo 2", "'2', character 5", "write 2e for 2 streets, or 200%"),
    ("3e200", "'3e200', character 1", "a geometric size has no limit"),
    ("min", "'min', character 1", "write its chips, such as 2c, or 2x"),
    ("0", "'0', character 1", "more than 0"),
    ("1/0%", "'0%', character 3", "more than 0"),
    ("12/0%", "'12/0%', character 1", "more than 0"),
    ("1,200c", "'1,200c', character 1", "write ...1200c"),
    ("1/2/3", "'1/2/3', character 1", "blanks around the '/' between streets"),
    ("a; pot/2", "'pot/2', character 4", "write fractions of the pot as 1/2"),
    ("2,5x", "'2,5x', character 1", "write 2.5x, or 2, 5x"),
    ("a, 1/2 pot", "'1/2 pot', character 4", "one size or two; write shares of the pot as 50%"),
    (".5pot", "'.5pot', character 1", "the pot as 100%"),
    ("2x POT a", "'2x POT', character 1", "one size or two"),
    ("", "'', character 1", "no size given for bet 1"),
    ("a;", "'', character 3", "no size given for bet 2"),
    ("a;;a", "';', character 3", "no size given for bet 2"),
    ("x a", "'a', character 3", "no bet, so no size stands beside it"),
    ("a x", "'x', character 3", "no bet, so no size stands beside it"),
    ("a | a | a", "'|', character 7", "there are two players"),
  ],
)
def test_faults_have_a_place(text, place, why):
  with pytest.raises(ValueError) as error:
    parse_sizes(text)
  assert place in str(error.value) and why in str(error.value), error.value


@pytest.mark.parametrize("bets", ["33", "33, 75, 150", ["50", "100"], "50; 60", "50 a", "33,75,a | 50,a"])
def test_bare_percents_are_refused_in_python_and_game_strings(bets):
  with pytest.raises(ValueError, match=r"write (33|50)% or 0\."):
    ps_cfr_spiel.river(bets=bets, ranges=("AA", "KK"))
  with pytest.raises(ValueError, match=r"write (33|50)% or 0\."):
    ps_cfr_spiel.holdem("Ks7d2c5h", bets=bets, ranges=("AA", "KK"))
  text = "; ".join(bets) if isinstance(bets, list) else bets
  with pytest.raises(ValueError, match=r"write (33|50)% or 0\."):
    pyspiel.load_game("river_subgame", {"bets": text, "ranges": "AA;KK"})


AMOUNTS = st.fractions(min_value=Fraction(1, 10**6), max_value=10**6, max_denominator=10**6)
DECIMALS = st.decimals(min_value="0.001", max_value=10**6, places=3).map(Fraction)
SIZES = st.one_of(
  st.just(ALL_IN),
  st.builds(Size, AMOUNTS, st.booleans(), st.just(Measure.POTS)),
  st.builds(Size, DECIMALS, st.booleans(), st.just(Measure.CHIPS)),
  st.builds(Size, DECIMALS.map(lambda amount: 1 + amount), st.booleans(), st.just(Measure.BETS)),
  st.builds(Size, st.integers(0, 9).map(Fraction), st.just(False), st.just(Measure.STREETS)),
)
GROUPS = st.sets(SIZES, max_size=3).map(lambda sizes: tuple(sorted(sizes)))
PLAYERS = st.lists(GROUPS, min_size=1, max_size=3).map(tuple)
STREETS = st.lists(st.tuples(PLAYERS, PLAYERS), min_size=1, max_size=3).map(tuple)


@given(STREETS)
def test_the_text_of_sizes_reads_back(streets):
  text = sizes_text(streets)
  assert parse_sizes(text) == streets
  assert parse_sizes(text.replace(",", "")) == streets  # as game strings have it
  assert len(split_streets(text)) == len(streets)


@given(st.text("0123456789%/.|;, axecgop-", max_size=20) | st.text(max_size=20))
def test_any_text_is_read_or_refused_with_its_place(text):
  try:
    streets = parse_sizes(text)
  except ValueError as error:
    assert ", character " in str(error)
  else:
    assert parse_sizes(sizes_text(streets)) == streets


def test_sizes_are_added_at_their_place():
  """A third of the pot as the first raise of the second street; other bets keep their sizes."""
  sizes = add_sizes(parse_sizes("pot a"), 1, [(1, Fraction(1, 3))])
  assert sizes_text(sizes) == "100%, a / 100%, a; 1/3, 100%, a; 100%, a"
  assert add_sizes(sizes, 1, []) == sizes
  assert math.isinf(sizes[0][0][0][-1].amount)
