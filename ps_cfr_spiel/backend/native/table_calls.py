"""Calls of kernels directly on memory of the host, and those that take iterations on tables also in a trace.

A program of XLA takes some 0.1 ms to start, for it has dozens of arguments; ten iterations of a small game
take less, and it has to be compiled. So a run outside of a trace calls the kernel itself (`direct.cc`), whose
results are the same.
"""

import ctypes
import dataclasses
import threading
from collections.abc import Mapping, Sequence

import jax
import numpy as np
from jax.typing import DTypeLike

from ps_cfr_spiel.backend.array_shapes import Float, Int, Shaped
from ps_cfr_spiel.backend.native.library import address_of, call, handler, plain_function

Array = np.ndarray | jax.Array


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


class _Frame:
  """A handler's arguments; the places of its arrays may change before each call."""

  def __init__(
    self,
    name: str,
    dtype: DTypeLike,
    given: Sequence[np.ndarray | jax.ShapeDtypeStruct],
    returned: Sequence[np.ndarray | jax.ShapeDtypeStruct],
    sizes: Mapping[str, int],
  ):
    arrays = [*given, *returned]
    self.places = np.array([address_of(x) if isinstance(x, np.ndarray) else 0 for x in arrays], np.int64)
    self.shapes = np.array([n for x in arrays for n in _shape(x)], np.int64)
    self.names = (ctypes.c_char_p * len(sizes))(*(key.encode() for key in sorted(sizes)))
    self._values = np.array([sizes[key] for key in sorted(sizes)], np.int64)
    called = ctypes.cast(handler(name, dtype), ctypes.c_void_p)
    pointers = (ctypes.c_void_p(x.ctypes.data) for x in (self.places, self.shapes))
    lengths = map(ctypes.c_int64, (len(given), len(returned)))
    values, count = ctypes.c_void_p(self._values.ctypes.data), ctypes.c_int64(len(sizes))
    self.function = plain_function("HandlerCall")
    self._arguments = called, *pointers, *lengths, self.names, values, count

  def __call__(self) -> None:
    """RuntimeError in the library's words."""
    self.function(*self._arguments)


def call_directly(
  name: str,
  dtype: DTypeLike,
  given: Sequence[Array],
  results: Sequence[np.ndarray],
  numbers: Mapping[str, int] | None = None,
) -> None:
  """Call a kernel, outside of a trace, that fills `results`; the other arguments are those of `call`."""
  arrays = [np.ascontiguousarray(x).reshape(x.shape) for x in given]  # alive until the end
  _Frame(name, dtype, arrays, results, numbers or {})()


class DirectCall:
  """A `TableCall` on memory of the host: tables go from one block to another, or change in their places.

  Threads wait for each other, since addresses are handed over in arrays that all calls share.
  """

  def __init__(
    self,
    made: TableCall,
    numbers: Float[np.ndarray, "N K"],
    tables: Sequence[jax.ShapeDtypeStruct],
    offsets: Sequence[int],
  ):
    """Take tables of the shapes and dtypes of `tables`, `offsets` bytes from the beginning of a block.

    `numbers` are an example of those that calls are given.
    """
    self._count = np.zeros((), np.int32)
    before, after = ([np.ascontiguousarray(x) for x in part] for part in (made.before, made.after))
    self._kept = before, after  # alive as long as their addresses
    given = [*before, self._count, numbers, *after]
    self._frame = _Frame(made.name, numbers.dtype, [*given, *tables], tables, dict(made.sizes))
    self._rows, first, places = len(before) + 1, len(given), self._frame.places
    self._old, self._new = places[first : first + len(tables)], places[first + len(tables) :]
    self._offsets = np.array(offsets, np.int64)
    self._lock = threading.Lock()

  def __call__(self, count: int, numbers: int, old: int, new: int) -> None:
    """Write the tables after `count` iterations into the block `new`, those before being in `old`.

    All three are addresses: to ask for one takes a tenth of a short call.
    """
    with self._lock:
      np.add(self._offsets, old, out=self._old)
      np.add(self._offsets, new, out=self._new)
      self._take(count, numbers)

  def change(self, count: int, numbers: int, tables: Sequence[np.ndarray]) -> None:
    """Take `count` iterations on tables, each in memory of its own, in their places; see `__call__`."""
    with self._lock:
      self._old[:] = self._new[:] = [address_of(table) for table in tables]
      self._take(count, numbers)

  def _take(self, count: int, numbers: int) -> None:
    self._count[()] = count
    self._frame.places[self._rows] = numbers
    self._frame()


def _shape(array: np.ndarray | jax.ShapeDtypeStruct) -> tuple[int, ...]:
  """The kind, the bytes and the shape of an array, for `direct.cc`."""
  dtype = np.dtype(array.dtype)
  return ord(dtype.kind), dtype.itemsize, array.ndim, *array.shape
