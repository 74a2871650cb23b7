"""Fictitious play as solvers in OpenSpiel's shape: in the whole game, and in an abstraction it splits."""

import numpy as np
import pyspiel

from ps_cfr_spiel import cfr
from ps_cfr_spiel.abstraction import Abstraction, Key, abstract_tree, bind, fpira
from ps_cfr_spiel.cfr import fictitious_play
from ps_cfr_spiel.compiler import build_tree
from ps_cfr_spiel.device import check_dtype, precision, to_device
from ps_cfr_spiel.histories import LIMIT
from ps_cfr_spiel.solvers.exact import TreeSolver
from ps_cfr_spiel.solvers.splitting import SplittingSolver


class FictitiousPlaySolver(TreeSolver):
  """Solves a two-player zero-sum game by fictitious play; see `cfr.fictitious_play`.

  It is slow beside CFR, and serves for comparisons, above all with FPIRA. Its current policy is the average
  one.

  Attributes:
    game: the game.
    tree: its public tree, on the host, with one type and a number for each pair of sequences.
    dtype: "float32" or "float64".
    public_states, limit: how the tree was built.
    iteration: iterations done, each a best response of both players.
  """

  def __init__(
    self,
    game: pyspiel.Game,
    dtype: str = "float64",
    public_states: str = "closure",
    limit: int = LIMIT,
    progress: bool | None = None,
    memory: float | None = None,
  ):
    """Builds the tree; nothing is compiled yet.

    Args:
      game: from `pyspiel.load_game`; its histories are walked.
      dtype: see the class.
      public_states: "closure", "observer" or "none"; see `build_tree`.
      limit: most histories to walk.
      progress: show a progress bar while walking; see `build_tree`.
      memory: most bytes to take; see `build_tree`.

    Raises:
      ValueError: an argument is not one of the allowed, or the game cannot be compiled.
    """
    self.game, self.dtype = game, check_dtype(dtype)
    self.public_states, self.limit = public_states, limit
    self.tree = build_tree(game, "sparse", public_states, limit, progress, memory)
    self._scale = game.max_utility() - game.min_utility()
    with precision(self.dtype):
      self._tree = to_device(self.tree, self.dtype)
      self._state = self._first()

  def _first(self):
    return fictitious_play.init(self._tree, self.dtype)

  def _step(self, state, iterations):
    tolerance = np.asarray(1e-12 * self._scale, self.dtype)
    return fictitious_play.run(self._tree, state, iterations, tolerance)

  def _strategies(self, average):
    return [fictitious_play.average_of(sums) for sums in self._state.sums]


class FPIRASolver(SplittingSolver, FictitiousPlaySolver):
  """Fictitious play in an abstraction that is split wherever it would go another way: FPIRA.

  Čermák, Lisý and Bošanský (2020); see `abstraction.fpira`. In every iteration its policy is as exploitable
  as that of fictitious play with the same best responses (Theorem 1). On most games these are those of
  `FictitiousPlaySolver`; where the two break ties in different ways, they part.

  Attributes:
    game, tree, dtype, public_states, limit, iteration: as in `FictitiousPlaySolver`.
  """

  def __init__(
    self,
    game: pyspiel.Game,
    abstraction: Abstraction | Key | str | None = None,
    dtype: str = "float64",
    public_states: str = "closure",
    limit: int = LIMIT,
    progress: bool | None = None,
    memory: float | None = None,
  ):
    """Builds the tree; nothing is compiled yet.

    Args:
      game: from `pyspiel.load_game`; its histories are walked.
      abstraction: to begin with, or a key of `abstractions.abstract`; "initial" by default.
      dtype: see the class.
      public_states: "closure", "observer" or "none"; see `build_tree`.
      limit: most histories to walk.
      progress: show a progress bar while walking; see `build_tree`.
      memory: most bytes to take; see `build_tree`.

    Raises:
      ValueError: an argument is not one of the allowed, or the game cannot be compiled.
    """
    self._wanted = "initial" if abstraction is None else abstraction
    super().__init__(game, dtype, public_states, limit, progress, memory)

  def _first(self):
    self._start = abstract_tree(self.tree, self.game, self._wanted)
    return self._begin_on(bind(self.tree, self._start))

  def _begin_on(self, parts):
    return fpira.init(self.tree, parts, self.dtype)

  def _step(self, state, iterations):
    return fpira.run(self.tree, self._tree, state, iterations, self._scale)

  def _strategies(self, average):
    sets = to_device(fpira.device_sets(self.tree, self._parts()), self.dtype)
    return cfr.in_blocks(self._tree, self._state.averages, sets)
