"""Pictures of Cheat players: their rates of lies and challenges."""

import numpy as np
from matplotlib.figure import Figure

from ps_cfr_spiel.games import cheat
from ps_cfr_spiel.pictures.curves import figure_with_panels
from ps_cfr_spiel.pictures.style import INK, LINES

_RATES = ("discards that are lies", "claims challenged", "challenges that are right")


def cheat_behaviour(behaviour: cheat.Behaviour, title: str = "") -> Figure:
  """Bars of the three rates in percent, by the number of cards claimed and by rank.

  `games.cheat.behaviour.count` has the counts.
  """
  figure, (left, right) = figure_with_panels(["", ""], size=(11, 4), sharey=True)
  claims, ranks = behaviour.laid.shape
  cards = [str(number) for number in range(1, claims + 1)]
  panels = ((left, 1, "cards claimed", cards), (right, 0, "rank", list(cheat.RANKS[:ranks])))
  for axes, axis, name, ticks in panels:
    for number, (rates, label) in enumerate(zip(behaviour.rates(axis), _RATES, strict=True)):
      at = np.arange(len(ticks)) + 0.27 * (number - 1)
      axes.bar(at, 100 * np.nan_to_num(rates), 0.25, color=LINES[number], label=label)
    axes.set_xticks(range(len(ticks)), ticks)
    axes.set_xlabel(name, color=INK)
    axes.set_ylim(0, 100)
    axes.spines[["top", "right"]].set_visible(False)
  left.set_ylabel("%", color=INK)
  figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
  figure.suptitle(title, fontsize=11, color=INK)
  return figure
