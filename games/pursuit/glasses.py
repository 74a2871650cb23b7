"""Glasses: a chase on a graph, in which the evader's moves are not public.

The chaser (player 0) has stones that everybody sees; the evader (player 1) starts on a node that everybody
knows and then moves unseen. They alternate. A chaser's turn moves every stone along an edge or lets it stay;
stones may share a node and may swap nodes. The evader must move along an edge, not onto a stone. After each
chaser's turn it is announced whether the evader is caught: a stone is on its node or, if it had to move next,
on every node that it could move to. A catch ends the game with 1 for the chaser and -1 for the evader; if the
evader is still free after the chaser's last turn, the reverse.

A player's observations are written in a line such as 5:0/10 1/9 ? 1/8: the evader began on node 5 and
the stones on 0 and 10, then the stones went to 1 and 9, the evader made a move that this player did
not see, and so on.

Source: Schmid (2021), Search in Imperfect Information Games, Section 12.4 (graph chase, Glasses) and
Section 12.4.1: unlike in poker, actions are not public, and how many states a player can be in varies
through the game. The drawing of the thesis's map of 11 nodes is lost, and no map and rules that fit its
text have all the sizes of its Table 13.3 as far as we could search. So the graph and the rules that the
text leaves open are our own: sizes and convergence cannot be compared with the thesis's Glasses.

Parameters (`ValueError` for any other value); all but the first may be "preset", turns -1, for the
value that the preset has:
  preset: "glasses", two hexagons that share a node, stones at the far ends, 3 turns, the chaser
    first: 5,410 histories, 1,310 public states, value 0. "lens", hexagons with a chord each, 4 turns,
    the evader first, all stones must move: 55,095 histories, 6,565 public states; the evader survives
    with probability 1/13.
  edges: "0-1 0-2 1-3", a connected graph of nodes 0, 1, ...
  start: "5:0 10", the evader's node, then those of the stones.
  turns: Number of the chaser's moves, at least 1.
  moving: The stones that move in a chaser's turn, "all" or "one".
  stay: Whether a stone may stay ("one": whether the chaser may pass), "yes" or "no".
  first: The first to move, "chaser" or "evader".
"""

import itertools
from collections.abc import Collection

from .. import base
from ..base import TERMINAL, join
from . import graphs

CHASER, EVADER = 0, 1
_TURNS = ("chaser to move", "evader to move", "caught", "escaped")
_CAUGHT, _ESCAPED = 2, 3  # in _TURNS
_DEFAULTS = {
  "preset": "glasses",
  "edges": "preset",
  "start": "preset",
  "turns": -1,
  "moving": "preset",
  "stay": "preset",
  "first": "preset",
}


