"""The native leaf evaluator: equal to a double loop over hands and to the others; what happens without it.

Where it is not built its tests are skipped; `.ci/run` makes sure that it is built there.
"""

import concurrent.futures
import dataclasses
import types

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel
import pytest
from cuts import TINY, check_values, common_shape, decisions, subgames_of, values_of
from test_leaves import brute_force

from ps_cfr_spiel import PSCFRSolver, VRMCCFRSolver, build_tree, evaluate_policy, load_solver
from ps_cfr_spiel.backend.device import accelerator, on, precision, rehearsal, to_device
from ps_cfr_spiel.backend.native import library, why_unavailable
from ps_cfr_spiel.compilation.compiler import fastest_leaves
from ps_cfr_spiel.tree import DenseLeaves, NativeLeaves, ShowdownLeaves
from ps_cfr_spiel.tree.evaluators import showdown

MISSING = "it was not built"
needs_library = pytest.mark.skipif(why_unavailable() != "", reason=why_unavailable() or "it is there")
WIDE = "river_subgame(stack=500,ranges=22+ A2s+ K2s+ A2o+ K9o+;55+ A2s+ Q8s+ T8s+ A8o+)"


def random_form(rng, deck, hands, levels):
  """Types of a card game: `hands` numbers of hands from `deck` cards, of strengths below `levels`."""
  pairs = np.array([(c, d) for c in range(deck) for d in range(c)], np.int32)
  strength = rng.integers(0, levels, len(pairs)).astype(np.int32)
  chosen = [rng.permutation(len(pairs))[:n] for n in hands]
  return types.SimpleNamespace(
    types=tuple(tuple(map(str, pairs[c])) for c in chosen),
    weights=tuple(rng.random(len(c)) * (rng.random(len(c)) > 0.2) + 1e-3 for c in chosen),
    cards=tuple(7 + 3 * rng.permuted(pairs[c], axis=1) for c in chosen),  # of any numbers, in any order
    strength=tuple(strength[c] for c in chosen),
  )


