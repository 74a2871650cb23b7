"""Checks by beartype of the shapes that jaxtyping annotates, in all of some packages."""

import functools
import importlib
import inspect
import pkgutil
import sys
import typing

import jaxtyping
from beartype import BeartypeConf, beartype

ANNOTATIONS = "ps_cfr_spiel.backend.array_shapes"  # plain ones, in whose place jaxtyping is put
NUMBERS = BeartypeConf(is_pep484_tower=True)  # an int is a float, too


def check(function):
  """The function, checked; what JAX makes of a class is not, for a pytree may hold anything then."""
  function.__annotations__ = {name: _plain(hint) for name, hint in function.__annotations__.items()}
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


def _plain(hint):
  """The annotation with tuples for generic named tuples, which beartype does not know."""
  kind = typing.get_origin(hint) or hint
  if kind is tuple:
    return tuple[tuple(_plain(part) for part in typing.get_args(hint))] if typing.get_args(hint) else hint
  generic = inspect.isclass(kind) and issubclass(kind, tuple) and issubclass(kind, typing.Generic)
  return tuple if generic else hint


def install(packages):
  """Check the functions, dataclasses and named tuples of these packages, which are imported."""
  assert ANNOTATIONS not in sys.modules, "the package was imported before its annotations"
  sys.modules[ANNOTATIONS] = jaxtyping
  names = [f"ps_cfr_spiel.{package}" for package in packages]
  jaxtyping.install_import_hook(names, "shape_checks.check")
  for name in names:
    for module in pkgutil.iter_modules(importlib.import_module(name).__path__, name + "."):
      for kind in vars(importlib.import_module(module.name)).values():
        if inspect.isclass(kind) and issubclass(kind, tuple) and kind.__module__ == module.name:
          _check_tuple(kind)


def _check_tuple(kind):
  """The import hook does not check named tuples; a generic one may hold other things, such as specs."""
  if not issubclass(kind, typing.Generic) and not any(
    isinstance(x, str) for x in kind.__annotations__.values()
  ):
    kind.__new__ = jaxtyping.jaxtyped(kind.__new__, typechecker=check)
