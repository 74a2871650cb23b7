"""All pictures, with matplotlib; this package alone imports it.

May import: views and lower layers. `hand_charts`, `next_cards`, `trees`, `curves`, `cluster_pictures`,
`glasses_pictures`, `pursuit_pictures` and `cheat_pictures` are named after their subjects, and a new
picture goes beside them; `style` has the shared colours and sizes. Figures are made without pyplot: they
need no display and change no global state. Save one with `figure.savefig("name.png")`.
"""

try:
  import matplotlib
except ModuleNotFoundError as error:
  raise ModuleNotFoundError("Pictures need matplotlib: run pip install 'ps_cfr_spiel[plot]'") from error

from ps_cfr_spiel.pictures.cheat_pictures import cheat_behaviour
from ps_cfr_spiel.pictures.cluster_pictures import bucket_chart, cluster_chart
from ps_cfr_spiel.pictures.curves import (
  bands,
  dress,
  exploitability_curve,
  figure_with_panels,
  iterations_and_seconds,
  training_losses,
)
from ps_cfr_spiel.pictures.glasses_pictures import chase as glasses_chase
from ps_cfr_spiel.pictures.glasses_pictures import position as glasses_position
from ps_cfr_spiel.pictures.hand_charts import hand_chart
from ps_cfr_spiel.pictures.next_cards import card_chart
from ps_cfr_spiel.pictures.pursuit_pictures import pursuit_position
from ps_cfr_spiel.pictures.style import action_colors
from ps_cfr_spiel.pictures.trees import public_tree
from ps_cfr_spiel.views import evader_belief

__all__ = [
  "action_colors",
  "bands",
  "bucket_chart",
  "card_chart",
  "cheat_behaviour",
  "cluster_chart",
  "dress",
  "evader_belief",
  "exploitability_curve",
  "figure_with_panels",
  "glasses_chase",
  "glasses_position",
  "hand_chart",
  "iterations_and_seconds",
  "public_tree",
  "pursuit_position",
  "training_losses",
]
