"""Trees to sample from, made from a game's histories, its Bayesian form or its public moves."""

import dataclasses
import itertools
from typing import NamedTuple

import numpy as np
import pyspiel

from ps_cfr_spiel.backend.array_shapes import Float, Int
from ps_cfr_spiel.compilation.compiler import FormOrigin, PublicStateIndex
from ps_cfr_spiel.compilation.histories import Histories, history_origin
from ps_cfr_spiel.sampling.mccfr.sampling_tree import (
  CHANCE_NODE,
  TERMINAL_NODE,
  DealtTypes,
  Depth,
  Ends,
  PublicCards,
  SamplingTree,
)
from ps_cfr_spiel.tree import (
  CHANCE,
  TERMINAL,
  Labels,
  PublicTree,
  deal_weights,
  decision_sequences,
  first_cells,
)


class HistoryNodes(NamedTuple):
  """The nodes of a `SamplingTree` in any order: parents before their children, siblings by ascending action.

  Fields as in `SamplingTree`; `kind` is the actor by OpenSpiel's numbers.
  """

  parent: Int[np.ndarray, " N"]
  kind: Int[np.ndarray, " N"]
  cell: Int[np.ndarray, " N"]
  chance: Float[np.ndarray, " N"]
  utility: Float[np.ndarray, "*players N"]


def build_sampling_tree(game: pyspiel.Game, tree: PublicTree) -> SamplingTree:
  """Build the tree of a compiled game's histories, with NumPy arrays in float64."""
  source = history_origin(tree.names)
  if source is not None:
    return sort_nodes(tree, histories_to_sample(tree, source.histories))[0]
  assert isinstance(tree.names.source, FormOrigin)
  lines = tree.names.source.lines
  if any(after - before > 1 for before, after in itertools.pairwise(lines.dealt.came)):
    raise ValueError(f"{tree.names.game} deals several public cards at once; sample one with single cards.")
  sampling_tree, order = sort_nodes(tree, _public_states(tree, lines))
  return dataclasses.replace(sampling_tree, deal=_dealt_types(lines, order))


def sort_nodes(tree: PublicTree, nodes: HistoryNodes) -> tuple[SamplingTree, Int[np.ndarray, " N"]]:
  """The nodes by depth, without a deal, and which of the given nodes stands in each place."""
  size = len(nodes.parent)
  depth = np.zeros(size, int)
  for node in range(1, size):
    depth[node] = depth[nodes.parent[node]] + 1
  by_depth = np.argsort(depth, kind="stable")
  starts = np.searchsorted(depth[by_depth], np.arange(depth.max() + 2)).tolist()
  order, place = np.zeros(size, int), np.zeros(size, int)
  for start, stop in itertools.pairwise(starts):
    layer = by_depth[start:stop]
    layer = layer[np.argsort(place[nodes.parent[layer]], kind="stable")]
    order[start:stop] = layer
    place[layer] = np.arange(start, stop)
  parent, kind, cell, chance, utility = (column[..., order] for column in nodes)
  kind = np.select([kind == CHANCE, kind == TERMINAL], [CHANCE_NODE, TERMINAL_NODE], kind)
  parent = np.where(parent >= 0, place[parent], -1)
  count = np.bincount(parent[1:], minlength=size)
  first = np.where(count > 0, 1 + np.cumsum(count) - count, 0)
  running = np.cumsum(chance)
  cumulative = running - np.append(0, running)[first[parent]]
  ends = (first + np.maximum(count, 1) - 1)[parent]
  sampling_tree = SamplingTree(
    actor=kind.astype(np.int32),
    first=first.astype(np.int32),
    count=count.astype(np.int32),
    parent=parent.astype(np.int32),
    cell=cell.astype(np.int32),
    chance=chance,
    cumulative=cumulative / cumulative[ends],
    utility=utility,
    legal=_legal(tree),
    deal=None,
    ends=None,
    sets=None,
    depths=tuple(_depth(start, stop, kind, count) for start, stop in itertools.pairwise(starts)),
    shapes=tuple(tuple(player.block_shapes) for player in tree.players),
  )
  return sampling_tree, order


def _depth(start: int, stop: int, kind: Int[np.ndarray, " N"], count: Int[np.ndarray, " N"]) -> Depth:
  kinds, counts = kind[start:stop], count[start:stop]
  outcomes = int(counts[kinds == CHANCE_NODE].max(initial=0))
  return Depth(start, stop, tuple(np.unique(kinds).tolist()), outcomes, int(counts.max()))


def _legal(tree: PublicTree) -> Int[np.ndarray, " S"]:
  """Number of actions of each cell."""
  shapes = [shape for player in tree.players for shape in player.block_shapes]
  counts = [np.full(rows * types, a, np.int32) for a, rows, types in shapes]
  return np.concatenate(counts or [np.ones(1, np.int32)])  # a cell that no node has, where no player decides


def histories_to_sample(tree: PublicTree, histories: Histories) -> HistoryNodes:
  """All histories of an enumerated game, in their order, with the cells of its tree."""
  cells: list[dict[str, int]] = [{} for _ in tree.players]
  for decision, first in zip(tree.names.decisions, first_cells(tree), strict=True):
    cells[decision.player].update(
      {name: first + h for h, name in enumerate(decision.infostates) if name is not None}
    )
  cell = np.zeros(len(histories.parent), int)
  for player in histories.players:
    by_infostate = np.array([cells[player].get(name, 0) for name in histories.names[player]])
    cell = np.where(histories.player == player, by_infostate[histories.infostate[player]], cell)
  above = np.where(histories.parent >= 0, histories.chance[histories.parent], 1.0)
  utility = histories.utility.astype(float)
  if histories.others is not None:
    utility = np.stack([utility, *histories.others])
  player, chance = histories.player.astype(np.int32), histories.chance / above
  return HistoryNodes(histories.parent, player, cell, chance, utility)


