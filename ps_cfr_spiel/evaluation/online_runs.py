"""Online outcome sampling measured: exploitability of single runs, and of their play, by iterations.

Schmid 2021, Fig. 19.2.
"""

import functools
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.compiler import check_needs
from ps_cfr_spiel.device import check_finite, jit, precision, to_device
from ps_cfr_spiel.evaluation.sampling_runs import check_marks, check_seeds
from ps_cfr_spiel.reports import waiting
from ps_cfr_spiel.solvers import OnlineOutcomeSampling
from ps_cfr_spiel.tree import evaluation


class OnlineRuns(NamedTuple):
  """Curves of all runs of online outcome sampling.

  Attributes:
    iterations: int[M], the marks.
    single: float[R, S, M], exploitability of each single run's average policy, by its target.
    tabularised: float[R, M], exploitability of the policy that plays at each infostate by its own run.
    strategies: float[R, S, M, A, S], the average policies of the single runs.
  """

  iterations: np.ndarray
  single: np.ndarray
  tabularised: np.ndarray
  strategies: np.ndarray


def online_runs(method: OnlineOutcomeSampling, seeds: Sequence[int], marks: Sequence[int]) -> OnlineRuns:
  """Follows runs at every infostate for several seeds, side by side in one jitted program.

  Args:
    method: its settings apply, but for `seed` and `iterations`.
    seeds: R seeds.
    marks: iterations of the measurements.

  Raises:
    ValueError: seeds repeat, or marks do not ascend from 1 or more, or no player decides, or the result needs
      more memory than is free.
    FloatingPointError: numbers leave the range of the method's dtype.
  """
  if not isinstance(method, OnlineOutcomeSampling):
    raise ValueError(f"method must be an OnlineOutcomeSampling, got {method!r}.")
  seeds, marks = check_seeds(seeds), check_marks(marks)
  table = method.runs.tree
  if not method.decisions:
    raise ValueError(f"{method.game} has no decisions, so no infostates for the runs.")
  numbers = 2 * len(seeds) * len(marks) * table.cells**2 * table.actions  # computed and kept
  needs = {"for the runs' strategies": numbers * np.dtype(method.dtype).itemsize}
  what = f"{len(seeds):,} runs at {table.cells:,} infostates and {len(marks):,} marks"
  check_needs(what, needs, None, "Fewer seeds or marks take less")
  with precision(method.dtype), waiting(f"{len(seeds)} runs at every infostate"):
    runs = method.runs
    keys = jnp.stack([runs.empty(seed).key for seed in seeds])
    public_tree, each = to_device(method.tree, method.dtype), jnp.array(marks, jnp.int32)
    found = _curves(public_tree, runs, runs.empty(0), keys, each)
    check_finite("Runs of OnlineOutcomeSampling", found, method.dtype)
    return OnlineRuns(np.array(marks), *(np.asarray(x) for x in found))


@jit()
def _curves(public_tree, runs, empty, keys, marks):
  """The last three fields of `OnlineRuns`."""
  cells = jnp.arange(runs.tree.cells)

  def run(key, cell):
    return runs.averages(empty._replace(key=key), cell, marks)

  strategies = jax.vmap(lambda key: jax.vmap(functools.partial(run, key))(cells))(keys)

  def measure(table):
    return evaluation(public_tree, runs.tree.blocks(table)).exploitability

  single = jax.vmap(jax.vmap(jax.vmap(measure)))(strategies)
  played = jnp.diagonal(strategies, axis1=1, axis2=4)  # [R, M, A, S]
  return single, jax.vmap(jax.vmap(measure))(played), strategies
