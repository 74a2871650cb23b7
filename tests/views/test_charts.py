"""Spots and charts against direct computations on OpenSpiel's own states."""

import collections

import numpy as np
import pytest
from pokerkit import StandardHighHand
from random_policies import random_policy

import ps_cfr_spiel
from ps_cfr_spiel.apps.views import charts, spot, worth_at
from ps_cfr_spiel.cards.notation import letters
from ps_cfr_spiel.cards.poker import cards, made_hands
from ps_cfr_spiel.cards.poker.made_hands import MADE
from ps_cfr_spiel.policy import TreePolicy

GAME = "river_subgame(bets=0.5 1 a,stack=1000,ranges=AA:0.5 KQs AKo:0.2 8h6h 22;TT QQ:0.3 87s AK)"


@pytest.fixture(scope="module")
def policy():
  return random_policy(GAME)


def direct(policy, actions):
  """{hand: (dealt, own reach, all reach, {action: probability})} after `actions`, by pyspiel's states."""
  table = {}
  for first, p in policy.game.new_initial_state().chance_outcomes():
    deal = policy.game.new_initial_state()
    deal.apply_action(first)
    for second, q in deal.chance_outcomes():
      state, reach = deal.child(second), [1.0, 1.0]
      for action in actions:
        reach[state.current_player()] *= policy.action_probabilities(state)[action]
        state.apply_action(action)
      player = state.current_player()
      hand = state.hand(player)
      dealt, _, come, _ = table.get(hand, (0.0, 0.0, 0.0, {}))
      come += p * q * reach[0] * reach[1]
      table[hand] = dealt + p * q, reach[player], come, policy.action_probabilities(state)
  return table


def kind_of(hand):
  order = "23456789TJQKA"
  high, low = sorted((hand[0], hand[2]), key=order.index, reverse=True)
  return high + low + ("" if high == low else "s" if hand[1] == hand[3] else "o")


@pytest.mark.parametrize(
  ("path", "actions"), [("", []), ("check", [1]), ("x b100", [1, 2]), ("b100 r300", [2, 2])]
)
def test_a_chart_is_the_weighted_mean_over_hands(policy, path, actions):
  here = spot(policy, path)
  expected = direct(policy, actions)
  assert set(here.types) == set(expected)
  np.testing.assert_allclose(here.dealt, [expected[hand][0] for hand in here.types], atol=1e-12)
  np.testing.assert_allclose(here.reach, [expected[hand][1] for hand in here.types], atol=1e-12)
  chart = charts.HandChart.of(here)
  weight, played = collections.Counter(), collections.Counter()
  for hand, (_, _, come, probability) in expected.items():
    for kind in (kind_of(hand), "all"):
      weight[kind] += come
      for action, p in probability.items():
        played[kind, action] += come * p
  frequencies = [played["all", action] / weight["all"] for action in here.ids]
  np.testing.assert_allclose(here.frequencies(), frequencies, atol=1e-12)
  for row, column in np.ndindex(13, 13):
    kind = charts.cell_name(row, column)
    assert chart.combos[row, column] == sum(kind_of(hand) == kind for hand in expected)
    if kind in weight:
      cell = [played[kind, action] / weight[kind] for action in here.ids]
      np.testing.assert_allclose(chart.frequency[:, row, column], cell, atol=1e-9)
    else:
      assert np.isnan(chart.frequency[:, row, column]).all()


@pytest.mark.parametrize(
  "path",
  [
    "Check, Bet 100, Raise to 300",
    "check bet 100 raise to 300",
    "1 2 2",
    "x b100 r300",
    "c b100 r300",
    "k, b 50%, r 50%",
    "x, 1/2 pot, min",
    "x,100 300",
  ],
)
def test_a_path_is_written_in_many_ways(policy, path):
  assert spot(policy, path).history == ("Check", "Bet 100", "Raise to 300")


@pytest.mark.parametrize(
  ("path", "message"),
  [
    ("fold", "'fold' is not legal here. Legal: Check"),
    ("x b7", "'b7' .word 2. is not legal after Check. Legal: Check, Bet"),
    ("9", "'9' is not legal here"),
    ("x x", "The game is over after Check, Check; give an earlier"),
    ("x x b100", "'b100' cannot follow"),
  ],
)
def test_a_wrong_path_is_a_value_error(policy, path, message):
  with pytest.raises(ValueError, match=message):
    spot(policy, path)


