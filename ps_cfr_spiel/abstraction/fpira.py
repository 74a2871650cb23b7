"""FPIRA: fictitious play whose averages are kept in an abstraction, split where it would go another way.

Source: Čermák, Lisý and Bošanský (2020), Algorithms 1 to 5. Each turn a player's best response in the whole
game is averaged in. A set in which it prescribes several actions is split by them. Then the average is
updated twice (Lemma 1): for each set, and for each infostate as if there were no abstraction. If a strategy
of the opponent could make a difference (Eqs. 12 and 13), the visited infostates of every set visited become
sets of their own, and the second update is taken. So in every iteration the strategies are as exploitable as
those of fictitious play in the whole game with the same best responses (Theorem 1). Where the opponent's
average does not come, all actions are equally good and the player goes on as in the average (Algorithm 2):
here the set's, in `cfr.fictitious_play` the infostate's own. So the two may play different best responses, as
they do in parametric poker.

Trees are of one type, as in `cfr.fictitious_play`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.abstraction.partitions import Partition, as_sets, entries, room, split
from ps_cfr_spiel.backend.array_shapes import Int
from ps_cfr_spiel.backend.device import jit, to_device
from ps_cfr_spiel.cfr import Blocks, in_blocks, respond, row_reach
from ps_cfr_spiel.tree import (
  Array,
  PublicTree,
  Sets,
  collapse,
  expand,
  max_actions,
  sequence_reach,
  sequence_values,
)

ZERO = 1e-9  # of the game's range of utilities: a smaller difference is rounding


class FPIRAState(NamedTuple):
  """The state of a run."""

  iteration: Int[Array, ""]  #: rounds of both players done
  averages: tuple[Blocks, Blocks]  #: each player's average strategy, [A, K, 1] for each bucket of its sets
  parts: tuple[Partition, Partition]  #: each player's sets


class Update(NamedTuple):
  """The results of a turn on the device."""

  merged: list[Array]  #: [A, K, 1] for each bucket, the average of the sets
  exact: list[Array]  #: [A, rows, 1] for each bucket, the average as if there were no abstraction
  #: how much more or less the best strategy of the opponent can win against one than against the other.
  difference: Array


def init(tree: PublicTree, parts: tuple[Partition, Partition], dtype: str) -> FPIRAState:
  """The state in which each player has played the first actions once; call it within `precision`."""
  averages = []
  for player, p in zip(tree.players, parts, strict=True):
    sizes = room(player, p)
    tables = [np.zeros((a, k, 1), dtype) for (a, _, _), k in zip(player.bucket_shapes, sizes, strict=True)]
    for x in tables:
      x[0] = 1
    averages.append(tuple(tables))
  return to_device(FPIRAState(np.zeros((), np.int32), (averages[0], averages[1]), parts), dtype)


def take_turn(
  tree: PublicTree,
  device: PublicTree,
  state: FPIRAState,
  sets: tuple[Sets, Sets],
  player: int,
  scale: float,
) -> FPIRAState:
  """One player's best response and the splits that it asks for (Algorithm 1, one pass of the loop).

  `parts` stays the same object without splits, and all of the state for a player who never acts; call it
  within `precision`.

  Args:
    tree: the game, on the host.
    device: the same on the device.
    state: of the run.
    sets: those of its `parts`, on the device.
    player: who learns.
    scale: the range of the game's utilities.
  """
  if not tree.players[player].block_shapes:
    return state
  best = _best(device, sets, state.averages, 1e-12 * scale, player=player)
  parts, average = state.parts[player], state.averages[player]
  acting = np.concatenate([np.zeros(0, bool), *(np.asarray(x).ravel() for x in best.acts)])
  slots = np.flatnonzero(acting)
  action = entries([np.asarray(x) for x in best.choice], slots, 0.0).argmax(1)
  # Algorithm 3: the abstraction must allow the prescribed strategy. All parts keep the average.
  low, high = np.full(parts.count, np.inf), np.full(parts.count, -np.inf)
  np.minimum.at(low, parts.sets[slots], action)
  np.maximum.at(high, parts.sets[slots], action)
  several = (low < high)[parts.sets[slots]]
  parts, average = _part(tree, player, parts, average, slots[several], action[several])
  player_sets = as_sets(tree.players[player], parts, [x.shape[1] for x in average])
  weight = 1 / (int(state.iteration) + 2)  # the first strategies count as one update
  update = _update(device, player_sets, average, best, weight, player=player)
  if float(update.difference) > ZERO * scale:  # Algorithm 4
    shared = parts.sizes[parts.sets[slots]] > 1
    parts, average = _part(tree, player, parts, average, slots[shared], np.arange(shared.sum()))
    # Infostates that are not visited stay unchanged.
    average = _with(parts, average, slots, entries([np.asarray(x) for x in update.exact], slots, 0.0))
  else:
    average = tuple(update.merged)
  both, averages = list(state.parts), list(state.averages)
  both[player], averages[player] = parts, average
  refined = state.parts if parts is state.parts[player] else (both[0], both[1])
  return FPIRAState(state.iteration, (averages[0], averages[1]), refined)


def _part(tree: PublicTree, player: int, parts: Partition, average: Sequence[Array], slots, groups):
  """Split a player's sets; the parts keep the average of the set."""
  if not len(slots):
    return parts, tuple(average)
  parts, moves = split(parts, slots, groups)
  sizes, tables = room(tree.players[player], parts), []
  for bucket, (x, size) in enumerate(zip(average, sizes, strict=True)):
    table = np.zeros((x.shape[0], size, 1), x.dtype)
    table[:, : x.shape[1]] = x
    old, new = moves[parts.bucket[moves[:, 1]] == bucket].T
    table[:, parts.column[new]] = table[:, parts.column[old]]
    tables.append(table)
  return parts, tuple(tables)


