"""Bars of rates in percent, side by side."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from ps_cfr_spiel.apps.pictures.curves import figure_with_panels
from ps_cfr_spiel.apps.pictures.style import INK, LINES


def bars(
  panels: Sequence[tuple[str, Sequence[str], np.ndarray]], rates: Sequence[str], title: str = ""
) -> Figure:
  """Bars of `rates`, named in the legend, from 0 to 1 in percent.

  Each panel has the name of its axis, the names of its n columns, and float[rates, n]; nan is drawn as 0.
  """
  figure, places = figure_with_panels([""] * len(panels), size=(11, 4), sharey=True)
  width = 0.81 / len(rates)
  for axes, (name, ticks, values) in zip(places, panels, strict=True):
    for number, (heights, label) in enumerate(zip(values, rates, strict=True)):
      at = np.arange(len(ticks)) + width * (number - (len(rates) - 1) / 2)
      axes.bar(at, 100 * np.nan_to_num(heights), 0.93 * width, color=LINES[number], label=label)
    axes.set_xticks(range(len(ticks)), ticks)
    axes.set_xlabel(name, color=INK)
    axes.set_ylim(0, 100)
    axes.spines[["top", "right"]].set_visible(False)
  places[0].set_ylabel("%", color=INK)
  legend = places[0].get_legend_handles_labels()
  figure.legend(*legend, loc="outside lower center", ncols=len(rates), frameon=False)
  figure.suptitle(title, fontsize=11, color=INK)
  return figure
