"""Text for people: a strategy at a spot, charts, certificates, units.

May import: evaluation and lower layers. `public_state_view` has a strategy at one public state, `charts`
puts it into text, `certificate` does so with a public tree, `evader_beliefs` and `attacker_beliefs`
are those about hidden players, and maps; `explorer_page` puts a whole solution into a page for the browser,
`board_report` has reports over boards, `table_page` a person's game; `cheat_rates` has a player's lies;
`units` has all knowledge of single games' parameters.
"""

from typing import TYPE_CHECKING

from ps_cfr_spiel.faces import on_first_use

if TYPE_CHECKING:
  from ps_cfr_spiel.notation import grouped
  from ps_cfr_spiel.policy import action_name
  from ps_cfr_spiel.views import attacker_beliefs, charts, evader_beliefs
  from ps_cfr_spiel.views.board_report import average_row, board_row, boards_page, boards_text
  from ps_cfr_spiel.views.certificate import certificate, labels_of
  from ps_cfr_spiel.views.cheat_rates import behaviour_text
  from ps_cfr_spiel.views.evader_beliefs import CHASER, evader_belief
  from ps_cfr_spiel.views.explorer_page import explore_page, explore_script
  from ps_cfr_spiel.views.public_state_view import (
    Spot,
    SpotWorth,
    chance_moves,
    find_spot,
    has_spots,
    spot,
    spot_after,
    worth_at,
  )
  from ps_cfr_spiel.views.table_page import table_data, table_page
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
