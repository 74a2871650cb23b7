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

from ps_cfr_spiel.hierarchical.dealt_game import SPECIAL, DealtGame
from ps_cfr_spiel.mccfr import Updates, at, join, nothing, regret_matching, row_sum
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
  round: Array  #: int32[N]
  parent: Array  #: int32[N], -1 of roots
  move: Array  #: int32[N], the number of its parent's action that leads here
  first: Array  #: int32[N], the first child
  count: Array  #: int32[N], number of children
  cell: Array  #: int32[N], the cell of bucket 0; 0 where no player acts
  #: int32[N], the distance of the cells of two buckets: the lines of its round. So the cells of a hand are
  #: next to each other, above all those of lines that are close to each other.
  stride: Array
  #: constant, stake: [N], as in `DealtForm`.
  constant: Array
  stake: Array
  #: (start, stop) of each depth.
  depths: tuple[tuple[int, int], ...] = dataclasses.field(metadata={"static": True})
  cells: int = dataclasses.field(metadata={"static": True})  #: S, the number of cells
  actions: int = dataclasses.field(metadata={"static": True})  #: A, most actions of any line


def make_lines(
  form, roots: Sequence[int] | np.ndarray, rounds: range, buckets: Sequence[int]
) -> BettingLines:
  """The lines of some rounds of a form from `roots` on, on the host; `buckets` has the number in each."""
  below: list[list[int]] = [[] for _ in form.parent]
  for line, parent in enumerate(form.parent.tolist()):
    if parent >= 0:
      below[parent].append(line)
  source, parent, move, first, count, depths = [], [], [], [], [], []
  level = [(root, -1, 0) for root in roots]
  while level:
    start, stop, after = len(source), len(source) + len(level), []
    for line, above, number in level:
      children = [child for child in below[line] if form.round[child] in rounds]
      first.append(stop + len(after))
      count.append(len(children))
      after += [(child, len(source), k) for k, child in enumerate(children)]
      source.append(line)
      parent.append(above)
      move.append(number)
    depths.append((start, stop))
    level = after
  order = np.array(source)
  player = form.player[order]
  actor = np.where(player >= 0, player, np.where(np.isin(order, form.parent), CHANCE_LINE, END_LINE))
  cell, stride, cells = np.zeros(len(order), int), np.zeros(len(order), int), 0
  for number in rounds:
    here = np.flatnonzero((actor < CHANCE_LINE) & (form.round[order] == number))
    cell[here[np.argsort(order[here])]] = cells + np.arange(len(here))
    stride[here] = len(here)
    cells += len(here) * buckets[number]
  whole = [order, actor, form.round[order], parent, move, first, count, cell, stride]
  columns = [np.asarray(column, np.int32) for column in whole]
  payoffs = [form.constant[order], form.stake[order]]
  return BettingLines(*columns, *payoffs, depths=tuple(depths), cells=cells, actions=max(count))


def leaving(lines: BettingLines) -> np.ndarray:
  """int32[S], on the host: the lines behind which public cards come and another part begins."""
  return np.flatnonzero((lines.actor == CHANCE_LINE) & (lines.count == 0)).astype(np.int32)


def head_and_child(game: DealtGame, sizes: tuple[int, ...]) -> tuple[BettingLines, BettingLines]:
  """The *head*, before the special round, and the *child*, the lines that each cluster plays from there on.

  The roots of the child are the lines that leave the head; `sizes` are the buckets of each round in a
  cluster.
  """
  head = make_lines(game.form, [0], range(SPECIAL), sizes)
  return head, make_lines(game.form, head.source[leaving(head)], range(SPECIAL, game.rounds), sizes)


def line_cells(game: DealtGame, sizes: tuple[int, ...]) -> np.ndarray:
  """int32[N, 2]: `cell` and `stride` of each line of the form in its part; 0 where no player acts."""
  found = np.zeros((len(game.form.parent), 2), np.int32)
  for lines in reversed(head_and_child(game, sizes)):  # lines that leave the head are of both parts
    found[lines.source] = np.stack([lines.cell, lines.stride], 1)
  return found


