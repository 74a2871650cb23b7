"""The scripts of benchmarks/ as modules, without the repository on the path: what is installed is tested."""

import importlib
import sys
import types
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "benchmarks"
NAMES = sorted(
  ".".join(path.relative_to(FOLDER.parent).with_suffix("").parts) for path in FOLDER.rglob("*.py")
)


def script(name):
  """The module of `python -m NAME`."""
  package = types.ModuleType("benchmarks")
  package.__path__ = [str(FOLDER)]
  sys.modules.setdefault("benchmarks", package)
  return importlib.import_module(name)
