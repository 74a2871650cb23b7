"""The knowledge of a player, as strings: the game's own, alone or with the player's past.

An infostate is the game's information state string. Where a game has none, or where they forget the player's
past, an infostate is the sequence of the strings that the player has seen, and of the own actions between
them: perfect recall by construction. A string that stays the same counts once, because a player does not
notice moves that change nothing. A game without information state strings shows its observation strings.

Players who move at the same time move one after the other instead, and do not see each other's move.
"""

import dataclasses
import functools
import operator

import numpy as np
import pyspiel

from ps_cfr_spiel.compilation.histories.histories import Histories, Names
from ps_cfr_spiel.compilation.histories.lazy_sequence import LazySequence
from ps_cfr_spiel.loading import SIMULTANEOUS, sequential
from ps_cfr_spiel.memory import check_needs

NONE = -1  # no own action, nothing seen before


def sequential_state(state: pyspiel.State, player: int) -> pyspiel.State:
  """The same state of the game's turn-based version, at the player's turn; any other state unchanged.

  Moves made at the same time, before the player's turn, are arbitrary there: the player does not see them.
  """
  game = state.get_game()
  if game.get_type().dynamics != SIMULTANEOUS:
    return state
  position = sequential(game).new_initial_state()
  for move in state.full_history():
    if position.current_player() == move.player:  # the turn-based version skips players without a choice
      position.apply_action(move.action)
  while state.is_simultaneous_node() and 0 <= position.current_player() < player:
    position.apply_action(position.legal_actions()[0])
  return position


def strings_of(game: pyspiel.Game) -> str:
  """The name of the states' method for the strings of a player's knowledge."""
  kind = game.get_type()
  return "information_state_string" if kind.provides_information_state_string else "observation_string"


def remembered(state: pyspiel.State, player: int) -> str:
  """The name of a player's infostate with the past, at a state; `remember` gives the same names."""
  game = state.get_game()
  see, position = operator.methodcaller(strings_of(game), player), game.new_initial_state()
  last = name = see(position)
  for action in state.history():
    acts = position.current_player() == player
    position.apply_action(action)
    if acts or see(position) != last:
      last = see(position)
      name += _part(action if acts else NONE, last)
  return name


def past_remark(game: pyspiel.Game) -> str:
  """A line for reports on a game whose infostates are pasts."""
  strings = strings_of(game).replace("_", " ")
  return f"own actions and {strings}s in order, because the strings alone forget"


def _part(action: int, seen: str) -> str:
  """A further part of a name: an own action or `NONE`, and the string seen next."""
  return f"\n{seen}" if action == NONE else f"\n-> {action}\n{seen}"


def remember(game: str, histories: Histories, memory: float) -> Histories:
  """The histories with infostates that hold their player's past; see the module.

  TooLarge if the names of infostates at decisions take more than `memory` bytes.
  """
  of, names, size = [], [], 0
  for player in histories.players:
    numbers, pasts = _pasts(histories, player)
    lengths, strings = np.zeros(len(pasts)), histories.names[player]
    for number, (above, action, seen) in enumerate(pasts):
      lengths[number] = (lengths[above] if above != NONE else 0) + len(_part(action, strings[seen]))
    size += lengths[np.unique(numbers[histories.player == player])].sum()
    of.append(numbers)
    names.append(LazySequence(len(pasts), functools.partial(_name, pasts, strings)))
  advice = "Choose smaller parameters of the game, or raise the limit: memory=... or --memory"
  check_needs(game, {"for the pasts that its players remember": size}, memory, advice)
  return dataclasses.replace(histories, infostate=tuple(of), names=tuple(names), remembers=True)


def _pasts(histories: Histories, player: int) -> tuple[np.ndarray, list[tuple[int, int, int]]]:
  """int32[N], the number of each history's past, and (past before, own action, string seen) by number."""
  known: dict[tuple[int, int, int], int] = {}
  of: list[int] = []
  seen = histories.infostate[player].tolist()
  columns = zip(histories.parent.tolist(), histories.action.tolist(), seen, strict=True)
  acts = (histories.player == player).tolist()
  for above, action, string in columns:
    if above >= 0 and not acts[above] and seen[above] == string:
      of.append(of[above])
    else:
      past = (of[above], action if acts[above] else NONE, string) if above >= 0 else (NONE, NONE, string)
      of.append(known.setdefault(past, len(known)))
  return np.array(of, np.int32), list(known)


def _name(pasts: list[tuple[int, int, int]], strings: Names, number: int) -> str:
  parts = []
  while number != NONE:
    number, action, seen = pasts[number]
    parts.append(_part(action, strings[seen]))
  return "".join(parts[::-1])[1:]  # without the line break in front
