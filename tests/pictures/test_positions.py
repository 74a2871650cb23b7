import numpy as np
import pyspiel
import pytest
from chases import play
from matplotlib.patches import Circle, FancyArrowPatch
from open_spiel.python import policy as openspiel_policy
from ps_cfr_spiel.games.pursuit import graphs
from test_pictures import assert_nothing_cut_off

from ps_cfr_spiel.apps.pictures import positions
from ps_cfr_spiel.apps.views import Belief, belief_at
from ps_cfr_spiel.apps.views.position_view import layout


class Prefers(openspiel_policy.Policy):
  """The evader goes to `node` whenever it can; the chaser plays at random."""

  def __init__(self, game, node):
    super().__init__(game, [0, 1])
    self._node = node

  def action_probabilities(self, state, player_id=None):
    assert state.current_player() == player_id
    legal = state.legal_actions()
    return {a: float(a == self._node) if self._node in legal else 1 / len(legal) for a in legal}


def sought(state, policy=None):
  """{node: probability} of the evader, of nodes where it may be."""
  return {node: share for node, share in enumerate(belief_at(state, policy).sought) if share}


def belief_of(shares, stones):
  """The belief about an evader by node, and certainty about the stones."""
  return Belief(*(np.array([of.get(n, 0.0) for n in range(11)]) for of in (shares, dict.fromkeys(stones, 1))))


def test_belief_under_random_moves():
  """The evader moves from 5 to 3, 4 or 6 (at 7 it is caught); then 3 leads to 5, 4 to 2 or 5, 6 to 5 or 8."""
  state = play("glasses", (1, 9), 4, (1, 7), 2)
  assert sought(state) == pytest.approx({2: 1 / 6, 5: (1 + 1 / 2 + 1 / 2) / 3, 8: 1 / 6})


def test_belief_depends_on_what_is_public_only():
  here, there = play("glasses", (1, 9), 4, (1, 9)), play("glasses", (1, 9), 6, (1, 9))
  assert sought(here) == sought(there)


def test_belief_under_a_policy():
  state = play("glasses", (1, 9), 4)
  game = state.get_game()
  assert sought(state, Prefers(game, 6)) == {6: 1}
  assert sought(play("glasses"), Prefers(game, 6)) == {5: 1}


def test_belief_where_the_policy_never_comes():
  state = play("glasses", (1, 9), 4, (3, 7))
  never = Prefers(state.get_game(), 7)  # would have been caught
  assert sought(state, never) == sought(state) == {4: 0.5, 6: 0.5}


def test_belief_about_a_caught_evader():
  state = play("glasses", (2, 9), 4, (4, 7))
  assert sought(state) == {4: 0.5, 7: 0.5}


@pytest.mark.parametrize("preset", graphs.PRESETS)
def test_layout(preset):
  neighbours = pyspiel.load_game("glasses", {"preset": preset}).chase.neighbours
  place = layout(neighbours)
  apart = np.linalg.norm(place[:, None] - place, axis=-1) + 9 * np.eye(len(place))
  edges = [apart[node, other] for node, near in enumerate(neighbours) for other in near]
  assert apart.min() > 2 * positions.NEAR  # circles do not overlap
  assert 0.75 < min(edges) <= max(edges) < 1.4
  assert np.ptp(place[:, 0]) > np.ptp(place[:, 1])
  assert place[0, 0] < place[10, 0]


def test_layout_of_a_path_is_straight():
  place = layout(graphs.parse_edges("0-1 1-2 2-3"))
  assert place == pytest.approx(np.array([[-1.5, 0], [-0.5, 0], [0.5, 0], [1.5, 0]]), abs=0.1)


def circles(figure):
  return [patch for patch in figure.axes[0].patches if isinstance(patch, Circle)]


def test_picture(tmp_path):
  state = play("glasses", (1, 9), 4, (1, 7), 2)
  hidden, shown = (positions.position(state, revealed=show) for show in (False, True))
  nodes, stones = circles(hidden)[:11], circles(hidden)[11:]
  belief = sought(state)
  for node, circle in enumerate(nodes):
    assert circle.get_facecolor() == positions.BELIEF(belief.get(node, 0.0))
  assert [circle.center for circle in stones] == [nodes[1].center, nodes[7].center]
  assert circles(shown)[-1].center == nodes[2].center
  assert len(circles(shown)) == len(circles(hidden)) + 1
  texts = {text.get_text() for text in hidden.axes[0].texts}
  assert texts == {*map(str, range(11)), "17%", "67%"}
  assert "After 4 of 5 moves: chaser to move" in [text.get_text() for text in hidden.texts]
  hidden.savefig(tmp_path / "position.png")
  assert (tmp_path / "position.png").stat().st_size > 10_000


