"""What people read: a strategy at a spot, charts, certificates, units.

May use: evaluation and what is below it. `spots` is a strategy at one public state, `charts` puts it into
text, `certificate` does so with a public tree, `glasses` with beliefs about the evader; all that is known of
single games' parameters is in `units`.
"""

from ps_cfr_spiel.views import charts, glasses
from ps_cfr_spiel.views.certificate import action_name, certificate, labels_of
from ps_cfr_spiel.views.glasses import CHASER, evader_belief
from ps_cfr_spiel.views.spots import Spot, card_comes, has_spots, spot, spots_by_card
from ps_cfr_spiel.views.units import board_of, number_text, pot_of, unit_of, with_unit

__all__ = [
  "CHASER",
  "Spot",
  "action_name",
  "board_of",
  "card_comes",
  "certificate",
  "charts",
  "evader_belief",
  "glasses",
  "has_spots",
  "labels_of",
  "number_text",
  "pot_of",
  "spot",
  "spots_by_card",
  "unit_of",
  "with_unit",
]
