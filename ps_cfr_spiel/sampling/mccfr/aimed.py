"""Runs of outcome sampling on a whole game, aimed at one infostate of it.

The target is an argument, so that a function is compiled once for all targets.
"""

import dataclasses

import jax
import jax.numpy as jnp

from ps_cfr_spiel.backend.array_shapes import Float, Int
from ps_cfr_spiel.backend.device import jit
from ps_cfr_spiel.cfr import RM
from ps_cfr_spiel.sampling.mccfr import sampling_loop
from ps_cfr_spiel.sampling.mccfr.columns import regret_matching
from ps_cfr_spiel.sampling.mccfr.outcome import OutcomeSampling
from ps_cfr_spiel.sampling.mccfr.sampling_loop import SamplingState
from ps_cfr_spiel.sampling.mccfr.sampling_tree import CHANCE_NODE, SamplingTree
from ps_cfr_spiel.sampling.mccfr.targeting import aim
from ps_cfr_spiel.tree import Array


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class AimedRuns:
  """A game on the device and all that its runs share; the methods are pure JAX, but for `empty`."""

  tree: SamplingTree  #: the histories; a row is one infostate
  group: Int[Array, " S"]  #: cells of the same number are targeted together
  delta: Float[Array, ""]  #: probability that an iteration is targeted
  starts: Float[Array, "starts A S"]  #: cumulative regrets with which runs may begin
  start: Int[Array, " S"]  #: the number of the one with which a run aimed at a cell begins
  sampler: OutcomeSampling = dataclasses.field(metadata={"static": True})  #: without a focus

  def empty(self, seed: int, match: int | None = None) -> SamplingState:
    """The state before `begin`; the matches of a bot have different random numbers."""
    state = sampling_loop.init(self.tree, self.sampler, seed, str(self.delta.dtype))
    return state if match is None else _keyed(state, match)

  def begin(self, empty: SamplingState, cell: Int[Array, ""]) -> SamplingState:
    """The first state of a run aimed at a cell, with random numbers of its own."""
    tables = empty.tables._replace(regrets=self.starts[self.start[cell]])
    return _keyed(empty._replace(tables=tables), cell)

  def advance(
    self, state: SamplingState, cell: Int[Array, ""], iterations: Int[Array, ""] | int
  ) -> SamplingState:
    """A run some iterations on, aimed at a cell."""
    target = (self.tree.actor < CHANCE_NODE) & (self.group[self.tree.cell] == self.group[cell])
    aimed = dataclasses.replace(self.sampler, focus=aim(self.tree, target, self.delta))
    return sampling_loop.iterate(self.tree, state, iterations, sampler=aimed, rule=RM())

  def average(self, state: SamplingState) -> Float[jax.Array, "A S"]:
    """The average strategies of a run."""
    return regret_matching(state.tables.average.total, self.tree.legal)


def _keyed(state: SamplingState, number: Int[Array, ""] | int) -> SamplingState:
  """The state with random numbers of its own."""
  key = jax.random.fold_in(jax.random.wrap_key_data(jnp.asarray(state.key), impl="threefry2x32"), number)
  return state._replace(key=jax.random.key_data(key))


begin = jit()(AimedRuns.begin)


@jit()
def advance(
  runs: AimedRuns, state: SamplingState, cell: Int[Array, ""], iterations: Int[Array, ""] | int
) -> tuple[SamplingState, Float[jax.Array, " A"]]:
  """A run some iterations on, from now on aimed at a cell, and its average strategy there."""
  state = runs.advance(state, cell, iterations)
  return state, runs.average(state)[:, cell]


@jit()
def single(
  runs: AimedRuns, empty: SamplingState, cell: Int[Array, ""], iterations: Int[Array, ""] | int
) -> Float[jax.Array, "A S"]:
  """The average strategies of a whole run aimed at a cell."""
  return runs.average(runs.advance(runs.begin(empty, cell), cell, iterations))


@jit()
def each(
  runs: AimedRuns, empty: SamplingState, cells: Int[Array, " n"], iterations: Int[Array, ""] | int
) -> Float[jax.Array, "n A"]:
  """The average strategies of whole runs aimed at cells, each in its own target."""
  return jax.vmap(lambda cell: single(runs, empty, cell, iterations)[:, cell])(cells)
