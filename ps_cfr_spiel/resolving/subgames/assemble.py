"""The layout of a cut: both players' parts of a subgame as the arrays of a `Subgame`."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ps_cfr_spiel.backend.array_shapes import Bool, Int, Shaped
from ps_cfr_spiel.compilation.histories import history_origin
from ps_cfr_spiel.resolving.subgames.nodes import RootInfostates, SubgameNodes
from ps_cfr_spiel.resolving.subgames.priors import find_prior
from ps_cfr_spiel.resolving.subgames.shapes import PadTo, Shape, leaf_sizes
from ps_cfr_spiel.resolving.subgames.subgame import Sources, Subgame
from ps_cfr_spiel.tree import (
  BoardLeaves,
  Boards,
  Labels,
  LeafEvaluator,
  Places,
  PlayerTree,
  PublicTree,
  SparseLeaves,
  block_sizes,
  make_forest,
  ranks,
  row_depths,
)


class PlayerCut(NamedTuple):
  """One player's part of a cut: n decisions, E ends, F infostates at the frontier."""

  decisions: Int[np.ndarray, " n"]
  actions: Bool[np.ndarray, "n A"]  # the actions of each decision that are kept
  parents: Int[np.ndarray, "n 2"]  # for `make_forest`
  ends: Int[np.ndarray, "E 2"]  # the last choice before each leaf, likewise
  end_roots: Int[np.ndarray, " E"]
  roots: RootInfostates
  frontier: RootInfostates
  frontier_choices: Int[np.ndarray, "F 2"]
  frontier_roots: Int[np.ndarray, " F"]


def assemble(
  game: PublicTree,
  nodes: SubgameNodes,
  cuts: tuple[PlayerCut, PlayerCut],
  public_states: tuple[int, ...],
  ends: Int[np.ndarray, " E"],
  pad_to: PadTo | None,
) -> Subgame:
  """Lay out the subgame of two cuts; ValueError if the shape of `pad_to` is too small.

  `public_states` are the roots; `ends` the ends inside, as indices in `nodes.ends`.
  """
  # Leaves: one of the ends represents each.
  order, leaves = _leaves(game, nodes, cuts, ends)
  kept = ends[order]

  # The own shape, and the shape of `pad_to`.
  sizes = [cut.actions.sum(1) for cut in cuts]
  rows = [block_sizes(row_depths(p.parents), size) for p, size in zip(cuts, sizes, strict=True)]
  needed = Shape(
    (rows[0], rows[1]),
    leaf_sizes(nodes.places, kept, np.zeros(len(kept), int)),
    (len(cuts[0].roots.node), len(cuts[1].roots.node)),
    (len(cuts[0].frontier.node), len(cuts[1].frontier.node)),
  )
  shape = needed if pad_to is None else pad_to(needed)
  if shape.union(needed) != shape:
    raise ValueError(f"A subgame of {needed} does not fit into {shape}; pad to a larger shape.")
  limited = max(shape.frontier) > 0  # not `needed`: a padded subgame may end before its frontier

  # The place of each leaf; padding hangs on the first root.
  slots = _slots(nodes.places, kept, shape)
  forests, leaf_roots, sources = [], [], []
  for i, cut in enumerate(cuts):
    choices = [_in_slots(cut.ends[order], part.ravel(), -1) for part in slots]
    at = [_in_slots(cut.end_roots[order], part.ravel(), 0) for part in slots]
    # The frontier is one more part of the leaves.
    if limited:
      choices.append(_padded(cut.frontier_choices, shape.frontier[i], -1))
      at.append(_padded(cut.frontier_roots, shape.frontier[i], 0))
    types = game.players[i].types
    forest, places = make_forest(cut.parents, sizes[i], choices, types, shape.roots[i], shape.rows[i])
    forests.append(forest)
    leaf_roots.append(at)
    sources.append(_sources(game.names, cut, places, forest))

  ends_of_game, whole = leaves(slots), not limited and shape == needed
  boards = _boards(game, sources, ends_of_game, nodes.places, kept) if whole else None
  roots = [_pad_infostates(p.roots, n) for p, n in zip(cuts, shape.roots, strict=True)]
  frontier = [_pad_infostates(p.frontier, n) for p, n in zip(cuts, shape.frontier, strict=True)]
  return Subgame(
    PublicTree((forests[0], forests[1]), ends_of_game, boards=boards),
    public_states,
    shape,
    (roots[0], roots[1]),
    (frontier[0], frontier[1]),
    (leaf_roots[0], leaf_roots[1]),
    (sources[0], sources[1]),
    find_prior(game, nodes, roots),
  )


def _sources(labels: Labels, cut: PlayerCut, places: Int[np.ndarray, "n 2"], forest: PlayerTree) -> Sources:
  """`Subgame.rows` of one player."""
  sources, table = [], labels.decision_table
  for k, (actions, _, _) in enumerate(forest.block_shapes):
    # The cut's decisions that form the block, in the order of its rows.
    members = np.flatnonzero(places[:, 0] == k)
    members = members[np.argsort(places[members, 1])]
    decisions = cut.decisions[members]
    source = np.stack([table.block[decisions], table.row[decisions]], 1)
    numbers = np.nonzero(cut.actions[members])[1]  # of the kept actions, row by row
    sources.append((source, numbers.reshape(-1, actions).T))
  return sources


