"""The subgames of hold'em as plain data for a solver, with names made on demand."""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ps_cfr_spiel.cards.poker import BayesianForm, Betting, cards


class Names(Sequence[str]):
  """Names made on demand: a public state with all hands would have a thousand."""

  def __init__(self, count: int, name: Callable[[int], str]):
    self._count, self._name = count, name

  def __len__(self) -> int:
    return self._count

  def __getitem__(self, index: Any) -> Any:
    chosen = range(self._count)[index]  # raises IndexError, as a tuple does
    return tuple(map(self._name, chosen)) if isinstance(chosen, range) else self._name(chosen)

  def __eq__(self, other: object) -> bool:
    return isinstance(other, Names) and tuple(self) == tuple(other)

  def __hash__(self) -> int:
    return hash((self._count, *self[:1]))


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class SubgameForm(BayesianForm):
  """A hold'em subgame: its lines, paid in units since the hand began, and H0 and H1 hands.

  `game` has names and strengths. With a whole board there is one, empty, runout.
  """

  betting: Betting
  types: tuple[tuple[str, ...], tuple[str, ...]]
  weights: tuple[np.ndarray, np.ndarray]
  cards: tuple[np.ndarray, np.ndarray]
  runouts: tuple[np.ndarray, ...]
  live: int
  swaps: np.ndarray | None
  remarks: Mapping[str, str]
  game: Any

  @functools.cached_property
  def strength(self) -> tuple[np.ndarray, np.ndarray]:
    """int32[H0] and int32[H1], on a whole board."""
    first, second = self.game.strengths(self.runouts[0])
    return first[0], second[0]

  @functools.cached_property
  def infostates(self) -> Sequence[Sequence[str]]:
    """The acting player's information state strings on a whole board."""
    return tuple(
      Names(len(self.types[player]), functools.partial(self.infostate, line, ())) if player >= 0 else ()
      for line, player in enumerate(self.betting.player.tolist())
    )

  def strengths(self) -> tuple[np.ndarray, np.ndarray]:
    """int32[B, H0] and int32[B, H1] for the last street's runouts; any value for dead types."""
    # The order of the cards does not matter.
    cards, place = np.unique(np.sort(self.runouts[-1], 1), axis=0, return_inverse=True)
    first, second = self.game.strengths(cards)
    return first[place.ravel()], second[place.ravel()]

  def infostate(self, line: int, runout: tuple[int, ...], type_index: int) -> str:
    """The information state string of the acting player."""
    player = int(self.betting.player[line])
    return self.game.infostate_string(player, self.types[player][type_index], self.game.line(line, runout))

  def find(self, player: int, infostate: str) -> tuple[int, tuple[int, ...], int]:
    """The line, the runout and the type of an information state string.

    Raises:
      ValueError: The player never decides with this string.
    """
    try:
      private, _, *streets = infostate.split(" | ")
      template = " | ".join("{}" if place % 2 else text for place, text in enumerate(streets))
      runout = "".join(itertools.islice(streets, 1, None, 2))
      line = self.game.line_numbers[template]
      location = line, cards.parse_cards(runout), self.types[player].index(private.partition(" ")[2])
      if self.betting.player[line] == player and self.infostate(*location) == infostate:
        return location
    except (KeyError, IndexError, ValueError):
      pass
    raise ValueError(f"No information state of player {player}: {infostate!r}.")
