"""Value functions learned from situations that were solved; equinox and optax are imported only here.

May use: search and what is below it. `places` says which public states a network knows and how it numbers
the infostates there; `ranges` draws ranges, `listening` those that searches ask about, `turn_searches` the
rivers that searches of turns do, and `teaching` solves these `situations`; `training` fits a `network` to the
solutions, as its `settings` say (`fitting` is what it repeats), `self_play` does all of it in turns, and
`learned_values` is what searches take.
"""

try:
  import equinox  # noqa: F401
  import optax  # noqa: F401
except ModuleNotFoundError as error:
  raise ModuleNotFoundError(
    "Learned values need equinox and optax: pip install 'ps_cfr_spiel[learn]'"
  ) from error

from ps_cfr_spiel.learning.fitting import Progress
from ps_cfr_spiel.learning.learned_values import LearnedValues
from ps_cfr_spiel.learning.listening import Searches
from ps_cfr_spiel.learning.ranges import Reaches
from ps_cfr_spiel.learning.river_values import RiverValues
from ps_cfr_spiel.learning.rivers import Rivers
from ps_cfr_spiel.learning.self_play import self_play
from ps_cfr_spiel.learning.settings import Settings
from ps_cfr_spiel.learning.situations import Situations
from ps_cfr_spiel.learning.teaching import OneAhead, generate
from ps_cfr_spiel.learning.training import load_values, resume, train
from ps_cfr_spiel.learning.turn_searches import rivers_met

__all__ = [
  "LearnedValues",
  "OneAhead",
  "Progress",
  "Reaches",
  "RiverValues",
  "Rivers",
  "Searches",
  "Settings",
  "Situations",
  "generate",
  "load_values",
  "resume",
  "rivers_met",
  "self_play",
  "train",
]
