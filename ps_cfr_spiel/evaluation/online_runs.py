"""Online outcome sampling measured: exploitability by iterations of single runs, and of what is played.

Schmid 2021, Fig. 19.2.
"""

import functools
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.arguments import check_count, check_integer, check_list
from ps_cfr_spiel.compiler import check_needs
from ps_cfr_spiel.device import check_finite, jit, precision, to_device
from ps_cfr_spiel.mccfr import aimed_averages
from ps_cfr_spiel.reports import waiting
from ps_cfr_spiel.solvers import OnlineOutcomeSampling
from ps_cfr_spiel.tree import evaluation


class OnlineRuns(NamedTuple):
  """Curves of online outcome sampling, all runs of which are measured.

  Attributes:
    iterations: int[M], the marks.
    single: float[R, S, M], exploitability of each single run's average policy, by its target.
    tabularised: float[R, M], exploitability of what is played at each infostate.
    strategies: float[R, S, M, A, S], the average policies of the single runs.
  """

  iterations: np.ndarray
  single: np.ndarray
  tabularised: np.ndarray
  strategies: np.ndarray


def online_runs(method: OnlineOutcomeSampling, seeds: Sequence[int], marks: Sequence[int]) -> OnlineRuns:
  """Follows runs at every infostate for several seeds, side by side in one jitted program.

  Args:
    method: whose settings are used, but `seed` and `iterations`.
    seeds: R of them.
    marks: iterations after which to measure.

  Raises:
    ValueError: seeds repeat, or marks do not ascend from 1 or more, or nobody decides, or what would be found
      takes more memory than is free.
    FloatingPointError: numbers leave the range of the method's dtype.
  """
  if not isinstance(method, OnlineOutcomeSampling):
    raise ValueError(f"method must be an OnlineOutcomeSampling, got {method!r}.")
  seeds = [check_integer("seed", seed, 0) for seed in check_list("seeds", seeds)]
  marks = [check_count("mark", mark, 1) for mark in check_list("marks", marks)]
  if not seeds or len(set(seeds)) < len(seeds):
    raise ValueError(f"Runs need different seeds, at least one, got {seeds}.")
  if not marks or sorted(set(marks)) != marks:
    raise ValueError(f"marks must ascend, from 1 or more, got {marks}.")
  table = method.runs.situation.tree
  if not method.decisions:
    raise ValueError(f"In {method.game} nobody decides: there are no infostates to follow runs at.")
  numbers = (
    2 * len(seeds) * len(marks) * table.cells * table.actions * table.cells
  )  # as they are made and kept
  needs = {"for the runs' strategies": numbers * np.dtype(method.dtype).itemsize}
  what = f"{len(seeds):,} runs at {table.cells:,} infostates and {len(marks):,} marks"
  check_needs(what, needs, None, "Fewer seeds or marks take less")
  with precision(method.dtype), waiting(f"{len(seeds)} runs at every infostate"):
    runs = method.runs
    keys = jnp.stack([runs.empty(seed).key for seed in seeds])
    public_tree, each = to_device(method.tree, method.dtype), jnp.array(marks, jnp.int32)
    found = _curves(public_tree, runs.situation, runs.empty(0), keys, each, sampler=runs.sampler)
    check_finite("Runs of OnlineOutcomeSampling", found, method.dtype)
    return OnlineRuns(np.array(marks), *(np.asarray(x) for x in found))


@jit(static_argnames="sampler")
def _curves(public_tree, situation, empty, keys, marks, *, sampler):
  """The last three fields of `OnlineRuns`."""
  cells = jnp.arange(situation.tree.cells)

  def run(key, cell):
    return aimed_averages(situation, empty._replace(key=key), cell, marks, sampler=sampler)

  strategies = jax.vmap(lambda key: jax.vmap(functools.partial(run, key))(cells))(keys)

  def measure(table):
    return evaluation(public_tree, situation.tree.blocks(table)).exploitability

  single = jax.vmap(jax.vmap(jax.vmap(measure)))(strategies)
  played = jnp.diagonal(strategies, axis1=1, axis2=4)  # [R, M, A, S]
  return single, jax.vmap(jax.vmap(measure))(played), strategies
