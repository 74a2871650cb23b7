"""All pictures, with matplotlib; this package alone imports it.

May import: views and lower layers. `hand_charts`, `next_cards`, `trees`, `curves`, `bars`, `positions` (of
any game with a map) and `cluster_pictures` are named after their subjects, and a new picture goes beside
them; `style` has the shared colours and sizes. Figures are made without pyplot: they need no display and
change no global state. Save one with `figure.savefig("name.png")`.
"""

try:
  import matplotlib
except ModuleNotFoundError as error:
  raise ModuleNotFoundError("Pictures need matplotlib: run pip install 'ps_cfr_spiel[plot]'") from error

from ps_cfr_spiel.apps.pictures.bars import bars
from ps_cfr_spiel.apps.pictures.cluster_pictures import bucket_chart, cluster_chart
from ps_cfr_spiel.apps.pictures.curves import (
  bands,
  dress,
  exploitability_curve,
  figure_with_panels,
  iterations_and_seconds,
  training_losses,
)
from ps_cfr_spiel.apps.pictures.hand_charts import hand_chart
from ps_cfr_spiel.apps.pictures.next_cards import card_chart
from ps_cfr_spiel.apps.pictures.positions import all_positions, position
from ps_cfr_spiel.apps.pictures.style import action_colors
from ps_cfr_spiel.apps.pictures.trees import public_tree

__all__ = [
  "action_colors",
  "all_positions",
  "bands",
  "bars",
  "bucket_chart",
  "card_chart",
  "cluster_chart",
  "dress",
  "exploitability_curve",
  "figure_with_panels",
  "hand_chart",
  "iterations_and_seconds",
  "position",
  "public_tree",
  "training_losses",
]
