"""Visits every history of a pyspiel game once and turns the game into arrays.

The only place that holds pyspiel states; memory and time are linear in the number of histories.
"""

import dataclasses
from collections.abc import Callable
from typing import ClassVar

import numpy as np
import pyspiel
from tqdm.auto import tqdm

from ps_cfr_spiel.tree import Decision, Labels

TERMINAL = int(pyspiel.PlayerId.TERMINAL)
CHANCE = int(pyspiel.PlayerId.CHANCE)
PROGRESS_EVERY = 50_000  # histories


@dataclasses.dataclass(frozen=True)
class Histories:
  """All N histories of a game, parents before children, children by ascending action.

  Attributes:
    parent: int32[N], -1 at the root.
    action: int32[N], OpenSpiel action that leads here; -1 at the root.
    rank: int32[N], number of that action among the parent's.
    depth: int32[N], length of the history.
    player: int32[N], who acts: 0, 1, `CHANCE` or `TERMINAL`.
    chance: float64[N], product of the chance probabilities on the way.
    utility: float64[N], to player 0; 0 before the end.
    infostate: (int32[N], int32[N]), the number of each player's information state, acting or not.
    names: the information state strings by number, for each player.
    legal: int32[N], number of the set of legal actions in `legal_sets`.
    legal_sets: the distinct sets of legal actions, ascending.
    public: int32[N], number of the string of the game's public observer, or None.
  """

  parent: np.ndarray
  action: np.ndarray
  rank: np.ndarray
  depth: np.ndarray
  player: np.ndarray
  chance: np.ndarray
  utility: np.ndarray
  infostate: tuple[np.ndarray, np.ndarray]
  names: tuple[list[str], list[str]]
  legal: np.ndarray
  legal_sets: list[tuple[int, ...]]
  public: np.ndarray | None

  def path(self, history: int) -> list[int]:
    """The actions that lead to a history."""
    actions = []
    while self.parent[history] >= 0:
      actions.append(int(self.action[history]))
      history = self.parent[history]
    return actions[::-1]


@dataclasses.dataclass(frozen=True)
class Walked:
  """Finds the histories of a tree that was made by walking; see `tree.Source`.

  Attributes:
    histories: all of them.
    public: int32[N], the public state of each, or None.
  """

  remark: ClassVar[str] = ""
  histories: Histories
  public: np.ndarray | None

  def path(self, labels: Labels, decision: Decision, type_index: int) -> list[int]:
    """See `tree.Source`."""
    return self.histories.path(decision.examples[type_index])

  def _members(self, public_state: int) -> np.ndarray:
    assert self.public is not None
    return np.flatnonzero(self.public == public_state)

  def history(self, labels: Labels, public_state: int) -> list[int]:
    """See `tree.Source`."""
    return self.histories.path(int(self._members(public_state)[0]))

  def count(self, labels: Labels, public_state: int) -> int:
    """See `tree.Source`."""
    return len(self._members(public_state))

  def infostates(self, labels: Labels, public_state: int) -> tuple[list[str], list[str]]:
    """See `tree.Source`."""
    members = self._members(public_state)
    first, second = (
      [self.histories.names[i][n] for n in np.unique(self.histories.infostate[i][members])] for i in (0, 1)
    )
    return first, second


class _Numbers(dict):
  """Numbers things 0, 1, 2, ... as they are first seen."""

  def __missing__(self, key):
    self[key] = number = len(self)
    return number


def walk(
  game: pyspiel.Game,
  limit: int,
  progress: bool = False,
  observe: Callable[[pyspiel.State], str] | None = None,
) -> Histories:
  """Enumerates a sequential two-player game.

  Args:
    game: the game.
    limit: most histories to visit.
    progress: show a progress bar.
    observe: what is publicly seen at a state; kept as `Histories.public`.

  Returns:
    The histories.

  Raises:
    ValueError: the game has more than `limit` histories.
  """
  columns: tuple[list, ...] = ([], [], [], [], [], [], [], [], [], [], [])
  parent, action, rank, depth, player, chance, utility, info0, info1, legal, public = columns
  numbers = (_Numbers(), _Numbers())
  legal_sets, public_strings = _Numbers(), _Numbers()
  # A state is made when it is visited: siblings in waiting would hold most of the memory.
  stack: list = [(None, -1, -1, 0, 0, 1.0)]
  with tqdm(
    disable=not progress, unit=" histories", desc="Walking", unit_scale=True, delay=1, leave=False
  ) as bar:
    while stack:
      before, above, move, number, length, probability = stack.pop()
      state = game.new_initial_state() if before is None else before.child(move)
      here = len(parent)
      if here >= limit:
        raise ValueError(
          f"{game} has more than {limit:,} histories, the limit on what is walked. Time and memory grow with "
          f"it; build_tree(game, limit=...), PSCFRSolver(game, limit=...) or --limit raise it."
        )
      if not here % PROGRESS_EVERY:
        bar.update(here - bar.n)
      acting = state.current_player()
      parent.append(above)
      action.append(move)
      rank.append(number)
      depth.append(length)
      player.append(acting)
      chance.append(probability)
      info0.append(numbers[0][state.information_state_string(0)])
      info1.append(numbers[1][state.information_state_string(1)])
      if observe is not None:
        public.append(public_strings[observe(state)])
      if acting == TERMINAL:
        utility.append(state.player_return(0))
        legal.append(legal_sets[()])
        continue
      utility.append(0.0)
      if acting == CHANCE:
        outcomes = state.chance_outcomes()
        moves = sorted((a, q) for a, q in outcomes if q > 0)
      else:
        moves = [(a, 1.0) for a in state.legal_actions()]
      legal.append(legal_sets[tuple(a for a, _ in moves)])
      for k in range(len(moves) - 1, -1, -1):
        a, q = moves[k]
        stack.append((state, here, a, k, length + 1, probability * q))
    bar.update(len(parent) - bar.n)
  integers = [np.array(c, np.int32) for c in (parent, action, rank, depth, player, info0, info1, legal)]
  return Histories(
    *integers[:5],
    chance=np.array(chance),
    utility=np.array(utility),
    infostate=(integers[5], integers[6]),
    names=(list(numbers[0]), list(numbers[1])),
    legal=integers[7],
    legal_sets=list(legal_sets),
    public=np.array(public, np.int32) if observe is not None else None,
  )


def last_choices(histories: Histories, player: int) -> np.ndarray:
  """The player's last choice before each history.

  Returns:
    int32[N, 2]: (information state, number of the action), or (-1, -1) if the player has not acted yet.
  """
  last = np.full((len(histories.parent), 2), -1, np.int32)
  for d in range(1, int(histories.depth.max(initial=0)) + 1):
    here = np.flatnonzero(histories.depth == d)
    above = histories.parent[here]
    own = histories.player[above] == player
    choice = np.stack([histories.infostate[player][above], histories.rank[here]], 1)
    last[here] = np.where(own[:, None], choice, last[above])
  return last
