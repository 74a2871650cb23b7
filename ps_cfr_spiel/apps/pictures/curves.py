"""Pictures of convergence: exploitability over iterations and seconds, and bands over many runs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyspiel
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ps_cfr_spiel.apps.pictures.style import DPI, INK, LINES, draw_minor_grid, set_ticks
from ps_cfr_spiel.apps.views import pot_of, title_of, unit_of
from ps_cfr_spiel.arguments import check_option

if TYPE_CHECKING:  # solvers of all kinds, which pictures of one do not need
  from ps_cfr_spiel.measures import Point, Run, Runs


def exploitability_curve(
  game: pyspiel.Game, runs: Mapping[str, Sequence[Point]], iterations: str = "iterations"
) -> Figure:
  """Exploitability over iterations, both logarithmic; with a second axis in percent of the pot in poker.

  `runs` has points by the name of each run, those at iteration 0 are left out; `iterations` is the name of
  the axis, if it does not show the iterations of one run.
  """
  name = title_of(game)
  title = f"{name}, {next(iter(runs))}" if len(runs) == 1 else name
  pot = pot_of(game)
  figure, (axes,) = figure_with_panels([title], size=(8, 5), margins=(0.75, 0.75 if pot else 0.2, 0.47, 0.31))
  for (name, points), color in zip(runs.items(), itertools.cycle(LINES), strict=False):
    _draw(axes, points, lambda point: point.iteration, label=name, color=color, linewidth=2)
  dress(axes, iterations, f"exploitability ({unit_of(game)})")
  if pot:
    _add_pot_axis(axes, pot)
  if len(runs) > 1:
    axes.legend(frameon=False)
  return figure


def iterations_and_seconds(game: pyspiel.Game, runs: Mapping[str, Run], peer: str = "OpenSpiel ") -> Figure:
  """Exploitability by iterations, and beside it, on the same axis, by seconds of the iterations alone.

  An algorithm keeps its colour, and its runs with further seeds are thin lines; the lines of the peer are
  dashed, those beyond the last colour dotted. The `runs` are those of `measures.compare`, the peer's with a
  prefix.
  """
  figure, (left, right) = figure_with_panels(["", ""], size=(11, 4.8), sharey=True)
  algorithms = list(dict.fromkeys(name.removeprefix(peer) for name in runs))
  for name, run in runs.items():
    theirs = name.startswith(peer)
    again, color = divmod(algorithms.index(name.removeprefix(peer)), len(LINES))
    style: dict[str, Any] = {"color": LINES[color], "label": name, "linewidth": 1.7}
    style |= {"linestyle": ":"} if again else {}
    style |= {"linestyle": (0, (4, 1.5)), "marker": "s"} if theirs else {}
    for points in run.by_seed:
      _draw(left, points, lambda point: point.iteration, **style)
      _draw(right, points, lambda point: point.seconds, **style)
      style |= {"label": None, "linewidth": 0.7, "markersize": 1.5}  # of further seeds
  dress(left, "iterations", f"exploitability ({unit_of(game)})")
  dress(right, "seconds of the iterations alone", "")
  figure.suptitle(title_of(game), fontsize=12, color=INK, x=0.01, ha="left")
  figure.legend(*left.get_legend_handles_labels(), loc="outside right center", frameon=False, fontsize=9)
  return figure


def bands(game: pyspiel.Game, runs: Mapping[str, Runs], what: str = "exploitability") -> Figure:
  """Medians over many runs, and bands from the 5th to the 95th percentile, both axes logarithmic.

  The form of Figs. 17.7 and 17.8 of Schmid (2021), which show exploitability and variance: `what`. The `runs`
  are those of `sampling_runs`, by the name of the method; zero values are not drawn. ValueError if `what` is
  unknown, or the variance was not measured.
  """
  labels = {"exploitability": f"exploitability ({unit_of(game)})", "variance": "variance of sampled values"}
  check_option("curve", what, labels)
  count = len(next(iter(runs.values())).exploitability)
  title = f"{title_of(game)}: median and 5th to 95th percentile of {count} runs"
  figure, (axes,) = figure_with_panels([title], size=(8, 5))
  for (name, many), color in zip(runs.items(), itertools.cycle(LINES), strict=False):
    values = getattr(many, what)
    if values is None:
      raise ValueError(f"{name}: the variance was not measured; pass with_variance=True to sampling_runs.")
    if values.max() < VANISHING:
      continue
    low, middle, high = np.percentile(values, (5, 50, 95), axis=0)
    axes.loglog(many.iterations, middle, color=color, linewidth=2, label=name)
    axes.fill_between(many.iterations, low, high, color=color, alpha=0.18, linewidth=0)
  dress(axes, "iterations", labels[what])
  if axes.lines:
    axes.legend(frameon=False)
  return figure


def training_losses(losses: np.ndarray, game: str) -> Figure:
  """Losses of a network, [n, 3] as in `NetworkValues`, both axes logarithmic; the best is marked."""
  figure, (axes,) = figure_with_panels([f"values of {game}"])
  steps, learned, held = losses.T
  axes.loglog(steps, learned, label="training", linewidth=1.5)
  axes.loglog(steps, held, label="validation", linewidth=1.5)
  best = int(held.argmin()) if len(held) else None
  if best is not None:
    axes.plot(steps[best], held[best], "o", color=LINES[1], label=f"kept: {held[best]:.3g}")
  dress(axes, "steps of training", "Huber loss")
  axes.legend(frameon=False, fontsize=9)
  return figure


VANISHING = 1e-6  # rounding of zero: the variance with an oracle's baseline


def _draw(axes: Axes, points: Sequence[Point], x: Callable[[Point], float], **style: Any) -> None:
  """One line, without the points that a logarithmic axis cannot show."""
  shown = [point for point in points if point.iteration and point.exploitability > 0]
  style = {"marker": "o", "markersize": 3.5, **style}
  axes.loglog([x(point) for point in shown], [point.exploitability for point in shown], **style)


def figure_with_panels(
  titles: Sequence[str],
  columns: int | None = None,
  size: tuple[float, float] | None = None,
  margins: tuple[float, float, float, float] | None = None,
  **shared: Any,
) -> tuple[Figure, list[Axes]]:
  """A figure with a panel for each title, row by row, in one style; `dress` completes each panel.

  All panels are in a row unless `columns` says otherwise; `size` is in inches, by default that of the panels;
  `margins` are those at the left, right, bottom and top in inches (None: as narrow as they can be, for which
  matplotlib draws a figure twice); `shared` are `sharex` and `sharey`, as for matplotlib's subplots.
  """
  columns = columns or len(titles)
  rows = -(-len(titles) // columns)
  size = size or (1 + 4.3 * columns, 0.6 + 3.8 * rows)
  figure = Figure(figsize=size, dpi=DPI, facecolor="white", layout=None if margins else "constrained")
  if margins:
    (width, height), (left, right, bottom, top) = size, margins
    figure.subplots_adjust(left / width, bottom / height, 1 - right / width, 1 - top / height)
  places = list(figure.subplots(rows, columns, squeeze=False, **shared).flat)
  for axes, title in zip(places, titles, strict=False):
    axes.set_prop_cycle(color=LINES)
    axes.set_title(title, fontsize=12, color=INK, loc="left", pad=10)
  for axes in places[len(titles) :]:
    axes.set_visible(False)
  return figure, places[: len(titles)]


def dress(axes: Axes, x_label: str, y_label: str) -> None:
  """Labels, grid and ticks of a picture that is drawn."""
  axes.set_xlabel(x_label, color=INK)
  axes.set_ylabel(y_label, color=INK)
  axes.grid(which="major", color="#d9dce0", linewidth=0.8)
  axes.spines[["top", "right"]].set_visible(False)
  set_ticks(axes.xaxis)
  set_ticks(axes.yaxis)
  draw_minor_grid(axes)


def _add_pot_axis(axes: Axes, pot: float) -> None:
  scale = (lambda chips: 100 * chips / pot, lambda percent: percent * pot / 100)
  right = axes.secondary_yaxis("right", functions=scale)
  right.set_ylabel("% of the pot", color=INK)
  right.spines["right"].set_visible(False)
  set_ticks(right.yaxis, axes.yaxis)
