"""Splits of partitions, against plain Python on sets of cells."""

import numpy as np
import pytest

from ps_cfr_spiel.abstraction.partitions import Partition, entries, split
from ps_cfr_spiel.abstraction.refine import (
  certain,
  disagreement,
  largest,
  sample,
  without_largest,
)


def random_partition(rng, cells=40, sets=6):
  numbers = rng.integers(-1, sets, cells)
  numbers[:sets] = np.arange(sets)
  bucket = rng.integers(0, 2, sets)
  column = np.array([1 + int((bucket[:n] == bucket[n]).sum()) for n in range(sets)])
  return Partition(*(x.astype(np.int32) for x in (numbers, bucket, column, np.arange(sets))))


def groups_of(parts):
  return {frozenset(np.flatnonzero(parts.sets == n).tolist()) for n in range(parts.count)}


@pytest.mark.parametrize("seed", range(20))
def test_split(seed):
  rng = np.random.default_rng(seed)
  parts = random_partition(rng)
  real = np.flatnonzero(parts.sets >= 0)
  cells = rng.choice(real, rng.integers(1, len(real)), replace=False)
  groups = rng.integers(0, 3, len(cells))
  refined, moves = split(parts, cells, groups)
  expected = set()
  for old in groups_of(parts):
    pairs = [(c, g) for c, g in zip(cells.tolist(), groups, strict=True) if c in old]
    leaving = [frozenset(c for c, g in pairs if g == k) for k in range(3)]
    expected |= {part for part in (*leaving, old - frozenset().union(*leaving)) if part}
  assert groups_of(refined) == expected
  assert all(groups_of(refined))  # no set is empty
  assert ((refined.sets < 0) == (parts.sets < 0)).all()
  assert refined.count == parts.count + len(moves)
  for old, new in moves.tolist():
    assert (refined.bucket[new], refined.origin[new]) == (parts.bucket[old], parts.origin[old])
  for bucket in (0, 1):  # columns are those of the tables: each once, without a gap
    here = refined.bucket == bucket
    assert sorted(refined.column[here]) == list(range(1, here.sum() + 1))


def test_the_largest_group_stays():
  parts = Partition(np.zeros(7, np.int32), *(np.zeros(1, np.int32) for _ in range(3)))
  cells, groups = np.array([0, 1, 2, 3, 4]), np.array([5, 2, 2, 7, 5])
  leave = without_largest(parts, cells, groups)
  assert cells[leave].tolist() == [0, 3, 4]  # of the two groups of two, the first


@pytest.mark.parametrize("seed", range(5))
def test_sample(seed):
  rng = np.random.default_rng(seed)
  both = [random_partition(rng), random_partition(rng)]
  shared = [np.flatnonzero((p.sets >= 0) & (p.sizes[p.sets] > 1)) for p in both]
  assert [x.tolist() for x in sample(rng, both, 1000)] == [x.tolist() for x in shared]
  chosen = sample(rng, both, 15)
  assert sum(map(len, chosen)) == 15
  assert all(set(c.tolist()) <= set(s.tolist()) for c, s in zip(chosen, shared, strict=True))
  torn = []  # all sets but one are sampled whole or not at all
  for p, c in zip(both, chosen, strict=True):
    torn += [n for n in np.unique(p.sets[c]) if (p.sets[c] == n).sum() != p.sizes[n]]
  assert len(torn) <= 1
  assert sum(map(len, sample(rng, both, 0))) == 0


def test_who_is_alone_is_not_sampled():
  parts = Partition(np.array([0, 1, 2, 1, -1], np.int32), *(np.arange(3, dtype=np.int32) for _ in range(3)))
  for most in (1, 2, 9):
    (chosen,) = sample(np.random.default_rng(0), [parts], most)
    assert len(chosen) == min(most, 2) and set(chosen.tolist()) <= {1, 3}


def test_who_is_alone_stays():
  parts = Partition(np.array([0, 1, 2, 1], np.int32), *(np.arange(3, dtype=np.int32) for _ in range(3)))
  refined, moves = split(parts, np.array([0, 1, 2]), np.arange(3))
  assert refined.sets.tolist() == [0, 3, 2, 1] and moves.tolist() == [[1, 3]]


def test_sets_are_sampled_uniformly():
  parts = Partition(np.array([0] * 18 + [1, 1], np.int32), *(np.arange(2, dtype=np.int32) for _ in range(3)))
  rng = np.random.default_rng(0)
  count = np.zeros(20)
  for _ in range(4000):
    count[sample(rng, [parts], 2)[0]] += 1
  assert count[18:] / 4000 == pytest.approx([0.5, 0.5], abs=0.04)  # half of the time the small set


def test_disagreement():
  """Table 1 of the paper: each time both members want the same action, so the heuristic sees nothing."""
  for values in ([[0, 1], [0, 10]], [[10, 0], [1, 0]]):
    regrets = np.array(values, float) - np.mean(values, axis=1, keepdims=True)
    assert len(set(disagreement(regrets, np.full(2, 0.2)))) == 1
  regrets = np.array([[1.0, 0.9, -np.inf], [1.0, 0.7, -np.inf], [-1.0, -2.0, -np.inf]])
  assert disagreement(regrets, np.full(3, 0.2)).tolist() == [1, 0, 1]  # nothing to gain: all are best


def test_entries():
  tables = [np.arange(6.0).reshape(2, 3, 1), np.arange(12.0).reshape(3, 2, 2)]
  assert entries(tables, np.array([2, 3, 6]), -1.0).tolist() == [[2, 5, -1], [0, 4, 8], [3, 7, 11]]


def test_largest():
  assert largest(np.array([1.0, 5.0, -2.0, 3.0]), np.array([4, 4, 7, 0])).tolist() == [5, 5, 0, 3]


def test_best_actions_are_certain_where_estimates_agree():
  """Eight estimates each of an infostate that is better off with one action, of one with noise, of a tie."""
  rng = np.random.default_rng(0)
  means, noise = (
    np.array([[1.0, 0.0, -np.inf], [1.0, 0.0, -np.inf], [0.4, 0.4, 0.0]]),
    np.array([0.1, 20, 0.1]),
  )
  estimates = means + noise[:, None] * rng.normal(size=(8, 3, 3))
  assert certain(estimates, np.full(3, 0.2)).tolist() == [True, False, True]
  edge = estimates[:, :1].mean(0)[0, :2]
  assert not certain(estimates[:, :1], np.array([edge.max() - edge.min()])).any()


def test_without_noise_all_is_certain():
  """Then splits are those of whole traversals."""
  means = np.array([[1.0, 0.0, -np.inf], [0.0, 0.0, 0.0], [-1.0, -2.0, -np.inf]])
  assert certain(np.stack([means] * 8), np.full(3, 0.2)).all()
