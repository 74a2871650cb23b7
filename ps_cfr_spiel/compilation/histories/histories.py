"""All histories of a game as arrays, and facts read from them."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import ClassVar, TypeAlias

import numpy as np

from ps_cfr_spiel.compilation.histories.lazy_sequence import LazySequence
from ps_cfr_spiel.compilation.histories.numbering import first_members
from ps_cfr_spiel.tree import TERMINAL, Decision, Labels, Origin

Names: TypeAlias = list[str] | LazySequence[str]


@dataclasses.dataclass(frozen=True)
class Histories:
  """All N histories of a game, parents before children, children by ascending action.

  An enumeration in C++ keeps integers in as few bytes as they need, utilities in float32 where that is exact,
  and equal numbers as one.
  """

  parent: np.ndarray  #: int32[N], -1 at the root
  action: np.ndarray  #: int[N], OpenSpiel action that leads here; -1 at the root
  rank: np.ndarray  #: int[N], number of that action among the parent's
  depth: np.ndarray  #: int[N], length of the history
  player: np.ndarray  #: int[N], the acting player: 0, 1, ..., `CHANCE` or `TERMINAL`
  chance: np.ndarray  #: float64[N], product of the chance probabilities on the way
  utility: np.ndarray  #: float[N], to player 0; 0 before the end
  #: for each player int32[N], the number of the information state, acting or not.
  infostate: tuple[np.ndarray, ...]
  #: their names by number, for each player: the game's strings, or pasts where the game `remembers`.
  names: tuple[Names, ...]
  legal: np.ndarray  #: int32[N], number of the set of legal actions in `legal_sets`
  legal_sets: list[tuple[int, ...]]  #: the distinct sets of legal actions, ascending
  public: np.ndarray | None  #: int32[N], number of the string of the game's public observer, or None
  pruned: bool = False  #: whether chance had outcomes of probability zero, which are left out
  #: for each further player float[N], the utility; None in a zero-sum game of two.
  others: tuple[np.ndarray, ...] | None = None
  remembers: bool = False  #: whether infostates are pasts, by `remember`, instead of strings of the game
  bound: float = 0.0  #: of utilities where histories end before the game, in absolute terms

  @property
  def largest_value(self) -> float:
    """The largest utility of a player times its chance probability, in absolute terms."""
    ends = np.flatnonzero(self.player == TERMINAL)
    weighted = (self.chance[ends] * utility[ends] for utility in (self.utility, *(self.others or ())))
    return max(float(max(values.max(initial=0), -values.min(initial=0))) for values in weighted)

  @property
  def largest_utility(self) -> float:
    """The largest utility to player 0, in absolute terms."""
    return max(float(np.abs(self.utility).max()), self.bound)

  @property
  def players(self) -> range:
    """The players' numbers."""
    return range(len(self.names))

  @functools.cached_property
  def layers(self) -> tuple[np.ndarray, ...]:
    """The histories of each length, ascending."""
    return layers(self.depth)

  def path(self, history: int) -> list[int]:
    """The actions that lead to a history."""
    return path_to(self.parent, self.action, history)


@dataclasses.dataclass(frozen=True)
class HistoryOrigin(Origin):
  """The origin of a tree that was made by enumeration."""

  remark: ClassVar[str] = ""
  histories: Histories  #: all of them
  public: np.ndarray | None  #: int32[N], the public state of each, or None
  types: tuple[np.ndarray, ...]  #: for each player int[N], the type at each history

  @property
  def pruned(self) -> bool:
    return self.histories.pruned

  @property
  def num_histories(self) -> int:
    return len(self.histories.parent)

  @functools.cached_property
  def type_names(self) -> tuple[tuple[str, ...], ...]:
    """See `Origin`: the player's infostate at the first decision."""
    start = first_decisions(self.histories)
    after = np.flatnonzero(start >= 0)

    def names(player: int) -> tuple[str, ...]:
      if not self.types[player].any():
        return ("",)
      first = start[after[first_members(self.types[player][after])]]
      return tuple(self.histories.names[player][n] for n in self.histories.infostate[player][first].tolist())

    return tuple(map(names, self.histories.players))

  def path(self, decision: Decision, type_index: int) -> list[int]:
    return self.histories.path(decision.examples[type_index])

  def _members(self, public_state: int) -> np.ndarray:
    assert self.public is not None
    return np.flatnonzero(self.public == public_state)

  def history(self, public_state: int) -> list[int]:
    return self.histories.path(int(self._members(public_state)[0]))

  def count(self, public_state: int) -> int:
    return len(self._members(public_state))

  def possible_infostates(self, public_state: int) -> tuple[list[str], ...]:
    members, histories = self._members(public_state), self.histories
    return tuple(
      [histories.names[i][n] for n in np.unique(histories.infostate[i][members])] for i in histories.players
    )

  def payoffs(self, public_state: int) -> list[float]:
    return np.unique(self.histories.utility[self._members(public_state)]).tolist()

  def utility_ranges(self, decisions: Sequence[Decision]) -> list[np.ndarray]:
    histories, spread = self.histories, []
    end = histories.player == TERMINAL
    low, high = np.where(end, histories.utility, np.inf), np.where(end, histories.utility, -np.inf)
    for layer in reversed(histories.layers[1:]):
      np.minimum.at(low, histories.parent[layer], low[layer])
      np.maximum.at(high, histories.parent[layer], high[layer])
    for player in histories.players:
      of = histories.infostate[player]
      least = np.full(len(histories.names[player]), np.inf)
      most = -least
      acts = np.flatnonzero(histories.player == player)
      np.minimum.at(least, of[acts], low[acts])
      np.maximum.at(most, of[acts], high[acts])
      spread.append(np.where(np.isfinite(least), most - np.where(np.isfinite(least), least, 0), 0)[of])
    spreads = []
    for decision in decisions:
      examples = np.array(decision.examples)
      spreads.append(np.where(examples >= 0, spread[decision.player][examples], 0.0))
    return spreads


