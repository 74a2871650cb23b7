"""Descriptions that games give of themselves, and the numbering of their public states."""

import dataclasses
import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from ps_cfr_spiel.tree import CHANCE, LazySequence, shares_card

EXACT = 12_000_000  # actions of infostates with strategies and values in float64; those of more in float32


class _Lines(Protocol):
  """The fields that both kinds of form have; see `BayesianForm`."""

  parent: np.ndarray
  action: np.ndarray
  player: np.ndarray
  constant: np.ndarray
  stake: np.ndarray
  types: tuple[tuple[str, ...], tuple[str, ...]]
  weights: tuple[np.ndarray, np.ndarray]
  cards: tuple[np.ndarray, np.ndarray]


class BayesianForm(_Lines, Protocol):
  """A game like poker on a full board: chance deals types once, then all moves are public.

  Attributes:
    parent: int32[N], parent of each public state, -1 at the root; parents before children.
    action: int32[N], OpenSpiel action that leads here from the parent.
    player: int32[N], the acting player: 0, 1 or `tree.TERMINAL`.
    constant, stake: float64[N], at terminals; the utility to player 0 is
      constant + stake * sign(strength 0 - strength 1).
    types: names of each player's types, lengths H0 and H1. Chance deals player 0's first; a type's index is
      the chance action.
    weights: float64[H0], float64[H1]; prior(h, g) is proportional to w0[h] w1[g] if h and g share no card.
    cards: int32[H0, 2], int32[H1, 2].
    strength: int32[H0], int32[H1]; larger wins. With `contest`: int32[K, H0], int32[K, H1].
    infostates: for each public state the acting player's information state strings by type; () at terminals.
    contest: int32[N], optional: which of K contests each terminal is; types differ in strength from one to
      the other.
    deals: optional, for each player and type chance's actions that deal it, if not the type's index alone.
    find: optional, as in `PublicCardsForm`; the runout is ().
  """

  strength: tuple[np.ndarray, np.ndarray]
  infostates: tuple[Sequence[str], ...]


class PublicCardsForm(_Lines, Protocol):
  """A form with public cards to come: a public state is a *line* of betting and the cards so far.

  The betting does not depend on the cards, so there are N lines and, on each street (the number of deals so
  far), a list of *runouts*, the cards since the root in order, those of a deal ascending. A deal is mostly a
  single card: the first is one of `live` cards with equal probability for all types, the next one of `live -
  1`, and so on; a type that holds a card of the runout is dead.

  Attributes:
    parent, action, player, constant, stake: as in `BayesianForm`, of lines; `player` is `tree.CHANCE` where a
      card comes, and one line follows.
    types, weights, cards: as in `BayesianForm`.
    street: int32[N].
    runouts: for each street int32[B, cards so far]; those that continue a runout are adjacent, in the order
      of the shorter ones, and their number is the same for each.
    live: number of possible first cards.
    spent: float64[N, 2], optional, in `BayesianForm` too: what each player has put into the pot.
    swaps: int32[S, C], optional: renamings of the C cards (entry c is the new name of card c) that leave
      ranges and strengths unchanged; the first is the identity.
    deals: optional, as in `BayesianForm`.
    named, remarks: optional: the name of a player's infostate at a state, and `Labels.remarks`.
  """

  street: np.ndarray
  runouts: tuple[np.ndarray, ...]
  live: int

  def strengths(self) -> tuple[np.ndarray, np.ndarray]:
    """int32[B, H0], int32[B, H1] on the boards of the last street; entries of dead types are arbitrary."""
    ...

  def infostate(self, line: int, runout: tuple[int, ...], type_index: int) -> str:
    """The acting player's information state string."""
    ...

  def find(self, player: int, infostate: str) -> tuple[int, tuple[int, ...], int]:
    """Line, runout and type of an information state string; ValueError if the player has no such string."""
    ...


Form = BayesianForm | PublicCardsForm


@dataclasses.dataclass(frozen=True, eq=False)
class Lines:
  """The numbering of a form's public states: line by line, and for each line runout by runout.

  A form without public cards has one street and one, empty, runout, so its lines are its public states. Lines
  come after their parents, and therefore so do public states.
  """

  form: Any  #: the form
  street: np.ndarray  #: int[N], the street of each line
  runouts: tuple[np.ndarray, ...]  #: for each street int[B, cards so far]
  live: int  #: number of possible first cards

  @classmethod
  def of(cls, form: Form) -> "Lines":
    """The lines of a form of either kind."""
    nothing = (np.zeros((1, 0), int),)
    street = getattr(form, "street", np.zeros(len(form.parent), int))
    return cls(form, street, getattr(form, "runouts", nothing), getattr(form, "live", 0))

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
  def contest(self) -> np.ndarray:
    """int[N]: the contest of each line; 0 in a form without."""
    return getattr(self.form, "contest", np.zeros(len(self.form.parent), int))

  @property
  def contests(self) -> int:
    """The number of contests: 1 in a form without."""
    return len(self.strength[0]) if hasattr(self.form, "contest") else 1

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
    first, second = self.form.strengths() if hasattr(self.form, "strengths") else self.form.strength
    return np.atleast_2d(first), np.atleast_2d(second)

  def lead(self, street: int, runout: int, contest: int = 0) -> np.ndarray:
    """int32[H0, H1]: the number of ways for the cards to come that player 0's type wins, less those it loses.

    Impossible deals have entries too. A form has several boards or several contests, not both.
    """
    each = self.boards[-1] // self.boards[street]
    if (each, contest) == (self.boards[-1], 0):
      return self._lead
    return self._lead_on(range(runout * each, (runout + 1) * each), contest)

  @functools.cached_property
  def _lead(self) -> np.ndarray:
    """`lead` on all boards, which takes seconds on a flop."""
    return self._lead_on(range(self.boards[-1]), 0)

  def _lead_on(self, boards: range, contest: int) -> np.ndarray:
    kind = np.int16 if len(boards) < 2**15 else np.int32  # small ones are quick
    total = np.zeros(self.disjoint.shape, kind)
    wins, losses = (np.empty(total.shape, bool) for _ in range(2))
    least, most = np.iinfo(np.int32).min, np.iinfo(np.int32).max
    for board in boards:
      first, second = (strength[board + contest] for strength in self.strength)
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
