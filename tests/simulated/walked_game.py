"""Any walked game as one that is played, so that walked results say what played ones must be."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.mccfr.sampling_tree import CHANCE_NODE, TERMINAL_NODE, SamplingTree
from ps_cfr_spiel.simulated.simulated_game import CHANCE, TERMINAL


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class WalkedGame:
  """A `SimulatedGame` over the histories of a sampling tree without a deal; a state is a node."""

  nodes: SamplingTree
  start: jax.Array  # int32[S], the first cell of each infostate

  @classmethod
  def create(cls, nodes):
    legal = np.asarray(nodes.legal)
    return cls(nodes, jnp.asarray(np.cumsum(legal) - legal, jnp.int32))

  @property
  def cells(self):
    return self.nodes.actions * self.nodes.cells  # at least as many as there are

  @property
  def widths(self):
    return (self.nodes.actions,)

  @property
  def longest(self):
    return self.nodes.depth

  def deal(self, key, batch):
    return jnp.zeros(batch, jnp.int32)

  def actor(self, state):
    kind = self.nodes.actor[state]
    return jnp.where(kind == CHANCE_NODE, CHANCE, jnp.where(kind == TERMINAL_NODE, TERMINAL, kind))

  def decision(self, state):
    return self.start[self.nodes.cell[state]], self.nodes.count[state]

  def chance(self, state, uniform):
    first, count = self.nodes.first[state], self.nodes.count[state]
    below = jnp.arange(max(d.outcomes for d in self.nodes.depths))[:, None]
    sums = self.nodes.cumulative[jnp.minimum(first[None] + below, len(self.nodes.actor) - 1)]
    return ((uniform[None] >= sums) & (below < count[None] - 1)).sum(0, dtype=jnp.int32)

  def step(self, state, move):
    ends = self.nodes.actor[state] == TERMINAL_NODE
    return jnp.where(ends, state, self.nodes.first[state] + move)

  def utility(self, state):
    return self.nodes.utility[state]

  def full(self, state):
    return jnp.zeros((), bool)

  def flat(self, table):
    """A table [A, S] cell by cell."""
    legal = np.asarray(self.nodes.legal)
    result = np.zeros(self.cells + self.nodes.actions - 1)
    for cell, (first, count) in enumerate(zip(np.asarray(self.start), legal, strict=True)):
      result[first : first + count] = table[:count, cell]
    return result
