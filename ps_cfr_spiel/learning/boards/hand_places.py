"""The features of boards that differ from board to board: places of hands, and stacks behind.

These *features* are the same for all boards that differ in suits only: the *place* of each hand, by its
strength among the hands that the board leaves, from 0 to 1, and the stack behind in pots. Both are cut into
linear pieces: a place or a stack is a mixture of the two nearest of a few fixed ones, and a range is given by
the shares of the fixed places.

With cards to come a hand has many places, on the boards of five cards to come, given by the means of eighths
of them. Its features are the mixtures of these means and, beside them, that of their mean: hands with the
same mean may be made or still to be made. Nothing else depends on the street.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.backend.device import platform, precision
from ps_cfr_spiel.cards.poker import cards, strengths
from ps_cfr_spiel.options import CPU
from ps_cfr_spiel.tree import Array

Arrays = TypeVar("Arrays")
Stack = TypeVar("Stack")
PLACES = 32  # fixed places, evenly from the weakest hand to the strongest
QUANTILES = 8  # parts of the same size of a hand's places with cards to come, ascending
RATIOS = np.array([0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 90.0])  # fixed stacks behind, in pots
TOGETHER = 64  # boards that an accelerator takes at once


def of_each(function: Callable[[Stack], Arrays], stack: Stack) -> Arrays:
  """A function of each entry of a stack: one by one on a CPU, some at once on an accelerator."""
  return jax.lax.map(function, stack, batch_size=None if platform() == CPU else TOGETHER)


def hand_places(boards: np.ndarray) -> np.ndarray:
  """float32[n, 1326, Q]: the places of each hand on boards [n, C], 0 to 1, and -1 of blocked hands.

  Q is 1 on rivers. Before, it is `QUANTILES`, the means of parts of the places on the boards to come.
  """
  with precision("float32"):
    return np.asarray(_hand_places(jnp.asarray(boards, jnp.int32)))


@jax.jit
def _hand_places(boards: Array) -> Array:
  def of_board(board: Array) -> Array:
    whole = whole_boards(board)
    place = river_places(whole, cards.ALL_HANDS)
    return place.T if len(whole) == 1 else quantiles(place, len(board))

  return of_each(of_board, boards)


def rest_of_deck(board: Array) -> Array:
  """int[52 - C]: the cards beside those of a board [C], ascending."""
  size = len(cards.WHOLE_DECK) - len(board)
  return jnp.setdiff1d(jnp.array(cards.WHOLE_DECK), board, assume_unique=True, size=size)


def runs_of_cards(size: int) -> np.ndarray:
  """int[R, 5 - size]: the cards to come on a board of this size, as numbers in `rest_of_deck`."""
  left = range(len(cards.WHOLE_DECK) - size)
  return np.array(list(itertools.combinations(left, cards.BOARD_SIZE - size)), int)


def whole_boards(board: Array) -> Array:
  """int[R, 5]: the boards of five cards to come, in the order of `runs_of_cards`."""
  more = rest_of_deck(board)[runs_of_cards(len(board))]
  return jnp.concatenate([jnp.broadcast_to(board[None], (len(more), len(board))), more], 1)


def river_places(boards: Array, hands: Array) -> Array:
  """[R, H]: the places of hands [H, 2] on boards [R, 5], 0 to 1, and -1 of blocked hands.

  The hands include all that the boards leave.
  """
  alive = ~(boards[:, None, :, None] == jnp.asarray(hands)[None, :, None, :]).any((2, 3))
  strength = jnp.where(alive, strengths(boards, hands, jnp), jnp.iinfo(jnp.int32).max)  # blocked ones last
  ascending = jnp.sort(strength, 1)
  left, right = (
    jax.vmap(lambda one, values, side=side: jnp.searchsorted(one, values, side))(ascending, strength)
    for side in ("left", "right")
  )
  most = 2 * (math.comb(len(cards.WHOLE_DECK) - cards.BOARD_SIZE, cards.HAND_SIZE) - 1)
  return jnp.where(alive, (left + right - 1) / most, -1)


def quantiles(place: Array, size: int) -> Array:
  """[H, QUANTILES]: the means of eighths of the places [R, H] to come on a board of `size` cards."""
  place = jnp.sort(place, 0)  # those of cards in a hand, -1, come first
  unseen = len(cards.WHOLE_DECK) - size - cards.HAND_SIZE
  left = math.comb(unseen, cards.BOARD_SIZE - size)
  total = jnp.cumsum(jnp.concatenate([jnp.zeros_like(place[:1]), place[-left:]]), 0)
  at = np.arange(QUANTILES + 1) / QUANTILES * left
  below = np.minimum(at.astype(int), left - 1)
  total = total[below] + (at - below).astype(np.float32)[:, None] * place[len(place) - left + below]
  means = jnp.clip(jnp.diff(total, axis=0) * QUANTILES / left, 0, 1)
  return jnp.where(place[-1:] < 0, -1, means).T


@jax.jit  # outside of a trace too: its operations would be compiled one by one for each shape
def mixture(x: Array, fixed: Array) -> Array:
  """[..., n]: numbers as mixtures of the nearest of n ascending fixed ones; zero for those below all."""
  x, steps, one = jnp.asarray(x)[..., None], jnp.diff(fixed), jnp.ones(1, fixed.dtype)
  known, above, below = (
    jnp.reshape(y, (1,) * (x.ndim - 1) + (-1,))
    for y in (fixed, jnp.concatenate([one, steps]), jnp.concatenate([steps, one]))
  )
  return jnp.clip(jnp.minimum((x - known) / above + 1, (known - x) / below + 1), 0, 1)


def at_places(place: Array) -> Array:
  """[..., K]: places [..., Q] as mixtures of fixed ones; zero for blocked hands.

  K is PLACES if Q is 1. Otherwise the first half are of all places, the second of their mean.
  """
  weights = mixture(place, jnp.linspace(0, 1, PLACES)).mean(-2)
  if place.shape[-1] == 1:
    return weights
  mean = mixture(jnp.mean(jnp.asarray(place), -1), jnp.linspace(0, 1, PLACES))
  return jnp.concatenate([weights, mean], -1) / 2


def at_ratios(ratio: Sequence[float] | np.ndarray) -> Array:
  """[n, len(RATIOS)]: stacks behind as mixtures of fixed ones, by their logarithms."""
  return mixture(jnp.log(jnp.clip(jnp.asarray(ratio), RATIOS[0], RATIOS[-1])), jnp.log(jnp.asarray(RATIOS)))


def balanced(added: Sequence[Array], weights: Sequence[Array]) -> list[Array]:
  """Both players' values [..., H] less their mean by some weights; unchanged if all weights are 0."""
  total = sum(w.sum(-1, keepdims=True) for w in weights)
  mean = sum((w * x).sum(-1, keepdims=True) for w, x in zip(weights, added, strict=True))
  mean = jnp.where(total > 0, mean / jnp.where(total > 0, total, 1), 0)
  return [x - mean for x in added]
