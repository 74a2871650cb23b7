"""A hand of `holdem` as its players and records know it: bets in chips, and the cards that were seen.

Bets are kept as the chips that each move left its player with in the pot, so a hand means the same in every
abstraction of the bets; a fold leaves less there than the other player has, and a call as much.
"""

import reprlib
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import pyspiel

from ps_cfr_spiel.cards.poker import betting, cards, check_unraked
from ps_cfr_spiel.matches import MatchResult, Played

PLAYERS = 2
NAME = "holdem"
SHOWN = 160  # characters of a mistaken value in a message


class Hand(NamedTuple):
  """A hand."""

  seat: int  #: of the agent, 0 (the big blind) or 1 (the button)
  chips: tuple[int, ...]  #: in the pot from the player of each move, after it
  holes: tuple[str, str]  #: both players' cards, "" where they were not shown
  board: str  #: the public cards that came
  #: by the agent, in chips; None while the hand is not over, or where the cards that decide it are unknown.
  won: float | None = None
  deal: int | None = None  #: as in `Played`


class Move(NamedTuple):
  """A move: the state before, the chips of the mover after it, and the state after, with cards passed."""

  before: betting.BettingState
  chips: int
  after: betting.BettingState

  @property
  def code(self) -> str:
    """The letter f, c or r: a fold, a check or call, a bet or raise."""
    to_call = max(self.before.spent)
    return "f" if self.chips < to_call else "c" if self.chips == to_call else "r"

  @property
  def streets_begun(self) -> int:
    """The number of streets that begin after it, or whose cards come without betting."""
    return self.after.street - self.before.street


def rules_of(game: pyspiel.Game) -> betting.BettingRules:
  """The betting of a game with bets of any size; ValueError for another game than `holdem`, and for rake."""
  rules = _betting_rules(game)
  check_unraked(game, "records of hands")
  return rules._replace(bets=rules.streets)


def big_blind(game: pyspiel.Game) -> int:
  """The big blind of a game, in chips; ValueError for another game than `holdem`."""
  return _betting_rules(game).start[0]


def _betting_rules(game: pyspiel.Game) -> betting.BettingRules:
  """The rules of betting; ValueError for another game than `holdem`."""
  if game.get_type().short_name != NAME:
    raise ValueError(f"Hands are exchanged in {NAME} alone, got {game}; choose such as {NAME}(stack=20000).")
  rules: betting.BettingRules = game.rules  # pyright: ignore[reportAttributeAccessIssue]
  return rules


def moves(rules: betting.BettingRules, chips: Sequence[int]) -> Iterator[Move]:
  """The moves of a hand; ValueError for one that the rules do not allow."""
  state = rules.root
  for n in chips:
    action = rules.action(state, n) if state.player >= 0 else None
    after = None if action is None else rules.after(state, action)
    if after is None:
      raise ValueError(f"{n} chips are no legal move after {state.line or 'the blinds'!r}.")
    after = passed(rules, after)
    yield Move(state, n, after)
    state = after


def passed(rules: betting.BettingRules, state: betting.BettingState) -> betting.BettingState:
  """The state after the public cards that come before the next move."""
  while state.player == betting.CHANCE:
    after = rules.after(state, betting.ANY_CARD)
    assert after is not None
    state = after
  return state


def hand_of(game: pyspiel.Game, record: Played) -> Hand:
  """A recorded game as a hand, all of whose cards are known."""
  state: Any = game.new_initial_state()
  for action in record.actions:
    state.apply_action(action)
  return seen(state, record.seat, True)._replace(won=state.returns()[record.seat], deal=record.deal)


def seen(state: Any, seat: int, everything: bool = False) -> Hand:
  """The view of a seat in a state: both hands after a showdown, else its own."""
  shown = everything or (state.is_terminal() and state.public_state.showdown_payoff > 0)
  first, second = (cards.card_names(state.hole(p)) if shown or p == seat else "" for p in range(PLAYERS))
  board = "".join(map(cards.card_names, state.board_by_street()))
  won = state.returns()[seat] if state.is_terminal() else None
  return Hand(seat, state.public_state.invested, (first, second), board, won)


