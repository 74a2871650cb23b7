"""The library of `sweep.cc`, `walk.cc` and `learn.cc`: leaves of card games, walks, turns, sums of rows."""

import functools
import warnings
from pathlib import Path

import jax

from ps_cfr_spiel.native import Library

LIBRARY = Library(
  Path(__file__).with_name("_sweep.abi3.so"),
  ("Showdowns", "WalkDown", "WalkUp", "Learn", "Iterate", "Rows", "Boards", "BoardsWorth", "BoardsValues"),
)
why_unavailable = LIBRARY.why_unavailable


@functools.cache  # once a process
def warn_if_missing() -> None:
  """Warn that a CPU has to do without the library, and of what that costs."""
  if jax.default_backend() == "cpu" and (reason := why_unavailable()):
    warnings.warn(
      f"The native library is missing: {reason}. XLA does its work: rivers take some seven times longer, and "
      "flops several times the memory. Build it with pip install -e . in the checkout.",
      stacklevel=2,
    )
