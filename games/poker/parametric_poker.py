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

An action is 0 to fold, 1 to check or call, 2, 3, ... for the sizes of bets and of raises; with `fold_last`
it is 0 to call, 1, 2, ... for the sizes, and the last number to check or fold. The game is the same, but
fictitious play and double oracle begin with the first action and prefer it in ties, and so does what they
make: the order with `fold_last` is that of the library of the paper's authors.

Parameters (`ValueError` for any other value):
  bets: Sizes of bets, 2, 4, ..., at least 1.
  raises: Sizes of raises, 2, 4, ..., at least 1.
  max_raises: Raises in a row, at least 0.
  ranks: Ranks of cards, at least 2.
  copies: Cards of each rank; three cards in all at least.
  fold_last: The second numbering of actions above.
"""

from .. import base
from ..base import CHANCE, TERMINAL, join

SIZE = 2  # chips of the smallest bet in the first round
_NUM_PLAYERS = 2
_TURNS = ("deal p0", "deal p1", "deal table", "p0 to act", "p1 to act", "end")
_LEAST = {"bets": 1, "raises": 1, "max_raises": 0, "ranks": 2, "copies": 1}
_DEFAULTS = {"bets": 1, "raises": 1, "max_raises": 1, "ranks": 4, "copies": 3, "fold_last": False}


class ParametricPokerGame(base.Game):
  """The game; see `base.Game`.

  Attributes:
    bets, raises, max_raises, ranks, copies: The parameters.
    fold, check, call, first_size: Actions; with `fold_last` a check has the number of a fold, else of a call.
  """

  game_type = base.game_type("parametric_poker", "Parametric Poker", _DEFAULTS)

  def __init__(self, params: base.Parameters | None = None):
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
    sizes = max(self.bets, self.raises if self.max_raises else 0)
    if params["fold_last"]:
      self.call, self.first_size, self.check, self.fold = 0, 1, 1 + sizes, 1 + sizes
    else:
      self.fold, self.check, self.call, self.first_size = 0, 1, 1, 2
    actions = 2 + sizes
    super().__init__(params, actions, outcomes=self.ranks, length=2 * round_moves, most=most)

  def max_chance_nodes_in_history(self) -> int:
    """Three: a card for each player and one on the table."""
    return _NUM_PLAYERS + 1


class ParametricPokerState(base.State):
  """A history; see `base.State`."""

  def __init__(self, game: ParametricPokerGame):
    super().__init__(game)
    self.cards: tuple[int, ...] = ()  #: ranks dealt so far, 0, 1, ...: player 0's, player 1's, the table's
    self.paid = (1, 1)  #: chips that each player has put in
    self.raises = 0  #: raises in a row since the last bet of this round
    self.moves = 0  #: moves of this round
    self.table_at = -1  #: the place of the table's card in the history
    self.player = CHANCE
    self.folded = -1  #: the player who has folded, else -1

  @property
  def turn(self) -> int:
    """Index in `_TURNS` of the next event."""
    if self.player == CHANCE:
      return len(self.cards)
    return len(_TURNS) - 1 if self.player == TERMINAL else _NUM_PLAYERS + 1 + self.player

  @property
  def unit(self) -> int:
    """Chips of the smallest bet in this round."""
    return SIZE if len(self.cards) <= _NUM_PLAYERS else 2 * SIZE

  def _legal_actions(self, player: int) -> list[int]:
    game = self.get_game()
    if self.paid[0] == self.paid[1]:
      return sorted([game.check, *range(game.first_size, game.first_size + game.bets)])
    sizes = game.raises if self.raises < game.max_raises else 0
    return sorted([game.fold, game.call, *range(game.first_size, game.first_size + sizes)])

  def chance_outcomes(self) -> list[tuple[int, float]]:
    game = self.get_game()
    left = [game.copies - self.cards.count(rank) for rank in range(game.ranks)]
    return [(rank, count / sum(left)) for rank, count in enumerate(left) if count]

  def _apply_action(self, action: int) -> None:
    self.check_legal(action)
    if self.player == CHANCE:
      if len(self.cards) == _NUM_PLAYERS:
        self.table_at = len(self.history())
      self.cards += (action,)
      self.player = CHANCE if len(self.cards) < _NUM_PLAYERS else 0
      return
    game, mover, self.moves = self.get_game(), self.player, self.moves + 1
    mine, theirs = self.paid[mover], self.paid[1 - mover]
    facing = mine < theirs
    if facing and action == game.fold:
      self.folded, self.player = mover, TERMINAL
    elif action != (game.call if facing else game.check):
      self.raises += facing
      self._pay(mover, theirs + (action - game.first_size + 1) * self.unit)
      self.player = 1 - mover
    elif facing or self.moves > 1:
      self._pay(mover, theirs)
      self._end_round()
    else:
      self.player = 1 - mover

  def _pay(self, player: int, chips: int) -> None:
    self.paid = (chips, self.paid[1]) if player == 0 else (self.paid[0], chips)

  def _end_round(self) -> None:
    self.player = CHANCE if len(self.cards) == _NUM_PLAYERS else TERMINAL
    self.raises = self.moves = 0

  def _action_to_string(self, player: int, action: int) -> str:
    if player == CHANCE:
      return f"Deal {action}"
    game, facing = self.get_game(), self.paid[0] != self.paid[1]
    if action in ((game.fold, game.call) if facing else (game.check,)):
      return "Check" if not facing else "Fold" if action == game.fold else "Call"
    return f"{'Raise' if facing else 'Bet'} {(action - game.first_size + 1) * self.unit}"

  def won(self) -> float:
    if self.folded >= 0:
      return float(self.paid[1] if self.folded == 1 else -self.paid[0])
    first, second, table = self.cards
    strengths = [(card == table, card) for card in (first, second)]
    return float(((strengths[0] > strengths[1]) - (strengths[0] < strengths[1])) * self.paid[0])

  def __str__(self) -> str:
    return join(_cards_text(self, range(_NUM_PLAYERS)), self.line())

  def path(self) -> list[int]:
    """The moves of both players, without the deals."""
    return [move for n, move in enumerate(self.history()) if n >= _NUM_PLAYERS and n != self.table_at]

  def line(self) -> str:
    """All that is public, "x b2 c [0] x": x check, c call, f fold, b2 bet, r4 raise, [0] the table's card."""
    game, words, unit, facing = self.get_game(), [], SIZE, False
    for n, move in enumerate(self.history()[_NUM_PLAYERS:], start=_NUM_PLAYERS):
      if n == self.table_at:
        words.append(f"[{move}]")
        unit, facing = 2 * SIZE, False
      elif move == (game.call if facing else game.check):
        words.append("c" if facing else "x")
      elif facing and move == game.fold:
        words.append("f")
      else:
        words.append(f"{'r' if facing else 'b'}{(move - game.first_size + 1) * unit}")
        facing = True
    return " ".join([*words, _TURNS[self.turn]] if self.player == CHANCE else words)


