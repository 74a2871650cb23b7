"""Choices of a split: the infostates to examine, and those of them that no longer belong together."""

from collections.abc import Sequence

import numpy as np

from ps_cfr_spiel.abstraction.partitions import Partition

ERRORS = 2  # standard errors by which estimates must differ


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


def proven_disagreement(estimates: np.ndarray, tolerance: np.ndarray, sets: np.ndarray) -> np.ndarray:
  """int[n]: numbers of groups, of independent estimates of the regrets that `disagreement` takes.

  An action is not among the best where it is worse than the best one by more than the tolerance and
  `ERRORS` standard errors of the estimates, [parts, n, A]. Members of a set (`sets`, int[n]) are in one
  group as long as some actions are among the best of all.
  """
  shown = np.where(np.isfinite(estimates), estimates, 0)
  mean, legal = shown.mean(0), np.isfinite(estimates[0])
  top = np.where(legal, mean, -np.inf).argmax(1)
  worse = np.take_along_axis(shown, top[None, :, None], 2) - shown
  error = worse.std(0, ddof=1) / np.sqrt(len(worse))
  best = legal & (worse.mean(0) <= tolerance[:, None] + ERRORS * error)
  groups = np.zeros(len(sets), int)
  for number in np.unique(sets):
    members = np.flatnonzero(sets == number)
    patterns, member, size = np.unique(best[members], axis=0, return_inverse=True, return_counts=True)
    shared: list[np.ndarray] = []
    of = np.zeros(len(size), int)
    for k in np.lexsort((-size, patterns.sum(1))):
      fits = [n for n, actions in enumerate(shared) if (actions & patterns[k]).any()]
      if fits:
        of[k] = fits[0]
        shared[fits[0]] = shared[fits[0]] & patterns[k]
      else:
        of[k] = len(shared)
        shared.append(patterns[k])
    groups[members] = of[member.reshape(-1)]
  return groups


def largest(values: np.ndarray, sets: np.ndarray) -> np.ndarray:
  """For each of some infostates the largest value in its set, at least 0: [n], and int[n] to [n]."""
  maxima = np.zeros(sets.max(initial=-1) + 1)
  np.maximum.at(maxima, sets, values)
  return maxima[sets]
