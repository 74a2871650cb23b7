"""The compilation of a pyspiel game into a public tree.

May import: histories and lower layers. `build` is the entry; `from_form` compiles games that
describe themselves, `from_histories` all others. `game_check` reports on all checks that a game must pass.
"""

from typing import TYPE_CHECKING

from ps_cfr_spiel.faces import on_first_use

if TYPE_CHECKING:
  from ps_cfr_spiel.compiler.build import LEAVES, build_tree
  from ps_cfr_spiel.compiler.check_report import Finding, Report, Verdict
  from ps_cfr_spiel.compiler.described import form_of
  from ps_cfr_spiel.compiler.form_labels import Deals, FormLabels
  from ps_cfr_spiel.compiler.forms import EXACT, BayesianForm, Form, Lines, PublicCardsForm
  from ps_cfr_spiel.compiler.from_form import FEW_PAIRS
  from ps_cfr_spiel.compiler.from_histories import build_general, one_row_per_infostate, with_recall
  from ps_cfr_spiel.compiler.game_check import check_game
  from ps_cfr_spiel.compiler.loading import game_fields, game_in, load_game, quiet_stderr
  from ps_cfr_spiel.compiler.memory import (
    COMPILING,
    MORE_CODE,
    check_memory,
    check_needs,
    is_streamed,
    memory_needs,
    values_needs,
  )
  from ps_cfr_spiel.compiler.suit_isomorphism import fold_suits
else:
  __getattr__ = on_first_use(__name__)
