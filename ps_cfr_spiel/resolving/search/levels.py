"""The public states where a player's searches begin and end, by the player's decisions above them."""

import dataclasses

import numpy as np

from ps_cfr_spiel.compilation.histories import Horizon
from ps_cfr_spiel.options import ROUND
from ps_cfr_spiel.tree import CHANCE, Labels, PublicTree

Lookahead = int | str | None


@dataclasses.dataclass(frozen=True)
class Levels:
  """Public states by level: the number of one player's decisions above.

  A lookahead ends at a *stop* of the player: with a number, any own decision; by the round, the first
  decision of either player after the next public chance event (a card), the deal before all decisions
  not counted.
  """

  #: number of stops that a search looks ahead; "round" for those of the next round, None for all.
  lookahead: Lookahead
  player: int  #: 0 or 1, the player who searches
  mover: np.ndarray  #: int[P], the player who acts
  decided: np.ndarray  #: bool[P], whether a decision lies above
  chance: np.ndarray  #: int[P], the number of chance nodes above that lie below a decision
  last: np.ndarray  #: int[P], the own decision before, 0 without one
  level: np.ndarray  #: int[P]
  stop: np.ndarray  #: bool[P]
  stops_above: np.ndarray  #: int[P], the number of stops above
  last_stop: np.ndarray  #: int[P], the last of them, 0 without one

  @classmethod
  def of(cls, labels: Labels, lookahead: Lookahead) -> "tuple[Levels, Levels]":
    """The levels of a game, for each player."""
    states = list(labels.public_states)
    parent, count = [state.parent for state in states], len(states)
    mover = np.array([state.player for state in states], int)
    chance, acted, decided = np.zeros(count, int), np.zeros(count, int), np.zeros(count, bool)
    for s, above in enumerate(parent):
      if above >= 0:
        acted[s] = above if mover[above] >= 0 else acted[above]  # the last decision of either player
        decided[s] = decided[above] or mover[above] >= 0
        chance[s] = chance[above] + (decided[above] and mover[above] == CHANCE)
    begins = (mover >= 0) & (chance > chance[acted])  # a round

    def of_player(player: int) -> Levels:
      stop = begins if lookahead == ROUND else mover == player
      last, level, stops_above, last_stop = (np.zeros(count, int) for _ in range(4))
      for s, above in enumerate(parent):
        if above >= 0:
          last[s] = above if mover[above] == player else last[above]
          level[s] = level[above] + (mover[above] == player)
          stops_above[s] = stops_above[above] + stop[above]
          last_stop[s] = above if stop[above] else last_stop[above]
      return cls(lookahead, player, mover, decided, chance, last, level, stop, stops_above, last_stop)

    return of_player(0), of_player(1)

  @property
  def acting(self) -> np.ndarray:
    """bool[P], whether the player acts."""
    return self.mover == self.player

  def states(self, level: int) -> tuple[int, ...]:
    """The public states in which the player makes the decision number `level`."""
    return tuple(np.flatnonzero(self.acting & (self.level == level)).tolist())

  def count(self) -> int:
    """The largest number of decisions of the player on one path."""
    return int(self.level[self.acting].max(initial=-1)) + 1

  def passes(self) -> list[tuple[int, ...]]:
    """The public states of later searches, in groups that do not overlap and whose searches end alike."""
    groups: dict[tuple[int, float, float], list[int]] = {}
    for s in np.flatnonzero(self.acting & self.decided).tolist():
      groups.setdefault((int(self.level[s]), self.horizon(s), self.horizon_before(s)), []).append(s)
    return [tuple(groups[key]) for key in sorted(groups)]

  def kind(self, public_state: int) -> tuple[int, int, int]:
    """Player, level and cards: searches from public states of one kind are padded alike."""
    return self.player, int(self.level[public_state]), int(self.chance[public_state])

  def kinds(self) -> dict[tuple[int, int, int], list[int]]:
    """The player's public states of each kind."""
    states_of: dict[tuple[int, int, int], list[int]] = {}
    for s in np.flatnonzero(self.acting).tolist():
      states_of.setdefault(self.kind(s), []).append(s)
    return states_of

  def horizon(self, public_state: int) -> float:
    """The number of stops above the end of the lookahead of a search from a public state."""
    if self.lookahead is None:
      return np.inf
    ahead = self.stop[public_state] if self.lookahead == ROUND else self.lookahead
    return float(self.stops_above[public_state] + ahead)

  def horizon_before(self, public_state: int) -> float:
    """The horizon of the search before the one from a public state."""
    return self.horizon(int(self.last[public_state]))

  def beyond_stop(self) -> np.ndarray:
    """int[n], the public states from which the player searches again below the end of the search before."""
    later = np.flatnonzero(self.acting & self.decided)
    before = np.array([self.horizon_before(s) for s in later.tolist()])
    return later[self.stops_above[later] > before]

  def frontier(self, horizon: float) -> tuple[int, ...]:
    """The public states where a lookahead to a horizon ends; empty if it goes to the end of the game."""
    return tuple(np.flatnonzero(self.stop & (self.stops_above == horizon)).tolist())


def stops_ahead(player: int, lookahead: Lookahead) -> Horizon[tuple[int | None, bool, bool]]:
  """The end of a player's lookahead from given histories, those of a public state: see `Levels`.

  A mark is the number of stops left, None above the given histories; whether a decision lies above; and
  whether chance has moved since the last one.
  """

  def step(state, actions, mark, inside):
    (left, decided, chance), mover = mark, state.current_player()
    stop = chance and mover >= 0 if lookahead == ROUND else mover == player
    if inside and left is None:
      left = int(stop) if lookahead == ROUND else lookahead
    over = stop and left == 0
    left = None if left is None else left - stop
    chance = mover < 0 and (chance or (decided and mover == CHANCE))
    return over, [(left, decided or mover >= 0, chance)] * len(actions)

  return Horizon((None, False, False), step)


def by_row(tree: PublicTree, player: int, numbers: np.ndarray) -> list[np.ndarray]:
  """Numbers of public states, int[P], as numbers of a player's rows: int[rows] for each block."""
  row_numbers = [np.zeros(rows, int) for _, rows, _ in tree.players[player].block_shapes]
  for d in tree.names.decisions:
    if d.player == player:
      row_numbers[d.block][d.row] = numbers[d.public_state]
  return row_numbers
