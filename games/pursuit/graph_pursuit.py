"""Graph pursuit: an attacker runs for a goal while a defender's units, often out of sight, try to catch it.

The attacker (player 0) has one unit, the defender (player 1) some. In each turn all units move at once, each
along an edge; a unit without a way out stays. After the turn both sides see the units that are near:
every unit of the defender within the distance `sight` of the attacker, on the attacker's shortest way. The
attacker is caught by a unit that has come to its node or has crossed the same edge the other way. A catch
ends the game with -1 for the attacker, or with 2 if it happens on the goal. After the last turn the attacker
gets 2 on the goal, else `timeout`. The defender gets the reverse.

Source: Čermák, Lisý and Bošanský (2020), Automated Construction of Bounded-Loss Imperfect-Recall Abstractions
in Extensive-Form Games, Section 5, whose drawing of the graph (Fig. 4) is lost in the text we have, so the
graphs here are our own. OpenSpiel writes moves at once as the attacker's, hidden, and then the defender's.

Parameters (`ValueError` for any other value); edges and start may be "preset", goal -1, for the value of the
preset:
  preset: "grid", 3 x 4 nodes, the defender between the attacker and the far corner. "alleys", nine nodes,
    most of them joined in one direction.
  edges: "0-1 1>2", edges to use both ways and one way, between nodes 0, 1, ...
  start: "0:5 7", the attacker's node, then those of the defender's units.
  goal: A node.
  turns: Number of moves of all units, at least 1.
  sight: The distance up to which units are seen, at least 0.
  timeout: The attacker's utility if time runs out elsewhere, from -1 to 2.
  goal_ends: "yes" if the game ends as soon as the attacker is on the goal, else "no".
"""

import itertools
from typing import Any

import numpy as np
import pyspiel

from .. import observing
from . import graphs, ways

ATTACKER, DEFENDER = 0, 1
GOAL, CAUGHT = 2.0, -1.0  # the attacker's utility
_NUM_PLAYERS = 2
_TERMINAL = int(pyspiel.PlayerId.TERMINAL)
_TURNS = ("attacker to move", "defender to move", "goal", "caught", "time out")
_DEFAULTS = {
  "preset": "grid",
  "edges": graphs.FROM_PRESET,
  "start": graphs.FROM_PRESET,
  "goal": ways.GOAL_FROM_PRESET,
  "turns": 3,
  "sight": 2,
  "timeout": 0.0,
  "goal_ends": "no",
}

_GAME_TYPE = pyspiel.GameType(
  short_name="graph_pursuit",
  long_name="Graph Pursuit",
  dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
  chance_mode=pyspiel.GameType.ChanceMode.DETERMINISTIC,
  information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
  utility=pyspiel.GameType.Utility.ZERO_SUM,
  reward_model=pyspiel.GameType.RewardModel.TERMINAL,
  max_num_players=_NUM_PLAYERS,
  min_num_players=_NUM_PLAYERS,
  provides_information_state_string=True,
  provides_information_state_tensor=True,
  provides_observation_string=True,
  provides_observation_tensor=True,
  provides_factored_observation_string=True,
  parameter_specification=_DEFAULTS,
)


class GraphPursuitGame(pyspiel.Game):
  """The game.

  An attacker's action is the node it moves to. A defender's is the position of all units after it: with n
  nodes, the units' nodes are its digits in base n, the first unit's the highest.

  Attributes:
    pursuit: The graph, the start and the rules.
  """

  def __init__(self, params: dict[str, Any] | None = None):
    """Raises ValueError for parameters other than those in the module's docstring."""
    params = {**_DEFAULTS, **(params or {})}
    pursuit = ways.parse_pursuit(params)
    info = pyspiel.GameInfo(
      num_distinct_actions=len(pursuit.ways) ** len(pursuit.units),
      max_chance_outcomes=0,
      num_players=_NUM_PLAYERS,
      min_utility=-GOAL,
      max_utility=GOAL,
      utility_sum=0.0,
      max_game_length=2 * pursuit.turns,
    )
    super().__init__(_GAME_TYPE, info, params)
    self.pursuit = pursuit

  def new_initial_state(self) -> "GraphPursuitState":
    """The state before the first move."""
    return GraphPursuitState(self)

  def make_py_observer(self, iig_obs_type=None, params=None) -> "GraphPursuitObserver":
    """An observer; the default is the observation, without perfect recall."""
    if params:
      raise ValueError(f"graph_pursuit takes no observation parameters, got {params}")
    default = pyspiel.IIGObservationType(perfect_recall=False)
    return GraphPursuitObserver(self, iig_obs_type or default)

  def units_after(self, action: int) -> tuple[int, ...]:
    """The nodes of the units that a defender's action leads to."""
    return graphs.digits(action, len(self.pursuit.ways), len(self.pursuit.units))

  def contact(self, attacker: int, units: tuple[int, ...]) -> tuple[int, ...]:
    """The sight of both sides: the attacker's node and those of the units near it, in order, or ()."""
    near = [node for node in units if self.pursuit.distance[attacker][node] <= self.pursuit.sight]
    return (attacker, *near) if near else ()


