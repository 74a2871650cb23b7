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
from collections.abc import Collection

from .. import base
from ..base import TERMINAL
from . import graphs, ways

ATTACKER, DEFENDER = 0, 1
GOAL, CAUGHT = 2.0, -1.0  # the attacker's utility
_TURNS = ("attacker to move", "defender to move", "goal", "caught", "time out")
_DEFAULTS = {
  "preset": "grid",
  "edges": "preset",
  "start": "preset",
  "goal": -1,
  "turns": 3,
  "sight": 2,
  "timeout": 0.0,
  "goal_ends": "no",
}


class GraphPursuitGame(base.Game):
  """The game; see `base.Game`.

  An attacker's action is the node it moves to. A defender's is the position of all units after it: with n
  nodes, the units' nodes are its digits in base n, the first unit's the highest.
  """

  game_type = base.game_type("graph_pursuit", "Graph Pursuit", _DEFAULTS, deals=False)

  def __init__(self, params: base.Parameters | None = None):
    params = {**_DEFAULTS, **(params or {})}
    pursuit = ways.parse_pursuit(params)
    actions = len(pursuit.ways) ** len(pursuit.units)
    super().__init__(params, actions, outcomes=0, length=2 * pursuit.turns, most=GOAL)
    self.pursuit = pursuit  #: the graph, the start and the rules

  def units_after(self, action: int) -> tuple[int, ...]:
    """The nodes of the units that a defender's action leads to."""
    return graphs.digits(action, len(self.pursuit.ways), len(self.pursuit.units))

  def map(self) -> base.Map:
    return base.Map(self.pursuit.ways, "attacker", "units", self.pursuit.goal)

  def position(self, state: "GraphPursuitState") -> base.Position:
    heading = f"After {state.turns} of {self.pursuit.turns} turns: {_TURNS[state.turn]}"
    seen = self.contact(state.attacker, state.units)[1:]
    return base.Position(state.attacker, state.units, heading, tuple((state.attacker, unit) for unit in seen))

  def table(self, state: "GraphPursuitState", seats: Collection[int]) -> base.Table:
    contact, picks = self.contact(state.attacker, state.units), dict[int, tuple[str, ...]]()
    if state.current_player() in seats:
      for action in state.legal_actions():
        nodes = (action,) if state.turn == ATTACKER else self.units_after(action)
        picks[action] = tuple(map(str, nodes))
    sees = ATTACKER in seats
    attacker = state.attacker if sees or contact else None
    units = state.units if DEFENDER in seats else contact[1:]
    chosen = (f"Attacker to {state.chosen}",) * (sees and state.chosen >= 0)
    turns = f"{state.turns} of {self.pursuit.turns} turns"
    facts = turns, _TURNS[state.turn].capitalize(), *chosen, graphs.legend(self.map())
    return base.Table(
      facts, board=graphs.board_of(len(self.pursuit.ways), self.map(), attacker, units), picks=picks
    )

  def contact(self, attacker: int, units: tuple[int, ...]) -> tuple[int, ...]:
    """The sight of both sides: the attacker's node and those of the units near it, in order, or ()."""
    near = [node for node in units if self.pursuit.distance[attacker][node] <= self.pursuit.sight]
    return (attacker, *near) if near else ()


class GraphPursuitState(base.State):
  """A history; see `base.State`."""

  def __init__(self, game: GraphPursuitGame):
    super().__init__(game)
    #: node of the attacker, before the defender's move of the same turn that of the turn before.
    self.attacker = game.pursuit.attacker
    self.units = game.pursuit.units  #: nodes of the defender's units
    self.chosen = -1  #: the attacker's target in this turn, -1 before its choice
    self.turns = 0  #: turns that are over
    self.end = -1  #: index in `_TURNS` of the result, -1 before the end

  @property
  def turn(self) -> int:
    """Index in `_TURNS` of the next event or the result."""
    return self.end if self.end >= 0 else int(self.chosen >= 0)

  def current_player(self) -> int:
    return TERMINAL if self.end >= 0 else self.turn

  def _legal_actions(self, player: int) -> list[int]:
    reach = self.get_game().pursuit.ways
    if player == ATTACKER:
      return list(reach[self.attacker])
    positions = itertools.product(*(reach[node] for node in self.units))
    return sorted({graphs.number_of(position, len(reach)) for position in positions})

  def _apply_action(self, action: int) -> None:
    self.check_legal(action)
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
    if player == ATTACKER:
      return f"Attacker to {action}"
    return f"Units to {graphs.text_of(self.get_game().units_after(action))}"

  def won(self) -> float:
    return {2: GOAL, 3: CAUGHT, 4: self.get_game().pursuit.timeout}[self.end]

  def __str__(self) -> str:
    """All moves: "0:5/7 1:6/7 2"."""
    words = [f"{node}:{graphs.text_of(units)}" for node, units in self.positions()]
    if self.chosen >= 0:
      words.append(str(self.chosen))
    return " ".join([*words, _TURNS[self.end]] if self.end >= 0 else words)

  def positions(self) -> list[tuple[int, tuple[int, ...]]]:
    """The attacker's node and those of the units, at the start and after each turn."""
    game, history = self.get_game(), self.history()
    pursuit = game.pursuit
    after = [(history[n], game.units_after(history[n + 1])) for n in range(0, len(history) - 1, 2)]
    return [(pursuit.attacker, pursuit.units), *after]


