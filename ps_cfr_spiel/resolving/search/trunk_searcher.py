"""Searches of a trunk, below which every public state is solved apart and forgotten: the algorithm CFR-D.

Burch, Johanson and Bowling (2014); Schmid 2021, Section 20.3. An iteration of the trunk asks for values in
all public states where it ends. There the game below is made, solved by CFR for the ranges of this iteration,
and thrown away, tree and tables. So memory is that of the trunk and of the largest subgame: of a game that
divides evenly, in proportion to the square root of its size.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import numpy as np

from ps_cfr_spiel import cfr
from ps_cfr_spiel.backend.device import bytes_of, jit, to_device
from ps_cfr_spiel.cfr import SolverState
from ps_cfr_spiel.compilation.histories import find_histories, history_origin
from ps_cfr_spiel.resolving.search.levels import stops_ahead
from ps_cfr_spiel.resolving.search.problems import Problem
from ps_cfr_spiel.resolving.search.search_steps import SearchesOnDemand
from ps_cfr_spiel.resolving.search.searcher import Searcher
from ps_cfr_spiel.resolving.search.subgame_run import SearchSettings, iterated
from ps_cfr_spiel.resolving.search.value_functions import BoundCFR, CFRValues, FrozenValues, ValueFunction
from ps_cfr_spiel.resolving.subgames import (
  EchoedRanges,
  PaddedShapes,
  PadTo,
  PublicStates,
  Subgame,
  Subgames,
  with_beyond,
)
from ps_cfr_spiel.tree import Array, PlayerPasses, PublicTree


@dataclasses.dataclass(frozen=True)
class ValuesApart(ValueFunction):
  """Stands for the values that a `TrunkSearcher` computes between its iterations."""

  @property
  def solves(self) -> bool:
    return False  # below the frontier the trunk's tree has nothing

  def bind(
    self, subgames: Subgames, public_states: Sequence[int], pad_to: PadTo | None = None
  ) -> FrozenValues:
    subgame = subgames.cut(public_states, pad_to=pad_to)
    first, second = (
      np.zeros((n, p.types)) for n, p in zip(subgame.shape.roots, subgame.tree.players, strict=True)
    )
    return FrozenValues((first, second))


class Apart(NamedTuple):
  """The game below one public state where a trunk ends."""

  bound: BoundCFR  #: CFR in it
  #: rows, roots: for each player the trunk's rows of the frontier, and the same infostates at the roots.
  rows: tuple[np.ndarray, np.ndarray]
  roots: tuple[np.ndarray, np.ndarray]
  shape: tuple[tuple[int, int], tuple[int, int]]  #: of the values at the roots, padding included


class TrunkSearcher(Searcher):
  """A searcher whose value function is CFR in each public state apart, between its iterations."""

  def __init__(
    self,
    subgames: Subgames,
    settings: SearchSettings,
    states: PublicStates,
    below: CFRValues,
    keep: bool,
    shapes: tuple[PaddedShapes, PaddedShapes],
    note: Callable[[int], None],
    seconds: float | None = None,
  ):
    """Make a searcher.

    Args:
      subgames: of the trunk, whose nodes are histories.
      settings: of the trunk; the value function is `ValuesApart()`.
      states: the public states of the whole game.
      below: iterations and rule of CFR in each public state.
      keep: keep the trees below, not their tables: sooner, with as much memory as they take.
      shapes: of the trunk's searches, and of the trees below.
      note: takes bytes of trees and tables that are there at once, without what `keep` keeps.
      seconds: as of `Searcher`.
    """
    super().__init__(subgames, settings, shapes[0], seconds)
    self.states, self.below, self.keep = states, below, keep  #: as given
    self._note, self._apart_shapes, self._kept = note, shapes[1], dict[int, Apart]()

  def run(self, problem: Problem, tree: PublicTree) -> SolverState:
    state, subgame = self.first(problem, tree), problem.subgame
    if not subgame.limited:
      self._note(bytes_of((tree, state)))
      return super().run(problem, tree)
    asking = dataclasses.replace(tree, leaves=with_beyond(tree.leaves, EchoedRanges()))

    def step(state: SolverState, iterations: int) -> SolverState:
      for _ in range(iterations):
        played = cfr.current_strategy(tree, state, tremble=self.settings.tremble)
        ranges = [np.asarray(x, float) for x in asked_ranges(asking, tuple(played))]
        values = self._values(subgame, ranges, tree, state)
        beyond = to_device(FrozenValues(values), self.settings.dtype)
        known = dataclasses.replace(tree, leaves=with_beyond(tree.leaves, beyond))
        state = jax.block_until_ready(self.iterate(known, state, 1))
      return state

    return iterated(state, step, self.settings.iterations, self.seconds, 1)

  def _values(
    self, subgame: Subgame, ranges: Sequence[np.ndarray], *trunk: object
  ) -> tuple[np.ndarray, np.ndarray]:
    """Both players' values at the frontier, one public state after the other."""
    values = tuple(np.zeros_like(range_) for range_ in ranges)
    for public in subgame.frontier_states:
      apart = self._apart(subgame, public)
      asked = np.zeros(apart.shape[0]), np.zeros(apart.shape[1])
      for i in (0, 1):
        asked[i][apart.roots[i]] = ranges[i][apart.rows[i]]
      given = to_device((apart.bound, asked), self.settings.dtype)
      solved, tables = _solved(*given)
      self._note(bytes_of((trunk, given, tables)))
      for i in (0, 1):
        values[i][apart.rows[i]] = np.asarray(solved[i], float)[apart.roots[i]]
    return values[0], values[1]

  def _apart(self, subgame: Subgame, public: int) -> Apart:
    if public in self._kept:
      return self._kept[public]
    trunk = history_origin(self.subgames.labels)
    assert trunk is not None and trunk.public is not None
    path = trunk.histories.path(int(np.flatnonzero(trunk.public == public)[0]))
    game = self.states.below(self.states.members(path), stops_ahead(0, None))
    below = history_origin(game.labels)
    assert below is not None and below.public is not None
    at = find_histories(trunk.histories, below.histories)  # the same histories in the tree below
    place = int(below.public[at[np.flatnonzero(trunk.public == public)[0]]])
    pad_to = self._apart_shapes.fitting("apart")
    cut = game.cut([place], pad_to=pad_to)
    rows, roots = [], []
    for i, infostates in enumerate(subgame.frontier):
      rows.append(np.flatnonzero(infostates.public == public))
      known = game.nodes.knowledge[i][at[infostates.node[rows[i]]]]
      roots.append(cut.roots[i].find(known))
    shape = tuple((n, p.types) for n, p in zip(cut.shape.roots, cut.tree.players, strict=True))
    bound = self.below.bind(game, [place], pad_to)
    apart = Apart(bound, (rows[0], rows[1]), (roots[0], roots[1]), (shape[0], shape[1]))
    if self.keep:
      self._kept[public] = apart
    return apart


