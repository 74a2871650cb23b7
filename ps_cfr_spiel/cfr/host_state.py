"""The state of a run on the host, and iterations on it by direct calls of the library.

`loop.run` is a program of XLA: it has to be compiled, takes some 0.1 ms to start, and returns dozens of
arrays. For engines of whole iterations a `DirectRun` calls the library itself: the same kernels on
the same numbers give the same state to the last bit. A small state is one block of memory, and is never
changed: each call writes a new block. Large tables, of which there is no second copy, change in their places.
"""

import abc
import functools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import jax
import numpy as np

from ps_cfr_spiel.backend.array_shapes import Float, Int, Shaped
from ps_cfr_spiel.backend.device import bytes_of, in_dtype, interruptible, to_device
from ps_cfr_spiel.backend.native import DirectCall, TableCall, address_of
from ps_cfr_spiel.cfr.averages import Step
from ps_cfr_spiel.cfr.engines import Players, choose, numbers_on_host, tables_of_players, with_tables
from ps_cfr_spiel.cfr.first_state import changes_on_host
from ps_cfr_spiel.cfr.rule import Rule
from ps_cfr_spiel.cfr.state import Abstraction, SolverState
from ps_cfr_spiel.tree import PlayerPasses, PublicTree

AHEAD = 2048  # iterations whose numbers are computed at once
MOST_BYTES = (
  2**22
)  # of tables; with more an iteration outlasts the start of a program, and copies cost memory


class Layout(NamedTuple):
  """The places of a state's tables in a block."""

  players: Players  #: in place of tables their shapes and dtypes
  tables: Sequence[jax.ShapeDtypeStruct]
  offsets: Sequence[int]  #: bytes before each table
  floats: int  #: bytes of the tables of floats, which come first
  size: int  #: bytes of all

  @classmethod
  def of(cls, players: Players) -> "Layout":
    """The layout of players' tables: those of floats lie together, so that one look checks them."""
    given = players, tables_of_players(players)
    players, tables = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, np.dtype(x.dtype)), given)
    sizes = np.array([math.prod(x.shape) * x.dtype.itemsize for x in tables], np.int64)
    integers = np.array([x.dtype.kind != "f" for x in tables])
    order = np.lexsort((-np.array([x.dtype.itemsize for x in tables]), integers))
    offsets = np.empty(len(tables), np.int64)
    offsets[order] = np.cumsum(sizes[order]) - sizes[order]
    return cls(players, tables, offsets.tolist(), int(sizes[~integers].sum()), int(sizes.sum()))

  def views(self, block: np.ndarray) -> list[np.ndarray]:
    """The tables in a block."""
    return [
      np.ndarray(x.shape, x.dtype, block, offset) for x, offset in zip(self.tables, self.offsets, strict=True)
    ]


@jax.tree_util.register_pytree_with_keys_class
class HostState:
  """A `SolverState` in one block; as a pytree it is the `SolverState` itself."""

  def __init__(self, layout: Layout, done: int, block: Shaped[np.ndarray, " bytes"]):
    """The state after `done` iterations; `block` is not changed afterwards."""
    self._layout, self.done, self.block, self.address = layout, done, block, address_of(block)

  @classmethod
  def of(cls, state: SolverState, layout: Layout) -> "HostState":
    """A state copied into a block."""
    block = np.empty(layout.size, np.uint8)
    for table, given in zip(layout.views(block), tables_of_players(state.players), strict=True):
      table[...] = np.asarray(given)
    return cls(layout, int(state.iteration), block)

  def __reduce__(self) -> tuple[type, tuple]:
    """For copies, whose block has an address of its own."""
    return HostState, (self._layout, self.done, self.block)

  @functools.cached_property
  def iteration(self) -> Int[np.ndarray, ""]:
    """See `SolverState`."""
    return np.array(self.done, np.int32)

  @functools.cached_property
  def players(self) -> Players:
    """See `SolverState`; arrays of NumPy, in the block."""
    return with_tables(self._layout.players, self._layout.views(self.block))

  @property
  def numbers(self) -> list[np.ndarray]:
    """All numbers of the state in few arrays."""
    floats, dtype = self._layout.floats, self._layout.players[0].dtype
    others = self._layout.views(self.block) if floats < self._layout.size else []
    return [self.block[:floats].view(dtype), *(x for x in others if x.dtype.kind != "f")]

  def tree_flatten_with_keys(self) -> tuple[tuple, None]:
    """For JAX."""
    key = jax.tree_util.GetAttrKey
    return ((key("iteration"), self.iteration), (key("players"), self.players)), None

  @classmethod
  def tree_unflatten(cls, _: None, children: tuple) -> SolverState:
    """For JAX."""
    return SolverState(*children)


def _made(tree: PublicTree, players: Players, method: "Method") -> TableCall:
  """The call of the library that takes iterations, from a tree's arrays on the host."""
  engine = choose(tree, method.rule, players).engine
  assert engine.iterations is not None
  passes = tuple(map(PlayerPasses.of, tree.players))
  return engine.iterations(tree, passes, players, method.rule, method.alternating)


