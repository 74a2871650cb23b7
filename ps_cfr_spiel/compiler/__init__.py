"""From a pyspiel game to a public tree: the only room that walks histories.

May use: forms and what is below it. `build` is the door; behind it `from_form` compiles games that describe
themselves, `walk` and `from_histories` all others, within `limits`; `public_states` finds what is common
knowledge. The laws that a game must keep are in `game_laws` and `history_laws`, and `check` reports on all
of them.
"""

from ps_cfr_spiel.compiler.build import LEAVES, build_tree
from ps_cfr_spiel.compiler.check import check_game
from ps_cfr_spiel.compiler.from_histories import one_row_per_infostate
from ps_cfr_spiel.compiler.histories import (
  Histories,
  Walked,
  choice_rows,
  last_choices,
  layers,
  walked,
)
from ps_cfr_spiel.compiler.limits import LIMIT
from ps_cfr_spiel.compiler.loading import load_game, quiet_stderr
from ps_cfr_spiel.compiler.memory import check_memory
from ps_cfr_spiel.compiler.numbering import number_rows, one_to_one
from ps_cfr_spiel.compiler.public_states import SOURCES, augmented_infostates, components
from ps_cfr_spiel.compiler.report import Report

__all__ = [
  "LEAVES",
  "LIMIT",
  "SOURCES",
  "Histories",
  "Report",
  "Walked",
  "augmented_infostates",
  "build_tree",
  "check_game",
  "check_memory",
  "choice_rows",
  "components",
  "last_choices",
  "layers",
  "load_game",
  "number_rows",
  "one_row_per_infostate",
  "one_to_one",
  "quiet_stderr",
  "walked",
]