def _with(parts: Partition, average: Sequence[Array], slots: np.ndarray, strategy: np.ndarray) -> Blocks:
  """The averages with a strategy, [n, most actions], for some infostates, alone in their sets."""
  of = parts.sets[slots]
  tables = []
  for bucket, x in enumerate(average):
    table, chosen = np.array(x), parts.bucket[of] == bucket
    table[:, parts.column[of[chosen]], 0] = strategy[chosen, : len(table)].T
    tables.append(table)
  return tuple(tables)


@jit(static_argnames=("player",))
def _best(tree, sets, averages, tolerance, *, player):
  """`respond` to the opponent's average, with tables of buckets."""
  opponent = in_blocks(tree, averages, sets)[1 - player]
  best = respond(tree, player, opponent, tolerance)
  return type(best)(*(tree.players[player].join(x) for x in best))


@jit(static_argnames=("player",))
def _update(tree, sets, average, best, weight, *, player) -> Update:
  """Lemma 1 for the sets and for the infostates, and the opponent's gain by the difference."""
  player_tree, opponent = tree.players[player], tree.players[1 - player]
  before = expand(sets, average)
  reach = player_tree.join(row_reach(player_tree, player_tree.split(before)))
  visits = [jnp.where(a, r, 0) for a, r in zip(best.acts, best.reach, strict=True)]
  exact = [
    b + _step(weight, r, v) * (c - b) for b, c, r, v in zip(before, best.choice, reach, visits, strict=True)
  ]
  # In a set all acting members prescribe one action, so their sum, weighed by reach, points to it.
  old, new = collapse(sets, reach), collapse(sets, visits)
  target = collapse(sets, [c * v for c, v in zip(best.choice, visits, strict=True)])
  merged = [
    m + _step(weight, r, v) * (jnp.where(v > 0, g / jnp.where(v > 0, v, 1), m) - m)
    for m, g, r, v in zip(average, target, old, new, strict=True)
  ]
  leaf = [
    player_tree.leaf.pull(sequence_reach(player_tree, player_tree.split(x)))
    for x in (exact, expand(sets, merged))
  ]
  gap = [x - y for x, y in zip(*leaf, strict=True)]
  wins = [
    sequence_values(opponent, tree.leaves(1 - player, side), lambda _, q: max_actions(q))[1].sum()
    for side in (gap, [-x for x in gap])
  ]
  return Update(merged, exact, jnp.maximum(*wins))


def _step(weight, reach, visits):
  """The step of Lemma 1 from the average to the best response."""
  total = (1 - weight) * reach + weight * visits
  return jnp.where(visits > 0, weight * visits / jnp.where(total > 0, total, 1), 0)
