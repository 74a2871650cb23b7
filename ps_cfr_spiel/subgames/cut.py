"""Cuts subgames out of a compiled game: what is inside, each player's rows there, and their layout."""

import dataclasses
import itertools
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyspiel

from ps_cfr_spiel.arguments import is_integer
from ps_cfr_spiel.compiler import Walked
from ps_cfr_spiel.subgames.nodes import Standing, SubgameNodes, find_nodes, tree_and_nodes
from ps_cfr_spiel.subgames.priors import find_prior
from ps_cfr_spiel.subgames.shapes import Shape
from ps_cfr_spiel.subgames.subgame import Subgame
from ps_cfr_spiel.tree import PlayerTree, PublicTree, SparseLeaves, block_sizes, make_forest, row_depths


class _Piece(NamedTuple):
  """One player's part of a cut, before it is laid out."""

  decisions: np.ndarray  # int[n]
  actions: list[np.ndarray]  # the numbers of the kept actions of each
  parents: np.ndarray  # int[n, 2], as `make_forest` wants them
  ends: np.ndarray  # int[E, 2], the last choice before each leaf, likewise
  end_roots: np.ndarray  # int[E]
  roots: Standing
  frontier: Standing
  frontier_choices: np.ndarray  # int[F, 2]
  frontier_roots: np.ndarray  # int[F]