class Front(NamedTuple):
  """The n lines of one depth in B traversals."""

  full: jax.Array  #: bool[n, B], whether a traversal comes there
  cell: jax.Array  #: int32[n, B]
  policy: jax.Array  #: [A, n, B], of the actor
  sampled: jax.Array  #: int32[n, B], the opponent's action


def descend(
  lines: BettingLines, regrets: jax.Array, buckets: jax.Array, traverser: jax.Array, uniforms: jax.Array, full
) -> list[Front]:
  """Go down B times.

  Args:
    regrets: [A, S].
    buckets: int32[2, rounds, B], of each player's hand.
    traverser: int32[], whose actions are all followed.
    uniforms: [depths, B].
    full: bool[n, B], the roots of each traversal.
  """
  fronts = []
  buckets = jax.lax.optimization_barrier(buckets)  # see `mccfr.roots`
  for depth, (start, stop) in enumerate(lines.depths):
    actor, count = lines.actor[start:stop], lines.count[start:stop]
    bucket = buckets[jnp.minimum(actor, 1), lines.round[start:stop]]
    cell = lines.cell[start:stop, None] + lines.stride[start:stop, None] * bucket
    width = jnp.repeat(count, cell.shape[1])
    policy = regret_matching(regrets[:, cell.ravel()], width).reshape(lines.actions, *cell.shape)
    sampled = _choose(policy, uniforms[depth])
    fronts.append(Front(full, cell, policy, sampled))
    if depth + 1 < len(lines.depths):
      after = slice(*lines.depths[depth + 1])
      parent = lines.parent[after] - start
      every = (actor[parent] == traverser) | (actor[parent] == CHANCE_LINE)
      full = full[parent] & (every[:, None] | (sampled[parent] == lines.move[after][:, None]))
  return fronts


def _choose(policy: jax.Array, uniform: jax.Array) -> jax.Array:
  """Sample from policies [A, n, B] by numbers [B]: int32[n, B]; see `mccfr.sample_rows`."""
  sums = jnp.cumsum(policy, 0)
  return ((uniform[None] * sums[-1])[None] >= sums[:-1]).sum(0, dtype=jnp.int32)


def ascend(
  lines: BettingLines, fronts: Sequence[Front], ends: jax.Array, traverser: jax.Array, weight: jax.Array
) -> tuple[jax.Array, Updates]:
  """Go back up: the values of the roots to the traverser, [n, B], and the increments of the tables.

  `ends`, [N, B], are values of lines that end or leave, of others anything; `weight`, [B], is the factor of
  each traversal's increments.
  """
  values, parts = ends[:0], []
  for front, (start, stop) in reversed(list(zip(fronts, lines.depths, strict=True))):
    actor, count = lines.actor[start:stop, None], lines.count[start:stop, None]
    number = jax.lax.broadcasted_iota(jnp.int32, front.policy.shape, 0)
    legal = number < count[None]
    here = ends[start:stop]
    if len(values):
      child = jnp.clip(lines.first[None, start:stop] - stop + number[:, :, 0], 0, len(values) - 1)
      moves = jnp.where(legal, values[child], 0)
      mean = row_sum(front.policy * moves)
      one = at(moves.reshape(len(moves), -1), front.sampled.ravel()).reshape(mean.shape)
      inside = jnp.where(actor == traverser, mean, jnp.where(actor == CHANCE_LINE, moves[0], one))
      own = (front.full & (actor == traverser))[None] & legal
      other = (front.full & (actor == 1 - traverser))[None]
      part = nothing(lines.actions, ends.dtype)._replace(
        cells=front.cell.ravel(),
        regrets=jnp.where(own, weight[None, None] * (moves - mean[None]), 0).reshape(len(moves), -1),
        averages=jnp.where(other, weight[None, None] * front.policy, 0).reshape(len(moves), -1),
      )
      parts.append(part)
      here = jnp.where(count > 0, inside, here)
    values = here
  return values, join(parts, lines.actions, ends.dtype)
