"""CFR+IRA as a solver in OpenSpiel's shape: it finds an abstraction that is as good as the game."""

import numpy as np
import pyspiel

from ps_cfr_spiel import cfr
from ps_cfr_spiel.abstraction import abstract_tree, bind, cfr_ira
from ps_cfr_spiel.backend.device import precision, to_device
from ps_cfr_spiel.options import CFRPlusIRAOptions
from ps_cfr_spiel.sampling import mccfr
from ps_cfr_spiel.solvers.splitting import SplittingSolver


class CFRPlusIRASolver(SplittingSolver):
  """CFR+ with few regrets, on an abstraction that is split where the members of a set disagree.

  Čermák, Lisý and Bošanský (2020); see `abstraction.cfr_ira`. The policies are of the whole game, and so is
  their exploitability, the only guarantee: the paper's bound is empty before every set is split.

  An iteration is a turn of both players; the paper counts turns.
  """

  options_type = CFRPlusIRAOptions
  options: CFRPlusIRAOptions

  def __init__(
    self,
    game: pyspiel.Game,
    options: CFRPlusIRAOptions | None = None,
    *,
    progress: bool | None = None,
    **keywords: object,
  ):
    """Build the tree; nothing is compiled yet. ValueError for a wrong option or game.

    Args:
      game: from `pyspiel.load_game`.
      options: all options.
      progress: as of `PSCFRSolver`.
      **keywords: options by name; see `CFRPlusIRAOptions`.
    """
    options = CFRPlusIRAOptions.of(options, **keywords)
    self._build(game, options, options.dtype, progress)
    self._start = abstract_tree(self.tree, game, options.abstraction)
    nodes = mccfr.build_sampling_tree(game, self.tree) if options.samples else None
    with precision(self.dtype):
      self._tree = to_device(self.tree, self.dtype)
      nodes = to_device(nodes, self.dtype)
      self._setting = cfr_ira.Setting(
        self.tree,
        self._tree,
        nodes,
        options.samples,
        options,
        self.dtype,
        options.averaging_delay,
        options.tremble,
        options.seed,
        cfr_ira.utility_ranges(self.tree),
      )
      self._state = self._begin_on(bind(self.tree, self._start))

  def _begin_on(self, parts):
    return cfr_ira.init(self._setting, parts)

  @property
  def name(self):
    samples = f"S{self.options.samples}" if self.options.samples else ""
    return f"CFR+IRA B{self.options.bound}H{self.options.heuristic}{samples}"

  def _take_turn(self, state, sets, player):
    return cfr_ira.take_turn(self._setting, state, sets, player)

  def _strategies(self, average):
    tables, sets = self._state.tables, self._sets(self._parts())
    if average:
      return cfr.average_strategy(self._tree, tables, sets)
    return cfr.current_strategy(self._tree, tables, sets, cfr_ira.RULE, self.options.tremble)

  def _obstacle(self):
    infostates = [set(np.flatnonzero(part.sets >= 0).tolist()) for part in self._parts()]
    for player, slot in np.asarray(self._state.tracked).tolist():
      if (player, slot) != (-1, -1) and not (player in (0, 1) and slot in infostates[player]):
        return f"it watches slot {slot} of player {player}, which is no infostate"
    return None
