"""Common parts of the games here, as OpenSpiel asks for them: descriptions, games, states and observers.

`ForPeople` has the additions of a game for people who look at it or play it.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyspiel

CHANCE, TERMINAL = int(pyspiel.PlayerId.CHANCE), int(pyspiel.PlayerId.TERMINAL)
Piece = tuple[str, tuple[int, ...]]  # of an observation: its name and shape
Parameters = dict[str, Any]  # of a game string: OpenSpiel checks that they are of their defaults' types
BotMaker = Callable[[int, "np.random.RandomState"], pyspiel.Bot]  # of a seat, and a source of chance
_MANY = 20  # legal actions that a message lists


def game_type(
  short_name: str,
  long_name: str,
  defaults: Parameters,
  players: int = 2,
  deals: bool = True,
  zero_sum: bool = True,
) -> pyspiel.GameType:
  """OpenSpiel's description of a game, with all kinds of observations, for 2 to `players`."""
  modes, sums = pyspiel.GameType.ChanceMode, pyspiel.GameType.Utility
  return pyspiel.GameType(
    short_name=short_name,
    long_name=long_name,
    dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    chance_mode=modes.EXPLICIT_STOCHASTIC if deals else modes.DETERMINISTIC,
    information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
    utility=sums.ZERO_SUM if zero_sum else sums.GENERAL_SUM,
    reward_model=pyspiel.GameType.RewardModel.TERMINAL,
    max_num_players=players,
    min_num_players=2,
    provides_information_state_string=True,
    provides_information_state_tensor=True,
    provides_observation_string=True,
    provides_observation_tensor=True,
    provides_factored_observation_string=True,
    parameter_specification=defaults,
  )


def general_sum(kind: pyspiel.GameType) -> pyspiel.GameType:
  """The description of the same game of two with other utilities, which do not add up to zero."""
  return game_type(kind.short_name, kind.long_name, kind.parameter_specification, zero_sum=False)


class Map(NamedTuple):
  """Nodes and edges on which the pieces of a game stand."""

  ways: tuple[tuple[int, ...], ...]  #: for each node, those that an edge leads to
  sought: str  #: the name of the piece that is often out of sight
  others: str  #: the name of all other pieces
  goal: int | None = None  #: a node to mark


class Position(NamedTuple):
  """The pieces on a map after some history, all of them, in sight or not."""

  sought: int  #: the node of the piece that is often out of sight
  others: tuple[int, ...]  #: the nodes of the others; several may share one
  heading: str  #: the time and the next move, to the extent that they are public
  in_sight: tuple[tuple[int, int], ...] = ()  #: pairs of nodes whose pieces see each other


HIDDEN = "?"  # the face of a card that lies face down


class Row(NamedTuple):
  """Cards side by side on a table."""

  cards: tuple[str, ...]  #: their faces, such as "Ks" or "7"; `HIDDEN`, or "" for a place without a card
  player: int = -1  #: whose they are, or -1
  name: str = ""  #: of cards that lie on the table, such as "Board"
  notes: tuple[str, ...] = ()  #: beside them, such as "1,700 behind"


class Board(NamedTuple):
  """Places, and what stands on each."""

  marks: tuple[str, ...]  #: "" where nothing stands
  columns: int = 0  #: of squares, row by row; 0 for the nodes of the game's map
  hexagons: bool = False  #: each row of squares half a square farther to the right


class Table(NamedTuple):
  """All that some players see together at a point of a game: pages and the terminal draw it."""

  facts: tuple[str, ...] = ()  #: such as "Pot 400"
  rows: tuple[Row, ...] = ()
  board: Board | None = None
  #: for moves of a player in sight the places of the board, or the faces of own cards, that they choose.
  picks: Mapping[int, tuple[str, ...]] = {}


