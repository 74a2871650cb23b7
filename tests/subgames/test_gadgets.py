"""Gadgets: what the opponent is promised is kept, and the margin is the linear program's."""

import functools

import numpy as np
import pyspiel
import pytest
from cuts import (
  TURN,
  at_roots,
  common_shape,
  known_at,
  levels,
  ranges_at,
  reaches,
  rounded,
  solve,
  values_at_roots,
)
from random_games import random_game
from reference_subgames import Game, profile_of, resolving_programs, tables_of

from ps_cfr_spiel import build_tree
from ps_cfr_spiel.resolving.search import FrozenValues
from ps_cfr_spiel.resolving.subgames import GADGETS, Subgames, cfr_d, gadgets, max_margin, unsafe
from ps_cfr_spiel.resolving.subgames.gadgets import (
  expected_cfr_d,
  expected_max_margin,
  refined_cfr_d,
  refined_max_margin,
)
from ps_cfr_spiel.resolving.subgames.ranged_leaves import EchoedRanges
from ps_cfr_spiel.tree import sequence_reach

RIVER = "river_subgame(board=KhKd8c4s2h,stack=500,ranges=AsAd QsQd:0.5 7c6c;JsJd Ah8h 5c4c:3)"
CHASE = "glasses(edges=0-1 1-2 2-3 3-4 4-5 5-0 0-3,start=4:1,turns=4)"
DICE = "liars_dice(dice_sides=3)"
ROCK = "turn_based_simultaneous_game(game=matrix_rps())"
SKEWED = "turn_based_simultaneous_game(game=matrix_brps())"  # biased rock, paper, scissors
PENNIES = "coordinated_mp"


@functools.cache
def load(name):
  """The game's histories and subgames."""
  game = random_game(int(name)) if name.isdigit() else pyspiel.load_game(name)
  return Game(game), Subgames(build_tree(game))


@functools.cache
def blueprint(name, quality):
  """A profile: near an equilibrium by OpenSpiel's CFR+ (but coming everywhere), or uniform."""
  game, _ = load(name)
  keys = {(game.acting[h], game.info[h]): game.children[h] for h in range(game.size) if game.acting[h] >= 0}
  if quality == "uniform":
    return {key: dict.fromkeys(row, 1 / len(row)) for key, row in keys.items()}
  solver = pyspiel.CFRPlusSolver(pyspiel.load_game(name))
  for _ in range(60):
    solver.evaluate_and_update_policy()
  table = solver.tabular_average_policy().policy_table()
  return {
    key: {a: 0.999 * dict(table[key[1]])[a] + 0.001 / len(row) for a in row} for key, row in keys.items()
  }


def prepare(name, profile, states, player, pad_to=None):
  """A subgame, the ranges there, and the opponent's best response values as promises, plainly counted."""
  game, subgames = load(name)
  subgame = subgames.cut(states, pad_to=pad_to)
  ranges = ranges_at(subgame, reaches(subgames.tree, tables_of(subgames.tree, profile)))
  truth = game.responses(profile, 1 - player)
  promises = np.zeros((subgame.shape.roots[1 - player], subgames.tree.players[1 - player].types))
  found = at_roots(game, subgames, 1 - player, subgame.roots[1 - player], truth)
  promises[: len(found)] = found
  return subgame, ranges, promises