class GraphPursuitState(pyspiel.State):
  """A history; this object holds only the present, the path is OpenSpiel's own `history()`.

  Attributes:
    attacker: Node of the attacker, before the defender's move of the same turn that of the turn before.
    units: Nodes of the defender's units.
    chosen: The attacker's target in this turn, -1 before its choice.
    turns: Turns that are over.
    end: Index in `_TURNS` of the result, -1 before the end.
  """

  def __init__(self, game: GraphPursuitGame):
    super().__init__(game)
    self.attacker, self.units = game.pursuit.attacker, game.pursuit.units
    self.chosen, self.turns, self.end = -1, 0, -1

  @property
  def turn(self) -> int:
    """Index in `_TURNS` of the next event or the result."""
    return self.end if self.end >= 0 else int(self.chosen >= 0)

  def current_player(self) -> int:
    """The player to move."""
    return _TERMINAL if self.end >= 0 else self.turn

  def _legal_actions(self, player: int) -> list[int]:
    """The actions of the player to move, ascending."""
    reach = self.get_game().pursuit.ways
    if player == ATTACKER:
      return list(reach[self.attacker])
    positions = itertools.product(*(reach[node] for node in self.units))
    return sorted({graphs.number_of(position, len(reach)) for position in positions})

  def _apply_action(self, action: int) -> None:
    """Moves; raises ValueError if illegal, which OpenSpiel does not check."""
    legal = [] if self.end >= 0 else self._legal_actions(self.turn)
    if action not in legal:
      raise ValueError(f"illegal action {action} at {self}; legal are {legal}")
    if self.chosen < 0:
      self.chosen = action
      return
    game = self.get_game()
    pursuit, units = game.pursuit, game.units_after(action)
    crossed = any(a == self.attacker and b == self.chosen for a, b in zip(units, self.units, strict=True))
    caught = self.chosen in units or crossed
    self.attacker, self.units, self.chosen = self.chosen, units, -1
    self.turns += 1
    last = self.turns == pursuit.turns
    if self.attacker == pursuit.goal and (pursuit.goal_ends or caught or last):
      self.end = 2
    elif caught:
      self.end = 3
    elif last:
      self.end = 4

  def _action_to_string(self, player: int, action: int) -> str:
    """An action in words, "Attacker to 4" or "Units to 1/9"."""
    if player == ATTACKER:
      return f"Attacker to {action}"
    return f"Units to {_units_text(self.get_game().units_after(action))}"

  def is_terminal(self) -> bool:
    """True once the attacker is caught, has reached the goal, or time is out."""
    return self.end >= 0

  def returns(self) -> list[float]:
    """The attacker's utility and its negation; zeros before the end."""
    won = {2: GOAL, 3: CAUGHT, 4: self.get_game().pursuit.timeout}.get(self.end, 0.0)
    return [won, 0.0 - won]  # -won would be -0.0

  def __str__(self) -> str:
    """All moves: "0:5/7 1:6/7 2"."""
    words = [f"{node}:{_units_text(units)}" for node, units in self.positions()]
    if self.chosen >= 0:
      words.append(str(self.chosen))
    return " ".join([*words, _TURNS[self.end]] if self.end >= 0 else words)

  def positions(self) -> list[tuple[int, tuple[int, ...]]]:
    """The attacker's node and those of the units, at the start and after each turn."""
    game, history = self.get_game(), self.history()
    pursuit = game.pursuit
    after = [(history[n], game.units_after(history[n + 1])) for n in range(0, len(history) - 1, 2)]
    return [(pursuit.attacker, pursuit.units), *after]


