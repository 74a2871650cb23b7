"""The leaves of a turn's or flop's betting, for searches that end with the street, of many boards at once.

A street of hold'em ends by folds, or its *ends*: the betting is over and a card comes, or no chips are left.
An end is worth the stakes times the share of boards to come that a hand wins, as if all checked from there
on, which is known exactly; and where chips are left, the value of betting on all next boards, by the network
of `NetworkValues`. No next board has a row of its own, so the tree is that of one street's betting.

All tables are made from the boards on the device, so that batches suit an accelerator.
"""

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from ps_cfr_spiel.cards.poker import cards
from ps_cfr_spiel.learning.boards.hand_places import (
  at_places,
  balanced,
  of_each,
  quantiles,
  rest_of_deck,
  river_places,
  runs_of_cards,
  whole_boards,
)
from ps_cfr_spiel.learning.network import ValueNetwork
from ps_cfr_spiel.resolving.subgames import SubgameLeaves
from ps_cfr_spiel.tree import Array, Parts, dot

# Boards of a step over all to come, of which there are 48 or 1,176: on a CPU an order of magnitude quicker
# than one, or 16.
UNROLLED = 8

Pair = tuple[Array, Array]


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class StreetLeaves(SubgameLeaves):
  """The leaves of one street, in two parts: L ends and folds; H hands, those that the board leaves."""

  kind: ClassVar[str] = "street"
  ranges: Pair  #: of each player [H]
  #: [H, H]: the share of the boards to come that the first hand wins, less that it loses; 0 for hands that
  #: share a card.
  net_wins: Array
  holds: Array  #: [H, 52], 1 for the cards of each hand
  pair: Array  #: int[B, 52], the hand of each next card and another; H without such a hand
  after: Array  #: int[B], the next cards
  alive: Array  #: [B, H], 1 for hands that the next card leaves
  mixtures: Array  #: [B, K, H], their places on the next board; in this order products need no transposition
  showdown_payoff: Array  #: [L], each player's chips at the ends
  fold_payoff: Array  #: [folds], utility to player 0
  pot: Array  #: [], chips before the street
  ratio: Array  #: [n, len(RATIOS)], the stacks behind at the ends with chips left
  left: tuple[int, ...] = dataclasses.field(metadata={"static": True})  #: the numbers of these n ends
  #: network and scale of `NetworkValues` of the next street; the same for all boards.
  beyond: tuple[ValueNetwork, Array] | None = None
  settled: Pair | None = None  #: [L, H] for each player: fixed values of betting, in place of the network's

  def __call__(self, player: int, opponent_reach: Parts, own_reach: Parts | None = None) -> Parts:
    ends, folds = (reach * self.ranges[1 - player][None] for reach in opponent_reach)
    if self.settled is not None:
      betting = self.settled[player]
    else:
      assert own_reach is not None, "best responses need settled values"
      reach = own_reach[0] * self.ranges[player][None]
      betting = self.betting((reach, ends) if player == 0 else (ends, reach))[player]
    sure = dot(ends, self.net_wins.T) * self.showdown_payoff[:, None]
    return [sure + betting, self._others(folds) * ((1 - 2 * player) * self.fold_payoff)[:, None]]

  def take(self, leaves: Sequence[np.ndarray]) -> "StreetLeaves":
    """See `LeafEvaluator`, for leaves that are all there, and none settled."""
    ends, folds = (part[0] for part in leaves)
    behind = [k for k, end in enumerate(ends.tolist()) if end in self.left]
    rows = [self.left.index(end) for end in ends[behind].tolist()]
    return dataclasses.replace(
      self,
      showdown_payoff=self.showdown_payoff[ends],
      fold_payoff=self.fold_payoff[folds],
      ratio=self.ratio[np.array(rows, int)],
      left=tuple(behind),
    )

  def settle(self, reach: Sequence[Parts]) -> "StreetLeaves":
    reached = [parts[0] * range_[None] for parts, range_ in zip(reach, self.ranges, strict=True)]
    return dataclasses.replace(self, settled=self.betting((reached[0], reached[1])))

  def checked(self) -> Pair:
    """The values if both players check from there on."""
    first, second = (dot(self.ranges[1 - i][None], self.net_wins.T)[0] * self.pot / 2 for i in (0, 1))
    return first, second

  def betting(self, reach: Pair) -> Pair:
    """For each player [L, H]: the value of betting after the ends, for both players' reach [L, H] of them."""
    nothing = jnp.zeros_like(reach[0])
    if not self.left:
      return nothing, nothing
    assert self.beyond is not None
    (network, scale), at = self.beyond, np.array(self.left, int)
    boards, each = len(self.after), len(at)
    both = [r[at] for r in reach]
    # The mixtures are by far the largest table, so both players are multiplied at once.
    shares = self.mixtures.reshape(-1, self.mixtures.shape[2]) @ jnp.concatenate(both).T
    shares = shares.T.reshape(2 * each, boards, -1)
    total = shares.sum(2, keepdims=True)
    even = self.mixtures.sum(2) / self.alive.sum(1)[:, None]
    shares = jnp.where(total > 0, shares / jnp.where(total > 0, total, 1), even[None])
    first, second = shares.reshape(2, each * boards, -1)
    outputs = jnp.concatenate(network(jnp.repeat(self.ratio, boards, 0), (first, second)))
    outputs = outputs.reshape(2 * each, boards, -1).swapaxes(0, 1)  # by board, as the mixtures are
    added = jnp.split(jnp.matmul(outputs, self.mixtures).swapaxes(0, 1), 2)
    pots = [self._others_after(other) for other in both[::-1]]
    added = balanced(added, [reach[:, None] * pot for reach, pot in zip(both, pots, strict=True)])
    chips = (2 * self.showdown_payoff[at] * scale / self.unseen)[:, None]
    first, second = (
      nothing.at[at].set(self._sum(pot * x) * chips) for pot, x in zip(pots, added, strict=True)
    )
    return first, second

  @property
  def unseen(self) -> float:
    """The number of next cards that two hands leave."""
    return len(self.after) - 2 * cards.HAND_SIZE

  def _sum(self, values: Array) -> Array:
    """[n, H]: the sum of values [n, B, H] of all next boards."""
    return values.sum(1)

  def _others(self, reach: Array) -> Array:
    """[n, H]: the sum of the reach [n, H] of the hands that share no card with each."""
    by_card = dot(reach, self.holds)
    return by_card.sum(1, keepdims=True) / cards.HAND_SIZE - dot(by_card, self.holds.T) + reach

  def _others_after(self, reach: Array) -> Array:
    """[n, B, H]: the same after each next card; 0 for hands that hold it."""
    with_card = dot(reach, self.holds)[:, self.after]  # [n, B]
    beside = jnp.pad(reach, ((0, 0), (0, 1)))[:, self.pair]  # [n, B, 52], of that card and another
    shared = dot(beside, self.holds.T[None])
    return (self._others(reach)[:, None] - with_card[:, :, None] + shared) * self.alive[None]


