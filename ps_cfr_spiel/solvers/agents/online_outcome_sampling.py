"""Online outcome sampling (OOS): the whole game is solved anew for every decision, aimed at that decision.

Lisý et al. 2015; Schmid 2021, Section 19.4.1. Outcome-sampling MCCFR runs on the whole game with trajectories
aimed at the decision at hand (`targeting`), and the average strategy found there is played.

Every run converges to an equilibrium, but each to its own, for each is aimed elsewhere. The strategies at
different infostates then need not fit together: OOS is locally, not globally consistent, and its
exploitability need not vanish. `OnlineOutcomeSampling.tabularise` is the policy that it plays, for exact
evaluation; `benchmarks/papers/online_sampling.py` measures both.
"""

import copy
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel

from ps_cfr_spiel import arguments
from ps_cfr_spiel.backend.device import check_finite, precision, to_device
from ps_cfr_spiel.compilation.compiler import build_tree
from ps_cfr_spiel.loading import sequential
from ps_cfr_spiel.options import OnlineOutcomeSamplingOptions, TreeOptions
from ps_cfr_spiel.policy import TreePolicy, probabilities_at, strategies_of
from ps_cfr_spiel.sampling import mccfr
from ps_cfr_spiel.solvers.agents.search_policy import PolicyBot, SearchPolicy
from ps_cfr_spiel.tree import Decision, check_zero_sum, first_cells

AT_ONCE = 64  # runs side by side when all infostates are visited


