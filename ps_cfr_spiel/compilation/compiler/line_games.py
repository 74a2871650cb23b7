"""A card game by its lines, which a rule makes one after the other: neither listed nor compiled.

`lines_ahead` makes trees of some of them.
"""

import abc
import dataclasses
import functools
from typing import NamedTuple

import numpy as np

from ps_cfr_spiel.cards.poker import Betting, Deal, Names


class End(NamedTuple):
  """The payoffs of a line that has ended: see `Betting`."""

  fold_payoff: float  #: to player 0
  showdown_payoff: float
  showdown_index: int


class LineRules(abc.ABC):
  """The lines of a betting, each known by its number there; that of the first is 0."""

  largest: float  #: payoff, in absolute terms

  @abc.abstractmethod
  def after(self, line: int, action: int) -> int:
    """The line after a legal action."""

  @abc.abstractmethod
  def end(self, line: int) -> End:
    """The payoffs of a line that has ended."""


class ListedLines(LineRules):
  """The lines of a betting that is in memory."""

  def __init__(self, betting: Betting):
    """Take the betting, zero-sum and without public cards."""
    self._betting, self.largest = betting, betting.largest_payoff

  def after(self, line: int, action: int) -> int:
    return self._betting.child(line, action)

  def end(self, line: int) -> End:
    betting = self._betting
    index = int(betting.showdown_index[line])
    return End(float(betting.fold_payoff[line, 0]), float(betting.showdown_payoff[line]), index)


@dataclasses.dataclass(frozen=True, eq=False)
class LineGame:
  """A card game for two, zero-sum, without public cards: its lines by rules, the deal, and the names."""

  rules: LineRules  #: the betting
  deal: Deal  #: hands alone
  names: Names  #: lines have their numbers in the whole betting

  @property
  def pairs(self) -> int:
    """The number of pairs of hands."""
    first, second = self.deal.held
    return len(first) * len(second)

  @functools.cached_property
  def worth(self) -> tuple[np.ndarray, np.ndarray]:
    """float64[H0, H1], the probability of each deal, and [K, H0, H1], times 1 if player 0 wins, -1 if not."""
    first, second = (row[hands] for row, hands in zip(self.deal.weights, self.deal.held, strict=True))
    one, other = (cards[hands] for cards, hands in zip(self.deal.cards, self.deal.held, strict=True))
    apart = (one[:, None, :, None] != other[None, :, None, :]).all((2, 3))
    chance = np.outer(first, second) * apart
    chance /= chance.sum()
    stronger, weaker = self.deal.showdowns(*self.deal.held)
    return chance, chance * np.sign(stronger[:, :, None] - weaker[:, None, :].astype(float))
