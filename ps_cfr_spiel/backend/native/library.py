"""The native library: its loading, and calls of its kernels (`kernels.py`).

Installation builds it, one extension of the C++ files beside this one, where there is a C++ compiler;
`why_unavailable` gives the reason where it is missing. Ctypes loads it, since it works with any version of
Python.
"""

import ctypes
import functools
import logging
import warnings
from _ctypes import CFuncPtr
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import jax
import numpy as np
from jax.typing import ArrayLike, DTypeLike

from ps_cfr_spiel.backend.device import platform
from ps_cfr_spiel.backend.native.kernels import INTERFACE, KERNELS
from ps_cfr_spiel.options import CPU

FOLDER = Path(__file__).parent  #: of the sources in C++, and of the library where it was built
LIBRARY = FOLDER / "_native.abi3.so"
REBUILD = "python setup.py build_ext --inplace"  #: in a checkout, whose library an editable installation uses
BITS = {"float32": "32", "float64": "64"}  # at the end of a handler's name, in the library and in XLA alike


def why_unavailable() -> str:
  """The reason why the library cannot be used here, "" if it can."""
  if platform() != CPU:
    return f"it runs on CPUs only, and this is for a {platform()}"
  return _load(LIBRARY)


@functools.cache  # once a process
def warn_if_missing() -> None:
  """Warn that a CPU has to do without the library, and of what that costs."""
  if platform() == CPU and (reason := why_unavailable()):
    warnings.warn(
      f"The native library is missing: {reason}. XLA does its work: rivers take some seven times longer, and "
      "flops several times the memory. Build it with a C++ compiler: pip install -e . in the checkout, or "
      "install the source archive again with pip's --force-reinstall --no-deps --no-cache-dir.",
      stacklevel=2,
    )


def call(
  name: str,
  dtype: DTypeLike,
  given: Sequence[ArrayLike],
  results: Sequence[jax.Array | np.ndarray | jax.ShapeDtypeStruct],
  vmap_method: str | None = None,
  numbers: Mapping[str, float] | None = None,
  changed: dict[int, int] | None = None,
) -> list[jax.Array]:
  """Call a kernel in a trace: arrays of the shapes and dtypes of `results`.

  Numbers go to the kernel by name, in 64 bits. `changed` has the number among `given` of each array whose
  memory a result takes over, if XLA allows, and the number of that result. `vmap_method` is that of
  `jax.ffi.ffi_call`.
  """
  shapes = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in results]
  custom_call = jax.ffi.ffi_call(
    _handler(name, dtype), shapes, vmap_method=vmap_method, input_output_aliases=changed
  )
  typed = {key: np.float64(x) if isinstance(x, float) else np.int64(x) for key, x in (numbers or {}).items()}
  return list(custom_call(*given, **typed))


def call_plain(name: str, *given: np.ndarray | list[np.ndarray] | int) -> None:
  """Call a kernel that is no custom call, while other threads of Python run on.

  It takes contiguous arrays of NumPy by their address, a list of them by an array of addresses, and integers
  in 64 bits. RuntimeError in the library's words.
  """
  plain_function(name)(*map(_typed, given))


def address_of(array: np.ndarray) -> int:
  """The address of an array's first number, in a third of the time of `array.ctypes`."""
  return array.__array_interface__["data"][0]


def handler(name: str, dtype: DTypeLike) -> CFuncPtr:
  """The handler of a custom call."""
  return _functions(LIBRARY)[_handler(name, dtype)]


def plain_function(name: str) -> Callable[..., None]:
  """A function of the library that is no custom call; it raises a RuntimeError in the library's words."""
  plain = _functions(LIBRARY)[name]
  plain.restype = ctypes.c_char_p

  def checked(*given: object) -> None:
    if (words := plain(*given)) is not None:
      raise RuntimeError(words.decode())

  return checked


def _typed(x: np.ndarray | list[np.ndarray] | int) -> ctypes.c_void_p | ctypes.Array | ctypes.c_int64:
  if isinstance(x, np.ndarray):
    return ctypes.c_void_p(x.ctypes.data)
  if isinstance(x, list):
    return (ctypes.c_void_p * len(x))(*(array.ctypes.data for array in x))
  return ctypes.c_int64(x)


def _handler(name: str, dtype: DTypeLike) -> str:
  return name + BITS[np.dtype(dtype).name]


@functools.cache
def _functions(path: Path) -> ctypes.CDLL:
  return ctypes.CDLL(str(path))


def _check_interface(functions: ctypes.CDLL) -> None:
  """RuntimeError if the library was built from sources of another interface version."""
  try:
    version = functions.InterfaceVersion()
  except AttributeError:  # older than the first version
    version = 0
  if version != INTERFACE:
    raise RuntimeError(
      f"it has version {version} of the interface, and this package needs version {INTERFACE}; build it "
      f"again in the checkout: {REBUILD}"
    )


@functools.cache
def _load(path: Path) -> str:
  """Hand the kernels to XLA. Returns, and logs once, the reason of a failure; "" for success."""
  try:
    functions = _functions(path)
    _check_interface(functions)
    jax.local_devices(backend="cpu")  # starts XLA, which fails here if it cannot work with the library
    for kernel in KERNELS.values():
      if not kernel.custom_call:
        functions[kernel.name]
        continue
      for name in (_handler(kernel.name, dtype) for dtype in BITS):
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(functions[name]), platform="cpu")
  except (OSError, AttributeError, RuntimeError) as error:
    reason = f"its library cannot be used ({error})" if path.exists() else "it was not built"
    logging.getLogger(__name__).info("No native library: %s. XLA does its work.", reason)
    return reason
  return ""
