"""Cuts subgames out of a compiled game: what is inside, and each player's rows there."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pyspiel

from ps_cfr_spiel.arguments import check_list, is_integer
from ps_cfr_spiel.subgames.assemble import PlayerCut, assemble
from ps_cfr_spiel.subgames.nodes import RootInfostates, SubgameNodes, find_nodes, tree_and_nodes
from ps_cfr_spiel.subgames.shapes import PadTo, Scope, Shape, count, own_depths
from ps_cfr_spiel.subgames.subgame import Subgame
from ps_cfr_spiel.tree import PublicTree, decision_sequences


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
    self._sequences = decision_sequences(tree)
    self._depths = own_depths(self.nodes)

  def cut(
    self,
    public_states: Collection[int],
    frontier: Collection[int] = (),
    actions: Collection[int] | None = None,
    pad_to: PadTo | None = None,
  ) -> Subgame:
    """The subgame that begins in some public states.

    Args:
      public_states: the roots, where a player acts, or the beginning of the game; none below another.
      frontier: public states where a player acts and the subgame ends.
      actions: OpenSpiel actions that are kept (a betting abstraction); all by default.
      pad_to: gives the shape to pad the arrays to, from the one they need.

    Returns:
      The subgame, on the host.

    Raises:
      ValueError: a public state is not of this game or not as above, or no action is left somewhere.
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

  def shape(
    self,
    groups: Sequence[Collection[int]],
    frontier: Collection[int] = (),
    actions: Collection[int] | None = None,
  ) -> Shape:
    """The least shape that holds the subgames of some groups of public states, counted without cutting any.

    Args:
      groups: what would be cut together; no public state may lie below another, of any group.
      frontier: see `cut`.
      actions: see `cut`.

    Raises:
      ValueError: see `cut`.
    """
    begins = self._flags("public_states", [s for group in groups for s in group])
    stops = self._flags("frontier", frontier)
    group = np.full(len(begins), -1)
    for number, states in enumerate(groups):
      group[list(states)] = number
    n, root = self.nodes, self._root_of(begins, stops, actions)
    scope = Scope(root, np.where(root >= 0, group[n.public[root]], -1), (root >= 0) & stops[n.public])
    legal = [d.legal_actions for d in self.labels.decisions]
    kept = np.array([sum(actions is None or a in actions for a in row) for row in legal], int)
    return count(n, scope, kept, self._depths, self._sequences)

  def reached(
    self,
    public_states: Collection[int],
    frontier: Collection[int],
    actions: Collection[int] | None = None,
  ) -> dict[int, list[int]]:
    """For each root the public states of the frontier that its subgame reaches; arguments as for `cut`."""
    n, stops = self.nodes, self._flags("frontier", frontier)
    root = self._root_of(self._flags("public_states", public_states), stops, actions)
    here = np.flatnonzero((root >= 0) & stops[n.public])
    found: dict[int, list[int]] = {int(s): [] for s in public_states}
    for s, below in np.unique(np.stack([n.public[root[here]], n.public[here]], 1), axis=0).tolist():
      found[s].append(below)
    return found

  def _flags(self, name: str, public_states: Collection[int]) -> np.ndarray:
    """bool[P + 1] (the last for leaves); ValueError for a public state that cannot be named."""
    count = len(self.labels.public_states)
    flags = np.zeros(count + 1, bool)
    for s in check_list(name, public_states):
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
    # Downwards: a node has its parent's root, unless it is a root itself or the subgame stops at the parent.
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

  def _player_cut(self, player: int, begins, root, at_frontier, ends, actions) -> PlayerCut:
    """What one player has in the subgame."""
    n = self.nodes
    # Rows: the player's decisions inside, each with one node as an example.
    acting = np.flatnonzero((root >= 0) & ~at_frontier & (n.player == player))
    decisions, first = np.unique(n.decision[acting], return_index=True)
    example = acting[first]
    # Columns: the actions that are kept, by their numbers in the whole game.
    legal = [self.labels.decisions[d].legal_actions for d in decisions]
    kept = [np.array([k for k, a in enumerate(row) if actions is None or a in actions], int) for row in legal]
    for d, numbers, row in zip(decisions, kept, legal, strict=True):
      if not len(numbers):
        raise ValueError(
          f"actions: none of {sorted(actions or ())} is legal in public state "
          f"{self.labels.decisions[d].public_state} of {self.labels.game}, where {list(row)} are."
        )
    # Where it begins and where it stops short of the end.
    roots = self._standing(player, np.flatnonzero(begins))
    frontier = self._standing(player, np.flatnonzero(at_frontier))
    # From the whole game's numbers of decisions and actions to those in the subgame; -1 is outside.
    row_of = np.full(len(self.labels.decisions) + 1, -1)
    row_of[decisions] = np.arange(len(decisions))
    position = np.zeros((len(decisions) + 1, self._sequences.shape[1]), int)
    for row, numbers in enumerate(kept):
      position[row, numbers] = np.arange(len(numbers))

    def choices(nodes):
      """The last choice before some nodes in this subgame, as `make_forest` wants it, and their roots."""
      last = n.last[player][nodes]
      row, at = row_of[last[:, 0]], roots.find(n.knowledge[player][root[nodes]])
      return np.stack([row, np.where(row >= 0, position[row, last[:, 1]], at)], 1), at

    return PlayerCut(
      decisions, kept, choices(example)[0], *choices(n.ends[ends]), roots, frontier, *choices(frontier.node)
    )

  def _standing(self, player: int, nodes: np.ndarray) -> RootInfostates:
    """The infostates of a player at some nodes."""
    n = self.nodes
    knowledge, first = np.unique(n.knowledge[player][nodes], return_index=True)
    node = nodes[first]
    decision, action = n.last[player][node].T
    sequence = np.zeros(len(node), int)
    own = decision >= 0
    sequence[own] = self._sequences[decision[own], action[own]]
    return RootInfostates(knowledge, node, sequence, n.public[node])
