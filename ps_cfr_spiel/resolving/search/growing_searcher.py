"""A search in one of the trees of a growing search: it starts from the tables of the tree before.

A tree has all moves of the public states that are *open*. It ends in the public states right below these,
where a value function stands for the rest. Regrets and current strategies of the infostates that both
trees have are carried over, row by row; other infostates begin anew, and so do all averages, which would
count on play by the values of a smaller tree.
"""

import functools
from collections.abc import Sequence

import jax
import numpy as np

from ps_cfr_spiel.cfr import SolverState
from ps_cfr_spiel.resolving.search.problems import Problem
from ps_cfr_spiel.resolving.search.promises import Search, Table
from ps_cfr_spiel.resolving.search.public_problems import PublicProblems
from ps_cfr_spiel.resolving.search.searcher import Searcher
from ps_cfr_spiel.resolving.search.subgame_run import SearchSettings, SubgameSolver, iterated
from ps_cfr_spiel.resolving.subgames import PaddedShapes, PublicStates, Subgames, unsafe
from ps_cfr_spiel.tree import PlayerTree, PublicTree


class GrowingProblems(PublicProblems):
  """The problem of a tree that ends where its nodes do."""

  shapes: PaddedShapes  #: to which problems are padded

  def __init__(self, subgames: Subgames, settings: SearchSettings, shapes: PaddedShapes):
    super().__init__(subgames, None, settings.value_function, None, settings.safe, settings.dtype, shapes)
    self.shapes = shapes
    nodes = subgames.nodes
    last = np.ones(len(nodes.parent), bool)
    last[nodes.parent[1:]] = False
    ends = nodes.public[last & (nodes.player >= 0)]
    self.ends = tuple(np.unique(ends).tolist())  #: public states that are not open

  def problem(self, last: Search, root: int, promises: np.ndarray | None) -> Problem:
    """The subgame below a public state, to the tree's ends."""
    subgame = self.subgames.cut([root], self.ends, None, self.shapes.fitting("search"))
    beyond = self._beyond(subgame, self.shapes.fitting("beyond", subgame.shape.frontier))
    ranges = self.promises.ranges(last, subgame)
    return Problem(last, subgame, ranges, promises, beyond, 0.0, self.ends)


class GrowingSearcher(Searcher):
  """The search from one public state, in one tree."""

  problems: GrowingProblems
  #: From `search` to `release`: the problem, the subgame's tree with its gadget, and the tables.
  problem: Problem
  tree: PublicTree
  state: SolverState
  averages: tuple[Table, Table]  #: both players' average strategies, of the whole tree

  def __init__(
    self,
    states: PublicStates,
    subgames: Subgames,
    settings: SearchSettings,
    shapes: PaddedShapes,
    before: "GrowingSearcher | None",
    seen: tuple[list[np.ndarray], list[np.ndarray]] | None,
  ):
    """Make a searcher.

    Args:
      states: of the game.
      subgames: of the tree, which the states have made.
      settings: of the search, with a value function for the tree's ends.
      shapes: to which problems are padded.
      before: after its search from the same public state, in a smaller tree.
      seen: for each player and block bool[rows], the infostates of which earlier searches have a prediction.
    """
    super().__init__(subgames, settings, shapes)
    self.states, self.before, self.seen = states, before, seen  #: as given
    self.iterations = settings.iterations  #: in this tree

  def _make_problems(self, shapes: PaddedShapes | None) -> GrowingProblems:
    assert shapes is not None
    return GrowingProblems(self.subgames, self.settings, shapes)

  def search(self, last: Search, root: int, promises: np.ndarray | None, first: bool) -> Search:
    """Solve the game below a public state, by the gadget unless it is the `first` search of a game."""
    self.problem = self.problems.problem(last, root, promises)
    return self.solve(self.problem, unsafe if first else self.settings.gadget)

  def release(self) -> None:
    """Forget all that only further trees of the same search need: a third of the memory."""
    del self.problem, self.tree, self.state, self.averages

  def run(self, problem: Problem, tree: PublicTree) -> SolverState:
    self.tree, self.state = tree, self.first(problem, tree)
    if self.before is not None:
      self.state = carried_state(self.before, self)
    self.state = iterated(self.state, functools.partial(self.iterate, tree), self.iterations, self.seconds)
    return self.state

  def _tables(self, problem: Problem, average: Sequence[Table]) -> tuple[Table, Table]:
    last = problem.last
    first, second = SubgameSolver._tables(self, problem, average)
    self.averages = first, second
    if problem.promises is None or self.seen is None:
      return first, second
    tables, opponent = ([*first], [*second]), 1 - last.player  # the gadget distorts the opponent's strategy
    for k, seen in enumerate(self.seen[opponent]):
      known = np.where(seen[:, None], last.tables[opponent][k], tables[opponent][k])
      tables[opponent][k] = known
    return tables