def random_reach(rng, leaves, hands):
  """[leaves, hands] in [0, 1]: a third are zero, a third tiny, and one leaf is not reached at all."""
  reach = rng.random((leaves, hands)) * rng.choice([0, 1e-9, 1], (leaves, hands))
  reach[leaves // 2 : leaves // 2 + 1] = 0
  return reach


def close(found, expected, tolerance, least=1e-30):
  """Equal to rounding, which is relative to the largest value of a part, at least `least`."""
  for f, e in zip(found, expected, strict=True):
    np.testing.assert_allclose(f, e, rtol=0, atol=tolerance * max(np.abs(e).max(initial=0), least))


FORMS = {
  # deck, numbers of hands, strengths, leaves
  "one hand each": (9, (1, 1), 3, (2, 1)),
  "one hand against many": (9, (1, 36), 4, (5, 3)),
  "many against one": (9, (30, 1), 4, (1, 9)),
  "all hands tie": (8, (28, 28), 1, (4, 4)),
  "no ties": (10, (45, 45), 1000, (8, 4)),
  "few cards": (4, (6, 5), 3, (3, 3)),
  "three cards block all but nothing": (3, (3, 3), 2, (3, 3)),
  "unequal": (12, (50, 23), 9, (17, 12)),
  "no showdown": (10, (20, 30), 5, (0, 9)),
  "no fold": (10, (20, 30), 5, (9, 0)),
  "many leaves": (11, (55, 40), 12, (37, 70)),
}


def some_leaves(name):
  """A form, stakes and constants of its leaves, reaches of both players."""
  deck, hands, levels, leaves = FORMS[name]
  rng = np.random.default_rng(len(name))
  form = random_form(rng, deck, hands, levels)
  if name.startswith("three"):  # in a deck of three every two hands meet, so player 1 gets one more hand
    more = [np.array([[100, 101]]), np.array([1]), np.array([0.5])]
    form.cards = (form.cards[0], np.concatenate([form.cards[1], more[0]]))
    form.strength = (form.strength[0], np.concatenate([form.strength[1], more[1]]))
    form.weights = (form.weights[0], np.concatenate([form.weights[1], more[2]]))
    form.types = (form.types[0], (*form.types[1], "more"))
  showdown_payoff, fold_payoff = rng.normal(size=leaves[0]), rng.normal(size=leaves[1])
  reach = [[random_reach(rng, n, len(form.types[i])) for n in leaves] for i in (0, 1)]
  return form, showdown_payoff, fold_payoff, reach


@needs_library
@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("player", [0, 1])
def test_equals_brute_force_and_the_others(name, player):
  form, showdown_payoff, fold_payoff, reach = some_leaves(name)
  truth = brute_force(form, player, reach[1 - player], showdown_payoff, fold_payoff)
  everyone = [(kind, "float64", 1e-12) for kind in (NativeLeaves, DenseLeaves, ShowdownLeaves)]
  in_32_bits = [(kind, "float32", 2e-6) for kind in (NativeLeaves, ShowdownLeaves)]
  for kind, dtype, tolerance in (*everyone, *in_32_bits):
    with precision(dtype):
      leaves = to_device(kind.create(form, showdown_payoff, fold_payoff), dtype)
      values = values_of(leaves, player, to_device(reach[1 - player], dtype))
      assert all(v.dtype == dtype for v in values)
      # Running sums are differences: their rounding is relative to all reach, not to a value.
      close(values, truth, tolerance, 1 if kind is ShowdownLeaves else 1e-30)


@pytest.mark.parametrize("name", ["all hands tie", "unequal", "no showdown", "one hand each"])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-6)])
def test_products_of_halves_equal_brute_force(name, dtype, tolerance, monkeypatch):
  """Accelerators compute many leaves like this: in 16 bits twice, with a scale of its own in each row."""
  monkeypatch.setattr(showdown, "PAIRS", 1e9)
  form, showdown_payoff, fold_payoff, reach = some_leaves(name)
  scale = 10.0 ** -np.arange(30)
  for player in (0, 1):
    given = [part * np.resize(scale, (len(part), 1)) for part in reach[1 - player]]
    truth = brute_force(form, player, given, showdown_payoff, fold_payoff)
    with rehearsal("gpu"), precision(dtype, accelerator()):
      leaves = to_device(ShowdownLeaves.create(form, showdown_payoff, fold_payoff), dtype)
      values = jax.jit(lambda leaves, reach, player=player: leaves(player, reach))(
        leaves, to_device(given, dtype)
      )
    for part, exact, rows in zip(values, truth, given, strict=True):
      assert part.dtype == dtype
      row = np.resize(scale, (len(rows), 1))
      np.testing.assert_allclose(part / row, exact / row, rtol=0, atol=tolerance * rows.shape[1])


@pytest.mark.parametrize("scale", [1, 1e-10, 1e-33])
def test_two_halves_are_as_good_as_float32(scale):
  rng = np.random.default_rng(1)
  rows, signs = (
    (scale * rng.random((9, 300))).astype(np.float32),
    rng.integers(-1, 2, (300, 40)).astype(np.int8),
  )
  with precision("float32"):
    product = np.asarray(jax.jit(showdown.by_halves)(rows, signs), float)
  exact, sums = rows.astype(float) @ signs, rows.sum(1, dtype=float)[:, None]
  np.testing.assert_allclose(product / sums, exact / sums, rtol=0, atol=2e-7)


@needs_library
@pytest.mark.parametrize("hands", [(1081, 1081), (700, 90)])
def test_wide_ranges(hands):
  """Of a whole deck, where float32 has most to add up."""
  rng = np.random.default_rng(5)
  form = random_form(rng, 47, hands, 200)
  showdown_payoff, fold_payoff = rng.normal(size=19), rng.normal(size=18)
  for dtype, tolerance in (("float64", 1e-12), ("float32", 4e-6)):
    with precision(dtype):
      leaves = [
        to_device(kind.create(form, showdown_payoff, fold_payoff), dtype)
        for kind in (NativeLeaves, ShowdownLeaves)
      ]
      for player in (0, 1):
        reach = to_device([random_reach(rng, n, hands[1 - player]) for n in (19, 18)], dtype)
        close(*[values_of(found, player, reach) for found in leaves], tolerance)


