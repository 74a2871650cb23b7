"""Text for people: a strategy at a spot, charts, certificates, units.

May use: evaluation and the rooms below it. `spots` has a strategy at one public state, `charts` puts it into
text, `certificate` does so with a public tree, `glasses` and `pursuit` have beliefs about hidden players, and
maps; `explore` puts a whole solution into a page for the browser, `boards` has
reports over boards, `table` a person's game; `cheating` has a player's lies; `units` has
all knowledge of single games' parameters.
"""

from typing import TYPE_CHECKING

from ps_cfr_spiel.faces import on_first_use

if TYPE_CHECKING:
  from ps_cfr_spiel.notation import grouped
  from ps_cfr_spiel.policy import action_name
  from ps_cfr_spiel.views import charts, glasses, pursuit
  from ps_cfr_spiel.views.boards import average_row, board_row, boards_page, boards_text
  from ps_cfr_spiel.views.certificate import certificate, labels_of
  from ps_cfr_spiel.views.cheating import behaviour_text
  from ps_cfr_spiel.views.explore import explore_page, explore_script
  from ps_cfr_spiel.views.glasses import CHASER, evader_belief
  from ps_cfr_spiel.views.spots import (
    Spot,
    SpotWorth,
    chance_moves,
    find_spot,
    has_spots,
    spot,
    spot_after,
    worth_at,
  )
  from ps_cfr_spiel.views.table import table_data, table_page
  from ps_cfr_spiel.views.units import (
    number_text,
    pot_of,
    seat_of,
    title_of,
    unit_of,
    value_lines,
    with_unit,
    without_rounding,
  )
else:
  __getattr__ = on_first_use(__name__)
