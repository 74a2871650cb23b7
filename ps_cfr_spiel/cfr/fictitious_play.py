"""Fictitious play: each player in turn answers the opponent's average strategy as well as possible.

Source: Brown (1951), and for extensive games, where strategies are averaged by reach, Heinrich, Lanctot and
Silver (2015, Lemma 6) and Čermák, Lisý and Bošanský (2020, Lemma 1). The first strategies are the first
actions. A best response prescribes a move only where both the player's own choices and the opponent may lead
(ibid., Algorithm 2); elsewhere the player goes on as in the average. That is a choice among best responses:
moves where the opponent does not come win nothing now, but they count once the opponent comes.

Trees are of one type, with one number for each pair of sequences (`leaves="sparse"`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.backend.array_shapes import Bool, Float, Int
from ps_cfr_spiel.backend.device import jit, to_device
from ps_cfr_spiel.cfr.state import Blocks
from ps_cfr_spiel.tree import (
  Array,
  PlayerTree,
  PublicTree,
  best_response_values,
  max_actions,
  sequence_reach,
  sequence_values,
  sum_actions,
)


class PlayState(NamedTuple):
  """The state of fictitious play."""

  iteration: Int[Array, ""]  #: rounds of both players done
  #: for each player and block [A, rows, 1], the sum of the reaches of all strategies so far.
  sums: tuple[Blocks, Blocks]


class Response(NamedTuple):
  """A best response; an array for each block."""

  choice: list[Float[Array, "_A _rows 1"]]  #: 1 for the action chosen and 0 for the others
  acts: list[Bool[Array, "1 _rows 1"]]  #: where it prescribes a move
  reach: list[Float[Array, "1 _rows 1"]]  #: the player's own reach of the infostates


def init(tree: PublicTree, dtype: str) -> PlayState:
  """The state in which each player has played the first actions once."""
  sums = []
  for player_tree in tree.players:
    first = [np.zeros(shape, dtype) for shape in player_tree.block_shapes]
    for x in first:
      x[0] = 1
    reach = _reach(player_tree, to_device(first, dtype))[1:]
    sums.append(tuple(np.asarray(r).reshape(x.shape) for r, x in zip(reach, first, strict=True)))
  return to_device(PlayState(np.zeros((), np.int32), (sums[0], sums[1])), dtype)


_reach = jit()(sequence_reach)


@jax.jit  # plain: for a player without infostates no argument shows that this is inside a trace
def average_of(sums: Sequence[Float[Array, "_A _rows 1"]]) -> Blocks:
  """The average strategy from sums of reaches, for each block; the first action if all are 0."""
  shown = []
  for x in sums:
    total = sum_actions(x)
    first = jnp.zeros_like(x).at[0].set(1)
    shown.append(jnp.where(total > 0, x / jnp.where(total > 0, total, 1), first))
  return tuple(shown)


def row_reach(
  player_tree: PlayerTree, strategy: Sequence[Float[Array, "_A _rows 1"]]
) -> list[Float[Array, "1 _rows 1"]]:
  """A player's own reach of the infostates, for each block."""
  reach = sequence_reach(player_tree, strategy)[1:]
  return [sum_actions(r.reshape(shape)) for r, shape in zip(reach, player_tree.block_shapes, strict=True)]


def respond(
  tree: PublicTree,
  player: int,
  opponent: Sequence[Float[Array, "_A _rows 1"]],
  tolerance: Float[Array, ""] | float,
) -> Response:
  """A best response to a strategy, given for each block; of equally good actions the first.

  Values that differ by `tolerance` count as equal, so that rounding decides nothing.
  """
  player_tree, other = tree.players[player], tree.players[1 - player]
  values, _ = best_response_values(tree, player, opponent)
  choice = []
  for q in values:
    good = q >= max_actions(q) - tolerance
    first = good & (jnp.cumsum(good, axis=0) == 1)
    choice.append(first.astype(q.dtype))
  comes = [(r > 0).astype(r.dtype) for r in other.leaf.pull(sequence_reach(other, opponent))]
  paths, _ = sequence_values(player_tree, comes, lambda _, q: max_actions(q))
  reach = row_reach(player_tree, choice)
  acts = [(r > 0) & (max_actions(n) > 0) for r, n in zip(reach, paths, strict=True)]
  return Response(choice, acts, reach)


def played(best: Response, average: Sequence[Float[Array, "_A _rows 1"]]) -> list[Float[Array, "_A _rows 1"]]:
  """A whole strategy, for each block: a best response, and the average where that acts not."""
  return [jnp.where(a, c, b) for a, c, b in zip(best.acts, best.choice, average, strict=True)]


def iterate(
  tree: PublicTree, state: PlayState, iterations: Int[Array, ""] | int, tolerance: Float[Array, ""] | float
) -> PlayState:
  """Further rounds, player 1 answering player 0's newest average; `run` is the same, jitted."""

  def iteration(_, carry):
    t, sums = carry[0] + 1, list(carry[1])
    for i in (0, 1):
      best = respond(tree, i, average_of(sums[1 - i]), tolerance)
      reach = sequence_reach(tree.players[i], played(best, average_of(sums[i])))[1:]
      sums[i] = tuple(s + r.reshape(s.shape) for s, r in zip(sums[i], reach, strict=True))
    return t, tuple(sums)

  t, sums = jax.lax.fori_loop(0, iterations, iteration, (state.iteration, state.sums))
  return PlayState(t, sums)


run = jit()(iterate)
