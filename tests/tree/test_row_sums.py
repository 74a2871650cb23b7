"""Sums of rows in C++ are those of XLA's scatter, in both precisions, in batches, and without the library."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel
import pytest
from test_native_leaves import MISSING, needs_library

from ps_cfr_spiel import build_tree, cfr
from ps_cfr_spiel.backend.device import accelerator, precision, rehearsal
from ps_cfr_spiel.backend.native import library
from ps_cfr_spiel.tree.arrays import GROUP, LONG, add_groups, row_groups, sum_rows
from ps_cfr_spiel.tree.public_tree import Link


def some_rows(dtype, width, rows=23, sums=9, batch=()):
  """Rows, sums that they go into (some get none, one gets several), and the sums by a loop."""
  rng = np.random.default_rng(width)
  x, index = rng.normal(size=(*batch, rows, width)).astype(dtype), rng.integers(0, sums - 2, rows)
  expected = np.zeros((*batch, sums, width))
  for r, s in enumerate(index):
    expected[..., s, :] += x[..., r, :]
  return x, index.astype(np.int32), expected


def called(function, *arguments) -> bool:
  """Does it call the library?"""
  return "ffi_call" in str(jax.make_jaxpr(function)(*arguments))


@needs_library
@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-6), ("float64", 1e-15)])
@pytest.mark.parametrize("width", [1, LONG - 1, LONG, 1088])
def test_equal_to_a_loop(dtype, tolerance, width):
  with precision(dtype):
    x, index, expected = some_rows(dtype, width)
    assert called(lambda x: sum_rows(x, index, 9), x) == (width >= LONG)
    found = jax.jit(lambda x, i: sum_rows(x, i, 9))(x, index)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=0, atol=20 * tolerance)


@pytest.mark.parametrize(("rows", "sums"), [(1, 3), (2, 3), (23, 9), (64, 3)])
def test_on_accelerators_nothing_is_scattered(rows, sums):
  """Sums equal a loop's, also of one row, of a power of two of rows, and of none."""
  with rehearsal("gpu"), precision("float64", accelerator()):
    x, index, expected = some_rows("float64", 5, rows, sums)
    summed = jax.jit(lambda x, i: sum_rows(x, i, sums))
    np.testing.assert_allclose(summed(x, index), expected, rtol=0, atol=1e-13)
    assert "scatter" not in summed.lower(x, index).as_text()


@pytest.mark.parametrize(
  ("rows", "sums"), [(1, 3), (23, 9), (GROUP, 1), (GROUP + 1, 1), (1000, 2), (1000, 700)]
)
def test_sums_in_groups_equal_a_loop(rows, sums):
  """A sum of hundreds of rows takes several tables, and one without rows is 0."""
  x, index, expected = some_rows("float64", 3, rows, max(sums, 3))
  tables = row_groups(index, max(sums, 3))
  assert len(tables) == (1 if rows <= GROUP else max(math.ceil(math.log(np.bincount(index).max(), GROUP)), 1))
  with precision("float64"):
    np.testing.assert_allclose(functools.reduce(add_groups, tables, x), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("rows", "sums"), [(1, 3), (GROUP, 1), (GROUP + 1, 1), (200, 40), (3, 9)])
def test_tables_for_any_index_are_of_one_shape(rows, sums):
  """All rows in one sum, each in its own as far as there are some, and at random; sums equal a loop's."""
  rng, shapes = np.random.default_rng(2), set()
  x = rng.normal(size=(rows, 2))
  for index in (np.zeros(rows, int), np.arange(rows) % sums, rng.integers(0, sums, rows)):
    tables = row_groups(index, sums, any_index=True)
    shapes.add(tuple(table.shape for table in tables))
    expected = np.zeros((sums, 2))
    np.add.at(expected, index, x)
    with precision("float64"):
      np.testing.assert_allclose(functools.reduce(add_groups, tables, x), expected, rtol=0, atol=1e-12)
  assert len(shapes) == 1


def test_an_iteration_on_an_accelerator_sorts_and_scatters_nothing():
  """Which rows each sum adds up is found once, on the host."""
  with rehearsal("gpu"), precision("float32", accelerator()):
    rule = cfr.make_rule("nrm+")
    tree = cfr.equip(build_tree(pyspiel.load_game("leduc_poker"), public_states="closure"), rule)
    state = cfr.init(tree, rule, "float32", compensated=False)
    text = jax.jit(functools.partial(cfr.iterate, rule=rule)).lower(tree, state, 3).as_text()
  assert "stablehlo.gather" in text
  assert "stablehlo.sort" not in text and "stablehlo.scatter" not in text


@needs_library
def test_no_rows():
  found = sum_rows(jnp.zeros((0, LONG), "float32"), jnp.zeros(0, "int32"), 3)
  np.testing.assert_array_equal(found, np.zeros((3, LONG)))


@needs_library
def test_in_batches():
  """Of rows, of indices too, and twice."""
  x, index, expected = some_rows("float64", 70, batch=(3, 2))
  others = jnp.asarray(np.stack([index, index[::-1]]))
  over_rows = jax.vmap(lambda rows: sum_rows(rows, jnp.asarray(index), 9))
  np.testing.assert_allclose(jax.jit(jax.vmap(over_rows))(x), expected, atol=1e-14)
  both = jax.vmap(lambda rows, i: sum_rows(rows, i, 9))(jnp.asarray(x[0]), others)
  np.testing.assert_allclose(both[0], expected[0, 0], atol=1e-14)
  backwards = sum_rows(jnp.asarray(x[0, 1, ::-1]), jnp.asarray(index), 9)
  np.testing.assert_allclose(both[1], backwards, atol=1e-14)


def test_without_the_library(monkeypatch):
  monkeypatch.setattr(library, "_load", lambda _: MISSING)
  x, index, expected = some_rows("float64", 100)
  assert not called(lambda x: sum_rows(x, index, 9), x)
  np.testing.assert_allclose(sum_rows(jnp.asarray(x), index, 9), expected, atol=1e-14)


def test_links_push_what_they_pull_from():
  """The transpose: <pull a, b> = <a, push b>."""
  rng = np.random.default_rng(2)
  link = Link.create(rng.integers(0, 7, 10), (3, 4), (6, 4))
  above = [jnp.asarray(rng.normal(size=(n, LONG))) for n in link.parents]
  below = [jnp.asarray(rng.normal(size=(n, LONG))) for n in link.children]
  down = sum(float((x * y).sum()) for x, y in zip(link.pull(above), below, strict=True))
  up = sum(float((x * y).sum()) for x, y in zip(above, link.push(below), strict=True))
  assert down == pytest.approx(up, rel=1e-12)
