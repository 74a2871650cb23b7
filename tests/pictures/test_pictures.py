import itertools
import subprocess
import sys
from collections import defaultdict

import numpy as np
import pyspiel
import pytest
from game_checks import all_histories
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text
from matplotlib.transforms import Affine2D
from random_policies import random_policy

from ps_cfr_spiel import build_tree
from ps_cfr_spiel.apps import pictures
from ps_cfr_spiel.apps.pictures import hand_charts, style, trees
from ps_cfr_spiel.apps.pictures.style import power_text
from ps_cfr_spiel.apps.views import chance_moves, charts, spot
from ps_cfr_spiel.cards.notation import grouped
from ps_cfr_spiel.evaluation import Point
from ps_cfr_spiel.evaluation.comparison import Run
from ps_cfr_spiel.evaluation.sampling_runs import Runs
from ps_cfr_spiel.tree import TERMINAL

SMALL = "river_subgame(ranges=AA KQs 8h6h;TT 87s)"
MANY_BETS = "river_subgame(bets=0.25 0.5 1 2 4 8 1600% a;1,stack=100000,ranges=AA KQs;TT 87s)"
PATIENCE = 600  # seconds for a process: a loaded machine takes many times as long as a quiet one
POINTS = [Point(n, n / 1000, 300 / n**2, -7.4) for n in (1, 2, 5, 10, 100)]


@pytest.fixture(scope="module")
def policy():
  return random_policy(SMALL)


def texts(figure):
  return [text.get_text() for text in figure.findobj(Text) if text.get_text()]


def assert_nothing_cut_off(figure):
  canvas = FigureCanvasAgg(figure)
  canvas.draw()
  box = figure.get_tightbbox(canvas.get_renderer())  # inches
  assert box.x0 >= 0 and box.y0 >= 0, box
  assert box.x1 <= figure.get_figwidth() and box.y1 <= figure.get_figheight(), box


@pytest.mark.parametrize("path", ["", "x b200", "b200"])
def test_bars_are_as_wide_as_the_frequencies(policy, path):
  figure = pictures.hand_chart(policy, path)
  here = spot(policy, path)
  chart = charts.HandChart.of(here)
  # The cells, the bars of each action, and letters.
  _, *bars = (drawn for drawn in figure.axes[0].collections if not drawn.get_gid())
  assert len(bars) == len(here.actions)
  for boxes, frequency in zip(bars, chart.frequency[:, chart.shown], strict=True):
    widths = [box.get_extents().width for box in boxes.get_paths()]
    np.testing.assert_allclose(widths, hand_charts.SIDE * frequency, atol=1e-9)
  shares = {f"{grouped(a)}  {100 * f:.1f}%" for a, f in zip(here.actions, here.frequencies(), strict=True)}
  assert shares <= set(texts(figure))


def test_a_chart_says_where_it_is(policy):
  shown = texts(pictures.hand_chart(policy, "x b200"))
  assert "Player 0 (OOP), after Check, Bet 200" in shown
  assert "9♠ 7♣ 5♠ 4♥ 3♣    pot 200" in shown


def test_letters_spell_the_hands_and_do_not_overlap(policy):
  with pytest.raises(ValueError, match=r"moves must be a text, such as .*, got None"):
    pictures.hand_chart(policy, None)
  figure = pictures.hand_chart(policy)
  FigureCanvasAgg(figure).draw()
  cells, to_cells = defaultdict(list), figure.axes[0].transData.inverted()
  for letters in figure.axes[0].collections:
    for place in letters.get_offsets() if letters.get_gid() else ():
      outline = letters.get_transform().transform_path(letters.get_paths()[0])
      at = letters.get_offset_transform().transform(place)
      box = outline.get_extents(Affine2D().translate(*at)).transformed(to_cells)
      cells[int(box.y0), int(box.x0)].append((box.x0, box.x1, letters.get_gid()))
      assert int(box.y1) == int(box.y0) and int(box.x1) == int(box.x0)
  for row, column in np.ndindex(13, 13):
    written = sorted(cells.pop((row, column)))
    assert "".join(letter for *_, letter in written) == charts.cell_name(row, column)
    assert all(before[1] < after[0] + 0.03 for before, after in itertools.pairwise(written))  # of a J below
  assert not cells


@pytest.mark.parametrize(("game", "path"), [(SMALL, ""), (MANY_BETS, ""), (MANY_BETS, "x b50 r r r r r")])
def test_nothing_of_a_chart_is_cut_off(game, path):
  assert_nothing_cut_off(pictures.hand_chart(random_policy(game), path))


def test_colours_tell_actions_apart():
  colors = pictures.action_colors(["Fold", "Call", "Raise to 2", "Raise to 4", "All-in 9"])
  assert colors[:2] == [style.FOLD, style.PASSIVE]
  greens = [color[1] for color in colors[2:]]
  assert greens == sorted(greens, reverse=True)  # from light to dark red
  assert len(set(map(str, colors))) == 5


