"""Sampling solvers in the shape of OpenSpiel's, over `mccfr.run`."""

from typing import Any, ClassVar

import jax
import numpy as np
import pyspiel

from ps_cfr_spiel.abstraction import Abstraction, abstract_tree, as_sets, bind
from ps_cfr_spiel.backend.device import bytes_of, jit, precision, to_device
from ps_cfr_spiel.memory import check_needs, sampling_needs
from ps_cfr_spiel.options import (
  AnySamplerOptions,
  ExternalSamplingOptions,
  OutcomeSamplingOptions,
  SamplingOptions,
  VRMCCFROptions,
)
from ps_cfr_spiel.reports import waiting
from ps_cfr_spiel.sampling import mccfr
from ps_cfr_spiel.solvers.exact import TreeSolver
from ps_cfr_spiel.tree import PublicTree, check_zero_sum

ADVICE = "Choose a smaller batch or, since tables grow with it, smaller parameters of the game"


class SamplingSolver(TreeSolver):
  """Monte Carlo CFR with any sampler; the other solvers of this file name published ones.

  `tree` is the game's public tree, on the host; `sampling_tree` the one that is sampled, on the device.
  """

  options_type: ClassVar[type[SamplingOptions]] = AnySamplerOptions
  options: SamplingOptions

  def __init__(
    self,
    game: pyspiel.Game,
    options: SamplingOptions | mccfr.TreeSampler | str | None = None,
    *,
    progress: bool | None = None,
    **keywords: object,
  ):
    """Build the trees; nothing is compiled yet. ValueError for a wrong option or game.

    Args:
      game: from `pyspiel.load_game`.
      options: all options, or the main one: the sampler, and of `VRMCCFRSolver` the baseline.
      progress: as of `PSCFRSolver`.
      **keywords: options by name; see `options_type`.
    """
    options = self.options_type.of(options, **keywords)
    self.sampler = sampler = self._make_sampler(options)
    options = options.changed(rule=mccfr.check_rule(options.rule))
    self._build(game, options, options.dtype, progress)
    if not sampler.general_sum:
      check_zero_sum(self.tree, "baselines, targets and lines of public moves")
    if options.abstraction is not None:
      self._start = abstract_tree(self.tree, game, options.abstraction)
    with waiting("Building the tree to sample from"):
      sampling_tree = sampler.sampling_tree(game, self.tree)
      if self._start is not None:
        sampling_tree = mccfr.abstracted(sampling_tree, set_of_each(self.tree, self._start))
      sampling_tree = sampler.finished(sampling_tree)
    tables = bytes_of(sampler.init(sampling_tree, self.dtype))
    needs = sampling_needs(tables, mccfr.batch_bytes(sampling_tree, sampler, options.batch, self.dtype))
    check_needs(f"{self.name} on {game} with batch={options.batch:,}", needs, options.memory, ADVICE)
    with precision(self.dtype):
      self._tree = to_device(self.tree, self.dtype)
      self.sampling_tree = to_device(sampling_tree, self.dtype)
      self._state = mccfr.init(self.sampling_tree, sampler, options.seed, self.dtype)

  def _make_sampler(self, options: Any) -> mccfr.TreeSampler:
    """The sampler that options of this class describe; ValueError without one."""
    sampler = options.sampler
    if isinstance(sampler, type) or not hasattr(sampler, "sampling_tree"):
      raise ValueError(f"Expected a sampler such as OutcomeSampling(ZeroBaseline()), got {sampler!r}.")
    return sampler

  @property
  def method(self) -> dict[str, Any]:
    """The keyword arguments of `mccfr.run` and `mccfr.iterate`."""
    return {"sampler": self.sampler, "rule": self.options.rule, "batch": self.options.batch}

  def variance(self) -> float:
    """Mean variance of the values sampled now, see `mccfr.variance`; ValueError for samplers without it."""
    check_zero_sum(self.tree, "variances")
    with precision(self.dtype):
      return float(_variance(self.sampling_tree, self._state.tables, sampler=self.sampler))

  def _step(self, state, iterations):
    return mccfr.run(self.sampling_tree, state, iterations, **self.method)

  def _strategies(self, average):
    tables = jax.tree.map(np.asarray, self._state.tables)
    return mccfr.strategies(self.sampling_tree, tables.average.total if average else tables.regrets)


class VRMCCFRSolver(SamplingSolver):
  """Variance-reduced Monte Carlo CFR (Schmid et al. 2019; Schmid 2021, Section 17.8)."""

  options_type = VRMCCFROptions
  options: VRMCCFROptions

  def _make_sampler(self, options):
    baselines = {
      "learned": mccfr.LearnedBaseline(options.decay, options.chance_baseline),
      "zero": mccfr.ZeroBaseline(),
      "oracle": mccfr.OracleBaseline(),
    }
    return _on_trajectories(options, baselines[options.baseline])


class OutcomeSamplingSolver(SamplingSolver):
  """Outcome-sampling MCCFR (Lanctot et al. 2009): VR-MCCFR with the zero baseline."""

  options_type = OutcomeSamplingOptions
  options: OutcomeSamplingOptions

  def _make_sampler(self, options):
    return _on_trajectories(options, mccfr.ZeroBaseline())


class ExternalSamplingSolver(SamplingSolver):
  """External-sampling MCCFR (Lanctot et al. 2009), by traversals; see `mccfr.ExternalSampling`."""

  options_type = ExternalSamplingOptions
  options: ExternalSamplingOptions

  def _make_sampler(self, options):
    return mccfr.ClusterExternalSampling() if options.every_cluster else mccfr.ExternalSampling()


def _on_trajectories(options: OutcomeSamplingOptions, baseline: mccfr.Baseline) -> mccfr.TreeSampler:
  if options.trajectories == "public":
    return mccfr.PublicSampling(baseline)
  return mccfr.OutcomeSampling(baseline, options.exploration)


@jit(static_argnames=("sampler",))
def _variance(tree, tables, *, sampler):
  return mccfr.variance(tree, sampler, tables.regrets, tables.learned)


def set_of_each(tree: PublicTree, abstraction: Abstraction) -> np.ndarray:
  """int[infostates]: the set of each infostate, in the order of a sampling tree and without gaps."""
  numbers, first = [np.zeros(0, int)], 0
  for player_tree, parts in zip(tree.players, bind(tree, abstraction), strict=True):
    sets, tables = as_sets(player_tree, parts), []
    for cells, (_, columns, _) in zip(sets.cells, sets.shapes, strict=True):
      tables.append(first + cells[None])
      first += columns
    numbers += [block.ravel() for block in player_tree.split(tables)]
  return np.unique(np.concatenate(numbers), return_inverse=True)[1]