class GlassesGame(base.Game):
  """The game; see `base.Game`.

  An evader's action is the node it moves to. A chaser's action is the position of all stones after it:
  with n nodes, the stones' nodes are its digits in base n, the first stone's the highest.
  """

  game_type = base.game_type("glasses", "Glasses (Graph Chase)", _DEFAULTS, deals=False)

  def __init__(self, params: base.Parameters | None = None):
    params = {**_DEFAULTS, **(params or {})}
    chase = graphs.parse_chase(params)
    nodes, stones = len(chase.neighbours), len(chase.stones)
    max_moves = 2 * chase.turns - (not chase.evader_first)
    super().__init__(params, actions=nodes**stones, outcomes=0, length=max_moves, most=1.0)
    self.chase = chase  #: the graph, the start and the rules
    self.max_moves = max_moves  #: moves of both players until the evader has escaped
    self._chaser_actions: dict[tuple[int, ...], tuple[int, ...]] = {}

  def stones_after(self, action: int) -> tuple[int, ...]:
    """The nodes of the stones that a chaser's action leads to."""
    return graphs.digits(action, len(self.chase.neighbours), len(self.chase.stones))

  def chaser_actions(self, stones: tuple[int, ...]) -> tuple[int, ...]:
    """The chaser's legal actions, ascending, found once for every position of the stones."""
    if stones not in self._chaser_actions:
      self._chaser_actions[stones] = self._find_chaser_actions(stones)
    return self._chaser_actions[stones]

  def _find_chaser_actions(self, stones: tuple[int, ...]) -> tuple[int, ...]:
    neighbours, nodes = self.chase.neighbours, len(self.chase.neighbours)
    if self.chase.all_move:
      ways = [neighbours[node] + (node,) * self.chase.stay for node in stones]
      positions = set(itertools.product(*ways))
    else:
      positions = {stones} if self.chase.stay else set()
      for i, node in enumerate(stones):
        positions |= {(*stones[:i], after, *stones[i + 1 :]) for after in neighbours[node]}
    return tuple(sorted(graphs.number_of(position, nodes) for position in positions))

  def map(self) -> base.Map:
    return base.Map(self.chase.neighbours, "evader", "stones")

  def position(self, state: "GlassesState") -> base.Position:
    heading = f"After {state.moves} of {self.max_moves} moves: {_TURNS[state.turn]}"
    return base.Position(state.evader, state.stones, heading)

  def table(self, state: "GlassesState", seats: Collection[int]) -> base.Table:
    sees, picks = EVADER in seats, dict[int, tuple[str, ...]]()
    if state.player == EVADER and sees:
      picks = {action: (str(action),) for action in state.legal_actions()}
    elif state.player == CHASER and CHASER in seats:
      picks = {action: tuple(map(str, self.stones_after(action))) for action in state.legal_actions()}
    moves = f"{state.moves} of {self.max_moves} moves"
    board = graphs.board_of(
      len(self.chase.neighbours), self.map(), state.evader if sees else None, state.stones
    )
    facts = moves, _TURNS[state.turn].capitalize(), graphs.legend(self.map())
    return base.Table(facts, board=board, picks=picks)

  def escapes(self, evader: int, stones: tuple[int, ...]) -> list[int]:
    """The nodes that the evader can move to, ascending."""
    return [node for node in self.chase.neighbours[evader] if node not in stones]


class GlassesState(base.State):
  """A history; see `base.State`."""

  def __init__(self, game: GlassesGame):
    super().__init__(game)
    self.stones = game.chase.stones  #: nodes of the stones
    self.evader = game.chase.evader  #: node of the evader
    self.moves = 0  #: moves made by both players
    self.player = EVADER if game.chase.evader_first else CHASER

  @property
  def turn(self) -> int:
    """Index of the next event or the result: chaser's move, evader's, caught, escaped."""
    if self.player != TERMINAL:
      return self.player
    free = self.moves == self.get_game().max_moves and self.evader not in self.stones
    return _ESCAPED if free else _CAUGHT

  def _legal_actions(self, player: int) -> list[int]:
    game = self.get_game()
    if player == CHASER:
      return list(game.chaser_actions(self.stones))
    return game.escapes(self.evader, self.stones)

  def _apply_action(self, action: int) -> None:
    self.check_legal(action)
    game = self.get_game()
    self.moves += 1
    if self.player == EVADER:
      self.evader = action
      self.player = CHASER
      return
    self.stones = game.stones_after(action)
    over = (
      self.evader in self.stones or self.moves == game.max_moves or not game.escapes(self.evader, self.stones)
    )
    self.player = TERMINAL if over else EVADER

  def _action_to_string(self, player: int, action: int) -> str:
    if player == CHASER:
      return f"Stones to {graphs.text_of(self.get_game().stones_after(action))}"
    return f"Evader to {action}"

  def won(self) -> float:
    return 1.0 if self.turn == _CAUGHT else -1.0

  def __str__(self) -> str:
    """All moves, the evader's included: "5:0/10 1/9 4 3/7"."""
    return self.line(show_evader=True)

  def line(self, show_evader: bool) -> str:
    """All moves and how the game ended; the evader's as "?" if they are not to be shown."""
    chase = self.get_game().chase
    words = [f"{chase.evader}:{graphs.text_of(chase.stones)}"]
    for mover, place in self.path():
      words.append(graphs.text_of(place) if mover == CHASER else str(place[0]) if show_evader else "?")
    if self.player == TERMINAL:
      words.append(_TURNS[self.turn])
    return " ".join(words)

  def path(self) -> list[tuple[int, tuple[int, ...]]]:
    """Every move: its player and its target (the stones' nodes, or the evader's one)."""
    game = self.get_game()
    movers = itertools.cycle((EVADER, CHASER) if game.chase.evader_first else (CHASER, EVADER))
    return [
      (mover, game.stones_after(action) if mover == CHASER else (action,))
      for mover, action in zip(movers, self.history(), strict=False)
    ]


