"""Numbers of rows against NumPy's sorts."""

import sys

import numpy as np
import pyspiel
import pytest
from scipy.sparse import coo_array, csgraph

from ps_cfr_spiel import build_tree
from ps_cfr_spiel.compilation.histories import components, number_rows, one_to_one
from ps_cfr_spiel.compilation.histories.numbering import first_members, number_by_appearance


@pytest.mark.parametrize("spread", [1, 3, 1000, 2**31 - 1])
@pytest.mark.parametrize("width", [1, 2, 4])
def test_rows_are_numbered_as_by_sorting(spread, width):
  """Small values take the table, large ones the sort, and four columns of 31 bits outgrow one key."""
  rng = np.random.default_rng(spread + width)
  for size in (0, 1, 200):
    rows = rng.integers(-spread, spread, (size, width), endpoint=True)
    rows = rows[rng.integers(0, max(size // 3, 1), size)]  # so that rows occur again
    expected = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
    for kind in (np.int32, np.int64):
      np.testing.assert_array_equal(number_rows(*rows.astype(kind).T), expected)


def test_firsts_and_appearance():
  numbers = np.array([4, 1, 4, 0, 1, 7])
  np.testing.assert_array_equal(first_members(numbers), [3, 1, -1, -1, 0, -1, -1, 5])
  np.testing.assert_array_equal(first_members(numbers, 9), [3, 1, -1, -1, 0, -1, -1, 5, -1])
  np.testing.assert_array_equal(number_by_appearance(numbers), [0, 1, 0, 2, 1, 3])
  assert len(first_members(numbers[:0])) == 0


@pytest.mark.parametrize("seed", range(20))
def test_one_to_one(seed):
  """Against the definition: in each group no a goes with two b, and no b with two a."""
  rng = np.random.default_rng(seed)
  groups, a = rng.integers(0, 3, 12), rng.integers(0, 3, 12)
  b = (a + groups) % 3 if seed % 2 else rng.integers(0, 3, 12)
  triples = set(zip(groups.tolist(), a.tolist(), b.tolist(), strict=True))
  expected = len({(g, x) for g, x, _ in triples}) == len(triples) == len({(g, y) for g, _, y in triples})
  assert one_to_one(groups, a, b) == expected


def test_components_are_those_of_a_graph():
  """Beside SciPy's, on a bipartite graph of entries and numbers; the last is one cycle in random order."""
  generator = np.random.default_rng(0)
  cases = [
    (n, generator.integers(0, n, (2, n)), *generator.integers(0, n, (2, n // 2))) for n in range(1, 40)
  ]
  cycle = generator.permutation(2000)
  cases.append((2000, np.stack([cycle // 2, (cycle + 1) % 2000 // 2]), np.zeros(0, int), np.zeros(0, int)))
  for n, joined, members, groups in cases:
    rows = np.concatenate([np.tile(np.arange(n), 2), members])
    columns = np.concatenate([*(joined + np.array([[n], [2 * n]])), groups + 3 * n])
    graph = coo_array((np.ones(len(rows)), (rows, columns)), (4 * n, 4 * n))
    parts = csgraph.connected_components(graph, directed=False)[1][:n]
    found = components(n, list(joined), members, groups)
    for x, y in ((parts, found), (found, parts)):  # equal parts, whatever their numbers
      assert all(len(set(x[y == part])) == 1 for part in set(y.tolist()))
  assert parts.max() == 0


def test_a_game_is_enumerated_without_scipy(monkeypatch):
  """Whose import takes longer than a small game."""
  monkeypatch.setitem(sys.modules, "scipy.sparse", None)
  assert build_tree(pyspiel.load_game("kuhn_poker")).names.histories == 58
