"""The colours and sizes shared by the pictures."""

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.colors import LinearSegmentedColormap

DPI = 150
INK = "#22262b"
LINES = ("#c0392b", "#2f6690", "#3a7d44", "#8e6c8a", "#d08c2f", "#5c6b73", "#16a3a3", "#7a5230")
FOLD, PASSIVE = "#7d93ab", "#79b26a"  # blue grey; green, for checks and calls
BETS = LinearSegmentedColormap.from_list("bets", ["#f2a48b", "#d9483b", "#7c1420"])
NEVER, SOFT, FAINT = "#e9eaec", "#6b727b", "#c4c8cd"


def action_colors(actions: Sequence[str]) -> list:
  """Blue grey for a fold, green for a check or call, light to dark red for bets from small to large."""
  bets = [name for name in actions if name.lower() not in ("fold", "check", "call")]
  depths = np.linspace(0, 1, len(bets)) if len(bets) > 1 else [0.5]
  reds = {name: BETS(depth) for name, depth in zip(bets, depths, strict=False)}
  return [reds.get(name, FOLD if name.lower() == "fold" else PASSIVE) for name in actions]


def tick_text(x: float) -> str:
  """A tick of a logarithmic axis: 0.001 to 1,000,000 in full, else as a power of ten."""
  if x == 0 or 1e-4 < abs(x) < 1e7:
    return f"{x:,.7g}"
  exponent = math.floor(math.log10(abs(x)) + 1e-9)
  factor = x / 10**exponent
  return f"$10^{{{exponent}}}$" if abs(factor - 1) < 1e-6 else f"${factor:.3g}\\cdot10^{{{exponent}}}$"
