"""The turn in one native pass (`learn.cc`) against XLA's: the same numbers from any tables."""

import dataclasses
import functools
import itertools
from typing import Any

import jax
import numpy as np
import pyspiel
import pytest
from random_games import random_game

from ps_cfr_spiel import cfr, tree
from ps_cfr_spiel.backend.device import precision, to_device
from ps_cfr_spiel.backend.native import why_unavailable
from ps_cfr_spiel.cfr import RULES, sixteen_bits
from ps_cfr_spiel.compilation.compiler import build_tree, fold_suits

pytestmark = pytest.mark.skipif(bool(why_unavailable()), reason="no native library")
RIVER = "river_subgame(pot=10,stack=20,bets=1 a,ranges=AA KK QJs;QQ AKs T9s)"
TURN = "holdem_subgame(board=9s7c5s4h,pot=10,stack=20,bets=1 a,ranges=AA KK QJs;QQ AKs T9s)"
SMALL_DECK = (
  "holdem_subgame(deck=5x2,board=2c3c4d5d,pot=10,stack=900,bets=1;x)"  # two streets without all-ins
)
SIMULTANEOUS = "turn_based_simultaneous_game(game=goofspiel(imp_info=True,num_cards=3))"
BOUNDS = {"float64": 1e-12, "float32": 1e-5}
FEW = ["rm", "dcfr", "pdcfr+", "nrm+"]


@functools.cache  # a class anew would compile anew
def by_xla(rule):
  """The rule as one of a user's own, which the native library does not know."""
  kind: Any = type("Own", (type(rule),), {})
  return kind(**dataclasses.asdict(rule))


def compiled(name, leaves="auto"):
  game = random_game(int(name)) if name.isdecimal() else pyspiel.load_game(name)
  return fold_suits(build_tree(game, leaves=leaves)).tree


def drawn(start, scale, generator):
  """A state in the middle of a run, with regrets of a scale, 1 or more.

  Rounding errors of values have the size of utilities, and a rule divides by the sum of positive regrets. So
  no past regret is far smaller than utilities, and that of the first action is positive, as is n of NRM+: if
  regrets cancelled, rounding alone would decide the strategy. For the same reason one iteration is compared:
  after it regrets are zero where a rule cuts them off, and actions with the same value leave rounding errors.
  A single action never has a regret, so what a rule keeps of it is what it starts with.
  """

  def number(x, sign):
    return ((sign * scale) * (0.1 + generator.exponential(size=x.shape))).astype(x.dtype)

  def signed(x):
    sign = generator.choice([-1, 1], x.shape)
    sign[0] = 1
    return number(x, sign)

  def ruled(own):
    if not isinstance(own, tuple):
      return signed(own)
    if len(own) == 3:  # of APCFR+: regrets, the last one, roots of sums of squares
      return signed(own[0]), signed(own[1]), np.abs(signed(own[2]))
    z, second = signed(own[0]) / own[0].dtype.type(scale), signed(own[1])  # normalised regrets have no scale
    if len(second) == 3:  # of NRM+: n, the total of its weights, agreement
      second[1:] = generator.uniform(0.1, 1, second[1:].shape)
    return z, second

  def player(own):
    weights = [
      generator.exponential(size=p.shape) * generator.integers(0, 2, p.shape) * (len(p) > 1)
      for p in own.strategy
    ]
    return own._replace(
      strategy=tuple(cfr.normalise(w).astype(p.dtype) for w, p in zip(weights, own.strategy, strict=True)),
      average=jax.tree.map(lambda x: number(x, generator.choice([-1, 0, 1], x.shape)), own.average),
      rule=tuple(ruled(kept) if len(p) > 1 else kept for p, kept in zip(own.strategy, own.rule, strict=True)),
    )

  return start._replace(players=tuple(map(player, start.players)), iteration=np.int32(7))


def turns(made, state, rule, dtype, alternating, iterations=1, tremble=0.0):
  """The states that the native library and XLA make of one, as arrays."""
  state = to_device(state, dtype)
  for each in (rule, by_xla(rule)):
    after = cfr.run(made, state, iterations, 1, rule=each, alternating=alternating, tremble=tremble)
    yield [np.asarray(x) for x in jax.tree.leaves(after)]


def check_one_pass(game, rules, alternating, dtype, scales=(1.0, 1e6), tremble=0.0):
  with precision(dtype):
    made = to_device(compiled(game), dtype)
    for name in rules:
      rule, generator = cfr.make_rule(name), np.random.default_rng(0)
      start = jax.tree.map(np.asarray, cfr.init(made, rule, dtype))
      for scale in scales:
        state = drawn(start, scale, generator)
        for ours, theirs in zip(*turns(made, state, rule, dtype, alternating, tremble=tremble), strict=True):
          assert np.isfinite(theirs).all()
          size = np.abs(theirs).max(initial=0)
          np.testing.assert_allclose(ours, theirs, rtol=BOUNDS[dtype], atol=BOUNDS[dtype] * size)


