"""All pictures, with matplotlib; this package alone imports it.

May import: views and lower layers. `hand_charts`, `next_cards`, `trees`, `curves`, `bars`, `positions` (of
any game with a map) and `cluster_pictures` are named after their subjects, and a new picture goes beside
them; `style` has the shared colours and sizes. Figures are made without pyplot: they need no display and
change no global state. Save one with `figure.savefig("name.png")`.
"""

import lazy_loader

try:
  import matplotlib.figure  # which all pictures need; if it is missing, that is known before a long run
except ModuleNotFoundError as error:
  raise ModuleNotFoundError("Pictures need matplotlib: run pip install 'ps_cfr_spiel[plot]'") from error

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
