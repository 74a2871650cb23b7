"""The enumeration in Python: every history of a pyspiel game is visited once and recorded in arrays.

Memory and time are linear in the number of histories, and no history is a Python object.
"""

import functools
import sys
from array import array
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pyspiel

from ps_cfr_spiel.compilation.histories import game_checks
from ps_cfr_spiel.compilation.histories.histories import Histories
from ps_cfr_spiel.compilation.histories.limits import EnumerationProgress, Stopped, Watch
from ps_cfr_spiel.compilation.histories.player_information import strings_of
from ps_cfr_spiel.memory import TooLarge
from ps_cfr_spiel.tree import CHANCE, TERMINAL

KEY_BYTES = 100  # of a string beside its own: in the table that numbers it, and in a list

OnFault: TypeAlias = Callable[[str, pyspiel.State, str], None]  # (name of the check, state, fault)


def _refuse(game: pyspiel.Game, _: str, state: pyspiel.State, fault: str) -> None:
  raise ValueError(f"{game}: at history {state.history()}, {fault}.")


class _Numbers(dict):
  """Numbers 0, 1, 2, ... for keys in the order of their first use; `size` counts the bytes."""

  size = 0

  def __missing__(self, key):
    self[key] = number = len(self)
    self.size += sys.getsizeof(key) + KEY_BYTES
    return number


class Recorder(EnumerationProgress):
  """The growing columns of `Histories`, and the checks that each state must pass."""

  def __init__(
    self,
    game: pyspiel.Game,
    observe: Callable[[pyspiel.State], str] | None = None,
    on_fault: OnFault | None = None,
  ):
    """Has no history yet; `observe` and `on_fault` are those of `enumerate_histories`."""
    self.game, self.observe = game, observe
    self.on_fault = on_fault or functools.partial(_refuse, game)
    self.infostates = strings_of(game) == "information_state_string"
    self.players = range(game.num_players())
    self.sums_to_zero = game_checks.is_zero_sum(game)
    self.parent, self.action, self.rank, self.depth, self.player = (array("i") for _ in range(5))
    self.info, self.names = [array("i") for _ in self.players], [_Numbers() for _ in self.players]
    self.knowledge = [(i, self.info[i].append, self.names[i]) for i in self.players]
    self.legal, self.public = array("i"), array("i")
    self.chance, self.utility = array("d"), array("d")
    zero_sum = self.sums_to_zero and len(self.players) == 2
    self.others = [] if zero_sum else [array("d") for _ in self.players[1:]]
    self.zeros = [0.0] * len(self.others)
    self.public_strings, self.legal_sets = _Numbers(), _Numbers()
    self.choices = array("i")  # in each set of legal actions
    self.pruned = False

  def run(self, watch: Watch) -> Histories:
    """Visit all histories."""
    state, waiting, stop = self.game.new_initial_state(), [], 0
    above, move, rank, depth, chance = -1, -1, 0, 0, 1.0
    try:
      while True:
        if len(self.parent) >= stop:
          stop = watch.look(len(self.parent), self)
        number = len(self.parent)
        actions, odds = self.visit(state, above, move, rank, depth, chance)
        if actions:
          actions.reverse()  # `pop` then takes the lowest
          waiting.append((state, number, depth + 1, chance, actions, len(actions), odds))
        elif not waiting:
          return self.histories()
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
    except (TooLarge, Stopped):
      raise
    except Exception as error:
      self._note(error, self.path(above, move))
      game_checks.check_observer(self.game, error)
      raise

  def visit(
    self, state: pyspiel.State, above: int, move: int, rank: int, depth: int, chance: float
  ) -> tuple[list[int], list[float] | None]:
    """Record a state; returns its actions, none at the end, and the probabilities of chance's."""
    acting = state.current_player()
    see = state.information_state_string if self.infostates else state.observation_string
    for player, append, names in self.knowledge:
      append(names[see(player)])
    if self.observe is not None:
      self.public.append(self.public_strings[self.observe(state)])
    actions, odds, value, returns = [], None, 0.0, None
    if acting == TERMINAL:
      returns = state.returns()
      value = returns[0]
      if len(returns) != len(self.players) or sum(returns) != 0:  # most are exact
        self._check(
          "returns", state, game_checks.returns_fault(returns, self.sums_to_zero, len(self.players))
        )
    elif acting == CHANCE:
      actions, odds = self._outcomes(state)
    elif acting in self.players:
      actions = state.legal_actions()
    else:
      self.on_fault("mover", state, game_checks.mover_text(acting, len(self.players)))
    legal = tuple(actions)
    if acting in self.players and (not legal or legal not in self.legal_sets):
      self._check("legal actions", state, game_checks.legal_fault(legal))
    if self.legal_sets[legal] == len(self.choices):
      self.choices.append(len(legal))
    self.legal.append(self.legal_sets[legal])
    self.utility.append(value)
    if self.others:
      for column, other in zip(self.others, self.zeros if returns is None else returns[1:], strict=True):
        column.append(other)
    self.parent.append(above)
    self.action.append(move)
    self.rank.append(rank)
    self.depth.append(depth)
    self.player.append(acting)
    self.chance.append(chance)
    return actions, odds

  def repeat(self, path: list[int]) -> None:
    """Visit a single history again, for the error that it raises."""
    state = self.game.new_initial_state()
    try:
      for action in path:
        state.apply_action(action)
      self.visit(state, -1, -1, 0, 0, 1.0)
    except Exception as error:
      self._note(error, path)
      raise

  def _note(self, error: Exception, path: list[int]) -> None:
    error.add_note(f"while enumerating {self.game}, at history {path}")

  def _outcomes(self, state: pyspiel.State) -> tuple[list[int], list[float]]:
    outcomes = state.chance_outcomes()
    self._check("chance", state, game_checks.chance_fault(outcomes))
    possible = sorted((a, q) for a, q in outcomes if q > 0)
    self.pruned |= len(possible) < len(outcomes)
    return [a for a, _ in possible], [q for _, q in possible]

  def _check(self, check: str, state: pyspiel.State, fault: str | None) -> None:
    if fault:
      self.on_fault(check, state, fault)

  def path(self, above: int, move: int) -> list[int]:
    """The actions that lead to the child of history `above` by `move`."""
    actions = []
    while above >= 0:
      actions.append(move)
      above, move = self.parent[above], self.action[above]
    return actions[::-1]

  def key_bytes(self) -> int:
    return sum(table.size for table in (*self.names, self.public_strings, self.legal_sets))

  def share(self) -> float:
    # The last history counts 0; its parent counts the children before it; and so on up.
    share, number = 0.0, len(self.parent) - 1
    while self.parent[number] >= 0:
      share = (self.rank[number] + share) / self.choices[self.legal[self.parent[number]]]
      number = self.parent[number]
    return share

  def histories(self) -> Histories:
    """The recorded columns, as arrays over the same memory."""
    columns = (
      self.parent, self.action, self.rank, self.depth, self.player, self.legal, *self.info,
    )  # fmt: skip
    integers = [np.frombuffer(column, np.int32) for column in columns]
    return Histories(
      *integers[:5],
      chance=np.frombuffer(self.chance),
      utility=np.frombuffer(self.utility),
      infostate=tuple(integers[6:]),
      names=tuple(map(list, self.names)),
      legal=integers[5],
      legal_sets=list(self.legal_sets),
      public=np.frombuffer(self.public, np.int32) if self.observe is not None else None,
      pruned=self.pruned,
      others=tuple(map(np.frombuffer, self.others)),
    )
