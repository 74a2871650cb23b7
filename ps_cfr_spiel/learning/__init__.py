"""Value functions learned from situations that were solved; equinox and optax are imported only here.

May use: search and what is below it. `places` says which public states a network knows and how it numbers the
infostates there; `situations` solves them at random ranges, `training` fits a `network` to the solutions, and
`learned_values` is what searches take.
"""

try:
  import equinox  # noqa: F401
  import optax  # noqa: F401
except ModuleNotFoundError as error:
  raise ModuleNotFoundError(
    "Learned values need equinox and optax: pip install 'ps_cfr_spiel[learn]'"
  ) from error

from ps_cfr_spiel.learning.learned_values import LearnedValues
from ps_cfr_spiel.learning.situations import Situations, generate
from ps_cfr_spiel.learning.training import Progress, train

__all__ = [
  "LearnedValues",
  "Progress",
  "Situations",
  "generate",
  "train",
]
