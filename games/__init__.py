"""The games of this package; importing it registers them with `pyspiel.load_game`.

A folder is a family. The games import none of the solver's rooms, which meet them through pyspiel and
through `bayesian_form()`.
"""

from . import cheat as cheat
from . import poker as poker
from . import pursuit as pursuit