def _boards(
  game: PublicTree,
  sources: Sequence[Sources],
  leaves: LeafEvaluator,
  places: Places,
  kept: Int[np.ndarray, " L"],
) -> Boards | None:
  """The boards of a subgame without padding, if its game has any; `kept` are the ends that are its `leaves`.

  None also if an all-in goes on to boards that the subgame lacks, or suits are folded.
  """
  given = game.boards
  if given is None or not isinstance(leaves, BoardLeaves) or len(given.swap) != given.starts[-1]:
    return None
  starts, streets = given.starts, range(len(given.above))
  parents = [up + starts[max(s - 1, 0)] for s, up in enumerate(given.above)]
  rows = [
    [_rows_of(of_blocks, table) for table, _ in blocks]
    for of_blocks, blocks in zip(given.rows, sources, strict=True)
  ]
  used = np.zeros(starts[-1], bool)
  used[np.concatenate([board for blocks in rows for board in blocks])] = True
  used[starts[places.street[places.part[kept]]] + places.board[kept]] = True
  of_street = [used[starts[s] : starts[s + 1]] for s in streets]
  for s in streets[:0:-1]:
    used[parents[s][of_street[s]]] = True
  all_ins = np.cumsum([each for each, _ in leaves.leaves])
  lacking = (all_ins[s - 1] and (used[parents[s]] & ~of_street[s]).any() for s in streets[1:])
  if tuple(x.sum() for x in of_street) != leaves.boards or any(lacking):
    return None
  number = np.cumsum(used) - 1
  first = np.searchsorted(np.flatnonzero(used), starts)
  above = [
    number[up[x]] - first[s - 1] if s else given.above[0]
    for s, (up, x) in enumerate(zip(parents, of_street, strict=True))
  ]
  numbered = tuple(tuple(number[board] for board in blocks) for blocks in rows)
  count = int(used.sum())
  return Boards(tuple(above), numbered, np.arange(count + 1), np.zeros(count, int))


def _rows_of(
  blocks: Sequence[Int[np.ndarray, " _rows"]], places: Int[np.ndarray, "n 2"]
) -> Int[np.ndarray, " n"]:
  """Numbers of rows by the block and the row of each."""
  begin = np.cumsum([0, *map(len, blocks)])
  return np.concatenate(blocks)[begin[places[:, 0]] + places[:, 1]].astype(int)


def _leaves(
  game: PublicTree, nodes: SubgameNodes, cuts: tuple[PlayerCut, PlayerCut], ends: Int[np.ndarray, " E"]
) -> tuple[Int[np.ndarray, " L"], Callable[[Sequence[Int[np.ndarray, "_boards _n"]]], LeafEvaluator]]:
  """One of `ends` for each inner leaf; and a function that makes the evaluator from `_slots`."""
  if not nodes.histories:
    number = nodes.places.number[ends]
    return np.arange(len(ends)), lambda slots: game.leaves.take([_in_slots(number, s, -1) for s in slots])
  source = history_origin(game.names)
  assert source is not None
  # Histories with the same last choices of both players, or roots without any, are one leaf, worth
  # their sum.
  keys = np.column_stack([cut.ends for cut in cuts])
  _, first, leaf = np.unique(keys, axis=0, return_index=True, return_inverse=True)
  utility, at = np.zeros((len(first), 1)), nodes.ends[ends]
  np.add.at(utility[:, 0], leaf.reshape(-1), source.histories.chance[at] * source.histories.utility[at])
  return first, lambda slots: SparseLeaves(utility).take(slots)


def _slots(
  places: Places, leaves: Int[np.ndarray, " L"], shape: Shape
) -> list[Int[np.ndarray, "_boards _n"]]:
  """The leaf, of the game's, in each slot of a subgame, for each part; -1 for none."""
  part, board = places.part[leaves], places.board[leaves]
  slots = []
  for k, (boards, each) in enumerate(shape.leaves):
    members = np.flatnonzero(part == k)
    used = np.unique(board[places.street[part] == places.street[k]])
    row = np.searchsorted(used, board[members])
    filled = np.full((boards, each), -1)
    filled[row, ranks(row)] = members
    slots.append(filled)
  return slots


def _in_slots(
  rows: Shaped[np.ndarray, "L ..."], slots: Int[np.ndarray, "..."], value: int
) -> Shaped[np.ndarray, "..."]:
  """The rows in the slots, [L, ...] to [*slots, ...], with `value` in empty slots."""
  return np.concatenate([rows, np.full((1, *rows.shape[1:]), value)])[slots]


def _padded(
  rows: Shaped[np.ndarray, " _n *rest"], count: int, value: int
) -> Shaped[np.ndarray, " {count} *rest"]:
  return np.pad(rows, [(0, count - len(rows)), *[(0, 0)] * (rows.ndim - 1)], constant_values=value)


def _pad_infostates(infostates: RootInfostates, count: int) -> RootInfostates:
  return dataclasses.replace(infostates, sequence=_padded(infostates.sequence, count, 0))
