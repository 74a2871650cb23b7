"""The games of this package; importing it registers them with `pyspiel.load_game`.

A folder is a family, and a new game goes into that of its own. The games import none of the solver's rooms,
which meet them through pyspiel and through `bayesian_form()`.
"""

from . import cheat as cheat
from . import poker as poker
from . import pursuit as pursuit
