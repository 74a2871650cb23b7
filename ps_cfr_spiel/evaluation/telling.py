"""Views of a game for a person at the table, of their seat alone, in words as far as a game has them.

Games in Python write their strings for people. OpenSpiel's C++ games write them for programs, so machine-only
fields are removed from these.
"""

import re

import pyspiel

UNSET = "-10000"  # of a card that is not dealt yet, in OpenSpiel's poker games
FOR_PROGRAMS = ("Observer", "Player", "Current player", "Terminal?")


def seen(state: pyspiel.State, player: int) -> str:
  """The player's view since the start."""
  text = state.information_state_string(player)
  return text if writes_for_people(state.get_game()) else readable(text)


def now(state: pyspiel.State, player: int) -> str:
  """The player's present view; "" if it only repeats the past."""
  return state.observation_string(player) if writes_for_people(state.get_game()) else ""


def writes_for_people(game: pyspiel.Game) -> bool:
  """Whether a game is written in Python, with strings of present views."""
  return hasattr(game, "make_py_observer") and game.get_type().provides_observation_string


def readable(text: str) -> str:
  """One of OpenSpiel's strings without machine-only fields; "[Pot: 2][Round1: ]" is "Pot: 2"."""
  fields = re.findall(r"\[([^][]*)\]", text)
  if fields and not re.sub(r"\[[^][]*\]|\s", "", text):
    return ", ".join(filter(_says_something, fields))
  lines = [line.rstrip() for line in text.splitlines() if _says_something(line)]
  return "".join(f"\n  {line}" for line in lines) if len(lines) > 1 else text.strip()


def _says_something(field: str) -> bool:
  key, colon, value = (part.strip() for part in field.partition(":"))
  return key not in ("", *FOR_PROGRAMS) and not (colon and value in ("", UNSET))
