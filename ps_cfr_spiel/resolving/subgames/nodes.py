"""The nodes from which subgames are cut: a compiled game once more, with links to the parents.

A `PublicTree` keeps a forest of decisions for each player; solving a whole game needs nothing else. A subgame
begins in the middle: its cut needs the infostates (of either player, acting or not) of a public state, each
player's last choice before it, and the tree below. `find_nodes` has them for both kinds of tree: in a
Bayesian game the nodes are the public states and the leaves, each for all types at once; elsewhere they are
the histories.
"""

import dataclasses
import functools

import numpy as np
import pyspiel

from ps_cfr_spiel.backend.array_shapes import Int
from ps_cfr_spiel.compilation.compiler import one_row_per_infostate
from ps_cfr_spiel.compilation.histories import (
  HistoryOrigin,
  augmented_infostates,
  choice_rows,
  components,
  history_origin,
  last_choices,
  layers,
  number_rows,
  one_to_one,
)
from ps_cfr_spiel.tree import (
  TERMINAL,
  Labels,
  Places,
  PublicTree,
  check_zero_sum,
  leaf_places,
  sequence_choices,
)


@dataclasses.dataclass(frozen=True)
class SubgameNodes:
  """N nodes, parents before children."""

  parent: Int[np.ndarray, " N"]  #: -1 at the root
  layers: tuple[Int[np.ndarray, " _n"], ...]  #: the nodes of each depth
  public: Int[np.ndarray, " N"]  #: the public state; P (the number of public states) for a leaf
  player: Int[np.ndarray, " N"]  #: the acting player
  decision: Int[np.ndarray, " N"]  #: the acting player's row, an index into `Labels.decisions`, or -1
  #: for each player the number of the infostate, acting or not, of all types.
  knowledge: tuple[Int[np.ndarray, " N"], Int[np.ndarray, " N"]]
  #: for each player their last choice as (decision, number of the action), or (-1, -1).
  last: tuple[Int[np.ndarray, "N 2"], Int[np.ndarray, "N 2"]]
  ends: Int[np.ndarray, " E"]  #: the nodes that are leaves
  places: Places  #: of these leaves in the tree's evaluator; for histories in one part of their own
  histories: bool  #: whether nodes are histories

  @functools.cached_property
  def of_decision(self) -> Int[np.ndarray, " D"]:
    """A node of each decision of `Labels.decisions`."""
    numbers, first = np.unique(self.decision, return_index=True)
    return first[numbers >= 0]


@dataclasses.dataclass(frozen=True)
class RootInfostates:
  """One player's infostates at some public states, in rows of all types: n of them, and padding."""

  knowledge: Int[np.ndarray, " n"]  #: the infostates' numbers in `SubgameNodes.knowledge`, ascending
  node: Int[np.ndarray, " n"]  #: a node with this infostate
  #: the sequence of the whole game's forest that leads there; 0 in the padding.
  sequence: Int[np.ndarray, " roots"]
  public: Int[np.ndarray, " n"]  #: the public state

  def find(self, knowledge: Int[np.ndarray, " m"]) -> Int[np.ndarray, " m"]:
    """The rows of infostates, given by number; all of them must be here."""
    return np.searchsorted(self.knowledge, knowledge)


def find_nodes(tree: PublicTree, game: pyspiel.Game | None = None) -> tuple[PublicTree, SubgameNodes]:
  """A tree and its nodes; where players know more than types, the game's tree with a row for each infostate.

  ValueError if the tree has no public states, or needs these rows and no `game` is given.
  """
  if not tree.names.public_states:
    raise ValueError(
      "Subgames need public states; build the tree with public_states='closure' or 'observer'."
    )
  if fault := types_fault(tree):
    if game is None:
      raise ValueError(fault)
    tree = one_row_per_infostate(game, tree)
  return tree, _nodes(tree)


def types_fault(tree: PublicTree) -> str | None:
  """Players know nothing at decisions but their type and the public state; otherwise the remedy."""
  source = history_origin(tree.names)
  if source is None or _is_split(tree):
    return None
  histories, public, types = source.histories, source.public, source.types
  assert public is not None
  going = histories.player >= 0
  for player in (0, 1):
    last = last_choices(histories, player)
    known = _knowledge(source, player, last)[going]
    if not one_to_one(public[going], known, types[player][going]):
      return (
        f"{tree.names.game}: player {player} knows more than a type while the opponent acts; build it with "
        f"build_tree(game, leaves='sparse')."
      )
  return None


def check_searchable(tree: PublicTree) -> None:
  """ValueError for a game of general sum, or of more players; `gadgets` says why."""
  check_zero_sum(
    tree, "subgames and searches", why=", where a value promised to the opponent bounds the player's own loss"
  )


