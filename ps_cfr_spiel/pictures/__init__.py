"""All pictures, with matplotlib; this room alone imports it.

May use: views and the rooms below it. `hands`, `cards`, `trees`, `curves`, `public_clusters`, `glasses`,
`pursuit` and `cheating` are named after their subjects, and a new picture goes beside them;
`style` has the shared colours and sizes. Figures are made without pyplot: they need no display and change no
global state. Save one with `figure.savefig("name.png")`.
"""

try:
  import matplotlib
except ModuleNotFoundError as error:
  raise ModuleNotFoundError("Pictures need matplotlib: run pip install 'ps_cfr_spiel[plot]'") from error

from ps_cfr_spiel.pictures.cards import card_chart
from ps_cfr_spiel.pictures.cheating import cheat_behaviour
from ps_cfr_spiel.pictures.curves import (
  bands,
  dress,
  exploitability_curve,
  figure_with_panels,
  iterations_and_seconds,
  training_losses,
)
from ps_cfr_spiel.pictures.glasses import chase as glasses_chase
from ps_cfr_spiel.pictures.glasses import position as glasses_position
from ps_cfr_spiel.pictures.hands import hand_chart
from ps_cfr_spiel.pictures.public_clusters import bucket_chart, cluster_chart
from ps_cfr_spiel.pictures.pursuit import pursuit_position
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
