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
from ps_cfr_spiel.hierarchical.dealt_game import DealtGame
from ps_cfr_spiel.sampling.mccfr import Updates, at, join, nothing, regret_matching, row_sum
from ps_cfr_spiel.tree import Array

CHANCE_LINE, END_LINE = 2, 3  # beside the players 0 and 1


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class BettingLines:
  """N lines sorted by depth, siblings next to each other; depth 0 has one root or several."""

  source: Array  #: int32[N], the line's number in the form
  #: int32[N], the player who acts, `CHANCE_LINE` (followed by one line, or by another part's: see `leaving`),
  #: or `END_LINE`.
  actor: Array
  round: Array  #: int32[N], counted from that of the roots
  parent: Array  #: int32[N], -1 of roots
  move: Array  #: int32[N], the number of its parent's action that leads here
  first: Array  #: int32[N], the first child
  count: Array  #: int32[N], number of children
  cell: Array  #: int32[N], the cell of bucket 0; 0 where no player acts
  #: int32[N], the distance of the cells of two buckets: the lines of its round. So the cells of a hand are
  #: next to each other, above all those of lines that are close to each other.
  stride: Array
  #: fold_payoff, showdown_payoff: [N], to player 0, as in `poker.Betting`.
  fold_payoff: Array
  showdown_payoff: Array
  #: (start, stop) of each depth.
  depths: tuple[tuple[int, int], ...] = dataclasses.field(metadata={"static": True})
  cells: int = dataclasses.field(metadata={"static": True})  #: S, the number of cells
  actions: int = dataclasses.field(metadata={"static": True})  #: A, most actions of any line
  rounds: int = dataclasses.field(metadata={"static": True})  #: the rounds in which its players act


def make_lines(
  betting: Betting, roots: Sequence[int] | Array, rounds: range, buckets: Sequence[int]
) -> BettingLines:
  """The lines of some rounds from `roots` on, on the host; `buckets` has the number in each."""
  source, parent, move, first, count, depths = [], [], [], [], [], []
  level = [(root, -1, 0) for root in roots]
  while level:
    start, stop, after = len(source), len(source) + len(level), []
    for line, above, number in level:
      children = [child for child in betting.children(line) if betting.street[child] in rounds]
      first.append(stop + len(after))
      count.append(len(children))
      after += [(child, len(source), k) for k, child in enumerate(children)]
      source.append(line)
      parent.append(above)
      move.append(number)
    depths.append((start, stop))
    level = after
  order = np.array(source)
  player, street = betting.player[order], betting.street[order]
  actor = np.where(player >= 0, player, np.where(betting.moves[order] > 0, CHANCE_LINE, END_LINE))
  cell, stride, cells = np.zeros(len(order), int), np.zeros(len(order), int), 0
  for number in rounds:
    here = np.flatnonzero((actor < CHANCE_LINE) & (street == number))
    cell[here[np.argsort(order[here])]] = cells + np.arange(len(here))
    stride[here] = len(here)
    cells += len(here) * buckets[number]
  whole = [order, actor, street - street[0], parent, move, first, count, cell, stride]
  columns = [np.asarray(column, np.int32) for column in whole]
  payoffs = [betting.fold_payoff[order, 0], betting.showdown_payoff[order]]
  return BettingLines(
    *columns, *payoffs, depths=tuple(depths), cells=cells, actions=max(count), rounds=len(rounds)
  )


def leaving(lines: BettingLines) -> np.ndarray:
  """int32[S], on the host: the lines behind which public cards come and another part begins."""
  return np.flatnonzero((lines.actor == CHANCE_LINE) & (lines.count == 0)).astype(np.int32)


def trunk_and_subtree(game: DealtGame, sizes: tuple[int, ...]) -> tuple[BettingLines, BettingLines]:
  """The *trunk*, before the special round, and the *subtree* that each cluster plays from there on.

  The roots of the subtree are the lines that leave the trunk; `sizes` are the buckets of each round in a
  cluster.
  """
  trunk = make_lines(game.betting, [0], range(game.special), sizes)
  roots, rounds = trunk.source[leaving(trunk)], range(game.special, game.rounds)
  return trunk, make_lines(game.betting, roots, rounds, sizes)


