"""Glasses: a chase on a graph, in which the evader's moves are not public.

The chaser (player 0) has stones that everybody sees; the evader (player 1) starts on a node that
everybody knows and then moves unseen. They alternate. A chaser's turn moves every stone along an edge
or lets it stay; stones may share a node and may swap nodes. The evader must move along an edge, not
onto a stone. After each chaser's turn it is announced whether the evader is caught: a stone is on its
node or, if it had to move next, on every node that it could move to. A catch ends the game with 1 for
the chaser and -1 for the evader; if the evader is still free after the chaser's last turn, the
reverse.

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
from typing import Any

import numpy as np
import pyspiel

from .. import observing
from . import graphs

CHASER, EVADER = 0, 1
_NUM_PLAYERS = 2
_TERMINAL = int(pyspiel.PlayerId.TERMINAL)
_TURNS = ("chaser to move", "evader to move", "caught", "escaped")
_CAUGHT, _ESCAPED = 2, 3  # in _TURNS
_DEFAULTS = {
  "preset": "glasses",
  "edges": graphs.FROM_PRESET,
  "start": graphs.FROM_PRESET,
  "turns": graphs.TURNS_FROM_PRESET,
  "moving": graphs.FROM_PRESET,
  "stay": graphs.FROM_PRESET,
  "first": graphs.FROM_PRESET,
}

_GAME_TYPE = pyspiel.GameType(
  short_name="glasses",
  long_name="Glasses (Graph Chase)",
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


class GlassesGame(pyspiel.Game):
  """The game. It holds every table, because OpenSpiel deep-copies the contents of a state.

  An evader's action is the node it moves to. A chaser's action is the position of all stones after it:
  with n nodes, the stones' nodes are its digits in base n, the first stone's the highest.

  Attributes:
    chase: The graph, the start and the rules.
    max_moves: Moves of both players until the evader has escaped.
  """

  def __init__(self, params: dict[str, Any] | None = None):
    """Raises ValueError for parameters other than those in the module's docstring."""
    params = {**_DEFAULTS, **(params or {})}
    chase = graphs.parse_chase(params)
    nodes, stones = len(chase.neighbours), len(chase.stones)
    max_moves = 2 * chase.turns - (not chase.evader_first)
    info = pyspiel.GameInfo(
      num_distinct_actions=nodes**stones,
      max_chance_outcomes=0,
      num_players=_NUM_PLAYERS,
      min_utility=-1.0,
      max_utility=1.0,
      utility_sum=0.0,
      max_game_length=max_moves,
    )
    super().__init__(_GAME_TYPE, info, params)
    self.chase = chase
    self.max_moves = max_moves
    self._chaser_actions: dict[tuple[int, ...], tuple[int, ...]] = {}

  def new_initial_state(self) -> "GlassesState":
    """The state before the first move."""
    return GlassesState(self)

  def make_py_observer(self, iig_obs_type=None, params=None) -> "GlassesObserver":
    """An observer; the default is the observation, without perfect recall."""
    if params:
      raise ValueError(f"glasses takes no observation parameters, got {params}")
    default = pyspiel.IIGObservationType(perfect_recall=False)
    return GlassesObserver(self, iig_obs_type or default)

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

  def escapes(self, evader: int, stones: tuple[int, ...]) -> list[int]:
    """The nodes that the evader can move to, ascending."""
    return [node for node in self.chase.neighbours[evader] if node not in stones]


class GlassesState(pyspiel.State):
  """A history; this object holds only the present, the path is OpenSpiel's own `history()`.

  Attributes:
    stones: Nodes of the stones.
    evader: Node of the evader.
    moves: Moves made by both players.
    player: The player to move, `pyspiel.PlayerId.TERMINAL` at the end.
  """

  def __init__(self, game: GlassesGame):
    super().__init__(game)
    self.stones = game.chase.stones
    self.evader = game.chase.evader
    self.moves = 0
    self.player = EVADER if game.chase.evader_first else CHASER

  @property
  def turn(self) -> int:
    """Index of the next event or the result: chaser's move, evader's, caught, escaped."""
    if self.player != _TERMINAL:
      return self.player
    free = self.moves == self.get_game().max_moves and self.evader not in self.stones
    return _ESCAPED if free else _CAUGHT

  def current_player(self) -> int:
    """The player to move."""
    return self.player

  def _legal_actions(self, player: int) -> list[int]:
    """The actions of the player to move, ascending."""
    game = self.get_game()
    if player == CHASER:
      return list(game.chaser_actions(self.stones))
    return game.escapes(self.evader, self.stones)

  def _apply_action(self, action: int) -> None:
    """Moves; raises ValueError if illegal, which OpenSpiel does not check."""
    game = self.get_game()
    legal = self._legal_actions(self.player) if self.player != _TERMINAL else []
    if action not in legal:
      raise ValueError(f"illegal action {action} at {self}; legal are {legal}")
    self.moves += 1
    if self.player == EVADER:
      self.evader = action
      self.player = CHASER
      return
    self.stones = game.stones_after(action)
    over = (
      self.evader in self.stones or self.moves == game.max_moves or not game.escapes(self.evader, self.stones)
    )
    self.player = _TERMINAL if over else EVADER

  def _action_to_string(self, player: int, action: int) -> str:
    """An action in words, "Stones to 1/9" or "Evader to 4"."""
    if player == CHASER:
      return f"Stones to {_stones_text(self.get_game().stones_after(action))}"
    return f"Evader to {action}"

  def is_terminal(self) -> bool:
    """True once the evader is caught or has escaped."""
    return self.player == _TERMINAL

  def returns(self) -> list[float]:
    """1 for the winner and -1 for the loser, zeros before the end."""
    won = {_CAUGHT: 1.0, _ESCAPED: -1.0}.get(self.turn, 0.0)
    return [won, 0.0 - won]  # -won would be -0.0 before the end

  def __str__(self) -> str:
    """All moves, the evader's included: "5:0/10 1/9 4 3/7"."""
    return self.line(show_evader=True)

  def line(self, show_evader: bool) -> str:
    """All moves and how the game ended; the evader's as "?" if they are not to be shown."""
    chase = self.get_game().chase
    words = [f"{chase.evader}:{_stones_text(chase.stones)}"]
    for mover, place in self.path():
      words.append(_stones_text(place) if mover == CHASER else str(place[0]) if show_evader else "?")
    if self.player == _TERMINAL:
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


