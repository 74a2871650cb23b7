"""Parametric poker: Leduc's kind of hold'em, with any number of bets, raises and cards.

A deck has some ranks and of each some copies. Both players put one chip in and are dealt a card of their own;
a round of betting; a card on the table that both see; a round with doubled sizes. Player 0 begins each round.
A player who faces no bet checks or bets one of several sizes (2, 4, ... chips), else folds, calls, or raises
by one of several sizes on top of the call; raises in a row are limited. A card that pairs the table's wins,
else the higher one; equal cards split the pot. Returns are chips won or lost.

Source: Čermák, Lisý and Bošanský (2020), Automated Construction of Bounded-Loss Imperfect-Recall Abstractions
in Extensive-Form Games, Section 5. Their P111, P222 and P224 are the games with these numbers of bets,
raises and raises in a row, 4 ranks and 3 copies: 504, 14,040 and 252,504 infostates; 5,045, 162,869 and
3,006,005 histories, copies of a rank being one card with its weight. With 3 ranks, 2 copies and one of
each it is Leduc poker with sizes 2 and 4, up to suits, but for a limit on raises.

Parameters (`ValueError` for any other value):
  bets: Sizes of bets, 2, 4, ..., at least 1.
  raises: Sizes of raises, 2, 4, ..., at least 1.
  max_raises: Raises in a row, at least 0.
  ranks: Ranks of cards, at least 2.
  copies: Cards of each rank; three cards in all at least.
"""

from typing import Any

import pyspiel

from .. import observing

FOLD, CALL, FIRST_SIZE = 0, 1, 2  # a call where nothing is to be called is a check
SIZE = 2  # chips of the smallest bet in the first round
_NUM_PLAYERS = 2
_TERMINAL = int(pyspiel.PlayerId.TERMINAL)
_CHANCE = int(pyspiel.PlayerId.CHANCE)
_TURNS = ("deal p0", "deal p1", "deal table", "p0 to act", "p1 to act", "end")
_LEAST = {"bets": 1, "raises": 1, "max_raises": 0, "ranks": 2, "copies": 1}
_DEFAULTS = {"bets": 1, "raises": 1, "max_raises": 1, "ranks": 4, "copies": 3}

