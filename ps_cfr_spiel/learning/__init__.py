"""Value functions learned from solved situations; equinox and optax are imported only here.

May import: search and lower layers. `places` lists the public states of a network and numbers the
infostates there; `ranges` draws ranges, `listening` those of searches, `turn_searches` the rivers in searches
of turns, and `teaching` solves situations at them: these are the `examples`. `training` fits a `network` to
them, with `settings` (`fitting` is the repeated step), or they become `alpha_vectors`; `alternation` repeats
all of it, and `learned_values` serves searches. In hold'em `batches` solves the situations
(`board_examples`), a board has `board_features`, and `board_values` and `street_leaves` serve searches.
"""

try:
  import equinox
  import optax
except ModuleNotFoundError as error:
  raise ModuleNotFoundError(
    "Learned values need equinox and optax: run pip install 'ps_cfr_spiel[learn]'"
  ) from error

from ps_cfr_spiel.learning.alpha_vectors import AlphaVectors
from ps_cfr_spiel.learning.alternation import learn, load_examples
from ps_cfr_spiel.learning.board_examples import BoardExamples
from ps_cfr_spiel.learning.board_values import BoardTensors, BoardValues, BoundBoards
from ps_cfr_spiel.learning.examples import Examples
from ps_cfr_spiel.learning.fitting import Progress, Tensors
from ps_cfr_spiel.learning.learned_values import BoundNetwork, LearnedValues
from ps_cfr_spiel.learning.listening import SearchSampler
from ps_cfr_spiel.learning.network import ValueNetwork
from ps_cfr_spiel.learning.places import FrontierStates
from ps_cfr_spiel.learning.ranges import ReachSampler
from ps_cfr_spiel.learning.settings import LearnOptions, TrainingOptions
from ps_cfr_spiel.learning.street_leaves import StreetLeaves
from ps_cfr_spiel.learning.teaching import generate_examples
from ps_cfr_spiel.learning.training import load_values, pretrained, resume, train, train_in
from ps_cfr_spiel.learning.turn_searches import rivers_met
