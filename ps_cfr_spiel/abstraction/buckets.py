"""Buckets: private states of one cluster that play alike, found by their values, now or later.

A private state is described by numbers, one row for each: on the last round its equities against clusters of
the opponent's hands (Johanson et al. 2013); before it how likely it is to come into each bucket of the next
round (potential-aware, Ganzfried and Sandholm 2014), or a histogram of its equity. `bucketed` is k-means
over such rows under a distance that suits them.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ps_cfr_spiel.abstraction.public_clusters import draw
from ps_cfr_spiel.arguments import check_count

MOST_ROWS = 20_000  # different rows from which means are made
CHUNK = 2**22  # distances that are held at once

Distance = Callable[[np.ndarray, np.ndarray], np.ndarray]  # rows [N, D], means [K, D] -> [N, K]


class Buckets(NamedTuple):
  """Rows in buckets."""

  label: np.ndarray  #: int32[N], the bucket of each row
  means: np.ndarray  #: float64[K, D], of the rows of each bucket
  cost: float  #: the weighted sum of all distances from rows to their means


def squared(rows: np.ndarray, means: np.ndarray) -> np.ndarray:
  """Squared Euclidean distances, for equities."""
  lengths = (rows**2).sum(1)[:, None] + (means**2).sum(1)
  return np.maximum(lengths - 2 * rows @ means.T, 0)


def bucketed(
  rows: np.ndarray,
  count: int,
  distance: Distance = squared,
  *,
  weights: np.ndarray | None = None,
  seed: int = 0,
  restarts: int = 25,
  sweeps: int = 50,
  most: int = MOST_ROWS,
) -> Buckets:
  """k-means over rows float[N, D], begun as k-means++ and begun anew several times.

  Under an earth mover's distance the arithmetic mean is not what lessens the cost most, which may therefore
  rise; the best of all rounds is what counts. A bucket that loses its last row is given the row that is
  farthest from its mean. Fewer than `count` buckets come of fewer different rows.

  Args:
    weights: float[N], how much each row counts, by default 1.
    sweeps: most steps each time.
    most: different rows, drawn at random, from which means are made; all are put into buckets.

  Raises:
    ValueError: there is no row, or an argument is out of range.
  """
  rows = np.asarray(rows, float)
  if rows.ndim != 2 or not len(rows) or not np.isfinite(rows).all():
    raise ValueError(f"rows: a table [private states, numbers] of finite numbers, got one of {rows.shape}.")
  different, first, member = np.unique(rows, axis=0, return_index=True, return_inverse=True)
  weights = np.ones(len(rows)) if weights is None else np.asarray(weights, float)
  weight = np.bincount(member.ravel(), weights, len(different))
  if len(different) <= check_count("buckets", count, 1):
    order = np.argsort(np.argsort(first))  # numbered as they first come
    return Buckets(order[member.ravel()].astype(np.int32), rows[np.sort(first)], 0.0)
  generator = np.random.default_rng(seed)
  some, some_weight = different, weight
  if len(different) > max(most, count):
    chosen = np.sort(generator.permutation(len(different))[: max(most, count)])
    some, some_weight = different[chosen], weight[chosen]
  runs = [
    _descend(some, some_weight, _begin(some, some_weight, count, distance, generator), distance, sweeps)
    for _ in range(check_count("restarts", restarts, 1))
  ]
  best = min(runs, key=lambda buckets: buckets.cost)
  if some is not different:
    label, nearest = _fill(*_nearest(different, best.means, distance), count)
    best = best._replace(label=label.astype(np.int32), cost=float(weight @ nearest))
  return best._replace(label=best.label[member.ravel()])


def _nearest(rows: np.ndarray, means: np.ndarray, distance: Distance) -> tuple[np.ndarray, np.ndarray]:
  """The nearest mean of each row, and how far it is; not all distances are held at once."""
  size = max(CHUNK // len(means), 1)
  label, nearest = np.empty(len(rows), int), np.empty(len(rows))
  for first in range(0, len(rows), size):
    apart = distance(rows[first : first + size], means)
    label[first : first + size], nearest[first : first + size] = apart.argmin(1), apart.min(1)
  return label, nearest


def _begin(rows, weight, count: int, distance: Distance, generator: np.random.Generator) -> np.ndarray:
  """[K, D]: rows drawn one after the other, by weight times distance to those that were drawn before."""
  chosen = [draw(generator, weight, [])]
  nearest = np.full(len(rows), np.inf)
  for _ in range(count - 1):
    nearest = np.minimum(nearest, distance(rows, rows[chosen[-1:]])[:, 0])
    nearest[chosen] = 0
    chosen.append(draw(generator, nearest * weight, chosen))
  return rows[chosen]


def _descend(rows, weight, means: np.ndarray, distance: Distance, sweeps: int) -> Buckets:
  best, label = None, None
  for _ in range(sweeps):
    before = label
    label, nearest = _fill(*_nearest(rows, means, distance), len(means))
    cost = float(weight @ nearest)
    if best is None or cost < best.cost:
      best = Buckets(label.astype(np.int32), means, cost)
    if before is not None and (label == before).all():
      break
    total = np.bincount(label, weight, len(means))
    sums = [np.bincount(label, weight * column, len(means)) for column in rows.T]
    means = np.stack(sums, 1) / np.maximum(total, np.finfo(float).tiny)[:, None]
  assert best is not None
  return best


def _fill(label: np.ndarray, nearest: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
  """Give each empty bucket the row that is farthest from its mean, out of a bucket that has others."""
  label, nearest = label.copy(), nearest.copy()
  for empty in np.flatnonzero(np.bincount(label, minlength=count) == 0):
    spare = np.bincount(label, minlength=count)[label] > 1
    row = int(np.where(spare, nearest, -1).argmax())
    label[row], nearest[row] = empty, 0
  return label, nearest


def cluster_equities(
  chosen: np.ndarray, strength: np.ndarray, hands: np.ndarray, alive: np.ndarray, groups: np.ndarray
) -> np.ndarray:
  """Equities of hands on a board against clusters of hands (OCHS; Johanson et al. 2013, Section 4).

  Args:
    chosen: int[N], the hands that are asked about, which are alive.
    strength: int[H], how strong all hands are; the larger wins.
    hands: int[H, n], the one or two cards of each; hands that share a card are not dealt together.
    alive: bool[H], can anybody have the hand?
    groups: int[H], the cluster of each hand as the opponent's, 0 to G - 1.

  Returns:
    float64[N, G]: the probability to win, ties counting half; 1/2 where the opponent can have no such hand.
  """
  order = np.flatnonzero(alive)
  order = order[np.argsort(strength[order], kind="stable")]  # the weakest first
  place, group, every = np.arange(len(order))[:, None] + 1, groups[order][:, None], hands.max() + 1
  member = np.zeros((len(order) + 1, every + 1, groups.max() + 1), np.float32)
  member[place, hands[order], group] = 1
  member[place, every, group] = 1  # as if all had this card
  weaker = member.cumsum(0)  # among the n weakest, the number with a card and of a cluster
  itself = (groups[chosen][:, None] == np.arange(groups.max() + 1)) * (hands.shape[1] - 1)

  def met(stop: np.ndarray, counted: bool) -> np.ndarray:
    """[N, G]: those of the weakest that share no card with a hand, which itself is among them or not."""
    shared = weaker[stop[:, None], hands[chosen]].sum(1)
    return weaker[stop, every] - shared + counted * itself

  lower, upper = (np.searchsorted(strength[order], strength[chosen], side) for side in ("left", "right"))
  total = met(np.full(len(chosen), len(order)), True)
  won = (met(lower, False) + met(upper, True)) / 2
  return np.where(total > 0, won / np.maximum(total, 1), 0.5).astype(float)
