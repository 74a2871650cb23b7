"""The forest that tree/forest.py draws, number by number."""

import numpy as np

from ps_cfr_spiel.tree import make_forest, sequence_numbers, sequence_reach


def drawn():
  parents = np.array([(-1, 0), (0, 0), (0, 1)])
  leaves = np.array([(1, 0), (1, 1), (2, 0), (2, 1)])
  return make_forest(parents, np.array([2, 2, 2]), [leaves], types=1)


def test_the_forest_of_the_docstring():
  forest, places = drawn()
  assert forest.block_shapes == [(2, 1, 1), (2, 2, 1)]
  assert places.tolist() == [[0, 0], [1, 0], [1, 1]]
  assert [level.link.index.tolist() for level in forest.levels] == [[0], [0, 1]]
  assert [level.link.parents for level in forest.levels] == [(1,), (2,)]
  assert forest.leaf.index.tolist() == [3, 5, 4, 6]
  assert forest.leaf.parents == (1, 2, 4)
  block, row, action = np.array([(0, 0, 0), (0, 0, 1), (1, 0, 0), (1, 1, 0), (1, 0, 1), (1, 1, 1)]).T
  assert sequence_numbers(forest.block_shapes, block, row, action).tolist() == [1, 2, 3, 4, 5, 6]


def test_reach_goes_down_the_drawn_forest():
  """The leaves' reach is the product of the two probabilities on the way, whatever the numbers are."""
  forest, _ = drawn()
  first, second = np.array([[[0.25]], [[0.75]]]), np.array([[[0.5], [0.125]], [[0.5], [0.875]]])
  (reach,) = forest.leaf.pull(sequence_reach(forest, [first, second]))
  np.testing.assert_allclose(reach[:, 0], [0.25 * 0.5, 0.25 * 0.5, 0.75 * 0.125, 0.75 * 0.875])


def test_idle_rows_hang_on_the_first_root():
  """Rows beyond those that there are change no number of a leaf's choice, only where its block begins."""
  parents, leaves = np.array([(-1, 0), (0, 0), (0, 1)]), np.array([(1, 0), (2, 1)])
  forest, places = make_forest(
    parents, np.array([2, 2, 2]), [leaves], types=1, roots=2, capacity={(0, 2): 2, (1, 2): 4}
  )
  assert forest.block_shapes == [(2, 2, 1), (2, 4, 1)]
  assert forest.levels[0].link.index.tolist() == [0, 0]
  assert forest.levels[1].link.index.tolist() == [0, 2, 0, 0]
  assert forest.leaf.index.tolist() == [2 + 4 + 0, 2 + 4 + 4 + 1]
  assert places.tolist() == [[0, 0], [1, 0], [1, 1]]
