"""External sampling over lines of betting, all side by side: masks say which lines a traversal visits.

The cards are dealt before the betting begins, so a node is a line, and the infostate of the player who acts
there is the line and a bucket of the hand. The library's traversal recurses (`clusters.cc`), and meets only
the lines that it visits; here all lines are there at once, without a frontier.
"""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.cards.poker import Betting
from ps_cfr_spiel.sampling.mccfr import Updates, at, join, nothing, regret_matching, row_sum
from ps_cfr_spiel.tree import CHANCE, Array

COLUMNS = tuple(column.name for column in dataclasses.fields(Betting) if column.init)


def _columns(betting: Betting) -> tuple[tuple[Array | None, ...], None]:
  return tuple(vars(betting)[name] for name in COLUMNS), None


def _of_columns(_: None, columns: Sequence[Array | None]) -> Betting:
  """In a program the columns are traced, so that nothing follows from them."""
  betting = object.__new__(Betting)
  vars(betting).update(zip(COLUMNS, columns, strict=True))
  return betting


# The columns of a betting tree are arrays in JAX's programs too; `cards` does without JAX.
jax.tree_util.register_pytree_node(Betting, _columns, _of_columns)


class LineCells(NamedTuple):
  """The places in tables of the strategies at the N lines of a betting tree, hand by hand.

  The cells of the rounds before the clustered one are numbered from 0, those of a cluster from 0 again.
  """

  cell: np.ndarray  #: int32[N], the cell of bucket 0; 0 where no player acts
  #: int32[N], the distance of the cells of two buckets: the lines of its round. So the cells of a hand are
  #: next to each other, above all those of lines that are close to each other.
  stride: np.ndarray
  trunk: int  #: the number of cells before the clustered round
  cluster: int  #: the number of cells of a cluster

  @classmethod
  def of(cls, betting: Betting, clustered_round: int, sizes: Sequence[int]) -> "LineCells":
    """The numbering for `sizes` buckets in each round, in a cluster from the clustered round on."""
    cell, stride, count = np.zeros(len(betting), np.int32), np.zeros(len(betting), np.int32), [0, 0]
    for number, buckets in enumerate(sizes):
      acting = np.flatnonzero((betting.player >= 0) & (betting.street == number))
      in_cluster = int(number >= clustered_round)
      cell[acting] = count[in_cluster] + np.arange(len(acting))
      stride[acting] = len(acting)
      count[in_cluster] += len(acting) * buckets
    return cls(cell, stride, *count)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class BettingPart:
  """Some rounds of a betting tree (`poker.Betting.part`), with the cells of the players at its N lines."""

  betting: Betting  #: the lines
  source: Array  #: int32[N], the number of each line in the whole tree
  moves: Array  #: int32[N], how many lines of the part follow
  first: Array  #: int32[N], the first of them
  rank: Array  #: int32[N], the number of each line among those that follow the same line
  #: cell, stride: int32[N], as in `LineCells`.
  cell: Array
  stride: Array
  #: (start, stop) of each depth.
  depths: tuple[tuple[int, int], ...] = dataclasses.field(metadata={"static": True})
  cells: int = dataclasses.field(metadata={"static": True})  #: S, of the tables of its players
  actions: int = dataclasses.field(metadata={"static": True})  #: A, most actions of any line
  rounds: int = dataclasses.field(metadata={"static": True})  #: the rounds in which its players act

  @property
  def round(self) -> Array:
    """int32[N], counted from that of the roots."""
    return self.betting.street - self.betting.street[0]


def betting_part(
  whole: Betting, roots: Sequence[int] | Array, rounds: range, cells: LineCells, count: int
) -> BettingPart:
  """The lines of some rounds from `roots` on, on the host; their tables have `count` of the cells."""
  betting, source = whole.part(np.asarray(roots), rounds)
  depths, start, stop = [], 0, len(roots)
  while start < stop:  # a depth has the lines whose parents are in the one before
    depths.append((start, stop))
    start, stop = stop, int(np.searchsorted(betting.parent, stop))
  moves = betting.moves
  return BettingPart(
    betting=betting,
    source=source,
    moves=moves.astype(np.int32),
    first=(len(roots) + np.cumsum(moves) - moves).astype(np.int32),
    rank=betting.rank.astype(np.int32),
    cell=cells.cell[source],
    stride=cells.stride[source],
    depths=tuple(depths),
    cells=count,
    actions=int(moves.max()),
    rounds=len(rounds),
  )


def leaving(part: BettingPart) -> np.ndarray:
  """int32[S], on the host: the lines behind which public cards come and another part begins."""
  return np.flatnonzero((part.betting.player == CHANCE) & (part.moves == 0)).astype(np.int32)


