import itertools

import pyspiel
import pytest
from benchmark_scripts import script
from matplotlib.patches import Circle, FancyArrowPatch

from ps_cfr_spiel.pictures import pursuit_position
from ps_cfr_spiel.pictures.pursuit_pictures import ATTACKER

abstraction_sizes = script("benchmarks.papers.abstraction_pictures").abstraction_sizes


def test_sizes_have_a_panel_for_each_game():
  curves = {"B10H90": [[(2.0, 1.0), (3.0, 0.04)], [(2.0, 0.9), (2.8, 0.05)]], "CFR+": [[(100.0, 0.01)]]}
  figure = abstraction_sizes({"GS5": curves, "P222": curves}, marks={"GS5": {"B10H90": 3.1}}, level=0.05)
  assert [axes.get_title(loc="left") for axes in figure.axes] == ["GS5", "P222"]
  for axes in figure.axes:
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["B10H90", "CFR+"]
  marked = [[line.get_marker() for line in axes.lines] for axes in figure.axes]
  assert [markers.count("v") for markers in marked] == [1, 0]
  assert list(figure.axes[0].lines[0].get_xdata()) == [2.0, 3.0]
  assert [axes.get_ylabel() for axes in figure.axes] == ["NashConv", ""]
  below = abstraction_sizes({"GS5": curves, "P222": curves, "GP5": {"FP": [[(0.0, 1.0)]]}}, columns=2)
  assert [axes.get_ylabel() for axes in below.axes if axes.get_visible()] == ["NashConv", "", "NashConv"]
  assert not below.axes[2].lines  # nothing that a logarithmic axis can show


def test_numbers_of_an_axis_keep_apart():
  """Over five decades as over one."""
  curves = {"DO": [[(0.01, 10.0), (500.0, 0.05)]]}, {"DO": [[(2.0, 1.0), (30.0, 0.5)]]}
  figure = abstraction_sizes({"GS5": curves[0], "P222": curves[1], "GP5": curves[0]})
  figure.canvas.draw()
  for axes in figure.axes:
    low, high = axes.get_xlim()
    boxes = [
      label.get_window_extent()
      for x, label in zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)
      if low <= x <= high
    ]
    assert len(boxes) >= 3
    assert all(one.x1 < other.x0 for one, other in itertools.pairwise(boxes))


def test_a_position_of_a_pursuit(tmp_path):
  """Rings for all units, lines to those in sight, a head on every one-way edge."""
  state = pyspiel.load_game("graph_pursuit(preset=alleys)").new_initial_state()
  for move in ("Attacker to 2", "Units to 7/3"):
    state.apply_action(state.string_to_action(move))
  figure = pursuit_position(state)
  (axes,) = figure.axes
  rings = [patch for patch in axes.patches if isinstance(patch, Circle) and not patch.get_fill()]
  nodes = [patch for patch in axes.patches if isinstance(patch, Circle) and patch.get_fill()]
  assert [ring.center for ring in rings] == [nodes[n].center for n in (2, 7, 3)]
  arrows = [patch for patch in axes.patches if isinstance(patch, FancyArrowPatch)]
  assert len(arrows) == 14
  (line,) = axes.lines
  assert line.get_color() == ATTACKER
  assert (line.get_xdata()[1], line.get_ydata()[1]) == nodes[3].center
  assert "After 1 of 3 turns: attacker to move" in [text.get_text() for text in figure.texts]
  figure.savefig(tmp_path / "position.png")
  with pytest.raises(ValueError, match="Expected a state of graph_pursuit, got one of kuhn_poker"):
    pursuit_position(pyspiel.load_game("kuhn_poker").new_initial_state())
