"""Clusters sampled in C++ on a CPU (`clusters.cc`), and hands ranked when they are dealt.

A traversal meets only the lines that it visits. The sampler in JAX is the reference, and the only way on an
accelerator. From the same seed both deal the same boards and visit the same lines, with the same results up
to rounding (`tests/hierarchical/test_native_clusters.py`).
"""

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.device import cores
from ps_cfr_spiel.native import Library, call
from ps_cfr_spiel.poker import Deck, card_sets, strengths

LIBRARY = Library(Path(__file__).with_name("_clusters.abi3.so"), ("Clusters",))
why_unavailable = LIBRARY.why_unavailable
BINS = 20  # of a histogram; `kBins` in cards.h
EACH = 256  # deals for which a thread is worth starting
DEAD = np.iinfo(np.int32).max  # the strength of a hand that holds a card of the board


def sample_clusters(
  game: Any,
  regrets: jax.Array,
  excess: jax.Array,
  keys: jax.Array,
  dealt: jax.Array,
  full: jax.Array,
  traverser: jax.Array,
  numbers: Sequence[Any],
) -> tuple[jax.Array, jax.Array, jax.Array]:
  """The traversals of all clusters that are here; pure JAX.

  Args:
    regrets: [A, C' S], cluster after cluster.
    keys: uint32[C', 2], of the random numbers, which are `jax.random.uniform`'s, [rounds + depths, B].
    dealt: int32[2, B], both hands.
    full: bool[S, B], the roots that a traversal visits.
    traverser: int32[].
    numbers: the boards that chance may deal, the weight of the turn's averages, that of its regrets, the
      floor of regrets, and the regret below which an action may be skipped.

  Returns:
    The regrets and the excess after the traversals, and the values [C', S, B] of the roots to the traverser,
    each times the number of boards that the hands leave in the cluster.
  """
  dtype, lines, cards, found = regrets.dtype, game.child, game.cards, game.found
  no_integer, no_mask = jnp.zeros((0, 0), jnp.int32), jnp.zeros((0, 0), jnp.uint32)
  later = []
  for k, sets in enumerate(cards.set_masks):
    known = k < len(cards.index)
    tables = (
      (cards.index[k], cards.swap[k], cards.board_masks[k]) if known else (no_integer, no_integer, no_mask)
    )
    later += [sets, *tables, cards.buckets[k + 1] if k + 1 < len(cards.buckets) else no_integer]
  tables = (
    (jnp.zeros((0, 0, 0, 0), jnp.int16), no_integer, no_integer, jnp.zeros((0, 0, 0), jnp.float32))
    if found is None
    else (found.buckets, found.slot, found.groups, found.centres.astype(jnp.float32))
  )
  given = (
    *(lines.actor, lines.round, lines.first, lines.count),
    *(lines.cell, lines.stride, lines.constant, lines.stake),
    *(regrets, excess, jnp.stack([jnp.asarray(x, dtype) for x in numbers]), traverser[None], keys),
    *(dealt, full.astype(jnp.int32), game.boards, cards.hand_masks, cards.hand_swaps),
    *(no_integer if cards.strength is None else cards.strength, cards.buckets[0], *tables, *later),
  )
  place = [next(k for k, x in enumerate(given) if x is table) for table in (regrets, excess)]
  changed, values = {place[0]: 0, place[1]: 1}, jax.ShapeDtypeStruct((len(keys), *full.shape), dtype)
  deck = Deck(0, 1) if found is None else found.deck
  work = len(keys) * full.shape[1] // EACH
  threads = max(min(cores() // jax.local_device_count(), work), 1)
  sizes = {"threads": threads, "ranks": deck.ranks, "suits": deck.suits, "depths": len(lines.depths)}
  regrets, excess, values = call(
    "Clusters", dtype, given, (regrets, excess, values), "sequential", sizes, changed
  )
  return regrets, excess, values


def hand_strengths(deck: Deck, hole: int, boards: np.ndarray) -> np.ndarray:
  """int32[K, H]: strengths as of `poker.strengths` on boards int[K, n]; `DEAD` of hands that are dead.

  Without the library NumPy computes them.
  """
  boards = np.ascontiguousarray(boards, np.int32)
  if why_unavailable():
    hands = card_sets(deck.size, hole)
    dead = (boards[:, None, :, None] == hands[:, None, :]).any((2, 3))
    return np.where(dead, DEAD, strengths(deck.whole(boards), deck.whole(hands)))
  out = np.empty((len(boards), _hands(deck, hole)), np.int32)
  _call("HandStrengths", _deck(deck, hole), boards, *boards.shape, out)
  return out


def equities(deck: Deck, hole: int, boards: np.ndarray, groups: np.ndarray) -> np.ndarray:
  """float32[K, H, G]: equities on the last boards against groups int[H] of hands; of dead hands anything."""
  boards, groups = (np.ascontiguousarray(x, np.int32) for x in (boards, groups))
  out = np.empty((len(boards), len(groups), int(groups.max()) + 1), np.float32)
  _call("HandEquities", _deck(deck, hole), boards, *boards.shape, groups, out)
  return out


def histograms(deck: Deck, hole: int, board: Sequence[int] | np.ndarray, left: int) -> np.ndarray:
  """float32[1 + D, H, BINS - 1]: cumulative histograms of equities at the end, NaN of dead hands.

  The first are on the board; the others, if two of the cards to come are `left`, with each card of the deck.
  """
  board = np.ascontiguousarray(board, np.int32)
  out = np.empty((1 + deck.size * (left == 2), _hands(deck, hole), BINS - 1), np.float32)
  _call("HandHistograms", _deck(deck, hole), board, len(board), left, out)
  return out


def nearest(points: np.ndarray, centres: np.ndarray, squared: bool) -> np.ndarray:
  """int16[...]: the nearest of centres float32[D, B] to each point, float32[..., D]; -1 if it is NaN.

  Nearest by squares of differences if `squared`, else by their sizes.
  """
  points, centres = (np.ascontiguousarray(x, np.float32) for x in (points, centres))
  out = np.empty(points.shape[:-1], np.int16)
  _call("NearestCentres", points, out.size, points.shape[-1], centres, centres.shape[1], int(squared), out)
  return out


def _deck(deck: Deck, hole: int) -> np.ndarray:
  return np.array([deck.ranks, deck.suits, hole], np.int32)


def _hands(deck: Deck, hole: int) -> int:
  return deck.size if hole == 1 else deck.size * (deck.size - 1) // 2


def _call(name: str, *given: Any) -> None:
  """Call a function of the library, which lets other threads run meanwhile."""
  typed = [ctypes.c_void_p(x.ctypes.data) if isinstance(x, np.ndarray) else ctypes.c_int64(x) for x in given]
  LIBRARY.function(name)(*typed)