class GlassesObserver(base.Observer):
  """The view of a player or of the public; see `base.Observer`.

  There are k stones and n nodes; the chaser makes T moves and the evader at most E.
  evader_path: [E + 1, n], one-hot of the evader's nodes so far, zeros to the chaser (private, with perfect
    recall).
  evader: [n], one-hot of the evader's node, zeros to the chaser (private, without recall).
  turn: [4], one-hot of the next event or the result: chaser moves, evader moves, caught, escaped (public,
    as all that follow).
  stones_path: [T + 1, k, n], one-hot of the stones' nodes so far (with perfect recall).
  stones: [k, n], one-hot of the stones' nodes (without recall).
  moves: [max_moves + 1], one-hot of the number of moves made (without recall).
  """

  def pieces(self, game: "GlassesGame") -> list[base.Piece]:
    chase, pieces = game.chase, []
    nodes, stones = len(chase.neighbours), len(chase.stones)
    if self.seats(0):
      evader_moves = game.max_moves - chase.turns
      pieces.append(("evader_path", (evader_moves + 1, nodes)) if self.recall else ("evader", (nodes,)))
    if self.public:
      pieces.append(("turn", (len(_TURNS),)))
    if self.public and self.recall:
      pieces.append(("stones_path", (chase.turns + 1, stones, nodes)))
    elif self.public:
      pieces += [("stones", (stones, nodes)), ("moves", (game.max_moves + 1,))]
    return pieces

  def fill(self, state: GlassesState, seats: tuple[int, ...]) -> None:
    if EVADER in seats and self.recall:
      base.one_hot(self.dict["evader_path"], _evader_nodes(state))
    elif EVADER in seats:
      self.dict["evader"][state.evader] = 1
    if self.public:
      self.dict["turn"][state.turn] = 1
    if self.public and self.recall:
      stones = [state.get_game().chase.stones, *(place for who, place in state.path() if who == CHASER)]
      base.one_hot(self.dict["stones_path"], stones)
    elif self.public:
      base.one_hot(self.dict["stones"], state.stones)
      self.dict["moves"][state.moves] = 1

  def string_from(self, state: GlassesState, player: int) -> str:
    """Text such as "p1 | 5:0/10 1/9 4"; "p0 | stones 1/9 | 1 of 5 moves | ..."."""
    words, sees_evader = [f"p{player}"] * self.single, EVADER in self.seats(player)
    if self.public and self.recall:
      return join(*words, state.line(sees_evader))
    if sees_evader:
      words += ["at", *map(str, _evader_nodes(state) if self.recall else [state.evader])]
    if not self.public:
      return " ".join(words)
    moves = f"{state.moves} of {state.get_game().max_moves} moves"
    return join(" ".join(words), f"stones {graphs.text_of(state.stones)}", moves, _TURNS[state.turn])


def _evader_nodes(state: GlassesState) -> list[int]:
  """The evader's nodes from the start on."""
  return [state.get_game().chase.evader, *(place[0] for who, place in state.path() if who == EVADER)]


base.register(GlassesGame, GlassesState, GlassesObserver)