@pytest.mark.parametrize(
  ("rule", "alternating", "tremble"), [("dcfr", False, 0), ("nrm+", True, 0), ("nrm+", False, 0.8)]
)
def test_one_pass_of_each_kind_of_rule_in_a_small_game(rule, alternating, tremble):
  check_one_pass("kuhn_poker", [rule], alternating, "float64", [1.0], tremble)


@pytest.mark.parametrize(
  ("game", "rules", "alternating", "dtype", "tremble"),
  [
    ("kuhn_poker", RULES, True, "float64", 1),
    ("leduc_poker", FEW[:2], True, "float32", 0),
    ("leduc_poker", FEW[3:], False, "float32", 0.7),
    ("3", FEW[2:3], False, "float64", 4),
    ("8", FEW[:1], False, "float32", 0),
    (RIVER, FEW[1:2], False, "float64", 1),
    (TURN, FEW[2:3], False, "float32", 0),
    (TURN, ["nrm+"], True, "float64", 1),
  ],
  ids=["kuhn", "leduc", "leduc trembles", "random 3", "random 8", "river", "turn", "turn trembles"],
)
def test_one_pass_is_xlas_turn(game, rules, alternating, dtype, tremble):
  check_one_pass(game, rules, alternating, dtype, tremble=tremble)


