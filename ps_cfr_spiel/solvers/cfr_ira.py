"""CFR+IRA as a solver in OpenSpiel's shape: it finds an abstraction that is as good as the game."""

import dataclasses

import numpy as np
import pyspiel

from ps_cfr_spiel import cfr
from ps_cfr_spiel.abstraction import Abstraction, Key, abstract_tree, bind, cfr_ira
from ps_cfr_spiel.arguments import check_count, check_integer
from ps_cfr_spiel.compiler import build_tree
from ps_cfr_spiel.device import check_dtype, precision, to_device
from ps_cfr_spiel.histories import LIMIT
from ps_cfr_spiel.solvers.splitting import SplittingSolver


class CFRPlusIRASolver(SplittingSolver):
  """Solves a game with few regrets: CFR+ on an abstraction that is split where its members disagree.

  Čermák, Lisý and Bošanský (2020); see `abstraction.cfr_ira`. The policies are of the whole game, and so is
  their exploitability, the only guarantee: the paper's bound is empty before every set is split.

  Attributes:
    game: the game.
    tree: its public tree, on the host.
    refinement: how sets are split.
    dtype: "float32" or "float64".
    skip: iterations left out of the average at the start.
    seed: of the samples; the same seed gives the same run.
    leaves, public_states, limit: how the tree was built.
    iteration: iterations done, each a turn of both players (the paper counts turns).
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
    leaves: str = "auto",
    public_states: str = "closure",
    limit: int = LIMIT,
    progress: bool | None = None,
    memory: float | None = None,
  ):
    """Builds the tree; nothing is compiled yet.

    Args:
      game: from `pyspiel.load_game`.
      bound: k_b of the paper: most infostates that the regret bound tracks at a time.
      heuristic: k_h: most infostates that the heuristic samples in a turn.
      tolerance: see `abstraction.cfr_ira.Refinement`.
      relative: likewise.
      abstraction: to begin with, or a key of `abstractions.abstract`; "initial" by default.
      seed: see the class.
      skip: see the class.
      dtype: see the class.
      leaves: leaf evaluator; see `build_tree`.
      public_states: see `build_tree`.
      limit: most histories to walk.
      progress: show a progress bar while walking; see `build_tree`.
      memory: most bytes to take; see `build_tree`.

    Raises:
      ValueError: an argument is not one of the allowed, or the game cannot be compiled.
    """
    self.game = game
    self.refinement = cfr_ira.Refinement(bound, heuristic, tolerance, relative)
    self.dtype, self.skip = check_dtype(dtype), check_count("skip", skip, 0)
    self.seed = check_integer("seed", seed, 0)
    self.leaves, self.public_states, self.limit = leaves, public_states, limit
    self.tree = build_tree(game, leaves, public_states, limit, progress, memory)
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
    """See `Solver`."""
    return f"CFR+IRA B{self.refinement.bound}H{self.refinement.heuristic}"

  def _step(self, state, iterations):
    return cfr_ira.run(self._setting, state, iterations)

  def _strategies(self, average):
    read = cfr.average_strategy if average else cfr.current_strategy
    return read(self._tree, self._state.tables, cfr_ira.device_sets(self._setting, self._parts()))

  def _obstacle(self):
    infostates = [set(np.flatnonzero(own.sets >= 0).tolist()) for own in self._parts()]
    for player, slot in np.asarray(self._state.tracked).tolist():
      if (player, slot) != (-1, -1) and not (player in (0, 1) and slot in infostates[player]):
        return f"it watches slot {slot} of player {player}, which is no infostate"
    return None

  def _options(self):
    return {**dataclasses.asdict(self.refinement), **super()._options()}
