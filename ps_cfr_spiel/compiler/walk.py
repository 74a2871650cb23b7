"""Visits every history of a pyspiel game once and turns the game into arrays.

The only place that holds pyspiel states; memory and time are linear in the number of histories.
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import ClassVar, TypeAlias

import numpy as np
import pyspiel
from tqdm.auto import tqdm

from ps_cfr_spiel.compiler import game_laws
from ps_cfr_spiel.tree import CHANCE, TERMINAL, Decision, Labels

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
  """What a tree that was made by walking came from; see `tree.Source`.

  Attributes:
    histories: all of them.
    public: int32[N], the public state of each, or None.
    types: for each player int[N], the type at each history.
  """

  remark: ClassVar[str] = ""
  histories: Histories
  public: np.ndarray | None
  types: tuple[np.ndarray, np.ndarray]

  def path(self, decision: Decision, type_index: int) -> list[int]:
    """See `tree.Labels`."""
    return self.histories.path(decision.examples[type_index])

  def _members(self, public_state: int) -> np.ndarray:
    assert self.public is not None
    return np.flatnonzero(self.public == public_state)

  def history(self, public_state: int) -> list[int]:
    """See `tree.Labels`."""
    return self.histories.path(int(self._members(public_state)[0]))

  def count(self, public_state: int) -> int:
    """See `tree.Labels`."""
    return len(self._members(public_state))

  def known(self, public_state: int) -> tuple[list[str], list[str]]:
    """See `tree.Labels`."""
    members = self._members(public_state)
    first, second = (
      [self.histories.names[i][n] for n in np.unique(self.histories.infostate[i][members])] for i in (0, 1)
    )
    return first, second

  def spreads(self, decisions: Sequence[Decision]) -> list[np.ndarray]:
    """See `tree.Labels`."""
    histories, spread = self.histories, []
    end = histories.player == TERMINAL
    low, high = np.where(end, histories.utility, np.inf), np.where(end, histories.utility, -np.inf)
    for here in reversed(layers(histories.depth)[1:]):
      np.minimum.at(low, histories.parent[here], low[here])
      np.maximum.at(high, histories.parent[here], high[here])
    for player in (0, 1):
      of = histories.infostate[player]
      least = np.full(len(histories.names[player]), np.inf)
      most = -least
      acts = np.flatnonzero(histories.player == player)
      np.minimum.at(least, of[acts], low[acts])
      np.maximum.at(most, of[acts], high[acts])
      spread.append(most[of] - least[of])
    found = []
    for decision in decisions:
      examples = np.array(decision.examples)
      found.append(np.where(examples >= 0, spread[decision.player][examples], 0.0))
    return found


def walked(labels: Labels) -> Walked | None:
  """The histories that a tree was made from; None if it was made from a Bayesian form."""
  return labels.source if isinstance(labels.source, Walked) else None


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
  on_fault: "OnFault | None" = None,
) -> Histories:
  """Enumerates a sequential two-player game, and checks every state by the laws of `game_laws`.

  Args:
    game: the game.
    limit: most histories to visit.
    progress: show a progress bar.
    observe: what is publicly seen at a state; kept as `Histories.public`.
    on_fault: told what is wrong with a state, instead of the ValueError.

  Returns:
    The histories.

  Raises:
    ValueError: the game has more than `limit` histories, or a state breaks a law.
    Exception: whatever the game raises, with a note on the history at which it does.
  """
  recorder = _Recorder(on_fault or functools.partial(_refuse, game), observe)
  # A state is made when it is visited: siblings in waiting would hold most of the memory.
  stack: list = [(None, -1, -1, 0, 0, 1.0)]
  above = move = -1
  with tqdm(
    disable=not progress, unit=" histories", desc="Walking", unit_scale=True, delay=1, leave=False
  ) as bar:
    try:
      while stack:
        before, above, move, number, length, probability = stack.pop()
        here = len(recorder.parent)
        if here >= limit:
          raise TooManyHistories(
            f"{game} has more than {limit:,} histories, the limit on what is walked. Time and memory grow "
            f"with it; build_tree(game, limit=...), PSCFRSolver(game, limit=...) or --limit raise it."
          )
        if not here % PROGRESS_EVERY:
          bar.update(here - bar.n)
        state = game.new_initial_state() if before is None else before.child(move)
        moves = recorder.visit(state, above, move, number, length, probability)
        for k in range(len(moves) - 1, -1, -1):
          a, q = moves[k]
          stack.append((state, here, a, k, length + 1, probability * q))
    except TooManyHistories:
      raise
    except Exception as error:
      error.add_note(f"while walking {game}, at history {recorder.path(above, move)}")
      raise
    bar.update(len(recorder.parent) - bar.n)
  return recorder.histories()


OnFault: TypeAlias = Callable[[str, pyspiel.State, str], None]  # (the law's name, the state, what breaks it)


class TooManyHistories(ValueError):  # noqa: N818
  """A game is larger than the limit on what is walked."""


def _refuse(game: pyspiel.Game, _: str, state: pyspiel.State, fault: str) -> None:
  raise ValueError(f"{game}: at history {state.history()}, {fault}.")


class _Recorder:
  """The columns of `Histories` while they grow, and the laws that each state must keep."""

  def __init__(self, on_fault: OnFault, observe: Callable[[pyspiel.State], str] | None):
    self.on_fault, self.observe = on_fault, observe
    self.parent, self.action, self.rank, self.depth, self.player = [], [], [], [], []
    self.chance, self.utility, self.info0, self.info1, self.legal, self.public = [], [], [], [], [], []
    self.names = (_Numbers(), _Numbers())
    self.legal_sets, self.public_strings = _Numbers(), _Numbers()

  def visit(self, state, above, move, number, length, probability) -> list[tuple[int, float]]:
    """Records a state; returns its moves with their probabilities, ascending, none at the end."""
    acting = state.current_player()
    self.info0.append(self.names[0][state.information_state_string(0)])
    self.info1.append(self.names[1][state.information_state_string(1)])
    if self.observe is not None:
      self.public.append(self.public_strings[self.observe(state)])
    moves, value = [], 0.0
    if acting == TERMINAL:
      returns = state.returns()
      value = returns[0]
      if len(returns) != 2 or value + returns[1] != 0:  # most are exact
        self._check("returns", state, game_laws.returns_fault(returns))
    elif acting == CHANCE:
      moves = self._outcomes(state)
    elif acting in game_laws.PLAYERS:
      moves = [(a, 1.0) for a in state.legal_actions()]
    else:
      self.on_fault("mover", state, game_laws.mover_text(acting))
    legal = tuple([a for a, _ in moves])
    if acting in game_laws.PLAYERS and not (legal and legal in self.legal_sets):  # a set is checked once
      self._check("legal actions", state, game_laws.legal_fault(legal))
    self.utility.append(value)
    self.legal.append(self.legal_sets[legal])
    self.parent.append(above)
    self.action.append(move)
    self.rank.append(number)
    self.depth.append(length)
    self.player.append(acting)
    self.chance.append(probability)
    return moves

  def _outcomes(self, state: pyspiel.State) -> list[tuple[int, float]]:
    outcomes = state.chance_outcomes()
    self._check("chance", state, game_laws.chance_fault(outcomes))
    return sorted((a, q) for a, q in outcomes if q > 0)

  def _check(self, law: str, state: pyspiel.State, fault: str | None) -> None:
    if fault:
      self.on_fault(law, state, fault)

  def path(self, above: int, move: int) -> list[int]:
    """The actions that lead to the child of history `above` by `move`."""
    actions = []
    while above >= 0:
      actions.append(move)
      above, move = self.parent[above], self.action[above]
    return actions[::-1]

  def histories(self) -> Histories:
    """What was recorded, as arrays."""
    columns = (
      self.parent, self.action, self.rank, self.depth, self.player, self.info0, self.info1, self.legal,
    )  # fmt: skip
    integers = [np.array(column, np.int32) for column in columns]
    return Histories(
      *integers[:5],
      chance=np.array(self.chance),
      utility=np.array(self.utility),
      infostate=(integers[5], integers[6]),
      names=(list(self.names[0]), list(self.names[1])),
      legal=integers[7],
      legal_sets=list(self.legal_sets),
      public=np.array(self.public, np.int32) if self.observe is not None else None,
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


def choice_rows(choices: np.ndarray, row: np.ndarray) -> np.ndarray:
  """Last choices as `make_forest` wants them, by row instead of by information state.

  Args:
    choices: int[n, 2] of `last_choices`.
    row: int[infostates], the row in which each infostate of the player is stored.

  Returns:
    int[n, 2]: (row, number of the action), or (-1, -1) if the player has not acted yet.
  """
  return np.where(choices[:, :1] >= 0, np.stack([row[choices[:, 0]], choices[:, 1]], 1), -1)


def layers(depth: np.ndarray) -> tuple[np.ndarray, ...]:
  """The histories, or any nodes, of each depth: int[n] to arrays of numbers."""
  order = np.argsort(depth, kind="stable")
  return tuple(np.split(order, np.cumsum(np.bincount(depth))[:-1]))
