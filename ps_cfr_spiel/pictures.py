"""Pictures with matplotlib, all of them: hand charts in the colours of poker tools, exploitability curves,
bands over many runs, public trees, and where the evader of Glasses may be.

Figures are made without pyplot, so no display is needed and nothing global is touched; save one with
`figure.savefig("name.png")`.
"""

import itertools
from collections.abc import Sequence

import numpy as np
import pyspiel

from ps_cfr_spiel import certificate, charts
from ps_cfr_spiel.curves import DPI, INK, LINES, bands, exploitability_curve, iterations_and_seconds
from ps_cfr_spiel.glasses_picture import chase as glasses_chase
from ps_cfr_spiel.glasses_picture import evader_belief
from ps_cfr_spiel.glasses_picture import position as glasses_position
from ps_cfr_spiel.policy import TreePolicy
from ps_cfr_spiel.spots import Spot, board_of, pot_of, spot
from ps_cfr_spiel.tree import Labels, PublicTree

try:
  from matplotlib.axes import Axes
  from matplotlib.colors import LinearSegmentedColormap
  from matplotlib.figure import Figure
  from matplotlib.patches import Patch, Rectangle
except ModuleNotFoundError as error:
  raise ModuleNotFoundError("Pictures need matplotlib: pip install 'ps_cfr_spiel[plot]'") from error

__all__ = [
  "action_colors",
  "bands",
  "evader_belief",
  "exploitability_curve",
  "glasses_chase",
  "glasses_position",
  "hand_chart",
  "iterations_and_seconds",
  "public_tree",
]

FOLD, PASSIVE = "#7d93ab", "#79b26a"  # blue grey; green, for checks and calls
BETS = LinearSegmentedColormap.from_list("bets", ["#f2a48b", "#d9483b", "#7c1420"])
NEVER, SOFT, FAINT = "#e9eaec", "#6b727b", "#c4c8cd"
SIDE, BAR = 0.94, 0.66  # side of a cell and height of a full bar in it, in units of the grid
SUITS = dict(zip("shdc", "♠♥♦♣", strict=True))


def action_colors(actions: Sequence[str]) -> list:
  """Blue grey for a fold, green for a check or call, light to dark red for bets from small to large."""
  bets = [name for name in actions if name.lower() not in ("fold", "check", "call")]
  depths = np.linspace(0, 1, len(bets)) if len(bets) > 1 else [0.5]
  reds = {name: BETS(depth) for name, depth in zip(bets, depths, strict=False)}
  return [reds.get(name, FOLD if name.lower() == "fold" else PASSIVE) for name in actions]


def hand_chart(policy: TreePolicy, path: str = "") -> Figure:
  """The acting player's strategy at a public state: 169 kinds of hands, each a bar of its actions.

  The width of a colour is the action's frequency among the hands of that kind. The height of a bar is how
  often such a hand is here (dealt, and played to here), relative to the kind for which that is most.

  Args:
    policy: of a game whose types are hold'em hands.
    path: actions from the root; see `spots.spot`.

  Raises:
    ValueError: the path is wrong, or the types are not hold'em hands.
  """
  here = spot(policy, path)
  chart = charts.hand_chart(here)
  figure = Figure(figsize=(8.2, 9.2), dpi=DPI, facecolor="white")
  axes = figure.add_axes((0.06, 0.115, 0.9, 0.802))
  _draw_cells(axes, chart, action_colors(here.actions))
  _draw_titles(figure, policy, here)
  _draw_legend(figure, here)
  return figure


def _draw_cells(axes: Axes, chart: charts.HandChart, colors: Sequence) -> None:
  rows, columns = np.nonzero(chart.shown)
  height = BAR * chart.presence[rows, columns]
  left = columns + (1 - SIDE) / 2
  bottom = rows + (1 + SIDE) / 2
  for row, column in zip(*np.nonzero(chart.combos), strict=True):
    corner = (column + (1 - SIDE) / 2, row + (1 - SIDE) / 2)
    axes.add_patch(Rectangle(corner, SIDE, SIDE, facecolor=NEVER, linewidth=0))
  for frequency, color in zip(chart.frequency[:, rows, columns], colors, strict=True):
    axes.barh(bottom, SIDE * frequency, -height, left, align="edge", color=color, linewidth=0)
    left = left + SIDE * frequency
  for row, column in np.ndindex(13, 13):
    ink = INK if chart.shown[row, column] else SOFT if chart.combos[row, column] else FAINT
    axes.text(column + 0.1, row + 0.17, charts.cell_name(row, column), fontsize=8.5, color=ink, va="center")
  axes.set(xlim=(0, 13), ylim=(13, 0), aspect="equal")
  axes.axis("off")


