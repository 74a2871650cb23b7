"""What benchmarks measured for their pictures, kept in benchmarks/data: a new style needs no new run.

A script draws its picture again with the same --plot and --redraw.
"""

import argparse
import json
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"


def add_flags(parser: argparse.ArgumentParser, what: str) -> None:
  """Adds --plot, and --redraw."""
  parser.add_argument("--plot", help=f"file to draw {what} to; the figures are kept under its name")
  parser.add_argument("--redraw", action="store_true", help="run nothing: draw what the last run kept")


def keep(picture: str | Path, found: Any) -> None:
  """Keeps a picture's figures, as JSON: numbers to six digits, arrays and tuples as lists, keys as text."""
  DATA.mkdir(exist_ok=True)
  _file(picture).write_text(json.dumps(_plain(found)) + "\n")


def kept(picture: str | Path) -> Any:
  """The figures that the last run for a picture of this name kept."""
  return json.loads(_file(picture).read_text())


def _file(picture: str | Path) -> Path:
  return DATA / f"{Path(picture).stem}.json"


def _plain(found: Any) -> Any:
  if hasattr(found, "tolist"):
    found = found.tolist()
  if isinstance(found, dict):
    return {str(key): _plain(value) for key, value in found.items()}
  if isinstance(found, list | tuple):
    return [_plain(value) for value in found]
  return float(f"{found:.6g}") if isinstance(found, float) else found
