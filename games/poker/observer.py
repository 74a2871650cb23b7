"""Observations of a subgame of hold'em, of its players and of the public."""

from collections.abc import Collection, Iterable

import numpy as np
import pyspiel

from ps_cfr_spiel.cards.poker import betting, cards, strengths

from .. import base

NUM_PLAYERS = 2
_DECK_SIZE = 52


class PokerState(base.State):
  """The common part of hold'em's states: cards in two hands and on the board, and a place in the betting.

  A subclass has `hole`, `line` and `public_state`, and says when the hands are dealt.
  """

  runout: cards.Board = ()  #: the public cards dealt so far, in order

  def current_player(self) -> int:
    return self.public_state.player if self._dealt else base.CHANCE

  def hand(self, player: int) -> str:
    """The hand of `player` in letters, the higher card first; "" before it is dealt."""
    return cards.card_names(sorted(self.hole(player), reverse=True))

  def live_cards(self) -> list[int]:
    """The cards on no board and in no hand, from which the next card comes."""
    game = self.get_game()
    seen = {*game.board, *self.runout, *self.hole(0), *self.hole(1)}
    return [card for card in game.deck if card not in seen]

  def returns(self) -> list[float]:
    """The chips that each player won since the hand began."""
    end, won = self.public_state, 0.0  # by player 0 at a showdown
    if self.is_terminal() and end.showdown_payoff:
      board, hands = np.array(self.get_game().board + self.runout), np.array([self.hole(0), self.hole(1)])
      first, second = strengths(board, hands).tolist()
      won = end.showdown_payoff * ((first > second) - (first < second))
    return [end.fold_payoff[0] + won, end.fold_payoff[1] - won]

  def __str__(self) -> str:
    return base.join(hands_text(self, range(NUM_PLAYERS)), self.get_game().header, self.line)


class PokerTable(base.Game):
  """A game whose states are hands of hold'em, and are drawn as such."""

  def table(self, state: PokerState, seats: Collection[int]) -> base.Table:
    public, stack, rows = state.public_state, self.get_parameters()["stack"], []
    for player, spent in enumerate(public.spent):
      hand = tuple(cards.card_names([card]) for card in sorted(state.hole(player), reverse=True))
      bet = spent - public.ante
      notes = f"{self._chips(stack - spent)} behind", *([f"bet {self._chips(bet)}"] if bet > 0 else [])
      rows.append(base.Row(hand if player in seats else (base.HIDDEN,) * len(hand), player, notes=notes))
    board = [cards.card_names([card]) for card in (*self.board, *state.runout)]
    places = ("",) * (cards.BOARD_SIZE - len(board))
    rows.append(base.Row((*board, *places), name="Board"))
    mover = state.current_player()
    to_call = max(public.spent) - public.spent[mover] if mover in seats else 0
    call = [f"To call {self._chips(to_call)}"] if to_call else []
    return base.Table((f"Pot {self._chips(sum(public.spent))}", *call), tuple(rows))

  def _chips(self, chips: int) -> str:
    """Chips in units, with thousands separators: 1,234.5."""
    whole, point, part = betting.amount_text(chips, self.unit).partition(".")
    return f"{int(whole):,}{point}{part}"


class HoldemSubgameObserver(base.Observer):
  """The view of a player or of the public; see `base.Observer`.

  private_hands: [K, 52], the cards of the observing player (K = 1) or of both (K = 2).
  board: [52], all public cards so far (public, as all that follow).
  turn: [5 or 6], one-hot of the next event: deal to player 0, deal to player 1, player 0 acts,
    player 1 acts, if there are cards to come a card, nothing.
  betting: [max_game_length, num_distinct_actions], one-hot actions (with perfect recall).
  runout: [cards to come, 52], one-hot public cards since the root (with perfect recall, if any).
  pot_contribution: [2], chips of each player in the pot (without perfect recall).
  """

  def pieces(self, game: pyspiel.Game) -> list[base.Piece]:
    pieces: list[base.Piece] = [("private_hands", (len(self.seats(0)), _DECK_SIZE))] * bool(self.seats(0))
    if self.public:
      pieces += [("board", (_DECK_SIZE,)), ("turn", (len(game.turns),))]
    if self.public and self.recall:
      pieces += self.past(game)
    elif self.public:
      pieces.append(("pot_contribution", (NUM_PLAYERS,)))
    return pieces

  def past(self, game: pyspiel.Game) -> list[base.Piece]:
    """The pieces with the public past."""
    pieces = [("betting", (game.max_game_length(), game.num_distinct_actions()))]
    return pieces + [("runout", (game.cards_to_come, _DECK_SIZE))] * bool(game.cards_to_come)

  def fill_past(self, state: pyspiel.State) -> None:
    """Fill the zeros of these pieces."""
    base.one_hot(self.dict["betting"], state.moves)
    if state.runout:
      base.one_hot(self.dict["runout"], state.runout)

  def fill(self, state: pyspiel.State, seats: tuple[int, ...]) -> None:
    game = state.get_game()
    for row, seat in enumerate(seats):
      self.dict["private_hands"][row, state.hole(seat)] = 1
    if self.public:
      self.dict["board"][[*game.board, *state.runout]] = 1
      self.dict["turn"][_turn(state)] = 1
    if self.public and self.recall:
      self.fill_past(state)
    elif self.public:
      self.dict["pot_contribution"][:] = state.public_state.spent

  def string_from(self, state: pyspiel.State, player: int) -> str:
    """Such as the game's `infostate_string`."""
    private = hands_text(state, self.seats(player))
    if not self.public:
      return private
    game = state.get_game()
    if self.recall:
      return base.join(private, game.header, state.line)
    out = cards.card_names(sorted(state.runout))  # their order is forgotten
    spent = "in {} {}".format(*(betting.amount_text(chips, game.unit) for chips in state.public_state.spent))
    return base.join(private, game.header, out, spent, game.turns[_turn(state)])


class HoldemObserver(HoldemSubgameObserver):
  """The view of a player or of the public in the whole game, with another past.

  betting: [max_game_length], the chips that each action so far has left its player with in the pot; 0 for
    those to come.
  runout: [3, 52], the cards of flop, turn and river.
  """

  def past(self, game: pyspiel.Game) -> list[base.Piece]:
    return [("betting", (game.max_game_length(),)), ("runout", (len(cards.STREETS), _DECK_SIZE))]

  def fill_past(self, state: pyspiel.State) -> None:
    invested = state.public_state.invested
    self.dict["betting"][: len(invested)] = invested
    for row, came in zip(self.dict["runout"], state.board_by_street(), strict=False):
      row[list(came)] = 1


def _turn(state: pyspiel.State) -> int:
  """The index in the game's `turns` of the next event."""
  if state.is_terminal():
    return len(state.get_game().turns) - 1
  if len(state.hands) < NUM_PLAYERS:
    return len(state.hands)
  player = state.current_player()
  return 2 * NUM_PLAYERS if player == base.CHANCE else NUM_PLAYERS + player


def hands_text(state: pyspiel.State, seats: Iterable[int]) -> str:
  """The hands of some players, "p0 AsKd p1 6h2d"."""
  return base.held_text(seats, map(state.hand, seats))
