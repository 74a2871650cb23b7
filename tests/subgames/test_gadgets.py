"""Gadgets: what the opponent is promised is kept, and the margin is the linear program's."""

import functools

import numpy as np
import pyspiel
import pytest
from cuts import TURN, at_roots, common_shape, known_at, levels, ranges_at, reaches, rounded, values_at_roots
from random_games import random_game
from reference_subgames import Game, profile_of, resolving_programs, tables_of

from ps_cfr_spiel import build_tree, cfr
from ps_cfr_spiel.device import jit, precision, to_device
from ps_cfr_spiel.rules import RMPlus
from ps_cfr_spiel.subgames import GADGETS, Subgames, cfr_d, max_margin, unsafe
from ps_cfr_spiel.subgames.ranged_leaves import GadgetLeaves
from ps_cfr_spiel.tree import best_response_values, sequence_reach

RIVER = "river_subgame(board=KhKd8c4s2h,stack=500,ranges=AsAd QsQd:0.5 7c6c;JsJd Ah8h 5c4c:3)"
CHASE = "glasses(edges=0-1 1-2 2-3 3-4 4-5 5-0 0-3,start=4:1,turns=4)"
DICE = "liars_dice(dice_sides=3)"
GAMES = ["kuhn_poker", "leduc_poker", DICE, "glasses", CHASE, RIVER, TURN]
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


def judge(tree, strategies, range_):
  """How far from equilibrium both players are in a gadget, NashConv, and the best response of who chooses.

  What the chooser gets for not playing on is none of the other player's values, but counts. Values of the
  other player's roots do not know how often that player comes there, by `range_`.
  """
  chooser = tree.leaves.chooser
  best = [best_response_values(tree, i, strategies[1 - i])[1] for i in (0, 1)]
  forest = tree.players[chooser]
  left = forest.leaf.pull(sequence_reach(forest, strategies[chooser]))[-1]
  other = (best[1 - chooser] * range_).sum() - (left * tree.leaves.terminate).sum()
  return best[chooser].sum() + other, best[chooser].sum()


@jit()
def _solve(tree, range_, iterations):
  state = cfr.iterate(tree, cfr.init(tree, RMPlus(), "float64"), iterations, rule=RMPlus())
  average = cfr.average_strategy(tree, state)
  return average, judge(tree, average, range_) if isinstance(tree.leaves, GadgetLeaves) else (0, 0)


def solve(tree, range_, iterations):
  """Both players' average strategies in a gadget, as host arrays, and what `judge` says of them."""
  with precision("float64"):
    average, found = _solve(*to_device((tree, range_), "float64"), iterations)
    return [[np.asarray(block) for block in blocks] for blocks in average], *map(float, found)


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
  # Each game with each gadget: for player 0 with the one, for player 1 with the other.
  "name, player, gadget",
  [
    (name, (k + n) % 2, gadget)
    for k, name in enumerate(GAMES)
    for n, gadget in enumerate(("cfr-d", "max-margin"))
  ],
)
def test_promises_are_kept_at_every_public_state(name, player, gadget):
  """All public states of one own level at once, from a good and from a weak strategy.

  The law, after any number of iterations: the opponent has no more above the promises than the gadget's
  NashConv, because the promises can be kept. So the new strategy is no more exploitable than the old one.
  """
  game, subgames = load(name)
  opponent = 1 - player
  # Max-margin compiles anew at each level anyway: so many infostates to choose from.
  pad_to = common_shape(subgames, levels(subgames, player)) if gadget == "cfr-d" else None
  for quality in ("equilibrium", "uniform"):
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


SMALL = ["kuhn_poker", RIVER, SKEWED, PENNIES, "3", "6", "11"]


@pytest.mark.parametrize("name", SMALL)
def test_margin_is_the_linear_programs(name):
  """At every public state; for promises that can be kept, and for such as cannot."""
  game, subgames = load(name)
  profile = game.random(3)
  rng = np.random.default_rng(0)
  for player in (0, 1):
    groups = [[s] for level in levels(subgames, player) for s in level]
    pad_to = common_shape(subgames, groups)
    for states in groups[:: max(len(groups) // 4, 1)]:
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


@pytest.mark.parametrize("gadget", ["unsafe", "cfr-d"])
@pytest.mark.parametrize("name", ["kuhn_poker", RIVER, CHASE])
def test_many_roots_at_once(name, gadget):
  """One run for all public states of a level plays as if each had been solved alone, in any shape."""
  game, subgames = load(name)
  profile = game.random(5)
  for player in (0, 1):
    states = levels(subgames, player)[-1][:6]
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


@pytest.mark.parametrize("name", ["kuhn_poker", RIVER, CHASE])
def test_margins_of_many_roots_at_once(name):
  """They add up: padding is a choice in the max-margin gadget, but one that nobody makes."""
  game, subgames = load(name)
  profile = game.random(5)
  for player in (0, 1):
    states = levels(subgames, player)[-1][:6]
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
  twice = gadget(subgame, 0, (ranges[0] * 2, None), promises * 2)
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


def test_rounding_brings_no_infostate_to_life():
  """In max-margin an infostate that only a rounding error of the range can visit counts as never visited."""
  _, subgames = load("kuhn_poker")
  states = levels(subgames, 0)[-1][:1]
  subgame, ranges, promises = prepare("kuhn_poker", blueprint("kuhn_poker", "uniform"), states, 0)
  first = np.zeros(ranges[0].shape)
  first.flat[0] = 1  # one card for certain, so that the opponent does not have it
  exact, rough = (first, ranges[1]), (np.maximum(first, 1e-17), ranges[1])
  gadgets = [max_margin(subgame, 0, range_, promises).leaves for range_ in (exact, rough)]
  visits = [subgame.prior.weight(1, range_) for range_, _ in (exact, rough)]
  assert ((visits[0] == 0) & (visits[1] > 0)).any() and visits[0].any()
  for a, b in zip(*([leaves.terminate, *leaves.scale] for leaves in gadgets), strict=True):
    np.testing.assert_allclose(a, b, rtol=1e-12)
