"""Work in float32 or float64, independently of JAX's global default."""

import contextlib
import importlib
import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import jax
import numpy as np

from ps_cfr_spiel.arguments import check_option
from ps_cfr_spiel.backend.device.platforms import Device, on
from ps_cfr_spiel.options import DTYPES

Arrays = TypeVar("Arrays")
# JAX before 0.8 has it in its experimental part; newer versions removed it from there.
_enable_x64 = (jax if hasattr(jax, "enable_x64") else importlib.import_module("jax.experimental")).enable_x64
_nothing = contextlib.nullcontext()
# Newer versions of JAX have it in the second.
_traces = {**vars(importlib.import_module("jax.core")), **vars(importlib.import_module("jax.extend.core"))}
_trace_state = _traces["get_opaque_trace_state"]
with ThreadPoolExecutor(1) as _thread:  # a trace may import this, and is of its own thread
  _UNTRACED = _thread.submit(_trace_state).result()


def check_dtype(dtype: str) -> str:
  """The name of a dtype, one of `DTYPES`; ValueError for any other."""
  name = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", repr(dtype))
  return check_option("dtype", name, DTYPES)


@contextlib.contextmanager
def precision(dtype: str, device: Device | None = None) -> Iterator[None]:
  """A context for arrays of `dtype` and computations with them, with the same draws from a seed everywhere.

  They are `on` a device; None: on the one chosen around it, without one on the CPU.

  JAX_THREEFRY_PARTITIONABLE changes the numbers that a seed draws, so a run pins it. RuntimeError inside a
  function that JAX traces: what works in this context compiles its own code.
  """
  check_untraced()
  pinned = jax.threefry_partitionable(True) if hasattr(jax, "threefry_partitionable") else _nothing
  with _enable_x64(dtype == "float64"), pinned, on(device):
    yield


def check_untraced() -> None:
  """RuntimeError inside a function that JAX traces."""
  if _trace_state() != _UNTRACED:
    raise RuntimeError(
      "A solver, policy or evaluation is used inside a function that JAX traces (jit, vmap, grad); call it "
      "outside, or use cfr.iterate and tree.evaluation, which can be traced."
    )


def check_finite(what: str, arrays: object, dtype: str) -> None:
  """Raise FloatingPointError if a number left the range of `dtype`: if it is infinite or NaN.

  So is an exponent of 255, of uint8 (`cfr.sixteen_bits`).
  """
  with np.errstate(all="ignore"):
    for array in map(np.asarray, jax.tree.leaves(arrays)):
      if array.dtype == np.uint8:
        array = np.where(array.max(initial=0) == 255, np.inf, 0.0)
      if array.dtype.kind != "f" or math.isfinite(np.add.reduce(array, None)):
        continue
      extremes = array.min(initial=0), array.max(initial=0)  # finite if the sum alone leaves the range
      if not all(map(math.isfinite, extremes)):
        advice = "dtype='float64' may help" if dtype == "float32" else "the game may need another unit"
        raise FloatingPointError(f"{what}: numbers left the range of {dtype}; {advice}.")


def to_device(tree: Arrays, dtype: str) -> Arrays:
  """Copy a pytree of host arrays to the device, floats as `dtype`; call it within `precision`."""
  return jax.tree.map(lambda x: jax.device_put(in_dtype(x, dtype)), tree)


def in_dtype(tree: Arrays, dtype: str) -> Arrays:
  """A pytree of host arrays, floats as `dtype`: small ones go to the device sooner with a jitted call.

  An array that is there twice is converted once.
  """
  converted: dict[int, np.ndarray] = {}

  def convert(given):
    x = np.asarray(given)
    if not np.issubdtype(x.dtype, np.floating):
      return x
    if id(given) not in converted:
      converted[id(given)] = x.astype(dtype)
    return converted[id(given)]

  return jax.tree.map(convert, tree)


def bytes_of(tree: object) -> int:
  """Bytes of all arrays of a pytree; zeros of NumPy's take no memory before their use."""
  return sum(x.nbytes for x in jax.tree.leaves(tree))
