"""The public tree: its sizes, its links, its summary."""

import jax.numpy as jnp
import numpy as np
import pyspiel
import pytest

import ps_cfr_spiel
from ps_cfr_spiel.tree import Link, make_forest, max_actions, sum_actions


def test_default_river_has_the_papers_sizes():
  tree = ps_cfr_spiel.build_tree(pyspiel.load_game("river_subgame"))
  labels = tree.labels
  assert labels.histories == 61_000_831
  assert len(labels.public_states) == 57
  assert len(list(labels.infostates())) == 21_620
  assert len({name for _, _, name in labels.infostates()}) == 21_620
  summary = tree.summary()
  for number in ("61,000,831", "57", "21,620"):
    assert number in summary
  assert "evaluator" in summary and "evaluator" not in tree.summary(arrays=False)


def test_link_push_is_the_transpose_of_pull():
  rng = np.random.default_rng(0)
  index = rng.integers(0, 7, 11)
  link = Link.create(index, (3, 4), (5, 2, 4))
  matrix = np.zeros((11, 7))
  matrix[np.arange(11), index] = 1
  above, below = rng.normal(size=(7, 2)), rng.normal(size=(11, 2))
  pulled = link.pull([jnp.asarray(above[:3]), jnp.asarray(above[3:])])
  pushed = link.push([jnp.asarray(below[:5]), jnp.asarray(below[5:7]), jnp.asarray(below[7:])])
  assert [len(part) for part in pulled] == [5, 2, 4]
  assert [len(part) for part in pushed] == [3, 4]
  np.testing.assert_allclose(np.concatenate(pulled), matrix @ above)
  np.testing.assert_allclose(np.concatenate(pushed), matrix.T @ below)


def test_link_rejects_bad_pointers():
  with pytest.raises(ValueError, match="needs 3 indices"):
    Link.create(np.array([0, 0]), (1,), (3,))
  with pytest.raises(ValueError, match=r"0\.\.1, got 0\.\.2"):
    Link.create(np.array([0, 2]), (2,), (2,))


def test_forest_of_mixed_depths_and_action_counts():
  # Rows 0 (2 actions) and 1 (3 actions) at the top; 2 and 3 (2 actions) below (0, 1) and (1, 2).
  parents = np.array([[-1, -1], [-1, -1], [0, 1], [1, 2]])
  actions = np.array([2, 3, 2, 2])
  leaves = [np.array([[0, 0], [2, 1], [-1, -1]]), np.array([[3, 0]])]
  forest, places = make_forest(parents, actions, leaves, types=1)
  assert forest.block_shapes == [(2, 1, 1), (3, 1, 1), (2, 2, 1)]
  assert places.tolist() == [[0, 0], [1, 0], [2, 0], [2, 1]]
  # Sequences: 0 empty; 1, 2 of row 0; 3, 4, 5 of row 1; then rows 2 and 3 by action: 6, 7 and 8, 9.
  assert forest.leaf.index.tolist() == [1, 8, 0, 7]
  assert forest.leaf.parents == (1, 2, 3, 4)
  assert forest.levels[1].link.index.tolist() == [1, 4]  # within the level above: (0, 1) and (1, 2)


def test_games_that_cannot_be_compiled_are_named():
  with pytest.raises(ValueError, match="for games of two players or more, this one has 1 player"):
    ps_cfr_spiel.build_tree(pyspiel.load_game("catch"))


@pytest.mark.parametrize("actions", [1, 3, 200, 201, 250])
def test_sums_and_maxima_over_actions(actions):
  """NumPy's, for as many actions as are added one by one and for more."""
  x = np.random.default_rng(actions).normal(size=(actions, 2, 3)).astype(np.float32)
  np.testing.assert_allclose(sum_actions(jnp.asarray(x)), x.sum(0, keepdims=True), rtol=1e-4, atol=1e-5)
  np.testing.assert_array_equal(max_actions(jnp.asarray(x)), x.max(0, keepdims=True))
