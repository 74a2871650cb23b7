"""A library of C++ functions on arrays: its loading, and the names of its functions in XLA.

Installation builds it, beside the Python file that calls it, where there is a C++ compiler; `why_unavailable`
gives the reason where it is missing. Ctypes loads it, since it works with any version of Python.
"""

import ctypes
import dataclasses
import functools
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

BITS = {"float32": "32", "float64": "64"}  # at the end of a handler's name, in the library and in XLA alike


def handler(name: str, dtype: Any) -> str:
  """The name of a library's handler for arrays of a dtype."""
  return name + BITS[np.dtype(dtype).name]


def call(
  name: str,
  dtype: Any,
  given: Sequence[Any],
  results: Sequence[Any],
  vmap_method: str,
  numbers: Mapping[str, float] | None = None,
  changed: dict[int, int] | None = None,
) -> list[Any]:
  """Call a library's handler in a trace: arrays of the shapes and dtypes of `results`.

  Numbers go to the handler by name, in 64 bits. `changed` has the number among `given` of each array whose
  memory a result takes over, if XLA allows, and the number of that result.
  """
  shapes = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in results]
  function = jax.ffi.ffi_call(
    handler(name, dtype), shapes, vmap_method=vmap_method, input_output_aliases=changed
  )
  typed = {key: np.float64(x) if isinstance(x, float) else np.int64(x) for key, x in (numbers or {}).items()}
  return list(function(*given, **typed))


@dataclasses.dataclass(frozen=True)
class Library:
  """A native library, custom calls of XLA on a CPU."""

  path: Path  #: the file
  handlers: tuple[str, ...]  #: names of its functions, each of which exists for every dtype of `BITS`

  def why_unavailable(self) -> str:
    """The reason why the library cannot be used here, "" if it can."""
    if jax.default_backend() != "cpu":
      return f"it runs on CPUs only, and JAX's default device is a {jax.default_backend()}"
    return _load(self)

  def function(self, name: str) -> Any:
    """A plain C function of the library, which is available."""
    return getattr(ctypes.CDLL(str(self.path)), name)


@functools.cache
def _load(library: Library) -> str:
  """Hand a library to XLA. Returns, and logs once, the reason of a failure; "" for success."""
  try:
    functions = ctypes.CDLL(str(library.path))
    jax.local_devices(backend="cpu")  # starts XLA, which fails here if it cannot work with the library
    for name in (handler(kind, dtype) for kind in library.handlers for dtype in BITS):
      jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(getattr(functions, name)), platform="cpu")
  except (OSError, AttributeError, RuntimeError) as error:
    reason = f"its library cannot be used ({error})" if library.path.exists() else "it was not built"
    logging.getLogger(__name__).info("No native library: %s. XLA does its work.", reason)
    return reason
  return ""