@pytest.mark.parametrize(
  # For either player, after good and weak play. Max-margin compiles anew at each level.
  "name, player, gadget, quality",
  [
    (CHASE, 1, "cfr-d", "uniform"),
    (RIVER, 0, "cfr-d", "equilibrium"),
    (TURN, 1, "cfr-d", "equilibrium"),
    (DICE, 1, "max-margin", "equilibrium"),
    (RIVER, 0, "max-margin", "uniform"),
  ],
)
def test_promises_are_kept_at_every_public_state(name, player, gadget, quality):
  """All public states of one own level at once.

  The law, after any number of iterations: the opponent has no more above the promises than the gadget's
  NashConv, because the promises can be kept. So the new strategy is no more exploitable than the old one.
  """
  game, subgames = load(name)
  opponent = 1 - player
  # Max-margin compiles anew at each level anyway: so many infostates to choose from.
  pad_to = common_shape(subgames, levels(subgames, player)) if gadget == "cfr-d" else None
  profile = blueprint(name, quality)
  before = game.responses(profile, opponent)
  for states in levels(subgames, player):
    subgame, ranges, promises = prepare(name, profile, states, player, pad_to)
    tree = GADGETS[gadget](subgame, player, ranges, promises)
    average, gap, _ = solve(tree, ranges[player], 300)
    tables = tables_of(subgames.tree, profile)
    tables[player] = subgame.back(player, average[player], tables[player])
    after = game.responses(profile_of(subgames.tree, tables), opponent)
    found = at_roots(game, subgames, opponent, subgame.roots[opponent], after)
    excess, allowed = found - promises[: len(found)], gap
    if gadget == "cfr-d":
      assert np.maximum(excess, 0).sum() <= gap + 1e-9
    else:  # whose unit is a visit
      allowed = gap * subgame.prior.weight(opponent, ranges[player])[: len(found)]
    assert (excess <= allowed + 1e-9).all()
    start = game.known[0][opponent]
    assert after[start] <= before[start] + gap + 1e-9
    assert gap < 0.02 * max(game.utility) * (1 if gadget == "cfr-d" else len(states))


SMALL = ["kuhn_poker", RIVER, PENNIES, "3", "11"]


