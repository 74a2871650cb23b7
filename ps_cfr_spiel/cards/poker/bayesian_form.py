"""The description that a Bayesian game gives of itself: its tree is compiled without enumeration."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from ps_cfr_spiel.cards.poker.betting_lines import Betting


class BayesianForm:
  """A game like poker: chance deals types once, then all moves are public.

  A game's method `bayesian_form()` returns an object of a class that derives from this one. It has the fields
  `betting`, `types`, `weights`, `cards`, `strength` and `infostates`, and others where the game needs them.
  Shapes: N lines of betting, which are the public states; H0 and H1 types.

  **With public cards to come** a public state is a line of betting and the cards so far. On each street
  of `betting` there is a list of *runouts*, the cards since the root in order, those of a deal ascending. A
  deal is mostly a single card: the first is one of `live` cards with equal probability for all types, the
  next one of `live - 1`, and so on; a type that holds a card of the runout is dead. Such a form has
  `runouts`, `live`, `strengths`, `infostate` and `find`.
  """

  #: the fields that every form has; `strengths` and `infostate`, overridden, stand for the last two.
  NEEDED: ClassVar[tuple[str, ...]] = ("betting", "types", "weights", "cards", "strength", "infostates")

  betting: Betting  #: the lines
  #: names of each player's types, lengths H0 and H1. Chance deals player 0's first.
  types: tuple[tuple[str, ...], tuple[str, ...]]
  #: float64[H0], float64[H1]; prior(h, g) is proportional to w0[h] w1[g] if h and g share no card.
  weights: tuple[np.ndarray, np.ndarray]
  cards: tuple[np.ndarray, np.ndarray]  #: int32[H0, 2], int32[H1, 2]
  #: int32[H0], int32[H1]; larger wins. With K showdowns of different strengths: int32[K, H0], int32[K, H1].
  strength: tuple[np.ndarray, np.ndarray]
  #: for each public state the acting player's information state strings by type; () at terminals.
  infostates: Sequence[Sequence[str]]

  #: for each player and type chance's actions that deal it; None: the type's index.
  deals: tuple[Sequence[Sequence[int]], Sequence[Sequence[int]]] | None = None
  #: for each street int32[B, cards so far]; those that continue a runout are adjacent, in the order of the
  #: shorter ones, and their number is the same for each.
  runouts: tuple[np.ndarray, ...] = (np.zeros((1, 0), int),)
  live: int = 0  #: number of possible first cards
  #: int32[S, C]: renamings of the C cards (entry c is the new name of card c) that leave ranges and strengths
  #: unchanged; the first is the identity. None: suits are not folded.
  swaps: np.ndarray | None = None
  #: the name of a player's infostate at a state of OpenSpiel; None: its information state string.
  named: Callable[[Any, int], str] | None = None
  remarks: Mapping[str, str] | None = None  #: further lines of the tree's summary, by name
  #: what to do where memory is too small.
  advice: str = (
    "To use less memory: bits=16, narrower ranges, fewer bet sizes (above all on later streets and for "
    "raises; streets follow '/', raises ';'), a smaller stack or, before the river, one more board card"
  )

  @functools.cached_property
  def size(self) -> int:
    """The number of public states, here counted in `runouts`."""
    return sum(len(self.runouts[street]) for street in self.betting.street.tolist())

  def missing(self) -> list[str]:
    """The names in `NEEDED` that are neither a field nor a property of the form; no property is computed."""
    bodies = [vars(self), *(vars(kind) for kind in type(self).__mro__ if kind is not BayesianForm)]
    given = {name for body in bodies for name in body}
    instead = {"strength": "strengths", "infostates": "infostate"}
    return [name for name in self.NEEDED if not given & {name, instead.get(name, name)}]

  def strengths(self) -> tuple[np.ndarray, np.ndarray]:
    """int32[B, H0], int32[B, H1] on the boards of the last street; entries of dead types are arbitrary.

    By default `strength`, of one board or of each showdown.
    """
    first, second = self.strength
    return np.atleast_2d(first), np.atleast_2d(second)

  def infostate(self, line: int, runout: tuple[int, ...], type_index: int) -> str:
    """The acting player's information state string; by default of `infostates`."""
    return self.infostates[line][type_index]

  def find(self, player: int, infostate: str) -> tuple[int, tuple[int, ...], int] | None:
    """Line, runout and type of an information state string; ValueError if the player has no such string.

    None, as here: all strings are compared.
    """
    return None
