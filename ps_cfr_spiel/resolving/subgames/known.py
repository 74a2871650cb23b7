"""Subgames cut by one player's knowledge: k-KLSS, for games with or without public states.

A player's decisions in an infostate I and below it are solved anew, and all other decisions of this player
are frozen. The opponent begins in the infostates that touch I, each with all its histories, also those
outside I. So nothing must be common knowledge (Zhang and Sandholm 2021). With knowledge k the infostates of
the player are free that k - 1 steps lead to, each by way of an infostate of the opponent; with enough steps
the subgame is that of common knowledge.

The cut is that of `cut`, out of a view of the game: a frozen decision is chance, with the player's
probabilities, and the one public state holds the first histories of each of the opponent's infostates.
"""

import copy
import dataclasses
from collections.abc import Mapping

import numpy as np
import pyspiel

from ps_cfr_spiel.arguments import JSON
from ps_cfr_spiel.backend.array_shapes import Bool, Float, Int
from ps_cfr_spiel.compilation.compiler import build_tree
from ps_cfr_spiel.compilation.histories import components, first_members, history_origin, number_rows
from ps_cfr_spiel.resolving.subgames.cut import Subgames
from ps_cfr_spiel.resolving.subgames.nodes import SubgameNodes, check_searchable, history_nodes
from ps_cfr_spiel.resolving.subgames.shapes import PadTo
from ps_cfr_spiel.resolving.subgames.subgame import Subgame
from ps_cfr_spiel.tree import CHANCE, PublicState, PublicTree

NEVER = 1e-30  # reach that counts as none, as in `search.promises`


