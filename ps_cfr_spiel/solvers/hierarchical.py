"""Monte Carlo CFR on games of dealt cards, in public clusters on all devices, in OpenSpiel's shape."""

import functools
import math
import secrets
from collections.abc import Callable, Mapping
from typing import TypeVar

import jax
import numpy as np
import pyspiel

from ps_cfr_spiel import hierarchical, storage
from ps_cfr_spiel.arguments import check_number
from ps_cfr_spiel.backend import device
from ps_cfr_spiel.backend.native import why_unavailable
from ps_cfr_spiel.cfr import Rule
from ps_cfr_spiel.compilation.histories import NO_GUARANTEE
from ps_cfr_spiel.loading import check_is_game, game_in
from ps_cfr_spiel.memory import check_needs
from ps_cfr_spiel.options import HierarchicalMCCFROptions, MakeAbstractionOptions
from ps_cfr_spiel.reports import report
from ps_cfr_spiel.sampling import mccfr
from ps_cfr_spiel.sampling.keyed import KeyedPolicy
from ps_cfr_spiel.sampling.mccfr import SamplingState
from ps_cfr_spiel.solvers.exact import ExactSolver

OPEN = 8  # clusters of a policy in a file that are kept in memory
TRUNK = ("state3", "state4")  # in files: the sum of strategies of the trunk, see `_kept`
ADVICE = "Fewer clusters or buckets, fewer bets, a smaller batch or fewer boards at a time take less"