@pytest.mark.parametrize("name", SMALL)
def test_margin_is_the_linear_programs(name):
  """At every public state; for promises that can be kept, and for such as cannot."""
  game, subgames = load(name)
  profile = game.random(3)
  rng = np.random.default_rng(0)
  for player in (0, 1):
    groups = [[s] for level in levels(subgames, player) for s in level]
    pad_to = common_shape(subgames, groups)
    for states in groups[:: max(len(groups) // 3, 1)]:
      subgame, ranges, promises = prepare(name, profile, states, player, pad_to)
      theirs = subgame.roots[1 - player]
      known = [s for row in known_at(game, subgames, 1 - player, theirs) for s in row]
      roots = [h for h in range(game.size) if game.known[h][1 - player] in known]
      for noise in (0.0, 1.0):
        count = len(theirs.knowledge)
        promises[:count] += noise * rng.normal(size=promises[:count].shape) * np.abs(promises).mean()
        named = {s: v for s, v in zip(known, promises[:count].ravel(), strict=True) if s is not None}
        margin, kept = resolving_programs(game, roots, player, profile, named)
        real = np.array([s is not None for s in known])
        for gadget, expected in ((max_margin, -margin), (cfr_d, kept)):
          tree = gadget(subgame, player, ranges, promises)
          _, gap, best = solve(tree, ranges[player], 2000)
          if gadget is cfr_d:
            best -= (
              promises[:count].ravel()[~real].sum()
            )  # types that cannot be here take what they are given
          assert gap < 2e-3 * max(game.utility)
          assert expected - 1e-7 <= best <= expected + gap + 1e-7
        if not noise:
          assert margin >= -1e-7
          assert kept == pytest.approx(sum(named.values()), abs=1e-7)


@pytest.mark.parametrize("kinds", [(cfr_d, refined_cfr_d), (max_margin, refined_max_margin)])
@pytest.mark.parametrize("name", ["kuhn_poker", SKEWED])
def test_a_gadget_refined_by_no_tremble_is_the_gadget(name, kinds, monkeypatch):
  """The choice beside the decisions is the choice above them: the player learns the same strategies."""
  monkeypatch.setattr(gadgets, "TREMBLE", 0.0)
  states = levels(load(name)[1], 1)[0]
  subgame, ranges, promises = prepare(name, load(name)[0].random(3), states, 1)
  first, second = (solve(gadget(subgame, 1, ranges, promises), ranges[1], 20)[0][1] for gadget in kinds)
  for a, b in zip(first, second, strict=True):
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["kuhn_poker", SKEWED, "3"])
def test_refined_gadgets_solve_the_linear_programs(name):
  """With exact values under the player's new strategy, from promises that are slack or cannot be kept."""
  game, subgames = load(name)
  profile = game.random(3)
  for player in (0, 1):
    group = levels(subgames, player)[-1][:1]
    for noise in (0.5, -0.1):
      subgame, ranges, promises = prepare(name, profile, group, player)
      promises += noise * np.abs(promises).mean()
      theirs = subgame.roots[1 - player]
      known = [s for row in known_at(game, subgames, 1 - player, theirs) for s in row]
      places = [(k, s) for k, s in enumerate(known) if s is not None]
      roots = [h for h in range(game.size) if game.known[h][1 - player] in known]
      weight = subgame.prior.weight(1 - player, ranges[player]).ravel()
      named = {s: promises.ravel()[k] for k, s in places}
      margin = {s: gadgets.TREMBLE / weight.sum() for _, s in places}
      sums = {s: gadgets.TREMBLE / (weight > 0).sum() for _, s in places}
      expected = resolving_programs(game, roots, player, profile, named, (margin, sums))
      for gadget, least in ((refined_max_margin, -expected[0]), (refined_cfr_d, expected[1])):
        tree = gadget(subgame, player, ranges, promises)
        tables = tables_of(subgames.tree, profile)
        tables[player] = subgame.back(player, solve(tree, ranges[player], 3000)[0][player], tables[player])
        value = game.responses(profile_of(subgames.tree, tables), 1 - player)
        if gadget is refined_cfr_d:
          found = sum(max(value[s], p) + sums[s] * value[s] for s, p in named.items())
        else:
          excess = [(value[s] - named[s]) / weight[k] for k, s in places if weight[k] > 0]
          found = max(excess) + sum(margin[s] * value[s] for _, s in places)
        assert least - 1e-9 <= found <= least + 2e-3 * max(game.utility)


def test_a_refined_gadget_answers_where_promises_are_slack():
  """Kuhn poker after a pass, worth 1/18 to the other player: bluffs and calls of a third are best."""
  game, subgames = load("kuhn_poker")
  profile = blueprint("kuhn_poker", "uniform")
  (passed,) = (s for s in levels(subgames, 1)[0] if subgames.labels.source.history(s)[-1] == 0)
  subgame, ranges, promises = prepare("kuhn_poker", profile, [passed], 1)
  tables = tables_of(subgames.tree, profile)
  tree = refined_cfr_d(subgame, 1, ranges, promises + 5)
  tables[1] = subgame.back(1, solve(tree, ranges[1], 500)[0][1], tables[1])
  values = game.responses(profile_of(subgames.tree, tables), 0)
  known = {s for row in known_at(game, subgames, 0, subgame.roots[0]) for s in row}
  assert sum(values[s] for s in known) == pytest.approx(-1 / 18, abs=2e-3)


@pytest.mark.parametrize("gadget", [refined_cfr_d, refined_max_margin])
def test_trembles_sum_up_to_the_same_in_each_of_many_public_states(gadget):
  _, subgames = load("kuhn_poker")
  states = levels(subgames, 1)[0]
  assert len(states) == 2
  subgame, ranges, promises = prepare("kuhn_poker", blueprint("kuhn_poker", "uniform"), states, 1)
  tremble = gadget(subgame, 1, ranges, promises).tree.leaves.tremble
  for s in states:
    assert tremble[: len(subgame.roots[0].public)][subgame.roots[0].public == s].sum() == pytest.approx(
      gadgets.TREMBLE
    )


def test_in_an_expected_gadget_the_opponent_comes_by_the_range_too():
  """In shares of `EXPECTED`; in max-margin by chance and the player's range too, since it counts visits."""
  _, subgames = load("kuhn_poker")
  (passed,) = (s for s in levels(subgames, 1)[0] if subgames.labels.source.history(s)[-1] == 0)
  subgame, (_, own), promises = prepare("kuhn_poker", blueprint("kuhn_poker", "uniform"), [passed], 1)
  expectation = np.arange(1.0, own.size + 1).reshape(own.shape)
  for gadget, weight in ((expected_cfr_d, 1), (expected_max_margin, subgame.prior.weight(0, own))):
    made = gadget(subgame, 1, (expectation, own), promises)
    shares = expectation * weight  # of one public state
    np.testing.assert_allclose(made.tree.leaves.tremble, gadgets.EXPECTED * shares / shares.sum())


@pytest.mark.parametrize("gadget", GADGETS)
@pytest.mark.parametrize("name", ["kuhn_poker", RIVER])
def test_the_blocks_of_a_gadget_come_before_those_of_the_subgame(name, gadget):
  """If the gadget's rows lead on for certain, random play of the others reaches the same leaves alike."""
  _, subgames = load(name)
  subgame, ranges, promises = prepare(name, blueprint(name, "uniform"), levels(subgames, 1)[-1][:1], 1)
  game, rng = GADGETS[gadget](subgame, 1, ranges, promises), np.random.default_rng(0)
  for player, forest in enumerate(game.tree.players):
    blocks = [np.ones(shape) for shape in forest.block_shapes]
    for block in blocks[game.tree.players[player].added :]:
      block[:] = rng.random(block.shape)
    inside, alone = game.inside(subgame, player, blocks), subgame.tree.players[player]
    assert [block.shape for block in inside] == list(alone.block_shapes)
    reached = [np.ravel(x) for x in forest.leaf.pull(sequence_reach(forest, blocks))]
    expected = [np.ravel(x) for x in alone.leaf.pull(sequence_reach(alone, inside))]
    assert np.concatenate(reached[: len(expected)]) == pytest.approx(np.concatenate(expected))


@pytest.mark.parametrize(("name", "gadget"), [("kuhn_poker", "unsafe"), (RIVER, "cfr-d"), (CHASE, "cfr-d")])
def test_many_roots_at_once(name, gadget):
  """One run for all public states of a level plays as if each had been solved alone, in any shape."""
  game, subgames = load(name)
  profile = game.random(5)
  for player in (0, 1):
    states = levels(subgames, player)[-1][:3]
    before = tables_of(subgames.tree, profile)[player]
    found = {True: before, False: before}  # together, alone
    shape = rounded(common_shape(subgames, [[s] for s in states])(None))
    for group, together in ((states, True), *(([s], False) for s in states)):
      pad_to = None if together else lambda own, shape=shape: shape
      subgame, ranges, promises = prepare(name, profile, group, player, pad_to)
      average = solve(GADGETS[gadget](subgame, player, ranges, promises), ranges[player], 20)[0]
      found[together] = subgame.back(player, average[player], found[together])
    for a, b in zip(found[True], found[False], strict=True):
      np.testing.assert_allclose(a, b, rtol=0, atol=1e-7)


@pytest.mark.parametrize("name", [RIVER, CHASE])
def test_margins_of_many_roots_at_once(name):
  """They add up: padding is a choice in the max-margin gadget, but one that nobody makes."""
  game, subgames = load(name)
  profile = game.random(5)
  for player in (0, 1):
    states = levels(subgames, player)[-1][:3]
    shape = rounded(common_shape(subgames, [[s] for s in states])(None))
    found = []
    for group in (states, *([s] for s in states)):
      pad_to = None if group is states else lambda own, shape=shape: shape
      subgame, ranges, promises = prepare(name, profile, group, player, pad_to)
      found.append(solve(max_margin(subgame, player, ranges, promises), ranges[player], 1000)[1:])
    gaps, best = np.array(found).T
    assert gaps.max() < 0.01 * max(game.utility)
    assert abs(best[0] - best[1:].sum()) <= gaps.sum() + 1e-9


@pytest.mark.parametrize("gadget", [cfr_d, max_margin])
def test_only_proportions_count(gadget):
  """Twice the player's range and twice the promises: the same game; the opponent's range is not asked for."""
  subgame, ranges, promises = prepare("kuhn_poker", load("kuhn_poker")[0].random(5), [2], 0)
  plain, _, best = solve(gadget(subgame, 0, ranges, promises), ranges[0], 30)
  twice = gadget(subgame, 0, (ranges[0] * 2, np.full_like(ranges[1], np.nan)), promises * 2)
  average, _, other = solve(twice, ranges[0] * 2, 30)
  for a, b in zip(plain[0], average[0], strict=True):
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-9)
  assert other == pytest.approx(best * (2 if gadget is cfr_d else 1))


