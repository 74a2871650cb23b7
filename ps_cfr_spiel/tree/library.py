"""The library of `sweep.cc` and `walk.cc`: leaves of card games, a player's walks, sums of rows."""

from pathlib import Path

from ps_cfr_spiel.native import Library

LIBRARY = Library(Path(__file__).with_name("_sweep.abi3.so"), ("Sweep", "Down", "Up", "Rows"))
why_unavailable = LIBRARY.why_unavailable
