"""Pictures of positions in Glasses: the graph, the stones, and the chaser's belief about the evader."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyspiel
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from open_spiel.python import policy as openspiel_policy

from ps_cfr_spiel.pictures.style import INK, SOFT
from ps_cfr_spiel.views import CHASER, evader_belief, glasses

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

  Args:
    state: of glasses.
    policy: the evader's strategy; see `evader_belief`.
    show_evader: also mark the evader's node.
    belief: probability of each node in place of the policy's, such as a search's range.

  Returns:
    A figure; save it with `figure.savefig("name.png")`.

  Raises:
    ValueError: the state is of another game.
  """
  return _positions([state], policy, show_evader, None if belief is None else [belief], SINGLE)


def chase(
  state: pyspiel.State,
  policy: openspiel_policy.Policy | None = None,
  show_evader: bool = True,
  beliefs: Sequence[Mapping[int, float]] | None = None,
) -> Figure:
  """Draw all positions of a play, from the start to `state`, row by row; arguments as for `position`.

  Args:
    state: of glasses.
    policy: the evader's strategy; see `evader_belief`.
    show_evader: also mark the evader's node.
    beliefs: probability of each node, for every position, in place of the policy's.

  Raises:
    ValueError: the state is of another game, or the numbers of beliefs and positions differ.
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
  style: "_Style",
) -> Figure:
  """A panel for each state; an inch is about the length of an edge."""
  columns = style.columns
  beliefs = [evader_belief(state, policy) for state in states] if beliefs is None else beliefs
  place = glasses.layout(states[0].get_game().chase.neighbours)
  low, high = place.min(0) - 0.8, place.max(0) + 0.8
  size = np.maximum((high - low) * 1.05, (4.5, 1.5))
  rows, height = -(-len(states) // columns), size[1] + TITLE
  figure = Figure(figsize=(columns * size[0], rows * height), dpi=style.dpi, facecolor="white")
  FigureCanvasAgg(figure)
  for number, (state, belief) in enumerate(zip(states, beliefs, strict=True)):
    row, column = divmod(number, columns)
    left, top = column / columns, 1 - row / rows
    down = 1 / (rows * height)  # an inch
    axes = figure.add_axes(
      (left + 0.02 / columns, top - (height - 0.02) * down, 0.96 / columns, size[1] * down)
    )
    _draw_graph(axes, place, state.get_game().chase.neighbours, belief, style.text)
    _draw_stones(axes, place, state)
    if show_evader:
      x, y = place[state.evader]
      axes.add_patch(Circle((x, y), NEAR + 0.09, fill=False, linewidth=2, linestyle=":", edgecolor=INK))
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
    axes.axis("off")
    title = {"fontsize": 12 * style.text, "color": INK, "weight": "bold", "va": "top"}
    note = NOTE + (EVADER_NOTE if show_evader else "")
    left += 0.04 / columns
    figure.text(left, top - 0.2 * down, _title(state), **title)
    figure.text(left, top - 0.55 * down, note, fontsize=9 * style.text, color=SOFT, va="top")
  return figure


class _Style(NamedTuple):
  """The arrangement of positions: panels in a row, dots an inch, size of text relative to the usual."""

  columns: int
  dpi: int
  text: float


SINGLE, SERIES = _Style(1, 150, 1.0), _Style(2, 75, 1.45)
TITLE = 0.9  # inches above each position
NOTE, EVADER_NOTE = "orange: the evader's probability;  blue: stones", ";  dotted: evader"


def _title(state: pyspiel.State) -> str:
  """The public observation: "After 3 of 5 moves: evader to move"."""
  _, _, moves, turn = state.observation_string(CHASER).split(" | ")
  return f"After {moves}: {turn}"


def _draw_graph(
  axes: Axes, place: np.ndarray, neighbours, belief: Mapping[int, float], text: float = 1.0
) -> None:
  for node, near in enumerate(neighbours):
    for other in near:
      if node < other:
        axes.plot(*place[[node, other]].T, color=EDGE, linewidth=2.5, zorder=1)
  for node, (x, y) in enumerate(place):
    share = belief.get(node, 0.0)
    axes.add_patch(Circle((x, y), NEAR, facecolor=BELIEF(share), edgecolor=EDGE, linewidth=1.5, zorder=2))
    style = {"ha": "center", "va": "center", "zorder": 4}
    if share:
      shown = f"{share:.0%}" if share >= 0.005 else "<1%"
      axes.text(x, y - 0.07, shown, fontsize=10 * text, color=INK, **style)
    ink = INK if share > DARK else SOFT
    axes.text(x, y + 0.19 * bool(share), str(node), fontsize=8.5 * text, color=ink, **style)


DARK = 0.3  # least belief on which grey text is unreadable


def _draw_stones(axes: Axes, place: np.ndarray, state: Any) -> None:
  """A ring for each stone, the next stone on a node around the first."""
  for number, node in enumerate(state.stones):
    around = state.stones[:number].count(node)
    radius = NEAR + 0.02 + 0.11 * around
    axes.add_patch(
      Circle((place[node, 0], place[node, 1]), radius, fill=False, edgecolor=STONE, linewidth=5, zorder=3)
    )
