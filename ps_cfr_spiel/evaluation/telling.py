"""What a person at the table is told: what their seat sees and no more, in words as far as a game has them.

Games in Python write their strings for people. OpenSpiel's C++ games write them for programs, so what people
need not read is left out of these.
"""

import re

import pyspiel

UNSET = "-10000"  # OpenSpiel's poker games write it for a card that is not dealt yet
FOR_PROGRAMS = ("Observer", "Player", "Current player", "Terminal?")


def seen(state: pyspiel.State, player: int) -> str:
  """All that a player has seen since the start."""
  text = state.information_state_string(player)
  return text if writes_for_people(state.get_game()) else readable(text)


def now(state: pyspiel.State, player: int) -> str:
  """What a player sees at present; "" where that only repeats what they have seen."""
  return state.observation_string(player) if writes_for_people(state.get_game()) else ""


def writes_for_people(game: pyspiel.Game) -> bool:
  """Whether a game is written in Python, with strings of what is seen at present."""
  return hasattr(game, "make_py_observer") and game.get_type().provides_observation_string


def readable(text: str) -> str:
  """One of OpenSpiel's strings without what only programs want; "[Pot: 2][Round1: ]" is "Pot: 2"."""
  fields = re.findall(r"\[([^][]*)\]", text)
  if fields and not re.sub(r"\[[^][]*\]|\s", "", text):
    return ", ".join(filter(_says_something, fields))
  lines = [line.rstrip() for line in text.splitlines() if _says_something(line)]
  return "".join(f"\n  {line}" for line in lines) if len(lines) > 1 else text.strip()


def _says_something(field: str) -> bool:
  key, colon, value = (part.strip() for part in field.partition(":"))
  return key not in ("", *FOR_PROGRAMS) and not (colon and value in ("", UNSET))