def leads(place: Array) -> Array:
  """int32[H, H]: on how many boards each hand is ahead of another, less those where it is behind.

  `place` [n, UNROLLED, H] has the places of hands; those of blocked ones are negative.
  """
  ranked = jnp.where(place < 0, jnp.nan, place)  # neither larger nor smaller than any

  def add(run: Array, total: Array) -> Array:
    for hand, other in zip(ranked[run][:, :, None], ranked[run][:, None], strict=True):
      total = total + (hand > other) - (hand < other)
    return total

  return jax.lax.fori_loop(0, len(ranked), add, jnp.zeros((place.shape[2],) * 2, jnp.int32))


def street_tables(boards: np.ndarray, hands: np.ndarray) -> dict[str, Array]:
  """`StreetLeaves.net_wins` to `mixtures` of boards [N, C] with hands [N, H], each with N in front.

  Hands are numbers in `cards.ALL_HANDS`, all or some of those that each board leaves. The tables of the last
  single board are kept: an agent searches a flop after every bet on it.
  """
  if len(boards) > 1:
    return _tables_on(*_placed(boards, hands))
  return _kept_tables(tuple(boards[0].tolist()), tuple(hands[0].tolist()), jnp.result_type(float).name)


def _placed(boards: np.ndarray, hands: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
  """The boards, the cards of all hands that each leaves [N, A, 2], and places of its hands there [N, H]."""
  live = [np.flatnonzero(cards.unblocked(tuple(board))) for board in boards.tolist()]
  at = [np.searchsorted(every, some) for every, some in zip(live, hands, strict=True)]
  return boards, cards.ALL_HANDS[np.array(live)], np.array(at)


@functools.lru_cache(maxsize=1)
def _kept_tables(board: tuple[int, ...], hands: tuple[int, ...], dtype: str) -> dict[str, Array]:
  """`street_tables` of one board; `dtype` is the precision in which the caller is."""
  del dtype
  return _tables_on(*_placed(np.array([board]), np.array([hands])))


@jax.jit
def _tables_on(boards: Array, hands: Array, at: Array) -> dict[str, Array]:
  return of_each(lambda one: _tables_of(*one), (boards, hands, at))


@jax.jit
def net_wins_on(board: Array, hands: Array) -> Array:
  """`StreetLeaves.net_wins` on a board [C] that leaves these hands; the compiler leaves other tables out."""
  return _tables_of(board, hands, jnp.arange(len(hands)))["net_wins"]


def _tables_of(board: Array, hands: Array, at: Array) -> dict[str, Array]:
  """The tables of the hands numbered `at` among all that the board leaves [A, 2], which rank them."""
  size, count, deck = len(board), len(at), len(cards.WHOLE_DECK)
  place = river_places(whole_boards(board), hands)[:, at]  # [R, H]
  hands = hands[at]
  net_wins = leads(place.reshape(-1, UNROLLED, count))
  holds = (hands[:, :, None] == jnp.arange(deck)[None, None]).any(1).astype(place.dtype)
  apart = dot(holds, holds.T) == 0
  unseen = deck - size - 2 * cards.HAND_SIZE
  net_wins = net_wins * apart / math.comb(unseen, cards.BOARD_SIZE - size)
  after = rest_of_deck(board)
  number = jnp.full((deck, deck), count).at[hands[:, 0], hands[:, 1]].set(jnp.arange(count))
  number = jnp.minimum(number, number.T)
  if size + 1 == cards.BOARD_SIZE:
    place = place[:, :, None]
  else:
    of_run = {run: k for k, run in enumerate(map(tuple, runs_of_cards(size).tolist()))}
    pairs = [[of_run[min(a, b), max(a, b)] for b in range(len(after)) if b != a] for a in range(len(after))]
    place = jax.lax.map(lambda runs: quantiles(place[runs], size + 1), jnp.array(pairs))
  alive = (place[:, :, 0] >= 0).astype(place.dtype)
  return {
    "net_wins": net_wins, "holds": holds, "pair": number[after], "after": after, "alive": alive,
    "mixtures": at_places(place).swapaxes(1, 2),
  }  # fmt: skip
