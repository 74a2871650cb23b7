"""The tables of the program's runs: exploitability.csv of solve, training.csv of train."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import ps_cfr_spiel as ps
from ps_cfr_spiel.storage import replacing

Row = TypeVar("Row")
ROUNDING = 1e-3  # of measurements in float32


def write_table(path: Path, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
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


def write_points(path: Path, points: Sequence[ps.measures.Point]) -> None:
  """Write the table exploitability.csv."""
  rows = ((p.iteration, f"{p.seconds:.6f}", p.exploitability, p.value) for p in points)
  write_table(path, ps.measures.Point._fields, rows)


def read_points(path: Path, iteration: int) -> list[ps.measures.Point]:
  """The points of an earlier run in a file of `write_points`; see `read_table`."""
  return read_table(path, iteration, _point)


def _point(row: dict[str, str]) -> ps.measures.Point:
  """A measurement that a run can have, or ValueError; exploitability is negative by rounding alone."""
  iteration, *others = (float(row[name]) for name in ps.measures.Point._fields)
  point = ps.measures.Point(int(iteration), *others)
  least = -ROUNDING * max(abs(point.value), 1)
  if not all(map(math.isfinite, point)) or min(point[:2]) < 0 or point.exploitability < least:
    raise ValueError("a number is not finite, or is negative where it must not be")
  return point