class ForPeople:
  """Additions of a game for people who look at a strategy or play; all of it has a default.

  The games here have it, and a game of your own that derives from this class too, beside `pyspiel.Game`. It
  changes nothing for solvers. Games on a map need a public observer (`make_py_observer`): beliefs about the
  pieces are those of an observer who sees public information, and knows the strategies.
  """

  #: The game's own bots by name, which `play` and `match` offer; the strongest last.
  bots: ClassVar[Mapping[str, BotMaker]] = {}

  def map(self) -> Map | None:
    """The map that `show`, pages and pictures draw positions on; None, the default, in a game without."""
    return None

  def position(self, state: pyspiel.State) -> Position:
    """The pieces on the map after a history; asked in a game with a map alone."""
    raise NotImplementedError(f"{type(self).__name__} has a map(), so it needs a position(state) too.")

  def table(self, state: pyspiel.State, seats: Collection[int]) -> Table | None:
    """The table after a history as players in some seats see it; None, the default: the game has texts."""
    return None


class GuessesValues:
  """A game, too large to compile, that guesses the worth of moves, so that luck is taken out of matches.

  A game of your own may derive from it too, beside `pyspiel.Game`; see `matches.evaluate_match`.
  """

  def guess_values(self, state: pyspiel.State) -> Mapping[int, float]:
    """For each action, or outcome of chance, a guess of player 0's return after it; any guess is allowed."""
    raise NotImplementedError(f"{type(self).__name__} derives from GuessesValues, so it needs this method.")


class GuessesForHands(GuessesValues):
  """A hold'em that does so for all hands at once, float64[1326] for `cards.ALL_HANDS`.

  It has a `deck`, and its states the method `hole`, as `holdem`.
  """

  deck: tuple[int, ...]

  def guess_for_hands(self, state: pyspiel.State, player: int) -> Mapping[int, np.ndarray]:
    """For each action, or card that may come, a guess of a player's return after it, with each hand.

    The other player's hand counts, the player's own in `state` does not. Impossible hands have any guess.
    """
    raise NotImplementedError(f"{type(self).__name__} derives from GuessesForHands, so it needs this method.")

  def returns_for_hands(
    self, state: pyspiel.State, player: int, others: Sequence[tuple[int, ...]] = ()
  ) -> np.ndarray:
    """A player's return at an end, with each hand; before it a guess, as if both checked from there on.

    The other player's hand is that of the state; with `others`, hands in its place, float64[n, 1326].
    """
    raise NotImplementedError(f"{type(self).__name__} derives from GuessesForHands, so it needs this method.")


class Game(pyspiel.Game, ForPeople):
  """A game. It holds every table, because OpenSpiel deep-copies the contents of a state.

  Made of its parameters, it raises ValueError for those that the docstring of its module does not allow.
  """

  game_type: ClassVar[pyspiel.GameType]  #: OpenSpiel's description
  #: state, observer: the classes of its states and observers, by `register`.
  state: ClassVar[type[pyspiel.State]]
  observer: ClassVar[type["Observer"]]

  def __init__(
    self,
    params: Parameters,
    actions: int,
    outcomes: int,
    length: int,
    most: float,
    players: int = 2,
    least: float | None = None,
  ):
    """Describe the game to OpenSpiel.

    Args:
      params: all parameters.
      actions: the number of distinct actions.
      outcomes: most outcomes of a chance node.
      length: most moves of players.
      most: largest utility; in a zero-sum game the losers share the loss.
      players: their number.
      least: smallest utility of a general-sum game; None for a zero-sum game.
    """
    zero_sum = least is None
    info = pyspiel.GameInfo(
      num_distinct_actions=actions,
      max_chance_outcomes=outcomes,
      num_players=players,
      min_utility=-most / (players - 1) if zero_sum else least,
      max_utility=most,
      utility_sum=0.0 if zero_sum else None,
      max_game_length=length,
    )
    super().__init__(self.game_type if zero_sum else general_sum(self.game_type), info, params)

  def __reduce__(self):
    """Pickled as its class and parameters: OpenSpiel's own way forgets the attributes of games in Python."""
    return type(self), (self.get_parameters(),)

  def new_initial_state(self):
    return self.state(self)

  def make_py_observer(self, iig_obs_type=None, params=None):
    """An observer; the default is the observation, without perfect recall."""
    if params:
      raise ValueError(f"{self.get_type().short_name} takes no observation parameters, got {params}")
    return self.observer(self, iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False))


