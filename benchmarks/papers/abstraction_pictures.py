"""Pictures of abstractions: a policy's exploitability over the number of its sets."""

import itertools
from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from ps_cfr_spiel.apps.pictures import dress, figure_with_panels
from ps_cfr_spiel.apps.pictures.style import INK, LINES

Curve = Sequence[tuple[float, float]]  # (size of the abstraction, NashConv or exploitability), in order


def abstraction_sizes(
  panels: Mapping[str, Mapping[str, Sequence[Curve]]],
  x_label: str = "sets, % of the infostates",
  y_label: str = "NashConv",
  marks: Mapping[str, Mapping[str, float]] | None = None,
  level: float | None = None,
  columns: int | None = None,
) -> Figure:
  """A panel for each game and a line for each run: down as it is solved, to the right as sets are split.

  Args:
    panels: {game: {method: curves of its runs}}.
    x_label: name of a point's first number.
    y_label: name of the second.
    marks: {game: {method: x}} for comparison, drawn as triangles at `level`, in the method's colour.
    level: of a dotted line.
    columns: number of panels in a row; all by default.
  """
  figure, places = figure_with_panels(list(panels), columns)
  methods = list(dict.fromkeys(itertools.chain(*panels.values())))
  colors = dict(zip(methods, itertools.cycle(LINES), strict=False))
  for number, (axes, (game, runs)) in enumerate(zip(places, panels.items(), strict=True)):
    for method, curves in runs.items():
      for k, curve in enumerate(curves):
        if not (shown := [(x, y) for x, y in curve if x > 0 and y > 0]):
          continue
        label = {} if k else {"label": method}
        style = {"linewidth": 1.6, "alpha": 0.85, "color": colors[method]}
        axes.loglog(*zip(*shown, strict=True), **style, **label)
        axes.plot(*shown[-1], marker="o", markersize=5, color=colors[method])
    for method, x in (marks or {}).get(game, {}).items():
      if method in colors and level:
        axes.plot(x, level, marker="v", markersize=9, markerfacecolor="white", color=colors[method])
    if level:
      axes.axhline(level, color=INK, linewidth=0.8, linestyle=":")
    dress(axes, x_label, "" if number % (columns or len(panels)) else y_label)
    if axes.get_legend_handles_labels()[0]:
      axes.legend(frameon=False, fontsize=9)
  return figure
