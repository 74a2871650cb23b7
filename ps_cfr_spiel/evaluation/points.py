"""Measurements of a run, their schedule, and the table exploitability.csv."""

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ps_cfr_spiel.storage import replacing


class Point(NamedTuple):
  """A measurement after some iterations; a line of exploitability.csv.

  Attributes:
    iteration: iterations done.
    seconds: time they took, without compilation and evaluation.
    exploitability: of the average strategy, in the game's utility.
    value: of the average strategies to player 0, in the game's utility.
  """

  iteration: int
  seconds: float
  exploitability: float
  value: float


ROUNDING = 1e-3  # of measurements in float32
MANY = tuple(range(10, 100, 5))  # 1, 2, ..., 10, 15, 20, ..., 100, 150, 200, ..., 1000, 1500, ...
ROUND = (10, 20, 50)  # 1, 2, 5, 10, 20, 50, ..., where measuring or printing is slow


def next_measurement(iteration: int, leading: Sequence[int] = MANY) -> int:
  """The first integer beyond `iteration` that is one of `leading` times or over a power of ten."""
  candidates = (digits * 10**power for power in range(len(str(iteration)) + 1) for digits in leading)
  return min(n // 10 for n in candidates if n % 10 == 0 and n // 10 > iteration)


def measurements(last: int, leading: Sequence[int] = MANY) -> list[int]:
  """All iterations to measure below `last`, and `last`."""
  found = [next_measurement(0, leading)]
  while found[-1] < last:
    found.append(next_measurement(found[-1], leading))
  return [*found[:-1], last]


def is_round(iteration: int) -> bool:
  """Whether it is one of 1, 2, 5, 10, 20, 50, ..."""
  return next_measurement(iteration - 1, ROUND) == iteration


def write_points(path: Path, points: Sequence[Point]) -> None:
  """Writes the table; an earlier one is replaced only by a complete one."""
  with replacing(path, newline="") as file:
    writer = csv.writer(file)
    writer.writerow(Point._fields)
    writer.writerows((p.iteration, f"{p.seconds:.6f}", p.exploitability, p.value) for p in points)


def read_points(path: Path, iteration: int) -> list[Point]:
  """The points of an earlier run in a file, up to an iteration; none without a file.

  Raises:
    ValueError: the file is not one of `write_points`.
  """
  if not path.exists():
    return []
  try:
    with open(path, newline="") as file:
      rows = [[float(row[name]) for name in Point._fields] for row in csv.DictReader(file)]
    points = [Point(int(row[0]), *row[1:]) for row in rows]
    if not all(map(_is_possible, points)):
      raise ValueError("a number is not finite, or is negative where it must not be")
  except (KeyError, TypeError, ValueError, OverflowError, csv.Error) as error:
    raise ValueError(f"{path} is not a table of this program; move it away to resume.") from error
  return [point for point in points if point.iteration <= iteration]


def _is_possible(point: Point) -> bool:
  """Whether a run can have this measurement; exploitability is negative by rounding alone."""
  least = -ROUNDING * max(abs(point.value), 1)
  return (
    all(map(math.isfinite, point))
    and min(point.iteration, point.seconds) >= 0
    and point.exploitability >= least
  )
