"""The host's part of a compiled game: names and acting players, for reports and policies."""

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Generic, Protocol, SupportsIndex, TypeVar, overload, runtime_checkable

import numpy as np
import pyspiel
from jaxtyping import Float

TERMINAL = int(pyspiel.PlayerId.TERMINAL)
CHANCE = int(pyspiel.PlayerId.CHANCE)
Item = TypeVar("Item")


class LazySequence(Sequence[Item], Generic[Item]):
  """A sequence that makes its items on access: games with public cards have millions of names."""

  def __init__(self, length: int, make: Callable[[int], Item]):
    """`make` gives the item of each number below `length`."""
    self._length, self._make = length, make

  def __len__(self) -> int:
    return self._length

  @overload
  def __getitem__(self, index: SupportsIndex) -> Item: ...

  @overload
  def __getitem__(self, index: slice) -> list[Item]: ...

  def __getitem__(self, index: SupportsIndex | slice) -> Item | list[Item]:
    numbers = range(self._length)[index]
    return self._make(numbers) if isinstance(numbers, int) else [self._make(n) for n in numbers]


@dataclasses.dataclass(frozen=True)
class PublicState:
  """A node of the public tree, on the host."""

  parent: int  #: index of the parent, -1 at the root
  action: int  #: OpenSpiel action that leads here from the parent; -1 at the root, or if hidden moves differ
  player: int  #: the acting player: 0, 1, `CHANCE` or `TERMINAL`
  decisions: tuple[int, ...]  #: indices of the acting player's rows here


@dataclasses.dataclass(frozen=True)
class Decision:
  """A row of a player's tables, on the host."""

  player: int  #: the acting player
  public_state: int  #: index of the public state; -1 in a tree without
  #: block, row: its place in the player's tables.
  block: int
  row: int
  legal_actions: tuple[int, ...]  #: OpenSpiel actions in the order of the A axis
  #: information state string for each type; None where the type cannot be here.
  infostates: Sequence[str | None]
  #: for each type the number of a history with this infostate, in trees of enumerated games.
  examples: tuple[int, ...] = ()


@runtime_checkable
class Origin(Protocol):
  """The origin of a tree, which finds histories.

  Attributes:
    remark: text on the count of histories, for reports.
    pruned: whether chance has outcomes of probability zero, behind which the tree ends.
  """

  remark: ClassVar[str]

  @property
  def pruned(self) -> bool: ...

  def path(self, decision: Decision, type_index: int) -> list[int]:
    """Actions from the start of the game to a history in which the decision's player is of this type."""
    ...

  def history(self, public_state: int) -> list[int]:
    """Actions from the start of the game to some history of a public state."""
    ...

  def public_cards(self, public_state: int) -> list[int]:
    """The actions by which several public cards came since the parent; none in all other public states."""
    return []

  def count(self, public_state: int) -> int:
    """Number of histories in a public state."""
    ...

  def possible_infostates(self, public_state: int) -> tuple[list[str], ...]:
    """Each player's possible infostates at a public state, acting or not (augmented infostates)."""
    ...

  def payoffs(self, public_state: int) -> list[float]:
    """The possible utilities of player 0 at a terminal public state, ascending."""
    ...

  def utility_ranges(self, decisions: Sequence[Decision]) -> list[Float[np.ndarray, " _H"]]:
    """For each decision the largest less the smallest utility that may follow its infostates."""
    ...

  def chips_in_pot(self, public_state: int, player: int) -> float:
    """The player's chips in a pot on the way, in the game's unit; 0 in games without a pot."""
    return 0.0


def information_state_string(state: pyspiel.State, player: int) -> str:
  """The game's own name of an infostate."""
  return state.information_state_string(player)


@dataclasses.dataclass(frozen=True)
class Labels:
  """Names of a compiled game's parts, for reports and policies."""

  game: str  #: `str(game)`, which `pyspiel.load_game` reads back
  public_states: Sequence[PublicState]  #: parents before children; empty in a tree without
  decisions: Sequence[Decision]  #: all rows, player 0's first
  #: names of each player's types; in a Bayesian form an index here is the chance action that deals it.
  types: tuple[tuple[str, ...], ...]
  histories: int  #: number of histories; in a Bayesian form the deal counts as one event
  source: Origin  #: the origin of the tree
  #: (state, player) -> the name of the player's infostate there.
  infostate: Callable[[pyspiel.State, int], str] = dataclasses.field(
    default=information_state_string, kw_only=True
  )
  #: lines of the summary on a game that is solved otherwise than it is given, by their names.
  remarks: Mapping[str, str] = dataclasses.field(default_factory=dict, kw_only=True)

  def infostates(self, decisions: Iterable[Decision] | None = None) -> Iterator[tuple[Decision, int, str]]:
    """All decision infostates, or those of some rows: (row, type, information state string)."""
    for decision in self.decisions if decisions is None else decisions:
      for h, name in enumerate(decision.infostates):
        if name is not None:
          yield decision, h, name

  def num_public_states(self, players: Sequence[int]) -> int:
    """The number of public states with one of these to act: 0, 1, `CHANCE`, `TERMINAL`."""
    return sum(state.player in players for state in self.public_states)

  def num_infostates(self, player: int) -> int:
    """The number of infostates in which the player decides."""
    return sum(decision.player == player for decision, _, _ in self.infostates())

  @functools.cached_property
  def _places(self) -> dict[tuple[int, str], tuple[Decision, int]]:
    return {(decision.player, name): (decision, h) for decision, h, name in self.infostates()}

  def find(self, player: int, infostate: str) -> tuple[Decision, int]:
    """The row and type of an information state string; ValueError if the player never decides with it."""
    try:
      return self._places[player, infostate]
    except KeyError:
      raise ValueError(f"Player {player} has no information state {infostate!r} in {self.game}.") from None

  def decision_at(self, state: pyspiel.State, player: int) -> tuple[Decision, int]:
    """The row and type of a player's infostate at a state; errors as of `find`."""
    return self.find(player, self.infostate(state, player))

  @functools.cached_property
  def children(self) -> Sequence[list[int]]:
    """The children of each public state, by ascending action; of equal actions, by number."""
    states = self.public_states
    return children([state.parent for state in states], [state.action for state in states])


def children(parents: Sequence[int], actions: Sequence[int]) -> list[list[int]]:
  """The children of each public state, by ascending action; of equal actions, by number.

  Given are parents, -1 at the root, and the OpenSpiel actions that lead there, -1 where hidden moves differ.
  """
  below: list[list[int]] = [[] for _ in parents]
  for number, parent in enumerate(parents):
    if parent >= 0:
      below[parent].append(number)
  return [sorted(numbers, key=lambda n: actions[n]) for numbers in below]
