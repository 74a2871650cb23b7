"""Public clusters: outcomes of a public chance move, such as flops, that share a table (Brown et al. 2015).

Boards are alike if the private states on them fall into the same buckets of an abstraction that there is
already; which private states these are does not matter (Algorithm 2). Boards that are alike are clustered
(Algorithm 3). Both need nothing of a game but counts.
"""

import numpy as np

from ps_cfr_spiel.arguments import check_count

CLUSTERS = 60  # of a round, if fewer are not wanted; after Brown et al. 2015
BASE = 200  # buckets of the abstraction by which boards are compared
ROUNDING = 1e-12  # relative; a point does not move for less


def board_distances(transitions: np.ndarray) -> np.ndarray:
  """float64[M, M], from 0 to 1: how unlike boards are (Brown et al. 2015, Algorithm 2).

  With each row divided by its sum, this is 1 less the sum over buckets of the smaller of two entries, the
  total variation between the two rows: a metric, but for different boards at distance 0. `transitions`, [M,
  B], are the private states of each board that fall into each bucket, or their chance weight; ValueError for
  a negative entry, or a board without private states.
  """
  from scipy.spatial.distance import pdist, squareform  # takes a quarter of a second, so only on use

  transitions = np.asarray(transitions, float)
  total = transitions.sum(1, keepdims=True)
  if transitions.ndim != 2 or not ((transitions >= 0).all() and (total > 0).all()):
    raise ValueError("transitions: a table [boards, buckets] of numbers >= 0, some above 0 in each row.")
  return squareform(pdist(transitions / total, "cityblock") / 2)


def spread(distances: np.ndarray, clusters: np.ndarray) -> float:
  """W, the sum of the distances between the points of each cluster, which `public_clusters` lessens."""
  return float(distances[clusters[:, None] == clusters].sum() / 2)


def public_clusters(
  distances: np.ndarray, count: int, *, seed: int = 0, restarts: int = 10, sweeps: int = 100
) -> np.ndarray:
  """Clusters points that only their distances describe (Brown et al. 2015, Algorithm 3, corrected).

  Begins as k-means++ does (Arthur and Vassilvitskii 2007). Then a point goes to the cluster whose points are
  least far from it in sum. The printed algorithm moves all points at once, and all of them end in the cluster
  that was smallest; one at a time, each move lessens W (see `spread`), and no cluster loses its last point,
  whose sum is 0.

  Returns int32[M], the cluster of each point, 0 to `count` - 1, each with a point: the best of `restarts`
  clusterings, in each of which every point is looked at `sweeps` times at most. ValueError unless
  `distances`, float[M, M], is symmetric with 0 on the diagonal, and `count` at most M.
  """
  distances = np.asarray(distances, float)
  square = distances.ndim == 2 and len(distances) == distances.shape[-1] > 0
  if not (square and (distances >= 0).all() and (distances == distances.T).all() and not np.trace(distances)):
    raise ValueError("distances must be a symmetric matrix of numbers >= 0 with zeros on its diagonal.")
  if check_count("clusters", count, 1) > len(distances):
    raise ValueError(f"clusters={count}: there are only {len(distances)} boards to be clustered.")
  generator = np.random.default_rng(seed)
  runs = [
    descend(distances, nearest_seed(distances, count, generator), check_count("sweeps", sweeps, 1))
    for _ in range(check_count("restarts", restarts, 1))
  ]
  return min(runs, key=lambda clusters: spread(distances, clusters))


def nearest_seed(distances: np.ndarray, count: int, generator: np.random.Generator) -> np.ndarray:
  """int32[M]: for each point the nearest of `count` points, drawn as k-means++ draws them."""
  chosen: list[int] = []
  weight = np.ones(len(distances))
  for _ in range(count):
    chosen.append(draw(generator, weight, chosen))
    weight = distances[:, chosen].min(1) ** 2
    weight[chosen] = 0
  clusters = distances[:, chosen].argmin(1).astype(np.int32)
  clusters[chosen] = np.arange(count)  # also where two of them are at distance 0
  return clusters


def draw(generator: np.random.Generator, weight: np.ndarray, chosen: list[int]) -> int:
  """A point drawn by weight [M]; where no weight is left, one of the others, copies of points `chosen`."""
  if not weight.sum() > 0:
    weight = np.ones(len(weight))
    weight[chosen] = 0
  return int(generator.choice(len(weight), p=weight / weight.sum()))


def descend(distances: np.ndarray, clusters: np.ndarray, sweeps: int) -> np.ndarray:
  """Move points one at a time until no point is better off elsewhere; W never rises."""
  clusters, count = clusters.copy(), int(clusters.max()) + 1
  sums = np.stack([distances[:, clusters == k].sum(1) for k in range(count)], 1)  # of each point to each
  for _ in range(sweeps):
    moved = False
    for point, cluster in enumerate(clusters.tolist()):
      best = int(sums[point].argmin())
      if sums[point, best] < sums[point, cluster] - ROUNDING * sums[point].max():
        sums[:, cluster] -= distances[:, point]
        sums[:, best] += distances[:, point]
        clusters[point], moved = best, True
    if not moved:
      break
  return clusters