def test_stones_on_one_node_are_two_rings():
  first, second = circles(positions.position(play("glasses(start=5:1 0)", (0, 0))))[11:]
  assert first.center == second.center
  assert first.radius < second.radius


def test_a_given_belief_is_drawn():
  figure = positions.position(play("glasses", (1, 9), 4), belief=belief_of({3: 0.25, 6: 0.75}, (1, 9)))
  nodes = circles(figure)[:11]
  assert nodes[6].get_facecolor() == positions.BELIEF(0.75)
  assert nodes[4].get_facecolor() == positions.BELIEF(0.0)
  assert {"25%", "75%"} <= {text.get_text() for text in figure.axes[0].texts}


def test_a_chase_has_a_panel_for_every_position():
  state = play("glasses", (1, 9), 4, (1, 7), 2)
  figure = positions.all_positions(state)
  assert len(figure.axes) == 5
  titles = [text.get_text() for text in figure.texts if text.get_text().startswith("After")]
  assert titles[0] == "After 0 of 5 moves: chaser to move"
  assert titles[-1] == "After 4 of 5 moves: chaser to move"
  evaders = [[p for p in axes.patches if isinstance(p, Circle)][-1].center for axes in figure.axes]
  place = layout(state.get_game().chase.neighbours)
  np.testing.assert_allclose(evaders, place[[5, 5, 4, 4, 2]])
  assert_nothing_cut_off(figure)


def test_beliefs_of_a_chase_are_one_for_each_position():
  state = play("glasses", (1, 9), 4)
  beliefs = [belief_of({5: 1.0}, ()), belief_of({5: 1.0}, ()), belief_of({4: 0.5, 6: 0.5}, ())]
  figure = positions.all_positions(state, beliefs=beliefs)
  assert "50%" in {text.get_text() for text in figure.axes[2].texts}
  with pytest.raises(ValueError, match="Expected 3 beliefs, one for each position, got 1"):
    positions.all_positions(state, beliefs=beliefs[:1])


def test_other_games_are_rejected():
  with pytest.raises(ValueError, match=r"Expected a game with a map.*kuhn_poker.* has none"):
    positions.position(pyspiel.load_game("kuhn_poker").new_initial_state())


@pytest.mark.parametrize("revealed", [False, True])
def test_a_position_of_a_pursuit(revealed, tmp_path):
  """Rings for units, pale where they are only likely; lines to those in sight; heads of one-way edges."""
  state = pyspiel.load_game(f"graph_pursuit(preset={'alleys' if revealed else 'grid'})").new_initial_state()
  for move in ("Attacker to 2", "Units to 7/3") if revealed else ("Attacker to 4", "Units to 7/10"):
    state.apply_action(state.string_to_action(move))
  figure = positions.position(state, revealed=revealed)
  (axes,) = figure.axes
  rings = [patch for patch in axes.patches if isinstance(patch, Circle) and not patch.get_fill()]
  nodes = [patch for patch in axes.patches if isinstance(patch, Circle) and patch.get_fill()]
  arrows = [patch for patch in axes.patches if isinstance(patch, FancyArrowPatch)]
  assert len(arrows) == (14 if revealed else 17)
  goal = state.get_game().pursuit.goal
  assert nodes[goal].get_edgecolor() != nodes[goal - 1].get_edgecolor()
  belief = belief_at(state)
  if revealed:
    assert [ring.center for ring in rings] == [nodes[n].center for n in (7, 3, 2)]
    (line,) = axes.lines
    assert line.get_color() == positions.SIGHT
    assert (line.get_xdata()[1], line.get_ydata()[1]) == nodes[3].center
  else:
    assert [ring.center for ring in rings] == [nodes[n].center for n in np.flatnonzero(belief.others)]
    assert [ring.get_alpha() for ring in rings] == pytest.approx(belief.others[belief.others > 0])
    assert not len(axes.lines)
  centers = np.array([node.center for node in nodes])
  apart = np.linalg.norm(centers[:, None] - centers, axis=-1) + 9 * np.eye(len(nodes))
  assert apart.min() > 2 * max(ring.radius for ring in rings)  # rings do not touch
  texts = [text.get_text() for text in figure.texts]
  assert "After 1 of 3 turns: attacker to move" in texts
  assert any("in sight" in text for text in texts) == revealed
  assert_nothing_cut_off(figure)
  figure.savefig(tmp_path / "position.png")