_GAME_TYPE = pyspiel.GameType(
  short_name="parametric_poker",
  long_name="Parametric Poker",
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


class ParametricPokerGame(pyspiel.Game):
  """The game. An action is 0 to fold, 1 to check or call, 2, 3, ... for the sizes of bets and of raises.

  Attributes:
    bets, raises, max_raises, ranks, copies: The parameters.
  """

  def __init__(self, params: dict[str, Any] | None = None):
    """Raises ValueError for parameters other than those in the module's docstring."""
    params = {**_DEFAULTS, **(params or {})}
    for name, least in _LEAST.items():
      if params[name] < least:
        raise ValueError(f"{name}={params[name]}: must be at least {least}")
    if params["ranks"] * params["copies"] < 3:
      raise ValueError(
        f"ranks={params['ranks']}, copies={params['copies']}: three cards are dealt, so there must be three"
      )
    self.bets, self.raises, self.max_raises = (params[name] for name in ("bets", "raises", "max_raises"))
    self.ranks, self.copies = params["ranks"], params["copies"]
    round_moves = 3 + self.max_raises  # check, bet, raises, call
    most = 1.0 + 3 * SIZE * (self.bets + self.max_raises * self.raises)  # the second round counts double
    info = pyspiel.GameInfo(
      num_distinct_actions=FIRST_SIZE + max(self.bets, self.raises if self.max_raises else 0),
      max_chance_outcomes=self.ranks,
      num_players=_NUM_PLAYERS,
      min_utility=-most,
      max_utility=most,
      utility_sum=0.0,
      max_game_length=2 * round_moves,
    )
    super().__init__(_GAME_TYPE, info, params)

  def new_initial_state(self) -> "ParametricPokerState":
    """The state before the deal."""
    return ParametricPokerState(self)

  def max_chance_nodes_in_history(self) -> int:
    """Three: a card for each player and one on the table."""
    return _NUM_PLAYERS + 1

  def make_py_observer(self, iig_obs_type=None, params=None) -> "ParametricPokerObserver":
    """An observer; the default is the observation, without perfect recall."""
    if params:
      raise ValueError(f"parametric_poker takes no observation parameters, got {params}")
    default = pyspiel.IIGObservationType(perfect_recall=False)
    return ParametricPokerObserver(self, iig_obs_type or default)


class ParametricPokerState(pyspiel.State):
  """A history; this object holds only the present, the moves are in OpenSpiel's own `history()`.

  Attributes:
    cards: Ranks dealt so far, 0, 1, ...: player 0's, player 1's, the table's.
    paid: Chips that each player has put in.
    raises: Raises in a row since the last bet of this round.
    moves: Moves of this round.
    player: The player to act, or `pyspiel.PlayerId.CHANCE` or `TERMINAL`.
    folded: The player who has folded, else -1.
  """

  def __init__(self, game: ParametricPokerGame):
    super().__init__(game)
    self.cards: tuple[int, ...] = ()
    self.paid = (1, 1)
    self.raises = 0
    self.moves = 0
    self.player = _CHANCE
    self.folded = -1

  @property
  def turn(self) -> int:
    """Index in `_TURNS` of the next event."""
    if self.player == _CHANCE:
      return len(self.cards)
    return len(_TURNS) - 1 if self.player == _TERMINAL else _NUM_PLAYERS + 1 + self.player

  @property
  def unit(self) -> int:
    """Chips of the smallest bet in this round."""
    return SIZE if len(self.cards) <= _NUM_PLAYERS else 2 * SIZE

  def current_player(self) -> int:
    """The player to act."""
    return self.player

  def _legal_actions(self, player: int) -> list[int]:
    """The actions of the player to act, ascending."""
    game = self.get_game()
    if self.paid[0] == self.paid[1]:
      return [CALL, *range(FIRST_SIZE, FIRST_SIZE + game.bets)]
    sizes = game.raises if self.raises < game.max_raises else 0
    return [FOLD, CALL, *range(FIRST_SIZE, FIRST_SIZE + sizes)]

  def chance_outcomes(self) -> list[tuple[int, float]]:
    """The ranks that can be dealt next with their probabilities."""
    game = self.get_game()
    left = [game.copies - self.cards.count(rank) for rank in range(game.ranks)]
    return [(rank, count / sum(left)) for rank, count in enumerate(left) if count]

  def _apply_action(self, action: int) -> None:
    """Deals or moves; raises ValueError if illegal, which OpenSpiel does not check."""
    if self.player == _CHANCE:
      legal = [rank for rank, _ in self.chance_outcomes()]
    else:
      legal = [] if self.player == _TERMINAL else self._legal_actions(self.player)
    if action not in legal:
      raise ValueError(f"illegal action {action} at {self}; legal are {legal}")
    if self.player == _CHANCE:
      self.cards += (action,)
      self.player = _CHANCE if len(self.cards) < _NUM_PLAYERS else 0
      return
    mover, self.moves = self.player, self.moves + 1
    mine, theirs = self.paid[mover], self.paid[1 - mover]
    if action == FOLD:
      self.folded, self.player = mover, _TERMINAL
    elif action == CALL and (mine < theirs or self.moves > 1):
      self._pay(mover, theirs)
      self._end_round()
    else:
      if action >= FIRST_SIZE:
        self.raises += mine < theirs
        self._pay(mover, theirs + (action - FIRST_SIZE + 1) * self.unit)
      self.player = 1 - mover

  def _pay(self, player: int, chips: int) -> None:
    self.paid = (chips, self.paid[1]) if player == 0 else (self.paid[0], chips)

  def _end_round(self) -> None:
    self.player = _CHANCE if len(self.cards) == _NUM_PLAYERS else _TERMINAL
    self.raises = self.moves = 0

  def _action_to_string(self, player: int, action: int) -> str:
    """An action in words, "Deal 2", "Check" or "Raise 4"."""
    if player == _CHANCE:
      return f"Deal {action}"
    if action < FIRST_SIZE:
      return "Fold" if action == FOLD else "Call" if self.paid[0] != self.paid[1] else "Check"
    verb = "Bet" if self.paid[0] == self.paid[1] else "Raise"
    return f"{verb} {(action - FIRST_SIZE + 1) * self.unit}"

  def is_terminal(self) -> bool:
    """True after a fold and after both rounds."""
    return self.player == _TERMINAL

  def returns(self) -> list[float]:
    """The chips that each player won, zeros before the end."""
    if self.player != _TERMINAL:
      return [0.0, 0.0]
    if self.folded >= 0:
      won = float(self.paid[1] if self.folded == 1 else -self.paid[0])
    else:
      first, second, table = self.cards
      strengths = [(card == table, card) for card in (first, second)]
      sign = (strengths[0] > strengths[1]) - (strengths[0] < strengths[1])
      won = float(sign * self.paid[0])
    return [won, 0.0 - won]  # -won would be -0.0 after a tie

  def __str__(self) -> str:
    """All cards and all moves: "p0 3 p1 1 | x b2 c [0] x"."""
    return _join(_cards_text(self, range(_NUM_PLAYERS)), self.line())

  def path(self) -> list[int]:
    """The moves of both players, without the deals."""
    history = self.history()
    table = self._table_at(history)
    return history[_NUM_PLAYERS:] if table < 0 else history[_NUM_PLAYERS:table] + history[table + 1 :]

  def _table_at(self, history: list[int]) -> int:
    """The index in the history of the table's card, -1 before its deal."""
    if len(self.cards) <= _NUM_PLAYERS:
      return -1
    # The first round ends with a call of a bet, or with two checks.
    moves = history[_NUM_PLAYERS:]
    end = next(n for n, move in enumerate(moves) if move == CALL and n > 0)
    return _NUM_PLAYERS + end + 1

  def line(self) -> str:
    """The public part: x check, c call, f fold, b2 bet, r4 raise, [0] the table's card."""
    history = self.history()
    table = self._table_at(history)
    words, unit, facing = [], SIZE, False
    for n, move in enumerate(history[_NUM_PLAYERS:], start=_NUM_PLAYERS):
      if n == table:
        words.append(f"[{move}]")
        unit, facing = 2 * SIZE, False
      elif move == FOLD:
        words.append("f")
      elif move == CALL:
        words.append("c" if facing else "x")
      else:
        words.append(f"{'r' if facing else 'b'}{(move - FIRST_SIZE + 1) * unit}")
        facing = True
    return " ".join([*words, _TURNS[self.turn]] if self.player == _CHANCE else words)


class ParametricPokerObserver:
  """The observation of a player or the public, conforming to OpenSpiel's PyObserver interface.

  `tensor` joins, in this order, the pieces that the observation type asks for; `dict` has views.
    player: float32[2], one-hot of the observing player (private information of one player).
    private_cards: float32[K, ranks], the card of the observing player (K = 1) or of both (K = 2).
    table: float32[ranks], the card on the table (public, as all that follow).
    turn: float32[6], one-hot of the next event: three deals, player 0 acts, player 1 acts, nothing.
    betting: float32[max_game_length, num_distinct_actions], one-hot moves (with perfect recall).
    pot_contribution: float32[2], chips of each player in the pot (without perfect recall).
    raises: float32[max_raises + 1], one-hot of the raises in a row (without perfect recall).
  """

  def __init__(self, game: ParametricPokerGame, iig_obs_type: pyspiel.IIGObservationType):
    self._private_info = iig_obs_type.private_info
    self._public_info = iig_obs_type.public_info
    self._perfect_recall = iig_obs_type.perfect_recall
    pieces: list[tuple[str, tuple[int, ...]]] = []
    if self._private_info == pyspiel.PrivateInfoType.SINGLE_PLAYER:
      pieces.append(("player", (_NUM_PLAYERS,)))
    if self._seats(0):
      pieces.append(("private_cards", (len(self._seats(0)), game.ranks)))
    if self._public_info:
      pieces += [("table", (game.ranks,)), ("turn", (len(_TURNS),))]
      if self._perfect_recall:
        pieces.append(("betting", (game.max_game_length(), game.num_distinct_actions())))
      else:
        pieces += [("pot_contribution", (_NUM_PLAYERS,)), ("raises", (game.max_raises + 1,))]
    self.tensor, self.dict = observing.tensor_with_views(pieces)

  def _seats(self, player: int) -> tuple[int, ...]:
    return observing.seats(self._private_info, player)

  def set_from(self, state: ParametricPokerState, player: int) -> None:
    """Fills `tensor`, and with it `dict`, with the observation of `player` in `state`."""
    self.tensor.fill(0)
    if "player" in self.dict:
      self.dict["player"][player] = 1
    for row, seat in enumerate(self._seats(player)):
      if seat < len(state.cards):
        self.dict["private_cards"][row, state.cards[seat]] = 1
    if self._public_info:
      self.dict["turn"][state.turn] = 1
      if len(state.cards) > _NUM_PLAYERS:
        self.dict["table"][state.cards[_NUM_PLAYERS]] = 1
    if "betting" in self.dict:
      moves = state.path()
      self.dict["betting"][range(len(moves)), moves] = 1
    if "pot_contribution" in self.dict:
      self.dict["pot_contribution"][:] = state.paid
      self.dict["raises"][state.raises] = 1

  def string_from(self, state: ParametricPokerState, player: int) -> str:
    """The observation of `player`, as "p0 3 | x b2 c [0] x", or "p0 3 | table 0 | in 3 3 | p1 to act"."""
    private = _cards_text(state, self._seats(player))
    if not self._public_info:
      return private
    if self._perfect_recall:
      return f"{private} | {state.line()}".lstrip()
    table = f"table {state.cards[_NUM_PLAYERS]}" if len(state.cards) > _NUM_PLAYERS else ""
    chips = f"in {state.paid[0]} {state.paid[1]}, {state.raises} raises"
    return _join(private, table, chips, _TURNS[state.turn])


def _cards_text(state: ParametricPokerState, seats) -> str:
  return " ".join(
    f"p{seat} {state.cards[seat] if seat < len(state.cards) else ''}".rstrip() for seat in seats
  )


def _join(*parts: str) -> str:
  return " | ".join(part for part in parts if part)


pyspiel.register_game(_GAME_TYPE, ParametricPokerGame)