class HierarchicalMCCFRSolver(ExactSolver[KeyedPolicy]):
  """Modified external sampling in public clusters (Brown, Ganzfried and Sandholm 2015): `hierarchical.run`.

  All of JAX's devices share the clusters, those of all joined processes (`join_processes`) that run the same
  solver included; their number changes no result. The game is not enumerated. No bound holds where hands
  share buckets; exploitability is measured in the whole game.
  """

  options_type = HierarchicalMCCFROptions
  options: HierarchicalMCCFROptions
  slowly_evaluated = True
  abstraction: hierarchical.Hierarchy
  shared = True

  def __init__(
    self,
    game: pyspiel.Game,
    options: HierarchicalMCCFROptions | int | np.ndarray | None = None,
    **keywords: object,
  ):
    """Make the abstraction and the tables; nothing is compiled yet.

    ValueError for a wrong option or game, or if its cards, the tables or the deals of a batch need more
    memory than is free; TypeError if `game` is not a game.

    Args:
      game: `universal_poker` for two with public cards, `leduc_poker`, or `holdem_subgame` of a flop
        or turn.
      options: all options, or the clusters alone.
      **keywords: options by name; see `HierarchicalMCCFROptions`.
    """
    options = HierarchicalMCCFROptions.of(options, **keywords)
    self.game, self.dtype = game, options.dtype
    rule = mccfr.check_rule(options.rule, linear=True)
    self.options = options = options.changed(rule=rule, pruning=_pruning(options.pruning, rule))
    abstraction, batch, boards = options.abstraction, options.batch, options.boards
    check_is_game(game)
    if not isinstance(abstraction, hierarchical.Hierarchy | hierarchical.InFile | None):
      raise ValueError(
        f"abstraction must be one of make_abstraction or load_abstraction, got {abstraction!r}."
      )
    if abstraction is not None and abstraction.game != str(game):
      raise ValueError(f"The abstraction is one of {abstraction.game}, not of {game}.")
    self._dealt = hierarchical.card_game(game)
    if abstraction is None:
      self.abstraction = hierarchical.make_abstraction(self._dealt, **options.values(MakeAbstractionOptions))
    else:
      self.abstraction = abstraction.on(self._dealt)
    self._mesh, least = hierarchical.all_devices(), -math.inf if options.pruning is None else options.pruning
    self.device = device.accelerator()  # which meshes are of
    with device.precision(self.dtype, self.device):
      tree = hierarchical.dealt_tree(self._dealt, self.abstraction, self._mesh.size)
      needs = hierarchical.run_needs(tree, self._mesh, batch * boards, self.dtype)
      what = f"{self.name} on {game} with batch={batch:,} and boards={boards:,}"
      check_needs(what, needs, None, ADVICE)
      self._tree = hierarchical.device_game(tree, self.dtype, self._mesh)
      self._sampler = hierarchical.ClusterSampling(self.abstraction.count, boards, least)
      self._state = hierarchical.init(tree, self._sampler, options.seed, self.dtype, self._mesh)

  @property
  def evaluable(self):
    return self._dealt.deal.in_tables

  def summary(self):
    sizes = hierarchical.measure(self._dealt.betting, self._dealt.deal)
    whole = device.bytes_of(self._state.tables)
    lines = {
      "game": self.game,
      "infostates": f"{sizes.infostates:,}, {sizes.infostate_classes:,} up to names of suits",
      **self.abstraction.facts(),
      "tables": f"{whole / 1e6:,.3g} MB, on {self._mesh.size} device(s)",
    }
    remarks = {} if self._dealt.betting.zero_sum else {"utilities": f"general sum, {NO_GUARANTEE}"}
    return report(lines | remarks)

  def _evaluate(self, progress):
    strategy = hierarchical.Strategy(self.abstraction, self._tables(average=True, copied=False))
    boards = np.flatnonzero(np.isin(self.abstraction.clusters, list(self._here())))
    return hierarchical.evaluate_strategies(self._dealt, (strategy, strategy), self.dtype, progress, boards)

  def _here(self) -> dict[int, hierarchical.PartTables]:
    """The tables of this process's clusters: views of the run's own."""
    return hierarchical.clusters_here(self._tree, self._state, self.abstraction.count)

  def _tables(self, average: bool, copied: bool) -> hierarchical.StrategyTables:
    """The strategies as sums; of clusters that other processes hold, reading raises ValueError."""

    def sums(part: hierarchical.PartTables) -> np.ndarray:
      return np.asarray(part.average.total if average else part.regrets)

    parts = self._here()
    if copied:  # views would keep the run's tables alive
      copies = {cluster: np.array(sums(part)) for cluster, part in parts.items()}
      read = functools.partial(_held, copies)
    else:
      read = lambda cluster: sums(_held(parts, cluster))  # noqa: E731
    subtree = self._tree.cluster_subtree
    shape = (self.abstraction.count, subtree.actions, subtree.cells)
    return hierarchical.StrategyTables(sums(self._state.tables.trunk), hierarchical.ByCluster(shape, read))

  def __getstate__(self):
    """Arrays on the host, for pickle: the devices are those of the process that loads it."""
    host = jax.device_get((self._tree, self._state))
    return {**vars(self), "_mesh": None, "_tree": host[0], "_state": host[1]}

  def __setstate__(self, values: dict[str, object]) -> None:
    vars(self).update(values)
    self._mesh, state, cells = hierarchical.all_devices(), self._state, self._tree.cluster_subtree.cells

    def part(cluster: int) -> hierarchical.PartTables:
      columns = slice(cluster * cells, (cluster + 1) * cells)
      return jax.tree.map(lambda x: x[:, columns], state.tables.clusters)

    with device.precision(self.dtype, self.device):
      self._tree = hierarchical.device_game(self._tree, self.dtype, self._mesh)
      self._state = hierarchical.on_mesh(self._tree, state, self._mesh, part, self.abstraction.count)

  def _step(self, state, iterations):
    method = {"sampler": self._sampler, "rule": self.options.rule, "batch": self.options.batch}
    return hierarchical.run(self._tree, state, iterations, mesh=self._mesh, **method)

  def _policy(self, average):
    tables = self._tables(average, copied=True)
    form = hierarchical.ClusteredGame(self._dealt, self.abstraction)
    return KeyedPolicy(form, tables, self._policy_info(average))

  @classmethod
  def policy_in(cls, file, options):
    """The average policy of a run's file, whose clusters are opened when they are asked for."""
    saved, game = cls._saved_options(file), game_in(file.header, file.path)
    dtype, of_abstraction = saved.dtype, saved.abstraction
    dealt = hierarchical.card_game(game)
    form = hierarchical.ClusteredGame(dealt, of_abstraction.on(dealt))
    part = _shards(file, form.cluster, dtype)

    @functools.lru_cache(maxsize=OPEN)
    def read(cluster: int) -> np.ndarray:
      return np.asarray(part(cluster).average.total)

    shapes = {name: (form.trunk, np.dtype(dtype)) for name in TRUNK}
    average, compensation = (file.arrays({**file.shapes, **shapes})[name] for name in TRUNK)
    clusters = hierarchical.ByCluster((form.abstraction.count, *form.cluster), read)
    tables = hierarchical.StrategyTables(average - compensation, clusters)
    return KeyedPolicy(form, tables, {**file.header, "policy": "average"})

  def _checked(self, sound):
    # Values of lines meet in the trunk, which all processes have, so a number that is not finite shows there.
    where = f"{self.name} within iterations up to {self.iteration:,}"
    device.check_finite(where, self._state.tables.trunk, self.dtype)

  @staticmethod
  def clock():
    return device.broadcast(ExactSolver.clock())

  def _kept(self) -> SamplingState:
    return self._state._replace(tables=self._state.tables._replace(clusters=None))

  def save(self, path):
    """See `Solver`; all processes must call it: the first writes the file, each its clusters beside it."""
    stamp = f"{int(device.broadcast(secrets.randbits(31))):08x}"
    hierarchical.write_shards(path, stamp, self._header(), self._here())
    if isinstance(self.abstraction, hierarchical.NearestAbstraction):
      tables = hierarchical.tables_here(self._tree, self.abstraction.count)
      hierarchical.write_tables(path, self.abstraction, tables)
    device.barrier("written")
    if device.is_first_process():
      self._write(path, shards=stamp, clustered_round=self.abstraction.clustered_round)
      hierarchical.forget_shards(path, stamp)

  def _restore(self, file):
    super()._restore(file)
    with device.precision(self.dtype, self.device):
      clusters = self._sampler.init(self._tree, self.dtype).clusters
      state, subtree = self._state, self._tree.cluster_subtree
      state = state._replace(tables=state.tables._replace(clusters=clusters))
      part = _shards(file, (subtree.actions, subtree.cells), self.dtype)
      self._state = hierarchical.on_mesh(self._tree, state, self._mesh, part, self.abstraction.count)

  def _arrays(self):
    return self.abstraction.to_arrays()

  @classmethod
  def _from_arrays(cls, file):
    return {"abstraction": hierarchical.from_file(file)}