def line_cells(game: DealtGame, parts: tuple[BettingLines, BettingLines]) -> np.ndarray:
  """int32[N, 2]: `cell` and `stride` of each line of the form in its part; 0 where no player acts.

  `parts` are those of `trunk_and_subtree`.
  """
  found = np.zeros((len(game.betting), 2), np.int32)
  for lines in reversed(parts):  # lines that leave the trunk are of both parts
    found[lines.source] = np.stack([lines.cell, lines.stride], 1)
  return found


class DepthSlice(NamedTuple):
  """The n lines of one depth in B traversals."""

  visited: jax.Array  #: bool[n, B], whether a traversal comes there
  cell: Array  #: int32[n, B]
  policy: jax.Array  #: [A, n, B], of the actor
  sampled: jax.Array  #: int32[n, B], the opponent's action


def descend(
  lines: BettingLines,
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
  for depth, (start, stop) in enumerate(lines.depths):
    actor, count = lines.actor[start:stop], lines.count[start:stop]
    bucket = buckets[jnp.minimum(actor, 1), lines.round[start:stop]]
    cell = lines.cell[start:stop, None] + lines.stride[start:stop, None] * bucket
    width = jnp.repeat(count, cell.shape[1])
    policy = regret_matching(regrets[:, cell.ravel()], width).reshape(lines.actions, *cell.shape)
    sampled = _choose(policy, uniforms[depth])
    slices.append(DepthSlice(visited, cell, policy, sampled))
    if depth + 1 < len(lines.depths):
      after = slice(*lines.depths[depth + 1])
      parent = lines.parent[after] - start
      every = (actor[parent] == traverser) | (actor[parent] == CHANCE_LINE)
      visited = visited[parent] & (every[:, None] | (sampled[parent] == lines.move[after][:, None]))
  return slices


def _choose(policy: jax.Array, uniform: jax.Array) -> jax.Array:
  """Sample from policies [A, n, B] by numbers [B]: int32[n, B]; see `mccfr.sample_rows`."""
  sums = jnp.cumsum(policy, 0)
  return ((uniform[None] * sums[-1])[None] >= sums[:-1]).sum(0, dtype=jnp.int32)


def ascend(
  lines: BettingLines, slices: Sequence[DepthSlice], ends: jax.Array, traverser: jax.Array, weight: jax.Array
) -> tuple[jax.Array, Updates]:
  """Go back up: the values of the roots to the traverser, [n, B], and the increments of the tables.

  `ends`, [N, B], are values of lines that end or leave, undefined for others; `weight`, [B], is the factor of
  each traversal's increments.
  """
  values, parts = ends[:0], []
  for depth, (start, stop) in reversed(list(zip(slices, lines.depths, strict=True))):
    actor, count = lines.actor[start:stop, None], lines.count[start:stop, None]
    number = jax.lax.broadcasted_iota(jnp.int32, depth.policy.shape, 0)
    legal = number < count[None]
    here = ends[start:stop]
    if len(values):
      child = jnp.clip(lines.first[None, start:stop] - stop + number[:, :, 0], 0, len(values) - 1)
      moves = jnp.where(legal, values[child], 0)
      mean = row_sum(depth.policy * moves)
      one = at(moves.reshape(len(moves), -1), depth.sampled.ravel()).reshape(mean.shape)
      inside = jnp.where(actor == traverser, mean, jnp.where(actor == CHANCE_LINE, moves[0], one))
      own = (depth.visited & (actor == traverser))[None] & legal
      other = (depth.visited & (actor == 1 - traverser))[None]
      part = nothing(lines.actions, ends.dtype)._replace(
        cells=depth.cell.ravel(),
        regrets=jnp.where(own, weight[None, None] * (moves - mean[None]), 0).reshape(len(moves), -1),
        averages=jnp.where(other, weight[None, None] * depth.policy, 0).reshape(len(moves), -1),
      )
      parts.append(part)
      here = jnp.where(count > 0, inside, here)
    values = here
  return values, join(parts, lines.actions, ends.dtype)