def test_unsafe_solving_takes_any_answer_to_rock_paper_scissors():
  """Schmid 2021, Section 20.1: against an optimal range all is equally good, and yet exploitable."""
  game, subgames = load(ROCK)
  profile = blueprint(ROCK, "uniform")
  (states,) = levels(subgames, 1)
  subgame, ranges, promises = prepare(ROCK, profile, states, 1)
  np.testing.assert_allclose(ranges[0], 1 / 3)
  np.testing.assert_allclose(promises, 0, atol=1e-12)
  for rock in np.eye(3):
    tables = tables_of(subgames.tree, profile)
    tables[1] = subgame.back(1, [rock[:, None, None]], tables[1])
    opponent = values_at_roots(subgame, tables, ranges, best=True)[0]
    assert sorted(opponent.ravel()) == [-1, 0, 1]
    assert (opponent * ranges[0]).sum() == pytest.approx(0)  # nothing is lost, it seems
    assert game.exploitability(profile_of(subgames.tree, tables)) == pytest.approx(0.5)
  for gadget in (cfr_d, max_margin):
    average, _, _ = solve(gadget(subgame, 1, ranges, promises), ranges[1], 500)
    tables[1] = subgame.back(1, average[1], tables[1])
    assert game.exploitability(profile_of(subgames.tree, tables)) < 1e-3


