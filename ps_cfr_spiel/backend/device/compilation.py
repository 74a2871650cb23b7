"""The compilation of the long loops: `jax.jit`, without a part of XLA's CPU backend that slows them down.

The loops are hundreds of small kernels. Without XLA's "fusion emitters" they compile in half the time
and a third of the memory, and run up to twice as fast in small games.

Use `jit` for loops over iterations and for passes through a whole tree; plain `jax.jit` is enough for small
functions. Only the outermost of nested jitted functions may have compiler options, so inside a trace (of
`jax.jit`, `jax.vmap`, `jax.grad`) `jit` is plain `jax.jit`. The time of compilation is known
(`uncompiled_seconds`), so that limits of time need not count it.
"""

import contextlib
import ctypes
import functools
import threading
import time
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import jax
from jax.core import Tracer

Given = ParamSpec("Given")
Result = TypeVar("Result")
OPTIONS = {"xla_cpu_use_fusion_emitters": False}  # ignored by other backends


class _Compiling(threading.local):
  """The time that this thread has compiled."""

  seconds = 0.0


_compiling = _Compiling()


def uncompiled_seconds() -> float:
  """A clock in seconds that stands still while this thread compiles functions of `jit`."""
  return time.monotonic() - _compiling.seconds


_refused = False  # whether this process's XLA has refused `OPTIONS`


def compiler_options() -> dict[str, bool] | None:
  """`OPTIONS`, or None once XLA has refused them."""
  return None if _refused else OPTIONS


def _refuses_options() -> bool:
  """True if this JAX does not know `OPTIONS`; XLA's options come and go.

  It compiles something small with them, which is too slow for every start: ask after an error.
  """
  global _refused
  try:
    jax.jit(lambda: None, compiler_options=OPTIONS)()
  except Exception:  # XLA's own error class has changed its name between versions
    _refused = True
  return _refused


def trim_heap() -> None:
  """Return free heap memory to the system, where the C library is glibc; takes some milliseconds.

  The C library keeps freed memory for later allocations. Compiling takes a hundred megabytes in small pieces,
  in all threads, and the large tables of the solver do not fit into the holes.
  """
  with contextlib.suppress(AttributeError, OSError, TypeError):
    ctypes.CDLL(None).malloc_trim(0)


def jit(**options: Any) -> Callable[[Callable[Given, Result]], Callable[Given, Result]]:
  """Decorate like `jax.jit`, with `OPTIONS` outside of a trace; `options` are `jax.jit`'s.

  A JAX that does not know the options compiles without them, after the error of the first attempt.
  """

  def decorate(function: Callable[Given, Result]) -> Callable[Given, Result]:
    inside = jax.jit(function, **options)
    compilations = 0

    @functools.wraps(function)
    def counted(*args: Given.args, **kwargs: Given.kwargs) -> Result:
      nonlocal compilations
      compilations += 1  # Python runs the body only while JAX traces it, to compile it
      return function(*args, **kwargs)

    @functools.cache
    def outermost(refused: bool):
      return jax.jit(counted, compiler_options=None if refused else OPTIONS, **options)

    @functools.wraps(function)
    def call(*args: Given.args, **kwargs: Given.kwargs) -> Result:
      traced = any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves((args, kwargs)))
      if traced:
        return inside(*args, **kwargs)
      before, began = compilations, time.monotonic()
      try:
        results = outermost(_refused)(*args, **kwargs)
      except Exception:
        if _refused or not _refuses_options():
          raise
        results = outermost(_refused)(*args, **kwargs)
      if compilations > before:
        trim_heap()  # memory of the compilation
        _compiling.seconds += time.monotonic() - began
      return results

    return call

  return decorate