@needs_library
def test_jit_and_vmap():
  """Over reaches, over stakes, over both in turn, and over boards, each with tables of its own."""
  _, showdown_payoff, fold_payoff, reach = some_leaves("unequal")
  rng = np.random.default_rng(8)
  forms = [random_form(rng, 12, (50, 23), 9) for _ in range(3)]
  boards = [
    to_device(NativeLeaves.create(form, k * showdown_payoff, k**2 * fold_payoff), "float64")
    for k, form in enumerate(forms, start=1)
  ]
  leaves, reach = boards[0], to_device(reach[1], "float64")
  weights = jnp.asarray(rng.random((2, 3, 1, 23)))

  def alone(leaves, weight):
    return leaves(0, [weight * r for r in reach])

  def with_stake(showdown_payoff, weight):
    return alone(dataclasses.replace(leaves, showdown_payoff=showdown_payoff), weight)

  one = jax.jit(alone)
  over_reach = jax.jit(jax.vmap(alone, (None, 0)))(leaves, weights[0])
  twice = jax.jit(jax.vmap(jax.vmap(alone, (None, 0)), (None, 0)))(leaves, weights)
  stakes = jnp.stack([leaves.showdown_payoff * k for k in (1.0, 2.0, 3.0)])
  over_stakes = jax.vmap(with_stake)(stakes, weights[1])
  crossed = jax.vmap(jax.vmap(with_stake, (None, 0)), (0, None))(stakes, weights[1])
  stacked = jax.tree.map(lambda *x: jnp.stack(x), *boards)
  over_boards = jax.jit(jax.vmap(alone))(stacked, weights[0])
  for k in range(3):
    close([v[k] for v in over_reach], one(leaves, weights[0, k]), 0)
    close([v[1, k] for v in twice], one(leaves, weights[1, k]), 0)
    close([v[k] for v in over_stakes], jax.jit(with_stake)(stakes[k], weights[1, k]), 0)
    close([v[k, 2] for v in crossed], jax.jit(with_stake)(stakes[k], weights[1, 2]), 0)
    close([v[k] for v in over_boards], one(boards[k], weights[0, k]), 0)


@needs_library
def test_some_of_the_leaves():
  form, showdown_payoff, fold_payoff, reach = some_leaves("many leaves")
  leaves = NativeLeaves.create(form, showdown_payoff, fold_payoff)
  chosen, sizes = [np.array([30, 2, 3]), np.array([69])], (5, 4)
  fewer = leaves.take([
    np.pad(c, (0, size - len(c)), constant_values=-1)[None] for c, size in zip(chosen, sizes, strict=True)
  ])  # fmt: skip
  given = [np.ones((size, reach[0][0].shape[1])) for size in sizes]
  for rows, part, c in zip(given, reach[0], chosen, strict=True):
    rows[: len(c)] = part[c]
  for whole, part, c in zip(leaves(1, reach[0]), fewer(1, given), chosen, strict=True):
    np.testing.assert_array_equal(part[: len(c)], whole[c])
    assert not np.asarray(part[len(c) :]).any()


@needs_library
def test_threads_do_not_meet():
  """Calls of other sizes at the same time, each again and again."""
  cases = [some_leaves(name) for name in FORMS]
  evaluators = [
    NativeLeaves.create(form, showdown_payoff, fold_payoff) for form, showdown_payoff, fold_payoff, _ in cases
  ]
  expected = [e(0, reach[1]) for e, (*_, reach) in zip(evaluators, cases, strict=True)]

  def again(k):
    return all(
      np.array_equal(v, e)
      for _ in range(40)
      for v, e in zip(evaluators[k](0, cases[k][3][1]), expected[k], strict=True)
    )

  with concurrent.futures.ThreadPoolExecutor(8) as pool:
    assert all(pool.map(again, list(range(len(cases))) * 2))


