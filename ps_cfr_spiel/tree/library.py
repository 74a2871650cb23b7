"""The library of `sweep.cc`, `walk.cc` and `learn.cc`: leaves of card games, walks, turns, sums of rows."""

from pathlib import Path

from ps_cfr_spiel.native import Library

LIBRARY = Library(
  Path(__file__).with_name("_sweep.abi3.so"),
  ("Showdowns", "WalkDown", "WalkUp", "Learn", "Iterate", "Rows", "Boards", "BoardsWorth", "BoardsValues"),
)
why_unavailable = LIBRARY.why_unavailable
