"""The games of this package, a folder for each family; importing it registers them with `pyspiel.load_game`.

May use: the ground, `native` and `poker` included. Rooms meet games through pyspiel, `bayesian_form()` and
`simulated_form()`; what else they need is in the face of a family.
"""

from . import cheat, poker, pursuit

__all__ = ["cheat", "poker", "pursuit"]
