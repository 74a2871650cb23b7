"""The public part of a game whose private information is dealt once: its lines of betting, as arrays."""

import dataclasses
import functools
from collections.abc import Sequence

import numpy as np
import pyspiel

from ps_cfr_spiel.cards.poker.betting import CHANCE, TERMINAL, BettingState


@dataclasses.dataclass(frozen=True, eq=False)
class Betting:
  """N lines of betting, parents before children; the betting does not depend on the cards.

  A line ends by a fold, whose payoffs are fixed, or at a showdown, which the stronger type wins. The utility
  of player i is `fold_payoff[:, i]`, plus `showdown_payoff` with the stronger type, or less it with the
  weaker. So a share of the pot that neither player gets is a part of `fold_payoff`. The whole betting has one
  root; a `part` of it may have several.
  """

  parent: np.ndarray  #: int32[N], the line before the last action, -1 at a root
  action: np.ndarray  #: int32[N], OpenSpiel's action that leads here, -1 after public cards and at the root
  #: int32[N], 0 or 1 to act, `CHANCE` (-1) where public cards come, after which one line follows, or
  #: `TERMINAL` (-4). In a part no line follows public cards that bring a street that it leaves out.
  player: np.ndarray
  street: np.ndarray  #: int32[N], the number of times that public cards have come
  #: float64[N, 2], the fixed payoff to each player, for all types; 0 before the end, and at most showdowns.
  fold_payoff: np.ndarray
  showdown_payoff: np.ndarray  #: float64[N], to player 0 if the stronger; 0 before the end and after folds
  showdown_index: np.ndarray  #: int32[N], which of K showdowns, between which strengths differ, each end is
  paid: np.ndarray | None = None  #: float64[N, 2], what each player has put into the pot; None: 0
  # These follow from the columns above, and are computed once.
  #: int[N]: the number of lines that follow each line
  moves: np.ndarray = dataclasses.field(init=False, repr=False)
  #: int[n]: the lines at which the game is over
  ends: np.ndarray = dataclasses.field(init=False, repr=False)
  #: int[n]: the line of the last action before each end: itself, or an all-in before a card
  last_acting: np.ndarray = dataclasses.field(init=False, repr=False)
  #: the number of streets
  streets: int = dataclasses.field(init=False, repr=False)
  #: K, the number of showdowns between which strengths differ
  showdowns: int = dataclasses.field(init=False, repr=False)
  #: whether payoffs to both players add up to zero at every end
  zero_sum: bool = dataclasses.field(init=False, repr=False)
  #: the largest utility, in absolute terms
  largest_payoff: float = dataclasses.field(init=False, repr=False)

  @classmethod
  def create(
    cls,
    parent: Sequence[int] | np.ndarray,
    action: Sequence[int] | np.ndarray,
    player: Sequence[int] | np.ndarray,
    fold_payoff: Sequence[float] | Sequence[Sequence[float]] | np.ndarray,
    showdown_payoff: Sequence[float] | np.ndarray,
    street: Sequence[int] | np.ndarray | None = None,
    showdown_index: Sequence[int] | np.ndarray | None = None,
    paid: Sequence[Sequence[float]] | np.ndarray | None = None,
  ) -> "Betting":
    """The lines from columns of numbers; by default no public cards come, and all showdowns are alike.

    `fold_payoff` is [N, 2], or in a zero-sum game [N], to player 0.
    """
    none, folds = np.zeros(len(parent), np.int32), np.asarray(fold_payoff, float)
    return cls(
      parent=np.asarray(parent, np.int32),
      action=np.asarray(action, np.int32),
      player=np.asarray(player, np.int32),
      street=none if street is None else np.asarray(street, np.int32),
      fold_payoff=folds if folds.ndim == 2 else np.stack([folds, -folds], 1),
      showdown_payoff=np.asarray(showdown_payoff, float),
      showdown_index=none if showdown_index is None else np.asarray(showdown_index, np.int32),
      paid=None if paid is None else np.asarray(paid, float),
    )

  @classmethod
  def of_states(cls, states: Sequence[BettingState], unit: int = 1) -> "Betting":
    """The lines of `betting.betting_states`, with this number of chips in a unit."""
    return cls.create(
      parent=[state.parent for state in states],
      action=[state.action for state in states],
      player=[state.player for state in states],
      fold_payoff=[state.fold_payoff for state in states],
      showdown_payoff=[state.showdown_payoff for state in states],
      street=[state.street for state in states],
      paid=np.array([state.spent for state in states]) / unit,
    )

  def __post_init__(self):
    count = len(self.parent)
    for name in ("action", "player", "street", "fold_payoff", "showdown_payoff", "showdown_index"):
      if (given := len(vars(self)[name])) != count:
        raise ValueError(f"parent has {count} lines and {name} {given}; each line has an entry in both.")
    if not ((self.parent >= -1) & (self.parent < np.arange(count))).all():
      raise ValueError("parent: the line before each one has a smaller number; that of a first line is -1.")
    ends = last = np.flatnonzero(self.player == TERMINAL)
    while (dealt := (self.parent[last] >= 0) & (self.player[self.parent[last]] == CHANCE)).any():
      last = np.where(dealt, self.parent[last], last)
    largest = np.abs(self.showdown_payoff) + np.abs(self.fold_payoff).max(1)
    vars(self).update(
      moves=np.bincount(self.parent + 1, minlength=len(self.parent) + 1)[1:],
      ends=ends,
      last_acting=last,
      streets=int(self.street.max()) + 1,
      showdowns=int(self.showdown_index.max()) + 1,
      zero_sum=not self.fold_payoff.sum(1).any(),
      largest_payoff=float(largest.max(initial=0)),
    )

  def __len__(self) -> int:
    """N."""
    return len(self.parent)

  @functools.cached_property
  def _ordered(self) -> tuple[np.ndarray, np.ndarray]:
    """int[N], the lines, those that follow one line side by side, by ascending action; and int[N], the place
    there of the first line that follows each line, where the roots stand before.
    """
    first = np.count_nonzero(self.parent < 0) + np.cumsum(self.moves) - self.moves
    return np.lexsort((self.action, self.parent)), first

  @functools.cached_property
  def rank(self) -> np.ndarray:
    """int[N]: the number of each line among those that follow the same line."""
    ordered, first = self._ordered
    place = np.zeros(len(ordered), int)
    place[ordered] = np.arange(len(ordered))
    return np.where(self.parent >= 0, place - first[self.parent], 0)

  @property
  def num_actions(self) -> np.ndarray:
    """int[N]: the number of actions at each line."""
    return self.moves

  def children(self, line: int) -> list[int]:
    """The lines that follow a line, by ascending action."""
    ordered, first = self._ordered
    return ordered[first[line] : first[line] + self.moves[line]].tolist()

  def legal_actions(self, line: int) -> list[int]:
    """The actions at a line, ascending; [-1] where public cards come."""
    return self.action[self.children(line)].tolist()

  def child(self, line: int, action: int) -> int:
    """The line after an action, -1 where public cards come; ValueError for an action that is not legal."""
    actions = self.legal_actions(line)
    if action not in actions:
      legal = ", ".join(map(str, actions)) or "none"
      raise ValueError(f"action {action} is not legal at line {line}; legal are {legal}")
    return self.children(line)[actions.index(action)]

  def line_of(self, state: pyspiel.State) -> int:
    """The line of a state of OpenSpiel, after the cards that have come."""
    line = 0
    for move in state.full_history():
      if move.player >= 0:
        line = self.child(line, move.action)
        while self.player[line] == CHANCE:  # the cards that come are in the history too
          line = self.child(line, -1)
    return line

  def part(self, roots: Sequence[int] | np.ndarray, streets: range) -> tuple["Betting", np.ndarray]:
    """The lines of some streets from some lines on: those, then all that follow, depth by depth.

    Lines that follow one line are side by side, by ascending action.

    Returns:
      The part, and int32[n], which of these lines each of its own is.
    """
    inside = np.isin(self.street, streets)
    ordered, first = self._ordered
    line, parent, start = np.asarray(roots, int), np.full(len(roots), -1), 0
    lines, parents = [line], [parent]
    while len(line):
      moves = self.moves[line]
      before = np.repeat(np.arange(len(line)), moves)
      number = np.arange(len(before)) - (np.cumsum(moves) - moves)[before]
      after = ordered[first[line][before] + number]
      parent = (start + before)[inside[after]]
      start, line = start + len(line), after[inside[after]]
      lines.append(line)
      parents.append(parent)
    line = np.concatenate(lines)
    part = Betting(
      parent=np.concatenate(parents).astype(np.int32),
      action=self.action[line],
      player=self.player[line],
      street=self.street[line],
      fold_payoff=self.fold_payoff[line],
      showdown_payoff=self.showdown_payoff[line],
      showdown_index=self.showdown_index[line],
      paid=None if self.paid is None else self.paid[line],
    )
    return part, line.astype(np.int32)

  def last_choices(self, player: int) -> np.ndarray:
    """int[N, 2]: a player's last choice before each line, -1 without one.

    The first is the place, among the lines in which the player acts, of the line of that choice; the other is
    the number of the action there.
    """
    place = np.cumsum(self.player == player) - 1
    choices = np.full((len(self), 2), -1)
    line = node = np.arange(len(self))
    while len(line):  # all lines climb at once, until their player's own choice or the root
      above = self.parent[node]
      acts = (above >= 0) & (self.player[above] == player)
      choices[line[acts]] = np.stack([place[above[acts]], self.rank[node[acts]]], 1)
      on = (above >= 0) & ~acts
      line, node = line[on], above[on]
    return choices
