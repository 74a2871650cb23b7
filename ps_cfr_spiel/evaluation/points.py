"""What was measured of a run: when to measure, and the table exploitability.csv."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple


class Point(NamedTuple):
  """A line of exploitability.csv.

  Attributes:
    iteration: iterations done.
    seconds: time they took, without compilation and evaluation.
    exploitability: of the average strategy, in the game's unit.
    value: to player 0, in the game's unit.
  """

  iteration: int
  seconds: float
  exploitability: float
  value: float


def next_measurement(iteration: int) -> int:
  """The first of 1, 2, ..., 10, 15, 20, ..., 100, 150, 200, ..., 1000, 1500, ... beyond `iteration`."""
  step = 5 * 10 ** (len(str(iteration)) - 2) if iteration >= 10 else 1
  return iteration - iteration % step + step


def is_round(iteration: int) -> bool:
  """Is it 1, 2, 5, 10, 20, 50, ...?"""
  digits = str(iteration)
  return digits[0] in "125" and not digits[1:].strip("0")


def write_points(path: Path, points: Sequence[Point]) -> None:
  """Writes the table; an earlier one is replaced only by a complete one."""
  part = path.with_suffix(".part")
  with open(part, "w", newline="") as file:
    writer = csv.writer(file)
    writer.writerow(Point._fields)
    writer.writerows((p.iteration, f"{p.seconds:.6f}", p.exploitability, p.value) for p in points)
  part.replace(path)


def read_points(path: Path, iteration: int) -> list[Point]:
  """The points that an earlier run left in a file, up to an iteration; none if there is no file.

  Raises:
    ValueError: the file is not one of `write_points`.
  """
  if not path.exists():
    return []
  try:
    with open(path, newline="") as file:
      rows = [[float(row[name]) for name in Point._fields] for row in csv.DictReader(file)]
  except (KeyError, TypeError, ValueError) as error:
    raise ValueError(f"{path} is not a table of this program; move it away to resume.") from error
  points = [Point(int(row[0]), *row[1:]) for row in rows]
  return [point for point in points if point.iteration <= iteration]
