"""Earth mover's distances: how much must be carried how far to make one distribution of another.

On a line it is exact; for any ground distance there is the greedy plan of Ganzfried and Sandholm (2014).
"""

import numpy as np


def line_distances(points: np.ndarray, others: np.ndarray, places: np.ndarray) -> np.ndarray:
  """The distance between distributions on places along a line: the area between their cumulative sums.

  Args:
    points: float[N, B], rows of equal sum.
    others: float[K, B].
    places: float[B], ascending.

  Returns:
    float64[N, K].
  """
  gaps = np.diff(places)
  first, second = (np.cumsum(x, 1)[:, :-1] * gaps for x in (points, others))
  return np.stack([np.abs(first - row).sum(1) for row in second], 1)


def greedy_distances(points: np.ndarray, others: np.ndarray, ground: np.ndarray) -> np.ndarray:
  """What a greedy plan costs, which is never less than the distance (Ganzfried and Sandholm 2014).

  Each bucket of a point, one after the other, takes what it can from the nearest bucket of the other
  distribution; then each takes from the second nearest, and so on. The published listing empties a source
  before it subtracts it from the target and so may carry less than there is; here what is taken
  leaves both.

  Args:
    points: float[N, B], rows of sum 1.
    others: float[K, B].
    ground: float[B, B], the distance from a bucket of a point to one of the others.

  Returns:
    float64[N, K].
  """
  points = np.asarray(points, float)
  used = np.flatnonzero(points.any(0))
  return np.stack([_cost(points, other, used, ground) for other in np.asarray(others, float)], 1)


def _cost(points: np.ndarray, other: np.ndarray, used: np.ndarray, ground: np.ndarray) -> np.ndarray:
  """What all points pay to one distribution, [N]; `used` are the buckets that some point has."""
  targets = np.flatnonzero(other)
  order = targets[np.argsort(ground[:, targets], 1, kind="stable")]  # of each bucket, the nearest first
  # By columns, since all points take from the same bucket at a time.
  left, room = points.T.copy(), np.repeat(other[:, None], len(points), 1)
  cost = np.zeros(len(points))
  for rank in range(len(targets)):
    for bucket in used:
      target = order[bucket, rank]
      taken = np.minimum(left[bucket], room[target])
      cost += taken * ground[bucket, target]
      left[bucket] -= taken
      room[target] -= taken
  return cost
