"""The strategy after each possible public card, in the colours of poker tools."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ps_cfr_spiel import TreePolicy
from ps_cfr_spiel.apps.pictures.hand_charts import (
  MARGIN,
  SUITS,
  draw_bars,
  draw_cells,
  draw_legend,
  draw_titles,
)
from ps_cfr_spiel.apps.pictures.style import DPI, FAINT, INK, action_colors
from ps_cfr_spiel.apps.views import Spot, chance_moves, charts, worth_at

RISES = ("fold", "check", "call")  # no bet and no raise


def card_chart(policy: TreePolicy, path: str) -> Figure:
  """The frequency of each action after each possible card: a grid of ranks and suits.

  The width of a colour is the action's frequency over all hands of the player there; the numbers are the
  frequency of bets and raises, and below the EV from now and the equity of these hands.

  The game has public cards, as `holdem_subgame` has; `path` are the public moves before the card, "check,
  check", see `views.spot`. ValueError if it is wrong, or no public card comes after it.
  """
  spots = cards_to_come(policy, path)
  first = next(iter(spots.values()))
  figure = Figure(figsize=(10.4, 4.9), dpi=DPI, facecolor="white")
  axes = figure.add_axes((0.05, 0.2, 0.93, 0.63))
  _draw_cards(axes, policy, spots)
  draw_titles(figure, policy, first.player, f"on each card after {', '.join(first.history[:-1])}")
  played = np.sum([spot.probability @ spot.weight for spot in spots.values()], axis=0)
  note = "each card: the share of every action over all hands; the frequency of bets and raises, EV, equity"
  draw_legend(figure, first.actions, played / np.sum(played), note)
  return figure


def cards_to_come(policy: TreePolicy, path: str) -> Mapping[str, Spot]:
  """The spots after each possible next card, by its name; see `card_chart`."""
  spots = {name.rpartition(" ")[2]: spot for name, spot in chance_moves(policy, path).items()}
  unknown = [card for card in spots if len(card) != 2 or card[0] not in charts.RANKS or card[1] not in SUITS]
  if not spots or unknown:
    where = f"after {path}" if path else "at the start"
    raise ValueError(
      f"No public card comes {where} in {policy.labels.game}; give moves with a card after them."
    )
  return spots


def _draw_cards(axes: Axes, policy: TreePolicy, spots: Mapping[str, Spot]) -> None:
  suits = list(SUITS)
  places = {card: (charts.RANKS.index(card[0]), suits.index(card[1])) for card in spots}
  columns, rows = np.array(list(places.values())).T
  draw_cells(axes, (rows, columns))
  actions = next(iter(spots.values())).actions
  shares = np.array([np.nan_to_num(spot.frequencies()) for spot in spots.values()]).T
  draw_bars(axes, (rows, columns), 0.58 - MARGIN, shares, action_colors(actions))
  rises = [k for k, name in enumerate(actions) if name.lower() not in RISES]
  for row, column in np.ndindex(len(suits), len(charts.RANKS)):
    card = charts.RANKS[column] + suits[row]
    name = f"{charts.RANKS[column]}{SUITS[suits[row]]}"
    axes.text(column + 0.1, row + 0.24, name, fontsize=9, color=INK if card in spots else FAINT, va="center")
    if card in spots:
      share = spots[card].frequencies()[rises].sum()
      text = f"{100 * share:.0f}%" if np.isfinite(share) else "-"
      axes.text(column + 0.92, row + 0.24, text, fontsize=8, color=INK, va="center", ha="right")
      spot = spots[card]
      ev, equity = worth_at(policy, spot).since(spot.spent[spot.player]).mean(spot)
      worth = f"{charts.value_text(ev)}" + (f" · {100 * equity:.0f}%" if np.isfinite(equity) else "")
      box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}
      axes.text(column + 0.5, row + 0.72, worth, fontsize=6.5, color=INK, va="center", ha="center", bbox=box)
  axes.set(xlim=(0, len(charts.RANKS)), ylim=(len(suits), 0))
  axes.axis("off")
