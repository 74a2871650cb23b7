"""What the device does not need of a compiled game: names, and who acts where, for reports and policies."""

import dataclasses
from collections.abc import Iterator
from typing import ClassVar, Protocol

import pyspiel


@dataclasses.dataclass(frozen=True)
class PublicState:
  """A node of the public tree, on the host.

  Attributes:
    parent: index of the parent, -1 at the root.
    action: OpenSpiel action that leads here from the parent; -1 at the root, or if hidden moves differ.
    player: who acts, 0 or 1, or `pyspiel.PlayerId.TERMINAL` or `CHANCE`.
    decisions: indices of the acting player's rows here.
  """

  parent: int
  action: int
  player: int
  decisions: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Decision:
  """A row of a player's tables, on the host.

  Attributes:
    player: who acts.
    public_state: index of the public state; -1 in a tree without.
    block, row: where the row is stored.
    legal_actions: OpenSpiel actions in the order of the A axis.
    infostates: information state string for each type; None where the type cannot be here.
    examples: for each type the number of a history with this infostate, in trees made by `walk`.
  """

  player: int
  public_state: int
  block: int
  row: int
  legal_actions: tuple[int, ...]
  infostates: tuple[str | None, ...]
  examples: tuple[int, ...] = ()


class Source(Protocol):
  """Where histories come from: finds those of an infostate or a public state."""

  remark: ClassVar[str]  # on how histories are counted

  def path(self, labels: "Labels", decision: Decision, type_index: int) -> list[int]:
    """Actions from the start of the game to a history with this infostate."""
    ...

  def history(self, labels: "Labels", public_state: int) -> list[int]:
    """Actions from the start of the game to some history of a public state."""
    ...

  def count(self, labels: "Labels", public_state: int) -> int:
    """Number of histories in a public state."""
    ...

  def infostates(self, labels: "Labels", public_state: int) -> tuple[list[str], list[str]]:
    """What each player may know at a public state, acting or not: augmented infostates."""
    ...


@dataclasses.dataclass(frozen=True)
class Labels:
  """What the device does not need: names, for reports and policies.

  Attributes:
    game: `str(game)`, which `pyspiel.load_game` reads back.
    public_states: parents before children; empty in a tree without.
    decisions: all rows, player 0's first.
    types: names of each player's types; in a Bayesian form an index here is the chance action that deals it.
    histories: number of histories; in a Bayesian form the deal counts as one event.
    source: finds histories.
  """

  game: str
  public_states: tuple[PublicState, ...]
  decisions: tuple[Decision, ...]
  types: tuple[tuple[str, ...], tuple[str, ...]]
  histories: int
  source: Source

  def infostates(self) -> Iterator[tuple[Decision, int, str]]:
    """All decision infostates: (row, type, information state string)."""
    for decision in self.decisions:
      for h, name in enumerate(decision.infostates):
        if name is not None:
          yield decision, h, name


TERMINAL = int(pyspiel.PlayerId.TERMINAL)
CHANCE = int(pyspiel.PlayerId.CHANCE)
