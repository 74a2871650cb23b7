"""Ranges, hands and boards: counted by hand and against PokerKit's own reader; what is refused, and where."""

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pokerkit import parse_range

from ps_cfr_spiel.cards.notation import RANKS, SUITS, card_names, hands_text, parse_cards, parse_hands


@pytest.mark.parametrize(
  ("text", "combos", "example"),
  [
    ("AsKd", 1, "AsKd"),
    ("KdAs", 1, "AsKd"),
    ("AA", 6, "AhAd"),
    ("aa", 6, "AhAd"),
    ("AKs", 4, "AhKh"),
    ("AKS", 4, "AhKh"),
    ("aKo", 12, "AhKs"),
    ("KA", 16, "AhKh"),
    ("10h9h", 1, "Th9h"),
    ("K♠Q♦", 1, "KsQd"),
    ("K♠️q♦️", 1, "KsQd"),
    ("TT+", 30, "JsJc"),
    ("A9s+", 20, "AcTc"),
    ("A2s+", 48, "Ac2c"),
    ("KTo+", 36, "KcQd"),
    ("A5s-A2s", 16, "Ad4d"),
    ("A2s-A5s", 16, "Ad4d"),
    ("ATs - A8s", 12, "Ad9d"),
    ("22-55", 24, "3h3d"),
    ("55\u201322, T9s \u2212 54s", 48, "7h6h"),
    ("AKs+", 4, "AhKh"),
    ("KQs, AA@0.5%, [0.5]KK[/0.5]", 4.06, "KhQh"),
    ("T9s-54s", 24, "7h6h"),
    ("J9-97", 48, "Th8d"),
    ("Ax", 192, "As2c"),
    ("Kxs", 44, "Ks2s"),
    ("Kxs+", 92, "As2s"),
    ("random", 1326, "2d2c"),
    ("any two", 1326, "2d2c"),
    ("100%", 1326, "2d2c"),
    ("", 1326, "2d2c"),
    ("random, QQ:0", 1320, "2d2c"),
    ("1%", 12, "KhKd"),  # of 13.26; queens are too many
    ("5%, 22", 60 + 6, "AhKh"),  # of 66.3: 99+ 88 77 are 42, AKs 46, AQs AJs 60, and AKo would be 72
    ("5%:50%", 30, "AhKh"),
    ("99.5%", 1314, "3h2h"),  # of 1319.4: all but the worst kind, 32o
    ("AA:50%", 3, "AhAd"),
    ("AA:0.5 KK", 9, "AhAd"),
    ("AA @50, KK@25%", 4.5, "AhAd"),
    ("AhAs: 1.00", 1, "AsAh"),
    ("[25.0]AKs,AQs[/25.0]", 2, "AhKh"),
    ("JJ [50]AA,KK[/50], [10%]QQ[/10%]", 12.6, "AhAd"),
    ("AA,,KK ,", 12, "AhAd"),
    ("TT+ AA:0.5", 27, "AhAd"),  # the later time counts
    ("AA:0.5 TT+", 30, "AhAd"),
  ],
)
def test_combos(text, combos, example):
  hands = parse_hands(text, shares=True)
  assert sum(hands.values()) == pytest.approx(combos)
  assert example in {card_names(hand) for hand in hands}
  assert all(high > low for high, low in hands)


FAULTS = [
  ("AA, KZ", "'KZ', character 5", "not understood; a range is written as"),
  ("AA 15%", "'15%', character 4", "stands first; a weight is written AA:50%"),
  ("101%", "'101%', character 1", "at most 100%"),
  ("AsKdQcQd", "'AsKdQcQd', character 1", "Omaha"),
  ("KK (AA,QQ):50%", "'(AA', character 4", "write AA:50%"),
  ("50%(AA)", "'50%(AA)', character 1", "write AA:50%"),
  ("random !AA", "'!AA', character 8", "AA:0"),
  ("AxKx", "'AxKx', character 1", "without signs for suits"),
  ("AK-", "'AK-', character 1", "A5s-A2s"),
  ("AAs", "'AAs', character 1", "a pair is neither suited"),
  ("A5s-A2o", "'A5s-A2o', character 1", "both ends"),
  ("A5s-K2s", "'A5s-K2s', character 1", "no row"),
  ("Ax-Kx", "'Ax-Kx', character 1", "no row"),
  ("AsAs", "'AsAs', character 1", "two different cards"),
  ("As Kd", "'As', character 1", "not understood"),
  ("AA:", "'AA:', character 1", "its weight '' is not 0 or a number"),
  ("AA:x", "'AA:x', character 1", "its weight 'x' is not"),
  ("AA:-1", "'AA:-1', character 1", "its weight '-1' is not"),
  ("AA:nan", "'AA:nan', character 1", "its weight 'nan' is not"),
  ("AA:1e-10", "'AA:1e-10', character 1", "is not 0 or a number from 1e-09"),
  ("AA:1e999", "'AA:1e999', character 1", "its weight '1e999' is not"),
  ("AA,KK:50", "'KK:50', character 4", "write 50% or 0.5"),
  ("AK:1.5", "'AK:1.5', character 1", "at most 1"),
  ("[50]AA", "'[50]', character 1", "close it by [/50]"),
  ("AA[/50]", "'[/50]', character 3", "no such bracket is open"),
  ("[50]AA[/40]", "'[/40]', character 7", "close it by [/50]"),
  ("[50]AA:0.5[/50]", "'AA:0.5', character 5", "already"),
  ("[x]AA[/x]", "'[x]', character 1", "its weight 'x%' is not"),
  ("AA;KK", "'AA;KK', character 1", "not understood"),
  # postflop-solver reads T9s+ as T9s-AKs, PokerKit as T9s alone.
  ("AA, T9s+", "'T9s+', character 5", "as T9s alone, others as T9s-AKs"),
  ("AA 32+:50%", "'32+:50%', character 4", "as 32 alone, others as 32-AK"),
  ("AA@0.5", "'AA@0.5', character 1", "write :0.5 for that share, or @0.5%"),
  ("[]", "'[]', character 1", "not understood"),
  ("[]AA[/]", "'[]', character 1", "not understood"),
  ("AA:0,5", "'5', character 6", "write AA:0.5 for a weight"),
  ("AA:150%", "'AA:150%', character 1", "held; at most 100%"),
  ("[150]AA[/150]", "'AA', character 6", "held; at most 100%"),
]


