"""Public clusters of chance's outcomes: those behind which players may meet one set of the abstraction.

The outcomes of a chance node are in one cluster if the same set has members behind both, or a chain of such
outcomes joins them; so clusters share no table. A hidden deal is one cluster, because who does not see it
has the same infostates behind all of its outcomes. Public cards are those of `abstract_by_clusters`, where
hands of their boards share buckets; without an abstraction each is a cluster of its own.
"""

import dataclasses

import numpy as np

from ps_cfr_spiel.backend.array_shapes import Int
from ps_cfr_spiel.sampling.mccfr.sampling_tree import CHANCE_NODE, OutcomeClusters, SamplingTree


def with_clusters(tree: SamplingTree) -> SamplingTree:
  """A tree of host arrays with its clusters; ValueError if no outcomes are in different ones."""
  chance, clusters = tree.actor == CHANCE_NODE, []
  for number, depth in enumerate(tree.depths[:-1]):
    nodes = np.arange(depth.start, depth.stop)
    if len(nodes := nodes[chance[nodes]]):
      clusters += [(number, members) for members in _of_depth(tree, nodes)]
  if len(clusters) == chance.sum():
    raise ValueError(
      "every_cluster: this game has no public chance in different clusters: the outcomes of each chance "
      "node share sets of the abstraction, if there are any; leave every_cluster out, or give an abstraction "
      "of abstract_by_clusters."
    )
  table = np.full((len(clusters), max(len(members) for _, members in clusters)), -1, np.int32)
  for row, (_, members) in zip(table, clusters, strict=True):
    row[: len(members)] = members
  of_depth = np.array([number for number, _ in clusters], np.int32)
  return dataclasses.replace(tree, clusters=OutcomeClusters(table, of_depth))


def _of_depth(tree: SamplingTree, nodes: Int[np.ndarray, " n"]) -> list[Int[np.ndarray, " _m"]]:
  """The clusters of some chance nodes of one depth: the children of each."""
  from scipy.sparse import coo_array
  from scipy.sparse.csgraph import connected_components

  first, count = tree.first[nodes], tree.count[nodes]
  children = np.concatenate([np.arange(f, f + n) for f, n in zip(first, count, strict=True)])
  outcome = np.full(len(tree.actor), -1)  # the outcome that each node is behind, by its place
  outcome[children] = np.arange(len(children))
  for depth in tree.depths:
    below = np.arange(depth.start, depth.stop)
    above = outcome[tree.parent[below]]
    outcome[below] = np.where((outcome[below] < 0) & (tree.parent[below] >= 0), above, outcome[below])
  acts = np.flatnonzero((tree.actor < CHANCE_NODE) & (outcome >= 0))
  behind, cells = outcome[acts], tree.cell[acts]
  if tree.deal is not None:  # all types of the player who acts
    types = np.array([shapes[0][2] if shapes else 1 for shapes in tree.shapes])[tree.actor[acts]]
    behind = np.repeat(behind, types)
    cells = np.repeat(cells - np.cumsum(types) + types, types) + np.arange(types.sum())
  sets = cells if tree.sets is None else tree.sets[cells]
  at = np.repeat(np.arange(len(nodes)), count)[behind]
  pairs = np.unique(np.stack([behind, at * tree.cells + sets]), axis=1)
  joints, column = np.unique(pairs[1], return_inverse=True)
  size = len(children) + len(joints)
  links = coo_array((np.ones(pairs.shape[1]), (pairs[0], len(children) + column)), (size, size))
  label = connected_components(links, directed=False)[1][: len(children)]
  order = np.lexsort((children, label))
  ends = np.flatnonzero(np.diff(label[order])) + 1
  return np.split(children[order], ends)
