"""The native library (`sweep.cc`, `walk.cc`): what is done in C++ on a CPU, loaded and handed to XLA.

It is built when the package is installed and a C++ compiler is at hand; `why_unavailable` says why not.
It needs no Python of a certain version, so it is loaded by ctypes and not imported.
"""

import ctypes
import functools
import logging
from pathlib import Path
from typing import Any

import jax
import numpy as np

HANDLERS = ("Sweep", "Down", "Up", "Rows")  # leaves of card games; a player's walks; sums of rows
BITS = {"float32": "32", "float64": "64"}  # at the end of a handler's name, in the library and in XLA alike


def handler(name: str, dtype: Any) -> str:
  """What XLA calls one of `HANDLERS` for arrays of a dtype."""
  return name + BITS[np.dtype(dtype).name]


def why_unavailable() -> str:
  """Why the library cannot be used here, "" if it can."""
  if jax.default_backend() != "cpu":
    return f"it runs on CPUs only, and JAX's default device is a {jax.default_backend()}"
  return _load()


@functools.cache
def _load() -> str:
  """Hands the library to XLA; what went wrong, which is said once, or ""."""
  path = Path(__file__).with_name("_sweep.abi3.so")
  try:
    library = ctypes.CDLL(str(path))
    jax.local_devices(backend="cpu")  # XLA is running: it says now if it cannot work with the library
    for name in (handler(kind, dtype) for kind in HANDLERS for dtype in BITS):
      jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(getattr(library, name)), platform="cpu")
  except (OSError, AttributeError, RuntimeError) as error:
    reason = f"its library cannot be used ({error})" if path.exists() else "it was not built"
    logging.getLogger(__name__).info("No native library: %s. XLA does its work.", reason)
    return reason
  return ""
