"""Searches whose trees grow where simulations lead: growing-tree CFR, GT-CFR.

Schmid et al. (2023), Student of Games, and its first version (2021). A search begins with the public states
on the way to a decision. CFR runs in this tree, with a value function at its ends; simulations by its average
strategies then choose public states at the ends to *open*: all moves there are added. This is repeated, with
the tables carried over from tree to tree. Here a tree grows by a factor each time, so all trees together take
little more time than the last, and the last has half of the iterations, or of the time where that is limited.
A simulation moves at an infostate, each with probability 1/2, by the average strategy p, or by the action a
of largest

  (p(a) + 1 / actions) / (2 + 2 visits of a)

the published choice (PUCT) without its term of values: these come in by p, and p's share of uniform
play opens everything in the end.

The next decision may lie beyond the ends. Its search begins in the last public state of a player on the way
that the tree before has, opened or not, whose promises are known.
"""

import itertools
import time
from collections.abc import Set
from typing import NamedTuple

import numpy as np

from ps_cfr_spiel.backend.device import uncompiled_seconds
from ps_cfr_spiel.compilation.histories import Horizon, Path
from ps_cfr_spiel.resolving.search.growing_searcher import GrowingSearcher
from ps_cfr_spiel.resolving.search.promises import Search
from ps_cfr_spiel.resolving.search.search_steps import SearchesOnDemand, Step, carried
from ps_cfr_spiel.resolving.search.subgame_run import SearchSettings
from ps_cfr_spiel.resolving.subgames import Members, PublicStates, Subgames
from ps_cfr_spiel.tree import CHANCE

FACTOR = 4  # by which the number of opened public states grows from tree to tree
PATIENCE = 20  # simulations for each public state to open; then those nearest to the root are opened


