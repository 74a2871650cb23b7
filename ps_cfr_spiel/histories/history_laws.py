"""What the infostates of a walked game must be like: laws that need all histories together.

As in `game_laws`, a law is a function that returns None where it holds, and otherwise says what breaks it.
"""

import numpy as np

from ps_cfr_spiel.histories.histories import Histories
from ps_cfr_spiel.histories.numbering import first_members
from ps_cfr_spiel.tree import CHANCE, TERMINAL

WITHOUT = "public_states='none' solves the game without public states."


def acting(histories: Histories, player: int) -> tuple[np.ndarray, np.ndarray]:
  """The histories in which the player acts, and for each infostate the first of them (or -1)."""
  acts = np.flatnonzero(histories.player == player)
  first = first_members(histories.infostate[player][acts], len(histories.names[player]))
  return acts, np.where(first >= 0, acts[first], -1) if len(acts) else first


def describe(histories: Histories, history: int) -> str:
  """A history in words: its actions, who moves, what the players know."""
  who = {CHANCE: "chance", TERMINAL: "nobody"}.get(int(histories.player[history]))
  names = [histories.names[i][histories.infostate[i][history]] for i in (0, 1)]
  return (
    f"{histories.path(history)} ({who or f'player {histories.player[history]}'} to move, infostates {names})"
  )


def actions_fault(histories: Histories) -> str | None:
  """An infostate offers its player the same actions in all its histories."""
  for player in (0, 1):
    acts, first = acting(histories, player)
    same = histories.legal[acts] == histories.legal[first[histories.infostate[player][acts]]]
    if not same.all():
      return _recall_text(histories, player, "offers different actions in", acts[~same], first)
  return None


def recall_fault(histories: Histories, choices: list[np.ndarray]) -> str | None:
  """An infostate has one past: its player remembers what they knew and did before (perfect recall).

  Args:
    histories: of `walk`.
    choices: for each player `last_choices`.
  """
  for player in (0, 1):
    acts, first = acting(histories, player)
    past = choices[player]
    same = (past[acts] == past[first[histories.infostate[player][acts]]]).all(1)
    if not same.all():
      return _recall_text(histories, player, "forgets what the player did before in", acts[~same], first)
  return None


def _recall_text(histories: Histories, player: int, what: str, wrong: np.ndarray, first: np.ndarray) -> str:
  number = histories.infostate[player][wrong[0]]
  return (
    f"imperfect recall or a faulty game; player {player}'s information state "
    f"{histories.names[player][number]!r} {what} histories {histories.path(int(first[number]))} and "
    f"{histories.path(int(wrong[0]))}. Only games of perfect recall can be compiled."
  )


def timing_fault(histories: Histories) -> str | None:
  """An infostate in which its player acts holds histories of one length."""
  for player in (0, 1):
    acts, first = acting(histories, player)
    number = histories.infostate[player]
    wrong = acts[histories.depth[acts] != histories.depth[first[number[acts]]]]
    if len(wrong):
      a, b = int(first[number[wrong[0]]]), int(wrong[0])
      return (
        f"player {player}'s information state {histories.names[player][number[b]]!r} holds histories of "
        f"{histories.depth[a]} and of {histories.depth[b]} moves, {histories.path(a)} and "
        f"{histories.path(b)}, so that time itself is not common knowledge. {WITHOUT}"
      )
  return None


def split_fault(histories: Histories, of: np.ndarray) -> str | None:
  """Histories that their player cannot tell apart are in one public state; `of`: int[N], of each history."""
  for player in (0, 1):
    acts, first = acting(histories, player)
    number = histories.infostate[player]
    wrong = acts[of[acts] != of[first[number[acts]]]]
    if len(wrong):
      h = int(wrong[0])
      both = [describe(histories, g) for g in (int(first[number[h]]), h)]
      return (
        f"its public observer shows what player {player} does not know in information state "
        f"{histories.names[player][number[h]]!r}: {both[0]}; {both[1]}. Use public_states='closure'."
      )
  return None


def movers_fault(histories: Histories, of: np.ndarray) -> str | None:
  """In all histories of a public state the same player moves; `of`: int[N], of each history."""
  first = first_members(of)
  wrong = np.flatnonzero(histories.player != histories.player[first[of]])
  if len(wrong):
    both = [describe(histories, int(h)) for h in (first[of[wrong[0]]], wrong[0])]
    return (
      f"it is not common knowledge who moves; one would hold these two histories: {both[0]}; {both[1]}. "
      f"{WITHOUT}"
    )
  return None


def names_fault(histories: Histories) -> str | None:
  """No string is an infostate of both players: OpenSpiel's policy tables have no other key."""
  names = [
    {histories.names[i][n] for n in np.unique(histories.infostate[i][histories.player == i])} for i in (0, 1)
  ]
  both = sorted(names[0] & names[1])
  if both:
    return (
      f"{len(both):,} information state string(s) name infostates of both players, the first "
      f"{both[0]!r}; TreePolicy.to_pyspiel() cannot tell them apart; everything else can."
    )
  return None
