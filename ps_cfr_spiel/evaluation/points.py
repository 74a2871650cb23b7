"""Measurements of a run, and their schedule."""

import math
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


def next_measurement_towards(target: float, points: Sequence[Point], iteration: int) -> int:
  """`next_measurement`, or before it where exploitability is expected to reach a target.

  It is expected to fall as a power of the iterations, the one by which it fell from half of them to the last
  of `points`. A forecast that fails is followed by the next no sooner than a twentieth later.
  """
  mark = next_measurement(iteration)
  if not points:
    return mark
  last = points[-1]
  half = next((point for point in reversed(points) if 2 * point.iteration <= last.iteration), None)
  if half is None or not 0 < target < last.exploitability < half.exploitability:
    return mark
  fall = math.log(half.exploitability / last.exploitability) / math.log(last.iteration / half.iteration)
  growth = math.log(last.exploitability / target) / fall  # that of the logarithm of iterations
  if growth >= math.log(mark / last.iteration):
    return mark
  expected = math.ceil(last.iteration * max(math.exp(growth), 1.05))
  return expected if iteration < expected < mark else mark  # passed, where measuring is slow


def measurements(last: int, leading: Sequence[int] = MANY) -> list[int]:
  """All iterations to measure below `last`, and `last`."""
  marks = [next_measurement(0, leading)]
  while marks[-1] < last:
    marks.append(next_measurement(marks[-1], leading))
  return [*marks[:-1], last]


def is_round(iteration: int) -> bool:
  """Whether it is one of 1, 2, 5, 10, 20, 50, ..."""
  return next_measurement(iteration - 1, ROUND) == iteration
