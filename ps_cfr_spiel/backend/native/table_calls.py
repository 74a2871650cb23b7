"""Calls of kernels that take iterations on tables: in a trace by XLA, or directly on memory of the host.

A program of XLA takes some 0.1 ms to start, for it has dozens of arguments; ten iterations of a small game
take less. So a run outside of a trace calls the kernel itself (`direct.cc`), whose results are the same.
"""

import ctypes
import dataclasses
import threading
from collections.abc import Sequence

import jax
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Float, Int, Shaped

from ps_cfr_spiel.backend.native.library import address_of, call, function

Array = np.ndarray | jax.Array
ROOM = 1000  # letters of an error's text


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class TableCall:
  """A kernel with all that it is given but the number of iterations, their numbers, and the tables."""

  before: tuple[Array, ...]  #: the arrays that come before the number of iterations and their numbers
  after: tuple[Array, ...]  #: those that come after them, before the tables
  name: str = dataclasses.field(metadata={"static": True})
  sizes: tuple[tuple[str, int], ...] = dataclasses.field(metadata={"static": True})
  vmap_method: str = dataclasses.field(metadata={"static": True})

  def traced(
    self, count: Int[Array, ""], numbers: Float[Array, "N K"], tables: Sequence[Shaped[Array, "..."]]
  ) -> list[jax.Array]:
    """The tables after `count` iterations, at most N, in a trace; each iteration has K numbers."""
    given = *self.before, count, numbers, *self.after
    changed = {len(given) + k: k for k in range(len(tables))}
    return call(
      self.name, numbers.dtype, (*given, *tables), tables, self.vmap_method, dict(self.sizes), changed
    )


class DirectCall:
  """A `TableCall` on memory of the host: tables are read in one block of it, and written to another.

  Threads wait for each other, since addresses are handed over in arrays that all calls share.
  """

  def __init__(
    self, made: TableCall, dtype: DTypeLike, tables: Sequence[jax.ShapeDtypeStruct], offsets: Sequence[int]
  ):
    """Take tables of the shapes and dtypes of `tables`, `offsets` bytes from the beginning of a block."""
    self._count, numbers = np.zeros((), np.int32), np.zeros((0, 0), dtype)  # their length is not looked at
    before, after = ([np.ascontiguousarray(x) for x in part] for part in (made.before, made.after))
    self._kept = before, after  # alive as long as their addresses
    given = [*before, self._count, numbers, *after]
    arrays = [*given, *tables, *tables]
    self._places = np.array([x.ctypes.data for x in given] + [0] * (2 * len(tables)), np.int64)
    self._rows = len(before) + 1
    first = len(given)
    self._old, self._new = self._places[first : first + len(tables)], self._places[first + len(tables) :]
    self._offsets = np.array(offsets, np.int64)
    self._shapes = np.array([n for x in arrays for n in _shape(x)], np.int64)
    self._width_at = sum(3 + x.ndim for x in given[: self._rows]) + 4  # of the numbers' second axis
    sizes = sorted(made.sizes)
    self._names = (ctypes.c_char_p * len(sizes))(*(name.encode() for name, _ in sizes))
    self._values = np.array([value for _, value in sizes], np.int64)
    self._message = ctypes.create_string_buffer(ROOM)
    handler = ctypes.cast(function(made.name, dtype), ctypes.c_void_p)
    pointers = (ctypes.c_void_p(x.ctypes.data) for x in (self._places, self._shapes))
    lengths = map(ctypes.c_int64, (len(given) + len(tables), len(tables)))
    values, count = ctypes.c_void_p(self._values.ctypes.data), ctypes.c_int64(len(sizes))
    self._call, self._lock = function("HandlerCall"), threading.Lock()
    self._arguments = (
      *(handler, *pointers, *lengths, self._names, values, count),
      *(self._message, ctypes.c_int64(ROOM)),
    )

  def __call__(self, count: int, numbers: Float[np.ndarray, "N K"], old: np.ndarray, new: np.ndarray) -> None:
    """Write the tables after `count` iterations into the block `new`; those before are in `old`."""
    with self._lock:
      self._count[()] = count
      self._places[self._rows] = address_of(numbers)
      self._shapes[self._width_at] = numbers.shape[1]
      np.add(self._offsets, address_of(old), out=self._old)
      np.add(self._offsets, address_of(new), out=self._new)
      self._call(*self._arguments)
      if self._message.raw[0]:
        raise RuntimeError(self._message.value.decode())


def _shape(array: np.ndarray | jax.ShapeDtypeStruct) -> tuple[int, ...]:
  """The kind, the bytes and the shape of an array, for `direct.cc`."""
  dtype = np.dtype(array.dtype)
  return ord(dtype.kind), dtype.itemsize, array.ndim, *array.shape