class GraphPursuitObserver:
  """The observation of a player or the public, conforming to OpenSpiel's PyObserver interface.

  `tensor` joins, in this order, the pieces that the observation type asks for; `dict` has views. There are n
  nodes, k units and T turns. Both sides see the same contacts, so these are public.
    player: float32[2], one-hot of the observing player (private information of one player).
    attacker_path: float32[T + 1, n], one-hot of the attacker's nodes so far, the chosen one included, zeros
      to the defender (private, with perfect recall).
    units_path: float32[T + 1, k, n], one-hot of the units' nodes so far, zeros to the attacker (likewise).
    attacker: float32[2, n], one-hot of the attacker's node and of the chosen one (private, without recall).
    units: float32[k, n], one-hot of the units' nodes (private, without recall).
    turn: float32[5], one-hot of the next event or the result: attacker moves, defender moves, goal,
      caught, time out (public, as all that follow).
    turns: float32[T + 1], one-hot of the turns that are over.
    contact_path: float32[T + 1, k + 1, n], one-hot of the contact at the start and after each turn: the
      attacker's node, those of the units near it (with perfect recall).
    contact: float32[k + 1, n], the same for the present (without recall).
  """

  def __init__(self, game: GraphPursuitGame, iig_obs_type: pyspiel.IIGObservationType):
    self._private_info = iig_obs_type.private_info
    self._public_info = iig_obs_type.public_info
    self._perfect_recall = iig_obs_type.perfect_recall
    pursuit = game.pursuit
    nodes, units, times = len(pursuit.ways), len(pursuit.units), pursuit.turns + 1
    pieces: list[tuple[str, tuple[int, ...]]] = []
    if self._private_info == pyspiel.PrivateInfoType.SINGLE_PLAYER:
      pieces.append(("player", (_NUM_PLAYERS,)))
    if self._private_info != pyspiel.PrivateInfoType.NONE:
      if self._perfect_recall:
        pieces += [("attacker_path", (times, nodes)), ("units_path", (times, units, nodes))]
      else:
        pieces += [("attacker", (2, nodes)), ("units", (units, nodes))]
    if self._public_info:
      pieces += [("turn", (len(_TURNS),)), ("turns", (times,))]
      if self._perfect_recall:
        pieces.append(("contact_path", (times, units + 1, nodes)))
      else:
        pieces.append(("contact", (units + 1, nodes)))
    self.tensor, self.dict = observing.tensor_with_views(pieces)

  def set_from(self, state: GraphPursuitState, player: int) -> None:
    """Fills `tensor`, and with it `dict`, with the observation of `player` in `state`."""
    self.tensor.fill(0)
    game, seats = state.get_game(), observing.seats(self._private_info, player)
    positions = state.positions() if self._perfect_recall else [(state.attacker, state.units)]
    chosen = [state.chosen] if state.chosen >= 0 else []
    if "player" in self.dict:
      self.dict["player"][player] = 1
    if ATTACKER in seats:
      path = [node for node, _ in positions] + chosen
      _one_hot(self.dict["attacker_path" if self._perfect_recall else "attacker"], path)
    if DEFENDER in seats:
      for time, (_, units) in enumerate(positions):
        _one_hot(self.dict["units_path"][time] if self._perfect_recall else self.dict["units"], units)
    if "turn" in self.dict:
      self.dict["turn"][state.turn] = 1
      self.dict["turns"][state.turns] = 1
    if "contact_path" in self.dict:
      for time, position in enumerate(positions):
        _one_hot(self.dict["contact_path"][time], game.contact(*position))
    if "contact" in self.dict:
      _one_hot(self.dict["contact"], game.contact(state.attacker, state.units))

  def string_from(self, state: GraphPursuitState, player: int) -> str:
    """The observation of `player`, as "p0 | 0 1 | - 1 sees 6 | attacker to move"."""
    game, seats = state.get_game(), observing.seats(self._private_info, player)
    positions = state.positions() if self._perfect_recall else [(state.attacker, state.units)]
    parts = [f"p{player}"] if self._private_info == pyspiel.PrivateInfoType.SINGLE_PLAYER else []
    if ATTACKER in seats:
      to = "" if self._perfect_recall else "to "  # a path shows the order
      chosen = [f"{to}{state.chosen}"] if state.chosen >= 0 else []
      parts.append(" ".join([*(str(node) for node, _ in positions), *chosen]))
    if DEFENDER in seats:
      parts.append(" ".join(_units_text(units) for _, units in positions))
    if self._public_info:
      seen = [game.contact(*position) for position in positions]
      parts.append(", ".join(f"{c[0]} sees {_units_text(c[1:])}" if c else "-" for c in seen))
      if not self._perfect_recall:
        parts.append(f"{state.turns} of {game.pursuit.turns} turns")
      parts.append(_TURNS[state.turn])
    return " | ".join(parts)


def _one_hot(into: np.ndarray, nodes) -> None:
  """Sets `into[m, node]` to 1 for the m-th of some nodes."""
  into[range(len(nodes)), list(nodes)] = 1


def _units_text(units: tuple[int, ...]) -> str:
  return "/".join(map(str, units))


pyspiel.register_game(_GAME_TYPE, GraphPursuitGame)
