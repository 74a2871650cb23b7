"""The types of a game that describes itself on all of its boards, which do not depend on the betting."""

import dataclasses
import functools
import itertools
import math
import weakref
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ps_cfr_spiel.cards.poker import BayesianForm, CardGame
from ps_cfr_spiel.tree import deal_weights, shares_card

CHUNK = 64  # boards of which tables are made at once, so that those on the way stay in the cache
MANY = np.iinfo(np.int16).max  # types of both players, up to which their ranks have 16 bits


class OrbitMap(NamedTuple):
  """The row that stands for each of n rows."""

  row: np.ndarray  #: int32[n], the row that stands for each; a row that is kept stands for itself
  #: int32[n], the renaming that makes that row into this one; 0, which changes nothing, where it is kept.
  swap: np.ndarray

  @property
  def kept(self) -> np.ndarray:
    """bool[n]: rows that stand for themselves."""
    return self.row == np.arange(len(self.row))

  @property
  def number(self) -> np.ndarray:
    """int[n]: the number, among the rows that are kept, of the one that stands for each."""
    return (np.cumsum(self.kept) - 1)[self.row]


@dataclasses.dataclass(frozen=True, eq=False)
class DealtBoards:
  """The types of a form on all of its boards, which do not depend on the betting.

  Games of one deal share it (`of`), as searches do that differ in bets.
  """

  #: weights, cards, runouts, live, swaps: see `BayesianForm`.
  weights: tuple[np.ndarray, np.ndarray]
  cards: tuple[np.ndarray, np.ndarray]
  runouts: tuple[np.ndarray, ...]
  live: int
  swaps: np.ndarray | None
  strengths: Callable[[], tuple[np.ndarray, np.ndarray]]  #: see `BayesianForm`

  @classmethod
  def of(cls, form: BayesianForm) -> "DealtBoards":
    """Those of a form; the same for all card games of one `Deal`, as long as one of them is in use."""
    if not isinstance(form, CardGame):
      return cls(form.weights, form.cards, form.runouts, form.live, form.swaps, form.strengths)
    deal = form.deal
    if (boards := _boards_of_deals.get(id(deal))) is None:
      strengths = functools.partial(deal.showdowns, *deal.held)  # which keeps the deal, and so its id, in use
      boards = cls(form.weights, form.cards, form.runouts, form.live, form.swaps, strengths)
      _boards_of_deals[id(deal)] = boards
    return boards

  @functools.cached_property
  def came(self) -> tuple[int, ...]:
    """The number of public cards on each street."""
    return tuple(runouts.shape[1] for runouts in self.runouts)

  def orders(self, street: int) -> int:
    """The number of ways in which a street's cards may come after the deal."""
    steps = itertools.pairwise(self.came[: street + 1])
    return math.prod(math.comb(self.live - before, after - before) for before, after in steps)

  @functools.cached_property
  def dead(self) -> tuple[tuple[np.ndarray, ...], ...]:
    """bool[B, H] for each player and street: whether the type holds a card of the runout."""
    first, second = self.cards
    dead = self._dead(first)
    return dead, dead if np.array_equal(first, second) else self._dead(second)

  def _dead(self, cards: np.ndarray) -> tuple[np.ndarray, ...]:
    holds, tables = _holds(cards, max(int(runouts.max(initial=0)) for runouts in self.runouts)), []
    for runouts in self.runouts:
      dead = np.zeros((len(runouts), len(cards)), bool)
      for card in runouts.T:
        dead |= holds[card]
      tables.append(dead)
    return tuple(tables)

  @functools.cached_property
  def disjoint(self) -> np.ndarray:
    """bool[H0, H1]: whether chance can deal the two types together."""
    return ~shares_card(*self.cards)

  @functools.cached_property
  def prior(self) -> np.ndarray:
    """float64[H0, H1]: the probabilities of the deals."""
    return deal_weights(self) / self.total

  @functools.cached_property
  def total(self) -> float:
    """The sum of the weights of all deals of two types."""
    return float(deal_weights(self).sum())

  @functools.cached_property
  def alive(self) -> tuple[tuple[np.ndarray, ...], ...]:
    """bool[B, H] for each player and street: whether the type is possible, beside some opponent's."""
    most = max(int(cards.max(initial=0)) for cards in self.cards)
    holds = [np.nonzero(_holds(cards, most)) for cards in self.cards]  # cards, and types that hold them
    first, second = (np.sort(cards, 1) for cards in self.cards)
    same = (first[:, 0, None] == second[:, 0]) & (first[:, 1, None] == second[:, 1])
    both = np.nonzero(same & (second[:, 0] < second[:, 1]))

    def alive(player: int, street: int) -> np.ndarray:
      """The types beside which the opponent has more types than those that share a card."""
      (card, held), (others_card, others_held) = holds[player], holds[1 - player]
      possible = ~self.dead[player][street]
      for start in range(0, len(possible), CHUNK):
        chunk = slice(start, start + CHUNK)
        others = ~self.dead[1 - player][street][chunk]
        with_card = _sums(others[:, others_held], others_card, most + 1)
        blocked = _sums(with_card[:, card], held, possible.shape[1])
        twice = _sums(others[:, both[1 - player]], both[player], possible.shape[1])  # with two equal cards
        possible[chunk] &= others.sum(1, keepdims=True) > blocked - twice
      return possible

    return tuple(tuple(alive(player, s) for s in range(len(self.runouts))) for player in (0, 1))

  @functools.cached_property
  def orbits(self) -> tuple[OrbitMap, ...] | None:
    """For each street the orbits of its runouts (`suit_isomorphism`); None where suits are not folded."""
    return orbit_maps(self, self.swaps)

  @functools.cached_property
  def strength(self) -> tuple[np.ndarray, np.ndarray]:
    """Int[B, H0], int[B, H1] on the boards of the last street, in the bits that their ranks need.

    Entries of dead types are arbitrary.
    """
    first, second = self.strengths()
    both = first if np.array_equal(first, second) else np.concatenate([first.ravel(), second.ravel()])
    levels, ranks = np.unique(both, return_inverse=True)
    ranks = ranks.ravel().astype(np.min_scalar_type(-len(levels)))
    return ranks[: first.size].reshape(first.shape), ranks[ranks.size - second.size :].reshape(second.shape)

  def net_wins(self, street: int, runout: int, showdown: int = 0) -> np.ndarray:
    """int32[H0, H1]: the number of ways for the cards to come that player 0's type wins, less those it loses.

    Impossible deals have entries too. A form has several boards or several showdowns, not both.
    """
    last = len(self.runouts[-1])
    each = last // len(self.runouts[street])
    if (each, showdown) == (last, 0):
      return self._net_wins
    return self._net_wins_on(range(runout * each, (runout + 1) * each), showdown)

  @functools.cached_property
  def _net_wins(self) -> np.ndarray:
    """`net_wins` on all boards, which takes seconds on a flop."""
    return self._net_wins_on(range(len(self.runouts[-1])), 0)

  def _net_wins_on(self, boards: range, showdown: int) -> np.ndarray:
    alike: dict[bytes, list[int]] = {}  # boards that differ in the order of their cards alone
    for board in boards:
      tables = *(x[board + showdown] for x in self.strength), *(dead[-1][board] for dead in self.dead)
      alike.setdefault(b"".join(x.tobytes() for x in tables), []).append(board)
    total, shape = np.zeros(self.disjoint.shape, np.int32), self.disjoint.shape
    small, added = np.zeros(shape, np.int8), 0  # a sum of few boards: single bytes are quick
    wins, losses = np.empty((2, *shape), bool)
    for same in alike.values():
      first, second = (strength[same[0] + showdown] for strength in self.strength)
      ranks = np.unique(np.concatenate([first, second]), return_inverse=True)[1].astype(np.int32)
      ranks = ranks.astype(np.int16) if len(ranks) < MANY else ranks
      first, second = np.split(ranks, [shape[0]])
      dead, gone = (self.dead[i][-1][same[0]] for i in (0, 1))  # types that neither win nor lose
      least, most = -1, len(ranks)
      np.greater(np.where(dead, least, first)[:, None], np.where(gone, most, second), out=wins)
      np.less(np.where(dead, most, first)[:, None], np.where(gone, least, second), out=losses)
      sign = np.subtract(wins.view(np.int8), losses.view(np.int8), out=wins.view(np.int8))
      for _ in same:
        small, added = np.add(small, sign, out=small), added + 1
        if added == np.iinfo(np.int8).max:
          total, added = total + small, 0
          small[:] = 0
    return total + small