def large(rows, leaves, types, generator):
  """A tree with `rows` of each player, half of which come after random choices in the others.

  Without types there are many leaves below each of a few sequences, in 8 groups, and they pay -1, 0 or 1.
  """
  half, forests = rows // 2, []
  places = generator.choice(2 * rows, 1200 if types == 1 else 2 * rows, replace=False)
  each = len(places) // (8 if types == 1 else 1)
  group, pairs = np.divmod(generator.choice(len(places) * each, leaves, replace=False), each**2)
  for choice in places[group * each + np.stack(np.divmod(pairs, each))]:
    first = np.stack([np.full(half, -1), np.full(half, -1)], 1)
    then = np.stack([generator.integers(0, half, half), generator.integers(0, 2, half)], 1)
    last = np.stack(np.divmod(choice, 2), 1)
    parts = [last] if types == 1 else np.split(last, 2)
    forests.append(tree.make_forest(np.concatenate([first, then]), np.full(rows, 2), parts, types)[0])
  if types == 1:
    made = tree.SparseLeaves(generator.integers(-1, 2, (leaves, 1)).astype(float))
  else:
    made = tree.DenseLeaves(
      *generator.normal(size=(2, types, types)), *generator.normal(size=(2, leaves // 2))
    )
  if types == 5:  # on boards, though there is only one
    made = tree.BoardLeaves.create([[made]], [(leaves // 2, leaves // 2)])
  return tree.PublicTree(tuple(forests), made)


@pytest.mark.parametrize(
  ("rows", "types", "dtype", "alternating", "places"),
  [
    (20_000, 1, "float64", True, 2**16),
    (20_000, 1, "float32", False, 0),
    (20_000, 5, "float64", True, 0),
    (20_000, 30, "float64", False, 0),
    (8_000, 80, "float64", True, 0),
  ],
)
def test_threads_share_a_large_game(rows, types, dtype, alternating, places, monkeypatch, on_cores):
  """A player has more than 2^20 numbers; with 1 and 5 types leaves are in the order of each player.

  With 30 types whole iterations are native, with 80 turns. Without types leaves are in groups, if those have
  few enough `places`.

  The number of threads changes no bit.
  """
  monkeypatch.setattr(tree.player_passes, "MANY", 50_000)
  monkeypatch.setattr(tree.player_passes, "GROUP", 290)
  monkeypatch.setattr(tree.player_passes, "MOST_PLACES", places)
  generator = np.random.default_rng(1)
  made = tree.ordered(large(rows, 5 * rows // 2, types, generator))
  assert (made.leaves.orders != (None, None)) == (types in (1, 5))
  if types == 1:
    counts = [0 if order.groups is None else len(order.groups.begin) - 1 for order in made.leaves.orders]
    assert counts == [4 if places else 0] * 2
  assert tree.ordered(large(1_000, 30, types, generator)).leaves.orders == (None, None)
  with precision(dtype):
    made = to_device(made, dtype)
    for name in ("nrm+", "dcfr") if types == 1 else ("nrm+",):
      rule = cfr.make_rule(name)
      state = drawn(jax.tree.map(np.asarray, cfr.init(made, rule, dtype)), 1.0, generator)
      case = made, state, rule, dtype, alternating, 1, 1.0 * alternating
      on_cores(1)
      alone = next(turns(*case))
      on_cores(2)
      for ours, theirs, same in zip(*turns(*case), alone, strict=True):
        bound, size = 100 * BOUNDS[dtype], np.abs(theirs).max(initial=0)  # of a million sums some cancel
        np.testing.assert_allclose(ours, theirs, rtol=bound, atol=bound * size)
        np.testing.assert_array_equal(ours, same)


@pytest.mark.parametrize(
  ("game", "alternating"),
  [("kuhn_poker", True), ("3", False), (TURN, True)],
  ids=["kuhn", "random 3", "turn"],
)
def test_tables_in_16_bits_are_xlas(game, alternating):
  """A rounding error of float32 may move a number by a step of 16 bits, where it is at the edge of two."""
  rule, generator = cfr.make_rule("nrm+"), np.random.default_rng(3)

  def narrow(own):
    shares = [np.sort(generator.integers(0, 65521, x[1:].shape, np.uint16), axis=0) for x in own.strategy]
    return own.compressed(rule, 16)._replace(average=tuple(map(sixteen_bits.Shares, shares)))

  with precision("float32"):
    made = to_device(compiled(game), "float32")
    state = drawn(jax.tree.map(np.asarray, cfr.init(made, rule, "float32")), 1.0, generator)
    state = state._replace(players=tuple(map(narrow, state.players)))
    found = turns(made, state, rule, "float32", alternating, tremble=1.0 * game.isdecimal())
    for ours, theirs in zip(*found, strict=True):
      assert ours.dtype == theirs.dtype
      if ours.dtype.kind in "iu" and ours.ndim:
        assert np.mean(ours != theirs) < 0.05
      else:
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5 * np.abs(theirs).max(initial=0))


@pytest.mark.parametrize(
  ("game", "alternating", "name"),
  [("kuhn_poker", k % 2 == 0, name) for k, name in enumerate(FEW)]
  + [(game, k % 2 == 1, "nrm+") for k, game in enumerate(["leduc_poker", SIMULTANEOUS, "3", "kuhn_poker"])]
  + [
    ("liars_dice(numdice=2,dice_sides=3)", True, "dcfr"),
    (SMALL_DECK, False, "nrm+"),
    (RIVER, True, "dcfr"),
  ],
)
def test_many_iterations_in_one_call_are_xlas(game, alternating, name):
  """Iteration 7 and later ones, past the ends of three blocks; one type, and several that share matrices."""
  with precision("float64"):
    made, rule = (
      to_device(compiled(game, "dense" if game == RIVER else "auto"), "float64"),
      cfr.make_rule(name),
    )
    start = jax.tree.map(np.asarray, cfr.init(made, rule, "float64"))
    state = drawn(start, 1.0, np.random.default_rng(2))
    found = turns(made, state, rule, "float64", alternating, 28, 1.0 * (name == "nrm+"))
    for ours, theirs in zip(*found, strict=True):
      np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9 * np.abs(theirs).max(initial=0))


@pytest.mark.parametrize("game", ["kuhn_poker", RIVER])
def test_blocks_that_are_not_the_games_do_not_tremble(game):
  """A player's first block, as a gadget adds it: in whole iterations, and in turns."""
  with precision("float64"):
    made, rule = compiled(game), cfr.make_rule("nrm+")
    players = tuple(dataclasses.replace(own, added=1) for own in made.players)
    made = to_device(dataclasses.replace(made, players=players), "float64")
    state = drawn(jax.tree.map(np.asarray, cfr.init(made, rule, "float64")), 1.0, np.random.default_rng(4))
    for ours, theirs in zip(*turns(made, state, rule, "float64", True, 2, tremble=1), strict=True):
      np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9 * np.abs(theirs).max(initial=0))


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("number", [0.0, np.nan, np.inf, -np.inf])
def test_zeros_infinities_and_nan_are_xlas(name, number):
  """In each array of a rule in turn, in all places or in every third; a run then sees its loss."""
  rule = cfr.make_rule(name)
  with precision("float64"):
    made = to_device(compiled("kuhn_poker"), "float64")
    start = jax.tree.map(np.asarray, cfr.init(made, rule, "float64"))
    state = drawn(start, 1.0, np.random.default_rng(1))
    arrays, structure = jax.tree.flatten(state.players[0].rule)
    for place, every in itertools.product(range(len(arrays)), (1, 3)):
      changed = [x.copy() for x in arrays]
      changed[place].reshape(-1)[::every] = number
      own = state.players[0]._replace(rule=jax.tree.unflatten(structure, changed))
      given = state._replace(players=(own, state.players[1]))
      for ours, theirs in zip(*turns(made, given, rule, "float64", True), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
