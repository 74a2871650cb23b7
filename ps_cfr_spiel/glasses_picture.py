"""A picture of a position in Glasses: the graph, the stones, and where the chaser must fear the evader to be.

The figure is made without pyplot, so no display is needed and nothing global is touched.
"""

from collections import defaultdict
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

try:
  from matplotlib.axes import Axes
  from matplotlib.backends.backend_agg import FigureCanvasAgg
  from matplotlib.colors import LinearSegmentedColormap
  from matplotlib.figure import Figure
  from matplotlib.patches import Circle
except ModuleNotFoundError as error:
  raise ModuleNotFoundError("Pictures need matplotlib: pip install 'ps_cfr_spiel[plot]'") from error

CHASER, EVADER = 0, 1
NEAR = 0.36  # radius of a node; neighbours are about 1 apart
BELIEF = LinearSegmentedColormap.from_list("belief", ["#ffffff", "#f6c98a", "#d9622b"])
STONE, EDGE, INK, SOFT = "#2f6690", "#b5bcc4", "#22262b", "#6b727b"


def evader_belief(state: pyspiel.State, policy: openspiel_policy.Policy | None = None) -> dict[int, float]:
  """Where the chaser, who knows the evader's strategy, thinks it is, by Bayes' rule.

  Args:
    state: of glasses; only what is public in it is used.
    policy: the evader's strategy; by default every move is equally likely.

  Returns:
    Probability of every possible node. If the policy never comes here, that of the uniform strategy.

  Raises:
    ValueError: the state is of another game.
  """
  game = state.get_game()
  if game.get_type().short_name != "glasses":
    raise ValueError(f"Expected a state of glasses, got one of {game}.")
  policy = openspiel_policy.UniformRandomPolicy(game) if policy is None else policy
  weights = _evader_weights(state, policy)
  if not sum(weights.values()):
    weights = _evader_weights(state, openspiel_policy.UniformRandomPolicy(game))
  total = sum(weights.values())
  return {node: weight / total for node, weight in sorted(weights.items())}


def _evader_weights(state: Any, policy: openspiel_policy.Policy) -> dict[int, float]:
  """Probability that the evader's strategy leads to each node and to what is public in `state`."""
  public = state.information_state_string(CHASER)
  reached = [(state.get_game().new_initial_state(), 1.0)]
  for action in state.history():
    after = []
    for here, probability in reached:
      if here.current_player() == CHASER:
        after.append((here.child(action), probability))
      elif here.current_player() == EVADER:
        chances = policy.action_probabilities(here, EVADER)
        after += [(here.child(move), probability * chance) for move, chance in chances.items()]
    reached = after
  weights: dict[int, float] = defaultdict(float)
  for here, probability in reached:
    if here.information_state_string(CHASER) == public:
      weights[here.evader] += probability
  return weights


def layout(neighbours: tuple[tuple[int, ...], ...], iterations: int = 300) -> np.ndarray:
  """Places the nodes of a graph so that distances in the plane are like those along edges.

  Stress majorisation (Gansner, Koren and North 2005) from classical scaling, the longest side level.

  Args:
    neighbours: for each of the n nodes, the nodes next to it.
    iterations: of the majorisation.

  Returns:
    float64[n, 2].
  """
  distance = _distances(neighbours)
  count = len(distance)
  weight = np.divide(1.0, distance**2, out=np.zeros_like(distance), where=distance > 0)
  laplacian = np.diag(weight.sum(1)) - weight
  inverse = np.linalg.pinv(laplacian)
  centre = np.eye(count) - 1 / count
  values, vectors = np.linalg.eigh(-centre @ distance**2 @ centre / 2)
  place = vectors[:, -1:-3:-1] * np.sqrt(np.maximum(values[-1:-3:-1], 0.01))
  for _ in range(iterations):
    apart = np.linalg.norm(place[:, None] - place[None], axis=-1)
    pull = np.divide(-weight * distance, apart, out=np.zeros_like(apart), where=apart > 1e-9)
    pull -= np.diag(pull.sum(1))
    place = inverse @ (pull @ place)
  _, axes = np.linalg.eigh(place.T @ place)
  place = place @ axes[:, ::-1]
  first = place[[0, np.abs(place[:, 1]).argmax()], [0, 1]]  # node 0 to the left, the farthest aside on top
  return place * np.where(first * (-1, 1) < -1e-9, -1.0, 1.0)


