"""Values of rivers, against rivers that are not bet on, double loops, and renamed suits."""

import dataclasses
import functools
import itertools

import jax
import numpy as np
import pyspiel
import pytest

import ps_cfr_spiel
from ps_cfr_spiel import ContinualResolving
from ps_cfr_spiel.backend.device import jit, precision, to_device
from ps_cfr_spiel.batches import solve_batch
from ps_cfr_spiel.cards.poker import Deck, Situation, cards, compatible, renamings, strengths
from ps_cfr_spiel.cards.poker.situations import RandomSituations
from ps_cfr_spiel.learning import (
  BoardFeatures,
  Examples,
  NetworkValues,
  boards_as_examples,
  generate_examples,
  load_boards,
  pretrained,
  resume,
  train,
)
from ps_cfr_spiel.learning.boards.board_features import CHECKED
from ps_cfr_spiel.learning.boards.hand_places import RATIOS, at_places, at_ratios, hand_places
from ps_cfr_spiel.learning.boards.solved_boards import up_to_suits
from ps_cfr_spiel.resolving.search import Levels
from ps_cfr_spiel.resolving.subgames import Subgames
from ps_cfr_spiel.values import CFRValues

RANGES = "ranges=AA KQs 8d7d 6h6c;QQ JTs Ah8h"
TURN = f"holdem_subgame(board=9s7c5s4h,pot=200,stack=500,bets=a,{RANGES})"
NO_BETS = f"holdem_subgame(board=9s7c5s4h,pot=200,stack=300,bets=a/x,{RANGES})"  # no bets on rivers
BATCH = ("board", "pot", "stack", "ranges")  # fields of situations
SMALL = {"steps": 400, "batch": 8, "width": 16, "layers": 1, "progress": False}

EMPTY = (np.zeros((1, 1326), np.float32),) * 2
NOTHING = {"board": np.zeros((0, 5), int), "ratio": np.zeros(0), **dict(zip(CHECKED, EMPTY, strict=True))}
NO_RIVERS = Examples({}, BoardFeatures(), NOTHING, EMPTY, EMPTY, np.zeros(0, int))

called = jit(static_argnames="player")(lambda bound, player, ranges: bound(player, ranges))


@functools.cache
def rivers(folder):
  """Two dozen solved rivers, through files."""
  drawn = RandomSituations(24, ratios=(0.5,), bets="a", distribution="betting")
  solve_batch(drawn, iterations=20, hands="all", strategies=False, chunk=8, output=folder, progress=False)
  return load_boards(folder, progress=False)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
  return rivers(tmp_path_factory.mktemp("rivers"))


@pytest.fixture(scope="module")
def learned(data):
  return train(data, **SMALL)


@functools.cache
def rivers_of(name):
  """Subgames of a game, and the public states after its next card."""
  subgames = Subgames.of(pyspiel.load_game(name))
  return subgames, Levels.of(subgames.labels, "round")[0].frontier(0)


def both(bound, ranges):
  """The values of both players, in float64."""
  with precision("float64"):
    given = to_device((bound, ranges), "float64")
    return [np.asarray(called(given[0], player, given[1])) for player in (0, 1)]


def test_rivers_are_as_they_were_drawn_and_solved(data):
  """And what checking down wins is the sum over pairs of hands."""
  drawn = RandomSituations(24, ratios=(0.5,), bets="a", distribution="betting")
  found = solve_batch([drawn[20]], iterations=20, hands="all", progress=False)[0]
  assert data.inputs["board"][20].tolist() == list(drawn[20].board) and data.inputs["ratio"][20] == 0.5
  np.testing.assert_allclose(data.values[1][20], found.values[1] / drawn.options.pot, atol=1e-5)
  np.testing.assert_allclose(data.ranges[0][20], drawn[20].ranges[0], rtol=1e-5)
  random = np.random.default_rng(0)
  for n in (0, 13):
    board = data.inputs["board"][n].tolist()
    live = np.flatnonzero(~np.isin(cards.ALL_HANDS, board).any(1))
    strength = dict(zip(live, strengths(np.array(board), cards.ALL_HANDS[live]), strict=True))
    for player, h in itertools.product((0, 1), random.choice(live, 5, replace=False)):
      others = [g for g in live if not set(cards.ALL_HANDS[g]) & set(cards.ALL_HANDS[h])]
      won = [np.sign(strength[h] - strength[g]) * data.ranges[1 - player][n, g] / 2 for g in others]
      assert data.inputs[CHECKED[player]][n, h] == pytest.approx(sum(won), abs=1e-5)


