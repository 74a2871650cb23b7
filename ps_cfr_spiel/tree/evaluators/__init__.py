"""Leaf evaluators: matrices, boards, showdowns."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
  __name__, submodules=["board_layout", "board_leaves", "leaves", "showdown", "showdown_sweep", "streaming"]
)
