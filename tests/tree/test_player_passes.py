"""Passes equal those row by row in plain Python: random forests, with the library and without, in batches."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel
import pytest
from test_native_leaves import MISSING, needs_library

from ps_cfr_spiel import PSCFRSolver
from ps_cfr_spiel.backend.device import precision
from ps_cfr_spiel.backend.native import library
from ps_cfr_spiel.tree import BoardLeaves, PlayerPasses, make_forest, player_passes, tables_of

TOLERANCE = {"float32": 1e-5, "float64": 1e-13}


@pytest.fixture(params=[pytest.param("native", marks=needs_library), "xla"])
def kind(request, monkeypatch):
  """With the library, or as if it were not there."""
  if request.param == "xla":
    monkeypatch.setattr(library, "_load", lambda _: MISSING)
  return request.param


class Case:
  """A random forest, a strategy and values of leaves, and what each row should be found to be worth."""

  def __init__(self, seed, rows=23, types=3, roots=2, dtype="float64"):
    rng = np.random.default_rng(seed)
    self.actions = rng.integers(1, 5, rows)
    above = [int(rng.integers(-1, r)) if r else -1 for r in range(rows)]
    parents = [(r, rng.integers(self.actions[r] if r >= 0 else roots)) for r in above]
    ends = rng.integers(-1, rows, 31) if rows else np.full(31, -1)
    leaves = [(r, rng.integers(self.actions[r] if r >= 0 else roots)) for r in ends]
    self.parents, self.leaves = np.array(parents, int).reshape(-1, 2), np.array(leaves, int)
    parts = [self.leaves[:11], self.leaves[11:]]
    self.forest, self.places = make_forest(self.parents, self.actions, parts, types, roots)
    self.strategy = [rng.random(shape).astype(dtype) for shape in self.forest.block_shapes]
    self.values = [rng.normal(size=(n, types)).astype(dtype) for n in (11, 20)]
    self.roots, self.types, self.dtype = roots, types, dtype

  def reach(self, row, action):
    """Of the sequence that ends with this choice."""
    if row < 0:
      return np.ones(self.types)
    block, place = self.places[row]
    return self.strategy[block][action, place] * self.reach(*self.parents[row])

  def value(self, row, action, best):
    """What follows a choice: its leaves, and the rows below it."""
    here = (self.leaves == (row, action)).all(1)
    total = np.concatenate(self.values)[here].sum(0)
    for below in np.flatnonzero((self.parents == (row, action)).all(1)):
      worth = np.array([self.value(below, a, best) for a in range(self.actions[below])])
      block, place = self.places[below]
      total = total + (worth.max(0) if best else (self.strategy[block][:, place] * worth).sum(0))
    return total

  def check(self, found, expected):
    """`expected` (row, action) -> [H] against tables of blocks."""
    for row, (block, place) in enumerate(self.places):
      for action in range(self.actions[row]):
        close(found[block][action, place], expected(row, action), self.dtype)


def close(found, expected, dtype):
  """Equal to rounding."""
  assert found.dtype == dtype
  np.testing.assert_allclose(found, expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


def passes(case, tree, strategy, values):
  """Both passes of a case with other data: reach of blocks and leaves, values of blocks and roots, twice."""
  passes, joined = PlayerPasses.of(tree), tree.join(strategy)
  reach, leaves = passes.down(joined)
  mean, mean_roots = passes.up(joined, values)
  best, best_roots = passes.up(None, values)
  reach = tree.split(tables_of(reach, tree.bucket_shapes))
  return reach, leaves, tree.split(mean), mean_roots, tree.split(best), best_roots


@pytest.mark.parametrize("types", [1, 3, 150])  # several rows in a strip of cells, several strips in a row
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_row_by_row(kind, dtype, types):
  case = Case(types, types=types, dtype=dtype)
  run = lambda *data: passes(case, *data)  # noqa: E731
  with precision(dtype):
    traced = jax.jit(run).trace(case.forest, case.strategy, case.values)
    found = traced.lower().compile()(case.forest, case.strategy, case.values)
    called = "ffi_call" in str(traced.jaxpr)
  assert called == (kind == "native")
  reach, leaves, mean, mean_roots, best, best_roots = found
  case.check(reach, case.reach)
  for x, (row, action) in zip(np.concatenate(leaves), case.leaves, strict=True):
    close(x, case.reach(row, action), dtype)
  case.check(mean, lambda row, action: case.value(row, action, best=False))
  case.check(best, lambda row, action: case.value(row, action, best=True))
  for roots, is_best in ((mean_roots, False), (best_roots, True)):
    close(roots, [case.value(-1, r, best=is_best) for r in range(case.roots)], dtype)


def test_a_player_who_never_acts(kind):
  case = Case(0, rows=0)
  reach, leaves, mean, roots, *_ = passes(case, case.forest, [], case.values)
  assert reach == mean == []
  close(np.concatenate(leaves), np.ones((31, case.types)), "float64")
  close(roots, [case.value(-1, r, best=False) for r in range(case.roots)], "float64")


def test_in_batches(kind):
  """Of strategies and values, over one forest, and of forests of one shape that hang otherwise."""
  case, rng = Case(5), np.random.default_rng(5)
  several = lambda arrays: [jnp.asarray(np.stack([rng.permuted(x) for _ in range(3)])) for x in arrays]  # noqa: E731
  strategy, values = several(case.strategy), several(case.values)
  leaf = jnp.asarray(np.stack([rng.permutation(case.forest.leaf.index) for _ in range(3)]))
  trees = jax.tree.map(lambda x: jnp.stack([x] * 3), case.forest)
  trees = jax.tree.unflatten(jax.tree.structure(trees), [*jax.tree.leaves(trees)[:-1], leaf])
  run = jax.jit(lambda *data: passes(case, *data))
  for tree, axis in ((case.forest, None), (trees, 0)):
    found = jax.jit(jax.vmap(run, in_axes=(axis, 0, 0)))(tree, strategy, values)
    for n in range(3):
      one = jax.tree.map(lambda x, n=n: x[n], tree) if axis == 0 else tree
      alone = run(one, [x[n] for x in strategy], [x[n] for x in values])
      for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(alone), strict=True):
        close(np.asarray(x[n]), y, "float64")


@needs_library
def test_one_hand_each_on_many_boards_is_paid_in_runs(monkeypatch):
  """What leaves of boards pay by matrices that they share, added up leaf by leaf."""
  monkeypatch.setattr(player_passes, "MANY", 100)
  spot = {"board": "Kh Kd 8c 4s", "pot": 20, "stack": 3000, "bets": "1", "ranges": "AhQh; 9c8d"}
  game = pyspiel.load_game("holdem_subgame", spot)
  compiled = PSCFRSolver(game, leaves="dense").tree
  lazy = compiled.leaves
  leaves = BoardLeaves(lazy.streets, lazy.boards, lazy.leaves, lazy.batched)
  made = player_passes.ordered(dataclasses.replace(compiled, leaves=leaves))
  random = np.random.default_rng(1)
  for player, order in enumerate(made.leaves.orders):
    matrix, number, factor = map(np.asarray, leaves.payoffs()[player])
    assert matrix.shape[1:] == (1, 1) and len(number) > 100
    above = [player_passes._numbers(one)[one.leaf.index] for one in compiled.players]
    reach = random.random(above[1 - player].max() + 1)
    expected = np.bincount(above[player], factor * matrix[number, 0, 0] * reach[above[1 - player]])
    (begin, members, opponents), leaves_of_run = order.groups, np.diff(order.number)
    first = np.repeat(begin[:-1, 1], np.diff(begin[:, 0]))  # of what members meet
    other = opponents[order.other + np.repeat(np.repeat(first, np.diff(order.start)), leaves_of_run)]
    runs = np.add.reduceat(reach[other], order.number[:-1]) * order.factor
    paid = np.zeros(len(expected))
    paid[members] = np.add.reduceat(runs, order.start[:-1])
    np.testing.assert_allclose(paid, expected, rtol=1e-5, atol=1e-4)