class GrowingSearches(SearchesOnDemand):
  """Searches of one game, each in a tree that grows."""

  def __init__(
    self,
    states: PublicStates,
    settings: SearchSettings,
    seconds: float | None,
    expansions: int,
    seed: int,
  ):
    """Has not searched yet; see `SearchesOnDemand`.

    Args:
      states: of the game.
      settings: with a value function that needs nothing below; the lookahead is not used.
      seconds: of a search, with the making of trees: one that would take longer is not made. Compilation,
        which first searches need, comes on top.
      expansions: public states that a search opens, besides those it begins with.
      seed: of the simulations.

    ValueError for a value function that solves the game below, fewer iterations than trees, or a delay of
    averages, which begin anew in each tree.
    """
    function = settings.value_function
    if function is None or function.solves:
      raise ValueError(
        f"expansions={expansions}: the trees of a growing search end at values that need nothing below; "
        f"{function} solves the rest of the game. Give StateValues(function), or values of self-play "
        "(learn --teacher=self-play)."
      )
    if settings.iterations <= len(growth(expansions)):
      raise ValueError(
        f"expansions={expansions} makes {len(growth(expansions)) + 1} trees, and each needs an iteration; "
        f"got iterations={settings.iterations}."
      )
    if settings.averaging_delay:
      raise ValueError(
        f"averaging_delay={settings.averaging_delay}: averages of a growing search begin anew in each tree; "
        "leave it out."
      )
    super().__init__(states, settings, seconds)
    self.expansions, self.seed = expansions, seed  #: as given

  def start(self, player: int) -> Step:
    return self._grown(None, player, ((),), set())

  def later(self, last: Step, members: Members) -> Step:
    path, before, number, length = members[0], last.searcher.subgames, 0, 0
    for done, action in enumerate(path, 1):
      number = self.states.after(before, number, action)
      if number < 0:
        break
      length = done if before.nodes.player[number] >= 0 else length
    on_way = [self.states.above(members, n) for n in range(length, len(path) + 1)]
    return self._grown(last, last.search.player, on_way[0], set(itertools.chain.from_iterable(on_way)))

  def _grown(self, last: Step | None, player: int, root: Members, opened: set[Path]) -> Step:
    """The search from a public state, by its members; `opened` has those that are open from the start."""
    sizes, random = growth(self.expansions), np.random.default_rng([self.seed, player, *root[0]])
    left, early = self.settings.iterations, self.settings.iterations // 2 // max(len(sizes), 1)
    started, began, count, searcher = time.monotonic(), uncompiled_seconds(), 0, None
    for number, size in enumerate([*sizes, 0]):
      making = uncompiled_seconds()
      subgames = self.states.below(root, within(opened, self.states.chances))
      place = self.states.place(subgames, root)
      seen = None if last is None else self._seen(last, subgames)
      searcher = GrowingSearcher(self.states, subgames, self.settings, self._shapes, searcher, seen)
      left_over = self._left(began)
      took = uncompiled_seconds() - making  # the next tree takes some FACTOR times as long
      more = size > 0 and len(searcher.problems.ends) > 0 and 2 * FACTOR * took < left_over
      searcher.iterations = max(early, 1) if more else left
      if self.seconds is not None:
        searcher.seconds = max(left_over / (2 * (len(sizes) - number) if more else 1), 1e-3)
      known = searcher.problems.uniform(player) if last is None else self._known(last, subgames)
      promises = None if last is None or not self.settings.safe else self._promises(last, subgames, place)
      search = searcher.search(known, place, promises, last is None)
      searcher.before = None  # its tables have been carried over
      left -= searcher.iterations
      step = Step(searcher, search._replace(seconds=time.monotonic() - started), count)
      if not more or self._left(began) <= 0:
        searcher.release()
        return step
      chosen = _chosen(searcher, place, size, random)
      opened, count = opened | set(self.states.members_in(subgames, chosen)), count + len(chosen)
    raise AssertionError("the last size is 0")

  def _left(self, began: float) -> float:
    """The seconds that a search has left."""
    return np.inf if self.seconds is None else self.seconds - (uncompiled_seconds() - began)

  def _known(self, last: Step, subgames: Subgames) -> Search:
    """The search before, in another tree; its values at ends do not count."""
    return carried(self.states, last.search, last.searcher.subgames, subgames)._replace(promised={})

  def _seen(self, last: Step, subgames: Subgames) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """For each player and block bool[rows]: whether the search before had the infostate open."""
    before = last.searcher.subgames
    at = self.states.nodes_in(subgames, before)[subgames.nodes.of_decision]
    seen = [[np.zeros(rows, bool) for _, rows, _ in p.block_shapes] for p in subgames.tree.players]
    for d, node in zip(subgames.labels.decisions, at.tolist(), strict=True):
      seen[d.player][d.block][d.row] = (
        node >= 0 and int(before.nodes.public[node]) not in last.search.frontier
      )
    return seen[0], seen[1]

  def _promises(self, last: Step, subgames: Subgames, place: int) -> np.ndarray:
    """The opponent's promised values [roots, H] at a public state, which the tree before has too."""
    searcher, opponent = last.searcher, 1 - last.search.player
    assert isinstance(searcher, GrowingSearcher)
    before, problems = searcher.subgames, searcher.problems
    at = self.states.nodes_in(subgames, before)
    node = int(at[np.flatnonzero(subgames.nodes.public == place)[0]])
    cut = before.cut([int(before.nodes.public[node])], last.search.frontier)
    values = problems.promises.values(last.search, cut, problems.shapes.fitting("promises"))
    roots = subgames.cut([place], problems.ends[:0]).roots[opponent]
    rows = cut.roots[opponent].find(before.nodes.knowledge[opponent][at[roots.node]])
    return values[rows]


def growth(expansions: int) -> list[int]:
  """The numbers of public states that are opened, one for each growth; `expansions` in all."""
  sizes: list[int] = []
  while sum(sizes) < expansions:
    sizes.append(min(max((FACTOR - 1) * sum(sizes), FACTOR), expansions - sum(sizes)))
  return sizes