@needs_library
def test_values_in_subgames():
  """Cut, padded, best responses too, against plain Python."""
  states = decisions(subgames_of(TINY, "native"))
  fit = common_shape(subgames_of(TINY, "native"), [[s] for s in states])
  check_values(TINY, "native", states, fit)
  check_values(TINY, "native", states[::3], fit, best=True)


@needs_library
def test_solvers():
  """What one finds with it is as good when looked at without; sampled lines of bets do with it as well."""
  solver = PSCFRSolver(pyspiel.load_game(WIDE), leaves="native")
  solver.run(100)
  found = solver.exploitability()
  assert 0 < found < 1  # of a pot of 200
  policy = solver.average_policy()
  assert abs(evaluate_policy(solver.game, policy, leaves="showdown").exploitability - found) < 1e-3
  sampling = VRMCCFRSolver(
    pyspiel.load_game(TINY), rule="rm+", batch=8, trajectories="public", leaves="native"
  )
  start = sampling.exploitability()
  sampling.run(600)
  assert 0 < sampling.exploitability() < 0.3 * start


@needs_library
def test_auto_takes_it_for_wide_ranges():
  assert build_tree(pyspiel.load_game(WIDE)).leaves.kind == "native"
  assert "evaluator 'native'" in build_tree(pyspiel.load_game(WIDE)).summary()
  assert build_tree(pyspiel.load_game(TINY)).leaves.kind == "dense"


def test_without_it_auto_takes_another(monkeypatch):
  monkeypatch.setattr(library, "_load", lambda _: MISSING)
  assert build_tree(pyspiel.load_game("river_subgame")).leaves.kind == "showdown"
  assert build_tree(pyspiel.load_game(WIDE)).leaves.kind in ("dense", "showdown")


def test_without_it_the_error_says_what_to_do(monkeypatch):
  monkeypatch.setattr(library, "_load", lambda _: MISSING)
  with pytest.raises(ValueError, match=r"leaves='native' is not available: it was not built.*C\+\+ compiler"):
    build_tree(pyspiel.load_game(TINY), "native")


def test_on_other_devices_it_is_refused():
  with rehearsal("gpu"), on(accelerator()):
    with pytest.raises(ValueError, match="CPUs only, and this is for a gpu"):
      build_tree(pyspiel.load_game(TINY), "native")
    assert build_tree(pyspiel.load_game("river_subgame")).leaves.kind == "dense"
    assert fastest_leaves(1081**2, boards=1024) == "showdown"  # 1,024 matrices would take 10 GB


def test_games_without_a_form_are_refused():
  with pytest.raises(ValueError, match=r"'native' needs a game with a bayesian_form\(\)"):
    build_tree(pyspiel.load_game("kuhn_poker"), "native")


def test_files_of_automatic_runs_go_on_without_it(monkeypatch, tmp_path):
  solver = PSCFRSolver(pyspiel.load_game(WIDE))
  solver.run(4)
  solver.save(tmp_path / "run.safetensors")
  monkeypatch.setattr(library, "_load", lambda _: MISSING)
  resumed = load_solver(tmp_path / "run.safetensors")
  assert resumed.tree.leaves.kind != "native"
  before = resumed.exploitability()
  assert abs(before - solver.exploitability()) < 1e-3
  resumed.run(20)
  assert 0 < resumed.exploitability() < before


@pytest.mark.parametrize("levels", [1, 3, 1000])
def test_places_in_rows_themselves_are_those_by_searchsorted(levels):
  rows = np.sort(np.random.default_rng(levels).integers(0, levels, (4, 2, 20)), -1)
  for side in ("left", "right"):
    places = [np.searchsorted(row, row, side) for row in rows.reshape(-1, 20)]
    np.testing.assert_array_equal(showdown.search_rows(rows, rows, side).reshape(-1, 20), places)


def test_each_hand_is_itself_among_the_same_hands():
  hands = np.random.default_rng(0).permutation([(c, d) for c in range(9) for d in range(c)])
  shifted = np.roll(hands, 1, 0)
  assert showdown.same_hand(hands, hands).tolist() == list(range(36))
  assert showdown.same_hand(shifted, hands).tolist() == np.roll(range(36), 1).tolist()
