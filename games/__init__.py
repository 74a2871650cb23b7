"""The games of this package, a folder for each family; importing it registers them with `pyspiel.load_game`.

May import: base layers, `native` and `poker` included. Packages meet games through pyspiel, `bayesian_form()`
and `simulated_form()`; their other needs are public names of a family.
"""

from . import cheat, poker, pursuit

__all__ = ["cheat", "poker", "pursuit"]
