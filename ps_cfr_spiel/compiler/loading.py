"""The loading of games without OpenSpiel's C++ output on stderr."""

import difflib
import re

import pyspiel

from ps_cfr_spiel.reports import quiet_stderr


def load_game(text: str) -> pyspiel.Game:
  """Load a game like `pyspiel.load_game`, but with nothing on stderr.

  ValueError if no game has this name (the message suggests a similar one), the string is not well formed, or
  the game refuses its parameters.
  """
  name, known = text.partition("(")[0], pyspiel.registered_names()
  if name not in known:
    guess = difflib.get_close_matches(name, known, 1)
    advice = f"did you mean {guess[0]!r}?" if guess else "pyspiel.registered_names() lists them all."
    raise ValueError(f"Unknown game {name!r}; {advice}")
  try:
    with quiet_stderr():
      return pyspiel.load_game(text)
  except pyspiel.SpielError as error:
    large = [number for number in re.findall(r"=(-?[0-9]+)\b", text) if abs(float(number)) > MOST]
    if large:
      message = f"{text}: {large[0]} is too large; OpenSpiel's integers are at most {MOST}."
      raise ValueError(message) from error
    hint = f". {COMMAS}" if "Unknown parameter" in str(error) else ""
    hint = f". {RAKE}" if "Unknown parameter 'rake'" in str(error) else hint
    raise ValueError(f"{error}{hint}") from error


MOST = 2**31 - 1  # of 32 bits
RAKE = "Games of this package are zero-sum, and rake would take from both players; leave it out."
COMMAS = (
  "A comma begins the next parameter: inside a range or a list of bet sizes write blanks; "
  "ps_cfr_spiel.river(), holdem() and the flags --ranges and --bets accept commas and % too."
)
