"""Games of cards too large to enumerate: dealt, in public clusters that share only values.

May use: abstraction, mccfr and what is below them. `dealt_game` joins lines of betting and classes of cards;
`hierarchy` is the abstraction and `clustering` makes it; `lines` is external sampling over lines,
`cluster_sampling` the sampler for the Monte Carlo loop, Algorithm 4 over clusters, and `mesh` runs it on all
devices; `evaluation` computes the value of a strategy in the whole game, `sizes` the size of that game, and
`memory` estimates what it would take.
"""

from ps_cfr_spiel.hierarchical.cluster_sampling import ClusterSampling, DealtTables, DealtTree, dealt_tree
from ps_cfr_spiel.hierarchical.clustering import AWARE, CLUSTERS, LOSSLESS, POTENTIAL, make_abstraction
from ps_cfr_spiel.hierarchical.dealt_game import SPECIAL, DealtGame
from ps_cfr_spiel.hierarchical.evaluation import Strategy, StrategyTables, evaluate_strategies
from ps_cfr_spiel.hierarchical.hierarchy import (
  DealtAbstraction,
  from_file,
  load_abstraction,
  save_abstraction,
  to_arrays,
)
from ps_cfr_spiel.hierarchical.lines import line_cells
from ps_cfr_spiel.hierarchical.mesh import (
  STATE,
  all_devices,
  device_game,
  gathered,
  init,
  on_mesh,
  run,
  run_needs,
)
from ps_cfr_spiel.hierarchical.sizes import Sizes, measure
