"""Pictures of positions in Glasses: the graph, the stones, and the chaser's belief about the evader."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyspiel
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch
from open_spiel.python import policy as openspiel_policy

from ps_cfr_spiel.pictures.style import INK, SOFT
from ps_cfr_spiel.views import CHASER, evader_belief, evader_beliefs

NEAR = 0.36  # radius of a node; neighbours are about 1 apart
BELIEF = LinearSegmentedColormap.from_list("belief", ["#ffffff", "#f6c98a", "#d9622b"])
STONE, EDGE = "#2f6690", "#b5bcc4"


def position(
  state: pyspiel.State,
  policy: openspiel_policy.Policy | None = None,
  show_evader: bool = False,
  belief: Mapping[int, float] | None = None,
) -> Figure:
  """Draw a position: nodes shaded by the chaser's belief about the evader, and the stones.

  `policy` is the evader's, see `evader_belief`; `belief`, such as a search's range, takes the place of its
  probabilities of each node. ValueError for a state of another game.
  """
  return _positions([state], policy, show_evader, None if belief is None else [belief], SINGLE)


def chase(
  state: pyspiel.State,
  policy: openspiel_policy.Policy | None = None,
  show_evader: bool = True,
  beliefs: Sequence[Mapping[int, float]] | None = None,
) -> Figure:
  """Draw all positions of a play, from the start to `state`, row by row, each as by `position`.

  `beliefs` has one for every position; ValueError for another number.
  """
  states = [state.get_game().new_initial_state()]
  for action in state.history():
    states.append(states[-1].child(action))
  if beliefs is not None and len(beliefs) != len(states):
    raise ValueError(f"Expected {len(states)} beliefs, one for each position, got {len(beliefs)}.")
  return _positions(states, policy, show_evader, beliefs, SERIES)


def _positions(
  states: Sequence[Any],
  policy: openspiel_policy.Policy | None,
  show_evader: bool,
  beliefs: Sequence[Mapping[int, float]] | None,
  style: "Style",
) -> Figure:
  """A panel for each state."""
  beliefs = [evader_belief(state, policy) for state in states] if beliefs is None else beliefs
  neighbours = states[0].get_game().chase.neighbours
  place = evader_beliefs.layout(neighbours)

  def draw(axes: Axes, number: int) -> None:
    state = states[number]
    draw_ways(axes, place, neighbours)
    _draw_nodes(axes, place, beliefs[number], style.text)
    draw_rings(axes, place, [(stone, STONE) for stone in state.stones])
    if show_evader:
      x, y = place[state.evader]
      axes.add_patch(Circle((x, y), NEAR + 0.09, fill=False, linewidth=2, linestyle=":", edgecolor=INK))

  titles = [title(state, CHASER) for state in states]
  return panels(place, titles, NOTE + (EVADER_NOTE if show_evader else ""), draw, style)


class Style(NamedTuple):
  """The arrangement of positions: panels in a row, dots an inch, size of text relative to the usual."""

  columns: int
  dpi: int
  text: float


SINGLE, SERIES = Style(1, 150, 1.0), Style(2, 75, 1.45)
TITLE = 0.9  # inches above each position
NOTE, EVADER_NOTE = "orange: the evader's probability;  blue: stones", ";  dotted: evader"
DARK = 0.3  # least belief on which grey text is unreadable


def _draw_nodes(axes: Axes, place: np.ndarray, belief: Mapping[int, float], text: float) -> None:
  for node, (x, y) in enumerate(place):
    share = belief.get(node, 0.0)
    axes.add_patch(Circle((x, y), NEAR, facecolor=BELIEF(share), edgecolor=EDGE, linewidth=1.5, zorder=2))
    style = {"ha": "center", "va": "center", "zorder": 4}
    if share:
      shown = f"{share:.0%}" if share >= 0.005 else "<1%"
      axes.text(x, y - 0.07, shown, fontsize=10 * text, color=INK, **style)
    ink = INK if share > DARK else SOFT
    axes.text(x, y + 0.19 * bool(share), str(node), fontsize=8.5 * text, color=ink, **style)


# --- Any positions on a graph -----------------------------------------------------------------------


def panels(
  place: np.ndarray,
  titles: Sequence[str],
  note: str,
  draw: Callable[[Axes, int], object],
  style: Style = SINGLE,
) -> Figure:
  """A panel for each title, with a note below it; `draw` fills the axes of a panel's number.

  The nodes have their `place` there, float[nodes, 2], in inches.
  """
  columns, rows = style.columns, -(-len(titles) // style.columns)
  low, high = place.min(0) - 0.8, place.max(0) + 0.8
  width, inner = np.maximum((high - low) * 1.05, (4.5, 1.5))
  height = inner + TITLE
  figure = Figure(figsize=(columns * width, rows * height), dpi=style.dpi, facecolor="white")
  FigureCanvasAgg(figure)
  down = 1 / (rows * height)  # an inch
  for number, name in enumerate(titles):
    row, column = divmod(number, columns)
    left, top = (column + 0.02) / columns, 1 - row / rows
    axes = figure.add_axes((left, top - (height - 0.02) * down, 0.96 / columns, inner * down))
    draw(axes, number)
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
    axes.axis("off")
    left += 0.02 / columns
    size = 12 * style.text
    figure.text(left, top - 0.2 * down, name, fontsize=size, color=INK, weight="bold", va="top")
    figure.text(left, top - 0.55 * down, note, fontsize=0.75 * size, color=SOFT, va="top")
  return figure


def title(state: pyspiel.State, player: int) -> str:
  """The end of a public observation: "After 3 of 5 moves: evader to move"."""
  *_, moves, turn = state.observation_string(player).split(" | ")
  return f"After {moves}: {turn}"


def draw_ways(axes: Axes, place: np.ndarray, ways: Sequence[Sequence[int]], short: float = 0) -> None:
  """Lines for the edges, which end `short` points before the nodes; a one-way edge has a head."""
  for a, near in enumerate(ways):
    for b in near:
      both = a in ways[b]
      if a == b or (both and b < a):
        continue
      style = {"arrowstyle": "-" if both else "-|>", "mutation_scale": 14, "shrinkA": short, "shrinkB": short}
      ends = tuple(place[a]), tuple(place[b])
      axes.add_patch(FancyArrowPatch(*ends, color=EDGE, linewidth=2, zorder=1, **style))


def draw_rings(axes: Axes, place: np.ndarray, rings: Sequence[tuple[int, str]]) -> None:
  """A ring for each (node, colour), the next one on a node around the first."""
  for number, (node, color) in enumerate(rings):
    radius = NEAR + 0.02 + 0.11 * [n for n, _ in rings[:number]].count(node)
    axes.add_patch(Circle(tuple(place[node]), radius, fill=False, edgecolor=color, linewidth=5, zorder=3))
