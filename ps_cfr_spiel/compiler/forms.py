"""The numbering of the public states of a game that describes itself."""

import dataclasses
import functools
import itertools
import math

import numpy as np

from ps_cfr_spiel.poker import BayesianForm, Betting
from ps_cfr_spiel.tree import deal_weights, shares_card

EXACT = 12_000_000  # actions of infostates with strategies and values in float64; those of more in float32


@dataclasses.dataclass(frozen=True, eq=False)
class LineIndex:
  """The numbering of public states: line by line, and for each line board by board.

  A board is a runout of public cards; without public cards there is one street with one, empty, runout, and
  lines are public states. Lines come after their parents, and therefore so do public states.
  """

  betting: Betting
  boards: tuple[int, ...]  #: runouts of each street

  @functools.cached_property
  def sizes(self) -> np.ndarray:
    """int[N]: public states of each line."""
    return np.array(self.boards)[self.betting.street]

  @functools.cached_property
  def starts(self) -> np.ndarray:
    """int[N + 1]: the first public state of each line, and the number of public states."""
    return np.cumsum([0, *self.sizes])

  def place(self, public_state: int) -> tuple[int, int]:
    """The line of a public state, and the number of its runout."""
    line = int(np.searchsorted(self.starts, public_state, side="right")) - 1
    return line, public_state - int(self.starts[line])

  def places(self, lines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The lines, int[n], each repeated for each of its runouts, and the numbers of these runouts."""
    sizes = self.sizes[lines]
    first = np.cumsum(sizes) - sizes
    return np.repeat(lines, sizes), np.arange(sizes.sum()) - np.repeat(first, sizes)

  def above(self, runout: np.ndarray, street: np.ndarray, above: np.ndarray) -> np.ndarray:
    """The runouts that these continue on the streets `above`; all int[n]."""
    boards = np.array(self.boards)
    return runout // np.maximum(boards[street] // boards[above], 1)

  @functools.cached_property
  def parents(self) -> np.ndarray:
    """int[P]: the parent of each public state; -1 for the root."""
    line, runout = self.places(np.arange(len(self.betting)))
    up, street = self.betting.parent[line], self.betting.street
    return np.where(up >= 0, self.starts[up] + self.above(runout, street[line], street[up]), -1)


@dataclasses.dataclass(frozen=True, eq=False)
class PublicStateIndex(LineIndex):
  """The public states of a form, and the types that are possible there."""

  form: BayesianForm
  runouts: tuple[np.ndarray, ...]  #: for each street int[B, cards so far]

  @classmethod
  def of(cls, form: BayesianForm) -> "PublicStateIndex":
    """The public states of a form."""
    return cls(form.betting, tuple(map(len, form.runouts)), form, form.runouts)

  @functools.cached_property
  def came(self) -> tuple[int, ...]:
    """The number of public cards on each street."""
    return tuple(runouts.shape[1] for runouts in self.runouts)

  def orders(self, street: int) -> int:
    """The number of ways in which a street's cards may come after the deal."""
    steps = itertools.pairwise(self.came[: street + 1])
    return math.prod(math.comb(self.form.live - before, after - before) for before, after in steps)

  @property
  def histories(self) -> int:
    """The number of histories of the game, the deal counted as one event."""
    of_street = np.bincount(self.betting.street, minlength=len(self.boards)).tolist()
    return 1 + int(self.disjoint.sum()) * sum(n * self.orders(street) for street, n in enumerate(of_street))

  @functools.cached_property
  def dead(self) -> tuple[tuple[np.ndarray, ...], ...]:
    """bool[B, H] for each player and street: whether the type holds a card of the runout."""
    return tuple(tuple(self._dead(cards, runouts) for runouts in self.runouts) for cards in self.form.cards)

  def _dead(self, cards: np.ndarray, runouts: np.ndarray) -> np.ndarray:
    dead = np.zeros((len(runouts), len(cards)), bool)
    for card in runouts.T:
      dead |= (cards[None, :, :] == card[:, None, None]).any(2)
    return dead

  @functools.cached_property
  def disjoint(self) -> np.ndarray:
    """bool[H0, H1]: whether chance can deal the two types together."""
    return ~shares_card(*self.form.cards)

  @functools.cached_property
  def total(self) -> float:
    """The sum of the weights of all deals of two types."""
    return float(deal_weights(self.form).sum())

  @functools.cached_property
  def alive(self) -> tuple[tuple[np.ndarray, ...], ...]:
    """bool[B, H] for each player and street: whether the type is possible, beside some opponent's."""
    pairs = self.disjoint.astype(np.float32)
    streets = range(len(self.runouts))
    return tuple(
      tuple(~self.dead[i][s] & (~self.dead[1 - i][s] @ towards > 0) for s in streets)
      for i, towards in enumerate((pairs.T, pairs))
    )

  @functools.cached_property
  def strength(self) -> tuple[np.ndarray, np.ndarray]:
    """int32[B, H0], int32[B, H1] on the boards of the last street; entries of dead types are arbitrary."""
    return self.form.strengths()

  def net_wins(self, street: int, runout: int, showdown: int = 0) -> np.ndarray:
    """int32[H0, H1]: the number of ways for the cards to come that player 0's type wins, less those it loses.

    Impossible deals have entries too. A form has several boards or several showdowns, not both.
    """
    each = self.boards[-1] // self.boards[street]
    if (each, showdown) == (self.boards[-1], 0):
      return self._net_wins
    return self._net_wins_on(range(runout * each, (runout + 1) * each), showdown)

  @functools.cached_property
  def _net_wins(self) -> np.ndarray:
    """`net_wins` on all boards, which takes seconds on a flop."""
    return self._net_wins_on(range(self.boards[-1]), 0)

  def _net_wins_on(self, boards: range, showdown: int) -> np.ndarray:
    kind = np.int16 if len(boards) < 2**15 else np.int32  # small ones are quick
    total = np.zeros(self.disjoint.shape, kind)
    wins, losses = (np.empty(total.shape, bool) for _ in range(2))
    least, most = np.iinfo(np.int32).min, np.iinfo(np.int32).max
    for board in boards:
      first, second = (strength[board + showdown] for strength in self.strength)
      dead, gone = (self.dead[i][-1][board] for i in (0, 1))  # types that neither win nor lose
      np.greater(np.where(dead, least, first)[:, None], np.where(gone, most, second), out=wins)
      np.less(np.where(dead, most, first)[:, None], np.where(gone, least, second), out=losses)
      total += np.subtract(wins.view(np.int8), losses.view(np.int8), out=wins.view(np.int8))
    return total.astype(np.int32)