def carried_state(before: GrowingSearcher, after: GrowingSearcher) -> SolverState:
  """The tables of a search in a larger tree: those of the smaller one's infostates, and new ones for others.

  Averages and records at the ends begin anew; iterations are counted on.
  """
  old, new = jax.device_get((before.state, after.state))
  at = after.states.nodes_in(after.subgames, before.subgames)
  players = []
  for i, (was, begins) in enumerate(zip(old.players, new.players, strict=True)):
    forests = before.tree.players[i], after.tree.players[i]
    pairs = _same_rows(before, after, at, i)

    def moved(source: Sequence, target: Sequence, forests=forests, pairs=pairs):
      return _moved(source, target, forests, pairs)

    players.append(
      begins._replace(
        strategy=tuple(moved(was.strategy, begins.strategy)),
        rule=tuple(moved(was.rule, begins.rule)),
      )
    )
  return jax.device_put(SolverState(old.iteration, tuple(players)))


Row = tuple[int, int]  # a block, and a row of it
Pairs = list[tuple[Row, Row]]  # before and after


def _same_rows(before: GrowingSearcher, after: GrowingSearcher, at: np.ndarray, player: int) -> Pairs:
  """The rows of a player's infostates that both trees have, with the gadget's.

  `at` has the number of each node in the tree before, -1 without.
  """
  old, new = before.problem.subgame, after.problem.subgame
  added = after.tree.players[player].added
  row_of = {
    (source[0], source[1]): (block + before.tree.players[player].added, row)
    for block, (sources, _) in enumerate(old.rows[player])
    for row, source in enumerate(sources.tolist())
  }
  decision = before.subgames.nodes.decision
  decisions, nodes = after.subgames.labels.decisions, after.subgames.nodes.of_decision
  known = {(d.block, d.row): n for d, n in zip(decisions, nodes, strict=True) if d.player == player}
  pairs: Pairs = []
  for block, (sources, _) in enumerate(new.rows[player]):
    for row, source in enumerate(sources.tolist()):
      node = at[known[source[0], source[1]]]
      if node < 0:
        continue
      same = before.subgames.labels.decisions[int(decision[node])]
      if (same.block, same.row) in row_of:  # else it was where the tree ended
        pairs.append((row_of[same.block, same.row], (block + added, row)))
  roots = [s.roots[player] for s in (old, new)]
  was = before.subgames.nodes.knowledge[player][at[roots[1].node]]
  if np.array_equal(roots[0].find(was), np.arange(len(was))):  # the gadget's choices are in the same order
    shapes = after.tree.players[player].block_shapes[:added]
    pairs += [
      ((block, row), (block, row)) for block, (_, rows, _) in enumerate(shapes) for row in range(rows)
    ]
  return pairs


def _moved(source: Sequence, target: Sequence, forests: tuple[PlayerTree, PlayerTree], pairs: Pairs) -> list:
  """Tables of buckets, or pytrees of them: those of `target` with the rows of `source` at some pairs."""
  places = [forest.places for forest in forests]
  by_bucket: dict[tuple[int, int], list[tuple[int, int]]] = {}
  for (block, row), (to_block, to_row) in pairs:
    (bucket, first), (to_bucket, to_first) = places[0][block], places[1][to_block]
    by_bucket.setdefault((bucket, to_bucket), []).append((first + row, to_first + to_row))
  tables = [jax.tree.map(np.array, table) for table in target]
  for (bucket, to_bucket), rows in by_bucket.items():
    taken, put = np.array(rows).T

    def copy(there: np.ndarray, given: np.ndarray, taken=taken, put=put) -> np.ndarray:
      there[:, put] = np.asarray(given)[:, taken]
      return there

    tables[to_bucket] = jax.tree.map(copy, tables[to_bucket], source[bucket])
  return tables