def test_letters_of_charts_are_not_read(policy):
  here = spot(policy)
  assert letters(here.actions) == ("c", "b", "d", "a")
  assert [here.find_action(letter) for letter in ("c", "a")] == [0, 3]
  with pytest.raises(ValueError, match="'d' is not legal here"):
    here.find_action("d")
  with pytest.raises(ValueError, match="'b' may be Bet 100 or Bet 200; write which one"):
    here.find_action("b")
  assert [here.find_action(size) for size in ("50%", "b100%", "pot", "min")] == [1, 2, 2, 1]
  assert letters(["Fold", "Call", "Raise to 2", "Raise to 3", "Raise to 4"]) == ("f", "c", "r", "s", "t")
  with pytest.raises(ValueError, match=r"more than one move: 'check' \(word 2\) follows Check"):
    here.find_action("check check")


def test_cells():
  assert [charts.cell(hand) for hand in ("AhKh", "KhAh", "AhKd", "2c2d", "3d2d")] == [
    (0, 1), (0, 1), (1, 0), (12, 12), (11, 12),
  ]  # fmt: skip
  names = [charts.cell_name(*place) for place in np.ndindex(13, 13)]
  assert len(set(names)) == 169
  assert names[:2] == ["AA", "AKs"]
  assert names[13] == "AKo"


def test_hands_are_found_by_name_and_by_kind(policy):
  here = spot(policy)

  def names(text):
    return {here.types[h] for h in charts.find_types(here, text)}

  assert names("8h6h") == names("6h8h") == names("86s") == names("86") == names("8H6h") == {"8h6h"}
  assert names("AA") == {name for name in here.types if name[0] == name[2] == "A"}
  assert len(names("AK")) == 12
  assert names("8♥6♥") == names("8h6h, TT") == {"8h6h"}
  assert names("AA, AK") == names("AA") | names("AK") == names("AKs,AKo AA")
  for unknown, why in {
    "TT": "never holds",
    "": "never holds",
    "Zz": "class of hands",
    "A": "class of hands",
    "AA:0.5": "has weights",
  }.items():
    with pytest.raises(ValueError, match=why):
      charts.find_types(here, unknown)


def test_units_of_a_spot_by_hand():
  """Pot 100, 100 behind, 9s7c5s4h3c: player 1 calls an all-in of jacks with aces, nines or twos."""
  game = ps_cfr_spiel.river(pot=100, stack=100, bets="a", ranges=("JJ", "AhAd, Tc9c, 2d2c:0.5"))
  policy = uniform(game)
  here = spot(policy, "all-in")
  worth = worth_at(policy, here).since(here.spent[1])
  assert (here.spent, here.board, here.actions) == ((150.0, 50.0), "9s7c5s4h3c", ("Fold", "Call"))
  aces, nines, twos = (here.types.index(name) for name in ("AhAd", "Tc9c", "2d2c"))
  np.testing.assert_allclose(worth.value[0], 0, atol=1e-9)  # a fold, from now on
  # A call of 100 makes a pot of 300, which aces win and the others lose.
  np.testing.assert_allclose(worth.value[1, [aces, nines, twos]], [300 - 100, -100, -100], atol=1e-9)
  np.testing.assert_allclose(worth.equity[[aces, nines, twos]], [1, 0, 0], atol=1e-12)
  np.testing.assert_allclose(here.combos[[aces, nines, twos]], [1, 1, 0.5])
  # Half of the 2.5 combos is called, by the uniform policy.
  ev, equity = worth.mean(here)
  np.testing.assert_allclose((ev, equity), (0.5 * (200 * 1 - 100 * 1 - 100 * 0.5) / 2.5, 1 / 2.5), atol=1e-9)
  assert charts.range_text(here, worth) == (
    "Range: 2.5 combos, equity 40.00%, EV 10; player 0: equity 60.00%, EV 190; pot 200."
  )
  rows = {(row["type"], row["action_name"]): row for row in policy.to_rows([here.public_state])}
  assert rows["AhAd", "Call"]["ev"] == pytest.approx(200) and rows["AhAd", "Call"]["value"] == pytest.approx(
    150
  )


def test_units_are_those_of_postflop_solver():
  """Its test `one_raise_all_range_with_river`: all hands, uniform play, and one bet of half of the pot."""
  policy = uniform(ps_cfr_spiel.river(board="Td 9d 6h Qc 7s", pot=60, stack=970, bets="50%; x | x"))
  for line, *expected in (("", 37.5, 22.5), ("check", 30, 30), ("bet 30", 75, 15)):
    here = spot(policy, line)
    both = worth_at(policy, here).since(here.spent[here.player]).of_both(here)
    evs, equities = zip(*both, strict=True)
    np.testing.assert_allclose(evs if here.player == 0 else evs[::-1], expected, atol=1e-9)
    np.testing.assert_allclose(equities, 0.5, atol=1e-12)


