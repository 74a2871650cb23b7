"""The colours, sizes and ticks shared by the pictures."""

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.ticker import LogLocator, NullLocator

DPI = 150
INK = "#22262b"
LINES = ("#c0392b", "#2f6690", "#3a7d44", "#8e6c8a", "#d08c2f", "#5c6b73", "#16a3a3", "#7a5230")
# Blue grey; light green, for checks and calls; bets: all apart to the colour-blind too, as on pages.
FOLD, PASSIVE = "#7d93ab", "#9fd6c2"
BETS = LinearSegmentedColormap.from_list("bets", ["#f3a06e", "#d64830", "#741020"])
NEVER, SOFT, FAINT = "#e9eaec", "#6b727b", "#c4c8cd"


def action_colors(actions: Sequence[str]) -> list:
  """Blue grey for a fold, green for a check or call, light to dark red for bets from small to large."""
  bets = [name for name in actions if name.lower() not in ("fold", "check", "call")]
  depths = np.linspace(0, 1, len(bets)) if len(bets) > 1 else [0.5]
  reds = {name: BETS(depth) for name, depth in zip(bets, depths, strict=False)}
  return [reds.get(name, FOLD if name.lower() == "fold" else PASSIVE) for name in actions]


RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def set_ticks(axis: Axis, parent: Axis | None = None) -> None:
  """Powers of ten on a logarithmic axis; below three of them also 2 and 5 times each, as plain numbers.

  `parent` is the axis whose numbers, times a factor, a secondary axis shows.

  Between them are no ticks, each of which takes matplotlib as long as a labelled one: see `draw_minor_grid`.
  """
  shown = parent or axis
  if shown.get_scale() != "log":
    return
  low, high = shown.get_view_interval()
  short = high < 1000 * low
  axis.set_major_locator(LogLocator(subs=(1, 2, 5) if short else (1,)))
  plain = short and low >= 1e-3 and high < 1e6
  axis.set_major_formatter((lambda x, _: f"{x:,.6g}") if plain else (lambda x, _: power_text(x)))
  axis.set_minor_locator(NullLocator())


def draw_minor_grid(axes: Axes) -> None:
  """Lines at 2, 3, ..., 9 times the powers of ten of logarithmic axes, as one artist for each axis."""
  spans = ("x", axes.get_xaxis_transform()), ("y", axes.get_yaxis_transform())
  for (name, transform), axis in zip(spans, (axes.xaxis, axes.yaxis), strict=True):
    if axis.get_scale() != "log":
      continue
    low, high = axis.get_view_interval()
    at = [x for x in LogLocator(subs=range(2, 10), numticks=1000).tick_values(low, high) if low < x < high]
    lines = [[(x, 0), (x, 1)] if name == "x" else [(0, x), (1, x)] for x in at]
    grid = LineCollection(lines, colors="#eef0f2", linewidths=0.5, transform=transform, zorder=0.5)
    axes.add_collection(grid, autolim=False)


def power_text(x: float) -> str:
  """A positive number as a power of ten, with a factor if it needs one.

  It is plain text: matplotlib's mathematics would take a third of the time that a picture takes.
  """
  exponent = math.floor(math.log10(x) + 1e-9)
  factor = x / 10**exponent
  power = f"10{str(exponent).translate(RAISED)}"
  return power if abs(factor - 1) < 1e-6 else f"{factor:.3g}·{power}"
