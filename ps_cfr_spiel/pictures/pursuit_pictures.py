"""Pictures of positions in graph pursuit: the graph, the units, and the lines of sight."""

from typing import Any

import pyspiel
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from ps_cfr_spiel.pictures.glasses_pictures import EDGE, NEAR, STONE, draw_rings, draw_ways, panels, title
from ps_cfr_spiel.pictures.style import INK
from ps_cfr_spiel.views import attacker_beliefs

ATTACKER, GOAL = "#c0392b", "#cfe5cd"
APART, SHORT = 1.6, 30  # inches between neighbours; points between the end of an edge and a node's middle


def pursuit_position(state: pyspiel.State) -> Figure:
  """Draw a position: the attacker red, the units blue, the goal green; lines lead to the units it sees.

  ValueError for a state of another game.
  """
  game: Any = state.get_game()
  position: Any = state
  if game.get_type().short_name != "graph_pursuit":
    raise ValueError(f"Expected a state of graph_pursuit, got one of {game.get_type().short_name}.")
  pursued = game.pursuit
  place = APART * attacker_beliefs.pursuit_layout(pursued.ways)

  def draw(axes: Axes, _: int) -> None:
    draw_ways(axes, place, pursued.ways, SHORT)
    for node, (x, y) in enumerate(place):
      fill = GOAL if node == pursued.goal else "white"
      axes.add_patch(Circle((x, y), NEAR, facecolor=fill, edgecolor=EDGE, linewidth=1.2, zorder=2))
      axes.text(x, y, str(node), ha="center", va="center", fontsize=9, color=INK, zorder=4)
    draw_rings(axes, place, [(position.attacker, ATTACKER), *((node, STONE) for node in position.units)])
    for node in game.contact(position.attacker, position.units)[1:]:
      ends = place[[position.attacker, node]].T
      axes.plot(*ends, color=ATTACKER, linewidth=1.2, linestyle="--", zorder=1.5)

  note = "red: attacker;  blue: units;  green: goal;  dashed: in sight"
  return panels(place, [title(state, 0)], note, draw)
