"""The games of this package; importing it registers them with `pyspiel.load_game`."""

from . import cheat as cheat
from . import glasses as glasses
from . import river_subgame as river_subgame
