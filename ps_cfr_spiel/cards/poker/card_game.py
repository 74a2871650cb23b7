"""Card games as three parts: the betting, the deal of hands and public cards, and the names of infostates."""

import abc
import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from ps_cfr_spiel.cards.poker.bayesian_form import BayesianForm
from ps_cfr_spiel.cards.poker.betting_lines import Betting
from ps_cfr_spiel.cards.poker.deals import Deal


class Names(abc.ABC):
  """A game's names of infostates and hands, by the numbers that hands and cards have in the deal."""

  #: the name of a player's infostate at a state of OpenSpiel; None: its information state string.
  named: Callable[[Any, int], str] | None = None
  remarks: Mapping[str, str] = {}  #: see `BayesianForm.remarks`
  advice: str = BayesianForm.advice  #: see `BayesianForm.advice`

  @abc.abstractmethod
  def hand(self, hand: int) -> str:
    """The name of a hand."""

  @abc.abstractmethod
  def infostate(self, player: int, line: int, runout: Sequence[int], hand: int) -> str:
    """The string of the infostate of the player to act."""

  @abc.abstractmethod
  def find(self, player: int, infostate: str) -> tuple[int, tuple[int, ...], int] | None:
    """The line, the runout and the hand of the only infostate that may have this string.

    None: all strings are compared. KeyError, IndexError or ValueError without such an entry; `CardGame.find`
    compares the string.
    """


AnyDeal = TypeVar("AnyDeal", bound=Deal)


@dataclasses.dataclass(frozen=True, eq=False)
class CardGame(BayesianForm, Generic[AnyDeal]):
  """A game of dealt hands for two: the stronger hand wins the payoff of the line of betting.

  A player's types are the hands with a weight above 0.
  """

  betting: Betting
  deal: AnyDeal
  names: Names
  game: Any = None  #: OpenSpiel's game
  _numbers: Sequence[list[int]] = dataclasses.field(init=False, repr=False)  # of each player's hands
  _lines: list[int] = dataclasses.field(init=False, repr=False)  # the number of lines of each street

  def __post_init__(self):
    deal, names, held = self.deal, self.names, self.deal.held
    numbers = [hands.tolist() for hands in held]
    lines = np.bincount(self.betting.street, minlength=len(deal.boards)).tolist()
    vars(self).update(
      weights=tuple(row[hands] for row, hands in zip(deal.weights, held, strict=True)),
      cards=tuple(cards[hands] for cards, hands in zip(deal.cards, held, strict=True)),
      deals=None if deal.actions is None else tuple([deal.actions[h] for h in hands] for hands in numbers),
      live=deal.live,
      named=names.named,
      remarks=names.remarks,
      advice=names.advice,
      _numbers=numbers,
      # Without the runouts themselves, which may be too many to be listed.
      size=sum(count * boards for count, boards in zip(lines, deal.boards, strict=True)),
      _lines=lines,
    )

  @functools.cached_property
  def types(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """See `BayesianForm`, as for all that follow."""
    first, second = (tuple(map(self.names.hand, hands)) for hands in self._numbers)
    return first, second

  @property
  def runouts(self) -> tuple[np.ndarray, ...]:
    return self.deal.runouts

  @property
  def swaps(self) -> np.ndarray | None:
    """See `Deal.swaps`."""
    return self.deal.swaps

  @property
  def histories(self) -> int:
    """About the number of histories of an enumeration, counted without the runouts."""
    return self.deal.histories(self._lines)

  @functools.cached_property
  def strength(self) -> tuple[np.ndarray, np.ndarray]:
    """int32[H0] and int32[H1], without public cards to come."""
    first, second = self.strengths()
    return first[0], second[0]

  def strengths(self) -> tuple[np.ndarray, np.ndarray]:
    return self.deal.showdowns(*self.deal.held)

  def infostate(self, line: int, runout: Sequence[int], type_index: int) -> str:
    player = int(self.betting.player[line])
    return self.names.infostate(player, line, runout, self._numbers[player][type_index])

  def find(self, player: int, infostate: str) -> tuple[int, tuple[int, ...], int] | None:
    try:
      if (named := self.names.find(player, infostate)) is None:
        return None
      line, runout, hand = named
      place = line, runout, self._numbers[player].index(hand)
      came = self.runouts[int(self.betting.street[line])].shape[1]
      known = self.betting.player[line] == player and len(runout) == came
      known = known and {*runout}.isdisjoint(self.cards[player][place[2]].tolist())
      if known and self.infostate(*place) == infostate:
        return place
    except (KeyError, IndexError, ValueError):
      pass
    raise ValueError(f"No information state of player {player}: {infostate!r}.")