def test_suits_do_not_matter():
  """Places and numbers of boards are the same if suits are renamed and hands with them."""
  board = np.array(cards.parse_board("9s7c5s4hKd"))
  for swap in renamings(Deck(13, 4))[::5]:
    renamed, hands = np.array(swap)[board], np.sort(np.array(swap)[cards.ALL_HANDS], 1)[:, ::-1]
    for size in (5, 4):
      both = np.stack([board[:size], renamed[:size][::-1]])
      one, other = hand_places(both)
      np.testing.assert_array_equal(one, other[cards.set_numbers(hands)])
      assert len(set(up_to_suits(both))) == 1
  different = np.stack([board, np.array(cards.parse_board("9s7c5s4hKs"))])
  assert len(set(up_to_suits(different))) == 2


def test_places_and_stacks_are_mixtures_of_fixed_ones():
  place = hand_places(np.array([cards.parse_board("9s7c5s4hKd")]))[0, :, 0]
  live = place >= 0
  assert live.sum() == 1081 and 0 <= place[live].min() < 0.01 and 0.99 < place[live].max() <= 1
  mixture = np.asarray(jit()(at_places)(place[:, None]))
  np.testing.assert_allclose(mixture.sum(1), live, atol=1e-6)
  np.testing.assert_allclose(mixture[live] @ np.linspace(0, 1, mixture.shape[1]), place[live], atol=1e-6)
  ratios = np.array([0.001, 0.03, 0.07, 1.0, 5.0, 16.0, 99.0])
  logarithms = np.log(np.clip(ratios, RATIOS[0], RATIOS[-1]))
  np.testing.assert_allclose(np.asarray(jit()(at_ratios)(ratios)) @ np.log(RATIOS), logarithms, atol=1e-5)


def test_places_with_cards_to_come():
  """Those of a turn are spread over its rivers as the places there, hand by hand."""
  turn = cards.parse_cards("9s7c5s4h")
  place = hand_places(np.array([turn]))[0]
  rivers = hand_places(np.array([(*turn, c) for c in cards.WHOLE_DECK if c not in turn]))[:, :, 0]
  for name in ("AsKs", "9h9d", "3d2c"):
    (h,) = cards.set_numbers(np.array([cards.parse_cards(name)]))
    there = np.sort(rivers[rivers[:, h] >= 0, h])
    assert len(there) == 46 and abs(place[h].mean() - there.mean()) < 1e-5
    assert (np.diff(place[h]) > -1e-6).all() and place[h, 0] == pytest.approx(there[:5].mean(), abs=0.02)
  mixture = np.asarray(at_places(place))
  np.testing.assert_allclose(mixture.sum(1), place[:, 0] >= 0, atol=1e-6)


@pytest.mark.parametrize("size", [5, 4])
def test_where_nobody_bets_they_are_exact(size):
  """Without what betting adds they are what solving these rivers, or turns, gives."""
  subgames, states = rivers_of(NO_BETS if size == 5 else NO_BETS.replace("4h", ""))
  of_street = dataclasses.replace(NO_RIVERS, features=BoardFeatures(size))
  bound = dataclasses.replace(NetworkValues.untrained(of_street, 0, 8, 1), scale=np.float32(0))
  bound = bound.bind(subgames, states)
  random = np.random.default_rng(1)
  ranges = tuple(
    random.random((len(states), player.types)) * (random.random((len(states), player.types)) > 0.3)
    for player in subgames.tree.players
  )
  expected = both(CFRValues(1).bind(subgames, states), ranges)
  for mine, other in zip(both(bound, ranges), expected, strict=True):
    assert np.abs(other).max() > 0.01
    np.testing.assert_allclose(mine, other, atol=1e-9)


