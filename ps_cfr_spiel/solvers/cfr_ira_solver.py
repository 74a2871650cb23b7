"""CFR+IRA as a solver in OpenSpiel's shape: it finds an abstraction that is as good as the game."""

import dataclasses
from typing import Any

import numpy as np
import pyspiel

from ps_cfr_spiel import cfr
from ps_cfr_spiel.abstraction import Abstraction, Key, abstract_tree, bind, cfr_ira
from ps_cfr_spiel.arguments import check_count, check_integer
from ps_cfr_spiel.device import precision, to_device
from ps_cfr_spiel.solvers.splitting import SplittingSolver


class CFRPlusIRASolver(SplittingSolver):
  """CFR+ with few regrets, on an abstraction that is split where the members of a set disagree.

  Čermák, Lisý and Bošanský (2020); see `abstraction.cfr_ira`. The policies are of the whole game, and so is
  their exploitability, the only guarantee: the paper's bound is empty before every set is split.

  An iteration is a turn of both players; the paper counts turns. `refinement` is how sets are split.
  """

  _apart = ("bound", "heuristic", "tolerance", "relative")  # of `refinement`

  def __init__(
    self,
    game: pyspiel.Game,
    bound: int = 10,
    heuristic: int = 90,
    tolerance: float = 0.2,
    relative: bool = False,
    abstraction: Abstraction | Key | str | None = None,
    seed: int = 0,
    skip: int = 100,
    dtype: str = "float32",
    **options: Any,
  ):
    """Build the tree; nothing is compiled yet. ValueError for a wrong argument or game.

    Args:
      game: from `pyspiel.load_game`.
      bound: k_b of the paper: most infostates that the regret bound tracks at a time.
      heuristic: k_h: most infostates that the heuristic samples in a turn.
      tolerance: see `abstraction.cfr_ira.Refinement`.
      relative: likewise.
      abstraction: to begin with, or a key of `abstractions.abstract`; "initial" by default.
      seed: of the samples; the same seed gives the same run.
      skip: iterations left out of the average at the start.
      dtype: "float32" or "float64".
      **options: of `build_tree`.
    """
    self.refinement = cfr_ira.Refinement(bound, heuristic, tolerance, relative)
    self.skip, self.seed = check_count("skip", skip, 0), check_integer("seed", seed, 0)
    self._build(game, dtype, options)
    self._start = abstract_tree(self.tree, game, "initial" if abstraction is None else abstraction)
    with precision(self.dtype):
      self._tree = to_device(self.tree, self.dtype)
      self._setting = cfr_ira.Setting(
        self.tree, self._tree, self.refinement, self.dtype, self.skip, self.seed, cfr_ira.spreads(self.tree)
      )
      self._state = self._begin_on(bind(self.tree, self._start))

  def _begin_on(self, parts):
    return cfr_ira.init(self._setting, parts)

  @property
  def name(self):
    return f"CFR+IRA B{self.refinement.bound}H{self.refinement.heuristic}"

  def _take_turn(self, state, sets, player):
    return cfr_ira.take_turn(self._setting, state, sets, player)

  def _strategies(self, average):
    read = cfr.average_strategy if average else cfr.current_strategy
    return read(self._tree, self._state.tables, self._sets(self._parts()))

  def _obstacle(self):
    infostates = [set(np.flatnonzero(own.sets >= 0).tolist()) for own in self._parts()]
    for player, slot in np.asarray(self._state.tracked).tolist():
      if (player, slot) != (-1, -1) and not (player in (0, 1) and slot in infostates[player]):
        return f"it watches slot {slot} of player {player}, which is no infostate"
    return None

  def _options(self):
    return {**dataclasses.asdict(self.refinement), **super()._options()}
