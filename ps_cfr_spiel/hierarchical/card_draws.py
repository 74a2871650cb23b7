"""Draws of hands and public cards, as likely as chance deals them: sets of cards as masks, on the device."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from ps_cfr_spiel.tree import Array


class Cards(NamedTuple):
  """The tables of cards that sampling reads; a mask is uint32[words], a bit for each card."""

  hand_masks: Array  #: uint32[H, words]
  hand_swaps: Array  #: int32[S, H]
  #: for each round from the first public cards on uint32[N, words], of the sets that may come.
  set_masks: tuple[Array, ...]
  #: index, swap: for each of these rounds int32[P, N], as in `Runouts`; rounds whose boards are in no table
  #: (`UntabulatedBuckets`) have neither these nor the tables below.
  index: tuple[Array, ...]
  swap: tuple[Array, ...]
  board_masks: tuple[Array, ...]  #: uint32[K, words], of all public cards, also of the round before them
  buckets: tuple[Array, ...]  #: for each round int32[K, H]
  strength: Array | None  #: int32[K, H]
  #: [2, H]: how often player 0 has each hand, and the weights of player 1's; None if all come alike.
  weights: Array | None = None


def deal_hands(cards: Cards, key: jax.Array, batch: int) -> jax.Array:
  """int32[2, B]: pairs of hands without a card in common, as likely as chance deals them."""
  first, second = jax.random.split(key)
  if cards.weights is None:
    mine = jax.random.randint(first, (batch,), 0, len(cards.hand_masks), jnp.int32)
  else:
    mine = _pick_weighed(cards.weights[:1], jax.random.uniform(first, (batch,)))
  free = ((cards.hand_masks[None] & cards.hand_masks[mine][:, None]) == 0).all(-1)
  uniform = jax.random.uniform(second, (batch,))
  theirs = (
    _pick(free, uniform)[0] if cards.weights is None else _pick_weighed(free * cards.weights[1:], uniform)
  )
  return jnp.stack([mine, theirs])


def _pick_weighed(weights: Array, uniform: jax.Array) -> jax.Array:
  """A column of each row of [B, N], or of one row [1, N], as likely as its weight says."""
  sums = jnp.cumsum(weights, -1)
  below = jnp.minimum(uniform, 1 - 1e-6) * sums[..., -1]  # the last sum is never reached
  return (sums > below[:, None]).argmax(-1).astype(jnp.int32)


def _pick(free: jax.Array, uniform: jax.Array) -> tuple[jax.Array, jax.Array]:
  """A free column of each row of bool[B, N], 0 in a row without, and the number of free columns."""
  passed = jnp.cumsum(free, 1, dtype=jnp.int32)
  count = passed[:, -1]
  wanted = jnp.minimum((uniform * count).astype(jnp.int32), count - 1)
  return (passed > wanted[:, None]).argmax(1).astype(jnp.int32), count


def deal_public_cards(
  cards: Cards,
  rounds: range,
  board: jax.Array,
  hands: jax.Array,
  numbers: jax.Array,
  allowed: Array | None = None,
) -> tuple[jax.Array, jax.Array, list[jax.Array], jax.Array | None]:
  """Let public cards of some rounds come on a board, int32[B].

  Those of the first round are of the sets `allowed`, int32[P, most], of the board; by default all sets may
  come. Returns the boards, both hands with their names of suits, [2, B], and their buckets, [2, B] for each
  round, and the number [B] of sets of the first round that were possible; None by default.
  """
  buckets, possible = [], None
  for k, uniform in zip(rounds, numbers, strict=True):
    used = cards.hand_masks[hands[0]] | cards.hand_masks[hands[1]] | cards.board_masks[k - 1][board]
    if allowed is not None and k == rounds[0]:
      sets = jnp.maximum(allowed[board], 0)
      free = (allowed[board] >= 0) & ((cards.set_masks[k - 1][sets] & used[:, None]) == 0).all(-1)
      chosen, possible = _pick(free, uniform)
      came = jnp.take_along_axis(sets, chosen[:, None], 1)[:, 0]
    else:
      came, _ = _pick(((cards.set_masks[k - 1][None] & used[:, None]) == 0).all(-1), uniform)
    hands = cards.hand_swaps[cards.swap[k - 1][board, came][None], hands]
    board = cards.index[k - 1][board, came]
    buckets.append(cards.buckets[k][board[None], hands])
  return board, hands, buckets, possible
