"""The public states that a network knows, and its numbering of the infostates in each: the *slots*.

A network sees a public state as two vectors, the players' ranges over the infostates there. In Bayesian
games these are the types, in one row; elsewhere each infostate has a row of its own. So a slot is a (row,
type) of a cut (`Subgame.roots`), and slots of a public state follow each other as its rows do, which is an
order that depends on the game alone.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from ps_cfr_spiel.search import Levels
from ps_cfr_spiel.subgames import Subgame, Subgames


def frontier_states(subgames: Subgames) -> list[list[int]]:
  """The public states where the lookahead of a search may end, in groups that do not overlap."""
  levels = Levels.of(subgames.labels, None)
  groups = [levels.states(i, level) for i in (0, 1) for level in range(1, levels.count(i))]
  return [list(group) for group in groups if group]


@dataclasses.dataclass(frozen=True)
class Slots:
  """Where the slots of K public states are in the ranges of a cut, [R, H] of each player, flattened.

  Attributes:
    index: for each player int32[K, M], numbers in [R * H]; R * H itself where a state has fewer than M slots.
    possible: for each player bool[K, M], whether chance and the opponent can bring the player there.
  """

  index: tuple[np.ndarray, np.ndarray]
  possible: tuple[np.ndarray, np.ndarray]

  @classmethod
  def of(
    cls, subgame: Subgame, public_states: Sequence[int], count: int, most: tuple[int, int] | None = None
  ):
    """The slots of a cut at these public states.

    Args:
      subgame: cut there.
      public_states: K or fewer.
      count: K; what is beyond the public states has no slots.
      most: M of each player; as many as are needed by default.

    Raises:
      ValueError: a public state has more than M slots.
    """
    indices, possible = [], []
    for player, standing in enumerate(subgame.roots):
      types = subgame.tree.players[player].types
      everybody = np.ones((subgame.shape.roots[1 - player], subgame.tree.players[1 - player].types))
      weight = np.append(subgame.prior.weight(player, everybody).ravel(), 0.0)
      rows = [np.flatnonzero(standing.public == s) for s in public_states]
      size = max((len(r) for r in rows), default=0) * types if most is None else most[player]
      index = np.full((count, size), len(weight) - 1, np.int32)
      for k, own in enumerate(rows):
        slots = (own[:, None] * types + np.arange(types)).ravel()
        if len(slots) > size:
          raise ValueError(
            f"Public state {public_states[k]} has {len(slots)} infostates, not at most {size}."
          )
        index[k, : len(slots)] = slots
      indices.append(index)
      possible.append(weight[index] > 0)
    return cls((indices[0], indices[1]), (possible[0], possible[1]))


@dataclasses.dataclass(frozen=True, eq=False)
class Frontier:
  """All public states of a game that a network is to know, in groups that do not overlap.

  Attributes:
    subgames: of the game.
    groups: public states that are cut out together: where a search of one level ends.
    cuts: what lies below each group.
    slots: of each group; M is the same for all.
    public_states: int[K], of all groups, ascending.
    places: for each group int32[k], the places of its public states among all.
    possible: for each player bool[K, M], see `Slots`.
  """

  subgames: Subgames
  groups: list[list[int]]
  cuts: list[Subgame]
  slots: list[Slots]
  public_states: np.ndarray
  places: list[np.ndarray]
  possible: tuple[np.ndarray, np.ndarray]

  @classmethod
  def of(cls, subgames: Subgames) -> "Frontier":
    """Of a game; ValueError if it has nothing beyond a lookahead."""
    groups = frontier_states(subgames)
    if not groups:
      raise ValueError(f"{subgames.labels.game}: nobody decides twice, so there is nothing to look up.")
    cuts = [subgames.cut(group) for group in groups]
    pairs = list(zip(cuts, groups, strict=True))
    own = [Slots.of(cut, group, len(group)) for cut, group in pairs]
    first, second = (max(slots.index[i].shape[1] for slots in own) for i in (0, 1))
    slots = [Slots.of(cut, group, len(group), (first, second)) for cut, group in pairs]
    states = np.array(sorted(s for group in groups for s in group))
    places = [np.searchsorted(states, group).astype(np.int32) for group in groups]
    possible = (np.zeros((len(states), first), bool), np.zeros((len(states), second), bool))
    for place, found in zip(places, slots, strict=True):
      for i in (0, 1):
        possible[i][place] = found.possible[i]
    return cls(subgames, groups, cuts, slots, states, places, possible)

  def ranges(self, group: int, given: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Ranges of sum one over the slots of a group, [k, M], of ranges [R, H] at its cut.

    A range of zeros becomes an even one.
    """
    slots, found = self.slots[group], []
    for i in (0, 1):
      found.append(even_if_zero(np.append(given[i].ravel(), 0.0)[slots.index[i]], slots.possible[i]))
    return found[0], found[1]


def even_if_zero(range_: np.ndarray, possible: np.ndarray) -> np.ndarray:
  """Ranges [k, M] over what is possible, of sum one; even ones where they are zero."""
  there = np.where(possible, range_, 0.0)
  there = np.where(there.sum(1, keepdims=True) > 1e-12, there, possible)
  return there / np.maximum(there.sum(1, keepdims=True), 1e-30)
