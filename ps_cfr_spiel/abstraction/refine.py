"""Choices of a split: the infostates to examine, and those of them that no longer belong together."""

from collections.abc import Sequence

import numpy as np

from ps_cfr_spiel.abstraction.partitions import Partition

ERRORS = 2  # standard errors beyond which a difference is no accident


def without_largest(parts: Partition, slots: np.ndarray, groups: np.ndarray) -> np.ndarray:
  """bool[n]: all of some infostates but, in each set, the largest group, which shall stay with the rest."""
  pairs, member, size = np.unique(
    np.stack([parts.sets[slots], groups]), axis=1, return_inverse=True, return_counts=True
  )
  order = np.lexsort((-size, pairs[0]))  # by set, the largest group first; of equal ones the first
  largest = np.zeros(len(size), bool)
  largest[order] = np.diff(pairs[0][order], prepend=-1) > 0
  return ~largest[member.reshape(-1)]


def sample(rng: np.random.Generator, parts: Sequence[Partition], most: int) -> list[np.ndarray]:
  """For each partition, slots of infostates that are not alone in their sets, `most` in all.

  Random sets are taken with all their members, the last of them with some (Čermák, Lisý and Bošanský 2020,
  Algorithm 8).
  """
  shared = [np.flatnonzero((p.sets >= 0) & (np.append(p.sizes, 0)[p.sets] > 1)) for p in parts]
  starts = np.cumsum([0, *(p.count for p in parts)])
  number = np.concatenate([p.sets[s] + n for p, s, n in zip(parts, shared, starts, strict=False)])
  slots, of = np.concatenate(shared), np.repeat(np.arange(len(parts)), [len(s) for s in shared])
  if len(slots) > most:
    rank = rng.random(len(slots)) + rng.permutation(starts[-1])[number]
    chosen = np.sort(np.argpartition(rank, most)[:most]) if most else np.zeros(0, int)
    slots, of = slots[chosen], of[chosen]
  return [slots[of == n] for n in range(len(parts))]


def disagreement(regrets: np.ndarray, tolerance: np.ndarray) -> np.ndarray:
  """int[n]: equal numbers for infostates with the same best actions (Čermák et al. 2020, Algorithm 10).

  Negative regrets count as zero: where no action would have been better, all are equally good. `regrets`, [n,
  A], are minus infinity where an infostate has fewer actions; `tolerance`, [n], is how far from the largest
  an action is still among the best.
  """
  shown = np.where(np.isfinite(regrets), np.maximum(regrets, 0), -np.inf)
  best = shown >= shown.max(1, keepdims=True) - tolerance[:, None]
  return np.unique(best, axis=0, return_inverse=True)[1].reshape(-1)


def certain(estimates: np.ndarray, tolerance: np.ndarray) -> np.ndarray:
  """bool[n]: whether `disagreement` on the mean of independent estimates, [parts, n, A], is no accident.

  It may be one where an action's distance from the best is within `ERRORS` standard errors of the tolerance.
  """
  mean = estimates.mean(0)
  shown = np.where(np.isfinite(mean), np.maximum(mean, 0), -np.inf)
  apart = estimates - np.take_along_axis(estimates, shown.argmax(1)[None, :, None], 2)
  error = np.where(np.isfinite(mean), apart, 0).std(0, ddof=1) / np.sqrt(len(estimates))
  short = shown.max(1, keepdims=True) - shown
  return (np.abs(short - tolerance[:, None]) >= ERRORS * error).all(1)


def largest(values: np.ndarray, sets: np.ndarray) -> np.ndarray:
  """For each of some infostates the largest value in its set, at least 0: [n], and int[n] to [n]."""
  maxima = np.zeros(sets.max(initial=-1) + 1)
  np.maximum.at(maxima, sets, values)
  return maxima[sets]