def test_turns_are_taught_by_searches(learned, tmp_path):
  """Where nobody bets the values are those of checking down; files are kept and learned from."""
  drawn = RandomSituations(2, ratios=(0.5,), bets="x", distribution="betting", cards=4)
  exact = dataclasses.replace(learned, scale=np.float32(0))
  options = {"values": exact, "hands": "all", "strategies": False, "output": tmp_path, "progress": False}
  solve_batch(drawn, iterations=2, **options)
  stamps = [path.stat().st_mtime_ns for path in tmp_path.iterdir()]
  solve_batch(drawn, iterations=2, **options)
  assert [path.stat().st_mtime_ns for path in tmp_path.iterdir()] == stamps
  turns = load_boards(tmp_path, progress=False)
  for i in (0, 1):
    np.testing.assert_allclose(turns.values[i], turns.inputs[CHECKED[i]], atol=1e-5)
    np.testing.assert_allclose(turns.ranges[i][1], drawn[1].ranges[i], atol=1e-7)
  board, ranges = turns.inputs["board"][0].tolist(), turns.ranges[1][0]
  (live,) = cards.unblocked(tuple(board)).nonzero()
  h, won = live[700], 0.0
  for c in set(cards.WHOLE_DECK).difference(board, cards.ALL_HANDS[h]):
    held = live[~np.isin(cards.ALL_HANDS[live], (c, *cards.ALL_HANDS[h])).any(1)]
    strength = strengths(np.array((*board, c)), cards.ALL_HANDS[[h, *held]])
    won += sum(np.sign(strength[0] - np.array(strength[1:])) * ranges[held]) / 2 / 44
  assert turns.inputs[CHECKED[0]][0, h] == pytest.approx(won, abs=1e-5)
  values = train(dataclasses.replace(turns, draw=np.array([0, 1])), **{**SMALL, "steps": 2, "batch": 2})
  assert values.cards == 4 and repr(values) == "NetworkValues(2 turns)"
  with pytest.raises(ValueError, match="cannot learn from these examples: they have 4 cards, not 5"):
    train(turns, start=learned)
  with pytest.raises(ValueError, match="has other results"):
    solve_batch(drawn, iterations=3, **options)


def test_a_street_alone_is_worth_what_the_whole_tree_says(learned):
  """A turn by `solve_batch` and by a search of the game's tree to the next card, whose rows are rivers."""
  drawn = RandomSituations(1, 3, ratios=(2.0,), distribution="betting", cards=4)
  (found,) = solve_batch(drawn, iterations=20, values=learned, progress=False)
  given = drawn[0].game().get_parameters()
  game = pyspiel.load_game("holdem_subgame", {**given, "ranges": "uniform", "bets": "1 a/x"})
  subgames, held = Subgames.of(game), game.ranges[0].numbers
  begin = next(s for s, public in enumerate(subgames.labels.public_states) if public.player >= 0)
  bound = CFRValues(20, beyond=learned, lookahead="round").bind(subgames, [begin])
  with precision("float32"):
    ranges = tuple(np.asarray(r[held][None], np.float32) for r in drawn[0].ranges)
    values = jit()(lambda one, pair: one.both(pair))(*to_device((bound, ranges), "float32"))
  for mine, other in zip(found.values, values, strict=True):
    off = mine[held] - np.asarray(other)[0] * game.disjoint.sum()
    assert np.abs(mine).max() > 100 and np.abs(off).max() < 2  # of 1,000 chips
  assert 0 < found.exploitability < 50
  with pytest.raises(ValueError, match="A strategy that ends with a turn or flop is no policy"):
    solve_batch([drawn[0]], iterations=1, values=learned, progress=False).policy(0)


def test_hands_outside_both_ranges_change_nothing(learned):
  """Those of the ranges are ranked among all; nothing but time is saved."""
  (drawn,) = RandomSituations(1, 3, ratios=(2.0,), distribution="betting", cards=4)
  weights = drawn.ranges.copy()
  weights[:, 60:] = 0
  weights[0, :30] = 0
  few, every = (
    solve_batch([drawn._replace(ranges=weights)], iterations=1, hands=hands, values=learned, progress=False)[
      0
    ]
    for hands in ("ranges", "all")
  )
  assert few.hands is not None and every.hands is not None
  assert [len(h) for h in (*few.hands, *every.hands)] == [48, 48, 1128, 1128]
  own = np.intersect1d(few.hands[0], weights.any(0).nonzero()[0])
  assert len(own) == 40
  for mine, others in zip(few.values, every.values, strict=True):
    np.testing.assert_allclose(mine[own], others[own], rtol=1e-3, atol=1e-2)
  np.testing.assert_allclose(few.best_response, every.best_response, rtol=1e-4)


@pytest.mark.parametrize(
  ("name", "size", "count"),
  [("holdem_subgame(board=9s7c5s4h)", 5, 6), ("holdem", 4, 2), ("holdem_subgame(board=9s7c5s)", 4, 0)],
)
def test_the_pretrained_values_of_holdem(name, size, count):
  """On new boards they err by half of what betting adds, or less."""
  values = pretrained(name)
  assert values.features == BoardFeatures(size) and values.card["finished"]
  if not count:
    return
  beyond = None if size == 5 else pretrained("holdem_subgame(board=9s7c5s4h)")
  drawn = RandomSituations(count, 77, ratios=(1.0,), distribution="betting", cards=size)
  found = solve_batch(drawn, iterations=60, hands="all", values=beyond, strategies=False, progress=False)
  given = [np.stack([getattr(one, name) for one in drawn]) for name in BATCH]
  checked = None if size == 5 else np.stack([one.checked for one in found])
  new = boards_as_examples({}, *given, np.stack([one.values for one in found]), checked)
  tensors = values.tensors(new, np.arange(count))
  errors = jax.jit(lambda network, data: data.errors(network))(values.network, tensors)
  for wrong, right in zip(errors.differences, tensors.added, strict=True):
    assert 0 < np.abs(wrong).mean() < np.abs(right).mean() / 2
  if size == 4:  # the worth of a hand is its value over the share of the opponent's range beside it
    wins = np.stack([values.worths(one) * compatible(one.ranges[::-1]) for one in drawn])
    true, down = (np.array([getattr(one, name) for one in found]) for name in ("values", "checked"))
    assert 0 < np.abs(wins - true).mean() < np.abs(down - true).mean() / 2


