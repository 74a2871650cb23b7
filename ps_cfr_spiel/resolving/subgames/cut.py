"""The cut of subgames out of a compiled game: the nodes inside, and each player's rows there."""

import functools
from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pyspiel

from ps_cfr_spiel.arguments import JSON, check_list, is_integer
from ps_cfr_spiel.backend.array_shapes import Bool, Int
from ps_cfr_spiel.compilation.compiler import build_tree
from ps_cfr_spiel.resolving.subgames.alike import find_alike
from ps_cfr_spiel.resolving.subgames.assemble import PlayerCut, assemble
from ps_cfr_spiel.resolving.subgames.nodes import RootInfostates, SubgameNodes, find_nodes
from ps_cfr_spiel.resolving.subgames.shapes import Depths, PadTo, Scope, Shape, least_shape, own_depths
from ps_cfr_spiel.resolving.subgames.subgame import Subgame
from ps_cfr_spiel.tree import PublicTree, decision_sequences


class Subgames:
  """A compiled game from which subgames are cut."""

  @classmethod
  def of(cls, game: pyspiel.Game, memory: float | None = None, **options: JSON) -> "Subgames":
    """Compile a game, enumerated once, for cutting subgames; `memory` and `options` are of `build_tree`."""
    return cls(build_tree(game, memory=memory, **options), game, options)

  def __init__(
    self,
    tree: PublicTree,
    game: pyspiel.Game | None = None,
    options: Mapping[str, JSON] | None = None,
    nodes: SubgameNodes | None = None,
  ):
    """Find the nodes of the tree in time linear in their number; arguments and errors as of `find_nodes`.

    `options` are of `build_tree`; `nodes`, if given, are the tree's.
    """
    #: tree, nodes: see `find_nodes`; on the host.
    self.tree, self.nodes = find_nodes(tree, game) if nodes is None else (tree, nodes)
    #: of `build_tree`, which give this tree on any machine.
    self.options = dict(options or {}) | ({} if self.tree is tree else {"leaves": "sparse"})
    self.labels = self.tree.names
    self._sequences = decision_sequences(self.tree)
    self._last: Subgame | None = None

  @functools.cached_property
  def _depths(self) -> Depths:
    """See `own_depths`."""
    return own_depths(self.nodes)

  @functools.cached_property
  def alike(self) -> Int[np.ndarray, " P"]:
    """See `find_alike`."""
    return find_alike(self.tree, self.nodes)

  def cut(
    self,
    public_states: Collection[int],
    frontier: Collection[int] = (),
    actions: Collection[int] | None = None,
    pad_to: PadTo | None = None,
  ) -> Subgame:
    """Cut the subgame that begins in some public states, on the host.

    Args:
      public_states: the roots: each a player's, or the beginning of the game; none below another.
      frontier: public states of a player where the subgame ends.
      actions: OpenSpiel actions to keep (a betting abstraction); all by default.
      pad_to: from the shape of the subgame to the shape of the padded arrays.

    ValueError for an invalid public state, or if a decision has no action left.
    """
    n = self.nodes
    begins = self._flags("public_states", public_states)
    if not begins.any() and pad_to is None:
      raise ValueError("public_states is empty; name at least one public state.")
    root = self._root_of(begins, self._flags("frontier", frontier), actions)
    at_frontier = (root >= 0) & self._flags("frontier", frontier)[n.public]
    ends = np.flatnonzero(root[n.ends] >= 0)
    first, second = (self._player_cut(i, begins[n.public], root, at_frontier, ends, actions) for i in (0, 1))
    return assemble(self.tree, n, (first, second), tuple(sorted(set(public_states))), ends, pad_to)

  def subgame_at(self, public_state: int) -> Subgame:
    """The whole subgame that begins in one public state; the last is kept."""
    if self._last is None or self._last.public_states != (public_state,):
      self._last = self.cut([public_state])
    return self._last

  def shape(
    self,
    groups: Sequence[Collection[int]],
    frontier: Collection[int] = (),
    actions: Collection[int] | None = None,
  ) -> Shape:
    """The least shape that holds the cuts at some groups of public states, without cutting any.

    No public state may lie below another, of any group; other arguments as for `cut`.
    """
    begins = self._flags("public_states", [s for group in groups for s in group])
    stops = self._flags("frontier", frontier)
    group = np.full(len(begins), -1)
    for number, states in enumerate(groups):
      group[list(states)] = number
    n, root = self.nodes, self._root_of(begins, stops, actions)
    scope = Scope(root, np.where(root >= 0, group[n.public[root]], -1), (root >= 0) & stops[n.public])
    kept = self._kept_actions(np.arange(len(self.labels.decisions)), actions).sum(1)
    return least_shape(n, scope, kept, self._depths, self._sequences)

  def reached(
    self,
    public_states: Collection[int],
    frontier: Collection[int],
    actions: Collection[int] | None = None,
  ) -> dict[int, list[int]]:
    """The public states of the frontier below each root; arguments as for `cut`."""
    n, stops = self.nodes, self._flags("frontier", frontier)
    root = self._root_of(self._flags("public_states", public_states), stops, actions)
    nodes = np.flatnonzero((root >= 0) & stops[n.public])
    below_root: dict[int, list[int]] = {int(s): [] for s in public_states}
    for s, below in np.unique(np.stack([n.public[root[nodes]], n.public[nodes]], 1), axis=0).tolist():
      below_root[s].append(below)
    return below_root

  def _flags(self, name: str, public_states: Collection[int]) -> Bool[np.ndarray, " states"]:
    """Whether each public state is one of these, and False for leaves; ValueError for an invalid one."""
    count = len(self.labels.public_states)
    flags = np.zeros(count + 1, bool)
    for s in check_list(name, public_states):
      if not is_integer(s) or not 0 <= s < count:
        raise ValueError(f"{name}: {self.labels.game} has the public states 0..{count - 1}, got {s!r}.")
      if s and not self.labels.public_states[s].decisions:
        raise ValueError(
          f"{name}: no player acts in public state {s} of {self.labels.game}; choose a state where one does."
        )
      flags[s] = True
    return flags

  def _root_of(
    self,
    begins: Bool[np.ndarray, " states"],
    stops: Bool[np.ndarray, " states"],
    actions: Collection[int] | None,
  ) -> Int[np.ndarray, " N"]:
    """The root at or above each node, as a node; -1 outside the subgame."""
    n = self.nodes
    root = np.full(len(n.parent), -1)
    # Downwards: a node has its parent's root, unless it is a root itself or the subgame stops at the parent.
    for layer in n.layers:
      above = n.parent[layer]
      inherited = np.where(above >= 0, root[above], -1)
      start = begins[n.public[layer]]
      nested = layer[start & (inherited >= 0)]
      if len(nested):
        a, b = (int(n.public[node]) for node in (inherited[start & (inherited >= 0)][0], nested[0]))
        raise ValueError(f"public_states: {b} lies below {a}; cut overlapping subgames one by one.")
      open_ = ~stops[n.public[above]]
      if actions is not None:
        open_ &= self._kept(layer, above, actions)
      root[layer] = np.where(start, layer, np.where(open_, inherited, -1))
    return root

  def _kept(
    self, layer: Int[np.ndarray, " n"], above: Int[np.ndarray, " n"], actions: Collection[int]
  ) -> Bool[np.ndarray, " n"]:
    """True for nodes reached by chance or by one of the actions."""
    n, kept = self.nodes, np.ones(len(layer), bool)
    for player in (0, 1):
      moved = np.flatnonzero(n.player[above] == player)
      decision, action = n.last[player][layer[moved]].T
      kept[moved] = self._kept_actions(decision, actions)[np.arange(len(moved)), action]
    return kept

  def _kept_actions(
    self, decisions: Int[np.ndarray, " n"], actions: Collection[int] | None
  ) -> Bool[np.ndarray, "n A"]:
    """The actions of some decisions that are kept; False behind the last."""
    table = self.labels.decision_table
    kept = np.arange(table.legal.shape[1]) < table.actions[decisions, None]
    return kept if actions is None else kept & np.isin(table.legal[decisions], list(actions))

  def _player_cut(
    self,
    player: int,
    begins: Bool[np.ndarray, " N"],
    root: Int[np.ndarray, " N"],
    at_frontier: Bool[np.ndarray, " N"],
    ends: Int[np.ndarray, " E"],
    actions: Collection[int] | None,
  ) -> PlayerCut:
    n = self.nodes
    # Rows: the player's decisions inside, each with one node as an example.
    acting = np.flatnonzero((root >= 0) & ~at_frontier & (n.player == player))
    decisions, first = np.unique(n.decision[acting], return_index=True)
    example = acting[first]
    # Columns: the kept actions, by their numbers in the whole game.
    kept = self._kept_actions(decisions, actions)
    if len(empty := decisions[~kept.any(1)]):
      d = self.labels.decisions[empty[0]]
      raise ValueError(
        f"actions: none of {sorted(actions or ())} is legal in public state {d.public_state} of "
        f"{self.labels.game}; keep at least one of {list(d.legal_actions)}."
      )
    # The infostates at the roots and at the frontier.
    roots = self._infostates_at(player, np.flatnonzero(begins))
    frontier = self._infostates_at(player, np.flatnonzero(at_frontier))
    # From numbers of decisions and actions in the whole game to those in the subgame; -1 is outside.
    row_of = np.full(len(self.labels.decisions) + 1, -1)
    row_of[decisions] = np.arange(len(decisions))
    position = np.pad(np.cumsum(kept, 1) - 1, ((0, 1), (0, 0)))

    def choices(nodes: Int[np.ndarray, " m"]) -> tuple[Int[np.ndarray, "m 2"], Int[np.ndarray, " m"]]:
      """The last choice before some nodes in this subgame, for `make_forest`, and their roots."""
      last = n.last[player][nodes]
      row, at = row_of[last[:, 0]], roots.find(n.knowledge[player][root[nodes]])
      return np.stack([row, np.where(row >= 0, position[row, last[:, 1]], at)], 1), at

    return PlayerCut(
      decisions, kept, choices(example)[0], *choices(n.ends[ends]), roots, frontier, *choices(frontier.node)
    )

  def _infostates_at(self, player: int, nodes: Int[np.ndarray, " n"]) -> RootInfostates:
    n = self.nodes
    knowledge, first = np.unique(n.knowledge[player][nodes], return_index=True)
    node = nodes[first]
    decision, action = n.last[player][node].T
    sequence = np.zeros(len(node), int)
    chosen = decision >= 0
    sequence[chosen] = self._sequences[decision[chosen], action[chosen]]
    return RootInfostates(knowledge, node, sequence, n.public[node])
