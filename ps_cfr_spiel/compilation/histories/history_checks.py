"""Checks of the infostates of an enumerated game: all histories together.

As in `game_checks`, a check is a function that returns None where it passes, and otherwise a text on the
fault.
"""

import collections

import numpy as np

from ps_cfr_spiel.compilation.histories.histories import Histories
from ps_cfr_spiel.compilation.histories.numbering import first_members
from ps_cfr_spiel.tree import CHANCE, TERMINAL

WITHOUT = "public_states='none' solves the game without public states, knowledge=1 searches it."


def acting(histories: Histories, player: int) -> tuple[np.ndarray, np.ndarray]:
  """The histories in which the player acts, and the first of each infostate (or -1)."""
  acts = np.flatnonzero(histories.player == player)
  first = first_members(histories.infostate[player][acts], len(histories.names[player]))
  return acts, np.where(first >= 0, acts[first], -1) if len(acts) else first


def describe_history(histories: Histories, history: int) -> str:
  """A history in words: its actions, the player to move, both infostates."""
  number = int(histories.player[history])
  mover = {CHANCE: "chance to move", TERMINAL: "the end"}.get(number, f"player {number} to move")
  names = [histories.names[i][histories.infostate[i][history]] for i in histories.players]
  return f"{histories.path(history)} ({mover}, infostates {names})"


def _unlike(histories: Histories, player: int, values: np.ndarray) -> tuple[int, int] | None:
  """The first two histories of one of the player's infostates with different values, int[N, ...], or None."""
  acts, first = acting(histories, player)
  first = first[histories.infostate[player][acts]]
  differ = values[acts] != values[first]
  wrong = np.flatnonzero(differ.any(1) if differ.ndim > 1 else differ)
  return (int(first[wrong[0]]), int(acts[wrong[0]])) if len(wrong) else None


def actions_fault(histories: Histories) -> str | None:
  """An infostate offers its player the same actions in all its histories."""
  for player in histories.players:
    if unlike := _unlike(histories, player, histories.legal):
      return _recall_text(histories, player, "offers different actions in", *unlike)
  return None


def recall_fault(histories: Histories, choices: list[np.ndarray]) -> str | None:
  """An infostate has one past: its player remembers all own knowledge and choices (perfect recall)."""
  for player in histories.players:
    if unlike := _unlike(histories, player, choices[player]):
      return _recall_text(histories, player, "forgets the player's own past in", *unlike)
  return None


def _recall_text(histories: Histories, player: int, fault: str, first: int, other: int) -> str:
  return (
    f"imperfect recall or a faulty game; player {player}'s information state "
    f"{histories.names[player][histories.infostate[player][other]]!r} {fault} histories "
    f"{histories.path(first)} and {histories.path(other)}."
  )


def timing_fault(histories: Histories) -> str | None:
  """All histories of an infostate of an acting player have one length."""
  for player in histories.players:
    if unlike := _unlike(histories, player, histories.depth):
      a, b = unlike
      name = histories.names[player][histories.infostate[player][b]]
      return (
        f"player {player}'s information state {name!r} holds histories of "
        f"{histories.depth[a]} and of {histories.depth[b]} moves, {histories.path(a)} and "
        f"{histories.path(b)}, so time is not common knowledge. {WITHOUT}"
      )
  return None


def split_fault(histories: Histories, of: np.ndarray) -> str | None:
  """Histories of one infostate are in one public state; `of`: int[N], of each history."""
  for player in histories.players:
    if unlike := _unlike(histories, player, of):
      both = [describe_history(histories, history) for history in unlike]
      name = histories.names[player][histories.infostate[player][unlike[0]]]
      return (
        f"its public observer shows more than player {player} knows in information state {name!r}: "
        f"{both[0]}; {both[1]}. Use public_states='closure'."
      )
  return None


def movers_fault(histories: Histories, of: np.ndarray) -> str | None:
  """All histories of a public state have the same acting player; `of`: int[N], of each history."""
  first = first_members(of)
  wrong = np.flatnonzero(histories.player != histories.player[first[of]])
  if len(wrong):
    both = [describe_history(histories, int(h)) for h in (first[of[wrong[0]]], wrong[0])]
    return (
      f"the acting player is not common knowledge; one public state would hold {both[0]} and {both[1]}. "
      f"{WITHOUT}"
    )
  return None


def names_fault(histories: Histories) -> str | None:
  """No string names infostates of both players: OpenSpiel's policy tables have no other key."""
  names = collections.Counter(
    histories.names[i][n]
    for i in histories.players
    for n in np.unique(histories.infostate[i][histories.player == i])
  )
  both = sorted(name for name, count in names.items() if count > 1)
  if both:
    return (
      f"{len(both):,} information state string(s) name infostates of both players, the first {both[0]!r}; "
      f"TreePolicy.to_pyspiel() cannot separate them; use the TreePolicy itself."
    )
  return None
