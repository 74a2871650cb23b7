"""Games of cards too large to walk: dealt, not walked, in public clusters that share nothing but values.

May use: abstraction, mccfr and what is below them. `dealt_game` joins lines of betting and classes of cards,
and `parts` cuts the lines in two; `hierarchy` is the abstraction and `clustering` makes it; `lines` is
external sampling over lines, `turns` is Algorithm 4 over clusters, and `loop` runs it on all devices;
`evaluation` tells what a strategy is worth in the whole game, `sizes` how large that game is, and `memory`
what it would take.
"""

from ps_cfr_spiel.hierarchical.clustering import AWARE, CLUSTERS, LOSSLESS, POTENTIAL, make_abstraction
from ps_cfr_spiel.hierarchical.dealt_game import SPECIAL, DealtGame
from ps_cfr_spiel.hierarchical.evaluation import Strategy, Tables, evaluate_strategies
from ps_cfr_spiel.hierarchical.hierarchy import (
  DealtAbstraction,
  from_file,
  load_abstraction,
  save_abstraction,
  to_arrays,
)
from ps_cfr_spiel.hierarchical.loop import (
  all_devices,
  boards_of,
  device_game,
  gathered,
  init,
  on_mesh,
  placed,
  run_needs,
  solve,
)
from ps_cfr_spiel.hierarchical.parts import first_cells
from ps_cfr_spiel.hierarchical.sizes import Sizes, measure
from ps_cfr_spiel.hierarchical.turns import HierarchicalState, Sampled, sampled

__all__ = [
  "AWARE",
  "CLUSTERS",
  "LOSSLESS",
  "POTENTIAL",
  "SPECIAL",
  "DealtAbstraction",
  "DealtGame",
  "HierarchicalState",
  "Sampled",
  "Sizes",
  "Strategy",
  "Tables",
  "all_devices",
  "boards_of",
  "device_game",
  "evaluate_strategies",
  "first_cells",
  "from_file",
  "gathered",
  "init",
  "load_abstraction",
  "make_abstraction",
  "measure",
  "on_mesh",
  "placed",
  "run_needs",
  "sampled",
  "save_abstraction",
  "solve",
  "to_arrays",
]
