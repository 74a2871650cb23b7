"""Value functions learned from solved situations; equinox and optax are imported only here.

May import: search and lower layers. A network is given `features` of a public state beside ranges:
`state_features`, numbers of the public states of a game, which `places` lists; `board_features` of
hold'em, by `hand_places`; or `tensors` of any game, whose public states need no list. `teaching` solves
situations at ranges that `ranges` draws, and `listening` in searches; `batches` solves boards
(`solved_boards`); `self_play` searches on demand: these are the `examples`.
`training` fits a `network` to them (`fitting` is the repeated step), with the options in `settings`, or they
become `alpha_vectors`; `alternation` repeats all of it. `network_values` serve searches, `street_leaves`
those of whole streets.
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
from ps_cfr_spiel.learning.boards.board_features import BoardFeatures, BoardTensors, BoundBoards
from ps_cfr_spiel.learning.boards.places import FrontierStates
from ps_cfr_spiel.learning.boards.ranges import ReachSampler
from ps_cfr_spiel.learning.boards.solved_boards import boards_as_examples, load_boards
from ps_cfr_spiel.learning.boards.street_leaves import StreetLeaves
from ps_cfr_spiel.learning.examples import Examples
from ps_cfr_spiel.learning.features import Features
from ps_cfr_spiel.learning.fitting import Data, Progress, Tensors
from ps_cfr_spiel.learning.listening import SearchSampler, rivers_met
from ps_cfr_spiel.learning.network import Network, ValueNetwork
from ps_cfr_spiel.learning.network_values import NetworkValues
from ps_cfr_spiel.learning.state_features import BoundNetwork, StateFeatures
from ps_cfr_spiel.learning.teaching import generate_examples
from ps_cfr_spiel.learning.training import pretrained, resume, train, train_in
from ps_cfr_spiel.options import LearnOptions, TrainingOptions
