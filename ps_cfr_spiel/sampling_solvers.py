"""Sampling solvers in the shape of OpenSpiel's, over `mccfr.solve`."""

import functools
from typing import Any

import jax
import numpy as np
import pyspiel

from ps_cfr_spiel import mccfr
from ps_cfr_spiel.arguments import check_exploration, check_integer
from ps_cfr_spiel.baselines import Baseline, LearnedBaseline, OracleBaseline, ZeroBaseline
from ps_cfr_spiel.build import LIMIT, build_tree
from ps_cfr_spiel.external_sampling import ExternalSampling
from ps_cfr_spiel.precision import check_dtype, precision, to_device
from ps_cfr_spiel.public_moves import build_public_sampling_tree
from ps_cfr_spiel.public_sampling import PublicSampling
from ps_cfr_spiel.rules import RM, RMPlus
from ps_cfr_spiel.sampling_tree import SamplingTree, build_sampling_tree
from ps_cfr_spiel.sampling_variance import variance
from ps_cfr_spiel.solver import IterativeSolver
from ps_cfr_spiel.trajectories import OutcomeSampling

BASELINES = ("learned", "zero", "oracle")
TRAJECTORIES = ("histories", "public")


class SamplingSolver(IterativeSolver):
  """What the sampling solvers share; use one of them.

  Attributes:
    game, tree, dtype: as of every solver.
    sampler: how trajectories are sampled.
    plus: regret matching plus with linear averaging; else regret matching with uniform averaging.
    rule: the same as a rule, for reports.
    alternating: True; the players are updated in turns.
    batch: trajectories under one strategy for each player's turn, whose mean is one update; an iteration
      thus samples 2 x batch trajectories.
    seed: of the random numbers.
    leaves, public_states, limit: how the tree was built.
    iteration: iterations done.
  """

  alternating = True
  _sampling_tree: SamplingTree

  def __init__(self, game: pyspiel.Game, **options: Any):
    """Options as of the subclasses."""
    raise TypeError(f"{type(self).__name__} is what the sampling solvers share; make one of them.")

  def _set_up(self, game, plus, batch, seed, dtype, leaves, public_states, limit) -> None:
    """Checks the common options and builds the public tree."""
    self.game = game
    self.dtype = check_dtype(dtype)
    if not isinstance(plus, bool | np.bool_):
      raise ValueError(f"plus must be True or False, got {plus!r}.")
    self.plus = bool(plus)
    self.rule = RMPlus() if plus else RM()
    self.batch = check_integer("batch", batch, 1)
    self.seed = check_integer("seed", seed, 0)
    self.leaves, self.public_states, self.limit = leaves, public_states, limit
    self.tree = build_tree(game, leaves, public_states, limit)

  def _start(self, host_tree: SamplingTree, sampler: mccfr.Sampler) -> None:
    """Copies the trees to the device and makes the first state."""
    self.sampler = sampler
    with precision(self.dtype):
      self._tree = to_device(self.tree, self.dtype)
      self._sampling_tree = to_device(host_tree, self.dtype)
      self._state = mccfr.init(self._sampling_tree, sampler, self.seed, self.dtype)

  @property
  def _method(self) -> dict[str, Any]:
    return {"sampler": self.sampler, "batch": self.batch, "plus": self.plus}

  def _step(self, state, iterations):
    return mccfr.solve(self._sampling_tree, state, iterations, **self._method)

  def _strategies(self, average):
    if average:
      return mccfr.average_strategy(self._sampling_tree, self._state, **self._method)
    return mccfr.current_strategy(self._sampling_tree, self._state)

  def variance(self) -> float:
    """Mean variance of the sampled counterfactual values at present; see `sampling_variance`."""
    with precision(self.dtype):
      return float(_variance(self._sampling_tree, self._state, sampler=self.sampler))

  def _options(self):
    return {
      "plus": self.plus,
      "batch": self.batch,
      "seed": self.seed,
      "dtype": self.dtype,
      "leaves": self.leaves,
      "public_states": self.public_states,
      "limit": self.limit,
    }


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

    Raises:
      ValueError: an argument is not one of the allowed, or the game cannot be compiled.
    """
    self._set_up(game, plus, batch, seed, dtype, leaves, public_states, limit)
    self.baseline = _make_baseline(baseline, decay, chance_baseline)
    self.exploration, self.decay = check_exploration(exploration), decay
    self.trajectories, self.chance_baseline = trajectories, chance_baseline
    if trajectories == "histories":
      self._start(build_sampling_tree(game, self.tree), OutcomeSampling(self.baseline, exploration))
    elif trajectories == "public":
      self._start(build_public_sampling_tree(self.tree), PublicSampling(self.baseline))
    else:
      raise ValueError(
        f"Unknown trajectories {trajectories!r}; choose one of {', '.join(map(repr, TRAJECTORIES))}."
      )

  def _options(self):
    return {
      "baseline": self.baseline.name,
      "exploration": self.exploration,
      "decay": self.decay,
      "trajectories": self.trajectories,
      "chance_baseline": self.chance_baseline,
      **super()._options(),
    }


class OutcomeSamplingSolver(VRMCCFRSolver):
  """Outcome-sampling MCCFR (Lanctot et al. 2009): VR-MCCFR with the zero baseline.

  Attributes: see `SamplingSolver`.
  """

  def __init__(self, game: pyspiel.Game, plus: bool = False, exploration: float = 0.6, **options: Any):
    """Arguments as of `VRMCCFRSolver`, but those of the baseline."""
    for name in ("baseline", "decay", "chance_baseline"):
      if name in options:
        raise TypeError(f"OutcomeSamplingSolver has no option {name!r}; VRMCCFRSolver has.")
    super().__init__(game, "zero", plus, exploration, **options)

  def _options(self):
    options = super()._options()
    return {k: v for k, v in options.items() if k not in ("baseline", "decay", "chance_baseline")}


class ExternalSamplingSolver(SamplingSolver):
  """External-sampling MCCFR (Lanctot et al. 2009): see `external_sampling`.

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
  ):
    """Builds the trees; nothing is compiled yet. Arguments and errors as of `VRMCCFRSolver`."""
    self._set_up(game, plus, batch, seed, dtype, leaves, public_states, limit)
    host_tree = build_sampling_tree(game, self.tree)
    self._start(host_tree, ExternalSampling.create(host_tree))

  def variance(self) -> float:
    """Not defined here."""
    raise ValueError("The variance of external sampling is not computed; that of the other solvers is.")


@functools.partial(jax.jit, static_argnames=("sampler",))
def _variance(tree, state, *, sampler):
  return variance(tree, sampler, state.regrets, state.learned)


def _make_baseline(name: Any, decay: float, chance: Any) -> Baseline:
  """A baseline by its name; ValueError if there is none, or its options are wrong."""
  if name not in BASELINES:
    raise ValueError(f"Unknown baseline {name!r}; choose one of {', '.join(map(repr, BASELINES))}.")
  if not isinstance(chance, bool | np.bool_):
    raise ValueError(f"chance_baseline must be True or False, got {chance!r}.")
  learned = LearnedBaseline(decay, bool(chance))  # checks decay whichever is asked for
  return {"learned": learned, "zero": ZeroBaseline(), "oracle": OracleBaseline()}[name]