class State(pyspiel.State):
  """A history; the object holds only the present, the moves are in OpenSpiel's own `history()`."""

  player: int  #: the player to move, `CHANCE` or `TERMINAL`
  many_legal = "those of `legal_actions`"  # in messages, in place of more than `_MANY`

  def current_player(self) -> int:
    return self.player

  def is_terminal(self) -> bool:
    return self.current_player() == TERMINAL

  def check_legal(self, action: int) -> None:
    """Raise ValueError for an illegal action, which OpenSpiel does not check."""
    player = self.current_player()
    if player == CHANCE:
      legal = [outcome for outcome, _ in self.chance_outcomes()]
    else:
      legal = [] if player == TERMINAL else self._legal_actions(player)
    if action not in legal:
      shown = legal if len(legal) <= _MANY else self.many_legal
      raise ValueError(f"illegal action {action} at {self}; legal are {shown}")

  def won(self) -> float:
    """The utility of player 0 at the end of a game for two."""
    raise NotImplementedError

  def returns(self) -> list[float]:
    won = self.won() if self.is_terminal() else 0.0
    return [won, 0.0 - won]  # -won would be -0.0 after a tie


class Observer:
  """The observation of a player or the public, conforming to OpenSpiel's PyObserver interface.

  `tensor` joins the pieces that the observation type asks for, float32 in the order in which the class lists
  them; `dict` has views: OpenSpiel's Python tools read the tensor, its C++ tools the views. In front comes
    player: [players], one-hot of the observing player (private information of one player).

  Attributes:
    public, recall: as in the observation type.
    tensor, dict: see above.
  """

  def __init__(self, game: pyspiel.Game, iig_obs_type: pyspiel.IIGObservationType):
    self.public, self.recall = iig_obs_type.public_info, iig_obs_type.perfect_recall
    self._private, self._players = iig_obs_type.private_info, game.num_players()
    pieces = [("player", (self._players,))] if self.single else []
    pieces += self.pieces(game)
    self.tensor = np.zeros(sum(math.prod(shape) for _, shape in pieces), np.float32)
    self.dict, start = {}, 0
    for name, shape in pieces:
      end = start + math.prod(shape)
      self.dict[name] = self.tensor[start:end].reshape(shape)
      start = end

  @property
  def single(self) -> bool:
    """Whether the private information of one player is observed."""
    return self._private == pyspiel.PrivateInfoType.SINGLE_PLAYER

  def pieces(self, game: pyspiel.Game) -> list[Piece]:
    """Names and shapes of the pieces behind `player`."""
    raise NotImplementedError

  def seats(self, player: int) -> tuple[int, ...]:
    """The players whose private information `player` sees."""
    everybody = self._private == pyspiel.PrivateInfoType.ALL_PLAYERS
    return (player,) if self.single else tuple(range(self._players * everybody))

  def set_from(self, state: pyspiel.State, player: int) -> None:
    """Fill `tensor`, and with it `dict`, with the observation of `player` in `state`."""
    self.tensor.fill(0)
    if self.single:
      self.dict["player"][player] = 1
    self.fill(state, self.seats(player))

  def fill(self, state: pyspiel.State, seats: tuple[int, ...]) -> None:
    """Fill the zeros in `dict`, for an observer who sees the private information of `seats`."""
    raise NotImplementedError

  def string_from(self, state: pyspiel.State, player: int) -> str:
    """The observation of `player` in words."""
    raise NotImplementedError


def register(game: Any, state: pyspiel.State = None, observer: Any = None) -> None:
  """Give OpenSpiel a class of games, with those of its states and observers unless it inherits them."""
  if state is not None and observer is not None:
    game.state, game.observer = state, observer
  pyspiel.register_game(game.game_type, game)


def join(*parts: str) -> str:
  """The parts that are not empty, with strokes between them."""
  return " | ".join(filter(None, parts))


def held_text(seats: Iterable[int], held: Iterable[str]) -> str:
  """Hands or cards by player, "p0 AsKd p1 6h2d"."""
  return " ".join(f"p{seat} {text}".rstrip() for seat, text in zip(seats, held, strict=True))


def one_hot(into: np.ndarray, nodes: Collection) -> None:
  """Set `into[..., node]` to 1 for nodes of shape [...], or for the first ones where there are fewer."""
  if len(nodes):
    np.put_along_axis(into[: len(nodes)], np.asarray(nodes)[..., None], 1, axis=-1)