_boards_of_deals = weakref.WeakValueDictionary[int, DealtBoards]()  # by the id of the deal


def orbit_maps(dealt: DealtBoards, swaps: np.ndarray | None) -> tuple[OrbitMap, ...] | None:
  """For each street the orbits of runouts, under some renamings of cards; None without renamings."""
  if swaps is None or len(swaps) == 1:
    return None
  maps = []
  for street, runouts in enumerate(dealt.runouts):
    images = renamed_runouts(dealt, street, swaps)
    first = images.min(0)
    swap = (images[:, first] == np.arange(len(runouts))).argmax(0)
    maps.append(OrbitMap(first.astype(np.int32), swap.astype(np.int32)))
  return tuple(maps)


def renamed_runouts(dealt: DealtBoards, street: int, swaps: np.ndarray) -> np.ndarray:
  """int[S, B]: the number of the runout that each renaming makes of each of a street."""
  runouts, deals = dealt.runouts[street], dealt.came[1:street]
  # The cards of one deal are listed in ascending order.
  renamed = np.concatenate([np.sort(deal, 2) for deal in np.split(swaps[:, runouts], deals, 2)], 2)
  digits = swaps.shape[1] ** np.arange(runouts.shape[1])[::-1]  # a runout as a number
  codes = runouts @ digits
  order = np.argsort(codes)
  return order[np.searchsorted(codes[order], renamed @ digits)]


def _holds(cards: np.ndarray, most: int) -> np.ndarray:
  """bool[C, H]: whether a type, int[H, 2], holds a card, of those up to the largest of all and `most`."""
  holds = np.zeros((max(most, int(cards.max(initial=0))) + 1, len(cards)), bool)
  holds[cards.T, np.arange(len(cards))] = True
  return holds


def _sums(columns: np.ndarray, number: np.ndarray, count: int) -> np.ndarray:
  """int32[B, count]: the sums of the columns, [B, n], of each number, int[n]."""
  sums, order = np.zeros((len(columns), count), np.int32), np.argsort(number, kind="stable")
  numbers, first = np.unique(number[order], return_index=True)
  if len(numbers):
    sums[:, numbers] = np.add.reduceat(columns[:, order], first, 1, np.int32)
  return sums