@pytest.mark.parametrize(("game", "unit"), [(SMALL, "chips"), ("kuhn_poker", "utility")])
def test_the_curve_names_its_units(game, unit, tmp_path):
  figure = pictures.exploitability_curve(pyspiel.load_game(game), {"NRM": POINTS, "DCFR": POINTS})
  axes = figure.axes[0]
  assert axes.get_xlabel() == "iterations"
  assert axes.get_ylabel() == f"exploitability ({unit})"
  assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
  assert ("% of the pot" in texts(figure)) == (unit == "chips")
  np.testing.assert_allclose(axes.lines[0].get_ydata(), [point.exploitability for point in POINTS])
  assert_nothing_cut_off(figure)
  figure.savefig(tmp_path / "curve.png")
  assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("game", "depth"), [("kuhn_poker", None), ("leduc_poker", 5), ("glasses", 1)])
def test_nothing_of_a_public_tree_is_cut_off(game, depth):
  game = pyspiel.load_game(game)
  assert_nothing_cut_off(pictures.public_tree(build_tree(game), depth))


DEALS = {
  "kuhn_poker": "kuhn_poker",
  "river": "river_subgame(ranges=AsKd QQ;TT 87s,stack=500)",
  "river on which all tie": "river_subgame(board=AsKsQsJsTs,ranges=99;88 AdKd,stack=300)",
  "turn": "holdem_subgame(deck=5x2,board=2c3c4d5d,stack=300,ranges=6c6d 5c4c;6c2d 3d2d)",
}


@pytest.mark.parametrize("name", DEALS.values(), ids=DEALS)
def test_what_player_0_may_win_at_an_end(name):
  """Beside all histories, grouped by their public moves, which come after two deals."""
  game = pyspiel.load_game(name)
  labels = build_tree(game).names
  ends = [
    n for n, state in enumerate(labels.public_states) if state.player == TERMINAL and labels.source.count(n)
  ]
  expected: dict[tuple[int, ...], set[float]] = {}
  for state, _ in all_histories(game):
    if state.is_terminal():
      expected.setdefault(tuple(state.history()[2:]), set()).add(state.returns()[0])
  assert {tuple(labels.source.history(n)[2:]): set(labels.source.payoffs(n)) for n in ends} == expected


def test_the_tree_of_kuhn_poker_has_payoffs_and_infostates():
  game = pyspiel.load_game("kuhn_poker")
  shown = texts(pictures.public_tree(build_tree(game)))
  assert sorted(shown).count("3 infostates") == 4
  assert [shown.count(payoffs) for payoffs in ("±1", "±2", "-1", "1")] == [1, 2, 1, 1]
  assert shown.count("(hidden)") == 2


def test_payoffs_in_short():
  shown = {
    (-1.0,): "-1",
    (-2.0, 2.0): "±2",
    (-2.0, 0.0, 2.0): "-2, 0, 2",
    (-1e4, -1.0, 1.0, 5e3): "-10,000 to 5,000",
  }
  assert {payoffs: trees.payoffs_text(payoffs) for payoffs in shown} == shown


def test_a_curve_without_points_is_still_a_picture(tmp_path):
  figure = pictures.exploitability_curve(pyspiel.load_game(SMALL), {"NRM": [Point(0, 0.0, 30.0, 0.0)]})
  figure.savefig(tmp_path / "curve.png")


def test_iterations_and_seconds_share_the_axis_of_exploitability():
  ours = Run(1.0, tuple(Point(n, n / 1000, 1 / n, 0.0) for n in (1, 10, 100)))
  theirs = Run(0.0, tuple(Point(n, n / 10, 1 / n, 0.0) for n in (1, 10)))
  game = pyspiel.load_game("leduc_poker")
  figure = pictures.iterations_and_seconds(game, {"CFR": ours, "NRM": ours, "OpenSpiel CFR": theirs})
  left, right = figure.axes
  assert left.get_ylim() == right.get_ylim()
  assert left.get_ylabel() == "exploitability (utility)"
  assert (left.get_xlabel(), right.get_xlabel().split()[0]) == ("iterations", "seconds")
  np.testing.assert_allclose(left.lines[2].get_xdata(), [1, 10])
  np.testing.assert_allclose(right.lines[2].get_xdata(), [0.1, 1])
  colors = [line.get_color() for line in left.lines]
  assert colors[0] == colors[2] != colors[1]
  assert left.lines[2].get_linestyle() != left.lines[0].get_linestyle()
  assert_nothing_cut_off(figure)


