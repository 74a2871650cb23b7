"""Modules that hand on names of other packages, and import each when it is first used.

`lazy_loader` does so for the names of a package's own modules, from its `__init__.pyi`.
"""

import ast
import importlib
import operator
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

Module: TypeAlias = tuple[Callable[[str], object], Callable[[], list[str]], list[str]]


def on_first_use(module: str, file: str) -> Module:
  """`__getattr__`, `__dir__` and `__all__` of a module whose names are the imports in the stub beside it.

  Args:
    module: its `__name__`.
    file: its `__file__`; the stub has the suffix .pyi, and lines `from PACKAGE import NAME as NAME`.
  """
  stub = ast.parse(Path(file).with_suffix(".pyi").read_text())
  lines = [line for line in stub.body if isinstance(line, ast.ImportFrom)]
  packages = {alias.name: str(line.module) for line in lines for alias in line.names}

  def imported(name: str) -> object:
    if name not in packages:
      raise AttributeError(f"No {module} attribute {name}")
    thing = operator.attrgetter(name)(importlib.import_module(packages[name]))
    vars(sys.modules[module])[name] = thing  # the next use does not come here
    return thing

  return imported, lambda: sorted(packages), sorted(packages)
