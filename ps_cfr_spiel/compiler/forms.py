"""Descriptions that games give of themselves, and the numbering of their public states."""

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from ps_cfr_spiel.tree import CHANCE, children, shares_card


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
    strength: int32[H0], int32[H1]; larger wins.
    infostates: for each public state the acting player's information state strings by type; () at terminals.
  """

  strength: tuple[np.ndarray, np.ndarray]
  infostates: tuple[Sequence[str], ...]


class PublicCardsForm(_Lines, Protocol):
  """A form with public cards to come: a public state is a *line* of betting and the cards so far.

  The betting does not depend on the cards, so there are N lines and, on each street (the number of cards so
  far), a list of *runouts*, the cards since the root in order. The first card is one of `live` cards with
  equal probability for all types, the next one of `live - 1`, and so on; a type that holds a card of
  the runout is dead.

  Attributes:
    parent, action, player, constant, stake: as in `BayesianForm`, of lines; `player` is `tree.CHANCE` where a
      card comes, and one line follows.
    types, weights, cards: as in `BayesianForm`.
    street: int32[N].
    runouts: for each street int32[B, street]; those that continue a runout are adjacent, in the order of the
      shorter ones, and their number is the same for each.
    live: number of possible first cards.
    spent: float64[N, 2], optional, in `BayesianForm` too: what each player has put into the pot.
    swaps: int32[S, C], optional: renamings of the C cards (entry c is the new name of card c) that leave
      ranges and strengths unchanged; the first is the identity.
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

  Attributes:
    form: the form.
    street: int[N], the street of each line.
    runouts: for each street int[B, street].
    live: number of possible first cards.
  """

  form: Any
  street: np.ndarray
  runouts: tuple[np.ndarray, ...]
  live: int

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
  def below(self) -> list[list[int]]:
    """The lines that follow each line, by ascending action."""
    return children(self.form.parent.tolist(), self.form.action.tolist())

  def orders(self, street: int) -> int:
    """The number of orders in which a street's cards may come after the deal."""
    return math.prod(self.live - k for k in range(street))

  def place(self, public_state: int) -> tuple[int, int]:
    """The line of a public state, and the number of its runout."""
    line = int(np.searchsorted(self.starts, public_state, side="right")) - 1
    return line, public_state - int(self.starts[line])

  def ancestors(self, street: int, above: int) -> np.ndarray:
    """int[B]: for each runout of a street the runout that it continues on the street `above`."""
    return np.arange(self.boards[street]) // (self.boards[street] // self.boards[above])

  @functools.cached_property
  def parents(self) -> np.ndarray:
    """int[P]: the parent of each public state; -1 for the root."""
    form, street = self.form, self.street.tolist()
    above = [
      self.starts[up] + self.ancestors(street[line], street[up]) if up >= 0 else np.array([-1])
      for line, up in enumerate(form.parent.tolist())
    ]
    return np.concatenate(above)

  @functools.cached_property
  def dead(self) -> tuple[tuple[np.ndarray, ...], ...]:
    """bool[B, H] for each player and street: whether the type holds a card of the runout."""
    return tuple(tuple(self._dead(cards, runouts) for runouts in self.runouts) for cards in self.form.cards)

  def _dead(self, cards: np.ndarray, runouts: np.ndarray) -> np.ndarray:
    found = np.zeros((len(runouts), len(cards)), bool)
    for card in runouts.T:
      found |= (cards[None, :, :] == card[:, None, None]).any(2)
    return found

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

  def lead(self, street: int, runout: int) -> np.ndarray:
    """int32[H0, H1]: the number of ways for the cards to come that player 0's type wins, less those it loses.

    Impossible deals have entries too.
    """
    last = len(self.boards) - 1
    each = self.boards[last] // self.boards[street]
    dead = [self.dead[i][last] for i in (0, 1)]
    total = np.zeros(self.disjoint.shape, np.int32)
    for board in range(runout * each, (runout + 1) * each):
      first, second = self.strength[0][board][:, None], self.strength[1][board]
      signs = np.greater(first, second).view(np.int8) - np.less(first, second).view(np.int8)
      signs[dead[0][board]] = 0
      signs[:, dead[1][board]] = 0
      total += signs
    return total

  def last_acting(self, line: int) -> int:
    """The line of the last action before the end `line`: itself, or an all-in before the last card."""
    while self.form.parent[line] >= 0 and self.form.player[self.form.parent[line]] == CHANCE:
      line = int(self.form.parent[line])
    return line
