"""Public states for OpenSpiel.

Importing this package registers its games, so that `pyspiel.load_game` finds them.
"""

import ps_cfr_spiel.games as games

__version__ = "0.1.0"
__all__ = ["games"]