class _NumbersAhead:
  """The numbers of iterations (`numbers_on_host`), of many at once."""

  def __init__(self, first: Step, dtype: np.dtype, shares: bool):
    """Look ahead from an iteration on."""
    self._first, self._dtype, self._shares = first, dtype, shares
    self._look(int(first.t) - 1)

  def _look(self, done: int) -> None:
    step = self._first._replace(t=np.array(done + 1, np.int32))
    rows = numbers_on_host(step, AHEAD, self._dtype, self._shares)
    self._ahead = (done, rows, address_of(rows))  # replaced whole: another thread may read it meanwhile

  @property
  def rows(self) -> Float[np.ndarray, "N K"]:
    """Those at which it has looked, iteration by iteration."""
    return self._ahead[1]

  def have(self, done: int, iterations: int) -> bool:
    """True if those after `done` are there."""
    begun, rows, _ = self._ahead
    return 0 <= done - begun <= len(rows) - iterations

  def between(self, done: int, end: int) -> Iterator[tuple[int, int]]:
    """Those after `done` up to `end`, in parts: how many, and their address until the next part is taken.

    Call it within `precision`, unless it has them.
    """
    while done < end:
      if not self.have(done, 1):
        self._look(done)
      begun, rows, address = self._ahead  # `rows` live until the next part, also if another thread looks
      skipped = done - begun
      count = min(end - done, len(rows) - skipped)
      yield count, address + skipped * rows.strides[0]
      done += count


def placed(tree: PublicTree, sets: Abstraction, dtype: str, in_place: bool) -> tuple[PublicTree, Abstraction]:
  """A tree on the host and sets as a run reads them, within `precision`: on the device, or NumPy's.

  They are NumPy's for direct calls on large tables: arrays that a run has in the form of the host's are not
  copied. `in_place`: no state before is kept.
  """
  of = in_dtype if changes_on_host(tree, in_place) else to_device
  return of((tree, sets), dtype)


class Method(NamedTuple):
  """The arguments of `loop.run` that are the same in all calls of a run."""

  averaging_delay: int
  rule: Rule
  alternating: bool
  tremble: float

  def numbers_after(self, state: SolverState | HostState) -> _NumbersAhead:
    """The numbers of the iterations that follow."""
    first = Step(np.array(int(state.iteration) + 1, np.int32), self.averaging_delay, self.rule, self.tremble)
    return _NumbersAhead(first, state.players[0].dtype, state.players[0].keeps_shares)


class DirectRun(abc.ABC):
  """Iterations of one run by direct calls."""

  @abc.abstractmethod
  def knows(self, state: SolverState | HostState, iterations: int) -> bool:
    """True if a call needs no program of XLA, and may be interrupted."""

  @abc.abstractmethod
  def after(self, state: SolverState | HostState, iterations: int) -> SolverState | HostState:
    """The state after further iterations; within `precision` unless it `knows` their numbers."""


def direct_run(
  tree: PublicTree, state: SolverState | HostState, in_place: bool, method: Method
) -> DirectRun | None:
  """The run by direct calls where they pay: on a small state, or board by board on tables in their places.

  Call it within `precision`, for a case whose engine takes whole iterations. `in_place` says that no state
  before is kept. None: XLA's programs are as good.
  """
  if in_place:
    return RunInPlace(tree, state, method) if changes_on_host(tree, in_place) else None
  small = isinstance(state, HostState) or bytes_of(state.players) <= MOST_BYTES
  return RunInBlock(tree, state, method) if small else None


class RunInBlock(DirectRun):
  """A run on a small state."""

  def __init__(self, tree: PublicTree, state: SolverState | HostState, method: Method):
    """Prepare the calls."""
    self.layout, self._numbers = Layout.of(state.players), method.numbers_after(state)
    made = _made(jax.tree.map(np.asarray, tree), state.players, method)
    self._call = DirectCall(made, self._numbers.rows, self.layout.tables, self.layout.offsets)

  def knows(self, state: SolverState | HostState, iterations: int) -> bool:
    """See `DirectRun`."""
    return isinstance(state, HostState) and self._numbers.have(state.done, iterations)

  def after(self, state: SolverState | HostState, iterations: int) -> HostState:
    """See `DirectRun`."""
    state = state if isinstance(state, HostState) else HostState.of(state, self.layout)
    for count, numbers in self._numbers.between(state.done, state.done + iterations):
      after = HostState(self.layout, state.done + count, np.empty(self.layout.size, np.uint8))
      self._call(count, numbers, state.address, after.address)
      state = after
    return state


class RunInPlace(DirectRun):
  """A run on large tables, board by board."""

  def __init__(self, tree: PublicTree, state: SolverState | HostState, method: Method):
    """Prepare the calls; no array of the tree is copied."""
    rule, tables = method.rule, tables_of_players(state.players)
    engine = choose(tree, rule, state.players).engine
    assert engine.iterations is not None
    made = engine.iterations(tree, (), state.players, rule, method.alternating)
    shapes = [jax.ShapeDtypeStruct(x.shape, np.dtype(x.dtype)) for x in tables]
    self._numbers = method.numbers_after(state)
    self._call = DirectCall(made, self._numbers.rows, shapes, [0] * len(shapes))

  def knows(self, state: SolverState | HostState, iterations: int) -> bool:
    """Never: an interrupted call would leave the number of iterations behind the tables."""
    return False

  def after(self, state: SolverState | HostState, iterations: int) -> SolverState:
    """See `DirectRun`; in the given state's memory, if it is NumPy's and may be written, else in a copy's."""
    tables = [np.require(x, requirements=["C", "W"]) for x in tables_of_players(state.players)]
    done = int(state.iteration)
    for count, numbers in self._numbers.between(done, done + iterations):
      interruptible(functools.partial(self._call.change, count, numbers, tables))
    return SolverState(np.array(done + iterations, np.int32), with_tables(state.players, tables))
