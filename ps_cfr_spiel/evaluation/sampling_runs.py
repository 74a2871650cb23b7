"""Many runs of a sampling solver side by side, measured as they go (Schmid 2021, Figs. 17.7 and 17.8)."""

import functools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import jax
import numpy as np
import pyspiel

from ps_cfr_spiel.arguments import MOST, check_count, check_flag, check_integer, check_list
from ps_cfr_spiel.backend.device import check_finite, jit, precision, run_to, to_device
from ps_cfr_spiel.evaluation.points import ROUND, measurements
from ps_cfr_spiel.reports import waiting
from ps_cfr_spiel.sampling import mccfr
from ps_cfr_spiel.sampling.mccfr import check_variance, variance
from ps_cfr_spiel.solvers import SamplingSolver, VRMCCFRSolver
from ps_cfr_spiel.tree import evaluation


class Runs(NamedTuple):
  """Curves of many runs."""

  iterations: np.ndarray  #: int[M], the marks
  exploitability: np.ndarray  #: float[R, M], of the average policies
  #: float[R, M], of the sampled counterfactual values (`mccfr.variance`), or None.
  variance: np.ndarray | None


def check_seeds(seeds: object) -> list[int]:
  """Different seeds, at least one, or ValueError."""
  seeds = [check_integer("seed", seed, 0) for seed in check_list("seeds", seeds)]
  if not seeds or len(set(seeds)) < len(seeds):
    raise ValueError(f"Runs need different seeds, at least one, got {seeds}.")
  return seeds


def check_marks(marks: object, last: int = MOST) -> list[int]:
  """Iterations of measurements, ascending from 1 or more to `last` or less, or ValueError."""
  marks = [check_count("mark", mark, 1) for mark in check_list("marks", marks)]
  if not marks or sorted(set(marks)) != marks or marks[-1] > last:
    raise ValueError(f"marks must ascend, from 1 or more to {last} or less, got {marks}.")
  return marks


def sampling_runs(
  game: pyspiel.Game,
  options: Mapping[str, object] | None = None,
  seeds: Sequence[int] = range(100),
  iterations: int = 1_000_000,
  marks: Sequence[int] | None = None,
  solver: type[SamplingSolver] = VRMCCFRSolver,
  with_variance: bool = False,
) -> Runs:
  """Independent runs of a sampling solver side by side, in one jitted loop.

  `options` are those of the `solver` but `seed`; `seeds` has one for each run, whose result is that of the
  solver with this seed, up to rounding. They are measured at `marks`, by default 1, 2, 5, 10, ... and the
  last iteration. ValueError for a wrong argument; FloatingPointError if numbers leave the range of the dtype.
  """
  if not (isinstance(solver, type) and issubclass(solver, SamplingSolver)):
    raise ValueError(f"solver must be a class of sampling solvers, such as VRMCCFRSolver, got {solver!r}.")
  options = {} if options is None else options
  if not isinstance(options, Mapping) or "seed" in options:
    raise ValueError(f"options must be a mapping of the solver's options but seed, got {options!r}.")
  check_flag("with_variance", with_variance)
  seeds, iterations = check_seeds(seeds), check_integer("iterations", iterations, 1)
  marks = check_marks(measurements(iterations, ROUND) if marks is None else marks, iterations)
  one = solver(game, solver.options_type.of(**{**options, "seed": seeds[0]}))
  if with_variance:
    check_variance(one.sampler)
  tree, method = one.sampling_tree, one.method
  with precision(one.dtype), waiting(f"{len(seeds)} runs of {one.name}"):
    public_tree = to_device(one.tree, one.dtype)
    states = [mccfr.init(tree, one.sampler, seed, one.dtype) for seed in seeds]
    state = jax.tree.map(lambda *x: jax.numpy.stack(x), *states)._replace(iteration=states[0].iteration)
    exploitability, variances = [], []

    def step(iterations: int) -> None:
      nonlocal state
      state = jax.block_until_ready(_run_all(tree, state, iterations, **method))

    for mark in run_to(step, marks):
      exploitability.append(_exploitability_all(public_tree, tree, state))
      check_finite(f"Runs of {one.name} by iteration {mark:,}", exploitability[-1], one.dtype)
      if with_variance:
        variances.append(_variance_all(tree, state, sampler=one.sampler))
    return Runs(
      np.array(marks),
      np.stack([np.asarray(x) for x in exploitability], 1),
      np.stack([np.asarray(x) for x in variances], 1) if with_variance else None,
    )


# The iteration is common to all runs: a loop over it must not become a loop over a vector.
_STATES = mccfr.SamplingState(iteration=None, key=0, tables=0)  # pyright: ignore[reportArgumentType]


@jit(static_argnames=("sampler", "rule", "batch"))
def _run_all(tree, states, iterations, **method):
  iterate = functools.partial(mccfr.iterate, **method)
  return jax.vmap(iterate, in_axes=(None, _STATES, None), out_axes=_STATES)(tree, states, iterations)


@jit()
def _exploitability_all(public_tree, tree, states):
  def of(state):
    return evaluation(public_tree, mccfr.strategies(tree, state.tables.average.total)).exploitability

  return jax.vmap(of, in_axes=(_STATES,))(states)


@jit(static_argnames=("sampler",))
def _variance_all(tree, states, *, sampler):
  tables = states.tables.regrets, states.tables.learned
  return jax.lax.map(lambda both: variance(tree, sampler, *both), tables)
