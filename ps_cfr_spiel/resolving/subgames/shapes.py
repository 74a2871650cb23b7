"""The sizes of subgames, counted for many at once without cutting any.

Subgames that are padded to one shape share compiled code.
"""

from collections.abc import Callable, Hashable
from typing import NamedTuple

import numpy as np

from ps_cfr_spiel.backend.array_shapes import Bool, Int
from ps_cfr_spiel.resolving.subgames.nodes import SubgameNodes
from ps_cfr_spiel.tree import Places

WASTE = 4  # times the size that a problem needs, for code that is there already


class Shape(NamedTuple):
  """The size of a subgame's arrays."""

  #: for each player the number of rows of each block, by (own depth in the subgame, number of actions).
  rows: tuple[dict[tuple[int, int], int], dict[tuple[int, int], int]]
  #: for each part of the inner evaluator the number of boards (1 without public cards to come) and of leaves
  #: on each board.
  leaves: tuple[tuple[int, int], ...]
  #: roots, frontier: for each player the number of infostates there, in rows of all types.
  roots: tuple[int, int]
  frontier: tuple[int, int]

  def union(self, other: "Shape") -> "Shape":
    """The least shape that holds both."""
    first, second = (
      {key: max(a.get(key, 0), b.get(key, 0)) for key in sorted({*a, *b})}
      for a, b in zip(self.rows, other.rows, strict=True)
    )
    return Shape(
      (first, second),
      tuple(_larger(a, b) for a, b in zip(self.leaves, other.leaves, strict=True)),
      _larger(self.roots, other.roots),
      _larger(self.frontier, other.frontier),
    )

  def rounded(self) -> "Shape":
    """Sizes rounded up to powers of two: a few shapes hold many subgames."""
    up = lambda n: 1 << (n - 1).bit_length() if n else 0  # noqa: E731
    first, second = ({key: up(n) for key, n in rows.items()} for rows in self.rows)
    leaves = tuple((up(boards), up(each)) for boards, each in self.leaves)
    roots, frontier = ((up(a), up(b)) for a, b in (self.roots, self.frontier))
    return Shape((first, second), leaves, roots, frontier)

  @property
  def size(self) -> int:
    """The number of sequences, leaves, roots and infostates at the frontier."""
    rows = sum(actions * n for of_player in self.rows for (_, actions), n in of_player.items())
    return rows + sum(boards * each for boards, each in self.leaves) + sum(self.roots) + sum(self.frontier)

  def pad_to(self, shape: "Shape") -> "Shape":
    """The same shape, for any subgame: a `PadTo`."""
    return self


