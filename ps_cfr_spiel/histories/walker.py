"""The walk: every history of a pyspiel game is visited once and recorded in arrays.

Only this file holds pyspiel states; memory and time are linear in the number of histories.
"""

import functools
import sys
from array import array
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pyspiel

from ps_cfr_spiel.histories import game_laws
from ps_cfr_spiel.histories.histories import Histories
from ps_cfr_spiel.histories.limits import Limits, TooLarge, Watch
from ps_cfr_spiel.tree import CHANCE, TERMINAL

KEY_BYTES = 100  # of a string beside its own: in the table that numbers it, and in a list

OnFault: TypeAlias = Callable[[str, pyspiel.State, str], None]  # (name of the law, state, text on the fault)


def walk(
  game: pyspiel.Game,
  limits: Limits | None = None,
  progress: bool | None = None,
  observe: Callable[[pyspiel.State], str] | None = None,
  on_fault: OnFault | None = None,
) -> Histories:
  """Enumerate a sequential two-player game, and check every state by the laws of `game_laws`.

  Args:
    game: the game.
    limits: maximum numbers of histories and bytes; the default ones if None.
    progress: show a progress bar; see `reports.progress_bar`.
    observe: state -> public observation; kept as `Histories.public`.
    on_fault: called with each fault of a state, instead of a ValueError.

  Returns:
    The histories.

  Raises:
    TooLarge: the game exceeds the limits, or surely would.
    ValueError: a state breaks a law.
    Exception: any error of the game's own code, with a note on its history.
  """
  recorder = _Recorder(on_fault or functools.partial(_refuse, game), observe)
  state, above, move, rank, depth, chance = game.new_initial_state(), -1, -1, 0, 0, 1.0
  waiting: list = []  # histories on the path with children to visit: arguments of `visit`, and the rest
  here = stop = 0
  with Watch(game, limits or Limits.create(), progress) as watch:
    try:
      while True:
        if here >= stop:
          stop = watch.look(here, recorder)
        actions, odds = recorder.visit(state, above, move, rank, depth, chance)
        if actions:
          actions.reverse()  # `pop` then takes the lowest
          waiting.append((state, here, depth + 1, chance, actions, len(actions), odds))
        elif not waiting:
          break
        here += 1
        # A state is made when it is visited, the last child from its parent's own, which is not needed any
        # more: waiting siblings would hold most of the memory.
        state, above, depth, chance, actions, count, odds = waiting[-1]
        rank, move = count - len(actions), actions.pop()
        if odds:
          chance *= odds[rank]
        if actions:
          state = state.child(move)
        else:
          waiting.pop()
          state.apply_action(move)
    except TooLarge:
      raise
    except Exception as error:
      error.add_note(f"while walking {game}, at history {recorder.path(above, move)}")
      raise
  return recorder.histories()


def _refuse(game: pyspiel.Game, _: str, state: pyspiel.State, fault: str) -> None:
  raise ValueError(f"{game}: at history {state.history()}, {fault}.")


class _Numbers(dict):
  """Numbers 0, 1, 2, ... for keys in the order of their first use; `size` counts the bytes."""

  size = 0

  def __missing__(self, key):
    self[key] = number = len(self)
    self.size += sys.getsizeof(key) + KEY_BYTES
    return number


class _Recorder:
  """The growing columns of `Histories`, and the laws that each state must keep."""

  def __init__(self, on_fault: OnFault, observe: Callable[[pyspiel.State], str] | None):
    self.on_fault, self.observe = on_fault, observe
    self.parent, self.action, self.rank, self.depth, self.player = (array("i") for _ in range(5))
    self.info0, self.info1, self.legal, self.public = (array("i") for _ in range(4))
    self.chance, self.utility = array("d"), array("d")
    self.names0, self.names1, self.public_strings, self.legal_sets = (_Numbers() for _ in range(4))
    self.choices = array("i")  # in each set of legal actions
    self.pruned = False

  def visit(
    self, state: pyspiel.State, above: int, move: int, rank: int, depth: int, chance: float
  ) -> tuple[list[int], list[float] | None]:
    """Record a state; returns its actions, none at the end, and the probabilities of chance's."""
    acting = state.current_player()
    self.info0.append(self.names0[state.information_state_string(0)])
    self.info1.append(self.names1[state.information_state_string(1)])
    if self.observe is not None:
      self.public.append(self.public_strings[self.observe(state)])
    actions, odds, value = [], None, 0.0
    if acting == TERMINAL:
      returns = state.returns()
      value = returns[0]
      if len(returns) != 2 or value + returns[1] != 0:  # most are exact
        self._check("returns", state, game_laws.returns_fault(returns))
    elif acting == CHANCE:
      actions, odds = self._outcomes(state)
    elif acting in game_laws.PLAYERS:
      actions = state.legal_actions()
    else:
      self.on_fault("mover", state, game_laws.mover_text(acting))
    legal = tuple(actions)
    if legal not in self.legal_sets or (acting >= 0 and not legal):
      self._add_legal(state, acting, legal)
    self.legal.append(self.legal_sets[legal])
    self.utility.append(value)
    self.parent.append(above)
    self.action.append(move)
    self.rank.append(rank)
    self.depth.append(depth)
    self.player.append(acting)
    self.chance.append(chance)
    return actions, odds

  def _add_legal(self, state: pyspiel.State, acting: int, legal: tuple[int, ...]) -> None:
    """Check and number a set of legal actions."""
    if acting in game_laws.PLAYERS:
      self._check("legal actions", state, game_laws.legal_fault(legal))
    if self.legal_sets[legal] == len(self.choices):
      self.choices.append(len(legal))

  def _outcomes(self, state: pyspiel.State) -> tuple[list[int], list[float]]:
    outcomes = state.chance_outcomes()
    self._check("chance", state, game_laws.chance_fault(outcomes))
    possible = sorted((a, q) for a, q in outcomes if q > 0)
    self.pruned |= len(possible) < len(outcomes)
    return [a for a, _ in possible], [q for _, q in possible]

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

  def key_bytes(self) -> int:
    """See `limits.WalkProgress`."""
    return sum(table.size for table in (self.names0, self.names1, self.public_strings, self.legal_sets))

  def share(self) -> float:
    """See `limits.WalkProgress`."""
    # The last history counts 0; its parent counts the children before it; and so on up.
    share, here = 0.0, len(self.parent) - 1
    while self.parent[here] >= 0:
      share = (self.rank[here] + share) / self.choices[self.legal[self.parent[here]]]
      here = self.parent[here]
    return share

  def histories(self) -> Histories:
    """The recorded columns, as arrays over the same memory."""
    columns = (
      self.parent, self.action, self.rank, self.depth, self.player, self.info0, self.info1, self.legal,
    )  # fmt: skip
    integers = [np.frombuffer(column, np.int32) for column in columns]
    return Histories(
      *integers[:5],
      chance=np.frombuffer(self.chance),
      utility=np.frombuffer(self.utility),
      infostate=(integers[5], integers[6]),
      names=(list(self.names0), list(self.names1)),
      legal=integers[7],
      legal_sets=list(self.legal_sets),
      public=np.frombuffer(self.public, np.int32) if self.observe is not None else None,
      pruned=self.pruned,
    )
