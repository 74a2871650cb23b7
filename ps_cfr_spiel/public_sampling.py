"""VR-MCCFR in vector form: a trajectory is a line of public moves, with all types of both players on it.

This is what Schmid et al. 2019 ran for their figures (their appendix "Vector Form of CFR"; the figures are
17.7 and 17.8 of Schmid 2021): public moves are sampled uniformly, every infostate on the way is
updated, and the values that go up are counterfactual ones, a vector over the traverser's types. It needs a
game whose private information is dealt once and whose moves are all public. For one type it is
`trajectories` with uniform sampling.

Chance and the opponent's reach are folded into the values at the end, so that at node n, with sampled move s,
  v~(n) = sum_a f_a q~(a),   q~(a) = b_a w_a + [a = s] (v~(ns) - b_s w_s) / xi,
f_a the policy where the traverser acts and 1 elsewhere, w_a the opponent's reach after the move summed over types,
and b a baseline for each child and type that estimates v / w.
"""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.baselines import Baseline, ZeroBaseline
from ps_cfr_spiel.history_values import levels_down, levels_up, sum_children
from ps_cfr_spiel.leaves import BlockLeaves
from ps_cfr_spiel.sampling_tree import CHANCE_NODE, TERMINAL_NODE, Ends, Nodes, SamplingTree, first_cells, sort_nodes
from ps_cfr_spiel.trajectories import Updates, at, matched, row_sum
from ps_cfr_spiel.tree import PublicState, PublicTree
from ps_cfr_spiel.walk import CHANCE, TERMINAL


def build_public_sampling_tree(tree: PublicTree) -> SamplingTree:
  """The public states of a compiled Bayesian game as a tree to sample from, with NumPy arrays.

  Raises:
    ValueError: moves are not public, or the game has no public states.
  """
  labels = tree.labels
  assert labels is not None
  states = labels.public_states
  children: list[list[int]] = [[] for _ in states]
  for number, state in enumerate(states):
    if state.parent >= 0:
      children[state.parent].append(number)
  for below in children:
    below.sort(key=lambda number: states[number].action)
  _check_public(tree, children)
  alive = _before_decisions(states, children)
  kept = [n for n, s in enumerate(states) if s.parent < 0 or alive[s.parent]]
  place = {n: k for k, n in enumerate(kept)}
  cell = np.zeros(len(states), int)
  cell[[decision.public_state for decision in labels.decisions]] = first_cells(tree)
  leaf = _leaf_numbers(tree, children, kept, alive)
  siblings = np.array([len(children[states[n].parent]) if states[n].parent >= 0 else 1 for n in kept])
  by_chance = np.array([states[n].parent >= 0 and states[states[n].parent].player == CHANCE for n in kept])
  nodes = Nodes(
    parent=np.array([place.get(states[n].parent, -1) for n in kept]),
    kind=np.array([states[n].player if alive[n] else TERMINAL for n in kept]),
    cell=cell[kept],
    chance=np.where(by_chance, 1 / siblings, 1.0),
    utility=np.zeros(len(kept)),
  )
  # Children of one node must follow each other by ascending action: number them so.
  sampling_tree, order = sort_nodes(tree, nodes)
  ends = Ends(dataclasses.replace(tree, labels=None), leaf[order], _shares(leaf)[order])
  return dataclasses.replace(sampling_tree, ends=ends)
