"""The games of this package, a folder for each family; importing it registers them with `pyspiel.load_game`.

May import: base layers, `native` and `poker` included. Packages meet games through pyspiel, `bayesian_form()`
and `keyed_form()`; people meet them by `ForPeople`, the same for a user's own game.
"""

from . import cheat, poker, pursuit
from .base import (
  HIDDEN,
  Board,
  BotMaker,
  ForPeople,
  GuessesForHands,
  GuessesValues,
  Map,
  Position,
  Row,
  Table,
)

__all__ = [
  "HIDDEN",
  "Board",
  "BotMaker",
  "ForPeople",
  "GuessesForHands",
  "GuessesValues",
  "Map",
  "Position",
  "Row",
  "Table",
  "cheat",
  "poker",
  "pursuit",
]