Part = TypeVar("Part")


def _held(parts: Mapping[int, Part], cluster: int) -> Part:
  """A cluster's tables; ValueError if another process has them."""
  if cluster not in parts:
    raise ValueError(f"Another process holds cluster {cluster}: save the run, and load_policy its file.")
  return parts[cluster]


def _pruning(regret: float | None, rule: Rule) -> float | None:
  """The regret below which actions are pruned; ValueError unless it is negative and regrets can be."""
  if regret is None:
    return None
  if rule.floor > -math.inf:
    raise ValueError(f"pruning={regret!r}: regrets of {rule} are never negative; choose rule='rm' or 'lcfr'.")
  threshold = check_number("pruning", regret, -math.inf, 0)
  if not -math.inf < threshold < 0:
    raise ValueError(f"pruning={regret!r}: give a negative regret, such as -300 stacks.")
  if reason := why_unavailable():
    raise ValueError(f"pruning={regret!r}: the native library alone prunes, and it is missing: {reason}.")
  return threshold


def _shards(
  file: storage.Stored, shape: tuple[int, int], dtype: str
) -> Callable[[int], hierarchical.PartTables]:
  """See `hierarchical.read_shards`; ValueError if the file does not name them."""
  if "shards" not in file.header:
    raise ValueError(f"{file.path} is damaged: its header has no shards.")
  return hierarchical.read_shards(file.path, file.header["shards"], shape, dtype)