def test_worths_without_betting_by_hand():
  """By all rivers that two hands of the opponent leave to a hand, if betting adds nothing."""
  of_turns = dataclasses.replace(NO_RIVERS, features=BoardFeatures(4))
  values = dataclasses.replace(NetworkValues.untrained(of_turns, 0, 8, 1), scale=np.float32(1e-9))
  board, hand = cards.parse_board("9s7c5s4h", (4,)), cards.parse_cards("8d6h")
  number = lambda name: int(cards.set_numbers(np.array([cards.parse_cards(name)]))[0])  # noqa: E731
  odds = {"AsKs": 3.0, "9h9d": 1.0, "8d7d": 9.0}  # the last shares a card with the hand
  ranges = np.ones((2, 1326))
  ranges[1] = 0
  for name, weight in odds.items():
    ranges[1, number(name)] = weight
  won, total = 0.0, 0.0
  for name in ("AsKs", "9h9d"):
    other = cards.parse_cards(name)
    for card in set(cards.WHOLE_DECK) - {*board, *hand, *other}:
      whole = np.array([[*board, card]])
      mine, theirs = (int(strengths(whole, np.array([held]))[0, 0]) for held in (hand, other))
      won, total = won + odds[name] * np.sign(mine - theirs), total + odds[name]
  found = values.worths(Situation(board, 600, 1000, "", ranges))[0, number("8d6h")]
  assert found == pytest.approx(300 * won / total, abs=1e-3) and 0 < won < total


def test_no_values_for_other_games():
  for name in ("holdem_subgame(board=9s7c5s4h3c)", "holdem(deck=6x2,stack=20,blinds=2/1)", "river_subgame"):
    with pytest.raises(ValueError, match="come with ps_cfr_spiel, only for leduc_poker, holdem, and turns"):
      pretrained(name)


def some_values():
  """Values of an untrained network: the property does not depend on training."""
  values = NetworkValues.untrained(NO_RIVERS, 0, 8, 1)
  return dataclasses.replace(values, scale=np.float32(1))


def unsolved():
  """Two dozen rivers without bets: nothing is won by betting."""
  drawn = RandomSituations(24, ratios=(0.5,), bets="a")
  boards = np.stack([one.board for one in drawn])
  ranges = np.stack([one.ranges for one in drawn], 1).astype(np.float32)
  inputs = {"board": boards, "ratio": np.full(24, 0.5), **dict.fromkeys(CHECKED, np.zeros_like(ranges[0]))}
  return dataclasses.replace(
    NO_RIVERS, inputs=inputs, ranges=tuple(ranges), values=tuple(0 * ranges), draw=np.arange(24)
  )


def test_they_sum_to_zero():
  """Exactly, river by river, whatever the network says; nothing where a range is zero."""
  subgames, states = rivers_of(TURN)
  bound = some_values().bind(subgames, states)
  random = np.random.default_rng(2)
  ranges = tuple(random.random((len(states), player.types)) for player in subgames.tree.players)
  ranges[1][5] = 0
  values = both(bound, ranges)
  total = sum((r * v).sum(1) for r, v in zip(ranges, values, strict=True))
  assert np.abs(values[0][6]).max() > 1e-3 and not values[0][5].any()
  np.testing.assert_allclose(total, 0, atol=1e-12)
  assert all(np.isfinite(v).all() for v in both(bound, tuple(map(np.zeros_like, ranges))))
  # Hands that a river blocks count for nothing, whatever range they come with; on every board that of other
  # hands is what the network is asked about.
  lines, changed = len(bound.ratio), 0
  ranges = tuple(random.random((len(states), player.types)) for player in subgames.tree.players)
  others = []
  for range_, weight in zip(ranges, bound.weights, strict=True):
    blocked = np.tile(weight == 0, (lines, 1))  # rows are line by line
    others.append(np.where(blocked, 5 * random.random(blocked.shape), range_))
    changed += blocked.sum()
  assert changed > 0
  for one, other in zip(both(bound, ranges), both(bound, tuple(others)), strict=True):
    np.testing.assert_allclose(one, other, atol=1e-9)
    assert np.abs(one).max() > 1e-3


