"""The subgames of hold'em as plain data for a solver, with names made on demand."""

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ps_cfr_spiel.poker import cards


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


class BayesianForm(NamedTuple):
  """A two-player zero-sum game whose chance deals each player a type; all the rest is public.

  It has N public states after the deal, parents before children, depth first, children by ascending
  action, and H0 and H1 types of the players, all of them possible. Types h and g are dealt with
  probability proportional to `weights[0][h] * weights[1][g]` if they share no card, else never. The
  utility of player 0 at a terminal public state is
  `constant + stake * sign(strength[0][h] - strength[1][g])`.

  Attributes:
    parent: int32[N], -1 at the root.
    action: int32[N], OpenSpiel action at the parent that leads here, -1 at the root.
    player: int32[N], 0 or 1 to act, `pyspiel.PlayerId.TERMINAL` at the end.
    constant: float64[N], 0 where a player acts.
    stake: float64[N], 0 where a player acts.
    types: Names, tuples of length H0 and H1; the chance action that deals a type is its index.
    weights: float64[H0] and float64[H1], positive.
    cards: int32[H0, 2] and int32[H1, 2], in 0..51.
    strength: int32[H0] and int32[H1], larger is stronger.
    infostates: Length N; the information state strings of the acting player, one for each of that
      player's types, () at the end.
  """

  parent: np.ndarray
  action: np.ndarray
  player: np.ndarray
  constant: np.ndarray
  stake: np.ndarray
  types: tuple[tuple[str, ...], tuple[str, ...]]
  weights: tuple[np.ndarray, np.ndarray]
  cards: tuple[np.ndarray, np.ndarray]
  strength: tuple[np.ndarray, np.ndarray]
  infostates: tuple[Sequence[str], ...]


@dataclasses.dataclass(frozen=True)
class PublicCardsForm:
  """The same with public cards to come: N lines of betting, which do not depend on the cards, and the cards.

  A public state is a line and the public cards since the root, its *runout*. The first card is each
  of `live` cards with equal probability, those in no hand, the next each of `live - 1`, and so
  on. Arrays without a description are as in `BayesianForm`, for lines.

  Attributes:
    action: int32[N], -1 after a card too.
    player: int32[N], `pyspiel.PlayerId.CHANCE` where a public card comes, followed by one line.
    street: int32[N], the number of cards that have come.
    runouts: For each street int32[B, street], its runouts; those that continue a runout stand
      together, in the order of the shorter ones, and each has the same number of continuations.
    live: The number of cards that may come first.
    swaps: int32[S, 52], the renamings of suits (`cards.suit_swaps`) that change nothing, as the card that
      each card becomes; first the one that renames none.
    game: The source of names and strengths.
  """

  parent: np.ndarray
  action: np.ndarray
  player: np.ndarray
  constant: np.ndarray
  stake: np.ndarray
  types: tuple[tuple[str, ...], tuple[str, ...]]
  weights: tuple[np.ndarray, np.ndarray]
  cards: tuple[np.ndarray, np.ndarray]
  street: np.ndarray
  runouts: tuple[np.ndarray, ...]
  live: int
  swaps: np.ndarray
  game: Any

  def strengths(self) -> tuple[np.ndarray, np.ndarray]:
    """int32[B, H0] and int32[B, H1] for the last street's runouts; any value for dead types."""
    found: dict[tuple[int, ...], tuple[np.ndarray, np.ndarray]] = {}
    last = self.runouts[-1].tolist()
    for runout in last:
      if (key := tuple(sorted(runout))) not in found:  # the order of the cards does not matter
        found[key] = self.game.strength(key)
    both = [found[tuple(sorted(runout))] for runout in last]
    first, second = (np.stack(strengths) for strengths in zip(*both, strict=True))
    return first, second

  def infostate(self, line: int, runout: tuple[int, ...], type_index: int) -> str:
    """The information state string of the acting player."""
    player = int(self.player[line])
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
      found = line, cards.parse_cards(runout), self.types[player].index(private.partition(" ")[2])
      if self.player[line] == player and self.infostate(*found) == infostate:
        return found
    except (KeyError, IndexError, ValueError):
      pass
    raise ValueError(f"No information state of player {player}: {infostate!r}.")