@pytest.mark.parametrize(("text", "place", "why"), FAULTS)
def test_faults_have_a_place(text, place, why):
  with pytest.raises(ValueError) as error:
    parse_hands(text, "range", shares=True)
  assert place in str(error.value) and why in str(error.value), error.value


def test_weights_above_one_are_ratios_in_a_list_of_hands_and_in_game_strings():
  assert parse_hands("AsAd:30 KsKd:60", shares=True) == {(51, 49): 30.0, (47, 45): 60.0}
  assert parse_hands("AsAd KsKd:60")[47, 45] == 60.0


def test_ranges_are_those_of_pokerkit():
  """Random texts of hands, kinds, rows with one gap and kinds upwards, without pairs' rows downwards."""
  rng = random.Random(1)
  for _ in range(300):
    low, high = sorted(rng.sample(range(13), 2))
    suited = rng.choice(("", "s", "o"))
    step = rng.randint(1, 12 - high) if high < 12 else 0
    kind = RANKS[high] + RANKS[low] + suited
    a, b = rng.sample([rank + suit for rank in RANKS for suit in SUITS], 2)
    upwards = kind if low == high - 1 < 11 else kind + "+"  # T9s+ is refused
    words = [kind, upwards, RANKS[low] * 2, RANKS[low] * 2 + "+", a + b]
    words += [f"{RANKS[high + step] + RANKS[low + step] + suited}-{kind}"] if step else []
    text = ",".join(rng.sample(words, 2))
    theirs = {frozenset(map(repr, hand)) for hand in parse_range(text)}
    ours = {frozenset(card_names([card]) for card in hand) for hand in parse_hands(text)}
    assert ours == theirs, text


HANDS = st.sampled_from([*itertools.combinations(range(51, -1, -1), 2)])


@given(st.dictionaries(HANDS, st.floats(1e-9, 1e9), min_size=1, max_size=8))
def test_the_text_of_a_range_reads_back(weights):
  assert parse_hands(hands_text(weights), shares=True) == weights


@given(
  st.lists(
    st.sampled_from(
      [*"AKT92xso+-:@[]/,; ", "10", "♠", "AA", "AKs", "AhKh", "50", "0.5", "%", "random", "[50]", "[/50]"]
    ),
    max_size=12,
  ).map("".join)
  | st.text(max_size=20)
)
def test_any_text_is_read_or_refused_with_its_place(text):
  for read in (parse_hands, parse_cards):
    try:
      read(text)
    except ValueError as error:
      assert ", character " in str(error)


@pytest.mark.parametrize("text", ["Ks7d2c", "K♠7♦2♣", "KS7D2C", "Ks, 7d, 2c", " ks 7d,2c ", "K♠️ 7♦️ 2♣️"])
def test_boards(text):
  assert card_names(parse_cards(text)) == "Ks7d2c"


@given(st.lists(st.integers(0, 51), max_size=5))
def test_the_names_of_cards_read_back(cards):
  assert list(parse_cards(card_names(cards))) == cards
  assert list(parse_cards(" ".join(card_names([card]).replace("T", "10") for card in cards))) == cards


@pytest.mark.parametrize(
  ("text", "place"),
  [("Ks7d1c", "'1c', character 5"), ("10", "'10', character 1"), ("Ks 7", "'7', character 4")],
)
def test_wrong_cards(text, place):
  with pytest.raises(ValueError, match=f"{place}: not a card"):
    parse_cards(text, "board")


def test_the_order_of_kinds_has_each_once_and_better_cards_first():
  """Suited before offsuit, and the kind with the higher card first, but for a five's low straights."""
  order = []
  for combos in range(2, 1326, 2):  # kinds have 4, 6 or 12
    order += [*parse_hands(f"{100 * combos / 1326 + 1e-4:.5f}%")][len(order) :]
  kinds = [*dict.fromkeys((high // 4, low // 4, high % 4 == low % 4) for high, low in order)]
  place = {kind: number for number, kind in enumerate(kinds)}
  assert len(kinds) == 168 and len(order) == 1314  # all but 32o
  for high, low, suited in kinds:
    if high > low and not suited:
      assert place[high, low, True] < place[high, low, False]
    if 3 in (high, low):
      continue
    if high - low > 1:
      assert place[high, low + 1, suited] < place[high, low, suited]
    if high < 12 and high > low and (high + 1, low, suited) in place:
      assert place[high + 1, low, suited] < place[high, low, suited]
