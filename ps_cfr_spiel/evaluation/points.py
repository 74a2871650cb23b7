"""Measurements of a run, their schedule, and the table exploitability.csv."""

import csv
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ps_cfr_spiel.storage import replacing

Row = TypeVar("Row")


class Point(NamedTuple):
  """A measurement after some iterations; a line of exploitability.csv."""

  iteration: int  #: iterations done
  seconds: float  #: time they took, without compilation and evaluation
  exploitability: float  #: of the average strategy, in the game's utility
  value: float  #: of the average strategies to player 0, in the game's utility


ROUNDING = 1e-3  # of measurements in float32
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


def write_table(path: Path, columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
  """Write a table; an earlier one is replaced only by a complete one."""
  with replacing(path, newline="") as file:
    writer = csv.writer(file)
    writer.writerow(columns)
    writer.writerows(rows)


def read_table(path: Path, iteration: int, parse: Callable[[dict[str, str]], Row]) -> list[Row]:
  """The rows of an earlier run up to an iteration, as parsed; none without a file; ValueError for others."""
  if not path.exists():
    return []
  try:
    with open(path, newline="") as file:
      rows = [(int(float(row["iteration"])), parse(row)) for row in csv.DictReader(file)]
  except (KeyError, TypeError, ValueError, OverflowError, csv.Error) as error:
    raise ValueError(f"{path} is not a table of this program; move it away to resume.") from error
  return [row for number, row in rows if number <= iteration]


def write_points(path: Path, points: Sequence[Point]) -> None:
  """Write the table exploitability.csv."""
  rows = ((p.iteration, f"{p.seconds:.6f}", p.exploitability, p.value) for p in points)
  write_table(path, Point._fields, rows)


def read_points(path: Path, iteration: int) -> list[Point]:
  """The points of an earlier run in a file of `write_points`; see `read_table`."""
  return read_table(path, iteration, _point)


def _point(row: dict[str, str]) -> Point:
  """A measurement that a run can have, or ValueError; exploitability is negative by rounding alone."""
  iteration, *others = (float(row[name]) for name in Point._fields)
  point = Point(int(iteration), *others)
  least = -ROUNDING * max(abs(point.value), 1)
  if not all(map(math.isfinite, point)) or min(point[:2]) < 0 or point.exploitability < least:
    raise ValueError("a number is not finite, or is negative where it must not be")
  return point
