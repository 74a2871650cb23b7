"""The public states where a player's searches begin and end, by the player's decisions above them."""

import dataclasses
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from ps_cfr_spiel.subgames import PadTo, Subgames
from ps_cfr_spiel.tree import CHANCE, Labels, PublicTree

Lookahead = int | str | None
ROUND = "round"


@dataclasses.dataclass(frozen=True)
class Levels:
  """Public states by level: the number of the player's own public states above.

  A lookahead ends at a *station* of the player: with a number, any own decision; by the round, the first of
  anybody's after chance has moved in the open (a public card), the deal before all decisions not counted.

  Attributes:
    lookahead: how many stations a search looks ahead; "round" for those of the next round, None for all.
    player: int[P], the acting player.
    decided: bool[P], whether a player has decided above.
    chance: int[P], the number of chance nodes above, but below a decision.
    last: for each player int[P], the own decision before, 0 if there is none.
    level: for each player int[P].
    station: for each player bool[P].
    passed: for each player int[P], how many stations are above.
    behind: for each player int[P], the last of them, 0 if there is none.
  """

  lookahead: Lookahead
  player: np.ndarray
  decided: np.ndarray
  chance: np.ndarray
  last: tuple[np.ndarray, np.ndarray]
  level: tuple[np.ndarray, np.ndarray]
  station: tuple[np.ndarray, np.ndarray]
  passed: tuple[np.ndarray, np.ndarray]
  behind: tuple[np.ndarray, np.ndarray]

  @classmethod
  def of(cls, labels: Labels, lookahead: Lookahead) -> "Levels":
    """The levels of a game."""
    states = list(labels.public_states)
    player, count = np.array([state.player for state in states], int), len(states)
    chance, acted, decided = np.zeros(count, int), np.zeros(count, int), np.zeros(count, bool)
    last, level, passed, behind, station = ([np.zeros(count, int) for _ in (0, 1)] for _ in range(5))
    for s, state in enumerate(states):
      if (above := state.parent) >= 0:
        acted[s] = above if player[above] >= 0 else acted[above]  # the last decision of anybody's
        decided[s] = decided[above] or player[above] >= 0
        chance[s] = chance[above] + (decided[above] and player[above] == CHANCE)
      begins = player[s] >= 0 and chance[s] > chance[acted[s]]  # a round
      for i in (0, 1):
        if above >= 0:
          last[i][s] = above if player[above] == i else last[i][above]
          level[i][s] = level[i][above] + (player[above] == i)
          passed[i][s] = passed[i][above] + station[i][above]
          behind[i][s] = above if station[i][above] else behind[i][above]
        station[i][s] = begins if lookahead == ROUND else player[s] == i
    pairs = ((last[i], level[i], station[i].astype(bool), passed[i], behind[i]) for i in (0, 1))
    return cls(lookahead, player, decided, chance, *zip(*pairs, strict=True))  # pyright: ignore[reportArgumentType]

  def states(self, player: int, level: int) -> tuple[int, ...]:
    """The public states of a player's decision number `level`."""
    return tuple(np.flatnonzero((self.player == player) & (self.level[player] == level)).tolist())

  def count(self, player: int) -> int:
    """The largest number of decisions of a player on one path."""
    return int(self.level[player][self.player == player].max(initial=-1)) + 1

  def passes(self, player: int) -> list[tuple[int, ...]]:
    """The roots of a player's later searches, in groups that do not overlap and whose searches end alike."""
    found: dict[tuple[int, float, float], list[int]] = {}
    for s in np.flatnonzero((self.player == player) & self.decided).tolist():
      ends = self.horizon(player, s), self.horizon_before(player, s)
      found.setdefault((int(self.level[player][s]), *ends), []).append(s)
    return [tuple(found[key]) for key in sorted(found)]

  def kind(self, public_state: int) -> tuple[int, int, int]:
    """The kind of a search from here: player, level, cards; searches of a kind are padded alike."""
    player = int(self.player[public_state])
    return player, int(self.level[player][public_state]), int(self.chance[public_state])

  def kinds(self) -> dict[tuple[int, int, int], list[int]]:
    """The public states of each kind."""
    found: dict[tuple[int, int, int], list[int]] = {}
    for s in np.flatnonzero(self.player >= 0).tolist():
      found.setdefault(self.kind(s), []).append(s)
    return found

  def horizon(self, player: int, public_state: int) -> float:
    """How many stations a player has passed where the lookahead of a search from a public state ends."""
    if self.lookahead is None:
      return np.inf
    ahead = self.station[player][public_state] if self.lookahead == ROUND else self.lookahead
    return float(self.passed[player][public_state] + ahead)

  def horizon_before(self, player: int, public_state: int) -> float:
    """Where the lookahead ended of the search before one from a public state."""
    return self.horizon(player, int(self.last[player][public_state]))

  def overtaken(self, player: int) -> np.ndarray:
    """Where a player searches again below the end of the search before, int[n]."""
    own = np.flatnonzero((self.player == player) & self.decided)
    before = np.array([self.horizon_before(player, s) for s in own.tolist()])
    return own[self.passed[player][own] > before]

  def frontier(self, player: int, horizon: float) -> tuple[int, ...]:
    """The public states where a lookahead to a horizon ends; () if it goes to the end of the game."""
    return tuple(np.flatnonzero(self.station[player] & (self.passed[player] == horizon)).tolist())


def by_row(tree: PublicTree, player: int, numbers: np.ndarray) -> list[np.ndarray]:
  """Numbers of public states, int[P], as numbers of a player's rows: int[rows] for each block."""
  found = [np.zeros(rows, int) for _, rows, _ in tree.players[player].block_shapes]
  for d in tree.names.decisions:
    if d.player == player:
      found[d.block][d.row] = numbers[d.public_state]
  return found


class LevelPadding(NamedTuple):
  """The shapes to which a search's subgames are padded.

  Attributes:
    search: of the subgame to solve.
    promises: of the subgames in which the last search's promises are computed.
    beyond: of the subgame below the frontier, for a value function that solves it.
  """

  search: PadTo
  promises: PadTo
  beyond: PadTo


def own_shape(own):
  """No padding: a `PadTo`."""
  return own


OWN = LevelPadding(own_shape, own_shape, own_shape)


def level_padding(
  subgames: Subgames,
  levels: Levels,
  player: int,
  states: Sequence[int],
  asked: Sequence[Sequence[int]],
  actions,
) -> LevelPadding:
  """Count the shapes that hold every subgame of the searches from one of some public states of one kind.

  Args:
    subgames: of the game.
    levels: of the game.
    player: the searching player.
    states: the roots; see `Levels.kinds`.
    asked: groups of public states that do not overlap: where these searches need promises.
    actions: OpenSpiel actions that searches consider; all if None.
  """
  frontier = levels.frontier(player, levels.horizon(player, states[0]))
  search = subgames.shape([[s] for s in states], frontier, actions)
  promises = subgames.shape([], (), actions)
  for horizon in {levels.horizon_before(player, s) for s in states}:
    seen = levels.frontier(player, horizon)
    for group in asked:
      promises = promises.union(subgames.shape([[s] for s in group], seen, actions))
  below: Sequence[Collection[int]] = list(subgames.reached(states, frontier, actions).values())
  return LevelPadding(search.pad_to, promises.pad_to, subgames.shape(below).pad_to)
