"""River subgame: the last betting round of heads-up no-limit Texas hold'em.

All five board cards are out and each player has put half of the pot in. Chance deals a hand to
player 0 and then one to player 1, each pair of hands that share no card with probability
proportional to the product of its weights in the two ranges. Then the players bet, player 0 first,
with the bet sizes of an abstraction (`betting.public_tree`). A fold gives the pot to the other
player, else the better hand wins it and equal hands split it; hands are not shown. Returns are
chips won or lost since the hand began: to fold at once against a bet loses half of the pot.

Rules: Schmid (2021), Search in Imperfect Information Games, Section 12.3 (no-limit hold'em) and
Table 21.2 (bet abstractions). The default parameters are the subgame of Kovařík et al. (2021), Fast
Algorithms for Poker Require Modelling it as a Sequential Bayesian Game, Section 4 and Table 1: 57
public states after the deal, 21,620 infostates that decide, 61,000,831 histories.

Parameters (`ValueError` for any other value):
  board: Five different cards, "9s7c5s4h3c".
  pot: Chips in the pot, positive and even.
  stack: Chips that each player began the hand with, half of the pot included. With half of the pot
    and no more both players are all-in already and can only check.
  bets: Bet sizes: "fcpa" (pot and all-in), or fractions of the pot and "a" for all-in, "0.5 1 2 a",
    with ";" between those of the first, second and later bets, "0.5 1 a;1 a" (`betting.parse_bets`).
  ranges: "uniform" (all hands), or player 0's range, ";", player 1's, "AA KQs 76s:0.5;TT+ AsKd"; an
    empty side means all hands (`cards.parse_range`).

OpenSpiel's own `universal_poker` with a board has the same betting tree when its blinds are half of
the pot each. When they do not add up to its `potSize`, it pays folds by `potSize` but showdowns by
the blinds, so it cannot serve as a reference for river subgames in general.
"""

from typing import Any, NamedTuple

import numpy as np
import pyspiel

from .. import observing
from . import betting, cards

_NUM_PLAYERS = 2
_DECK_SIZE = 52
_DEFAULTS = {
  "board": "9s7c5s4h3c",
  "pot": 200,
  "stack": 20000,
  "bets": "fcpa",
  "ranges": "uniform",
}
_TURNS = ("deal p0", "deal p1", "p0 to act", "p1 to act", "end")

