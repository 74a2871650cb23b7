"""Checks by beartype of the shapes that jaxtyping annotates, in all of some packages."""

import functools
import importlib
import inspect
import pkgutil
import sys

import jaxtyping
from beartype import BeartypeConf, beartype

NUMBERS = BeartypeConf(is_pep484_tower=True)  # an int is a float, too


def check(function):
  """The function, checked; what JAX makes of a class is not, for a pytree may hold anything then."""
  checked = beartype(function, conf=NUMBERS)
  if function.__name__ not in ("__init__", "__new__"):
    return checked

  @functools.wraps(function)
  def of_ours(*args, **kwargs):
    frame = sys._getframe(1)
    while frame.f_globals["__name__"].split(".")[0] in ("jaxtyping", "beartype", __name__):
      frame = frame.f_back
    if frame.f_code.co_name == "<lambda>":  # by which `PublicTree` is a pytree
      frame = frame.f_back
    return None if frame.f_globals["__name__"].split(".")[0] == "jax" else checked(*args, **kwargs)

  return of_ours


def install(packages):
  """Check the functions, dataclasses and named tuples of these packages, which are imported."""
  names = [f"ps_cfr_spiel.{package}" for package in packages]
  jaxtyping.install_import_hook(names, "shape_checks.check")
  for name in names:
    for module in pkgutil.iter_modules(importlib.import_module(name).__path__, name + "."):
      for kind in vars(importlib.import_module(module.name)).values():
        if inspect.isclass(kind) and issubclass(kind, tuple) and kind.__module__ == module.name:
          _check_tuple(kind)


def _check_tuple(kind):
  """Of named tuples the hook knows nothing."""
  if not any(isinstance(x, str) for x in kind.__annotations__.values()):
    kind.__new__ = jaxtyping.jaxtyped(kind.__new__, typechecker=check)