class TrunkSearches(SearchesOnDemand):
  """Searches of one game, each a trunk."""

  def __init__(
    self, states: PublicStates, settings: SearchSettings, below: CFRValues, keep: bool, seconds: float | None
  ):
    """See `SearchesOnDemand` and `TrunkSearcher`."""
    super().__init__(states, settings, seconds)
    self.below, self.keep, self._below_shapes = below, keep, PaddedShapes()
    self.largest = 0  #: most bytes of trees and tables at once so far

  def _make(self, subgames: Subgames) -> TrunkSearcher:
    def note(size: int) -> None:
      self.largest = max(self.largest, size)

    shapes = self._shapes, self._below_shapes
    return TrunkSearcher(
      subgames, self.settings, self.states, self.below, self.keep, shapes, note, self.seconds
    )


@jit()
def asked_ranges(tree: PublicTree, strategies: Sequence[cfr.Blocks]) -> tuple[Array, ...]:
  """The ranges [F, H] of both players at the frontier, by the strategies of a search.

  The value function of the tree's leaves is `EchoedRanges()`.
  """
  passes = [
    (PlayerPasses.of(forest), forest.join(of)) for forest, of in zip(tree.players, strategies, strict=True)
  ]
  reach = [each.leaves(each.down(tables)) for each, tables in passes]
  return tuple(tree.leaves.recorded(i, tree.leaves(i, reach[1 - i], reach[i]))[0] for i in (0, 1))


@jit()
def _solved(bound: BoundCFR, ranges: tuple[Array, Array]) -> tuple[tuple[Array, Array], SolverState]:
  """Values at the roots, and tables of the size of those in the solution."""
  return bound.both(ranges), cfr.init(bound.tree, bound.rule, str(ranges[0].dtype))