_GAME_TYPE = pyspiel.GameType(
  short_name="river_subgame",
  long_name="River Subgame of Texas Hold'em",
  dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
  chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
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


class BayesianForm(NamedTuple):
  """A two-player zero-sum game whose chance deals each player a type; all the rest is public.

  It has N public states after the deal, parents before children, depth first, children by ascending
  action, and H0 and H1 types of the players, all of them possible. Types h and g are dealt with
  probability proportional to `weights[0][h] * weights[1][g]` if they share no card, else never. The
  utility of player 0 at a terminal public state is
  `constant + stake * sign(strength[0][h] - strength[1][g])`.

  Attributes:
    parent: int32[N], -1 at the root.
    action: int32[N], OpenSpiel action at the parent that leads here, -1 at the root.
    player: int32[N], 0 or 1 to act, `pyspiel.PlayerId.TERMINAL` at the end.
    constant: float64[N], 0 where a player acts.
    stake: float64[N], 0 where a player acts.
    types: Names, tuples of length H0 and H1; the chance action that deals a type is its index.
    weights: float64[H0] and float64[H1], positive.
    cards: int32[H0, 2] and int32[H1, 2], in 0..51.
    strength: int32[H0] and int32[H1], larger is stronger.
    infostates: Length N; the information state strings of the acting player, one for each of that
      player's types, () at the end.
  """

  parent: np.ndarray
  action: np.ndarray
  player: np.ndarray
  constant: np.ndarray
  stake: np.ndarray
  types: tuple[tuple[str, ...], tuple[str, ...]]
  weights: tuple[np.ndarray, np.ndarray]
  cards: tuple[np.ndarray, np.ndarray]
  strength: tuple[np.ndarray, np.ndarray]
  infostates: tuple[tuple[str, ...], ...]


class RiverSubgameGame(pyspiel.Game):
  """The game. It holds every table, because OpenSpiel deep-copies what a state holds.

  Attributes:
    board: The five cards.
    ranges: The hands of each player; their indices are the chance actions.
    disjoint: bool[H0, H1], whether the two hands can be dealt together.
    public_states: The betting tree.
    header: What every public string begins with.
  """

  def __init__(self, params: dict[str, Any] | None = None):
    """Raises ValueError for parameters other than those in the module's docstring."""
    params = {**_DEFAULTS, **(params or {})}
    board = cards.parse_board(params["board"])
    bets = betting.parse_bets(params["bets"])
    public_states = betting.public_tree(params["pot"], params["stack"], bets)
    ranges, disjoint = cards.parse_ranges(params["ranges"], board)
    # Only a showdown that somebody can win pays its stake.
    hands_differ = (disjoint & (ranges[0].strength[:, None] != ranges[1].strength)).any()
    most = max(abs(state.constant) + float(hands_differ) * state.stake for state in public_states)
    info = pyspiel.GameInfo(
      num_distinct_actions=betting.num_actions(bets),
      max_chance_outcomes=max(len(hands.names) for hands in ranges),
      num_players=_NUM_PLAYERS,
      min_utility=-most,
      max_utility=most,
      utility_sum=0.0,
      max_game_length=max(len(state.line.split()) for state in public_states),
    )
    super().__init__(_GAME_TYPE, info, params)
    self.board = board
    self.ranges = ranges
    self.disjoint = disjoint
    self.public_states = public_states
    self.header = f"{cards.card_names(board)} pot {params['pot']} stack {params['stack']}"
    self._first_weights = ranges[0].weights * (disjoint @ ranges[1].weights)

  def new_initial_state(self) -> "RiverSubgameState":
    """The state before the deal."""
    return RiverSubgameState(self)

  def max_chance_nodes_in_history(self) -> int:
    """Two: one deal to each player; OpenSpiel's default is the number of decisions."""
    return _NUM_PLAYERS

  def make_py_observer(self, iig_obs_type=None, params=None) -> "RiverSubgameObserver":
    """An observer; the default is the observation, without perfect recall."""
    if params:
      raise ValueError(f"river_subgame takes no observation parameters, got {params}")
    default = pyspiel.IIGObservationType(perfect_recall=False)
    return RiverSubgameObserver(self, iig_obs_type or default)

  def deal_weights(self, hands: tuple[int, ...]) -> np.ndarray:
    """float64[H0], or [H1] after player 0's hand: unnormalised probabilities of the deal.

    Player 0's hands are weighed by what player 1 can hold beside them, so that the product of both
    deals is the joint prior.
    """
    return self.ranges[1].weights * self.disjoint[hands[0]] if hands else self._first_weights

  def infostate_string(self, player: int, hand: str, line: str) -> str:
    """Written as "p0 AsKd | 9s7c5s4h3c pot 200 stack 20000 | x b200"."""
    return _join(f"p{player} {hand}", self.header, line)

  def bayesian_form(self) -> BayesianForm:
    """The game as arrays, without visiting its histories."""
    states, (first, second) = self.public_states, self.ranges
    return BayesianForm(
      parent=np.array([state.parent for state in states], np.int32),
      action=np.array([state.action for state in states], np.int32),
      player=np.array([state.player for state in states], np.int32),
      constant=np.array([state.constant for state in states]),
      stake=np.array([state.stake for state in states]),
      types=(first.names, second.names),
      weights=(first.weights, second.weights),
      cards=(first.cards, second.cards),
      strength=(first.strength, second.strength),
      infostates=tuple(
        tuple(
          self.infostate_string(state.player, hand, state.line) for hand in self.ranges[state.player].names
        )
        if state.player != betting.TERMINAL
        else ()
        for state in states
      ),
    )


class RiverSubgameState(pyspiel.State):
  """A history: the hands dealt and the place in the betting tree.

  Attributes:
    hands: Indices, in the game's ranges, of the hands dealt so far.
    node: Index of the public state.
  """

  def __init__(self, game: RiverSubgameGame):
    super().__init__(game)
    self.hands: tuple[int, ...] = ()
    self.node = 0

  @property
  def public_state(self) -> betting.PublicState:
    """What everybody knows of the betting."""
    return self.get_game().public_states[self.node]

  @property
  def line(self) -> str:
    """The bets so far, "x b200", or which deal comes next."""
    return self.public_state.line if self._dealt else _TURNS[len(self.hands)]

  @property
  def _dealt(self) -> bool:
    return len(self.hands) == _NUM_PLAYERS

  def hand(self, player: int) -> str:
    """The hand of `player` in letters, "" before it is dealt."""
    dealt = player < len(self.hands)
    return self.get_game().ranges[player].names[self.hands[player]] if dealt else ""

  def current_player(self) -> int:
    """Whose turn it is: chance until both hands are dealt."""
    return self.public_state.player if self._dealt else pyspiel.PlayerId.CHANCE

  def _legal_actions(self, player: int) -> list[int]:
    """The actions of the player to act, ascending."""
    return list(self.public_state.children)

  def chance_outcomes(self) -> list[tuple[int, float]]:
    """The hands that can be dealt next with their probabilities."""
    weights = self.get_game().deal_weights(self.hands)
    (hands,) = weights.nonzero()
    return list(zip(hands.tolist(), (weights[hands] / weights.sum()).tolist(), strict=True))

  def _apply_action(self, action: int) -> None:
    """Deals a hand or bets; raises ValueError if illegal, which OpenSpiel does not check."""
    if self._dealt:
      children = self.public_state.children
      if action not in children:
        raise ValueError(f"illegal action {action} at {self}; legal are {list(children)}")
      self.node = children[action]
    else:
      weights = self.get_game().deal_weights(self.hands)
      if not (0 <= action < len(weights) and weights[action] > 0):
        raise ValueError(
          f"illegal action {action} at {self}; legal are the indices, below {len(weights)}, of hands in "
          f"player {len(self.hands)}'s range that can be dealt here"
        )
      self.hands += (action,)

  def _action_to_string(self, player: int, action: int) -> str:
    """An action in words, "Deal AsKd" or "Raise to 800"."""
    game = self.get_game()
    if player == pyspiel.PlayerId.CHANCE:
      return f"Deal {game.ranges[len(self.hands)].names[action]}"
    return game.public_states[self.public_state.children[action]].label

  def is_terminal(self) -> bool:
    """Whether the betting is over."""
    return self.current_player() == betting.TERMINAL

  def returns(self) -> list[float]:
    """The chips that each player won since the hand began, zeros before the end."""
    if not self.is_terminal():
      return [0.0, 0.0]
    first, second = (
      int(hands.strength[hand]) for hands, hand in zip(self.get_game().ranges, self.hands, strict=True)
    )
    end = self.public_state
    won = end.constant + end.stake * ((first > second) - (first < second))
    return [won, 0.0 - won]  # -won would be -0.0 after a tie

  def __str__(self) -> str:
    """Both hands and all that is public."""
    return _join(_hands_text(self, range(_NUM_PLAYERS)), self.get_game().header, self.line)


class RiverSubgameObserver:
  """What a player or the public sees, conforming to OpenSpiel's PyObserver interface.

  `tensor` joins, in this order, the pieces that the observation type asks for; `dict` has views.
    player: float32[2], one-hot of the observing player (private information of one player).
    private_hands: float32[K, 52], the cards of the observing player (K = 1) or of both (K = 2).
    board: float32[52] (public, as all that follow).
    turn: float32[5], one-hot of what comes next: deal to player 0, deal to player 1, player 0 acts,
      player 1 acts, nothing.
    betting: float32[max_game_length, num_distinct_actions], one-hot actions (with perfect recall).
    pot_contribution: float32[2], chips each player has put in (without perfect recall).
  """

  def __init__(self, game: RiverSubgameGame, iig_obs_type: pyspiel.IIGObservationType):
    self._private_info = iig_obs_type.private_info
    self._public_info = iig_obs_type.public_info
    self._perfect_recall = iig_obs_type.perfect_recall
    pieces: list[tuple[str, tuple[int, ...]]] = []
    if self._private_info == pyspiel.PrivateInfoType.SINGLE_PLAYER:
      pieces.append(("player", (_NUM_PLAYERS,)))
    if self._seats(0):
      pieces.append(("private_hands", (len(self._seats(0)), _DECK_SIZE)))
    if self._public_info:
      pieces += [("board", (_DECK_SIZE,)), ("turn", (len(_TURNS),))]
      if self._perfect_recall:
        pieces.append(("betting", (game.max_game_length(), game.num_distinct_actions())))
      else:
        pieces.append(("pot_contribution", (_NUM_PLAYERS,)))
    self.tensor, self.dict = observing.tensor_with_views(pieces)

  def _seats(self, player: int) -> tuple[int, ...]:
    """The players whose hands `player` sees."""
    return observing.seats(self._private_info, player)

  def set_from(self, state: RiverSubgameState, player: int) -> None:
    """Fills `tensor`, and with it `dict`, with what `player` sees in `state`."""
    game = state.get_game()
    self.tensor.fill(0)
    if "player" in self.dict:
      self.dict["player"][player] = 1
    for row, seat in enumerate(self._seats(player)):
      if seat < len(state.hands):
        self.dict["private_hands"][row, game.ranges[seat].cards[state.hands[seat]]] = 1
    if self._public_info:
      self.dict["board"][list(game.board)] = 1
      self.dict["turn"][_turn(state)] = 1
    if "betting" in self.dict:
      actions = state.history()[_NUM_PLAYERS:]
      self.dict["betting"][range(len(actions)), actions] = 1
    if "pot_contribution" in self.dict:
      self.dict["pot_contribution"][:] = state.public_state.spent

  def string_from(self, state: RiverSubgameState, player: int) -> str:
    """What `player` sees in `state`, such as `RiverSubgameGame.infostate_string`."""
    private = _hands_text(state, self._seats(player))
    if not self._public_info:
      return private
    header = state.get_game().header
    if self._perfect_recall:
      return _join(private, header, state.line)
    spent = "in {} {}".format(*state.public_state.spent)
    return _join(private, header, spent, _TURNS[_turn(state)])


def _turn(state: RiverSubgameState) -> int:
  """The index in `_TURNS` of what comes next."""
  if state.is_terminal():
    return len(_TURNS) - 1
  player = state.current_player()
  return len(state.hands) if player == pyspiel.PlayerId.CHANCE else _NUM_PLAYERS + player


def _hands_text(state: RiverSubgameState, seats) -> str:
  return " ".join(f"p{seat} {state.hand(seat)}".rstrip() for seat in seats)


def _join(*parts: str) -> str:
  return " | ".join(part for part in parts if part)


pyspiel.register_game(_GAME_TYPE, RiverSubgameGame)
