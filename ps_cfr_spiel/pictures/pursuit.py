"""Pictures of positions in graph pursuit: the graph, the units, and the lines of sight."""

from typing import Any

import numpy as np
import pyspiel
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch

from ps_cfr_spiel.pictures.glasses import EDGE, NEAR, STONE
from ps_cfr_spiel.pictures.style import INK, SOFT
from ps_cfr_spiel.views import pursuit

ATTACKER, GOAL = "#c0392b", "#cfe5cd"
APART, SHORT = (
  1.6,
  30,
)  # inches between neighbours; points between the end of an edge and the middle of a node


def pursuit_position(state: pyspiel.State) -> Figure:
  """Draw a position: the attacker red, the units blue, the goal green; lines lead to the units it sees.

  Args:
    state: of graph_pursuit.

  Raises:
    ValueError: the state is of another game.
  """
  game: Any = state.get_game()
  if game.get_type().short_name != "graph_pursuit":
    raise ValueError(f"Expected a state of graph_pursuit, got one of {game.get_type().short_name}.")
  ways = game.pursuit.ways
  place = APART * pursuit.pursuit_layout(ways)
  low, high = place.min(0) - 0.8, place.max(0) + 0.8
  size = np.maximum((high - low) * 1.05, (4.5, 1.5))
  figure = Figure(figsize=(size[0], size[1] + 0.9), dpi=150, facecolor="white")
  FigureCanvasAgg(figure)
  axes = figure.add_axes((0.02, 0.02, 0.96, size[1] / (size[1] + 0.9)))
  _draw_ways(axes, place, ways)
  _draw_units(axes, place, state)
  axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
  axes.axis("off")
  turn = state.observation_string(0).split(" | ")
  title = f"After {turn[-2]}: {turn[-1]}"
  figure.text(0.04, 1 - 0.2 / (size[1] + 0.9), title, fontsize=12, color=INK, weight="bold", va="top")
  note = "red: attacker;  blue: units;  green: goal;  dashed: in sight"
  figure.text(0.04, 1 - 0.55 / (size[1] + 0.9), note, fontsize=9, color=SOFT, va="top")
  return figure


def _draw_ways(axes: Axes, place: np.ndarray, ways: tuple[tuple[int, ...], ...]) -> None:
  """A line for each edge, with a head at the end of a one-way edge."""
  for a, near in enumerate(ways):
    for b in near:
      both = a in ways[b]
      if a == b or (both and b < a):
        continue
      head = {"arrowstyle": "-" if both else "-|>", "mutation_scale": 14}
      arrow = FancyArrowPatch(
        tuple(place[a]),
        tuple(place[b]),
        shrinkA=SHORT,
        shrinkB=SHORT,
        color=EDGE,
        linewidth=1.8,
        zorder=1,
        **head,
      )
      axes.add_patch(arrow)


def _draw_units(axes: Axes, place: np.ndarray, state: Any) -> None:
  """Nodes, and rings for the attacker and the units, the next one on a node around the first."""
  game = state.get_game()
  for node, (x, y) in enumerate(place):
    fill = GOAL if node == game.pursuit.goal else "white"
    axes.add_patch(Circle((x, y), NEAR, facecolor=fill, edgecolor=EDGE, linewidth=1.2, zorder=2))
    axes.text(x, y, str(node), ha="center", va="center", fontsize=9, color=INK, zorder=4)
  rings = [(state.attacker, ATTACKER), *((node, STONE) for node in state.units)]
  for number, (node, color) in enumerate(rings):
    around = [n for n, _ in rings[:number]].count(node)
    style = {"fill": False, "edgecolor": color, "linewidth": 4.5, "zorder": 3}
    axes.add_patch(Circle(tuple(place[node]), NEAR + 0.02 + 0.11 * around, **style))
  for node in game.contact(state.attacker, state.units)[1:]:
    axes.plot(*place[[state.attacker, node]].T, color=ATTACKER, linewidth=1.2, linestyle="--", zorder=1.5)
