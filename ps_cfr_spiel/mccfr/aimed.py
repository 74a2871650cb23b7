"""Runs of outcome sampling on a whole game, aimed at one infostate of it.

Pure functions first; `AimedRuns` is a game with all that its runs share. The target is an argument, so that
a function is compiled once for all targets.
"""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp

from ps_cfr_spiel.cfr import RM
from ps_cfr_spiel.device import jit
from ps_cfr_spiel.mccfr import loop
from ps_cfr_spiel.mccfr.columns import regret_matching
from ps_cfr_spiel.mccfr.loop import SamplingState
from ps_cfr_spiel.mccfr.outcome import OutcomeSampling
from ps_cfr_spiel.mccfr.sampling_tree import CHANCE_NODE, SamplingTree
from ps_cfr_spiel.mccfr.targeting import aim


class Situation(NamedTuple):
  """The input of a run, on the device; its target is a cell (infostate), by number.

  Attributes:
    tree: the histories; a row is one infostate.
    group: int32[S], cells of the same number are targeted together.
    delta: [], probability that an iteration is targeted.
    starts: [P, A, S], cumulative regrets with which runs may begin.
    start: int32[S], the number of the one with which a run aimed at a cell begins.
  """

  tree: SamplingTree
  group: jax.Array
  delta: jax.Array
  starts: jax.Array
  start: jax.Array


def begin(situation: Situation, empty: SamplingState, cell: jax.Array) -> SamplingState:
  """The first state of a run aimed at a cell, with random numbers of its own."""
  key = jax.random.fold_in(jax.random.wrap_key_data(empty.key, impl="threefry2x32"), cell)
  tables = empty.tables._replace(regrets=situation.starts[situation.start[cell]])
  return empty._replace(key=jax.random.key_data(key), tables=tables)


def advance(
  situation: Situation,
  state: SamplingState,
  cell: jax.Array,
  iterations: jax.Array | int,
  *,
  sampler: OutcomeSampling,
) -> SamplingState:
  """Runs outcome sampling aimed at a cell, int32[], for some iterations."""
  tree, group = situation.tree, situation.group
  target = (tree.actor < CHANCE_NODE) & (group[tree.cell] == group[cell])
  aimed = dataclasses.replace(sampler, focus=aim(tree, target, situation.delta))
  return loop.iterate(tree, state, iterations, sampler=aimed, rule=RM())


def average(tree: SamplingTree, state: SamplingState) -> jax.Array:
  """The average strategies of a run, [A, S]."""
  return regret_matching(state.tables.average.total, tree.legal)


def aimed_averages(
  situation: Situation,
  empty: SamplingState,
  cell: jax.Array,
  marks: jax.Array,
  *,
  sampler: OutcomeSampling,
) -> jax.Array:
  """The average strategies of a whole run aimed at a cell, after `marks`, int32[M], iterations: [M, A, S]."""

  def on(state, mark):
    state = advance(situation, state, cell, mark - state.iteration, sampler=sampler)
    return state, average(situation.tree, state)

  return jax.lax.scan(on, begin(situation, empty, cell), marks)[1]


# --- On the device --------------------------------------------------------------------------------

_begin = jit()(begin)


@jit(static_argnames="sampler")
def _advance(situation, state, cell, iterations, *, sampler):
  """A run some iterations on, and its average strategy in its target, [A]."""
  state = advance(situation, state, cell, iterations, sampler=sampler)
  return state, average(situation.tree, state)[:, cell]


@jit(static_argnames="sampler")
def _single(situation, empty, cell, marks, *, sampler):
  """All average strategies of one run, [M, A, S]."""
  return aimed_averages(situation, empty, cell, marks, sampler=sampler)


@jit(static_argnames="sampler")
def _each(situation, empty, cells, marks, *, sampler):
  """The average strategies of runs aimed at int32[n] cells, each in its target: [n, M, A]."""
  return jax.vmap(lambda c: aimed_averages(situation, empty, c, marks, sampler=sampler)[:, :, c])(cells)


@dataclasses.dataclass(frozen=True)
class AimedRuns:
  """A game and all that its runs share; call its methods within `precision`.

  Attributes:
    situation: on the device.
    sampler: without a focus.
    dtype: "float32" or "float64".
  """

  situation: Situation
  sampler: OutcomeSampling
  dtype: str

  def empty(self, seed: int, match: int | None = None) -> SamplingState:
    """The state before `begin`; the matches of a bot have different random numbers."""
    state = loop.init(self.situation.tree, self.sampler, seed, self.dtype)
    if match is None:
      return state
    key = jax.random.fold_in(jax.random.wrap_key_data(state.key, impl="threefry2x32"), match)
    return state._replace(key=jax.random.key_data(key))

  def begin(self, cell: int, seed: int, match: int) -> SamplingState:
    """The first state of a run in a match."""
    return _begin(self.situation, self.empty(seed, match), jnp.int32(cell))

  def advance(self, state: SamplingState, cell: int, iterations: int) -> tuple[SamplingState, jax.Array]:
    """A run some iterations on, from now on aimed at a cell, and its average strategy there, [A]."""
    return _advance(self.situation, state, jnp.int32(cell), iterations, sampler=self.sampler)

  def single(self, cell: int, seed: int, iterations: int) -> jax.Array:
    """The average strategies [A, S] of a whole run aimed at a cell."""
    marks = jnp.array([iterations], jnp.int32)
    return _single(self.situation, self.empty(seed), jnp.int32(cell), marks, sampler=self.sampler)[0]

  def each(self, cells: jax.Array, seed: int, iterations: int) -> jax.Array:
    """The average strategies [n, A] of whole runs aimed at int32[n] cells, each in its own target."""
    marks = jnp.array([iterations], jnp.int32)
    return _each(self.situation, self.empty(seed), cells, marks, sampler=self.sampler)[:, 0]
