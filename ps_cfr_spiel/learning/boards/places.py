"""The public states of a network, and the numbers of the infostates in each: the *slots*.

Public states that are alike (`subgames.alike`) count as one: a network has a place for one of them, and
learns from the ranges of all.

A network sees a public state as two vectors, the players' ranges over the infostates there. In Bayesian games
these are the types, in one row; elsewhere each infostate has a row of its own. So a slot is a (row, type) of
a cut (`Subgame.roots`). The slots of a public state are in the order of its rows, which depends on the game
alone.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ps_cfr_spiel.resolving.search import Levels
from ps_cfr_spiel.resolving.subgames import Subgame, Subgames

Ranges = tuple[np.ndarray, np.ndarray]
Drawn = list[Ranges]  # for each group of public states the ranges [k, M] of both players, of sum one


def frontier_groups(subgames: Subgames) -> list[list[int]]:
  """The public states where the lookahead of a search may end, in groups that do not overlap."""
  players = Levels.of(subgames.labels, None)
  groups = [levels.states(level) for levels in players for level in range(1, levels.count())]
  return [list(group) for group in groups if group]


@dataclasses.dataclass(frozen=True)
class Slots:
  """The places of the slots of K public states in the ranges of a cut, [R, H] of each player, flattened."""

  #: for each player int32[K, M], indices into [R * H]; R * H itself in unused slots.
  index: tuple[np.ndarray, np.ndarray]
  #: for each player bool[K, M], whether chance and the opponent can bring the player there.
  possible: tuple[np.ndarray, np.ndarray]

  @classmethod
  def of(
    cls, subgame: Subgame, public_states: Sequence[int], count: int, most: tuple[int, int] | None = None
  ):
    """The slots of a cut at K or fewer public states; `count` is K, and rows beyond them have no slots.

    `most` is M of each player, by default the largest number of slots; ValueError if a public state has more.
    """
    indices, possible = [], []
    for player, infostates in enumerate(subgame.roots):
      types = subgame.tree.players[player].types
      even = np.ones((subgame.shape.roots[1 - player], subgame.tree.players[1 - player].types))
      weight = np.append(subgame.prior.weight(player, even).ravel(), 0.0)
      rows = [np.flatnonzero(infostates.public == s) for s in public_states]
      size = max((len(r) for r in rows), default=0) * types if most is None else most[player]
      index = np.full((count, size), len(weight) - 1, np.int32)
      for k, rows_of_state in enumerate(rows):
        slots = (rows_of_state[:, None] * types + np.arange(types)).ravel()
        if len(slots) > size:
          raise ValueError(f"Public state {public_states[k]} has {len(slots)} infostates, more than {size}.")
        index[k, : len(slots)] = slots
      indices.append(index)
      possible.append(weight[index] > 0)
    return cls((indices[0], indices[1]), (possible[0], possible[1]))


class Taught(NamedTuple):
  """Public states in which situations are solved, of one group of the frontier."""

  public_states: list[int]
  slots: Slots  #: M is the same for all
  place: np.ndarray  #: int32[k], their indices in `FrontierStates.public_states`


@dataclasses.dataclass(frozen=True, eq=False)
class FrontierStates:
  """All public states of a game for a network, in groups that do not overlap."""

  subgames: Subgames  #: of the game
  groups: list[list[int]]  #: public states of each cut: the ends of the searches of one level
  cuts: list[Subgame]  #: the subgame below each group
  slots: list[Slots]  #: of each group; M is the same for all
  public_states: np.ndarray  #: int[K], ascending; one of those that are alike
  #: K arrays: the public states that are alike, as indices into all groups' one after the other.
  alike: list[np.ndarray]
  taught: list[Taught]  #: `public_states` by groups
  possible: tuple[np.ndarray, np.ndarray]  #: for each player bool[K, M], see `Slots`

  @classmethod
  def of(cls, subgames: Subgames) -> "FrontierStates":
    """The frontier of a game; ValueError if it has nothing beyond a lookahead."""
    groups = frontier_groups(subgames)
    if not groups:
      raise ValueError(
        f"{subgames.labels.game}: no player decides more than once; a lookahead never ends before the game, "
        "and the command resolve (ContinualResolving) needs no values."
      )
    cuts = [subgames.cut(group) for group in groups]
    pairs = list(zip(cuts, groups, strict=True))
    slots_of_groups = [Slots.of(cut, group, len(group)) for cut, group in pairs]
    most = tuple(max(slots.index[i].shape[1] for slots in slots_of_groups) for i in (0, 1))
    slots = [Slots.of(cut, group, len(group), most) for cut, group in pairs]
    every = np.concatenate(groups)
    kind = subgames.alike[every]
    states = np.sort(every[np.unique(kind, return_index=True)[1]])
    alike = [np.flatnonzero(kind == subgames.alike[s]) for s in states]
    possible = (np.zeros((len(states), most[0]), bool), np.zeros((len(states), most[1]), bool))
    taught = []
    for group in groups:
      first = [s for s in group if s in states]
      if not first:
        continue
      one = Taught(
        first,
        Slots.of(subgames.cut(first), first, len(first), most),
        np.searchsorted(states, first).astype(np.int32),
      )
      taught.append(one)
      for i in (0, 1):
        possible[i][one.place] = one.slots.possible[i]
    return cls(subgames, groups, cuts, slots, states, alike, taught, possible)

  @property
  def each(self) -> int:
    """The number of situations of a public state from each draw of ranges for all: the root of the number
    alike, so a draw gives more to learn from with less work.
    """
    return math.isqrt(sum(map(len, self.alike)) // len(self.alike))

  def one_of_each(self, drawn: Drawn, random: np.random.Generator) -> Drawn:
    """Ranges for `taught` from those for all groups: from a public state of those that are alike."""
    rows = np.array([random.choice(numbers) for numbers in self.alike])
    first, second = (np.concatenate([pair[i] for pair in drawn])[rows] for i in (0, 1))
    return [(first[one.place], second[one.place]) for one in self.taught]

  def ranges(self, group: int, given: Ranges) -> Ranges:
    """Ranges of sum one over the slots of a group, [k, M], from ranges [R, H] at its cut.

    A range of zeros becomes an even one.
    """
    slots, both = self.slots[group], []
    for i in (0, 1):
      both.append(even_if_zero(np.append(given[i].ravel(), 0.0)[slots.index[i]], slots.possible[i]))
    return both[0], both[1]


def even_if_zero(range_: np.ndarray, possible: np.ndarray) -> np.ndarray:
  """Ranges [k, M] over the possible slots, of sum one; zero ranges become even."""
  there = np.where(possible, range_, 0.0)
  there = np.where(there.sum(1, keepdims=True) > 1e-12, there, possible)
  return there / np.maximum(there.sum(1, keepdims=True), 1e-30)
