"""Numbers for repeated values in columns of integers, by counting where sorting would be slow.

An enumeration has millions of histories and few distinct values, so tables over all possible values are
small, and one pass over such a table takes a tenth of the time of a sort.
"""

import numpy as np

ROOM = 2  # places in a table for each value, at most
MOST = 2**62  # of a key made of two columns


def number_rows(*columns: np.ndarray) -> np.ndarray:
  """int32[n]: the number of distinct rows before each row of `columns`, int[n] each, in lexicographic order.

  The inverse of `np.unique`.
  """
  key = _ranks(columns[0])
  for column in columns[1:]:
    low, high = int(column.min(initial=0)), int(column.max(initial=0))
    if (int(key.max(initial=0)) + 1) * (high - low + 1) > MOST:
      column, low, high = _ranks(column), 0, len(column)
    both = key.astype(np.int64)  # changed in place: these columns are as long as the game
    both *= high - low + 1
    both += column
    both -= low
    key = _ranks(both)
  return key


def _ranks(values: np.ndarray) -> np.ndarray:
  """int32[n]: the number of distinct smaller values, for each value."""
  if not len(values):
    return np.zeros(0, np.int32)
  low, high = int(values.min()), int(values.max())
  if high - low > ROOM * len(values):
    order = np.argsort(values)
    ordered = values[order]
    begins = np.append(False, ordered[1:] != ordered[:-1])
    ranks = np.empty(len(values), np.int32)
    ranks[order] = np.cumsum(begins, dtype=np.int32)
    return ranks
  occurs = np.zeros(high - low + 1, bool)
  places = values - low if low else values
  occurs[places] = True
  below = np.cumsum(occurs, dtype=np.int32)
  below -= 1
  return below[places]


def number_by_appearance(numbers: np.ndarray) -> np.ndarray:
  """int32[n]: the same groups, not negative, numbered 0, 1, ... in the order of their first members."""
  first = first_members(numbers)
  begins = np.zeros(len(numbers), bool)
  begins[first[first >= 0]] = True
  return (np.cumsum(begins, dtype=np.int32) - 1)[first[numbers]]


def first_members(numbers: np.ndarray, count: int = 0) -> np.ndarray:
  """int32[count]: the first place of each number in int[n], not negative; -1 for one that does not occur.

  `count` is needed where the last numbers may not occur.
  """
  first = np.full(max(count, int(numbers.max(initial=-1)) + 1), -1, np.int32)
  # Written backwards: the first index stays.
  first[numbers[::-1]] = np.arange(len(numbers) - 1, -1, -1, dtype=np.int32)
  return first


def is_constant(groups: np.ndarray, *columns: np.ndarray) -> bool:
  """True if each of `columns`, int[n], is constant in each of `groups`, int[n], numbered from 0."""
  first = first_members(groups)
  return all(bool((values[first][groups] == values).all()) for values in columns)


def refine(groups: np.ndarray, *columns: np.ndarray) -> np.ndarray:
  """int32[n]: numbers that are equal where `groups`, int[n], numbered from 0, and all `columns` are equal."""
  for column in columns:  # mostly constant in each group: a look instead of a sort
    groups = groups if is_constant(groups, column) else number_rows(groups, column)
  return groups


def one_to_one(groups: np.ndarray, a: np.ndarray, b: np.ndarray) -> bool:
  """True if within each group a and b are in bijection; all int[n]."""
  return is_constant(number_rows(groups, a), b) and is_constant(number_rows(groups, b), a)
