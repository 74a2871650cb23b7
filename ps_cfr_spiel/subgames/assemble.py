"""Lays out what was cut: both players' parts of a subgame as the arrays of a `Subgame`."""

import dataclasses
import itertools
from typing import NamedTuple

import numpy as np

from ps_cfr_spiel.subgames.nodes import Standing, SubgameNodes
from ps_cfr_spiel.subgames.priors import find_prior
from ps_cfr_spiel.subgames.shapes import Fit, Shape
from ps_cfr_spiel.subgames.subgame import Subgame
from ps_cfr_spiel.tree import (
  Labels,
  PlayerTree,
  PublicTree,
  SparseLeaves,
  block_sizes,
  make_forest,
  row_depths,
)
from ps_cfr_spiel.walking import walked


class Piece(NamedTuple):
  """One player's part of a cut: n decisions, E ends, F infostates at the frontier."""

  decisions: np.ndarray  # int[n]
  actions: list[np.ndarray]  # the numbers of the kept actions of each
  parents: np.ndarray  # int[n, 2], as `make_forest` wants them
  ends: np.ndarray  # int[E, 2], the last choice before each leaf, likewise
  end_roots: np.ndarray  # int[E]
  roots: Standing
  frontier: Standing
  frontier_choices: np.ndarray  # int[F, 2]
  frontier_roots: np.ndarray  # int[F]


def assemble(
  game: PublicTree,
  nodes: SubgameNodes,
  pieces: tuple[Piece, Piece],
  public_states: tuple[int, ...],
  ends: np.ndarray,
  fit: Fit | None,
) -> Subgame:
  """The subgame of two pieces.

  Args:
    game: the whole game's tree.
    nodes: of the game.
    pieces: of each player.
    public_states: the roots.
    ends: int[E], which of `nodes.ends` are inside.
    fit: see `Subgames.cut`.

  Raises:
    ValueError: the shape to pad to is too small.
  """
  # Leaves: one of the ends stands for each, and parts as the game's evaluator has them.
  order, parts, leaves = _leaves(game, nodes, pieces, ends)

  # The shape that is needed, and the one that was asked for.
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
    # Padding hangs on the first root.
    choices = [_padded(piece.ends[order][part], n, -1) for part, n in zip(parts, shape.leaves, strict=True)]
    at = [_padded(piece.end_roots[order][part], n, 0) for part, n in zip(parts, shape.leaves, strict=True)]
    # The frontier is one more part of the leaves.
    if limited:
      choices.append(_padded(piece.frontier_choices, shape.frontier[i], -1))
      at.append(_padded(piece.frontier_roots, shape.frontier[i], 0))
    types = game.players[i].types
    forest, places = make_forest(piece.parents, sizes[i], choices, types, shape.roots[i], shape.rows[i])
    forests.append(forest)
    leaf_roots.append(at)
    sources.append(_sources(game.names, piece, places, forest))

  roots = [_pad_standing(p.roots, n) for p, n in zip(pieces, shape.roots, strict=True)]
  frontier = [_pad_standing(p.frontier, n) for p, n in zip(pieces, shape.frontier, strict=True)]
  return Subgame(
    PublicTree((forests[0], forests[1]), leaves(shape.leaves)),
    public_states,
    shape,
    (roots[0], roots[1]),
    (frontier[0], frontier[1]),
    (leaf_roots[0], leaf_roots[1]),
    (sources[0], sources[1]),
    find_prior(game, nodes, roots),
  )


def _sources(labels: Labels, piece: Piece, places: np.ndarray, forest: PlayerTree):
  """`Subgame.rows` of one player."""
  sources = []
  for k, (actions, _, _) in enumerate(forest.block_shapes):
    # The piece's decisions that make up the block, in the order of its rows.
    here = np.flatnonzero(places[:, 0] == k)
    here = here[np.argsort(places[here, 1])]
    decisions = [labels.decisions[d] for d in piece.decisions[here]]
    source = np.array([(d.block, d.row) for d in decisions], int).reshape(-1, 2)
    sources.append((source, np.array([piece.actions[r] for r in here], int).reshape(-1, actions).T))
  return sources


def _leaves(game: PublicTree, nodes: SubgameNodes, pieces: tuple[Piece, Piece], ends: np.ndarray):
  """The inner evaluator's leaves.

  Returns:
    int[L]: for each leaf one of `ends`; the leaves of each part; a function that makes the evaluator.
  """
  if not nodes.histories:
    # The game's own leaves: their numbers count through all parts, `take` wants them part by part.
    number = nodes.leaf[ends]
    bounds = np.cumsum([0, *game.players[0].leaf.children])
    parts = [np.flatnonzero((number >= a) & (number < b)) for a, b in itertools.pairwise(bounds)]
    local = [number[part] - a for part, a in zip(parts, bounds, strict=False)]
    return np.arange(len(ends)), parts, lambda sizes: game.leaves.take(local, sizes)
  source = walked(game.names)
  assert source is not None
  # Histories that neither player's last choice or root tells apart are one leaf, worth their sum.
  keys = np.column_stack([p for piece in pieces for p in (piece.ends, piece.end_roots)])
  _, first, leaf = np.unique(keys, axis=0, return_index=True, return_inverse=True)
  utility, at = np.zeros((len(first), 1)), nodes.ends[ends]
  np.add.at(utility[:, 0], leaf.reshape(-1), source.histories.chance[at] * source.histories.utility[at])
  return first, [np.arange(len(first))], lambda sizes: SparseLeaves(_padded(utility, sizes[0], 0))


def _padded(rows: np.ndarray, count: int, value: int) -> np.ndarray:
  """The rows and as many more of one value as make `count`."""
  return np.pad(rows, [(0, count - len(rows)), *[(0, 0)] * (rows.ndim - 1)], constant_values=value)


def _pad_standing(standing: Standing, count: int) -> Standing:
  return dataclasses.replace(standing, sequence=_padded(standing.sequence, count, 0))