class Subgames:
  """Cuts subgames out of a compiled game.

  Attributes:
    tree: the game, on the host.
    nodes: see `SubgameNodes`.
    options: of `build_tree`, if `of` made the tree.
  """

  @classmethod
  def of(cls, game: pyspiel.Game, **options) -> "Subgames":
    """Compiles a game into a tree that subgames can be cut from; see `tree_and_nodes`."""
    return cls(*tree_and_nodes(game, **options))

  def __init__(
    self, tree: PublicTree, nodes: SubgameNodes | None = None, options: Mapping[str, Any] | None = None
  ):
    """Finds the nodes of the tree, if they are not given, in time linear in their number.

    Raises:
      ValueError: the tree has no public states, or types that do not fit; see `find_nodes`.
    """
    self.tree, self.nodes = tree, find_nodes(tree) if nodes is None else nodes
    self.options = dict(options or {})
    self.labels = tree.names
    self._sequences = [self._numbers(player) for player in (0, 1)]

  def cut(
    self,
    public_states: Collection[int],
    frontier: Collection[int] = (),
    actions: Collection[int] | None = None,
    fit: Callable[[Shape], Shape] | None = None,
  ) -> Subgame:
    """The subgame that begins in some public states.

    Args:
      public_states: the roots, where a player acts, or the beginning of the game; none below another.
      frontier: public states where a player acts and the subgame ends.
      actions: OpenSpiel actions that are kept (a betting abstraction); all by default.
      fit: gives the shape to pad the arrays to, from the one they need.

    Returns:
      The subgame, on the host.

    Raises:
      ValueError: a public state is not of this game or not as above, or no action is left somewhere.
    """
    n = self.nodes
    begins = self._flags("public_states", public_states)
    if not begins.any() and fit is None:
      raise ValueError("public_states is empty; name at least one public state.")
    root = self._root_of(begins, self._flags("frontier", frontier), actions)
    at_frontier = (root >= 0) & self._flags("frontier", frontier)[n.public]
    ends = np.flatnonzero(root[n.ends] >= 0)
    first, second = (self._piece(i, begins[n.public], root, at_frontier, ends, actions) for i in (0, 1))
    return self._assemble((first, second), tuple(sorted(set(public_states))), ends, fit)

  def _flags(self, name: str, public_states: Collection[int]) -> np.ndarray:
    """bool[P + 1] (the last for leaves); ValueError for a public state that cannot be named."""
    count = len(self.labels.public_states)
    flags = np.zeros(count + 1, bool)
    for s in public_states:
      if not is_integer(s) or not 0 <= s < count:
        raise ValueError(f"{name}: {self.labels.game} has the public states 0..{count - 1}, got {s!r}.")
      if s and not self.labels.public_states[s].decisions:
        raise ValueError(
          f"{name}: nobody acts in public state {s} of {self.labels.game}; choose one of a player."
        )
      flags[s] = True
    return flags

  def _root_of(self, begins: np.ndarray, stops: np.ndarray, actions: Collection[int] | None) -> np.ndarray:
    """int[N]: the node at the root that each node lies at or below, -1 outside the subgame."""
    n = self.nodes
    root = np.full(len(n.parent), -1)
    for here in n.layers:
      above = n.parent[here]
      inherited = np.where(above >= 0, root[above], -1)
      start = begins[n.public[here]]
      nested = here[start & (inherited >= 0)]
      if len(nested):
        a, b = (int(n.public[node]) for node in (inherited[start & (inherited >= 0)][0], nested[0]))
        raise ValueError(f"public_states: {b} lies below {a}; subgames to be solved at once may not overlap.")
      open_ = ~stops[n.public[above]]
      if actions is not None:
        open_ &= self._kept(here, above, actions)
      root[here] = np.where(start, here, np.where(open_, inherited, -1))
    return root

  def _kept(self, here: np.ndarray, above: np.ndarray, actions: Collection[int]) -> np.ndarray:
    """bool: was each node reached by chance or by one of the actions?"""
    n, kept = self.nodes, np.ones(len(here), bool)
    for player in (0, 1):
      moved = np.flatnonzero((n.player[above] == player) & (above >= 0))
      kept[moved] = [
        self.labels.decisions[d].legal_actions[a] in actions for d, a in n.last[player][here[moved]].tolist()
      ]
    return kept

  def _piece(self, player: int, begins, root, at_frontier, ends, actions) -> _Piece:
    """What one player has in the subgame."""
    n = self.nodes
    acting = np.flatnonzero((root >= 0) & ~at_frontier & (n.player == player))
    decisions, first = np.unique(n.decision[acting], return_index=True)
    example = acting[first]
    legal = [self.labels.decisions[d].legal_actions for d in decisions]
    kept = [np.array([k for k, a in enumerate(row) if actions is None or a in actions], int) for row in legal]
    for d, numbers, row in zip(decisions, kept, legal, strict=True):
      if not len(numbers):
        raise ValueError(
          f"actions: none of {sorted(actions or ())} is legal in public state "
          f"{self.labels.decisions[d].public_state} of {self.labels.game}, where {list(row)} are."
        )
    roots = self._standing(player, np.flatnonzero(begins))
    frontier = self._standing(player, np.flatnonzero(at_frontier))
    row_of = np.full(len(self.labels.decisions) + 1, -1)
    row_of[decisions] = np.arange(len(decisions))
    position = np.zeros((len(decisions) + 1, self._sequences[player].shape[1]), int)  # among the kept actions
    for row, numbers in enumerate(kept):
      position[row, numbers] = np.arange(len(numbers))

    def choices(nodes):
      """The last choice before some nodes in this subgame, as `make_forest` wants it, and their roots."""
      last = n.last[player][nodes]
      row, at = row_of[last[:, 0]], roots.find(n.knowledge[player][root[nodes]])
      return np.stack([row, np.where(row >= 0, position[row, last[:, 1]], at)], 1), at

    return _Piece(
      decisions, kept, choices(example)[0], *choices(n.ends[ends]), roots, frontier, *choices(frontier.node)
    )

  def _standing(self, player: int, nodes: np.ndarray) -> Standing:
    """The infostates of a player at some nodes."""
    n = self.nodes
    knowledge, first = np.unique(n.knowledge[player][nodes], return_index=True)
    node = nodes[first]
    decision, action = n.last[player][node].T
    sequence = np.where(decision < 0, 0, self._sequences[player][decision, action])
    return Standing(knowledge, node, sequence, n.public[node])

  def _numbers(self, player: int) -> np.ndarray:
    """int[D, A]: the number of every sequence of the whole game's forest."""
    shapes = self.tree.players[player].block_shapes
    first = 1 + np.cumsum([0, *(actions * rows for actions, rows, _ in shapes)])
    widest = max((actions for actions, _, _ in shapes), default=1)
    numbers = np.zeros((len(self.labels.decisions), widest), int)
    for number, d in enumerate(self.labels.decisions):
      if d.player == player:
        numbers[number] = first[d.block] + np.arange(widest) * shapes[d.block][1] + d.row
    return numbers

  def _assemble(
    self, pieces: tuple[_Piece, _Piece], public_states, ends: np.ndarray, fit: Callable[[Shape], Shape] | None
  ) -> Subgame:
    """Lays out the pieces in arrays of a shape."""
    order, parts, leaves = self._leaves(pieces, ends)
    sizes = [np.array([len(a) for a in piece.actions], int) for piece in pieces]
    rows = [block_sizes(row_depths(p.parents), size) for p, size in zip(pieces, sizes, strict=True)]
    own = Shape(
      (rows[0], rows[1]),
      tuple(len(part) for part in parts),
      (len(pieces[0].roots.node), len(pieces[1].roots.node)),
      (len(pieces[0].frontier.node), len(pieces[1].frontier.node)),
    )
    shape = own if fit is None else fit(own)
    if shape.union(own) != shape:
      raise ValueError(f"A subgame of {own} does not fit into {shape}.")
    limited = max(shape.frontier) > 0  # not `own`: a padded subgame may end before its frontier
    forests, leaf_roots, sources = [], [], []
    for i, piece in enumerate(pieces):
      choices = [_padded(piece.ends[order][part], n, -1) for part, n in zip(parts, shape.leaves, strict=True)]
      at = [_padded(piece.end_roots[order][part], n, 0) for part, n in zip(parts, shape.leaves, strict=True)]
      if limited:
        choices.append(_padded(piece.frontier_choices, shape.frontier[i], -1))
        at.append(_padded(piece.frontier_roots, shape.frontier[i], 0))
      types = self.tree.players[i].types
      forest, places = make_forest(piece.parents, sizes[i], choices, types, shape.roots[i], shape.rows[i])
      forests.append(forest)
      leaf_roots.append(at)
      sources.append(self._sources(piece, places, forest))
    roots = [_pad_standing(p.roots, n) for p, n in zip(pieces, shape.roots, strict=True)]
    frontier = [_pad_standing(p.frontier, n) for p, n in zip(pieces, shape.frontier, strict=True)]
    tree = PublicTree((forests[0], forests[1]), leaves(shape.leaves))
    return Subgame(
      tree,
      public_states,
      shape,
      (roots[0], roots[1]),
      (frontier[0], frontier[1]),
      (leaf_roots[0], leaf_roots[1]),
      (sources[0], sources[1]),
      find_prior(self.tree, self.nodes, roots),
    )

  def _sources(self, piece: _Piece, places: np.ndarray, forest: PlayerTree):
    """`Subgame.rows` of one player."""
    sources = []
    for k, (actions, _, _) in enumerate(forest.block_shapes):
      here = np.flatnonzero(places[:, 0] == k)
      here = here[np.argsort(places[here, 1])]
      decisions = [self.labels.decisions[d] for d in piece.decisions[here]]
      source = np.array([(d.block, d.row) for d in decisions], int).reshape(-1, 2)
      sources.append((source, np.array([piece.actions[r] for r in here], int).reshape(-1, actions).T))
    return sources

  def _leaves(self, pieces: tuple[_Piece, _Piece], ends: np.ndarray):
    """The inner evaluator's leaves.

    Returns:
      int[L]: for each leaf one of `ends`; the leaves of each part; a function that makes the evaluator.
    """
    n = self.nodes
    if not n.histories:
      number = n.leaf[ends]
      bounds = np.cumsum([0, *self.tree.players[0].leaf.children])
      parts = [np.flatnonzero((number >= a) & (number < b)) for a, b in itertools.pairwise(bounds)]
      local = [number[part] - a for part, a in zip(parts, bounds, strict=False)]
      return np.arange(len(ends)), parts, lambda sizes: self.tree.leaves.take(local, sizes)
    source = self.labels.source
    assert isinstance(source, Walked)
    histories = source.histories
    keys = np.column_stack([p for piece in pieces for p in (piece.ends, piece.end_roots)])
    _, first, leaf = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    utility = np.zeros((len(first), 1))
    at = n.ends[ends]
    np.add.at(utility[:, 0], leaf.reshape(-1), histories.chance[at] * histories.utility[at])
    return first, [np.arange(len(first))], lambda sizes: SparseLeaves(_padded(utility, sizes[0], 0))


def _padded(rows: np.ndarray, count: int, value: int) -> np.ndarray:
  """The rows and as many more of one value as make `count`."""
  return np.pad(rows, [(0, count - len(rows)), *[(0, 0)] * (rows.ndim - 1)], constant_values=value)


def _pad_standing(standing: Standing, count: int) -> Standing:
  return dataclasses.replace(standing, sequence=_padded(standing.sequence, count, 0))