def trunk_and_subtree(
  betting: Betting, clustered_round: int, sizes: Sequence[int]
) -> tuple[BettingPart, BettingPart]:
  """The *trunk*, before the clustered round, and the *subtree* that each cluster plays from there on.

  The roots of the subtree are the lines that leave the trunk; `sizes` are the buckets of each round in a
  cluster.
  """
  cells = LineCells.of(betting, clustered_round, sizes)
  trunk = betting_part(betting, [0], range(clustered_round), cells, cells.trunk)
  roots, rounds = trunk.source[leaving(trunk)], range(clustered_round, len(sizes))
  return trunk, betting_part(betting, roots, rounds, cells, cells.cluster)


def mean_visits(part: BettingPart, traverser: int) -> float:
  """The lines at which players act that a traversal meets, on the host, if it visits all roots.

  A mean, if the other player moves uniformly at random.
  """
  share, betting = np.ones(len(part.source)), part.betting
  for start, stop in part.depths[1:]:
    above = betting.parent[start:stop]
    sampled = (betting.player[above] >= 0) & (betting.player[above] != traverser)
    share[start:stop] = share[above] / np.where(sampled, np.maximum(part.moves[above], 1), 1)
  return float(share[betting.player >= 0].sum())


class DepthSlice(NamedTuple):
  """The n lines of one depth in B traversals."""

  visited: jax.Array  #: bool[n, B], whether a traversal comes there
  cell: Array  #: int32[n, B]
  policy: jax.Array  #: [A, n, B], of the actor
  sampled: jax.Array  #: int32[n, B], the opponent's action


def descend(
  part: BettingPart,
  regrets: Array,
  buckets: jax.Array,
  traverser: jax.Array,
  uniforms: jax.Array,
  visited,
) -> list[DepthSlice]:
  """Go down B times.

  Args:
    regrets: [A, S].
    buckets: int32[2, rounds, B], of each player's hand, from the round of the roots on.
    traverser: int32[], whose actions are all followed.
    uniforms: [depths, B].
    visited: bool[n, B], the roots of each traversal.
  """
  slices = []
  buckets = jax.lax.optimization_barrier(buckets)  # see `mccfr.roots`
  for depth, (start, stop) in enumerate(part.depths):
    player = part.betting.player[start:stop]
    bucket = buckets[jnp.maximum(player, 0), part.round[start:stop]]
    cell = part.cell[start:stop, None] + part.stride[start:stop, None] * bucket
    width = jnp.repeat(part.moves[start:stop], cell.shape[1])
    policy = regret_matching(regrets[:, cell.ravel()], width).reshape(part.actions, *cell.shape)
    sampled = _choose(policy, uniforms[depth])
    slices.append(DepthSlice(visited, cell, policy, sampled))
    if depth + 1 < len(part.depths):
      after = slice(*part.depths[depth + 1])
      parent = part.betting.parent[after] - start
      every = (player[parent] == traverser) | (player[parent] == CHANCE)
      visited = visited[parent] & (every[:, None] | (sampled[parent] == part.rank[after][:, None]))
  return slices


def _choose(policy: jax.Array, uniform: jax.Array) -> jax.Array:
  """Sample from policies [A, n, B] by numbers [B]: int32[n, B]; see `mccfr.sample_rows`."""
  sums = jnp.cumsum(policy, 0)
  return ((uniform[None] * sums[-1])[None] >= sums[:-1]).sum(0, dtype=jnp.int32)


def ascend(
  part: BettingPart, slices: Sequence[DepthSlice], ends: jax.Array, traverser: jax.Array, weight: jax.Array
) -> tuple[jax.Array, Updates]:
  """Go back up: the values of the roots to the traverser, [n, B], and the increments of the tables.

  `ends`, [N, B], are values of lines that end or leave, undefined for others; `weight`, [B], is the factor of
  each traversal's increments.
  """
  below, updates = ends[:0], []
  for depth, (start, stop) in reversed(list(zip(slices, part.depths, strict=True))):
    player, count = part.betting.player[start:stop, None], part.moves[start:stop, None]
    number = jax.lax.broadcasted_iota(jnp.int32, depth.policy.shape, 0)
    legal = number < count[None]
    values = ends[start:stop]
    if len(below):
      child = jnp.clip(part.first[None, start:stop] - stop + number[:, :, 0], 0, len(below) - 1)
      moves = jnp.where(legal, below[child], 0)
      mean = row_sum(depth.policy * moves)
      one = at(moves.reshape(len(moves), -1), depth.sampled.ravel()).reshape(mean.shape)
      inside = jnp.where(player == traverser, mean, jnp.where(player == CHANCE, moves[0], one))
      traversers = (depth.visited & (player == traverser))[None] & legal
      opponents = (depth.visited & (player == 1 - traverser))[None]
      update = nothing(part.actions, ends.dtype)._replace(
        cells=depth.cell.ravel(),
        regrets=jnp.where(traversers, weight[None, None] * (moves - mean[None]), 0).reshape(len(moves), -1),
        averages=jnp.where(opponents, weight[None, None] * depth.policy, 0).reshape(len(moves), -1),
      )
      updates.append(update)
      values = jnp.where(count > 0, inside, values)
    below = values
  return below, join(updates, part.actions, ends.dtype)
