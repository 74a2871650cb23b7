"""The leaves of the betting before the flop, with values of flops beyond.

There are 1,755 flops that differ by more than the names of suits. A search can ask a network about a part of
them in each iteration: `FLOPS` are drawn evenly from all, in their order, so that high and low, paired and
suited ones have their share, and stand for all. All-ins are counted on `BOARDS` drawn boards. Both are the
same for all searches.

Before the flop hands that differ in suits only are of one *kind*, of which there are 169, and are worth the
same; so each hand is given the mean of its kind, and no suit is favoured by the flops drawn.
"""

import dataclasses
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.backend.device import precision
from ps_cfr_spiel.cards.poker import Deck, cards, renamed_sets, runouts
from ps_cfr_spiel.learning.boards.hand_places import at_places, hand_places, river_places
from ps_cfr_spiel.learning.boards.street_leaves import UNROLLED, StreetLeaves, leads
from ps_cfr_spiel.tree import Array, Parts

FLOPS = 120
BOARDS = 4096  # a multiple of `UNROLLED`
ROWS = 256  # boards whose hands are ranked at once
DECK = Deck(13, 4)
HOLDS = (cards.ALL_HANDS[:, :, None] == np.arange(DECK.size)).any(1).astype(float)  # see `StreetLeaves.holds`


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class FlopLeaves(StreetLeaves):
  """See the file; H hands are all, and the B boards of `StreetLeaves` are flops."""

  share: Array = dataclasses.field(kw_only=True)  #: [B], of each flop among all
  mean: Array = dataclasses.field(kw_only=True)  #: [H, 169], the share of each hand in its kind, 0 in others

  def __call__(self, player: int, opponent_reach: Parts, own_reach: Parts | None = None) -> Parts:
    ends, folds = super().__call__(player, opponent_reach, own_reach)
    return [(ends @ self.mean) @ jnp.sign(self.mean).T, folds]

  @property
  def unseen(self) -> float:
    """The share of flops that two hands leave."""
    left = len(cards.WHOLE_DECK) - 2 * cards.HAND_SIZE
    return math.comb(left, 3) / math.comb(len(cards.WHOLE_DECK), 3)

  def _sum(self, values: Array) -> Array:
    return jnp.einsum("nbh,b->nh", values, self.share)

  def _others_after(self, reach: Array) -> Array:
    after = reach[:, None] * self.alive[None]
    return self._others(after.reshape(-1, reach.shape[1])).reshape(after.shape) * self.alive[None]


def flop_tables() -> dict[str, Array]:
  """The tables of `FlopLeaves`, those of one situation in front; they are made once."""
  return _tables(jnp.result_type(float).name)


@functools.lru_cache(maxsize=1)
def _tables(dtype: str) -> dict[str, Array]:
  """See `flop_tables`; `dtype` is the precision in which the caller is."""
  flops, share = drawn_flops(FLOPS)
  place = hand_places(flops)
  _, kind = np.unique(renamed_sets(DECK, cards.HAND_SIZE).min(0), return_inverse=True)
  of_kind = (kind.ravel()[:, None] == np.arange(kind.max() + 1)).astype(float)
  none = np.zeros((0, 0), int)
  tables = {
    "net_wins": _net_wins(BOARDS), "holds": HOLDS,
    "pair": none, "after": np.arange(len(flops)), "alive": place[:, :, 0] >= 0,
    "mixtures": at_places(place).swapaxes(1, 2), "share": share, "mean": of_kind / of_kind.sum(0),
  }  # fmt: skip
  counts = ("pair", "after")
  return {name: jnp.asarray(table, None if name in counts else dtype)[None] for name, table in tables.items()}


def drawn_flops(count: int) -> tuple[np.ndarray, np.ndarray]:
  """int[n, 3] and float64[n]: flops, evenly from all, and their shares; all 1,755 for larger counts."""
  _, flops = runouts(DECK, (3,))
  if count >= len(flops.cards):
    return flops.cards, flops.count / flops.count.sum()
  points = (np.arange(count) + 0.5) / count * flops.count.sum()
  return flops.cards[np.searchsorted(flops.count.cumsum(), points)], np.full(count, 1 / count)


def _net_wins(count: int) -> np.ndarray:
  """float64[1326, 1326]: `StreetLeaves.net_wins` before the flop, on this number of drawn boards."""
  boards = np.random.default_rng(0).random((count, DECK.size)).argsort(1)[:, : cards.BOARD_SIZE]
  wins, both = np.zeros((2, len(cards.ALL_HANDS), len(cards.ALL_HANDS)))
  with precision("float32"):
    for start in range(0, count, ROWS):
      some, more = _counted(jnp.asarray(boards[start : start + ROWS]))
      wins, both = wins + np.asarray(some), both + np.asarray(more)
  return wins / np.maximum(both, 1) * (HOLDS @ HOLDS.T == 0)


@jax.jit
def _counted(boards: Array) -> tuple[Array, Array]:
  """[H, H]: on how many boards each hand leads another, less where it trails; and on how many both live."""
  place = river_places(boards, cards.ALL_HANDS)
  alive = (place >= 0).astype(place.dtype)
  return leads(place.reshape(-1, UNROLLED, place.shape[1])), alive.T @ alive
