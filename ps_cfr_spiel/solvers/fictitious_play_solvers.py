"""Fictitious play as solvers in OpenSpiel's shape: in the whole game, and in an abstraction it splits."""

from typing import ClassVar

import numpy as np
import pyspiel

from ps_cfr_spiel import cfr
from ps_cfr_spiel.abstraction import abstract_tree, bind, fpira
from ps_cfr_spiel.backend.device import precision, to_device
from ps_cfr_spiel.cfr import fictitious_play
from ps_cfr_spiel.options import FictitiousPlayOptions, FPIRAOptions
from ps_cfr_spiel.solvers.exact import TreeSolver
from ps_cfr_spiel.solvers.splitting import SplittingSolver
from ps_cfr_spiel.tree import check_two_players


class FictitiousPlaySolver(TreeSolver):
  """Fictitious play on a two-player zero-sum game; see `cfr.fictitious_play`.

  It is slow beside CFR, and serves for comparisons, above all with FPIRA. Its current policy is the average
  one. An iteration is a best response of both players. Its tree has one type and a number for each pair of
  sequences.
  """

  options_type: ClassVar[type[FictitiousPlayOptions]] = FictitiousPlayOptions
  options: FictitiousPlayOptions

  def __init__(
    self,
    game: pyspiel.Game,
    options: FictitiousPlayOptions | None = None,
    *,
    progress: bool | None = None,
    **keywords: object,
  ):
    """Enumerate the game's histories; nothing is compiled yet. ValueError for a wrong option or game.

    Args:
      game: from `pyspiel.load_game`.
      options: all options.
      progress: as of `PSCFRSolver`.
      **keywords: options by name; see `options_type`.
    """
    options = self.options_type.of(options, **keywords)
    self._build(game, options, options.dtype, progress, leaves="sparse")
    check_two_players(self.tree, "rounds of fictitious play")
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
  """Fictitious play in an abstraction that is split where it would lead to another course: FPIRA.

  Čermák, Lisý and Bošanský (2020); see `abstraction.fpira`. In every iteration its policy is as exploitable
  as that of fictitious play with the same best responses (Theorem 1). On most games these are those of
  `FictitiousPlaySolver`; where the two break ties in different ways, they part.
  """

  options_type = FPIRAOptions
  options: FPIRAOptions

  def _first(self):
    self._start = abstract_tree(self.tree, self.game, self.options.abstraction)
    return self._begin_on(bind(self.tree, self._start))

  def _begin_on(self, parts):
    return fpira.init(self.tree, parts, self.dtype)

  def _take_turn(self, state, sets, player):
    return fpira.take_turn(self.tree, self._tree, state, sets, player, self._scale)

  def _strategies(self, average):
    return cfr.in_blocks(self._tree, self._state.averages, self._sets(self._parts()))