class KnownSubgames(Subgames):
  """A compiled game from which subgames are cut by a player's knowledge."""

  def __init__(self, tree: PublicTree, knowledge: int, options: Mapping[str, JSON] | None = None):
    """See the class; the tree has a row for each infostate (`leaves="sparse"`)."""
    check_searchable(tree)
    source = history_origin(tree.names)
    assert source is not None
    nodes = history_nodes(tree.names, source)
    super().__init__(tree, options=options, nodes=nodes)
    self.knowledge, self._source = knowledge, source  #: k
    # Without the time: players need not know it.
    first, second = (number_rows(source.histories.infostate[i], *nodes.last[i].T) for i in (0, 1))
    self._known = first, second
    self._first = first_members(np.maximum(nodes.decision, -1) + 1, len(self.labels.decisions) + 1)[1:]
    #: of the decisions, by (player, block, row).
    self.numbers = {(d.player, d.block, d.row): n for n, d in enumerate(self.labels.decisions)}
    acted = [nodes.last[i][self._first, 0] >= 0 for i in (0, 1)]
    self.decided = acted[0] | acted[1]  #: bool[D], whether a player has decided before each decision

  @classmethod
  def of(cls, game: pyspiel.Game, knowledge: int, memory: float | None = None, **options: JSON):
    """Compile a game; see `Subgames.of`."""
    options |= {"leaves": "sparse", "public_states": "none"}
    return cls(build_tree(game, memory=memory, **options), knowledge, options)

  def above(self, decision: int) -> list[int]:
    """The numbers of the decisions of the same player on the path to a decision, and that decision last."""
    path, last = [decision], self.nodes.last[self.labels.decisions[decision].player]
    while (before := int(last[self._first[path[-1]], 0])) >= 0:
      path.append(before)
    return path[::-1]

  def whole(self) -> Subgame:
    """The game from its start, as a subgame."""
    n = self.nodes
    begins, chance = np.arange(len(n.parent)) == 0, self._source.histories.chance
    return self._cut(n, begins, (0 * n.parent, 0 * n.parent), chance, None)

  def at(self, decision: int, reach: Float[np.ndarray, " S"], pad_to: PadTo | None = None) -> Subgame | None:
    """The subgame of a decision, by its number in `Labels.decisions`; None if its player never comes there.

    `reach` is that of its player's sequences; `pad_to` as for `Subgames.cut`.
    """
    n, player = self.nodes, self.labels.decisions[decision].player
    last = n.last[player]
    own_reach = reach[np.where(last[:, 0] >= 0, self._sequences[tuple(last.T)], 0)]
    if own_reach[self._first[decision]] < NEVER:
      return None
    top, begins = self._touched(decision)
    free, frozen = np.isin(n.decision, top) & (own_reach >= NEVER), own_reach.copy()
    for layer in n.layers[1:]:
      under = free[n.parent[layer]]
      free[layer] |= under
      frozen[layer[under]] = frozen[n.parent[layer[under]]]
    begins, branch = self._branches(1 - player, begins)
    acts = (n.player == player) & ~free
    nodes = dataclasses.replace(
      n, player=np.where(acts, CHANCE, n.player), decision=np.where(acts, -1, n.decision)
    )
    knowledge = (0 * branch, branch) if player == 0 else (branch, 0 * branch)
    return self._cut(nodes, begins, knowledge, self._source.histories.chance * frozen, pad_to)

  def _touched(self, decision: int) -> tuple[Int[np.ndarray, " n"], Bool[np.ndarray, " N"]]:
    """The free decisions, without those below, and the histories where the opponent may begin."""
    n, player = self.nodes, self.labels.decisions[decision].player
    known, rows = self._known[1 - player], np.array([decision])
    for step in range(self.knowledge):
      begins = (n.player == player) & np.isin(known, known[np.isin(n.decision, rows)])
      more = np.unique(n.decision[begins])
      if step == self.knowledge - 1 or len(more) == len(rows):
        break
      rows = more
    return rows, begins

  def _branches(
    self, opponent: int, begins: Bool[np.ndarray, " N"]
  ) -> tuple[Bool[np.ndarray, " N"], Int[np.ndarray, " N"]]:
    """The first histories of the opponent's branches, and the number of their branch.

    A decision of the opponent is in one branch, with all its histories: branches that share one are joined.
    """
    n, begins = self.nodes, begins.copy()
    number = np.where(begins, self._known[opponent], -1)
    theirs = np.flatnonzero(n.player == opponent)
    while True:
      root = np.full(len(n.parent), -1)
      for layer in n.layers:
        above = np.where(n.parent[layer] >= 0, root[n.parent[layer]], -1)
        root[layer] = np.where(above >= 0, above, np.where(begins[layer], layer, -1))
      inside = root[theirs] >= 0
      missing = theirs[~inside & np.isin(n.decision[theirs], n.decision[theirs[inside]])]
      if not len(missing):
        break
      begins[missing], number[missing] = True, number.max() + 1 + n.decision[missing]
    roots = np.unique(root[root >= 0])
    position = np.searchsorted(roots, root[theirs[inside]])
    branch = np.zeros(len(root), int)
    branch[roots] = components(len(roots), [number[roots]], position, n.decision[theirs[inside]])
    return np.isin(np.arange(len(root)), roots), branch

  def _cut(
    self,
    nodes: SubgameNodes,
    begins: Bool[np.ndarray, " N"],
    knowledge: tuple[Int[np.ndarray, " N"], Int[np.ndarray, " N"]],
    chance: Float[np.ndarray, " N"],
    pad_to: PadTo | None,
  ) -> Subgame:
    """`cut` from the view in which the first histories are public state 0."""
    public = np.where(begins, 0, 1)
    histories = dataclasses.replace(self._source.histories, chance=chance)
    source = dataclasses.replace(self._source, histories=histories, public=public)
    states = [PublicState(-1, -1, CHANCE, ())] * 2
    view = copy.copy(self)
    view.nodes = dataclasses.replace(nodes, public=public, knowledge=knowledge)
    view.labels = dataclasses.replace(self.labels, public_states=states, source=source)
    view.tree = dataclasses.replace(self.tree, labels=view.labels)
    return view.cut([0], pad_to=pad_to)
