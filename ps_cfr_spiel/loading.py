"""Games: loaded without OpenSpiel's C++ output on stderr, checked, made sequential, and named in files."""

import difflib
import importlib
import inspect
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyspiel

from ps_cfr_spiel.reports import quiet_stderr

START_AT = "start_at"  # OpenSpiel's wrapper, which does not look at its history
SIMULTANEOUS = pyspiel.GameType.Dynamics.SIMULTANEOUS
PACKAGES = ("pyspiel", "open_spiel", "ps_cfr_spiel")  # whose games are there without a module of the user's
PYTHON_GAMES = "open_spiel.python.games"  # registers OpenSpiel's games in Python
MOST = 2**31 - 1  # of 32 bits
RAKE = "Rake is a share in percent, such as rake=5%, of river_subgame, holdem_subgame and holdem."
COMMAS = (
  "A comma begins the next parameter: inside a range or a list of bet sizes write blanks; "
  "ps_cfr_spiel.river(), holdem() and the flags --ranges and --bets accept commas and % too."
)
NUMBERS = {  # texts that OpenSpiel takes for numbers if they are digits alone, and what to write instead
  "rake": RAKE,
  "bets": "Write a single size with its unit, such as bets=50% of the pot or bets=100c for chips.",
  "blinds": "Write both blinds, such as blinds=100/50.",
  "ranges": "Write both players' ranges, such as ranges=22;random.",
}


def load_game(text: str) -> pyspiel.Game:
  """Load a game like `pyspiel.load_game`, but with nothing on stderr.

  ValueError if no game has this name (the message suggests a similar one), the string is not well formed, or
  the game refuses its parameters.
  """
  name = text.partition("(")[0]
  if name in _unknown(text):
    guess = difflib.get_close_matches(name, pyspiel.registered_names(), 1)
    all_names = "pyspiel.registered_names() lists them all; --module=FILE imports one of your own."
    advice = f"did you mean {guess[0]!r}?" if guess else all_names
    raise ValueError(f"Unknown game {name!r}; {advice}")
  try:
    with quiet_stderr():
      if START_AT in text:
        check_start(text, {"name": name, **pyspiel.game_parameters_from_string(text)})
      game = pyspiel.load_game(text)
  except pyspiel.SpielError as error:
    raise ValueError(_explained(text, str(error))) from error
  _check_parameters(text)  # after OpenSpiel, whose messages have the names of parameters
  return game


def _explained(text: str, message: str) -> str:
  """OpenSpiel's message on a game's string, with what to write instead where that is known."""
  large = [number for number in re.findall(r"=(-?[0-9]+)\b", text) if abs(float(number)) > MOST]
  if large:
    return f"{text}: {large[0]} is too large; OpenSpiel's integers are at most {MOST}."
  if number := re.search(
    r"parameter (\w+)\. Expected type: kString, got k(?:Int|Double) with (\S+)", message
  ):
    name, value = number.groups()
    kinds = (kind for kind in pyspiel.registered_games() if kind.short_name == text.partition("(")[0])
    usual = next(kinds).parameter_specification.get(name)  # unknown in a game within another
    advice = NUMBERS.get(name) or (usual and f"By default it is {usual}.") or ""
    return f"{text}: {name}={value} must be a text, and OpenSpiel reads it as a number. {advice}".strip()
  hint = f". {COMMAS}" if "Unknown parameter" in message else ""
  hint = f". {RAKE}" if re.search("parameter '?rake\\b", message) else hint
  return f"{message}{hint}"


def _check_parameters(text: str) -> None:
  """ValueError for what OpenSpiel leaves out silently: text after the last bracket, and repeated parameters.

  Of a parameter that is given twice it takes the last value. Games within games are checked likewise.
  """
  _, opened, rest = text.partition("(")
  depth, parts, after = 1 if opened else 0, [""], ""
  for at, sign in enumerate(rest):
    depth += {"(": 1, ")": -1}.get(sign, 0)
    if not depth:
      after = rest[at + 1 :].strip()
      break
    if sign == "," and depth == 1:
      parts.append("")
    else:
      parts[-1] += sign
  if after:
    raise ValueError(f"{text}: {after!r} stands after the last bracket; leave it out.")
  given = dict[str, str]()
  for part in parts if parts != [""] else ():
    name, equals, value = (word.strip() for word in part.partition("="))
    if not name:
      raise ValueError(f"{text}: a comma has no parameter before or after it; leave it out.")
    if not equals:
      raise ValueError(f"{text}: {name!r} is not written NAME=VALUE. {COMMAS}")
    if name in given:
      raise ValueError(f"{text}: {name} is given twice, as {given[name]} and {value}; leave out one of them.")
    given[name] = value
    if value.endswith(")"):
      _check_parameters(value)


