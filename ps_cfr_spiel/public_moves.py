"""The public moves of a game as a tree to sample from, for `public_sampling`."""

import dataclasses
from typing import Any

import numpy as np

from ps_cfr_spiel.sampling_tree import Ends, Nodes, SamplingTree, first_cells, sort_nodes
from ps_cfr_spiel.tree import PublicTree
from ps_cfr_spiel.walk import CHANCE, TERMINAL


def build_public_sampling_tree(tree: PublicTree) -> SamplingTree:
  """The public moves of a compiled game as a tree to sample from, with NumPy arrays.

  A node is a public state with a decision at or below it, or a leaf of the public tree.

  Raises:
    ValueError: the game has no public states, a public state of several rows, or moves that are not public.
  """
  labels = tree.labels
  assert labels is not None
  wrong = ValueError(
    f"{labels.game}: trajectories='public' needs a game whose private information is dealt once and whose "
    f"moves are all public, compiled with its public states; use trajectories='histories'."
  )
  states, below = labels.public_states, _alive_children(tree)
  if not states or any(state.player >= 0 and len(state.decisions) != 1 for state in states):
    raise wrong
  ends = zip(*(player.leaf.index.tolist() for player in tree.players), strict=True)
  leaves = {pair: number for number, pair in enumerate(ends)}
  cells, sequences = first_cells(tree), _first_sequences(tree)
  rows: list[tuple[int, int, int, float, int]] = []
  used: list[int] = []
  stack = [(0, (0, 0), -1, 1.0)]  # (state or -1 for a leaf, last sequences, parent, chance)
  while stack:
    state, last, parent, chance = stack.pop()
    here = len(rows)
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
      first, stride = sequences[row]
      moves = []
      for a, action in enumerate(decision.legal_actions):
        after = (first + a * stride, last[1]) if player == 0 else (last[0], first + a * stride)
        found = [child for child in below[state] if states[child].action == action]
        moves.append((found[0] if len(found) == 1 else -1, after))
      rows.append((parent, player, cells[row], chance, 0))
    share = 1 / len(moves) if player < 0 else 1.0
    stack += [(child, after, here, share) for child, after in reversed(moves)]
  if sorted(used) != list(range(len(leaves))):
    raise wrong
  parent, kind, cell, chance, leaf = (np.array(column) for column in zip(*rows, strict=True))
  sampling_tree, order = sort_nodes(tree, Nodes(parent, kind, cell, chance, np.zeros(len(rows))))
  public = dataclasses.replace(tree, labels=None)
  leaf_numbers: Any = leaf[order].astype(np.int32)
  return dataclasses.replace(sampling_tree, ends=Ends(public, leaf_numbers))


def _alive_children(tree: PublicTree) -> list[list[int]]:
  """For each public state its children with a decision at or below them, by ascending action."""
  assert tree.labels is not None
  states = tree.labels.public_states
  alive = [state.player >= 0 for state in states]
  children: list[list[int]] = [[] for _ in states]
  for number in reversed(range(1, len(states))):
    if alive[number]:
      alive[states[number].parent] = True
      children[states[number].parent].append(number)
  return [sorted(numbers, key=lambda n: states[n].action) for numbers in children]


def _first_sequences(tree: PublicTree) -> list[tuple[int, int]]:
  """For each row of `tree.labels.decisions` the number of its first sequence, and how far apart its are."""
  assert tree.labels is not None
  starts = []
  for player in tree.players:
    sizes = [actions * rows for actions, rows, _ in player.block_shapes]
    starts.append(1 + np.cumsum([0, *sizes]))
  return [
    (int(starts[d.player][d.block]) + d.row, tree.players[d.player].block_shapes[d.block][1])
    for d in tree.labels.decisions
  ]