@pytest.mark.parametrize("gadget", [cfr_d, max_margin])
def test_gadgets_coordinate_pennies(gadget):
  """Schmid 2021, Section 19.4: one equilibrium here, another there is exploitable; promises coordinate."""
  game, subgames = load(PENNIES)
  ((first, second),) = levels(subgames, 1)
  keys = [key for key in blueprint(PENNIES, "uniform") if key[0] == 1]

  def profile(p, q):
    rows = {key: {0: x, 1: 1 - x} for key, x in zip(keys, (p, q), strict=True)}
    return {**blueprint(PENNIES, "uniform"), **rows}

  same = game.exploitability(profile(1, 1)) < game.exploitability(profile(1, 0))  # how to coordinate
  for p in (0.0, 0.3, 0.8):
    equilibrium = profile(p, p if same else 1 - p)
    assert game.exploitability(equilibrium) == pytest.approx(0, abs=1e-12)
    assert game.exploitability(profile(p, 1 - p if same else p)) == pytest.approx(abs(p - 0.5))
    tables = tables_of(subgames.tree, equilibrium)
    for s in (first, second):  # each alone, of its own promises only
      subgame, ranges, promises = prepare(PENNIES, equilibrium, [s], 1)
      average, _, _ = solve(gadget(subgame, 1, ranges, promises), ranges[1], 2000)
      tables[1] = subgame.back(1, average[1], tables[1])
    assert game.exploitability(profile_of(subgames.tree, tables)) < 1e-3


def bad_range(value):
  return lambda good: np.where(np.arange(good.size).reshape(good.shape) == 1, value, good)


@pytest.mark.parametrize("gadget", GADGETS)
@pytest.mark.parametrize(
  "spoil, message",
  [
    (bad_range(-0.1), "The range of player 0 must be .*, not negative and not all zero; got -0.1 to "),
    (bad_range(np.nan), "The range of player 0 must be finite, got nan"),
    (bad_range(np.inf), "The range of player 0 must be finite, got inf"),
    (np.zeros_like, "The range of player 0 must be .* not all zero; got 0.0 to 0.0"),
    (
      lambda good: good[:, :2],
      r"must have the shape \(1, 3\) \(infostates at the roots, types\), got \(1, 2\)",
    ),
    (lambda good: good[0], r"must have the shape \(1, 3\) .*, got \(3,\)"),
    (lambda good: None, r"must have the shape \(1, 3\) .*, got \(0,\)"),
  ],
)
def test_bad_ranges(gadget, spoil, message):
  subgame, ranges, promises = prepare("kuhn_poker", blueprint("kuhn_poker", "uniform"), [2], 0)
  with pytest.raises(ValueError, match=message):
    GADGETS[gadget](subgame, 0, (spoil(ranges[0]), ranges[1]), promises)


@pytest.mark.parametrize("gadget", [cfr_d, max_margin])
@pytest.mark.parametrize(
  "promises, message",
  [
    (np.zeros((1, 4)), r"The promised values of player 1 must have the shape \(1, 3\) .*, got \(1, 4\)"),
    (None, r"The promised values of player 1 must have the shape \(1, 3\) .*, got \(0,\)"),
    (np.full((1, 3), np.nan), "The promised values of player 1 must be finite, got nan"),
    (np.full((1, 3), -np.inf), "The promised values of player 1 must be finite, got -inf"),
  ],
)
def test_bad_promises(gadget, promises, message):
  subgame, ranges, _ = prepare("kuhn_poker", blueprint("kuhn_poker", "uniform"), [2], 0)
  with pytest.raises(ValueError, match=message):
    gadget(subgame, 0, ranges, promises)