def _larger(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
  return max(a[0], b[0]), max(a[1], b[1])


class PaddedShapes:
  """The shapes to which problems of several trees are padded, by a key of each kind: they share code."""

  def __init__(self):
    self._of: dict[Hashable, list[Shape]] = {}

  def largest(self, key: Hashable) -> "PadTo":
    """To one shape for all problems of a kind, which grows with them."""

    def pad_to(least: Shape) -> Shape:
      known = self._of.get(key, [least])
      self._of[key] = [least.rounded().union(known[0])]
      return self._of[key][0]

    return pad_to

  def fitting(self, key: Hashable, roots: tuple[int, int] | None = None) -> "PadTo":
    """To the least known shape that holds a problem, or one of its own if those are much larger.

    Without `roots` their number stays: a gadget may begin with a choice among them, each as probable.
    """

    def pad_to(least: Shape) -> Shape:
      needed, known = least.rounded()._replace(roots=roots or least.roots), self._of.setdefault(key, [])
      alike = [shape for shape in known if shape.roots == needed.roots and shape.union(needed) == shape]
      fit = [shape for shape in alike if shape.size <= WASTE * needed.size]
      if not fit:
        known.append(needed)
      return min(fit, key=lambda shape: shape.size, default=needed)

    return pad_to


Depths = tuple[Int[np.ndarray, " N"], Int[np.ndarray, " N"]]  # see `own_depths`
PadTo = Callable[[Shape], Shape]  # from the shape of a subgame to the shape of its padded arrays


class Scope(NamedTuple):
  """The nodes of some subgames that do not overlap."""

  root: Int[np.ndarray, " N"]  #: the root at or above each node, as a node; -1 outside
  group: Int[np.ndarray, " N"]  #: the subgame of each node, -1 outside
  frontier: Bool[np.ndarray, " N"]  #: whether the lookahead ends at a node

  def most(self, nodes: Int[np.ndarray, " n"]) -> int:
    """The largest number of these nodes in one subgame."""
    return int(np.bincount(self.group[nodes], minlength=1).max())


def own_depths(nodes: SubgameNodes) -> Depths:
  """For each player the number of own decisions above each node."""
  depths = (np.zeros(len(nodes.parent), int), np.zeros(len(nodes.parent), int))
  for layer in nodes.layers[1:]:
    above = nodes.parent[layer]
    for player, depth in enumerate(depths):
      depth[layer] = depth[above] + (nodes.player[above] == player)
  return depths


def least_shape(
  nodes: SubgameNodes,
  scope: Scope,
  actions: Int[np.ndarray, " D"],
  depths: Depths,
  sequences: Int[np.ndarray, "D A"],
) -> Shape:
  """The least shape that holds each of some subgames.

  `actions` has the number of kept actions of each decision; `depths` are as in `own_depths`, `sequences` as
  in `tree.decision_sequences`.
  """
  begins = np.flatnonzero((scope.root == np.arange(len(scope.root))) & (scope.root >= 0))
  stops = np.flatnonzero(scope.frontier)
  return Shape(
    (_rows(nodes, scope, actions, depths[0], 0), _rows(nodes, scope, actions, depths[1], 1)),
    _leaves(nodes, scope, depths, sequences),
    (scope.most(_distinct(nodes, 0, begins)), scope.most(_distinct(nodes, 1, begins))),
    (scope.most(_distinct(nodes, 0, stops)), scope.most(_distinct(nodes, 1, stops))),
  )


def _distinct(nodes: SubgameNodes, player: int, some: Int[np.ndarray, " _n"]) -> Int[np.ndarray, " _m"]:
  """One of some nodes for each infostate of a player there."""
  return some[np.unique(nodes.knowledge[player][some], return_index=True)[1]]


def _rows(
  nodes: SubgameNodes,
  scope: Scope,
  actions: Int[np.ndarray, " D"],
  depth: Int[np.ndarray, " N"],
  player: int,
) -> dict[tuple[int, int], int]:
  acting = np.flatnonzero((scope.root >= 0) & ~scope.frontier & (nodes.player == player))
  decisions, first = np.unique(nodes.decision[acting], return_index=True)
  at = acting[first]
  # Depth counts from the root. By perfect recall it is the same for all nodes of an infostate.
  columns = [scope.group[at], depth[at] - depth[scope.root[at]], actions[decisions]]
  keys, counts = np.unique(np.stack(columns, 1), axis=0, return_counts=True)
  sizes: dict[tuple[int, int], int] = {}
  for (_, d, a), n in zip(keys.tolist(), counts.tolist(), strict=True):
    sizes[d, a] = max(sizes.get((d, a), 0), n)
  return dict(sorted(sizes.items()))


def _leaves(
  nodes: SubgameNodes, scope: Scope, depths: Depths, sequences: Int[np.ndarray, "D A"]
) -> tuple[tuple[int, int], ...]:
  """`Shape.leaves`: public leaves by part; histories are separated by both players' last choices."""
  inside = np.flatnonzero(scope.root[nodes.ends] >= 0)
  ends = nodes.ends[inside]
  if not nodes.histories:
    return leaf_sizes(nodes.places, inside, scope.group[ends])
  keys = []
  for player, depth in enumerate(depths):
    root, known = scope.root[ends], nodes.knowledge[player]
    # The last choice is one in the subgame; without one, the infostate at the root counts.
    chose = depth[ends] > depth[root]
    decision, action = nodes.last[player][ends].T
    keys.append(np.where(chose, known.max() + 1 + sequences[decision, action], known[root]))
  first = np.unique(np.stack(keys, 1), axis=0, return_index=True)[1]
  return leaf_sizes(nodes.places, inside[first], scope.group[ends[first]])


def leaf_sizes(
  places: Places, leaves: Int[np.ndarray, " n"], group: Int[np.ndarray, " n"]
) -> tuple[tuple[int, int], ...]:
  """`Shape.leaves` that hold some leaves of each group."""
  part, board = places.part[leaves], places.board[leaves]
  street, board_of_group = places.street[part], group * (board.max(initial=0) + 1) + board
  sizes = []
  for k, s in enumerate(places.street.tolist()):
    # Both parts of a street have the same boards.
    _, first = np.unique(board_of_group[street == s], return_index=True)
    boards = np.bincount(group[street == s][first], minlength=1).max()
    each = np.unique(board_of_group[part == k], return_counts=True)[1].max(initial=0)
    sizes.append((max(int(boards), 1), int(each)))
  return tuple(sizes)
