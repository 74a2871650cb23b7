"""Pictures with matplotlib: a hand chart in the colours of poker tools, and exploitability over iterations.

Figures are made without pyplot, so no display is needed and nothing global is touched; save one with
`figure.savefig("name.png")`.
"""

from collections.abc import Sequence

import numpy as np
import pyspiel

from ps_cfr_spiel import charts
from ps_cfr_spiel.policy import TreePolicy

try:
  from matplotlib.axes import Axes
  from matplotlib.colors import LinearSegmentedColormap
  from matplotlib.figure import Figure
  from matplotlib.patches import Patch
  from matplotlib.ticker import FuncFormatter
except ModuleNotFoundError as error:
  raise ModuleNotFoundError("Pictures need matplotlib: pip install 'ps_cfr_spiel[plot]'") from error

DPI = 150
FOLD, PASSIVE = "#7d93ab", "#79b26a"  # blue grey; green, for checks and calls
BETS = LinearSegmentedColormap.from_list("bets", ["#f2a48b", "#d9483b", "#7c1420"])
EMPTY, NEVER, INK, SOFT = "#ffffff", "#e9eaec", "#22262b", "#6b727b"
SUITS = dict(zip("shdc", "♠♥♦♣", strict=True))


def action_colors(actions: Sequence[str]) -> list:
  """Blue grey for a fold, green for a check or call, light to dark red for bets from small to large."""
  bets = [name for name in actions if name.lower() not in ("fold", "check", "call")]
  depths = np.linspace(0, 1, len(bets)) if len(bets) > 1 else [0.5]
  reds = {name: BETS(depth) for name, depth in zip(bets, depths, strict=False)}
  return [reds.get(name, FOLD if name.lower() == "fold" else PASSIVE) for name in actions]


def hand_chart(policy: TreePolicy, path: str = "") -> Figure:
  """The acting player's strategy at a public state: 169 kinds of hands, each a bar of its actions.

  The width of a color is the action's frequency among the hands of that kind; the height of the bar shows how often
  such a hand is here (dealt, and played to here by the player's own strategy), relative to the
  kind that is here most often.

  Args:
    policy: of a game whose types are hold'em hands.
    path: actions from the root; see `charts.spot`.

  Raises:
    ValueError: the path is wrong, or the types are not hold'em hands.
  """
  spot = charts.spot(policy, path)
  chart = charts.hand_chart(spot)
  figure = Figure(figsize=(8.2, 9.2), dpi=DPI, facecolor="white")
  axes = figure.add_axes((0.06, 0.115, 0.9, 0.802))
  _draw_cells(axes, chart, action_colors(spot.actions))
  _draw_titles(figure, policy, spot)
  _draw_legend(figure, spot)
  return figure


def _draw_cells(axes: Axes, chart: charts.HandChart, colors: Sequence) -> None:
  rows, columns = np.nonzero(chart.shown)
  height = 0.94 * chart.presence[rows, columns]
  left = columns + 0.03
  for row, column in zip(*np.nonzero(chart.combos), strict=True):
    axes.add_patch(_box(column, row))
  for frequency, color in zip(chart.frequency[:, rows, columns], colors, strict=True):
    axes.barh(rows + 0.97, 0.94 * frequency, -height, left, align="edge", color=color, linewidth=0)
    left = left + 0.94 * frequency
  for row in range(13):
    for column in range(13):
      known = bool(chart.combos[row, column])
      ink = INK if chart.shown[row, column] else SOFT if known else "#c4c8cd"
      name = charts.cell_name(row, column)
      axes.text(column + 0.09, row + 0.11, name, fontsize=9, color=ink, va="top", ha="left", weight="medium")
  axes.set(xlim=(0, 13), ylim=(13, 0), aspect="equal")
  axes.axis("off")


def _box(column: int, row: int) -> Patch:
  from matplotlib.patches import Rectangle

  return Rectangle((column + 0.03, row + 0.03), 0.94, 0.94, facecolor=NEVER, linewidth=0)


def _draw_titles(figure: Figure, policy: TreePolicy, spot: charts.Spot) -> None:
  table = [_suits(board)] if (board := charts.board(policy.game)) else []
  if (pot := charts.pot(policy.game)) is not None:
    table.append(f"pot {pot:,.0f}")
  where = "after " + ", ".join(spot.history) if spot.history else "first to act"
  figure.text(
    0.065, 0.967, f"Player {spot.player}, {where}", fontsize=15, color=INK, weight="bold", va="center"
  )
  figure.text(0.065, 0.936, "    ".join(table), fontsize=12, color=SOFT, va="center")


def _suits(board: str) -> str:
  """9s7c as 9♠ 7♣."""
  cards = "".join(board.split())
  return " ".join(cards[k] + SUITS.get(cards[k + 1], cards[k + 1]) for k in range(0, len(cards) - 1, 2))


def _draw_legend(figure: Figure, spot: charts.Spot) -> None:
  labels = [
    f"{name}  {100 * frequency:.1f}%" if np.isfinite(frequency) else name
    for name, frequency in zip(spot.actions, spot.frequencies(), strict=True)
  ]
  handles = [
    Patch(facecolor=color, label=label)
    for color, label in zip(action_colors(spot.actions), labels, strict=True)
  ]
  figure.legend(
    handles=handles, loc="center left", bbox_to_anchor=(0.055, 0.078), ncols=min(len(labels), 5),
    frameon=False, fontsize=11, handlelength=1.1, handleheight=1.1, columnspacing=1.6, labelcolor=INK,
  )  # fmt: skip
  note = "suited hands above the diagonal, offsuit below; bar height: how often the hand is here"
  figure.text(0.065, 0.03, note, fontsize=9, color=SOFT, va="center")


def exploitability_curve(
  iterations: Sequence[float],
  exploitability: Sequence[float],
  game: pyspiel.Game,
  label: str = "",
) -> Figure:
  """Exploitability over iterations, both on logarithmic axes; in % of the pot too where there is one.

  Args:
    iterations: at which it was measured; those below 1 are left out.
    exploitability: in the game's utility, as `PSCFRSolver.exploitability` gives it.
    game: the game, for the title and the units.
    label: what was run, for the title.
  """
  x, y = np.asarray(iterations, float), np.asarray(exploitability, float)
  keep = (x >= 1) & (y > 0)
  figure = Figure(figsize=(8, 5), dpi=DPI, facecolor="white", layout="constrained")
  axes = figure.add_subplot()
  axes.loglog(x[keep], y[keep], color="#c0392b", linewidth=2, marker="o", markersize=3.5)
  axes.set_title(label or game.get_type().short_name, fontsize=12, color=INK, loc="left", pad=10)
  pot = charts.pot(game)
  axes.set_xlabel("iterations", color=INK)
  axes.set_ylabel("exploitability (chips)" if pot else "exploitability (utility)", color=INK)
  axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
  axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
  axes.grid(which="major", color="#d9dce0", linewidth=0.8)
  axes.grid(which="minor", color="#eef0f2", linewidth=0.5)
  axes.spines[["top", "right"]].set_visible(False)
  if pot:
    second = axes.secondary_yaxis("right", functions=(lambda c: 100 * c / pot, lambda p: p * pot / 100))
    second.set_ylabel("% of the pot", color=INK)
    second.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}%"))
    second.spines["right"].set_visible(False)
  return figure
