"""Hold'em: heads-up no-limit Texas hold'em, the whole game, from the blinds to the showdown.

Chance deals two cards to player 0 and two to player 1, one by one. Player 0 has put in the big blind, player
1, who has the button, the small blind. Before the flop player 1 acts first, on every later street player 0. A
player who faces a bet or the big blind folds, calls or raises; else checks or bets. Then three cards come for
the flop, one for the turn and one for the river. A bet adds at least a big blind, a raise at least as much as
the bet or raise before it; only all-in may add less. A fold gives the pot to the other player, else the
better hand wins it and equal hands split it. After a called all-in the cards still come, and no player acts.
Returns are chips won or lost.

Rules: the Annual Computer Poker Competition's (ACPC), heads-up no-limit. The cards, the chance actions that
deal them one by one and the betting are those of OpenSpiel's `universal_poker`: with bets=fcpa and
bets=fullgame the histories of both games are the same numbers. The game is too large to enumerate; it is
dealt, searched (from a flop, turn or river on as `holdem_subgame`) and played, and compiled in small decks.

Parameters (`ValueError` for any other value):
  stack: Chips that each player begins the hand with, more than the big blind.
  blinds: The big blind of player 0 and the small blind of player 1, "100/50".
  bets: Bet sizes as in `holdem_subgame`, with "/" between the four streets; a multiple such as "2.5x" before
    the flop is one of the big blind until a player raises. Or "fullgame": a bet is any whole number of chips
    that the rules allow; its action is the number of chips that its player has in the pot then.
  deck: Ranks x suits, "13x4"; "6x2" has the lowest six ranks of two suits. A card's chance action is its
    place in the deck.
  rake, cap: As of `holdem_subgame`; no rake is taken from a hand that ends before the flop.
"""

import functools
import itertools
import math
import re
from collections.abc import Sequence

import numpy as np

from ps_cfr_spiel.cards.poker import (
  betting,
  cards,
  for_game_string,
  parse_rake,
  set_numbers,
  strengths,
  with_rake,
)

from .. import base
from ..base import CHANCE, join
from .observer import NUM_PLAYERS, HoldemObserver, PokerState, PokerTable

_DEFAULTS = {"stack": 20000, "blinds": "100/50", "bets": "fcpa", "deck": "13x4", "rake": "0%", "cap": 0}
_FULL = "fullgame"
_BUTTON = 1  # the player with the small blind, who acts first before the flop
_HOLE = NUM_PLAYERS * cards.HAND_SIZE
_MOST = 2**31 - 1  # OpenSpiel's whole numbers have 32 bits
_TURNS = ("deal p0", "deal p1", "p0 to act", "p1 to act", "deal card", "end")