def within(opened: Set[Path], chances: bool) -> Horizon[tuple[Path, bool]]:
  """The end of a tree: players' public states that are not open; the first decisions of a game are open.

  A mark is the history, with or without chance's actions, and whether a decision lies above.
  """

  def step(state, actions, mark, inside):
    path, decided = mark
    acting = state.current_player() >= 0
    over = acting and decided and path not in opened
    ways = [(*path, action) if acting or chances else path for action in actions]
    return over, [(way, decided or acting) for way in ways]

  return Horizon(((), False), step)


class _Ways(NamedTuple):
  """The moves after each node of a tree."""

  first: np.ndarray  #: int[N + 1], where those of each node begin in `child`
  child: np.ndarray  #: int[], in the order of the actions

  @classmethod
  def of(cls, parent: np.ndarray) -> "_Ways":
    counts = np.bincount(parent[1:], minlength=len(parent))
    return cls(np.append(0, np.cumsum(counts)), np.argsort(parent[1:], kind="stable") + 1)

  def after(self, node: int) -> np.ndarray:
    return self.child[self.first[node] : self.first[node + 1]]


def _chosen(searcher: GrowingSearcher, root: int, count: int, random: np.random.Generator) -> list[int]:
  """Public states to open among the ends of a tree, at most `count`: those that simulations meet.

  See the top of this file.
  """
  subgames, subgame, ends = searcher.subgames, searcher.problem.subgame, set(searcher.problems.ends)
  nodes, chance = subgames.nodes, searcher.states.chance(subgames)
  ways = _Ways.of(nodes.parent[nodes.public < len(subgames.labels.public_states)])  # payoffs are no moves
  (dealt,) = searcher.states.dealt(subgames, subgame, [root])
  ranges = [np.asarray(searcher.problem.ranges[i]).ravel()[dealt.rows[i]] for i in (0, 1)]
  held = [rows % player.types for rows, player in zip(dealt.rows, subgames.tree.players, strict=True)]
  odds = np.cumsum(dealt.chance * ranges[0] * ranges[1])
  odds = odds if odds[-1] > 0 else np.cumsum(dealt.chance)
  visits: dict[tuple[int, int], np.ndarray] = {}  # by decision and type
  chosen: dict[int, None] = {}
  for _ in range(PATIENCE * count):
    deal = int(np.searchsorted(odds, random.random() * odds[-1]))
    node = int(dealt.nodes[deal])
    while len(after := ways.after(node)):
      if nodes.player[node] == CHANCE:
        at = _drawn(chance[after], random)
      else:
        number = int(nodes.decision[node])
        decision = subgames.labels.decisions[number]
        type_ = int(held[decision.player][deal])
        average = searcher.averages[decision.player][decision.block][:, decision.row, type_]
        met = visits.setdefault((number, type_), np.zeros(len(after)))
        if random.random() < 0.5:
          at = _drawn(average, random)
        else:
          at = int(np.argmax((average + 1 / len(after)) / (2 + 2 * met)))
        met[at] += 1
      node = int(after[at])
    if (public := int(nodes.public[node])) in ends:
      chosen[public] = None
      if len(chosen) == min(count, len(ends)):
        break
  publics, first = np.unique(nodes.public, return_index=True)
  depths = np.empty(len(nodes.parent), int)
  for number, layer in enumerate(nodes.layers):
    depths[layer] = number
  depth = dict(zip(publics.tolist(), depths[first].tolist(), strict=True))
  nearest = sorted(ends - chosen.keys(), key=lambda public: (depth[public], public))
  return [*chosen, *nearest][:count]


def _drawn(weights: np.ndarray, random: np.random.Generator) -> int:
  sums = np.cumsum(weights)
  return min(int(np.searchsorted(sums, random.random() * sums[-1], side="right")), len(sums) - 1)
