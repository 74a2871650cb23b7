"""Sampling solvers in the shape of OpenSpiel's, over `mccfr.solve`."""

from typing import Any, NamedTuple

import pyspiel

from ps_cfr_spiel import mccfr
from ps_cfr_spiel.arguments import check_exploration, check_flag, check_integer, check_option
from ps_cfr_spiel.compiler import build_tree, check_needs
from ps_cfr_spiel.device import check_dtype, jit, precision, to_device
from ps_cfr_spiel.histories import LIMIT
from ps_cfr_spiel.mccfr import (
  Baseline,
  ExternalSampling,
  LearnedBaseline,
  OracleBaseline,
  OutcomeSampling,
  PublicSampling,
  Sampler,
  SamplingState,
  SamplingTree,
  ZeroBaseline,
  variance,
)
from ps_cfr_spiel.reports import waiting
from ps_cfr_spiel.solvers.exact import TreeSolver

BASELINES = ("learned", "zero", "oracle")
TRAJECTORIES = ("histories", "public")
ADVICE = "Choose a smaller batch or, since tables grow with it, smaller parameters of the game"


class Loop(NamedTuple):
  """What `mccfr.solve` is called with: for measurements that run or read many loops at once.

  Attributes:
    tree: on the device.
    state: at present.
    method: the keyword arguments `sampler`, `batch` and `plus`.
  """

  tree: SamplingTree
  state: SamplingState
  method: dict[str, Any]


class SamplingSolver(TreeSolver):
  """Monte Carlo CFR with any sampler; the other classes of this file are this one with published samplers.

  Attributes:
    game, tree, dtype: as of every solver.
    sampler: how trajectories are sampled.
    plus: regret matching plus with linear averaging; else regret matching with uniform averaging.
    batch: trajectories under one strategy for each player's turn, whose mean is one update; an iteration
      thus samples 2 x batch trajectories.
    seed: of the random numbers.
    leaves, public_states, limit: how the tree was built.
    iteration: iterations done.
  """

  def __init__(
    self,
    game: pyspiel.Game,
    sampler: Sampler,
    plus: bool = False,
    batch: int = 1,
    seed: int = 0,
    dtype: str = "float32",
    leaves: str = "auto",
    public_states: str = "closure",
    limit: int = LIMIT,
    memory: float | None = None,
  ):
    """Builds the trees; nothing is compiled yet.

    Args:
      game: from `pyspiel.load_game`.
      sampler: a frozen dataclass; see `mccfr.Sampler`. Files hold only its name: `load` needs it again.
      plus: see the class.
      batch: see the class.
      seed: see the class.
      dtype: "float32" or "float64".
      leaves: see `build_tree`.
      public_states: see `build_tree`.
      limit: see `build_tree`.
      memory: see `build_tree`.

    Raises:
      ValueError: an argument is not one of the allowed, or the game cannot be compiled.
    """
    if isinstance(sampler, type) or not hasattr(sampler, "sampling_tree"):
      raise ValueError(f"Expected a sampler such as OutcomeSampling(ZeroBaseline()), got {sampler!r}.")
    self.game, self.sampler = game, sampler
    self.dtype, self.plus = check_dtype(dtype), check_flag("plus", plus)
    self.batch, self.seed = check_integer("batch", batch, 1), check_integer("seed", seed, 0)
    self.leaves, self.public_states, self.limit = leaves, public_states, limit
    self.tree = build_tree(game, leaves, public_states, limit, memory=memory)
    with waiting("Building the tree to sample from"):
      sampling_tree = sampler.sampling_tree(game, self.tree)
    needs = mccfr.memory_needs(sampling_tree, sampler, self.batch, self.dtype)
    check_needs(f"{self.name} on {game} with batch={self.batch:,}", needs, memory, ADVICE)
    with precision(self.dtype):
      self._tree = to_device(self.tree, self.dtype)
      self._sampling_tree = to_device(sampling_tree, self.dtype)
      self._state = mccfr.init(self._sampling_tree, sampler, self.seed, self.dtype)

  def loop(self) -> Loop:
    """The run as `mccfr.solve` takes it."""
    method = {"sampler": self.sampler, "batch": self.batch, "plus": self.plus}
    return Loop(self._sampling_tree, self._state, method)

  def variance(self) -> float:
    """Mean variance of the sampled counterfactual values at present; see `mccfr.variance`.

    Raises:
      ValueError: it is not computed for this sampler.
    """
    with precision(self.dtype):
      return float(_variance(self._sampling_tree, self._state, sampler=self.sampler))

  def _step(self, state, iterations):
    tree, _, method = self.loop()
    return mccfr.solve(tree, state, iterations, **method)

  def _strategies(self, average):
    tree, state, method = self.loop()
    return mccfr.average_strategy(tree, state, **method) if average else mccfr.current_strategy(tree, state)

  def _options(self):
    options = super()._options()
    return {**options, "sampler": repr(self.sampler)} if "sampler" in options else options


