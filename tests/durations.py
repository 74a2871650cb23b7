"""Recorded times of tests: durations.json names the slow ones, `python -m pytest -m "" --record` writes it.

A time is processor time, fixtures and child processes included: a busy machine changes that little. All
parametrisations of a test function count together: a law is quick or slow as a whole.
"""

import ast
import json
import os
from pathlib import Path

FOLDER = Path(__file__).parent
SLOW = 0.7  # seconds
LONG = 20  # seconds: two workers share the rest evenly if they start with these
elsewhere = 0.0  # seconds of children of a process that goes on, which has waited for them


def processor_time():
  """Seconds of this process, of the children that it has waited for, and `elsewhere`."""
  return sum(os.times()[:4]) + elsewhere


def function(nodeid):
  """The name of a test function, `room/test_file.py::test_name`, of a test's id."""
  return nodeid.removeprefix("tests/").partition("[")[0]


def functions(folder=FOLDER):
  """The names of all test functions below a folder."""
  return {
    f"{path.relative_to(folder).as_posix()}::{node.name}"
    for path in folder.rglob("test_*.py")
    for node in ast.parse(path.read_text()).body
    if isinstance(node, ast.FunctionDef)
  }


def recorded(folder=FOLDER):
  """{test function: seconds} of the slow ones."""
  return json.loads((folder / "durations.json").read_text())


def record(spent, folder=FOLDER):
  """Enters {test function: seconds}; test functions that no longer exist leave the file.

  Two digits suffice, and leave most lines as they were.
  """
  slow = {
    name: float(f"{seconds:.2g}") for name, seconds in {**recorded(folder), **spent}.items() if seconds > SLOW
  }
  kept = {name: slow[name] for name in sorted(functions(folder) & {*slow})}
  (folder / "durations.json").write_text(json.dumps(kept, indent=0) + "\n")
