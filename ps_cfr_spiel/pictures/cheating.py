"""Pictures of Cheat players: their rates of lies and challenges."""

import numpy as np
from matplotlib.figure import Figure

from ps_cfr_spiel.games import cheat
from ps_cfr_spiel.pictures.style import DPI, INK, LINES

_RATES = ("discards that are lies", "claims challenged", "challenges that are right")


def cheat_behaviour(behaviour: cheat.Behaviour, title: str = "") -> Figure:
  """Bars of the three rates in percent, by the number of cards claimed and by rank.

  Args:
    behaviour: the counts; see `games.cheat.behaviour.count`.
    title: above both panels.
  """
  figure = Figure(figsize=(11, 4), dpi=DPI, facecolor="white", layout="constrained")
  claims, ranks = behaviour.laid.shape
  labels = ([str(cards) for cards in range(1, claims + 1)], list(cheat.RANKS[:ranks]))
  panels = ((1, "cards claimed"), (0, "rank"))
  for place, ((axis, name), ticks) in enumerate(zip(panels, labels, strict=True), 1):
    axes = figure.add_subplot(1, 2, place)
    for number, (rates, label) in enumerate(zip(behaviour.rates(axis), _RATES, strict=True)):
      at = np.arange(len(ticks)) + 0.27 * (number - 1)
      axes.bar(at, 100 * np.nan_to_num(rates), 0.25, color=LINES[number], label=label)
    axes.set_xticks(range(len(ticks)), ticks)
    axes.set_xlabel(name, color=INK)
    axes.set_ylim(0, 100)
    axes.spines[["top", "right"]].set_visible(False)
    if place == 1:
      axes.set_ylabel("%", color=INK)
      figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
  figure.suptitle(title, fontsize=11, color=INK)
  return figure
