"""Runs of outcome sampling on a whole game that are aimed at one infostate of it, as pure functions.

What to aim at is an argument: however many targets there are, a function is compiled once.
"""

import dataclasses
from typing import NamedTuple

import jax

from ps_cfr_spiel.mccfr import loop as mccfr
from ps_cfr_spiel.mccfr.columns import matched
from ps_cfr_spiel.mccfr.outcome import OutcomeSampling
from ps_cfr_spiel.mccfr.sampling_tree import CHANCE_NODE, SamplingTree
from ps_cfr_spiel.mccfr.targeting import aim


class Situation(NamedTuple):
  """What a run is given, on the device; its target is a cell (infostate), by number.

  Attributes:
    tree: the histories; a row is one infostate.
    group: int32[S], cells of the same number are targeted together.
    delta: [], probability that an iteration is targeted.
    starts: [P, A, S], cumulative regrets with which runs may begin.
    start: int32[S], with which of them a run aimed at a cell begins.
  """

  tree: SamplingTree
  group: jax.Array
  delta: jax.Array
  starts: jax.Array
  start: jax.Array


def begin(situation: Situation, empty: mccfr.SamplingState, cell: jax.Array) -> mccfr.SamplingState:
  """The first state of a run aimed at a cell, with random numbers of its own."""
  key = jax.random.fold_in(jax.random.wrap_key_data(empty.key, impl="threefry2x32"), cell)
  return empty._replace(key=jax.random.key_data(key), regrets=situation.starts[situation.start[cell]])


def advance(
  situation: Situation,
  state: mccfr.SamplingState,
  cell: jax.Array,
  iterations: jax.Array | int,
  *,
  sampler: OutcomeSampling,
) -> mccfr.SamplingState:
  """Runs outcome sampling aimed at a cell, int32[], for some iterations."""
  tree, group = situation.tree, situation.group
  target = (tree.kind < CHANCE_NODE) & (group[tree.cell] == group[cell])
  aimed = dataclasses.replace(sampler, focus=aim(tree, target, situation.delta))
  return mccfr.iterate(tree, state, iterations, sampler=aimed)


def average(tree: SamplingTree, state: mccfr.SamplingState, sampler: OutcomeSampling) -> jax.Array:
  """The average strategies of a run, [A, S]."""
  return matched(mccfr.average_total(tree, state, sampler=sampler), tree.legal)[0]


def averages(
  situation: Situation,
  empty: mccfr.SamplingState,
  cell: jax.Array,
  marks: jax.Array,
  *,
  sampler: OutcomeSampling,
) -> jax.Array:
  """The average strategies of a whole run aimed at a cell, after `marks`, int32[M], iterations: [M, A, S]."""

  def on(state, mark):
    state = advance(situation, state, cell, mark - state.iteration, sampler=sampler)
    return state, average(situation.tree, state, sampler)

  return jax.lax.scan(on, begin(situation, empty, cell), marks)[1]