def uniform(game):
  tree = ps_cfr_spiel.build_tree(game)
  return TreePolicy(game, tree.names, [[np.ones(s) for s in p.block_shapes] for p in tree.players])


@pytest.mark.parametrize(
  ("board", "hands"),
  [
    (
      "Ks7d2c",
      {"AsAd": "overpair", "KhQd": "top pair", "7s7h": "set", "7h6h": "second pair", "TsTd": "pocket pair"},
    ),
    ("Ks7d2c", {"AdQd": "ace high", "5s4s": "high card", "7c2d": "two pair", "3h2h": "low pair"}),
    ("Ks7s2c5h", {"AsQs": "ace high, flush draw", "6h4h": "high card, open-ended draw"}),
    ("Ks7s2c5h", {"6d3d": "high card, gutshot draw", "8s6s": "high card, flush draw, open-ended draw"}),
    (
      "KsKd7c5h",
      {"Kh2d": "trips", "7h6h": "second pair", "AdQd": "ace high", "KhKc": "quads", "7s7d": "full house"},
    ),
    ("AsKsQsJsTs", {"3d2d": "straight flush"}),
    ("6s7d8c5h2h", {"9s3s": "straight", "9h3h": "straight", "Jd2d": "low pair", "AhKh": "ace high"}),
    ("6h7h8c5h2h", {"9s3s": "straight", "AhKd": "flush", "4h3h": "straight flush"}),
  ],
)
def test_classes_of_hands(board, hands):
  held = np.array([cards.parse_cards(hand) for hand in hands])
  assert [", ".join(names) for names in made_hands(cards.parse_cards(board), held)] == list(hands.values())


def test_made_classes_are_those_of_pokerkit():
  rng = np.random.default_rng(5)
  order = {"high card": 0, "ace high": 0, **dict.fromkeys(MADE[8:13], 1)}
  for _ in range(300):
    *board, high, low = rng.choice(52, 7, replace=False).tolist()
    (names,) = made_hands(board, np.array([[max(high, low), min(high, low)]]))
    made = StandardHighHand.from_game(cards.card_names([high, low]), cards.card_names(board))
    theirs = made.entry.label.value
    if names[0] in MADE[:5]:
      assert theirs == {"quads": "Four of a kind"}.get(names[0], names[0].capitalize())
    else:  # the hand's own part is at most what all seven cards make
      least = order.get(names[0], {"set": 3, "trips": 3, "two pair": 2}.get(names[0], 0))
      assert ("High card", "One pair", "Two pair", "Three of a kind").index(theirs) >= least


def test_hands_are_found_by_class(policy):
  here = spot(policy)
  pairs = charts.find_types(here, "overpair")
  assert {here.types[h][0] + here.types[h][2] for h in pairs} == {"AA"}
  table = charts.classes_text(here, worth_at(policy, here).since(here.spent[0])).splitlines()
  shares = {line[:15].strip(): line[15:].split() for line in table[1:]}
  share = here.weight[pairs].sum() / here.weight.sum()
  assert shares["overpair"][1] == f"{100 * share:.2f}%" and float(shares["overpair"][0]) == pytest.approx(3.0)
  with pytest.raises(ValueError, match=r"or a class of .*overpair"):
    charts.find_types(here, "flush draw")


def test_the_text_chart_has_a_cell_for_each_kind(policy):
  here = spot(policy)
  chart = charts.HandChart.of(here)
  lines = charts.chart_text(here).splitlines()
  assert lines[0].split() == list(charts.RANKS)
  assert [line[0] for line in lines[1:]] == list(charts.RANKS)
  for row, column in np.ndindex(13, 13):
    text = lines[1 + row][3 + 5 * column : 7 + 5 * column].strip()
    frequency = chart.frequency[:, row, column]
    if not chart.combos[row, column]:
      assert text == ""
    elif chart.shown[row, column]:
      assert text[0] == letters(here.actions)[int(frequency.argmax())]
      assert int(text[1:]) == pytest.approx(100 * frequency.max(), abs=0.501)
    else:
      assert text == "."
  bets = charts.chart_text(here, 1).splitlines()
  assert int(bets[1][3:7]) == pytest.approx(100 * chart.frequency[1, 0, 0], abs=0.501)


def test_other_games_are_shown_as_a_table():
  policy = random_policy("kuhn_poker")
  lines = charts.infostates_text(policy, None, "", 100).splitlines()
  assert len(lines) == 12
  assert charts.infostates_text(policy, 1, "2", 100).count("\n") == 1
  assert charts.infostates_text(policy, None, "", 5).splitlines()[-1].startswith("... and 7 more")
  with pytest.raises(ValueError, match="no information state of player 0 that contains 'nowhere'"):
    charts.infostates_text(policy, 0, "nowhere", 5)