class VRMCCFRSolver(SamplingSolver):
  """Variance-reduced Monte Carlo CFR (Schmid et al. 2019; Schmid 2021, Section 17.8).

  Attributes: see `SamplingSolver`.
  """

  def __init__(
    self,
    game: pyspiel.Game,
    baseline: str = "learned",
    plus: bool = False,
    exploration: float = 0.6,
    decay: float = 0.5,
    batch: int = 1,
    seed: int = 0,
    dtype: str = "float32",
    trajectories: str = "histories",
    chance_baseline: bool = True,
    leaves: str = "auto",
    public_states: str = "closure",
    limit: int = LIMIT,
    memory: float | None = None,
  ):
    """Builds the trees; nothing is compiled yet.

    Args:
      game: from `pyspiel.load_game`.
      baseline: "learned", "zero" or "oracle"; see `baselines`.
      plus: see `SamplingSolver`.
      exploration: share of uniform play in the traverser's sampling policy, in (0, 1].
      decay: weight of the newest value in a learned baseline.
      batch: see `SamplingSolver`.
      seed: see `SamplingSolver`.
      dtype: "float32" or "float64".
      trajectories: what is sampled. "histories": single histories, in any game; "public": lines of public
        moves, uniformly, all types on them being updated (the form in which the method was published), in
        games whose private information is dealt once and whose moves are all public.
      chance_baseline: whether a learned baseline covers chance nodes too.
      leaves: see `build_tree`.
      public_states: see `build_tree`.
      limit: see `build_tree`.
      memory: see `build_tree`.

    Raises:
      ValueError: an argument is not one of the allowed, or the game cannot be compiled.
    """
    self.baseline = _make_baseline(baseline, decay, chance_baseline)
    self.exploration, self.decay = check_exploration(exploration), decay
    self.trajectories, self.chance_baseline = trajectories, chance_baseline
    sampler = _make_sampler(trajectories, self.baseline, exploration)
    super().__init__(game, sampler, plus, batch, seed, dtype, leaves, public_states, limit, memory)

  def _options(self):
    return {**super()._options(), "baseline": self.baseline.name}


class OutcomeSamplingSolver(SamplingSolver):
  """Outcome-sampling MCCFR (Lanctot et al. 2009): VR-MCCFR with the zero baseline.

  Attributes: see `SamplingSolver`.
  """

  def __init__(
    self,
    game: pyspiel.Game,
    plus: bool = False,
    exploration: float = 0.6,
    batch: int = 1,
    seed: int = 0,
    dtype: str = "float32",
    trajectories: str = "histories",
    leaves: str = "auto",
    public_states: str = "closure",
    limit: int = LIMIT,
    memory: float | None = None,
  ):
    """Builds the trees; nothing is compiled yet. Arguments and errors as of `VRMCCFRSolver`."""
    self.exploration, self.trajectories = check_exploration(exploration), trajectories
    sampler = _make_sampler(trajectories, ZeroBaseline(), exploration)
    super().__init__(game, sampler, plus, batch, seed, dtype, leaves, public_states, limit, memory)


class ExternalSamplingSolver(SamplingSolver):
  """External-sampling MCCFR (Lanctot et al. 2009): see `mccfr.ExternalSampling`.

  Attributes: see `SamplingSolver`; a "trajectory" is a traversal.
  """

  def __init__(
    self,
    game: pyspiel.Game,
    plus: bool = False,
    batch: int = 1,
    seed: int = 0,
    dtype: str = "float32",
    leaves: str = "auto",
    public_states: str = "closure",
    limit: int = LIMIT,
    memory: float | None = None,
  ):
    """Builds the trees; nothing is compiled yet. Arguments and errors as of `SamplingSolver`."""
    super().__init__(game, ExternalSampling(), plus, batch, seed, dtype, leaves, public_states, limit, memory)


@jit(static_argnames=("sampler",))
def _variance(tree, state, *, sampler):
  return variance(tree, sampler, state.regrets, state.learned)


def _make_baseline(name: Any, decay: float, chance: Any) -> Baseline:
  """A baseline by its name; ValueError if there is none, or its options are wrong."""
  check_option("baseline", name, BASELINES)
  learned = LearnedBaseline(decay, check_flag("chance_baseline", chance))  # checked whichever is asked for
  return {"learned": learned, "zero": ZeroBaseline(), "oracle": OracleBaseline()}[name]


def _make_sampler(trajectories: Any, baseline: Baseline, exploration: float) -> Sampler:
  """A sampler by the name of its trajectories; ValueError if there is none."""
  check_option("trajectories", trajectories, TRAJECTORIES)
  return PublicSampling(baseline) if trajectories == "public" else OutcomeSampling(baseline, exploration)
