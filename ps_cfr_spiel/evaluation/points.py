"""Measurements of a run, and their schedule."""

from collections.abc import Sequence
from typing import NamedTuple


class Point(NamedTuple):
  """A measurement after some iterations."""

  iteration: int  #: iterations done
  seconds: float  #: time they took, without compilation and evaluation
  exploitability: float  #: of the average strategy, in the game's utility
  value: float  #: of the average strategies to player 0, in the game's utility


MANY = tuple(range(10, 100, 5))  # 1, 2, ..., 10, 15, 20, ..., 100, 150, 200, ..., 1000, 1500, ...
ROUND = (10, 20, 50)  # 1, 2, 5, 10, 20, 50, ..., where measuring or printing is slow


def next_measurement(iteration: int, leading: Sequence[int] = MANY) -> int:
  """The first integer beyond `iteration` that is one of `leading` times or over a power of ten."""
  candidates = (digits * 10**power for power in range(len(str(iteration)) + 1) for digits in leading)
  return min(n // 10 for n in candidates if n % 10 == 0 and n // 10 > iteration)


def measurements(last: int, leading: Sequence[int] = MANY) -> list[int]:
  """All iterations to measure below `last`, and `last`."""
  marks = [next_measurement(0, leading)]
  while marks[-1] < last:
    marks.append(next_measurement(marks[-1], leading))
  return [*marks[:-1], last]


def is_round(iteration: int) -> bool:
  """Whether it is one of 1, 2, 5, 10, 20, 50, ..."""
  return next_measurement(iteration - 1, ROUND) == iteration
