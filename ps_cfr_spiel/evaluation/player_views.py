"""Views of a game for a person at the table, of their seat alone, in words as far as a game has them.

Games in Python write their strings for people. OpenSpiel's C++ games write them for programs, so machine-only
fields are removed from these.
"""

import re

import pyspiel

from ps_cfr_spiel.cards.notation import grouped, move_name
from ps_cfr_spiel.cards.poker import betting, cards
from ps_cfr_spiel.evaluation.how_to_play import is_observed
from ps_cfr_spiel.games import poker

UNSET = "-10000"  # of a card that is not dealt yet, in OpenSpiel's poker games
FOR_PROGRAMS = ("Observer", "Player", "Current player", "Terminal?")


def whole_view(state: pyspiel.State, player: int) -> str:
  """The player's view since the start."""
  if isinstance(state, poker.PokerState):
    return _hand_so_far(state, player)
  text = state.information_state_string(player)
  return text if writes_for_people(state.get_game()) else readable(text)


def present_view(state: pyspiel.State, player: int) -> str:
  """The player's present view; "" if it only repeats the past."""
  if isinstance(state, poker.PokerState):
    return _hand_now(state, player)
  return state.observation_string(player) if writes_for_people(state.get_game()) else ""


def revealed_view(state: pyspiel.State, player: int) -> str:
  """A player's knowledge, shown to the others at the end."""
  if isinstance(state, poker.PokerState):
    return f"Player {player} held {_held(state, player)}."
  return f"Player {player} saw: {whole_view(state, player)}"


def _hand_so_far(state: poker.PokerState, player: int) -> str:
  """The public part of a hand of hold'em, "stack 400 blinds 2/1 | Player 1: Call, You: Check | 2c 4h Ac"."""
  game, before = state.get_game(), betting.TERMINAL
  text, position = game.header, game.new_initial_state()
  for action in state.history():
    mover, name = position.current_player(), grouped(move_name(position, action))
    if mover >= 0:
      who = "You" if mover == player else f"Player {mover}"
      text, before = f"{text}{', ' if before >= 0 else ' | '}{who}: {name}", mover
    elif position.public_state.player == mover:  # a card on the board
      text, before = f"{text}{' ' if before == mover else ' | '}{name.removeprefix('Deal ')}", mover
    position.apply_action(action)
  return text


def _held(state: poker.PokerState, player: int) -> str:
  return " ".join(cards.card_names([card]) for card in sorted(state.hole(player), reverse=True))


def _hand_now(state: poker.PokerState, player: int) -> str:
  """A hand of hold'em: "Pot 400. Board: Ks 7d 2c. You: 7h 2d, 5,106 behind. To call 100."."""
  game, public = state.get_game(), state.public_state
  board = [cards.card_names([card]) for card in (*game.board, *state.runout)]
  behind = _chips(game.get_parameters()["stack"] - public.spent[player], game.unit)
  to_call = max(public.spent) - public.spent[player]
  return " ".join(
    [
      f"Pot {_chips(sum(public.spent), game.unit)}.",
      *([f"Board: {' '.join(board)}."] if board else []),
      f"You: {_held(state, player)}, {behind} behind.",
      *([f"To call {_chips(to_call, game.unit)}."] if to_call and not state.is_terminal() else []),
    ]
  )


def _chips(chips: int, unit: int) -> str:
  """Chips in units, with thousands separators: 1,234.5."""
  whole, point, part = betting.amount_text(chips, unit).partition(".")
  return f"{int(whole):,}{point}{part}"


def writes_for_people(game: pyspiel.Game) -> bool:
  """Whether a game is written in Python, with strings of present views."""
  return is_observed(game) and game.get_type().provides_observation_string


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
