"""Working in float32 or float64, whatever JAX's global default is."""

import contextlib
import importlib
from typing import Any

import jax
import numpy as np

from ps_cfr_spiel.arguments import check_option

DTYPES = ("float32", "float64")


def check_dtype(dtype: str) -> str:
  """The dtype's name, one of `DTYPES`, or ValueError."""
  name = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", repr(dtype))
  return check_option("dtype", name, DTYPES)


def precision(dtype: str) -> contextlib.AbstractContextManager:
  """A context in which arrays of `dtype` can be made and computed with."""
  if hasattr(jax, "enable_x64"):
    return jax.enable_x64(dtype == "float64")
  # Experimental in JAX before 0.8, and gone from there since.
  return importlib.import_module("jax.experimental").enable_x64(dtype == "float64")


def to_device(tree: Any, dtype: str) -> Any:
  """Copies a pytree of host arrays to the device, floats as `dtype`; call it within `precision`."""

  def convert(x):
    x = np.asarray(x)
    return jax.device_put(x.astype(dtype) if np.issubdtype(x.dtype, np.floating) else x)

  return jax.tree.map(convert, tree)
