"""The tables with which a run begins: all infostates alike, large arrays on large pages."""

import math

import jax
import numpy as np

from ps_cfr_spiel.backend.array_shapes import Shaped
from ps_cfr_spiel.backend.device import jit
from ps_cfr_spiel.backend.native import call, call_directly, why_unavailable
from ps_cfr_spiel.tree import Array

LARGE_PAGES = 8 * 2**20  # bytes of an array from which on it begins on large pages


def filled_array(values: Shaped[Array, "..."], shape: tuple[int, ...]) -> Shaped[Array, "..."]:
  """An array of values that differ along the first axis alone.

  A large one is on the device; another is a view of the values, so that the host has no copy.
  """
  if values.dtype.itemsize * math.prod(shape) >= LARGE_PAGES and not why_unavailable():
    return _on_large_pages(values, shape)
  return np.broadcast_to(np.asarray(values), shape)


@jit(static_argnames="shape")
def _on_large_pages(values: Shaped[Array, "..."], shape: tuple[int, ...]) -> Shaped[jax.Array, "..."]:
  return call("Filled", "float32", [values], [jax.ShapeDtypeStruct(shape, values.dtype)])[0]


def filled_on_host(values: Shaped[np.ndarray, "..."], shape: tuple[int, ...]) -> Shaped[np.ndarray, "..."]:
  """The same as `filled_array` in NumPy's own memory, without a program of XLA."""
  if values.dtype.itemsize * math.prod(shape) < LARGE_PAGES or why_unavailable():
    return np.broadcast_to(values, shape).copy()
  array = np.empty(shape, values.dtype)
  call_directly("Filled", "float32", [values], [array])
  return array
