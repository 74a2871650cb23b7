"""The histories of a search's subgame with its gadget, as a tree to sample from (Šustr et al. 2019).

Chance begins in a history of the public state, in proportion to its probability by chance and by the ranges
that the gadget uses, or by chance alone where these leave none. The opponent chooses before that as in
`gadgets`:

  unsafe      no choice; both ranges count.
  cfr-d       follow, or take the infostate's promise, divided by its weight: the promise is a counterfactual
              value, and the end of a history is worth a utility.
  max-margin  the infostate to begin in, before chance; the promise is subtracted at all ends.

Cells are those of the gadget's `PublicTree`, so its strategies are read as those of any search.
"""

import numpy as np

from ps_cfr_spiel.backend.array_shapes import Float, Int
from ps_cfr_spiel.compilation.histories import history_origin
from ps_cfr_spiel.resolving.search.problems import Problem
from ps_cfr_spiel.resolving.subgames import (
  Gadget,
  GadgetTree,
  HistoriesPrior,
  Subgame,
  cfr_d,
  max_margin,
  unsafe,
)
from ps_cfr_spiel.sampling.mccfr import HistoryNodes, SamplingTree, sort_nodes
from ps_cfr_spiel.tree import CHANCE, TERMINAL, PublicTree, cell_starts

SAMPLED = {"unsafe": unsafe, "cfr-d": cfr_d, "max-margin": max_margin}  # gadgets that can be sampled
RARE = 1e-12  # weights below this share of the largest are none, as in `gadgets`


def sampled_problem(
  game: PublicTree, histories: HistoryNodes, problem: Problem, gadget: Gadget, made: GadgetTree
) -> SamplingTree:
  """The tree to sample from, of NumPy arrays, of a problem with one public state.

  Args:
    game: the whole game's tree, made from histories.
    histories: those of the whole game, in their order.
    problem: to the end of the game, with all actions.
    gadget: of `SAMPLED`.
    made: the gadget's tree for the problem.
  """
  subgame, player = problem.subgame, problem.last.player
  prior, chooser = subgame.prior, 1 - player
  assert isinstance(prior, HistoriesPrior)
  source = history_origin(game.names)
  assert source is not None and source.public is not None
  first = np.flatnonzero(source.public == subgame.public_states[0])
  inside, begins = _below(histories, first, _cells(game, subgame, made))
  weight = prior.chance.astype(float)
  for i in (0, 1) if gadget == unsafe else (player,):
    weight = weight * np.asarray(problem.ranges[i], float)[prior.root[i], prior.type[i]]
  if not weight.any():  # ranges exclude each other in every history
    weight = prior.chance.astype(float)
  n, roots = len(first), np.flatnonzero(inside.parent < 0)
  share = weight / weight.sum()
  if gadget == unsafe:
    return _sorted(made, _row(CHANCE), _hung(inside, 1, np.zeros(n, int), share))

  # The chooser's infostates, one after the other, and that of each history.
  state = prior.root[chooser] * subgame.tree.players[chooser].types + prior.type[chooser]
  promises = np.asarray(problem.promises, float).ravel()
  total = np.bincount(state, weight, len(promises))
  start = int(cell_starts([forest.block_shapes for forest in made.tree.players])[chooser][0])
  sign = 1 - 2 * chooser  # utilities are player 0's
  if gadget == cfr_d:
    choices = HistoryNodes(np.zeros(n, int), np.full(n, chooser), start + state, share, np.zeros(n))
    taken = sign * promises[state] / np.where(total[state] > 0, total[state], 1)
    place = 1 + np.arange(n)
    ends = HistoryNodes(place, np.full(n, TERMINAL), np.zeros(n, int), np.ones(n), taken)
    return _sorted(made, _row(CHANCE), choices, _hung(inside, 1 + n, place, np.ones(n)), ends)

  count = np.bincount(state, minlength=len(promises))
  visited = total > RARE * total.max()
  fee = np.where(visited, promises / np.where(visited, total, 1), 0)
  worst = -2 * (np.abs(fee).max() + prior.largest_utility)
  share = np.where(visited[state], weight / np.where(visited, total, 1)[state], 1 / count[state])
  of = state[begins]
  utility = np.where(visited[of], inside.utility - sign * fee[of], sign * worst)
  inside = inside._replace(utility=np.where(inside.kind == TERMINAL, utility, 0))
  none = np.zeros(len(promises), int)
  kinds, empty = np.where(count > 0, CHANCE, TERMINAL), np.where(count > 0, 0.0, sign * worst)
  states = HistoryNodes(none, kinds, none, np.ones(len(none)), empty)
  assert len(roots) == n
  return _sorted(made, _row(chooser, start), states, _hung(inside, 1 + len(none), 1 + state, share))


def _cells(game: PublicTree, subgame: Subgame, made: GadgetTree) -> Int[np.ndarray, " S"]:
  """The cell of the gadget's tree for each cell of the whole game; -1 outside the subgame."""
  whole = cell_starts([forest.block_shapes for forest in game.players])
  starts = cell_starts([forest.block_shapes for forest in made.tree.players])
  cells = np.full(max(int(whole[-1][-1]), 1), -1)
  for i, forest in enumerate(made.tree.players):
    types = np.arange(subgame.tree.players[i].types)
    for start, (source, _) in zip(starts[i][forest.added :], subgame.rows[i], strict=False):
      rows = whole[i][source[:, 0]] + source[:, 1] * len(types)
      cells[rows[:, None] + types] = start + np.arange(len(rows))[:, None] * len(types) + types
  return cells


def _below(
  histories: HistoryNodes, first: Int[np.ndarray, " n"], cells: Int[np.ndarray, " S"]
) -> tuple[HistoryNodes, Int[np.ndarray, " N"]]:
  """Some histories with all below them, in cells of the subgame; and for each the number of its first one.

  Parents are numbered among these, and -1 for the first ones.
  """
  begins = np.full(len(histories.parent), -1)
  begins[first] = np.arange(len(first))
  for node in range(int(first.min()) + 1, len(begins)):  # parents stand before their children
    if begins[node] < 0:
      begins[node] = begins[histories.parent[node]]
  chosen = np.flatnonzero(begins >= 0)
  place = np.full(len(begins), -1)
  place[chosen] = np.arange(len(chosen))
  inside = HistoryNodes(*(column[..., chosen] for column in histories))
  inside.parent[:] = np.where(np.isin(chosen, first), -1, place[inside.parent])
  cell = np.where(inside.kind >= 0, cells[inside.cell], 0)
  assert (cell >= 0).all()
  return inside._replace(cell=cell), begins[chosen]


def _hung(
  inside: HistoryNodes, offset: int, above: Int[np.ndarray, " n"], chance: Float[np.ndarray, " n"]
) -> HistoryNodes:
  """Histories after `offset` other nodes: the first ones below nodes `above`, with these probabilities."""
  parent, probability = inside.parent + offset, inside.chance.copy()
  roots = inside.parent < 0
  parent[roots], probability[roots] = above, chance
  return inside._replace(parent=parent, chance=probability)


def _row(kind: int, cell: int = 0) -> HistoryNodes:
  """A root."""
  return HistoryNodes(np.array([-1]), np.array([kind]), np.array([cell]), np.ones(1), np.zeros(1))


def _sorted(made: GadgetTree, *parts: HistoryNodes) -> SamplingTree:
  return sort_nodes(made.tree, HistoryNodes(*(np.concatenate(c) for c in zip(*parts, strict=True))))[0]