def test_searches_by_them_where_nobody_bets(learned):
  """A search of the turn with exact values beyond is as good as one to the end of the game."""
  game = pyspiel.load_game(NO_BETS)
  values = dataclasses.replace(learned, scale=np.float32(0))
  search = ContinualResolving(game, 300, lookahead="round", value_function=values)
  assert ps_cfr_spiel.exploitability(game, search.tabularise(progress=False)) < 0.002 * 200  # of the pot


def test_they_are_learned_and_kept(data, learned, tmp_path):
  assert learned.losses[-1, 1] < learned.losses[0, 1] and learned.card["learned_from"] == len(data)
  learned.save(tmp_path / "rivers.safetensors")
  again = NetworkValues.load(tmp_path / "rivers.safetensors")
  assert again.features == BoardFeatures() and again.card == learned.card
  subgames, states = rivers_of(TURN)
  ranges = tuple(np.ones((len(states), player.types)) for player in subgames.tree.players)
  for mine, other in zip(*(both(v.bind(subgames, states), ranges) for v in (learned, again)), strict=True):
    np.testing.assert_array_equal(mine, other)
  assert resume(data, again, progress=False).losses.tolist() == learned.losses.tolist()


def test_bad_input(data, learned, tmp_path):
  with pytest.raises(ValueError, match="there are no situations in it; make some with"):
    load_boards(tmp_path)
  for name, options in (("ranges", {}), ("few", {"hands": "all"})):
    drawn = RandomSituations(1, bets="a", ratios=(0.5,))
    solve_batch(drawn, iterations=2, strategies=False, output=tmp_path / name, progress=False, **options)
  with pytest.raises(ValueError, match="values of all hands are needed"):
    load_boards(tmp_path / "ranges")
  solve_batch(drawn, iterations=3, strategies=False, output=tmp_path / "more", progress=False, hands="all")
  with pytest.raises(ValueError, match="was solved with other settings than the first"):
    load_boards(tmp_path / "few", tmp_path / "more")
  with pytest.raises(ValueError, match="too few draws"):
    train(load_boards(tmp_path / "few"), **SMALL)
  learned.save(tmp_path / "values.safetensors")
  with pytest.raises(ValueError, match="holds no solved situations"):
    (tmp_path / "other").mkdir()
    learned.save(tmp_path / "other" / "values.safetensors")
    load_boards(tmp_path / "other")
  kuhn = generate_examples(pyspiel.load_game("kuhn_poker"), 2, iterations=2, progress=False)
  with pytest.raises(ValueError, match="are for places and stacks of boards, the examples of public states"):
    train(kuhn, start=learned)


@pytest.mark.parametrize(
  ("name", "change", "message"),
  [
    (
      "values",
      lambda x: np.where(np.arange(1326) == 7, np.nan, x),
      "player 1's values are not all within 1e",
    ),
    ("checked", lambda x: x + 1e30, "in example 0 player 1's values are not all within 1e"),
    ("ranges", lambda x: -x, "in example 0 player 1's range is not a distribution"),
    ("ranges", lambda x: x[:, :9], r"range1 is float32\[24, 9\], expected float32\[24, 1326\]"),
  ],
)
def test_rivers_nobody_can_learn_from(name, change, message):
  data = unsolved()
  if name == "checked":
    changed = {"inputs": {**data.inputs, CHECKED[1]: change(data.inputs[CHECKED[1]])}}
  else:
    pair = getattr(data, name)
    changed = {name: (pair[0], change(pair[1]))}
  with pytest.raises(ValueError, match=message):
    train(dataclasses.replace(data, **changed), **SMALL)


@pytest.mark.parametrize(
  ("name", "lookahead", "message"),
  [
    ("leduc_poker", 1, "are for turns of hold'em with the whole deck"),
    (
      "holdem_subgame(deck=6x2,board=3c6d2d4c,stack=200)",
      "round",
      "with the whole deck; use 4 board cards",
    ),
    (TURN, 1, "are for searches that end with the turn; set lookahead='round'"),
  ],
)
def test_games_they_are_not_for(name, lookahead, message):
  search = ContinualResolving(pyspiel.load_game(name), 1, lookahead=lookahead, value_function=some_values())
  with pytest.raises(ValueError, match=message):
    search.start(0)
