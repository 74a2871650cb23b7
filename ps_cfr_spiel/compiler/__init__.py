"""From a pyspiel game to a public tree: the only room that walks histories.

May use: tree and what is below it.
"""

from ps_cfr_spiel.compiler.build import LEAVES, LIMIT, build_tree
from ps_cfr_spiel.compiler.check import check_game
from ps_cfr_spiel.compiler.from_form import BayesianForm, Deals
from ps_cfr_spiel.compiler.from_histories import split_types
from ps_cfr_spiel.compiler.loading import quiet_stderr
from ps_cfr_spiel.compiler.public_states import SOURCES, augmented_infostates, components
from ps_cfr_spiel.compiler.report import Report
from ps_cfr_spiel.compiler.walk import Histories, Walked, choice_rows, last_choices, layers, walked

__all__ = [
  "LEAVES",
  "LIMIT",
  "SOURCES",
  "BayesianForm",
  "Deals",
  "Histories",
  "Report",
  "Walked",
  "augmented_infostates",
  "build_tree",
  "check_game",
  "choice_rows",
  "components",
  "last_choices",
  "layers",
  "quiet_stderr",
  "split_types",
  "walked",
]