def others_or_none(histories: Histories) -> tuple[np.ndarray, ...] | None:
  """The utilities of further players; None where two players' sum to zero at every end."""
  others = histories.others or ()
  general = len(others) > 1 or any((histories.utility != -other).any() for other in others)
  return others if general else None


def history_origin(labels: Labels) -> HistoryOrigin | None:
  """The histories of a tree's game; None if the tree was made from a Bayesian form."""
  return labels.source if isinstance(labels.source, HistoryOrigin) else None


def path_to(parent: np.ndarray, action: np.ndarray, history: int) -> list[int]:
  """The actions that lead to a history, by the columns of `Histories`."""
  actions = []
  while parent[history] >= 0:
    actions.append(int(action[history]))
    history = parent[history]
  return actions[::-1]


def last_choices(histories: Histories, player: int) -> np.ndarray:
  """int32[N, 2]: the player's last choice, (information state, number of the action), before each history.

  (-1, -1) if the player has not acted yet.
  """
  last = np.full((len(histories.parent), 2), -1, np.int32)
  for layer in histories.layers[1:]:
    acts = histories.player[histories.parent[layer]] == player
    below, acted = layer[~acts], layer[acts]
    last[below] = last[histories.parent[below]]
    last[acted, 0] = histories.infostate[player][histories.parent[acted]]
    last[acted, 1] = histories.rank[acted]
  return last


def first_decisions(histories: Histories) -> np.ndarray:
  """int32[N]: the first decision on the way to each history, -1 before it."""
  start = np.full(len(histories.parent), -1, np.int32)
  for layer in histories.layers:
    above = histories.parent[layer]
    inherited = np.where(above >= 0, start[above], np.int32(-1))
    start[layer] = np.where((inherited < 0) & (histories.player[layer] >= 0), layer, inherited)
  return start


def find_histories(some: Histories, others: Histories) -> np.ndarray:
  """int[N]: for each of some histories the number of the same one among others of the game; -1 without."""
  if len(others.parent) == 1:
    return np.where(np.arange(len(some.parent)) == 0, 0, -1)
  width = max(int(some.action.max()), int(others.action.max())) + 1
  key = others.parent[1:].astype(np.int64) * width + others.action[1:]
  order = np.argsort(key)
  ascending, at = key[order], np.full(len(some.parent), -1)
  at[0] = 0
  for layer in some.layers[1:]:
    wanted = at[some.parent[layer]] * width + some.action[layer]
    place = np.minimum(np.searchsorted(ascending, wanted), len(ascending) - 1)
    same = (at[some.parent[layer]] >= 0) & (ascending[place] == wanted)
    at[layer] = np.where(same, order[place] + 1, -1)
  return at


def choice_rows(choices: np.ndarray, row: np.ndarray) -> np.ndarray:
  """int[n, 2] of `last_choices` in the form of `make_forest`: by row instead of by information state.

  `row`, int[infostates], is the row in which each infostate of the player is stored.
  """
  return np.where(choices[:, :1] >= 0, np.stack([row[choices[:, 0]], choices[:, 1]], 1), -1)


def layers(depth: np.ndarray) -> tuple[np.ndarray, ...]:
  """The histories, or any nodes, of each depth: arrays of numbers, ascending, from depths int[n]."""
  small = depth.astype(np.int16) if depth.max(initial=0) < 2**15 else depth  # NumPy sorts int16 by counting
  order = np.argsort(small, kind="stable").astype(np.int32)
  return tuple(np.split(order, np.cumsum(np.bincount(depth))[:-1]))