def _distances(neighbours: tuple[tuple[int, ...], ...]) -> np.ndarray:
  """Number of edges between every two nodes, float64[n, n]."""
  count = len(neighbours)
  distance = np.full((count, count), np.inf)
  np.fill_diagonal(distance, 0)
  for node, near in enumerate(neighbours):
    distance[node, list(near)] = 1
  for node in range(count):
    distance = np.minimum(distance, distance[:, node, None] + distance[node])
  return distance


def position(
  state: pyspiel.State, policy: openspiel_policy.Policy | None = None, show_evader: bool = False
) -> Figure:
  """Draws a position: nodes shaded by the chaser's belief about the evader, and the stones.

  Args:
    state: of glasses.
    policy: the evader's strategy; see `evader_belief`.
    show_evader: also mark where it is.

  Returns:
    A figure; save it with `figure.savefig("name.png")`.

  Raises:
    ValueError: the state is of another game.
  """
  belief = evader_belief(state, policy)
  game: Any = state.get_game()
  place = layout(game.chase.neighbours)
  low, high = place.min(0) - 0.8, place.max(0) + 0.8
  size = np.maximum((high - low) * 1.05, (4.5, 1.5))
  figure = Figure(figsize=(size[0], size[1] + 0.9), dpi=150, facecolor="white")
  FigureCanvasAgg(figure)
  axes = figure.add_axes((0.02, 0.02, 0.96, size[1] / (size[1] + 0.9)))
  _draw_graph(axes, place, game.chase.neighbours, belief)
  _draw_stones(axes, place, state)
  if show_evader:
    x, y = place[state.evader]
    axes.add_patch(Circle((x, y), NEAR + 0.09, fill=False, linewidth=2, linestyle=":", edgecolor=INK))
  axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
  axes.axis("off")
  figure.text(0.04, 0.95, _title(state), fontsize=12, color=INK, weight="bold", va="top")
  note = "orange: how likely the evader is there;   blue rings: stones"
  figure.text(0.04, 0.95 - 0.3 / (size[1] + 0.9), note, fontsize=9, color=SOFT, va="top")
  return figure


def _title(state: pyspiel.State) -> str:
  """What the public knows: "After 3 of 5 moves: evader to move"."""
  _, _, moves, turn = state.observation_string(CHASER).split(" | ")
  return f"After {moves}: {turn}"


def _draw_graph(axes: Axes, place: np.ndarray, neighbours, belief: dict[int, float]) -> None:
  for node, near in enumerate(neighbours):
    for other in near:
      if node < other:
        axes.plot(*place[[node, other]].T, color=EDGE, linewidth=2.5, zorder=1)
  for node, (x, y) in enumerate(place):
    share = belief.get(node, 0.0)
    axes.add_patch(Circle((x, y), NEAR, facecolor=BELIEF(share), edgecolor=EDGE, linewidth=1.5, zorder=2))
    if share:
      text = f"{share:.0%}" if share >= 0.005 else "<1%"
      axes.text(x, y - 0.07, text, ha="center", va="center", fontsize=10, color=INK, zorder=4)
    axes.text(
      x, y + 0.19 * bool(share), str(node), ha="center", va="center", fontsize=8, color=SOFT, zorder=4
    )


def _draw_stones(axes: Axes, place: np.ndarray, state: Any) -> None:
  """A ring for each stone, the next stone on a node around the first."""
  for number, node in enumerate(state.stones):
    around = state.stones[:number].count(node)
    radius = NEAR + 0.02 + 0.11 * around
    axes.add_patch(
      Circle((place[node, 0], place[node, 1]), radius, fill=False, edgecolor=STONE, linewidth=5, zorder=3)
    )
