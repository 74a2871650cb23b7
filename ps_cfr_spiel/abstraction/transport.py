"""Earth mover's distances: how much must be carried how far to make one distribution of another.

On a line it is exact; for any ground distance there is the greedy plan of Ganzfried and Sandholm (2014).
"""

import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.backend.device import jit, precision
from ps_cfr_spiel.tree import Array

ABREAST = 2048  # pairs of distributions, few enough for the carried arrays to stay in a cache


def line_distances(points: np.ndarray, others: np.ndarray, places: np.ndarray) -> np.ndarray:
  """float64[N, K]: the distance between distributions float[N, B] and float[K, B], rows of equal sum.

  They lie on places float[B] along a line, ascending: it is the area between their cumulative sums.
  """
  gaps = np.diff(places)
  first, second = (np.cumsum(x, 1)[:, :-1] * gaps for x in (points, others))
  return np.stack([np.abs(first - row).sum(1) for row in second], 1)


def greedy_distances(
  points: np.ndarray, others: np.ndarray, ground: np.ndarray, dtype: str = "float64"
) -> np.ndarray:
  """float64[N, K]: the cost of a greedy plan, never less than the distance (Ganzfried and Sandholm 2014).

  Each bucket of a point, one after the other, takes all it can from the nearest bucket of the other
  distribution; then each takes from the second nearest, and so on. The published listing empties a source
  before it subtracts it from the target and so may carry less than there is; here both lose the share.

  `points`, float[N, B], and `others`, float[K, B], have rows of sum 1; `ground`, float[B, B], is the distance
  from a bucket of a point to one of the others. The arithmetic is in `dtype`.
  """
  points, others, ground = (np.asarray(x, dtype) for x in (points, others, ground))
  pairs, distances = len(points) * len(others), []
  order = np.argsort(ground, 1, kind="stable").astype(np.int32)  # for each bucket, the nearest first
  with precision(dtype):
    for start in range(0, pairs, ABREAST):
      place, row = np.divmod(np.arange(start, start + ABREAST) % pairs, len(others))  # some twice at the end
      distances.append(_carried(points[place].T, others[row].T, order, ground))
  return np.concatenate(distances)[:pairs].reshape(len(points), -1).astype(float)


@jit()
def _carried(left: Array, room: Array, order: Array, ground: Array) -> jax.Array:
  """The cost of each pair, [P]; `left`, [B, P], is the rest of one point, `room` the rest of the other."""

  def place(step):
    rank, bucket = jnp.divmod(step, len(order))
    return bucket, order[bucket, rank]

  def carry(step, now):
    left, room, have, may, cost = now
    (bucket, target), after = place(step), place(step + 1)
    taken = jnp.minimum(have, may)
    left, room = left.at[bucket].set(have - taken), room.at[target].set(may - taken)
    return left, room, left[after[0]], room[after[1]], cost + taken * ground[bucket, target]

  # The entries that a step needs are read at the end of the one before: XLA changes them in place only if
  # nothing reads the old ones.
  bucket, target = place(0)
  now = left, room, left[bucket], room[target], jnp.zeros_like(left[0])
  return jax.lax.fori_loop(0, order.size, carry, now)[-1]
