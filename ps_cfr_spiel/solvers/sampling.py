"""Sampling solvers in the shape of OpenSpiel's, over `mccfr.run`."""

from typing import Any

import numpy as np
import pyspiel

from ps_cfr_spiel import mccfr
from ps_cfr_spiel.abstraction import Abstraction, Key, abstract_tree, as_sets, bind
from ps_cfr_spiel.arguments import check_exploration, check_flag, check_integer, check_option
from ps_cfr_spiel.cfr import RM
from ps_cfr_spiel.compiler import check_needs
from ps_cfr_spiel.device import jit, precision, to_device
from ps_cfr_spiel.reports import waiting
from ps_cfr_spiel.solvers.exact import TreeSolver
from ps_cfr_spiel.tree import PublicTree, check_zero_sum

BASELINES = ("learned", "zero", "oracle")
TRAJECTORIES = ("histories", "public")
ADVICE = "Choose a smaller batch or, since tables grow with it, smaller parameters of the game"


class SamplingSolver(TreeSolver):
  """Monte Carlo CFR with any sampler; the other solvers of this file name published ones.

  `tree` is the game's public tree, on the host; `sampling_tree` the one that is sampled, on the device.
  """

  def __init__(
    self,
    game: pyspiel.Game,
    sampler: mccfr.TreeSampler,
    rule: str | RM = "rm",
    batch: int = 1,
    seed: int = 0,
    dtype: str = "float32",
    abstraction: Key | str | Abstraction | None = None,
    **options: Any,
  ):
    """Build the trees; nothing is compiled yet. ValueError for a wrong argument or game.

    Args:
      game: from `pyspiel.load_game`.
      sampler: a frozen dataclass; see `mccfr.TreeSampler`. Files hold only its name: `load` needs it again.
      rule: "rm", with uniform averaging; "rm+", with linear averaging; or `RM` or `RMPlus` with any gamma.
      batch: trajectories under one strategy for each player's turn, whose mean is one update; an iteration
        thus samples 2 x batch trajectories.
      seed: of the random numbers.
      dtype: "float32" or "float64".
      abstraction: infostates that share a strategy, as `PSCFRSolver` takes it. Policies and exploitability
        are those of the whole game.
      **options: of `build_tree`.
    """
    if isinstance(sampler, type) or not hasattr(sampler, "sampling_tree"):
      raise ValueError(f"Expected a sampler such as OutcomeSampling(ZeroBaseline()), got {sampler!r}.")
    self.sampler, self.rule = sampler, mccfr.check_rule(rule)
    self.batch, self.seed = check_integer("batch", batch, 1), check_integer("seed", seed, 0)
    self._build(game, dtype, options)
    if not sampler.general_sum:
      check_zero_sum(self.tree, "baselines, targets and lines of public moves")
    self._start = None if abstraction is None else abstract_tree(self.tree, game, abstraction)
    with waiting("Building the tree to sample from"):
      sampling_tree = sampler.sampling_tree(game, self.tree)
      if self._start is not None:
        sampling_tree = mccfr.abstracted(sampling_tree, set_of_each(self.tree, self._start))
    needs = mccfr.memory_needs(sampling_tree, sampler, self.batch, self.dtype)
    check_needs(f"{self.name} on {game} with batch={self.batch:,}", needs, options.get("memory"), ADVICE)
    with precision(self.dtype):
      self._tree = to_device(self.tree, self.dtype)
      self.sampling_tree = to_device(sampling_tree, self.dtype)
      self._state = mccfr.init(self.sampling_tree, sampler, self.seed, self.dtype)

  @property
  def method(self) -> dict[str, Any]:
    """The keyword arguments of `mccfr.run` and `mccfr.iterate`."""
    return {"sampler": self.sampler, "rule": self.rule, "batch": self.batch}

  def variance(self) -> float:
    """Mean variance of the values sampled now, see `mccfr.variance`; ValueError for samplers without it."""
    check_zero_sum(self.tree, "variances")
    with precision(self.dtype):
      return float(_variance(self.sampling_tree, self._state.tables, sampler=self.sampler))

  def _step(self, state, iterations):
    return mccfr.run(self.sampling_tree, state, iterations, **self.method)

  def _strategies(self, average):
    tables = self._state.tables
    return mccfr.strategies(self.sampling_tree, tables.average.total if average else tables.regrets)

  def _options(self):
    options = super()._options()
    return {**options, "sampler": repr(self.sampler)} if "sampler" in options else options