def _unknown(text: str) -> list[str]:
  """The names of games in a game's string that are not registered; OpenSpiel's in Python are, if needed."""

  def unknown() -> list[str]:
    known = pyspiel.registered_names()
    return [name for name in (text.partition("(")[0], *re.findall(r"\w+(?=\()", text)) if name not in known]

  if unknown():
    importlib.import_module(PYTHON_GAMES)
  return unknown()


def game_fields(game: pyspiel.Game) -> dict[str, str]:
  """The fields of a file's header from which its readers load the game again.

  Its string and, for a game of the user's own, the module to import before. No reader imports it by itself: a
  file from elsewhere could run any code.
  """
  module = _module_of(game)
  return {"game": str(game)} | ({} if module is None else {"module": module})


def _module_of(game: pyspiel.Game) -> str | None:
  """The file, or in a package the name, of the module of a user's own Python game; None for other games."""
  inner = game.get_parameters().get("game")  # of turn_based_simultaneous_game, zerosum, ...
  if isinstance(inner, dict):
    given = {key: value for key, value in inner.items() if key != "name"}
    try:
      return _module_of(pyspiel.load_game(inner["name"], given))
    except (pyspiel.SpielError, RuntimeError):
      return None
  name = type(game).__module__
  if name.partition(".")[0] in PACKAGES:
    return None
  if "." in name:
    return name
  try:
    file = Path(inspect.getfile(type(game)))
  except (OSError, TypeError):  # typed at a prompt
    return None
  return str(file.resolve()) if file.is_file() else None


def game_in(header: Mapping[str, Any], path: Path) -> pyspiel.Game:
  """The game that a file's header names; ValueError if it is unknown, or the header is damaged."""
  text, module = header["game"], header.get("module")
  strangers = _unknown(text)
  if not strangers:
    try:
      return load_game(text)
    except ValueError as error:
      raise ValueError(f"{path} is damaged: {error}") from error
  gone = module is not None and module.endswith(".py") and not Path(module).is_file()
  add = f"add --module={module}" if module and not gone else "add --module=FILE, the one that registers it"
  was = f" ({module}, where it was, is gone)" if gone else ""
  raise ValueError(f"{path}: its game {strangers[0]} is not registered; {add}{was}, or in Python import it.")


def sequential(game: pyspiel.Game) -> pyspiel.Game:
  """OpenSpiel's turn-based version of a game with simultaneous moves; any other game unchanged."""
  check_is_game(game)
  return pyspiel.convert_to_turn_based(game) if game.get_type().dynamics == SIMULTANEOUS else game


def given_name(game: pyspiel.Game) -> str:
  """The name of a game, without its parameters; of a turn-based version that of the simultaneous game."""
  name, inner = game.get_type().short_name, game.get_parameters().get("game")
  return inner["name"] if name == "turn_based_simultaneous_game" and isinstance(inner, dict) else name


def is_same_game(one: pyspiel.Game, other: pyspiel.Game) -> bool:
  """True if two games have one name and the same parameters, written or by default."""
  names = one.get_type().short_name, other.get_type().short_name
  return one == other or (names[0] == names[1] and one.get_parameters() == other.get_parameters())


def check_is_game(game: pyspiel.Game) -> None:
  """TypeError unless `game` is a pyspiel.Game; ValueError if it starts at a history that is not legal."""
  if not isinstance(game, pyspiel.Game):
    hint = f"; load it first, with pyspiel.load_game({game!r})" if isinstance(game, str) else ""
    raise TypeError(f"game must be a pyspiel.Game, got {type(game).__name__} {game!r}{hint}.")
  if START_AT in str(game):
    check_start(str(game), {**game.get_parameters(), "name": game.get_type().short_name})


def check_start(text: str, given: Mapping[str, object]) -> None:
  """ValueError if a game, or one inside it, starts at a history that is not legal.

  `given` are its name and parameters; OpenSpiel may damage its memory when it makes such a game.
  """
  if not isinstance(inner := given.get("game"), Mapping):
    return
  check_start(text, inner)
  if given["name"] != START_AT:
    return
  whole = pyspiel.load_game(inner["name"], {key: value for key, value in inner.items() if key != "name"})
  state, moves = (
    whole.new_initial_state(),
    [move for move in str(given.get("history", "")).split(";") if move],
  )
  for number, move in enumerate(moves):
    legal = [] if state.is_terminal() else state.legal_actions()
    if move not in map(str, legal):
      before = f"after {';'.join(moves[:number])}" if number else "at the start"
      there = f"the moves are {', '.join(map(str, legal))}" if legal else "the game is over"
      raise ValueError(f"{text}: {move!r} of history={given['history']} is not legal: {before} {there}.")
    state.apply_action(int(move))