class GlassesObserver:
  """The observation of a player or the public, conforming to OpenSpiel's PyObserver interface.

  `tensor` joins, in this order, the pieces that the observation type asks for; `dict` has views. There
  are k stones and n nodes; the chaser makes T moves and the evader at most E.
    player: float32[2], one-hot of the observing player (private information of one player).
    evader_path: float32[E + 1, n], one-hot of the evader's nodes so far, zeros to the chaser (private,
      with perfect recall).
    evader: float32[n], one-hot of the evader's node, zeros to the chaser (private, without recall).
    turn: float32[4], one-hot of the next event or the result: chaser moves, evader moves, caught,
      escaped (public, as all that follow).
    stones_path: float32[T + 1, k, n], one-hot of the stones' nodes so far (with perfect recall).
    stones: float32[k, n], one-hot of the stones' nodes (without recall).
    moves: float32[max_moves + 1], one-hot of the number of moves made (without recall).
  """

  def __init__(self, game: GlassesGame, iig_obs_type: pyspiel.IIGObservationType):
    self._private_info = iig_obs_type.private_info
    self._public_info = iig_obs_type.public_info
    self._perfect_recall = iig_obs_type.perfect_recall
    chase = game.chase
    nodes, stones = len(chase.neighbours), len(chase.stones)
    pieces: list[tuple[str, tuple[int, ...]]] = []
    if self._private_info == pyspiel.PrivateInfoType.SINGLE_PLAYER:
      pieces.append(("player", (_NUM_PLAYERS,)))
    if self._private_info != pyspiel.PrivateInfoType.NONE:
      evader_moves = game.max_moves - chase.turns
      pieces.append(
        ("evader_path", (evader_moves + 1, nodes)) if self._perfect_recall else ("evader", (nodes,))
      )
    if self._public_info:
      pieces.append(("turn", (len(_TURNS),)))
      if self._perfect_recall:
        pieces.append(("stones_path", (chase.turns + 1, stones, nodes)))
      else:
        pieces += [("stones", (stones, nodes)), ("moves", (game.max_moves + 1,))]
    self.tensor, self.dict = observing.tensor_with_views(pieces)

  def _sees_evader(self, player: int) -> bool:
    if self._private_info == pyspiel.PrivateInfoType.SINGLE_PLAYER:
      return player == EVADER
    return self._private_info == pyspiel.PrivateInfoType.ALL_PLAYERS

  def set_from(self, state: GlassesState, player: int) -> None:
    """Fills `tensor`, and with it `dict`, with the observation of `player` in `state`."""
    self.tensor.fill(0)
    if "player" in self.dict:
      self.dict["player"][player] = 1
    if "turn" in self.dict:
      self.dict["turn"][state.turn] = 1
    if self._sees_evader(player):
      if self._perfect_recall:
        nodes = _evader_nodes(state)
        self.dict["evader_path"][range(len(nodes)), nodes] = 1
      else:
        self.dict["evader"][state.evader] = 1
    if "stones_path" in self.dict:
      stones = [state.get_game().chase.stones, *(place for who, place in state.path() if who == CHASER)]
      _one_hot(self.dict["stones_path"][: len(stones)], stones)
    if "stones" in self.dict:
      _one_hot(self.dict["stones"], state.stones)
      self.dict["moves"][state.moves] = 1

  def string_from(self, state: GlassesState, player: int) -> str:
    """The observation of `player`, as "p1 | 5:0/10 1/9 4"; "p0 | stones 1/9 | 1 of 5 moves | ..."."""
    single = self._private_info == pyspiel.PrivateInfoType.SINGLE_PLAYER
    words = [f"p{player}"] if single else []
    if self._public_info and self._perfect_recall:
      return _join(" ".join(words), state.line(self._sees_evader(player)))
    if self._sees_evader(player):
      nodes = _evader_nodes(state) if self._perfect_recall else [state.evader]
      words.append("at " + " ".join(map(str, nodes)))
    if not self._public_info:
      return " ".join(words)
    moves = f"{state.moves} of {state.get_game().max_moves} moves"
    return _join(" ".join(words), f"stones {_stones_text(state.stones)}", moves, _TURNS[state.turn])


def _evader_nodes(state: GlassesState) -> list[int]:
  """The evader's nodes from the start on."""
  return [state.get_game().chase.evader, *(place[0] for who, place in state.path() if who == EVADER)]


def _one_hot(into: np.ndarray, nodes) -> None:
  """Sets `into[..., node]` to 1 for nodes of shape [...]."""
  np.put_along_axis(into, np.asarray(nodes)[..., None], 1, axis=-1)


def _stones_text(stones: tuple[int, ...]) -> str:
  return "/".join(map(str, stones))


def _join(*parts: str) -> str:
  return " | ".join(part for part in parts if part)


pyspiel.register_game(_GAME_TYPE, GlassesGame)