def state_of(game: pyspiel.Game, hand: Hand) -> Any:
  """A state of the game that a hand has reached; cards not shown are any that are left.

  ValueError if the cards or the chips are not those of a hand of the game.
  """
  state: Any = game.new_initial_state()
  board, holes = list(cards.parse_cards(hand.board)), [list(cards.parse_cards(hole)) for hole in hand.holes]
  deck = state.get_game().deck
  left = [card for card in deck if card not in {*board, *holes[0], *holes[1]}]
  for hole in holes:
    dealt = hole or [left.pop(), left.pop()]
    if len(dealt) != cards.HAND_SIZE:
      raise ValueError(f"{cards.card_names(dealt)!r} is no hand of two cards.")
    for card in dealt:
      state.apply_action(deck.index(card))
  pending = list(hand.chips)
  while board or pending:
    if state.is_chance_node() and board:
      state.apply_action(deck.index(board.pop(0)))
    elif pending and not state.is_chance_node() and not state.is_terminal():
      state.apply_action(action_by_chips(state, pending.pop(0)))
    else:
      raise ValueError(f"The cards {hand.board!r} and the chips {hand.chips} do not fit together: {state}.")
  return state


def action_by_chips(state: Any, chips: int) -> int:
  """The game's action that leaves its player with these chips in the pot, or ValueError."""
  game = state.get_game()
  action = game.rules.action(state.public_state, chips)
  if action is None:
    sizes = game.get_parameters()["bets"]
    raise ValueError(f"{chips} chips are no legal move at {state}; the sizes of the game are bets={sizes}.")
  return action


def chips_after(state: Any, action: int) -> int:
  """The chips that the player to act has in the pot after an action."""
  public = state.public_state
  return state.get_game().rules.after(public, action).spent[public.player]


def inform(bot: pyspiel.Bot, game: pyspiel.Game, hand: Hand, informed: int) -> int:
  """Inform a bot in the hand's seat of the moves after the first `informed`; return the number of all."""
  for number, move in enumerate(moves(rules_of(game), hand.chips)):
    if number >= informed and move.before.player != hand.seat:
      board = hand.board[: 2 * cards.BOARD_SIZES[move.before.street]]
      before = state_of(game, hand._replace(chips=hand.chips[:number], board=board))
      bot.inform_action(before, move.before.player, action_by_chips(before, move.chips))
  return len(hand.chips)


def possible_wins(game: pyspiel.Game, hand: Hand) -> tuple[float, ...]:
  """The chips that the agent may have won by the moves and by the cards that are known; () before the end.

  ValueError if the cards or the chips are not those of a hand of the game.
  """
  state, last = state_of(game, hand), rules_of(game).root
  for move in moves(rules_of(game), hand.chips):
    last = move.after
  if last.player != betting.TERMINAL:
    return ()
  if last.showdown_payoff and not (state.is_terminal() and all(hand.holes)):
    return (-last.showdown_payoff, 0.0, last.showdown_payoff)
  return (float(state.returns()[hand.seat]),)


def won_by_cards(game: pyspiel.Game, hand: Hand) -> float:
  """The chips that the agent won, by the cards; ValueError if the hand is not over or lacks cards."""
  wins = possible_wins(game, hand)
  if len(wins) != 1:
    raise ValueError(f"The hand is not over, or a showdown lacks cards: {hand}.")
  return wins[0]


class _Brief(reprlib.Repr):
  """Python's texts of values, cut where they are long or deep; decimal numbers as in a file."""

  def __init__(self) -> None:
    super().__init__()
    self.maxstring = self.maxother = self.maxlong = SHOWN
    self.maxlist = 9  # amounts of a large table

  def repr_Decimal(self, value: Decimal, level: int) -> str:  # noqa: N802  (reprlib's name for a type)
    return str(value)


def shown(value: object) -> str:
  """A value of another program in a message: what Python writes, cut where it is long or deep."""
  text = _Brief().repr(value)
  return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


def result(hands: Sequence[Hand]) -> MatchResult:
  """The result of hands that are over, in chips; ValueError if that of one is unknown."""
  worth = []
  for number, hand in enumerate(hands, start=1):
    if hand.won is None:
      raise ValueError(f"Hand {number} has no result: leave out hands that are not over, or lack cards.")
    worth.append(float(hand.won))
  return MatchResult.of(worth, worth, [hand.deal for hand in hands], "chips")