def test_large_numbers_of_iterations_do_not_touch():
  run = Run(1.0, tuple(Point(10**n, 10**n / 1e6, 1 / 10**n, 0.0) for n in range(8)))
  figure = pictures.iterations_and_seconds(pyspiel.load_game("kuhn_poker"), {"NRM": run})
  canvas = FigureCanvasAgg(figure)
  canvas.draw()
  for axes in figure.axes:
    ticks = [tick for tick in axes.get_xticklabels() if tick.get_text()]
    low, high = axes.get_xlim()
    shown = [tick for tick in ticks if low <= tick.get_position()[0] <= high]
    boxes = [tick.get_window_extent(canvas.get_renderer()) for tick in shown]
    assert len(boxes) > 3
    assert all(a.x1 + 2 < b.x0 for a, b in itertools.pairwise(boxes)), [tick.get_text() for tick in shown]


def test_bands_are_percentiles():
  values = np.linspace(1, 2, 21)[:, None] * np.array([[1.0, 0.1]])
  runs = Runs(np.array([10, 100]), values, np.zeros((21, 2)))
  game = pyspiel.load_game("leduc_poker")
  figure = pictures.bands(game, {"VR-MCCFR": runs})
  np.testing.assert_allclose(figure.axes[0].lines[0].get_ydata(), [1.5, 0.15])
  corners = figure.axes[0].collections[0].get_paths()[0].vertices[:, 1]
  assert (corners.min(), corners.max()) == pytest.approx((0.105, 1.95))
  assert "21 runs" in figure.axes[0].get_title(loc="left")
  assert_nothing_cut_off(figure)
  assert not pictures.bands(game, {"oracle": runs}, "variance").axes[0].lines  # it vanishes


def test_bands_of_what_was_not_measured():
  game, runs = pyspiel.load_game("leduc_poker"), Runs(np.array([1]), np.ones((2, 1)), None)
  with pytest.raises(ValueError, match="MCCFR: the variance was not measured"):
    pictures.bands(game, {"MCCFR": runs}, "variance")
  with pytest.raises(ValueError, match="Unknown curve 'bias'; choose one of 'exploitability', 'variance'"):
    pictures.bands(game, {"MCCFR": runs}, "bias")


@pytest.mark.parametrize("module", ["pictures", "pictures.curves", "pictures.glasses_pictures"])
def test_without_matplotlib_an_error_says_what_to_install(module):
  code = (
    "import sys; sys.modules['matplotlib'] = None\n"
    f"try: import ps_cfr_spiel.apps.{module}\n"
    "except ModuleNotFoundError as error: print(error)"
  )
  done = subprocess.run(
    [sys.executable, "-c", code], check=True, timeout=PATIENCE, capture_output=True, text=True
  )
  assert "pip install 'ps_cfr_spiel[plot]'" in done.stdout


def test_no_global_state_of_matplotlib_is_touched():
  code = "import sys; from ps_cfr_spiel.apps.pictures import *; assert 'matplotlib.pyplot' not in sys.modules"
  subprocess.run([sys.executable, "-c", code], check=True, timeout=PATIENCE)


def test_all_logarithmic_axes_have_powers_of_ten():
  """Ticks of one form, from a millionth to millions, on both axes of three pictures and beside the pot."""
  wide = [Point(10**n, 10.0**n / 1e6, 10.0**-n, 0.0) for n in range(7)]
  narrow = Runs(np.array([1, 1000]), np.array([[3.0, 0.7]]), None)
  figures = [
    pictures.exploitability_curve(pyspiel.load_game(SMALL), {"NRM": wide}),
    pictures.iterations_and_seconds(pyspiel.load_game("kuhn_poker"), {"NRM": Run(1.0, tuple(wide))}),
    pictures.bands(pyspiel.load_game("kuhn_poker"), {"MCCFR": narrow}),
  ]
  for figure in figures:
    FigureCanvasAgg(figure).draw()
    axes = figure.axes
    for axis in (*(a.xaxis for a in axes), axes[0].yaxis, *(a.yaxis for b in axes for a in b.child_axes)):
      ticks = [tick.get_text() for tick in axis.get_ticklabels(which="both") if tick.get_text()]
      assert axis.get_scale().endswith("log") and ticks, ticks
      assert all("10" in tick or float(tick.replace(",", "")) > 0 for tick in ticks), ticks


