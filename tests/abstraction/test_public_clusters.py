import numpy as np
import pytest

from ps_cfr_spiel.abstraction import board_distances, public_clusters
from ps_cfr_spiel.abstraction.public_clusters import descend, nearest_seed, spread


def points(seed, count=60):
  """Distances between random points of a plane, some of them twice."""
  generator = np.random.default_rng(seed)
  where = generator.normal(size=(count, 2))
  where[:5] = where[5:10]
  return np.sqrt(((where[:, None] - where) ** 2).sum(-1))


def test_distances_are_those_of_the_triple_loop():
  """Brown et al. 2015, Algorithm 2, as it is printed."""
  generator = np.random.default_rng(0)
  table = generator.multinomial(36, generator.dirichlet(np.full(12, 0.3)), 8)
  expected = np.zeros((8, 8))
  for i in range(8):
    for j in range(8):
      similar = 0
      for b in range(12):
        similar += min(table[i, b], table[j, b])
      expected[i, j] = (36 - similar) / 36
  np.testing.assert_allclose(board_distances(table), expected, atol=1e-14)
  np.testing.assert_allclose(board_distances(table * np.arange(1, 9)[:, None]), expected, atol=1e-14)


def test_distances_obey_the_triangle_inequality():
  """The example with which the paper's footnote 3 denies it has d(i, k) = 0.8, not 0.2."""
  d = board_distances(np.array([[10, 0, 0], [0, 10, 0], [2, 2, 6]]))
  np.testing.assert_allclose(d, [[0, 1, 0.8], [1, 0, 0.8], [0.8, 0.8, 0]])
  d = board_distances(np.random.default_rng(1).dirichlet(np.full(6, 0.2), 40))
  assert (d[:, None] <= d[:, :, None] + d + 1e-12).all()


@pytest.mark.parametrize("count", [1, 2, 7, 60])
def test_moves_lessen_the_spread_and_empty_no_cluster(count):
  for seed in range(4):
    d = points(seed)
    clusters = nearest_seed(d, count, np.random.default_rng(seed))
    assert len(np.unique(clusters)) == count
    while True:
      after = descend(d, clusters, 1)
      if (after == clusters).all():
        break
      assert spread(d, after) < spread(d, clusters)
      assert len(np.unique(after)) == count
      clusters = after
    # Nobody is better off elsewhere, by the definition.
    sums = np.stack([d[:, clusters == k].sum(1) for k in range(count)], 1)
    assert (sums[np.arange(60), clusters] <= sums.min(1) + 1e-9).all()


def test_all_at_once_the_clusters_collapse():
  """The printed Algorithm 3: this is why ours moves one point at a time."""
  d = board_distances(np.random.default_rng(2).dirichlet(np.full(30, 0.3), 200))
  clusters = nearest_seed(d, 10, np.random.default_rng(0))
  for _ in range(4):
    clusters = np.stack([d[:, clusters == k].sum(1) for k in range(10)], 1).argmin(1)
  assert len(np.unique(clusters)) < 10
  assert np.bincount(public_clusters(d, 10)).min() > 5


def test_the_best_start_is_kept_and_seeds_repeat():
  d = points(9)
  found = [spread(d, public_clusters(d, 6, restarts=n)) for n in (1, 4, 12)]
  assert sorted(found, reverse=True) == found
  np.testing.assert_array_equal(public_clusters(d, 6, seed=3), public_clusters(d, 6, seed=3))


def test_two_clouds_are_told_apart():
  d = np.ones((7, 7)) - np.eye(7)
  d[:3, :3] = d[3:, 3:] = 0
  clusters = public_clusters(d, 2)
  assert len(set(clusters[:3])) == len(set(clusters[3:])) == 1 and clusters[0] != clusters[3]


def test_wrong_input():
  with pytest.raises(ValueError, match="symmetric matrix"):
    public_clusters(np.ones((3, 3)), 2)
  with pytest.raises(ValueError, match="clusters=4: there are only 3 boards"):
    public_clusters(np.zeros((3, 3)), 4)
  with pytest.raises(ValueError, match="clusters must be an integer of at least 1"):
    public_clusters(np.zeros((3, 3)), 0)
  with pytest.raises(ValueError, match="some above 0 in each row"):
    board_distances(np.zeros((2, 3)))