class VRMCCFRSolver(SamplingSolver):
  """Variance-reduced Monte Carlo CFR (Schmid et al. 2019; Schmid 2021, Section 17.8)."""

  _apart = ("sampler",)

  def __init__(
    self,
    game: pyspiel.Game,
    baseline: str = "learned",
    exploration: float = 0.6,
    decay: float = 0.5,
    trajectories: str = "histories",
    chance_baseline: bool = True,
    **options: Any,
  ):
    """Build the trees; nothing is compiled yet. ValueError for a wrong argument or game.

    Args:
      game: from `pyspiel.load_game`.
      baseline: "learned", "zero" or "oracle"; see `baselines`.
      exploration: share of uniform play in the traverser's sampling policy, in (0, 1].
      decay: weight of the newest value in a learned baseline.
      trajectories: "histories": single histories, in any game; "public": lines of public
        moves, uniformly, all types on them being updated (the form in which the method was published), in
        games whose private information is dealt once and whose moves are all public.
      chance_baseline: whether a learned baseline covers chance nodes too.
      **options: of `SamplingSolver`.
    """
    self.baseline = _make_baseline(baseline, decay, chance_baseline)
    self.exploration, self.decay = check_exploration(exploration), decay
    self.trajectories, self.chance_baseline = trajectories, chance_baseline
    super().__init__(game, _make_sampler(trajectories, self.baseline, exploration), **options)

  def _options(self):
    return {**super()._options(), "baseline": self.baseline.name}


class OutcomeSamplingSolver(SamplingSolver):
  """Outcome-sampling MCCFR (Lanctot et al. 2009): VR-MCCFR with the zero baseline."""

  _apart = ("sampler",)

  def __init__(
    self, game: pyspiel.Game, exploration: float = 0.6, trajectories: str = "histories", **options: Any
  ):
    """Build the trees; nothing is compiled yet. Arguments and errors as of `VRMCCFRSolver`."""
    self.exploration, self.trajectories = check_exploration(exploration), trajectories
    super().__init__(game, _make_sampler(trajectories, mccfr.ZeroBaseline(), exploration), **options)


class ExternalSamplingSolver(SamplingSolver):
  """External-sampling MCCFR (Lanctot et al. 2009), by traversals; see `mccfr.ExternalSampling`."""

  _apart = ("sampler",)

  def __init__(self, game: pyspiel.Game, **options: Any):
    """Build the trees; nothing is compiled yet. Arguments and errors as of `SamplingSolver`."""
    super().__init__(game, mccfr.ExternalSampling(), **options)


@jit(static_argnames=("sampler",))
def _variance(tree, tables, *, sampler):
  return mccfr.variance(tree, sampler, tables.regrets, tables.learned)


def set_of_each(tree: PublicTree, abstraction: Abstraction) -> np.ndarray:
  """int[infostates]: the set of each infostate, in the order of a sampling tree and without gaps."""
  numbers, first = [np.zeros(0, int)], 0
  for own, parts in zip(tree.players, bind(tree, abstraction), strict=True):
    sets, tables = as_sets(own, parts), []
    for cells, (_, columns, _) in zip(sets.cells, sets.shapes, strict=True):
      tables.append(first + cells[None])
      first += columns
    numbers += [block.ravel() for block in own.split(tables)]
  return np.unique(np.concatenate(numbers), return_inverse=True)[1]


def _make_baseline(name: Any, decay: float, chance: Any) -> mccfr.Baseline:
  check_option("baseline", name, BASELINES)
  learned = mccfr.LearnedBaseline(decay, check_flag("chance_baseline", chance))  # checked for all names
  return {"learned": learned, "zero": mccfr.ZeroBaseline(), "oracle": mccfr.OracleBaseline()}[name]


def _make_sampler(trajectories: Any, baseline: mccfr.Baseline, exploration: float) -> mccfr.TreeSampler:
  check_option("trajectories", trajectories, TRAJECTORIES)
  return (
    mccfr.PublicSampling(baseline)
    if trajectories == "public"
    else mccfr.OutcomeSampling(baseline, exploration)
  )