def test_a_percent_of_the_pot_is_beside_its_chips():
  """The ticks of both axes by their numbers, and the thin lines between powers of ten."""
  figure = pictures.exploitability_curve(pyspiel.load_game("river_subgame(pot=50)"), {"a": POINTS})
  FigureCanvasAgg(figure).draw()
  (axes,) = figure.axes
  (right,) = axes.child_axes
  low, high = axes.get_ylim()
  for axis, factor in ((axes.yaxis, 1), (right.yaxis, 2)):
    for place, label in zip(axis.get_majorticklocs(), axis.get_ticklabels(), strict=True):
      assert label.get_text() == power_text(place)
    shown = [x for x in axis.get_majorticklocs() if low * factor <= x <= high * factor]
    assert len(shown) > 2 and not len(axis.get_minorticklocs())
  shown = [tick.label1.get_text() for tick in axes.xaxis.get_major_ticks() if 1 <= tick.get_loc() <= 100]
  assert shown == ["1", "2", "5", "10", "20", "50", "100"]  # plain below three powers of ten
  across, along = ([line[0] for line in grid.get_segments()] for grid in axes.collections)
  expected = {k * 10**n for n in range(-3, 4) for k in range(2, 10)}
  for drawn, (least, most) in (
    ([x for x, _ in across], axes.get_xlim()),
    ([y for _, y in along], (low, high)),
  ):
    np.testing.assert_allclose(sorted(drawn), sorted(x for x in expected if least < x < most))


@pytest.mark.parametrize(
  ("number", "text"),
  [(1, "10⁰"), (1e-5, "10⁻⁵"), (5e-6, "5·10⁻⁶"), (2000, "2·10³")],
)
def test_ticks(number, text):
  assert power_text(number) == text


@pytest.mark.parametrize(
  ("game", "words"),
  [
    ("liars_dice(dice_sides=3)", "liars_dice(dice_sides=3)"),
    ("kuhn_poker", "kuhn_poker"),
    ("leduc_poker(players=2,suit_isomorphism=True)", "suit_isomorphism=True"),
    ("river_subgame", "river 9s7c5s4h3c, pot 200"),
  ],
)
def test_titles_have_the_parameters(game, words):
  game = pyspiel.load_game(game)
  curve = pictures.exploitability_curve(game, {"NRM": POINTS, "DCFR": POINTS})
  assert words in curve.axes[0].get_title(loc="left")
  both = pictures.iterations_and_seconds(game, {"NRM": Run(1.0, tuple(POINTS))})
  assert words in both.get_suptitle()
  assert_nothing_cut_off(both)


def test_every_seed_has_a_line_and_the_legend_one_entry():
  run = Run(1.0, tuple(POINTS), (tuple(POINTS), tuple(POINTS[:2])))
  figure = pictures.iterations_and_seconds(pyspiel.load_game("kuhn_poker"), {"MCCFR": run, "NRM": run})
  left = figure.axes[0]
  assert [len(line.get_xdata()) for line in left.lines] == 2 * [len(POINTS), len(POINTS), 2]
  assert len({line.get_color() for line in left.lines[:3]}) == 1
  assert [text.get_text() for text in figure.legends[0].get_texts()] == ["MCCFR", "NRM"]


@pytest.fixture(scope="module")
def turn():
  return random_policy("holdem_subgame(stack=300,ranges=AA KQs 8h6h;TT 87s)")


def test_a_card_has_a_bar_of_its_actions(turn):
  """All 48 rivers, each bar as wide as the frequencies, and the share of bets in words."""
  figure = pictures.card_chart(turn, "x x")
  spots = chance_moves(turn, "x x")
  assert len(spots) == 48
  cells, *bars = figure.axes[0].collections
  assert len(cells.get_paths()) == 48
  for number, boxes in enumerate(bars):
    widths = [box.get_extents().width for box in boxes.get_paths()]
    np.testing.assert_allclose(
      widths, [hand_charts.SIDE * here.frequencies()[number] for here in spots.values()], atol=1e-9
    )
  share = 100 * spots["Deal 2c"].frequencies()[1:].sum()
  shown = texts(figure)
  assert f"{share:.0f}%" in shown
  assert {"A♠", "2♣"} <= set(shown)
  assert "Player 0 (OOP), on each card after Check, Check" in shown
  assert_nothing_cut_off(figure)


@pytest.mark.parametrize("path", ["", "x", "x x 2c"])
def test_no_cards_to_draw(turn, policy, path):
  with pytest.raises(ValueError, match="No public card comes"):
    pictures.card_chart(turn, path)
  with pytest.raises(ValueError, match="No public card comes"):
    pictures.card_chart(policy, "")


def test_losses_with_the_best_marked():
  losses = np.array([[200, 0.5, 0.6], [400, 0.2, 0.3], [600, 0.1, 0.4]])
  figure = pictures.training_losses(losses, "kuhn_poker")
  (axes,) = figure.axes
  learned, held, best = axes.lines
  assert learned.get_ydata().tolist() == [0.5, 0.2, 0.1] and held.get_ydata().tolist() == [0.6, 0.3, 0.4]
  assert best.get_xydata().tolist() == [[400, 0.3]]
  assert "values of kuhn_poker" in texts(figure) and "kept: 0.3" in texts(figure)
  assert_nothing_cut_off(figure)
