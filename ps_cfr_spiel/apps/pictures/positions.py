"""Positions on a game's map: nodes shaded by where the sought piece may be, rings for the other pieces."""

import textwrap
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyspiel
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch
from open_spiel.python import policy as openspiel_policy

from ps_cfr_spiel.apps.pictures.style import INK, SOFT
from ps_cfr_spiel.apps.views import Belief, belief_at, mapped, position_view
from ps_cfr_spiel.games import Map, Position

NEAR = 0.36  # radius of a node; neighbours are about 1 apart
BELIEF = LinearSegmentedColormap.from_list("belief", ["#ffffff", "#f6c98a", "#d9622b"])
PIECE, EDGE, GOAL, SIGHT = "#2f6690", "#b5bcc4", "#4c9a45", "#c0392b"
SHORT = 30  # points between the end of a one-way edge and the middle of its node
TITLE, LINE = 0.74, 0.16  # inches above each position, and for each line of its legend
LETTER = 0.064  # inches; the mean width of a letter of the legend
DARK = 0.3  # least belief on which grey text is unreadable


def position(
  state: pyspiel.State,
  policy: openspiel_policy.Policy | None = None,
  revealed: bool = False,
  belief: Belief | None = None,
) -> Figure:
  """Draw a position of a game with a map: nodes shaded by beliefs, rings for pieces.

  `policy` and the belief are as of `views.belief_at`; a `belief`, such as a search's, takes its place. If
  `revealed`, a dotted ring shows where the sought piece is, the others are where they are, and dashed lines
  join pieces in sight of each other. ValueError for a state of a game without a map.
  """
  return _positions([state], policy, revealed, None if belief is None else [belief], SINGLE)


def all_positions(
  state: pyspiel.State,
  policy: openspiel_policy.Policy | None = None,
  revealed: bool = True,
  beliefs: Sequence[Belief] | None = None,
) -> Figure:
  """Draw all positions of a play, from the start to `state`, row by row, each as by `position`.

  `beliefs` has one for every position; ValueError for another number.
  """
  states = [state.get_game().new_initial_state()]
  for action in state.history():
    states.append(states[-1].child(action))
  if beliefs is not None and len(beliefs) != len(states):
    raise ValueError(f"Expected {len(states)} beliefs, one for each position, got {len(beliefs)}.")
  return _positions(states, policy, revealed, beliefs, SERIES)


class Style(NamedTuple):
  """The arrangement of positions: panels in a row, dots an inch, size of text relative to the usual."""

  columns: int
  dpi: int
  text: float


SINGLE, SERIES = Style(1, 150, 1.0), Style(2, 75, 1.45)


def _positions(
  states: Sequence[pyspiel.State],
  policy: openspiel_policy.Policy | None,
  revealed: bool,
  beliefs: Sequence[Belief] | None,
  style: Style,
) -> Figure:
  """A panel for each state."""
  game, drawn = mapped(states[0].get_game())
  beliefs = [belief_at(state, policy) for state in states] if beliefs is None else beliefs
  place = position_view.layout(drawn.ways)
  note = f"orange: probability of the {drawn.sought};  blue: {drawn.others}"
  note += "" if drawn.goal is None else ";  green: goal"
  note += f";  dotted: {drawn.sought}" if revealed else ""
  note += ";  dashed: in sight" if revealed and any(game.position(state).in_sight for state in states) else ""
  columns, rows = style.columns, -(-len(states) // style.columns)
  low, high = place.min(0) - 0.8, place.max(0) + 0.8
  width, inner = np.maximum((high - low) * 1.05, (4.5, 1.5))
  legend = textwrap.wrap(note.replace(": ", ":\xa0"), int(0.96 * width / (LETTER * style.text)))
  height = inner + TITLE + LINE * style.text * len(legend)
  figure = Figure(figsize=(columns * width, rows * height), dpi=style.dpi, facecolor="white")
  FigureCanvasAgg(figure)
  down = 1 / (rows * height)  # an inch
  for number, (state, belief) in enumerate(zip(states, beliefs, strict=True)):
    row, column = divmod(number, columns)
    left, top = (column + 0.02) / columns, 1 - row / rows
    axes = figure.add_axes((left, top - (height - 0.02) * down, 0.96 / columns, inner * down))
    _draw_edges(axes, place, drawn)
    _draw_nodes(axes, place, drawn, belief, style.text)
    shown = game.position(state)
    _draw_pieces(axes, place, belief, shown, revealed)
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
    axes.axis("off")
    left += 0.02 / columns
    size = 12 * style.text
    figure.text(left, top - 0.2 * down, shown.heading, fontsize=size, color=INK, weight="bold", va="top")
    figure.text(left, top - 0.55 * down, "\n".join(legend), fontsize=0.75 * size, color=SOFT, va="top")
  return figure


def _draw_edges(axes: Axes, place: np.ndarray, drawn: Map) -> None:
  """Lines for the edges; a one-way edge has a head."""
  for a, b, one_way in position_view.edges(drawn.ways):
    style = {"arrowstyle": "-|>" if one_way else "-", "mutation_scale": 14}
    style |= {"shrinkA": 0, "shrinkB": SHORT if one_way else 0}
    axes.add_patch(
      FancyArrowPatch(tuple(place[a]), tuple(place[b]), color=EDGE, linewidth=2, zorder=1, **style)
    )


def _draw_nodes(axes: Axes, place: np.ndarray, drawn: Map, belief: Belief, text: float) -> None:
  for node, ((x, y), share) in enumerate(zip(place, belief.sought, strict=True)):
    rim, wide = (GOAL, 4) if node == drawn.goal else (EDGE, 1.5)
    axes.add_patch(Circle((x, y), NEAR, facecolor=BELIEF(share), edgecolor=rim, linewidth=wide, zorder=2))
    style = {"ha": "center", "va": "center", "zorder": 4}
    if share:
      shown = f"{share:.0%}" if share >= 0.005 else "<1%"
      axes.text(x, y - 0.07, shown, fontsize=10 * text, color=INK, **style)
    ink = INK if share > DARK else SOFT
    axes.text(x, y + 0.19 * bool(share), str(node), fontsize=8.5 * text, color=ink, **style)


def _draw_pieces(axes: Axes, place: np.ndarray, belief: Belief, shown: Position, revealed: bool) -> None:
  """A ring for each piece, the next one on a node around the first; pale where it is only likely."""
  certain = revealed or (belief.others[list(shown.others)] == 1).all()
  rings = [(node, 1.0) for node in shown.others] if certain else list(enumerate(belief.others))
  for number, (node, likely) in enumerate(rings):
    radius = NEAR + 0.02 + 0.11 * [n for n, _ in rings[:number]].count(node)
    if likely:
      ring = Circle(tuple(place[node]), radius, fill=False, edgecolor=PIECE, linewidth=5, zorder=3)
      ring.set_alpha(likely)
      axes.add_patch(ring)
  if revealed:
    x, y = place[shown.sought]
    axes.add_patch(Circle((x, y), NEAR + 0.09, fill=False, linewidth=2, linestyle=":", edgecolor=INK))
    for pair in shown.in_sight:
      axes.plot(*place[list(pair)].T, color=SIGHT, linewidth=1.2, linestyle="--", zorder=1.5)
