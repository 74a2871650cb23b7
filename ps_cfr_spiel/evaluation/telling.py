"""What a person at the table is told: no more than their seat sees, in words.

Games in Python write their strings for people. OpenSpiel's C++ games write them for programs, so of these the
moves themselves are told, as far as the person's information state tells them apart from others.
"""

import re

import pyspiel

UNSET = "-10000"  # OpenSpiel's poker games write it for a card that is not dealt yet
FOR_PROGRAMS = ("Observer", "Player", "Current player", "Terminal?")
HIDDEN = "?"


def seen(state: pyspiel.State, player: int) -> str:
  """All that a player has seen since the start; it begins with what was told at any earlier state."""
  if writes_for_people(state.get_game()):
    return state.information_state_string(player)
  here, moves = state.get_game().new_initial_state(), []
  for action in state.history():
    moves.append(_told(here, action, player))
    here.apply_action(action)
  return ", ".join(filter(None, moves))


def now(state: pyspiel.State, player: int) -> str:
  """What a player sees at present; "" if the game does not say it in words."""
  game = state.get_game()
  if not game.get_type().provides_observation_string:
    return ""
  text = state.observation_string(player)
  return text if writes_for_people(game) else readable(text)


def writes_for_people(game: pyspiel.Game) -> bool:
  """Whether a game is written in Python."""
  return hasattr(game, "make_py_observer")


def move_name(state: pyspiel.State, action: int) -> str:
  """What a move is called: by the game, but for OpenSpiel's "Chance outcome:3"."""
  name = state.action_to_string(state.current_player(), action)
  return name.replace("Chance outcome:", "Deal ")


def readable(text: str) -> str:
  """One of OpenSpiel's strings without what only programs want; "[Pot: 2][Round1: ]" is "Pot: 2"."""
  fields = re.findall(r"\[([^][]*)\]", text)
  if fields and not re.sub(r"\[[^][]*\]|\s", "", text):
    return ", ".join(field for field in fields if _says_something(field))
  lines = [line.rstrip() for line in text.splitlines() if _says_something(line)]
  if len(lines) > 1:
    return "".join(f"\n  {line}" for line in lines)
  return "" if re.fullmatch(r"[\d\s-]*", text) else text


def _says_something(field: str) -> bool:
  key, colon, value = (part.strip() for part in field.partition(":"))
  return key not in ("", *FOR_PROGRAMS) and not (colon and value in ("", UNSET))


def _told(state: pyspiel.State, action: int, player: int) -> str:
  """A move as a player learns of it; "" for a move of chance that they do not see."""
  mover, name = state.current_player(), move_name(state, action)
  if mover == player:
    return name
  after = state.child(action).information_state_string(player)
  others = (other for other in state.legal_actions() if other != action)
  if any(state.child(other).information_state_string(player) == after for other in others):
    name = "" if mover == pyspiel.PlayerId.CHANCE else HIDDEN
  return name if mover == pyspiel.PlayerId.CHANCE else f"player {mover}: {name}"
