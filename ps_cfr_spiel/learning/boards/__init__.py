"""Learning about boards of hold'em: features, solved boards, leaves of a street."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
  __name__,
  submodules=[
    "board_features",
    "draws",
    "flop_leaves",
    "hand_places",
    "places",
    "ranges",
    "solved_boards",
    "street_leaves",
  ],
)