def _is_split(tree: PublicTree) -> bool:
  return all(player.types == 1 for player in tree.players)


def _nodes(tree: PublicTree) -> SubgameNodes:
  check_searchable(tree)
  labels = tree.names
  source = history_origin(labels)
  if source is not None and _is_split(tree):
    return history_nodes(labels, source)
  return _public(tree, labels)


def history_nodes(labels: Labels, source: HistoryOrigin) -> SubgameNodes:
  """The nodes of a tree whose nodes are histories, with or without public states."""
  histories, public = source.histories, source.public
  decision = np.full(len(histories.parent), -1)
  last = []
  for player in (0, 1):
    # The decision of each information state string, from its example histories.
    row = np.full(len(histories.names[player]), -1)
    for number, d in enumerate(labels.decisions):
      if d.player == player:
        row[histories.infostate[player][list(d.examples)]] = number
    acts = histories.player == player
    decision[acts] = row[histories.infostate[player][acts]]
    last.append(choice_rows(last_choices(histories, player), row))
  # Every history at the end of the game is a leaf of its own.
  ends = np.flatnonzero(histories.player == TERMINAL)
  return SubgameNodes(
    parent=histories.parent,
    layers=layers(histories.depth),
    public=np.zeros(len(decision), int) if public is None else public,
    player=histories.player,
    decision=decision,
    knowledge=(_knowledge(source, 0, last[0]), _knowledge(source, 1, last[1])),
    last=(last[0], last[1]),
    ends=ends,
    places=Places(np.zeros(len(ends), int), ends, np.zeros(len(ends), int), np.zeros(1, int)),
    histories=True,
  )


def _public(tree: PublicTree, labels: Labels) -> SubgameNodes:
  """The nodes of a tree whose nodes are the public states, then the leaves."""
  # Nodes 0..count - 1 are the public states; node count + l is the leaf l, below the later of the two public
  # states with the players' last choices before it.
  states, rows, count = labels.state_table, labels.decision_table, len(labels.public_states)
  last_of_leaf = [sequence_choices(tree, i)[tree.players[i].leaf.index] for i in (0, 1)]
  public = np.append(rows.public_state, 0)  # 0 for a player who has not chosen: the other's is later
  above = np.maximum(*(public[choice[:, 0]] for choice in last_of_leaf))
  parent = np.concatenate([states.parent, above])
  player = np.concatenate([states.player, np.full(len(above), TERMINAL)])
  depth, node = np.zeros(len(parent), int), parent
  while (node >= 0).any():
    depth, node = depth + (node >= 0), np.where(node >= 0, parent[node], -1)
  last = [np.full((len(parent), 2), -1) for _ in (0, 1)]
  for layer in layers(depth[:count])[1:]:  # parents first
    before = parent[layer]
    chosen, mover = states.decision[before], player[before]
    legal = rows.legal[chosen] == states.action[layer, None]
    choice = np.stack([chosen, np.where(legal.any(1), legal.argmax(1), -1)], 1)
    for i in (0, 1):
      last[i][layer] = np.where((mover == i)[:, None], choice, last[i][before])
  # A public state lacks moves that end the game, so the leaves' last choices come from the forests.
  for i in (0, 1):
    last[i][count:] = last_of_leaf[i]
  number = np.arange(len(parent))
  return SubgameNodes(
    parent=parent,
    layers=layers(depth),
    public=np.minimum(number, count),
    player=player,
    decision=np.append(states.decision, np.full(len(above), -1)),
    knowledge=(number, number),
    last=(last[0], last[1]),
    ends=number[count:],
    places=leaf_places(tree.leaves, tree.players[0].leaf.children),
    histories=False,
  )


def _knowledge(source: HistoryOrigin, player: int, last: Int[np.ndarray, "N 2"]) -> Int[np.ndarray, " N"]:
  """The number of the player's infostate, acting or not, which includes their choices.

  Infostates form a tree: a player who cannot distinguish two histories could not distinguish their
  predecessors either. Strings of a player who does not act may contradict this (`efg_game` gives the
  opponent's), so predecessors are joined. Their last choice is the same, so a gadget's promises stay safe.
  """
  histories = source.histories
  # First by strings and choices; then, from the deepest layer up, the predecessors that must be equal.
  known = augmented_infostates(histories, player)
  known = number_rows(known, *last.T).astype(int)
  position, below = np.zeros(len(known), int), np.zeros(0, int)
  for layer in reversed(layers(histories.depth)):
    inner = layer[histories.player[layer] != TERMINAL]
    position[inner] = np.arange(len(inner))
    # Two histories are one infostate if they were so far, or if their successors are.
    joined = components(len(inner), [known[inner]], position[histories.parent[below]], known[below])
    known[inner] = known.max() + 1 + joined
    below = inner
  return known
