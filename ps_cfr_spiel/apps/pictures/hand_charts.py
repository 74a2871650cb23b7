"""Hand charts in the colours of poker tools."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.textpath import TextPath
from matplotlib.transforms import Affine2D

from ps_cfr_spiel import TreePolicy
from ps_cfr_spiel.apps.pictures.style import DPI, FAINT, INK, NEVER, SOFT, action_colors
from ps_cfr_spiel.apps.views import charts, pot_of, seat_of, spot
from ps_cfr_spiel.cards.notation import grouped
from ps_cfr_spiel.cards.poker import board_of

SIDE, BAR = 0.94, 0.66  # side of a cell and height of a full bar in it, in units of the grid
MARGIN = (1 - SIDE) / 2
SUITS = dict(zip("shdc", "♠♥♦♣", strict=True))


Cells = tuple[np.ndarray, ...]  # their rows and columns


def hand_chart(policy: TreePolicy, path: str = "") -> Figure:
  """The acting player's strategy at a public state: 169 kinds of hands, each a bar of its actions.

  The width of a colour is the action's frequency among the hands of that kind. The height of a bar is the
  probability of such a hand here (its deal and the way), relative to the most frequent kind. ValueError if
  the path, see `views.spot`, is wrong, or the types are not hold'em hands.
  """
  place = spot(policy, path)
  chart = charts.HandChart.of(place)
  figure = Figure(figsize=(8.2, 9.2), dpi=DPI, facecolor="white")
  axes = figure.add_axes((0.06, 0.115, 0.9, 0.802))
  _draw_cells(axes, chart, action_colors(place.actions))
  line = ", ".join(map(grouped, place.history))
  draw_titles(figure, policy, place.player, f"after {line}" if line else "first to act")
  note = "suited hands above the diagonal, offsuit below; bar height: probability of the hand here"
  draw_legend(figure, place.actions, place.frequencies(), note)
  return figure


def _draw_cells(axes: Axes, chart: charts.HandChart, colors: Sequence) -> None:
  draw_cells(axes, np.nonzero(chart.combos))
  shown = np.nonzero(chart.shown)
  draw_bars(axes, shown, BAR * chart.presence[shown], chart.frequency[:, *shown], colors)
  axes.set(xlim=(0, 13), ylim=(13, 0), aspect="equal")
  axes.axis("off")
  _draw_names(axes, np.select([chart.shown, chart.combos > 0], [INK, SOFT], FAINT))


def _draw_names(axes: Axes, inks: np.ndarray) -> None:
  """The names of all cells, in colours [13, 13].

  Each letter is one artist for all its places: 169 texts would take longer than all the rest.
  """
  inch = axes.figure.dpi_scale_trans
  of_cell = 72 * axes.bbox.width / inch.transform((1, 1))[0] / 13  # its side in points
  outlines = {letter: _outline(letter) for letter in (*charts.RANKS, *"so")}
  steps = {letter: _width(letter + letter) - _width(letter) for letter in outlines}
  places = defaultdict(list)
  for row, column in np.ndindex(13, 13):
    left = column + 0.1
    for letter in charts.cell_name(row, column):
      places[letter, inks[row, column]].append((left, row + 0.24))
      left += steps[letter] / of_cell
  for (letter, ink), at in places.items():
    letters = PathCollection(
      [outlines[letter]], offsets=at, offset_transform=axes.transData, color=ink, linewidths=0, gid=letter
    )
    letters.set_transform(Affine2D().scale(1 / 72) + inch)
    axes.add_collection(letters, autolim=False)


def _outline(text: str) -> TextPath:
  return TextPath((0, 0), text, size=8.5)


def _width(text: str) -> float:
  return np.ptp(_outline(text).vertices[:, 0])


def boxes(left: np.ndarray, top: np.ndarray, width, height, color) -> PolyCollection:
  """Rectangles of one colour as one artist: hundreds of artists take half a second to draw."""
  right, bottom = left + width, top + height
  corners = [np.stack([x, y], -1) for x, y in ((left, top), (right, top), (right, bottom), (left, bottom))]
  return PolyCollection(list(np.stack(corners, 1)), facecolors=color, linewidths=0)


def draw_cells(axes: Axes, cells: Cells) -> None:
  """Empty cells."""
  rows, columns = cells
  axes.add_collection(boxes(columns + MARGIN, rows + MARGIN, SIDE, SIDE, NEVER))


def draw_bars(
  axes: Axes, cells: Cells, height: float | np.ndarray, frequencies: np.ndarray, colors: Sequence
) -> None:
  """Bars at the feet of N cells, of a height in cells: the actions' frequencies [A, N], in their colours."""
  rows, columns = cells
  left, top = columns + MARGIN, rows + 1 - MARGIN - height
  for frequency, color in zip(frequencies, colors, strict=True):
    axes.add_collection(boxes(left, top, SIDE * frequency, height, color))
    left = left + SIDE * frequency


def draw_titles(figure: Figure, policy: TreePolicy, player: int, place: str) -> None:
  """The player and the place at the top, and below them the board and the pot."""
  title = f"{seat_of(policy.game, player)}, {place}"
  title, inch = title[0].upper() + title[1:], 1 / figure.get_figheight()
  size, top = min(15, 15 * 64 / len(title)), 1 - 0.3 * inch
  figure.text(0.065, top, title, fontsize=size, color=INK, weight="bold", va="center")
  board, pot = board_of(policy.game), pot_of(policy.game)
  if board is not None and pot is not None:
    facts = f"{_suits(board)}    pot {pot:,.0f}"
    figure.text(0.065, top - 0.285 * inch, facts, fontsize=12, color=SOFT, va="center")


def _suits(board: str) -> str:
  """9s7c as 9♠ 7♣."""
  return " ".join(board[k] + SUITS.get(board[k + 1], board[k + 1]) for k in range(0, len(board) - 1, 2))


def draw_legend(figure: Figure, actions: Sequence[str], frequencies: np.ndarray, note: str) -> None:
  """The colours of the actions and their frequencies, and a note below them."""
  shares = [f"  {100 * frequency:.1f}%" if np.isfinite(frequency) else "" for frequency in frequencies]
  names = [grouped(name) + share for name, share in zip(actions, shares, strict=True)]
  entries = [Patch(facecolor=c, label=n) for n, c in zip(names, action_colors(actions), strict=True)]
  columns = min(len(entries), 4)
  by_column = [entry for column in range(columns) for entry in entries[column::columns]]
  figure.legend(
    handles=by_column,
    loc="center left",
    bbox_to_anchor=(0.055, 0.7 / figure.get_figheight()),
    ncols=columns,
    frameon=False,
    fontsize=10.5 if len(entries) <= 8 else 8,
    handlelength=1.1,
    handleheight=1.1,
    columnspacing=1.6,
    labelcolor=INK,
  )
  figure.text(0.065, 0.26 / figure.get_figheight(), note, fontsize=9, color=SOFT, va="center")