def test_a_frontier_needs_values():
  _, subgames = load("kuhn_poker")
  subgame = subgames.cut([2], levels(subgames, 0)[1])
  with pytest.raises(ValueError, match="with a frontier needs a value function; pass one"):
    unsafe(subgame, 0, (np.ones((1, 3)), np.ones((1, 3))))


def test_an_impossible_infostate_costs_more_than_any_possible_one_can():
  """Even one where the most is promised and the most is lost: the chooser always prefers that."""
  game, subgames = load("kuhn_poker")
  states = levels(subgames, 0)[-1][:1]
  subgame, ranges, promises = prepare("kuhn_poker", blueprint("kuhn_poker", "uniform"), states, 0)
  first = np.zeros(ranges[0].shape)
  first.flat[0] = 1  # one card for certain, so that the opponent does not have it
  possible = subgame.prior.weight(1, first) > 0
  leaves = max_margin(subgame, 0, (first, ranges[1]), np.abs(promises) + 1).tree.leaves
  fee = leaves.terminate.reshape(possible.shape)
  assert (~possible).any() and (fee[possible] < 0).all()
  assert fee[~possible].max() < fee[possible].min() - max(game.utility) - 0.1


@pytest.mark.parametrize("gadget", ["unsafe", "cfr-d", "max-margin"])
@pytest.mark.parametrize("player", [0, 1])
def test_values_at_the_frontier_are_asked_and_kept_by_ranges(gadget, player):
  """A player's range there is the range at the root times reach; what is kept has the units of the values."""
  _, subgames = load("kuhn_poker")
  root = levels(subgames, player)[0] if player == 0 else levels(subgames, 1)[0][:1]
  last = [s for own in (0, 1) for s in levels(subgames, own)[-1] if s not in root]
  below = sorted(s for found in subgames.reached(root, last).values() for s in found)
  subgame, rng = subgames.cut(root, below), np.random.default_rng(player)
  types = [forest.types for forest in subgame.tree.players]
  ranges = tuple(rng.random((n, h)) for n, h in zip(subgame.shape.roots, types, strict=True))
  promises = rng.random((subgame.shape.roots[1 - player], types[1 - player]))
  frozen = tuple(rng.normal(size=(n, h)) for n, h in zip(subgame.shape.frontier, types, strict=True))
  asked, kept = (
    GADGETS[gadget](subgame, player, ranges, promises, values).tree
    for values in (EchoedRanges(), FrozenValues(frozen))
  )
  place = -1 if gadget == "unsafe" else -2  # the gadget's own leaves come last
  for i in (0, 1):
    shapes = [[(n, forest.types) for n in forest.leaf.children] for forest in asked.players]
    own, opponent = ([rng.random(shape) for shape in shapes[j]] for j in (i, 1 - i))
    at = subgame.leaf_roots[i][-1]
    if i == player or gadget == "unsafe":
      np.testing.assert_allclose(asked.leaves(i, opponent, own)[place], own[place] * ranges[i][at])
    (record,) = kept.leaves.recorded(i, kept.leaves(i, opponent, own))
    np.testing.assert_allclose(record, frozen[i])


def test_rounding_brings_no_infostate_to_life():
  """In max-margin an infostate that only a rounding error of the range can visit counts as never visited."""
  _, subgames = load("kuhn_poker")
  states = levels(subgames, 0)[-1][:1]
  subgame, ranges, promises = prepare("kuhn_poker", blueprint("kuhn_poker", "uniform"), states, 0)
  first = np.zeros(ranges[0].shape)
  first.flat[0] = 1  # one card for certain, so that the opponent does not have it
  exact, rough = (first, ranges[1]), (np.maximum(first, 1e-17), ranges[1])
  gadgets = [max_margin(subgame, 0, range_, promises).tree.leaves for range_ in (exact, rough)]
  visits = [subgame.prior.weight(1, range_) for range_, _ in (exact, rough)]
  assert ((visits[0] == 0) & (visits[1] > 0)).any() and visits[0].any()
  for a, b in zip(*([leaves.terminate, *leaves.scale] for leaves in gadgets), strict=True):
    np.testing.assert_allclose(a, b, rtol=1e-12)