class GraphPursuitObserver(base.Observer):
  """The view of a player or of the public; see `base.Observer`. There are n nodes, k units and T turns.

  Both sides see the same contacts, so these are public.
    attacker_path: [T + 1, n], one-hot of the attacker's nodes so far, the chosen one included, zeros
      to the defender (private, with perfect recall).
    units_path: [T + 1, k, n], one-hot of the units' nodes so far, zeros to the attacker (likewise).
    attacker: [2, n], one-hot of the attacker's node and of the chosen one (private, without recall).
    units: [k, n], one-hot of the units' nodes (private, without recall).
    turn: [5], one-hot of the next event or the result: attacker moves, defender moves, goal,
      caught, time out (public, as all that follow).
    turns: [T + 1], one-hot of the turns that are over.
    contact_path: [T + 1, k + 1, n], one-hot of the contact at the start and after each turn: the
      attacker's node, those of the units near it (with perfect recall).
    contact: [k + 1, n], the same for the present (without recall).
  """

  def pieces(self, game: GraphPursuitGame) -> list[base.Piece]:
    pursuit = game.pursuit
    nodes, units, times = len(pursuit.ways), len(pursuit.units), pursuit.turns + 1
    private = [("attacker_path", (times, nodes)), ("units_path", (times, units, nodes))]
    public = [("turn", (len(_TURNS),)), ("turns", (times,)), ("contact_path", (times, units + 1, nodes))]
    if not self.recall:
      private = [("attacker", (2, nodes)), ("units", (units, nodes))]
      public[2] = ("contact", (units + 1, nodes))
    return private * bool(self.seats(0)) + public * self.public

  def fill(self, state: GraphPursuitState, seats: tuple[int, ...]) -> None:
    game, positions = state.get_game(), self._positions(state)

    def fill(name: str, rows: list[tuple[int, ...]]) -> None:
      """Set one-hot nodes of each time, or of the present."""
      into = self.dict[f"{name}_path"] if self.recall else self.dict[name][None]
      for place, nodes in zip(into, rows, strict=False):
        base.one_hot(place, nodes)

    if ATTACKER in seats:
      path = [node for node, _ in positions] + [state.chosen] * (state.chosen >= 0)
      base.one_hot(self.dict["attacker_path" if self.recall else "attacker"], path)
    if DEFENDER in seats:
      fill("units", [units for _, units in positions])
    if self.public:
      self.dict["turn"][state.turn] = 1
      self.dict["turns"][state.turns] = 1
      fill("contact", [game.contact(*position) for position in positions])

  def _positions(self, state: GraphPursuitState) -> list[tuple[int, tuple[int, ...]]]:
    return state.positions() if self.recall else [(state.attacker, state.units)]

  def string_from(self, state: GraphPursuitState, player: int) -> str:
    """Text such as "p0 | 0 1 | - 1 sees 6 | attacker to move"."""
    game, seats, positions = state.get_game(), self.seats(player), self._positions(state)
    parts = [f"p{player}"] * self.single
    if ATTACKER in seats:
      to = "" if self.recall else "to "  # a path shows the order
      chosen = [f"{to}{state.chosen}"] if state.chosen >= 0 else []
      parts.append(" ".join([*(str(node) for node, _ in positions), *chosen]))
    if DEFENDER in seats:
      parts.append(" ".join(graphs.text_of(units) for _, units in positions))
    if self.public:
      seen = [game.contact(*position) for position in positions]
      parts.append(", ".join(f"{c[0]} sees {graphs.text_of(c[1:])}" if c else "-" for c in seen))
      if not self.recall:
        parts.append(f"{state.turns} of {game.pursuit.turns} turns")
      parts.append(_TURNS[state.turn])
    return " | ".join(parts)


base.register(GraphPursuitGame, GraphPursuitState, GraphPursuitObserver)