def _draw_titles(figure: Figure, policy: TreePolicy, here: Spot) -> None:
  title = f"Player {here.player}, {'after ' + ', '.join(here.history) if here.history else 'first to act'}"
  size = min(15, 15 * 64 / len(title))
  figure.text(0.065, 0.967, title, fontsize=size, color=INK, weight="bold", va="center")
  board, pot = board_of(policy.game), pot_of(policy.game)
  if board is not None and pot is not None:
    figure.text(0.065, 0.936, f"{_suits(board)}    pot {pot:,.0f}", fontsize=12, color=SOFT, va="center")


def _suits(board: str) -> str:
  """9s7c as 9♠ 7♣."""
  cards = "".join(board.split())
  return " ".join(cards[k] + SUITS.get(cards[k + 1], cards[k + 1]) for k in range(0, len(cards) - 1, 2))


def _draw_legend(figure: Figure, here: Spot) -> None:
  entries = [
    Patch(facecolor=color, label=f"{name}  {100 * frequency:.1f}%" if np.isfinite(frequency) else name)
    for name, frequency, color in zip(
      here.actions, here.frequencies(), action_colors(here.actions), strict=True
    )
  ]
  columns = min(len(entries), 4)
  by_column = [entry for column in range(columns) for entry in entries[column::columns]]
  figure.legend(
    handles=by_column,
    loc="center left",
    bbox_to_anchor=(0.055, 0.079),
    ncols=columns,
    frameon=False,
    fontsize=10.5 if len(entries) <= 8 else 8,
    handlelength=1.1,
    handleheight=1.1,
    columnspacing=1.6,
    labelcolor=INK,
  )
  note = "suited hands above the diagonal, offsuit below; bar height: how often the hand is here"
  figure.text(0.065, 0.028, note, fontsize=9, color=SOFT, va="center")


def public_tree(game: pyspiel.Game, tree: PublicTree, depth: int | None = None) -> Figure:
  """The public tree, root at the top: a dot for each public state, coloured by who moves.

  Actions are named while there is room for it.

  Args:
    game: the game, to name actions.
    tree: of `build_tree`, with public states.
    depth: leave out what lies deeper than so many steps below the root.

  Raises:
    ValueError: the tree has no public states, or more than `MOST_DOTS` would be drawn.
  """
  labels = certificate.labels_of(tree)
  place = _tree_layout(labels, depth)
  if len(place) > MOST_DOTS:
    raise ValueError(
      f"{len(place):,} public states would be drawn, at most {MOST_DOTS:,} fit; set the depth."
    )
  width = max(x for x, _ in place.values()) + 1
  figure = Figure(figsize=(min(4 + 0.45 * width, 40), 2 + 1.1 * max(y for _, y in place.values())), dpi=DPI)
  axes = figure.add_axes((0.01, 0.02, 0.98, 0.9))
  axes.set_axis_off()
  named = len(place) <= MOST_NAMES
  for number, (x, y) in place.items():
    state = labels.public_states[number]
    if state.parent >= 0:
      above = place[state.parent]
      axes.plot((above[0], x), (-above[1], -y), color=FAINT, linewidth=0.8, zorder=1)
      if named:
        name = certificate.action_name(game, labels, number)
        style = {"ha": "center", "va": "bottom", "rotation": 30}
        behind = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}  # or lines run through the words
        axes.text(x, -y + 0.16, name, fontsize=7.5, color=SOFT, bbox=behind, zorder=1.5, **style)
  for name, player, color in MOVERS:
    dots = [place[n] for n in place if labels.public_states[n].player == player]
    if dots:
      x, y = np.transpose(dots)
      axes.scatter(x, -y, s=45 if named else 12, color=color, label=f"{name} ({len(dots):,})", zorder=2)
  axes.legend(loc="upper left", fontsize=8, frameon=False)
  figure.suptitle(f"Public tree of {game.get_type().short_name}: {len(place):,} public states", fontsize=11)
  return figure


MOST_DOTS, MOST_NAMES = 20_000, 80
MOVERS = (
  ("chance", int(pyspiel.PlayerId.CHANCE), FAINT),
  ("player 0", 0, LINES[1]),
  ("player 1", 1, LINES[0]),
  ("end", int(pyspiel.PlayerId.TERMINAL), INK),
)


def _tree_layout(labels: Labels, depth: int | None) -> dict[int, tuple[float, int]]:
  """Where each public state is drawn: leaves side by side, parents in the middle above; (x, depth)."""
  below = certificate.children_of(labels)
  place: dict[int, tuple[float, int]] = {}
  leaves = itertools.count()

  def visit(number: int, level: int) -> float:
    children = below[number] if depth is None or level < depth else []
    xs = [visit(child, level + 1) for child in children]
    x = (xs[0] + xs[-1]) / 2 if xs else float(next(leaves))
    place[number] = x, level
    return x

  visit(0, 0)
  return place
