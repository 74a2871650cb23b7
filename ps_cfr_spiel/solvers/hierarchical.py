"""Monte Carlo CFR on games of dealt cards, in public clusters on all devices, in OpenSpiel's shape."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pyspiel

from ps_cfr_spiel import hierarchical, mccfr
from ps_cfr_spiel.arguments import check_count, check_integer
from ps_cfr_spiel.cfr import RM
from ps_cfr_spiel.compiler import check_needs
from ps_cfr_spiel.device import (
  broadcast,
  check_dtype,
  check_finite,
  is_first_process,
  precision,
  process_count,
  sum_over_processes,
)
from ps_cfr_spiel.hierarchical import (
  ClusterSampling,
  DealtAbstraction,
  DealtGame,
  Strategy,
  StrategyTables,
  evaluate_strategies,
  make_abstraction,
)
from ps_cfr_spiel.histories import check_is_game
from ps_cfr_spiel.mccfr import SamplingState
from ps_cfr_spiel.reports import report
from ps_cfr_spiel.solvers.exact import ExactSolver
from ps_cfr_spiel.solvers.hierarchical_policy import HierarchicalPolicy

ADVICE = "Fewer clusters or buckets, fewer bets, a smaller batch or fewer boards at a time take less"


class HierarchicalMCCFRSolver(ExactSolver[HierarchicalPolicy]):
  """Modified external sampling in public clusters (Brown, Ganzfried and Sandholm 2015): `hierarchical.run`.

  All of JAX's devices share the clusters, those of all joined processes (`join_processes`) that run the same
  solver included; their number changes no result. The game is not enumerated. No bound holds where hands
  share buckets; exploitability is measured in the whole game.

  Attributes:
    game: `universal_poker` for two with public cards, or `leduc_poker`.
    abstraction: of the game.
    rule: regret matching (`RM`) or regret matching plus (`RMPlus`).
    batch: pairs of hands dealt for one update.
    boards: boards that each cluster draws for a pair of hands, and averages.
    seed: of the random numbers.
    dtype: "float32" or "float64".
  """

  _apart = ("clusters", "buckets", "abstraction")
  slowly_evaluated = True
  shared = True

  def __init__(
    self,
    game: pyspiel.Game,
    clusters: int | np.ndarray | None = None,
    buckets: int | str = 50,
    rule: str | RM = "rm+",
    batch: int = 16,
    boards: int = 1,
    seed: int = 0,
    dtype: str = "float32",
    abstraction: DealtAbstraction | None = None,
  ):
    """Makes the abstraction and the tables; nothing is compiled yet.

    Args:
      game: see the class.
      clusters: see `hierarchical.make_abstraction`.
      buckets: see `hierarchical.make_abstraction`.
      rule: see `SamplingSolver`.
      batch: at least 1.
      boards: at least 1.
      seed: also of the abstraction's.
      dtype: see the class.
      abstraction: an existing one, instead of `clusters` and `buckets`.

    Raises:
      ValueError: an argument is not one of the allowed, the game is not one of dealt cards, or its cards,
        the tables or the deals of a batch need more memory than is free.
      TypeError: `game` is not a game.
    """
    self.game, self.dtype = game, check_dtype(dtype)
    self.rule = mccfr.check_rule(rule)
    self.batch, self.boards = check_count("batch", batch, 1), check_count("boards", boards, 1)
    self.seed = check_integer("seed", seed, 0)
    check_is_game(game)
    if not isinstance(abstraction, DealtAbstraction | None):
      raise ValueError(
        f"abstraction must be one of make_abstraction or load_abstraction, got {abstraction!r}."
      )
    self._dealt = DealtGame.of(game)
    if abstraction is None:
      self.abstraction = make_abstraction(self._dealt, clusters, buckets, seed)
    elif abstraction.game != str(game):
      raise ValueError(f"The abstraction is one of {abstraction.game}, not of {game}.")
    else:
      self.abstraction = DealtAbstraction.of(self._dealt, abstraction.clusters, abstraction.buckets)
    self._mesh = hierarchical.all_devices()
    with precision(self.dtype):
      tree = hierarchical.dealt_tree(self._dealt, self.abstraction, self._mesh.size)
      needs = hierarchical.run_needs(tree, self._mesh, self.batch * self.boards, self.dtype)
      what = f"{self.name} on {game} with batch={self.batch:,} and boards={self.boards:,}"
      check_needs(what, needs, None, ADVICE)
      self._tree = hierarchical.device_game(tree, self.dtype, self._mesh)
      self._sampler = ClusterSampling(self.abstraction.count, self.boards)
      self._state = hierarchical.init(tree, self._sampler, self.seed, self.dtype, self._mesh)

  def summary(self) -> str:
    """The size of the game, its abstraction and the tables, as lines of text."""
    sizes = hierarchical.measure(self._dealt.form)
    whole = sum(x.nbytes for x in jax.tree.leaves(self._state.tables))
    lines = {
      "game": self.game,
      "infostates": f"{sizes.infostates:,}, {sizes.infostate_classes:,} up to names of suits",
      **self.abstraction.facts(),
      "tables": f"{whole / 1e6:,.3g} MB, on {self._mesh.size} device(s)",
    }
    return report(lines)

  def _evaluate(self, progress):
    own = Strategy(self.abstraction, self._tables(average=True))
    return evaluate_strategies(self._dealt, (own, own), self.dtype, progress)

  def _tables(self, average: bool) -> StrategyTables:
    """The strategies on the host, as sums."""
    parts = self._kept().tables
    return StrategyTables(*(part.average.total if average else part.regrets for part in parts))

  def _step(self, state, iterations):
    method = {"sampler": self._sampler, "rule": self.rule, "batch": self.batch, "mesh": self._mesh}
    return hierarchical.run(self._tree, state, iterations, **method)

  def _policy(self, average):
    info = self._policy_info(average)
    return HierarchicalPolicy(self.game, self._dealt, self.abstraction, self._tables(average), info)

  def _kept(self) -> SamplingState:
    """The state on the host, without the clusters that only fill up devices."""
    return _of_clusters(hierarchical.gathered(self._state), lambda x: x[: self.abstraction.count])

  def _here(self):
    own = [shard.data for array in jax.tree.leaves(self._state) for shard in array.addressable_shards]
    if process_count() == 1:
      return own
    try:
      check_finite("", own, self.dtype)
      lost = 0.0
    except FloatingPointError:
      lost = np.nan
    return sum_over_processes(np.array([lost], np.float32))  # so that all processes raise, or none

  def clock(self):
    """See `Solver`: that of the first process."""
    return broadcast(super().clock())

  def save(self, path):
    """See `Solver`; all processes must call it, and the first writes the file."""
    if is_first_process():
      super().save(path)
    else:
      self._kept()  # all processes take part in gathering

  def _taken_up(self, kept: SamplingState) -> SamplingState:
    empty = ((0, len(self._tree.boards) - self.abstraction.count), (0, 0), (0, 0))
    return _of_clusters(kept, lambda x: np.pad(x, empty))

  def _restore(self, file):
    super()._restore(file)
    with precision(self.dtype):
      self._state = hierarchical.on_mesh(self._mesh, hierarchical.STATE, self._state)

  def _arrays(self):
    return hierarchical.to_arrays(self.abstraction)

  @classmethod
  def _arguments(cls, file):
    return {**super()._arguments(file), "abstraction": hierarchical.from_file(file)}


def _of_clusters(state: SamplingState, how: Callable[[Any], Any]) -> SamplingState:
  """The state with the tables of the clusters, [C', A, S], mapped."""
  tables = state.tables
  return state._replace(tables=tables._replace(clusters=jax.tree.map(how, tables.clusters)))
