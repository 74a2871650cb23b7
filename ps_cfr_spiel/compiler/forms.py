"""The numbering of the public states of a game that describes itself."""

import dataclasses
import functools
import itertools
import math
from collections.abc import Sequence

import numpy as np

from ps_cfr_spiel.poker import BayesianForm
from ps_cfr_spiel.tree import CHANCE, LazySequence, shares_card

EXACT = 12_000_000  # actions of infostates with strategies and values in float64; those of more in float32


@dataclasses.dataclass(frozen=True, eq=False)
class PublicStateIndex:
  """The numbering of a form's public states: line by line, and for each line runout by runout.

  A form without public cards has one street and one, empty, runout, so its lines are its public states. Lines
  come after their parents, and therefore so do public states.
  """

  form: BayesianForm
  street: np.ndarray  #: int[N], the street of each line
  runouts: tuple[np.ndarray, ...]  #: for each street int[B, cards so far]
  live: int  #: number of possible first cards

  @classmethod
  def of(cls, form: BayesianForm) -> "PublicStateIndex":
    """The lines of a form."""
    street = np.zeros(len(form.parent), int) if form.street is None else form.street
    return cls(form, street, form.runouts, form.live)

  @functools.cached_property
  def boards(self) -> tuple[int, ...]:
    """Runouts of each street."""
    return tuple(map(len, self.runouts))

  @functools.cached_property
  def sizes(self) -> np.ndarray:
    """int[N]: public states of each line."""
    return np.array(self.boards)[self.street]

  @functools.cached_property
  def starts(self) -> np.ndarray:
    """int[N + 1]: the first public state of each line, and the number of public states."""
    return np.cumsum([0, *self.sizes])

  @functools.cached_property
  def _ordered(self) -> np.ndarray:
    """int[N]: the lines, those that follow one line side by side, by ascending action."""
    return np.lexsort((self.form.action, self.form.parent))

  @functools.cached_property
  def moves(self) -> np.ndarray:
    """int[N]: the number of lines that follow each line."""
    return np.bincount(self.form.parent + 1, minlength=len(self.form.parent) + 1)[1:]

  @functools.cached_property
  def _first(self) -> np.ndarray:
    """int[N]: the place in `_ordered` of the first line that follows each line; the root stands at 0."""
    return 1 + np.cumsum(self.moves) - self.moves

  @functools.cached_property
  def rank(self) -> np.ndarray:
    """int[N]: the number of each line among those that follow the same line."""
    place = np.zeros(len(self._ordered), int)
    place[self._ordered] = np.arange(len(place))
    return np.where(self.form.parent >= 0, place - self._first[self.form.parent], 0)

  @functools.cached_property
  def below(self) -> Sequence[list[int]]:
    """The lines that follow each line, by ascending action."""
    return LazySequence(len(self.form.parent), self._after)

  def _after(self, line: int) -> list[int]:
    start = self._first[line]
    return self._ordered[start : start + self.moves[line]].tolist()

  @functools.cached_property
  def showdown_index(self) -> np.ndarray:
    """int[N]: the showdown of each line; 0 in a form where all are alike."""
    index = self.form.showdown_index
    return np.zeros(len(self.form.parent), int) if index is None else index

  @property
  def showdowns(self) -> int:
    """The number of showdowns between which strengths differ: 1 in a form where all are alike."""
    return 1 if self.form.showdown_index is None else len(self.strength[0])

  @functools.cached_property
  def came(self) -> tuple[int, ...]:
    """The number of public cards on each street."""
    return tuple(runouts.shape[1] for runouts in self.runouts)

  def orders(self, street: int) -> int:
    """The number of ways in which a street's cards may come after the deal."""
    steps = itertools.pairwise(self.came[: street + 1])
    return math.prod(math.comb(self.live - before, after - before) for before, after in steps)

  @property
  def histories(self) -> int:
    """The number of histories of the game, the deal counted as one event."""
    of_street = np.bincount(self.street, minlength=len(self.boards)).tolist()
    return 1 + int(self.disjoint.sum()) * sum(n * self.orders(street) for street, n in enumerate(of_street))

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
    line, runout = self.places(np.arange(len(self.form.parent)))
    up = self.form.parent[line]
    return np.where(up >= 0, self.starts[up] + self.above(runout, self.street[line], self.street[up]), -1)

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

  def last_acting(self, lines: np.ndarray) -> np.ndarray:
    """The line of the last action before each of the ends `lines`: itself, or an all-in before a card."""
    while True:
      above = self.form.parent[lines]
      dealt = (above >= 0) & (self.form.player[above] == CHANCE)
      if not dealt.any():
        return lines
      lines = np.where(dealt, above, lines)