def _public_states(tree: PublicTree, lines: PublicStateIndex) -> HistoryNodes:
  betting, size = lines.betting, int(lines.starts[-1])
  cell = np.zeros(size, int)
  cell[[decision.public_state for decision in tree.names.decisions]] = first_cells(tree)
  folds = betting.fold_payoff[:, 0] if betting.zero_sum else betting.fold_payoff.T
  columns = betting.player, folds, betting.street
  kind, utility, street = (np.repeat(column, lines.sizes, -1) for column in columns)
  # Each card that no player holds comes with the same probability: of `live` the first, then of one less.
  chance = np.where(_cards(lines) >= 0, 1 / np.maximum(lines.form.live - street + 1, 1), 1.0)
  return HistoryNodes(lines.parents, kind, cell, chance, utility)


def _dealt_types(lines: PublicStateIndex, order: Int[np.ndarray, " N"]) -> DealtTypes:
  """The types of a form whose public states are taken in some order."""
  form, prior = lines.form, deal_weights(lines.form)
  first, second = np.cumsum(prior.sum(1)), np.cumsum(prior, 1)
  last = len(lines.boards) - 1
  number = np.arange(lines.starts[-1]) - np.repeat(lines.starts[:-1], lines.sizes)
  runout = np.where(np.repeat(lines.betting.street, lines.sizes) == last, number, 0)
  runout += np.repeat(lines.betting.showdown_index, lines.sizes)  # one of both is 0
  held, strength = (
    (one.astype(np.int32), other.astype(np.int32)) for one, other in (form.cards, lines.dealt.strength)
  )
  return DealtTypes(
    first=first / first[-1],
    second=(second / second[:, -1:]).ravel(),
    strength=strength,
    showdown_payoff=np.repeat(lines.betting.showdown_payoff, lines.sizes)[order],
    runout=runout[order].astype(np.int32),
    cards=PublicCards(_cards(lines)[order], held) if last else None,
  )


def _cards(lines: PublicStateIndex) -> Int[np.ndarray, " P"]:
  """The card that leads to each public state, -1 after other moves."""
  betting, columns = lines.betting, []
  for line, above in enumerate(betting.parent.tolist()):
    comes = above >= 0 and betting.player[above] == CHANCE
    runouts = lines.dealt.runouts[betting.street[line]]
    columns.append(runouts[:, -1] if comes else np.full(len(runouts), -1))
  return np.concatenate(columns).astype(np.int32)


def build_public_sampling_tree(tree: PublicTree) -> SamplingTree:
  """The public moves of a compiled game as a tree to sample from, with NumPy arrays.

  A node is a public state with a decision at or below it, or a leaf of the public tree. ValueError if the
  game has no public states, a public state of several rows, or moves that are not public.
  """
  labels = tree.names
  wrong = ValueError(
    f"{labels.game}: trajectories='public' needs a game whose private information is dealt once and whose "
    f"moves are all public, compiled with its public states; use trajectories='histories'."
  )
  states, below = labels.public_states, _alive_children(labels)
  if not states or any(state.player >= 0 and len(state.decisions) != 1 for state in states):
    raise wrong
  ends = zip(*(player.leaf.index.tolist() for player in tree.players), strict=True)
  leaves = {pair: number for number, pair in enumerate(ends)}
  cells, sequences = first_cells(tree), decision_sequences(tree).tolist()
  rows: list[tuple[int, int, int, float, int]] = []
  used: list[int] = []
  stack = [(0, (0, 0), -1, 1.0)]  # (state or -1 for a leaf, last sequences, parent, chance)
  while stack:
    state, last, parent, chance = stack.pop()
    row_number = len(rows)
    if state < 0:
      used.append(leaves.get(last, -1))
      rows.append((parent, TERMINAL, 0, chance, used[-1]))
      continue
    player = states[state].player
    if player < 0:
      moves = [(child, last) for child in below[state]]
      if last in leaves:
        moves.append((-1, last))  # some outcomes end the game
      rows.append((parent, CHANCE, 0, chance, 0))
    else:
      row = states[state].decisions[0]
      decision = labels.decisions[row]
      moves = []
      for a, action in enumerate(decision.legal_actions):
        after = (sequences[row][a], last[1]) if player == 0 else (last[0], sequences[row][a])
        reached = [child for child in below[state] if states[child].action == action]
        moves.append((reached[0] if len(reached) == 1 else -1, after))
      rows.append((parent, player, cells[row], chance, 0))
    share = 1 / len(moves) if player < 0 else 1.0
    stack += [(child, after, row_number, share) for child, after in reversed(moves)]
  if sorted(used) != list(range(len(leaves))):
    raise wrong
  parent, kind, cell, chance, leaf = (np.array(column) for column in zip(*rows, strict=True))
  sampling_tree, order = sort_nodes(tree, HistoryNodes(parent, kind, cell, chance, np.zeros(len(rows))))
  public = dataclasses.replace(tree, labels=None)
  return dataclasses.replace(sampling_tree, ends=Ends(public, leaf[order].astype(np.int32)))


def _alive_children(labels: Labels) -> list[list[int]]:
  """For each public state its children with a decision at or below them, by ascending action."""
  states = labels.public_states
  alive = [state.player >= 0 for state in states]
  for number in reversed(range(1, len(states))):  # parents stand before their children
    alive[states[number].parent] |= alive[number]
  return [[child for child in children if alive[child]] for children in labels.children]
