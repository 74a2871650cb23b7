"""Imports on first use: a name is imported with its file when it is first used (PEP 562).

JAX takes most of a second to import, and a look at a solved game does without it.
"""

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def on_first_use(room: str) -> Callable[[str], Any]:
  """The `__getattr__` of a package whose `__init__.py` imports its names for type checkers alone."""
  face = sys.modules[room]
  source = ast.parse(Path(str(face.__file__)).read_text(encoding="utf-8"))
  found = [node for node in ast.walk(source) if isinstance(node, ast.ImportFrom)]
  homes = {alias.name: str(node.module) for node in found for alias in node.names}

  def first_use(name: str) -> Any:
    if (home := homes.get(name)) is None:
      raise AttributeError(f"module {room!r} has no attribute {name!r}")
    if home == room:  # a file as a whole
      return importlib.import_module(f"{room}.{name}")
    there = importlib.import_module(home)
    for other in (other for other, its in homes.items() if its == home):
      setattr(face, other, getattr(there, other))  # also over a file of the same name
    return getattr(face, name)

  return first_use
