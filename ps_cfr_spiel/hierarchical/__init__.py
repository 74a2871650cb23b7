"""Games of cards too large to enumerate: dealt, in public clusters that share only values.

May import: abstraction, keyed, mccfr and lower layers. `dealt_game` reads a card
game; `hierarchy` is the abstraction and `clustering` makes it; `lines` is external sampling over lines,
`card_draws` deals, `cluster_sampling` is the sampler for the Monte Carlo loop, Algorithm 4 over clusters, and
`mesh` runs it on all devices; `shards` keeps clusters in files; `evaluation` computes the value of a strategy
in the whole game, `clustered_game` has the keys of policies, and `sizes` the size of that game.
"""

from ps_cfr_spiel.hierarchical.abstraction_files import (
  InFile,
  from_file,
  load_abstraction,
  save_abstraction,
)
from ps_cfr_spiel.hierarchical.cluster_sampling import (
  ClusterSampling,
  DealtTables,
  DealtTree,
  PartTables,
  dealt_tree,
)
from ps_cfr_spiel.hierarchical.clustered_game import (
  ClusteredGame,
  by_lines,
  exact_values,
  has_clusters,
  rounded,
  value_against,
)
from ps_cfr_spiel.hierarchical.clustering import CLUSTERS, make_abstraction
from ps_cfr_spiel.hierarchical.dealt_game import card_game, shares_beaten
from ps_cfr_spiel.hierarchical.dealt_hands import DEAD, hand_strengths
from ps_cfr_spiel.hierarchical.evaluation import Strategy, StrategyTables, evaluate_strategies
from ps_cfr_spiel.hierarchical.hierarchy import ByCluster, DealtAbstraction, Hierarchy
from ps_cfr_spiel.hierarchical.lines import LineCells, trunk_and_subtree
from ps_cfr_spiel.hierarchical.mesh import (
  all_devices,
  clusters_here,
  device_game,
  init,
  on_mesh,
  run,
  run_needs,
  tables_here,
)
from ps_cfr_spiel.hierarchical.nearest import NearestAbstraction
from ps_cfr_spiel.hierarchical.shards import forget_shards, read_shards, write_shards, write_tables
from ps_cfr_spiel.hierarchical.sizes import Sizes, measure