class OnlineOutcomeSampling(SearchPolicy):
  """Online outcome sampling, as a policy that solves at every query.

  As a policy it has no memory: at every infostate it plays the result of a run from empty tables. The policy
  of a `bot` keeps its tables through a match, as the published algorithm does.

  Unlike there, the game is enumerated before the first run and tables are complete from the start, rather
  than grown by a history an iteration.

  In `tree`, the game's public tree, every infostate is a row. `runs` is the common part of all runs.
  """

  def __init__(
    self,
    game: pyspiel.Game,
    options: OnlineOutcomeSamplingOptions | int | None = None,
    *,
    progress: bool | None = None,
    **keywords: Any,
  ):
    """Enumerate the game; nothing is compiled yet. ValueError for a wrong option or game.

    Args:
      game: from `pyspiel.load_game`; a Bayesian form does not help here.
      options: all options, or the iterations alone.
      progress: as of `build_tree`.
      **keywords: options by name; see `OnlineOutcomeSamplingOptions`.
    """
    super().__init__(sequential(game))
    self.options = options = OnlineOutcomeSamplingOptions.of(options, **keywords)
    favoured = options.favoured
    if favoured is not None and not isinstance(favoured, Mapping):
      raise ValueError(f"favoured must be a mapping of infostates to policies, got {favoured!r}.")
    self.tree = build_tree(game, "sparse", progress=progress, **options.values(TreeOptions))
    check_zero_sum(self.tree, "samplers")
    self._index_cells()
    self._forget(None, False)
    host_tree = mccfr.build_sampling_tree(game, self.tree)
    starts, start = self._starts(host_tree, dict(favoured or {}))
    arrays: Any = (host_tree, self._groups(), np.array(options.delta, float), starts, start)
    sampler = mccfr.OutcomeSampling(mccfr.ZeroBaseline(), options.exploration)
    with precision(options.dtype):
      self.runs = to_device(mccfr.AimedRuns(*arrays, sampler=sampler), options.dtype)

  def _forget(self, match: int | None, keep: bool) -> None:
    """Begin with empty tables, in a match of this number, or in none; `keep` them from answer to answer."""
    self._match, self._keep = match, keep
    self._tables: mccfr.SamplingState | None = None
    self._known: dict[int, dict[int, float]] = {}

  def restart(self) -> None:
    """A new match begins, for a bot: with empty tables and other random numbers."""
    if self._match is not None:
      self._forget(self._match + 1, self._keep)

  def _index_cells(self) -> None:
    """Numbers the infostates as the tables have them."""
    self.decisions: dict[int, Decision] = {}  # by cell
    self.cells: dict[tuple[int, str], int] = {}  # by player and information state string
    for decision, cell in zip(self.tree.names.decisions, first_cells(self.tree), strict=True):
      (name,) = decision.infostates
      assert name is not None
      self.decisions[cell], self.cells[decision.player, name] = decision, cell

  def _groups(self) -> np.ndarray:
    cells = range(len(self.decisions))
    by_public = [self.decisions[cell].public_state for cell in cells]
    return np.array(by_public if self.options.target == "public" else cells, np.int32)

  def _starts(self, host_tree: mccfr.SamplingTree, favoured: dict) -> tuple[np.ndarray, np.ndarray]:
    """`Situation.starts` and `Situation.start`; the first start is nothing."""
    starts = [np.zeros((host_tree.actions, host_tree.cells))]
    start = np.zeros(host_tree.cells, np.int32)
    numbers: dict[int, int] = {}
    for place, policy in favoured.items():
      cell = self.cell(*place) if isinstance(place, tuple) and len(place) == 2 else None
      if cell is None:
        raise ValueError(f"favoured must have keys (player, information state string), got {place!r}.")
      if id(policy) not in numbers:
        numbers[id(policy)] = len(starts)
        blocks = [b for player in strategies_of(self.tree, policy) for b in player]
        padded = [np.pad(b, ((0, host_tree.actions - len(b)), (0, 0), (0, 0))) for b in blocks]
        starts.append(self.options.favour * np.concatenate([b.reshape(len(b), -1) for b in padded], 1))
      start[cell] = numbers[id(policy)]
    return np.stack(starts), start

  def cell(self, player: int, infostate: str) -> int:
    """The number of an infostate, its column in tables; ValueError for an unknown infostate."""
    try:
      return self.cells[player, infostate]
    except KeyError:
      raise ValueError(f"Player {player} has no information state {infostate!r} in {self.game}.") from None

  def by_action(self, cell: int, column: jax.Array | np.ndarray) -> dict[int, float]:
    """A column [A] of a table as OpenSpiel's policies give it."""
    column = np.asarray(column, np.float64)
    check_finite(f"{type(self).__name__} at a decision", column, self.options.dtype)
    actions = self.decisions[cell].legal_actions
    return dict(zip(actions, (column[: len(actions)] / column.sum()).tolist(), strict=True))

  def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
    """Probability of every legal action at a state."""
    name = self.tree.names.infostate
    return probabilities_at(state, player_id, self.game, lambda at, i: self.at(i, name(at, i)))

  def at(self, player: int, infostate: str) -> dict[int, float]:
    """The same by information state string, ValueError for an unknown one; remembered if tables are not."""
    cell = self.cell(player, infostate)
    if self._keep or cell not in self._known:
      with precision(self.options.dtype), self.searching():
        column = self._run(cell)
      self._known[cell] = self.by_action(cell, column)
    return dict(self._known[cell])

  def _run(self, cell: int) -> jax.Array:
    """The average strategy [A] at an infostate, by a run that is aimed at it."""
    target, runs = jnp.int32(cell), self.runs
    if self._tables is None or not self._keep:
      self._tables = mccfr.aimed.begin(runs, runs.empty(self.options.seed, self._match), target)
    self._tables, column = mccfr.aimed.advance(runs, self._tables, target, self.options.iterations)
    return column

  def single_run_policy(self, player: int, infostate: str) -> TreePolicy:
    """The policy of the run aimed at an infostate, with which OOS is consistent; ValueError if unknown."""
    cell, empty = jnp.int32(self.cell(player, infostate)), self.runs.empty(self.options.seed)
    with precision(self.options.dtype), self.searching():
      table = mccfr.aimed.single(self.runs, empty, cell, self.options.iterations)
      return self._policy(table, target=infostate)

  def tabularise(self) -> TreePolicy:
    """The policy that OOS follows, by a run for each infostate (Schmid 2021, 19.4.1).

    The runs go side by side in one jitted program, to which targets are arguments.
    """
    count = len(self.decisions)
    size = max(min(count, AT_ONCE), 1)  # a game may have no decisions
    cells = np.arange(-(-count // size) * size).clip(max=count - 1).reshape(-1, size)
    with precision(self.options.dtype), self.searching():
      empty = self.runs.empty(self.options.seed)
      columns = [
        np.asarray(mccfr.aimed.each(self.runs, empty, jnp.array(some, jnp.int32), self.options.iterations))
        for some in cells
      ]
      nothing = np.zeros((0, self.runs.tree.actions), self.options.dtype)
      table = np.concatenate([nothing, *columns])[:count].T
      return self._policy(jnp.asarray(table), target="each")

  def _policy(self, table: jax.Array, **info: Any) -> TreePolicy:
    kept = {**self.options.header(), "leaves": "sparse"}
    header = {"solver": type(self).__name__, "options": kept}
    return TreePolicy(self.game, self.tree.names, self.runs.tree.blocks(table), header | info)

  def bot(self, player: int, seed: int | None = 0, keep_tables: bool = True) -> PolicyBot:
    """A player of matches, with a seed of its moves and of its runs; ValueError for a wrong argument.

    It keeps the tables of earlier decisions through a match, as in Lisý et al. 2015, unless `keep_tables` is
    false: then every decision begins from nothing.
    """
    playing = copy.copy(self)  # with the same compiled runs, and with options and tables of its own
    playing.options, playing.seconds = self.options.changed(seed=seed), []
    playing._forget(0, arguments.check_flag("keep_tables", keep_tables))
    return PolicyBot(arguments.check_player(player), seed, playing)
