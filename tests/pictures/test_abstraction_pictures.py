import itertools

from benchmark_scripts import script

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


def test_shares_of_sets_by_the_size_of_the_game():
  """Medians of the runs that came to the target, by the games' sizes; other games play no part."""
  module = script("benchmarks.papers.abstraction_sizes")

  def run(game, method, infostates, sets, nash_conv=0.04):
    return {"game": game, "method": method, "infostates": infostates, "points": [
      module.Point(1, 1.0, 1.0, 1, 1, 1), module.Point(2, nash_conv, 2.0, sets, 1, 1)]}  # fmt: skip

  runs = [run("P222", "DO", 1000, 420), run("P111", "DO", 100, 90), run("GS5", "DO", 50, 10)]
  runs += [run("P111", "B10H90", 100, sets) for sets in (40, 45, 80)]
  runs += [run("P222", "B10H90", 1000, 1, nash_conv=0.06), run("P111", "CFR+", 100, 100)]
  runs += [run("P222", "B100H900", 1000, 105), run("P222", "FPIRA", 1000, 300)]
  assert module.by_size(runs, 0.05) == {
    "in % of all infostates": {"B10H90": [[(100, 45.0)]], "B100H900": [[(1000, 10.5)]]},
    "in % of DO": {"B10H90": [[(100, 50.0)]], "B100H900": [[(1000, 25.0)]]},
    "in % of FPIRA": {"B10H90": [[]], "B100H900": [[(1000, 35.0)]]},
  }