class HoldemGame(PokerTable, base.GuessesForHands):
  """The game; see `base.Game`.

  Attributes:
    betting: The rules of the betting.
    deck: All cards, ascending; a card's place is the chance action that deals it.
    header: The beginning of every public string.
    turns: The possible next events, in words.
    board, cards_to_come, unit: As in `holdem_subgame`.
  """

  game_type = base.game_type("holdem", "Heads-up No-Limit Texas Hold'em", _DEFAULTS)
  board, cards_to_come, unit, turns = (), cards.BOARD_SIZE, 1, _TURNS

  def __init__(self, params: base.Parameters | None = None):
    params = with_rake(for_game_string({**_DEFAULTS, **(params or {})}))
    blinds, stack, text = _parse_blinds(params["blinds"]), params["stack"], params["bets"]
    if not blinds[0] < stack <= _MOST:
      raise ValueError(f"stack={stack}: must be more than the big blind of {blinds[0]}, at most {_MOST}")
    bets = (
      len(cards.BOARD_SIZES) if text.strip() == _FULL else betting.parse_bets(text, len(cards.BOARD_SIZES))
    )
    rake = parse_rake(
      params.get("rake", _DEFAULTS["rake"]), params.get("cap", 0), street=1
    )  # no flop, no drop
    self.rules = betting.BettingRules(bets, stack, self.unit, blinds, 0, _BUTTON, least=blinds[0], rake=rake)
    self.deck = cards.parse_deck(params["deck"])
    super().__init__(
      params,
      actions=stack + 1 if isinstance(bets, int) else betting.num_actions(bets),
      outcomes=len(self.deck),
      length=self.rules.most_moves(),
      most=stack,
      least=-stack if rake.share else None,
    )
    self.header = f"stack {stack} blinds {blinds[0]}/{blinds[1]}"

  def max_chance_nodes_in_history(self) -> int:
    """The cards of both hands and of the board, one by one."""
    return _HOLE + cards.BOARD_SIZE

  def guess_values(self, state: "HoldemState") -> dict[int, float]:
    """For each action a guess of player 0's return: by equity, as if both checked and called from there on.

    The equity is that of all boards, or of `_BOARDS` drawn with the seed 0 if they are more than `_EVERY`. A
    guess of the value of hands alone is 0.
    """
    if len(state.cards) < _HOLE:
      return dict.fromkeys(map(self.deck.index, state.live_cards()), 0.0)
    values = self._guesses(state, 0, tuple(state.hole(0)))
    return {action: float(worth[0]) for action, worth in values.items()}

  def guess_for_hands(self, state: "HoldemState", player: int) -> dict[int, np.ndarray]:
    """See `base.GuessesForHands`; by equity, likewise."""
    return self._guesses(state, player)

  def returns_for_hands(
    self, state: "HoldemState", player: int, others: Sequence[cards.Board] = ()
  ) -> np.ndarray:
    """See `base.GuessesForHands`."""
    public, ended = state.public_state, state.is_terminal()
    shape = (len(others), len(cards.ALL_HANDS)) if others else len(cards.ALL_HANDS)
    worth = np.full(shape, float(public.fold_payoff[player]) if ended else 0.0)
    if stakes := public.showdown_payoff if ended else max(public.spent):
      if others:
        return worth + stakes * _lead(self.deck, state.runout, tuple(others))
      _, live, leads = self._ahead(state, player)
      worth += stakes * (leads.sum(0) / np.maximum(live.sum(0), 1))
    return worth

  def _guesses(self, state: "HoldemState", player: int, hand: cards.Board = ()) -> dict[int, np.ndarray]:
    """float64[n] for each action: guesses of a player's return with a hand, or each of all hands."""
    public, (on, live, leads) = state.public_state, self._ahead(state, player, hand)
    if state.current_player() == CHANCE:
      gone = {*state.runout, *state.hole(1 - player), *hand}
      places = [place for place, card in enumerate(self.deck) if card not in gone]
      with_card = [on[:, self.deck[place]] > 0 for place in places]  # sums: threads of a product cost more
      lead, count = (np.array([x[boards].sum(0) for boards in with_card]) for x in (leads, live))
      means = min(public.spent) * lead / np.maximum(count, 1)
      return dict(zip(places, means.astype(float), strict=True))
    lead, sign = leads.sum(0) / np.maximum(live.sum(0), 1), 1 if player == public.player else -1
    return {
      action: np.full(len(lead), -float(sign * chips))
      if action == betting.FOLD
      else max(chips, *public.spent) * lead.astype(float)
      for action, chips in self.rules.moves(public).items()
    }

  def _ahead(
    self, state: "HoldemState", player: int, hand: cards.Board = ()
  ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """See `_ahead`, for a player against the other's hand."""
    return _ahead(self.deck, tuple(sorted(state.runout)), tuple(state.hole(1 - player)), hand)


def _parse_blinds(text: object) -> tuple[int, int]:
  """The big and the small blind; ValueError for anything else."""
  match = re.fullmatch(r"\s*([0-9]{1,9})\s*/\s*([0-9]{1,9})\s*", str(text))
  big, small = (int(match[1]), int(match[2])) if match else (0, 0)
  if not 0 < small <= big:
    raise ValueError(f"blinds={text!r}: must be the big and the small blind, such as '100/50'")
  return big, small


_EVERY = 256  # most boards that all count, as with a card to come
_BOARDS = 256  # drawn for a guess where there are more


@functools.lru_cache(maxsize=8)  # a hand's places are asked one after the other
def _ahead(
  deck: cards.Board, board: cards.Board, other: cards.Board, hand: cards.Board
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
  """Whole boards, and who wins there, all float32.

  Returns:
    [B, 52], 1 for the cards of each board, [B, n], 1 for possible hands, of all or of the one given, and
    [B, n], 1 where it wins, -1 where the hand `other` does, and 0 if they are equal or it is impossible.
  """
  left = np.array([card for card in deck if card not in board and card not in other])
  missing, hands = cards.BOARD_SIZE - len(board), np.array([hand] if hand else cards.ALL_HANDS)
  few = math.comb(len(left), missing) <= _EVERY
  every = list(itertools.combinations(range(len(left)), missing)) if few else _draws(len(left), missing)
  rest = left[np.array(every, int).reshape(len(every), missing)]
  boards = np.hstack([np.broadcast_to(np.array(board, int), (len(rest), len(board))), rest])
  on = (boards[:, :, None] == np.arange(len(cards.WHOLE_DECK))).any(1)
  live = ~(on[:, hands[:, 0]] | on[:, hands[:, 1]] | np.isin(hands, other).any(1))
  dealt = np.concatenate([[other], hands])
  strength = np.concatenate([strengths(some, dealt) for some in np.split(boards, range(16, len(boards), 16))])
  mine, theirs = strength[:, 1:], strength[:, :1]
  leads = np.subtract(mine > theirs, mine < theirs, dtype=np.float32) * live
  return on.astype(np.float32), live.astype(np.float32), leads


@functools.lru_cache(maxsize=1)
def _lead(deck: cards.Board, board: cards.Board, others: tuple[cards.Board, ...]) -> np.ndarray:
  """float32[n, 1326]: the share of boards on which each hand wins against each of others, less its losses."""
  left = np.array([card for card in deck if card not in board])
  rest = left[_draws(len(left), cards.BOARD_SIZE - len(board))]
  boards = np.hstack([np.broadcast_to(np.array(board, int), (len(rest), len(board))), rest])
  numbers = set_numbers(np.array(others))
  total, count = np.zeros((2, len(others), len(cards.ALL_HANDS)), np.int16)
  for some in np.split(boards, range(16, len(boards), 16)):
    on = (some[:, :, None] == np.arange(len(cards.WHOLE_DECK))).any(1)
    live = ~on[:, cards.ALL_HANDS].any(2)
    for strength, free in zip(strengths(some, cards.ALL_HANDS), live, strict=True):
      other, both = strength[numbers, None], free[numbers, None] & free
      total += both * np.subtract(strength > other, strength < other, dtype=np.int8)
      count += both
  return total / np.maximum(count, 1).astype(np.float32)


@functools.cache
def _draws(count: int, missing: int) -> np.ndarray:
  """int[_BOARDS, missing]: places of cards among `count`, different in each row."""
  return np.random.default_rng(0).random((_BOARDS, count)).argsort(1)[:, :missing]


class HoldemState(PokerState):
  """A history: the cards dealt and the place in the betting; see `base.State`."""

  public_state: betting.BettingState  #: the place in the betting
  many_legal = "0 and 1, if there is a bet to answer, and the chips from the least raise to all-in"

  def __init__(self, game: HoldemGame):
    super().__init__(game)
    self.cards: cards.Board = ()  #: those dealt so far, in order: of player 0, of player 1, of the board
    self.public_state = game.rules.root

  def hole(self, player: int) -> list[int]:
    """The cards dealt to `player` so far."""
    start = player * cards.HAND_SIZE
    return list(self.cards[start : min(start + cards.HAND_SIZE, _HOLE)])

  @property
  def hands(self) -> tuple[list[int], ...]:
    """The hands that are dealt."""
    return tuple(self.hole(player) for player in range(len(self.cards[:_HOLE]) // cards.HAND_SIZE))

  @property
  def runout(self) -> cards.Board:
    """The public cards dealt so far, in order."""
    return self.cards[_HOLE:]

  def board_by_street(self) -> list[cards.Board]:
    """The cards of flop, turn and river dealt so far, each ascending."""
    came = (self.runout[start:end] for start, end in itertools.pairwise(cards.BOARD_SIZES))
    return [tuple(sorted(some)) for some in came if some]

  @property
  def line(self) -> str:
    """The bets and public cards so far, "c x | 5s7c9s | b200", or the next deal."""
    if not self._dealt:
      return _TURNS[len(self.hands)]
    names = list(map(cards.card_names, self.board_by_street()))
    template, street = self.public_state.line, self.public_state.street
    return join(template.format(*names[:street]), *names[street:])

  @property
  def _dealt(self) -> bool:
    return len(self.cards) >= _HOLE

  def bet_sizes(self) -> dict[int, float]:
    """See `HoldemSubgameState.bet_sizes`."""
    public = self.public_state
    return betting.sizes_in_pots(self.get_game().rules.moves(public), max(public.spent))

  def _legal_actions(self, player: int) -> list[int]:
    return list(self.get_game().rules.moves(self.public_state))

  def chance_outcomes(self) -> list[tuple[int, float]]:
    live = self.live_cards()
    place = self.get_game().deck.index
    return [(place(card), 1 / len(live)) for card in live]

  def _apply_action(self, action: int) -> None:
    """Deal a card or bets; raises ValueError if illegal, which OpenSpiel does not check."""
    game, public = self.get_game(), self.public_state
    if self.current_player() >= 0:
      after = game.rules.after(public, action)
    else:
      if not (0 <= action < len(game.deck) and game.deck[action] not in self.cards):
        self.check_legal(action)  # which raises
      self.cards += (game.deck[action],)
      whole = public.player == betting.CHANCE and len(self.runout) == cards.BOARD_SIZES[public.street + 1]
      after = game.rules.after(public, betting.ANY_CARD) if whole else public
    if after is None:
      self.check_legal(action)  # which raises
    else:
      self.public_state = after

  def _action_to_string(self, player: int, action: int) -> str:
    game = self.get_game()
    if player == CHANCE:
      return f"Deal {cards.card_names([game.deck[action]])}"
    after = game.rules.after(self.public_state, action)
    return after.label if after is not None else f"Illegal {action}"


base.register(HoldemGame, HoldemState, HoldemObserver)
