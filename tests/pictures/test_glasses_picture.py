import numpy as np
import pyspiel
import pytest
from chases import play
from matplotlib.patches import Circle
from open_spiel.python import policy as openspiel_policy
from ps_cfr_spiel.games.pursuit import graphs
from test_pictures import assert_nothing_cut_off

from ps_cfr_spiel.pictures import glasses_pictures
from ps_cfr_spiel.views import evader_beliefs


class Prefers(openspiel_policy.Policy):
  """The evader goes to `node` whenever it can."""

  def __init__(self, game, node):
    super().__init__(game, [1])
    self._node = node

  def action_probabilities(self, state, player_id=None):
    assert state.current_player() == player_id == 1
    legal = state.legal_actions()
    return {a: float(a == self._node) if self._node in legal else 1 / len(legal) for a in legal}


def test_belief_under_random_moves():
  """From 5 to 3, 4 or 6 (on 7 it would be caught), then from 3 to 5, from 4 to 2 or 5, from 6 to 5 or 8."""
  state = play("glasses", (1, 9), 4, (1, 7), 2)
  belief = glasses_pictures.evader_belief(state)
  assert belief == pytest.approx({2: 1 / 6, 5: (1 + 1 / 2 + 1 / 2) / 3, 8: 1 / 6})


def test_belief_depends_on_what_is_public_only():
  here, there = play("glasses", (1, 9), 4, (1, 9)), play("glasses", (1, 9), 6, (1, 9))
  assert glasses_pictures.evader_belief(here) == glasses_pictures.evader_belief(there)


def test_belief_under_a_policy():
  state = play("glasses", (1, 9), 4)
  game = state.get_game()
  assert glasses_pictures.evader_belief(state, Prefers(game, 6)) == {3: 0, 4: 0, 6: 1, 7: 0}
  assert glasses_pictures.evader_belief(play("glasses"), Prefers(game, 6)) == {5: 1}


def test_belief_where_the_policy_never_comes():
  state = play("glasses", (1, 9), 4, (3, 7))
  never = Prefers(state.get_game(), 7)  # would have been caught
  assert (
    glasses_pictures.evader_belief(state, never) == glasses_pictures.evader_belief(state) == {4: 0.5, 6: 0.5}
  )


def test_belief_about_a_caught_evader():
  state = play("glasses", (2, 9), 4, (4, 7))
  assert glasses_pictures.evader_belief(state) == {4: 0.5, 7: 0.5}


@pytest.mark.parametrize("preset", graphs.PRESETS)
def test_layout(preset):
  neighbours = pyspiel.load_game("glasses", {"preset": preset}).chase.neighbours
  place = evader_beliefs.layout(neighbours)
  apart = np.linalg.norm(place[:, None] - place, axis=-1) + 9 * np.eye(len(place))
  edges = [apart[node, other] for node, near in enumerate(neighbours) for other in near]
  assert apart.min() > 2 * glasses_pictures.NEAR  # circles do not overlap
  assert 0.75 < min(edges) <= max(edges) < 1.4
  assert np.ptp(place[:, 0]) > np.ptp(place[:, 1])
  assert place[0, 0] < place[10, 0]


def test_layout_of_a_path_is_straight():
  place = evader_beliefs.layout(graphs.parse_edges("0-1 1-2 2-3"))
  assert place == pytest.approx(np.array([[-1.5, 0], [-0.5, 0], [0.5, 0], [1.5, 0]]), abs=0.1)


def circles(figure):
  return [patch for patch in figure.axes[0].patches if isinstance(patch, Circle)]


def test_picture(tmp_path):
  state = play("glasses", (1, 9), 4, (1, 7), 2)
  hidden, shown = (glasses_pictures.position(state, show_evader=show) for show in (False, True))
  nodes, stones = circles(hidden)[:11], circles(hidden)[11:]
  belief = glasses_pictures.evader_belief(state)
  for node, circle in enumerate(nodes):
    assert circle.get_facecolor() == glasses_pictures.BELIEF(belief.get(node, 0.0))
  assert [circle.center for circle in stones] == [nodes[1].center, nodes[7].center]
  assert circles(shown)[-1].center == nodes[2].center
  assert len(circles(shown)) == len(circles(hidden)) + 1
  texts = {text.get_text() for text in hidden.axes[0].texts}
  assert texts == {*map(str, range(11)), "17%", "67%"}
  assert "After 4 of 5 moves: chaser to move" in [text.get_text() for text in hidden.texts]
  hidden.savefig(tmp_path / "position.png")
  assert (tmp_path / "position.png").stat().st_size > 10_000


def test_stones_on_one_node_are_two_rings():
  first, second = circles(glasses_pictures.position(play("glasses(start=5:1 0)", (0, 0))))[11:]
  assert first.center == second.center
  assert first.radius < second.radius


def test_a_given_belief_is_drawn():
  figure = glasses_pictures.position(play("glasses", (1, 9), 4), belief={3: 0.25, 6: 0.75})
  nodes = circles(figure)[:11]
  assert nodes[6].get_facecolor() == glasses_pictures.BELIEF(0.75)
  assert nodes[4].get_facecolor() == glasses_pictures.BELIEF(0.0)
  assert {"25%", "75%"} <= {text.get_text() for text in figure.axes[0].texts}


def test_a_chase_has_a_panel_for_every_position():
  state = play("glasses", (1, 9), 4, (1, 7), 2)
  figure = glasses_pictures.chase(state)
  assert len(figure.axes) == 5
  titles = [text.get_text() for text in figure.texts if text.get_text().startswith("After")]
  assert titles[0] == "After 0 of 5 moves: chaser to move"
  assert titles[-1] == "After 4 of 5 moves: chaser to move"
  evaders = [[p for p in axes.patches if isinstance(p, Circle)][-1].center for axes in figure.axes]
  place = evader_beliefs.layout(state.get_game().chase.neighbours)
  np.testing.assert_allclose(evaders, place[[5, 5, 4, 4, 2]])
  assert_nothing_cut_off(figure)


def test_beliefs_of_a_chase_are_one_for_each_position():
  state = play("glasses", (1, 9), 4)
  beliefs = [{5: 1.0}, {5: 1.0}, {4: 0.5, 6: 0.5}]
  figure = glasses_pictures.chase(state, beliefs=beliefs)
  assert "50%" in {text.get_text() for text in figure.axes[2].texts}
  with pytest.raises(ValueError, match="Expected 3 beliefs, one for each position, got 1"):
    glasses_pictures.chase(state, beliefs=beliefs[:1])


def test_other_games_are_rejected():
  with pytest.raises(ValueError, match="Expected a state of glasses, got one of kuhn_poker"):
    glasses_pictures.position(pyspiel.load_game("kuhn_poker").new_initial_state())