class ParametricPokerObserver(base.Observer):
  """The view of a player or of the public; see `base.Observer`.

  private_cards: [K, ranks], the card of the observing player (K = 1) or of both (K = 2).
  table: [ranks], the card on the table (public, as all that follow).
  turn: [6], one-hot of the next event: three deals, player 0 acts, player 1 acts, nothing.
  betting: [max_game_length, num_distinct_actions], one-hot moves (with perfect recall).
  pot_contribution: [2], chips of each player in the pot (without perfect recall).
  raises: [max_raises + 1], one-hot of the raises in a row (without perfect recall).
  """

  def pieces(self, game: ParametricPokerGame) -> list[base.Piece]:
    pieces: list[base.Piece] = [("private_cards", (len(self.seats(0)), game.ranks))] * bool(self.seats(0))
    if self.public:
      pieces += [("table", (game.ranks,)), ("turn", (len(_TURNS),))]
    if self.public and self.recall:
      pieces.append(("betting", (game.max_game_length(), game.num_distinct_actions())))
    elif self.public:
      pieces += [("pot_contribution", (_NUM_PLAYERS,)), ("raises", (game.max_raises + 1,))]
    return pieces

  def fill(self, state: ParametricPokerState, seats: tuple[int, ...]) -> None:
    for row, seat in enumerate(seats):
      if seat < len(state.cards):
        self.dict["private_cards"][row, state.cards[seat]] = 1
    if self.public:
      self.dict["turn"][state.turn] = 1
      if len(state.cards) > _NUM_PLAYERS:
        self.dict["table"][state.cards[_NUM_PLAYERS]] = 1
    if self.public and self.recall:
      base.one_hot(self.dict["betting"], state.path())
    elif self.public:
      self.dict["pot_contribution"][:] = state.paid
      self.dict["raises"][state.raises] = 1

  def string_from(self, state: ParametricPokerState, player: int) -> str:
    """Text such as "p0 3 | x b2 c [0] x", or "p0 3 | table 0 | in 3 3 | p1 to act"."""
    private = _cards_text(state, self.seats(player))
    if not self.public:
      return private
    if self.recall:
      return f"{private} | {state.line()}".lstrip()
    table = f"table {state.cards[_NUM_PLAYERS]}" if len(state.cards) > _NUM_PLAYERS else ""
    chips = f"in {state.paid[0]} {state.paid[1]}, {state.raises} raises"
    return join(private, table, chips, _TURNS[state.turn])


def _cards_text(state: ParametricPokerState, seats) -> str:
  held = (state.cards[seat] if seat < len(state.cards) else "" for seat in seats)
  return base.held_text(seats, map(str, held))


base.register(ParametricPokerGame, ParametricPokerState, ParametricPokerObserver)
