"""Hold'em subgame: heads-up no-limit Texas hold'em from a flop, turn or river to the showdown.

Three, four or five board cards are out and each player has put half of the pot in. Chance deals a hand to
player 0 and then one to player 1, each pair of hands that share no card with probability proportional to the
product of its weights in the two ranges. Then the players bet, player 0 first, with the bet sizes of an
abstraction (`betting.betting_states`). After each street a public card comes, any card that is on no board
and in no hand with equal probability (1/44 for a river), until there are five and the betting on them is
over. A fold gives the pot to the other player, else the better hand wins it and equal hands split it; hands
are not shown. After a called all-in the cards still come, and no player acts. Returns are chips, or units
of several chips, won or lost since the hand began: to fold at once against a bet loses half of the pot.

Rules: Schmid (2021), Search in Imperfect Information Games, Section 12.3 (no-limit hold'em) and
Table 21.2 (bet abstractions). With five board cards it is `river_subgame`.

Parameters (`ValueError` for any other value):
  board: Three, four or five different cards, "9s7c5s4h".
  pot: Chips in the pot, positive and even.
  stack: Chips that each player began the hand with, half of the pot included. With half of the pot
    and no more both players are all-in already and can only check.
  bets: Bet sizes: "fcpa" (pot and all-in), or fractions of the pot and "a" for all-in, "50% 100% a" or
    "0.5 1 a", with ";" between those of the first, second and later bets, "0.5 1 a;1 a", "|" between those
    of player 0 and of player 1, "0.5 1 a | 0.33 a", and "/" between streets, of which the last counts for
    all later ones, "0.5 1 a | 0.33 a / fcpa" (`notation.bet_sizes`).
  ranges: "uniform" (all hands), or player 0's range, ";", player 1's, "AA KQs 76s:0.5;TT+ AsKd"; an
    empty side means all hands (`notation.hand_ranges`).
  deck: Ranks x suits, "13x4"; "6x2" are the cards from 2c to 7d. A public card's chance action is its place
    in the deck. Small decks make games that can be enumerated history by history.
  unit: Chips in the unit of actions' names and returns, 1: with 100, a pot of 550 is one of 5.5 big blinds.
  rake: Share of the pot that the card room takes from the winner, or half from either where they split it,
    "5%": from 0% to below 100% (`rake.Rake`). A game with rake is of general sum.
  cap: Most chips that are raked; 0 for no cap.

OpenSpiel's own `universal_poker` with a board is the same game when its blinds are half of
the pot each. When they do not add up to its `potSize`, it pays folds by `potSize` but showdowns by
the blinds, so it cannot serve as a reference for subgames in general.
"""

import functools
import itertools
import weakref
from collections.abc import Iterator

import numpy as np

from ps_cfr_spiel.cards.notation import size_text
from ps_cfr_spiel.cards.poker import (
  Betting,
  CardDeal,
  CardGame,
  HoldemNames,
  betting,
  cards,
  for_game_string,
  parse_rake,
  strengths,
  with_rake,
)

from .. import base
from ..base import CHANCE, join
from .observer import NUM_PLAYERS, HoldemSubgameObserver, PokerState, PokerTable

_BOARD_SIZES = (3, 4, 5)
DEFAULTS = {
  "board": "9s7c5s4h",
  "pot": 200,
  "stack": 20000,
  "bets": "fcpa",
  "ranges": "uniform",
  "deck": "13x4",
  "unit": 1,
  "rake": "0%",
  "cap": 0,
}


class RangesOnBoard:
  """The deal of a subgame: all that does not depend on pot, stack and bets."""

  def __init__(self, text: str, board: cards.Board, deck: cards.Board):
    """The ranges of a text as of `cards.parse_ranges`; ValueError as there."""
    self.deck, self.board = deck, board  #: as given
    #: ranges, disjoint: as of `HoldemSubgameGame`.
    self.ranges, self.disjoint = cards.parse_ranges(text, board, deck)
    first, second = self.ranges
    self.first_weights = first.weights * (self.disjoint @ second.weights)  #: float64[H0]

  @classmethod
  def of(cls, text: str, board: cards.Board, deck: cards.Board) -> "RangesOnBoard":
    """The same for all games with these ranges, board and deck, as long as one of them is in use."""
    if (dealt := _in_use.get((text, board, deck))) is None:
      dealt = _in_use[text, board, deck] = cls(text, board, deck)
    return dealt

  @functools.cached_property
  def deal(self) -> CardDeal:
    """The hands and the public cards to come."""
    return CardDeal.of_ranges(self.deck, self.board, self.ranges, (0, *[1] * self._to_come))

  @functools.cached_property
  def can_win(self) -> bool:
    """True if one of two hands may beat the other after some cards."""
    return any(map(self._hands_differ, self.runouts(self._to_come)))

  def runouts(self, count: int) -> Iterator[cards.Board]:
    """See `HoldemSubgameGame.runouts`."""
    return itertools.permutations([card for card in self.deck if card not in self.board], count)

  @property
  def _to_come(self) -> int:
    return cards.BOARD_SIZE - len(self.board)

  def _hands_differ(self, runout: cards.Board) -> bool:
    """True if one of two hands may beat the other after these cards."""
    alive = [~np.isin(hands.cards, runout).any(axis=1) for hands in self.ranges]
    first, second = (strengths(np.array(self.board + runout), hands.cards) for hands in self.ranges)
    return bool((self.disjoint & np.logical_and.outer(*alive) & (first[:, None] != second)).any())


_in_use = weakref.WeakValueDictionary[tuple[str, cards.Board, cards.Board], RangesOnBoard]()


class HoldemSubgameGame(PokerTable):
  """The game; see `base.Game`."""

  game_type = base.game_type("holdem_subgame", "Subgame of Texas Hold'em", DEFAULTS)
  defaults = DEFAULTS
  board_sizes = _BOARD_SIZES

  def __init__(self, params: base.Parameters | None = None):
    params = with_rake(for_game_string({**self.defaults, **(params or {})}))
    deck = cards.parse_deck(params.get("deck", DEFAULTS["deck"]))
    board = cards.parse_board(params["board"], self.board_sizes, deck)
    to_come = cards.BOARD_SIZE - len(board)
    bets = betting.parse_bets(params["bets"], to_come + 1)
    rake = parse_rake(params.get("rake", DEFAULTS["rake"]), params.get("cap", 0))
    public_states = betting.betting_states(params["pot"], params["stack"], bets, params["unit"], rake)
    self._ranges = dealt = RangesOnBoard.of(params["ranges"], board, deck)
    ranges = dealt.ranges
    self.deck = deck  #: all cards, ascending
    self.board = board  #: the cards at the root
    self.cards_to_come = to_come  #: the number of public cards dealt before the showdown
    #: the hands of each player, by the chance action that deals them; that of a public card is the card.
    self.ranges = ranges
    self.disjoint = dealt.disjoint  #: bool[H0, H1], whether the two hands can be dealt together
    self.public_states = public_states  #: the betting tree
    #: the number of each line in it.
    self.line_numbers = {state.line: number for number, state in enumerate(public_states)}
    can_win = dealt.can_win  # only a showdown that a player can win pays
    most = max(max(state.fold_payoff) + float(can_win) * state.showdown_payoff for state in public_states)
    least = min(min(state.fold_payoff) - float(can_win) * state.showdown_payoff for state in public_states)
    hands = max(len(hands.numbers) for hands in ranges)  # names take 30 ms
    super().__init__(
      params,
      actions=betting.num_actions(bets),
      outcomes=max(hands, len(deck)) if to_come else hands,
      length=max(betting.num_moves(state.line) for state in public_states),
      most=most,
      least=least if rake.share else None,
    )
    self.unit = params["unit"]
    ante = params["pot"] // 2
    #: the rules of the betting.
    self.rules = betting.BettingRules(bets, params["stack"], self.unit, (ante, ante), ante, rake=rake)
    pot, stack = (betting.amount_text(params[name], params["unit"]) for name in ("pot", "stack"))
    #: the beginning of every public string.
    self.header = f"{cards.card_names(board)} pot {pot} stack {stack}"
    #: the possible next events, in words.
    self.turns = ("deal p0", "deal p1", "p0 to act", "p1 to act", *["deal card"] * bool(to_come), "end")

  def max_chance_nodes_in_history(self) -> int:
    """A deal to each player and the cards to come; OpenSpiel's default is the number of decisions."""
    return NUM_PLAYERS + self.cards_to_come

  def deal_weights(self, hands: tuple[int, ...]) -> np.ndarray:
    """float64[H0], or [H1] after player 0's hand: unnormalised probabilities of the deal.

    Player 0's hands are weighed by the compatible hands of player 1, so that the product of both
    deals is the joint prior.
    """
    return self.ranges[1].weights * self.disjoint[hands[0]] if hands else self._ranges.first_weights

  def runouts(self, count: int) -> Iterator[cards.Board]:
    """The next `count` public cards, in every order in which they may come, ascending."""
    return self._ranges.runouts(count)

  def line(self, node: int, runout: cards.Board) -> str:
    """The bets and cards between the deal and a public state, "x x | 2c | b200"."""
    return self.public_states[node].line.format(*(cards.card_names([card]) for card in runout))

  def infostate_string(self, player: int, hand: str, line: str) -> str:
    """Written as "p0 AsKd | 9s7c5s4h pot 200 stack 20000 | x x | 2c | b200"."""
    return join(f"p{player} {hand}", self.header, line)

  def left_out(self) -> str:
    """The bet sizes that fit nowhere in the betting tree, in words; "" if all do, or no chips are behind."""
    root = self.public_states[0]
    behind = (self.rules.stack - root.ante) / (2 * root.ante)
    sizes = betting.left_out(self.public_states, self.rules) if behind else []
    none = not any(state.num_bets for state in self.public_states)
    words = f"no bet of {' or '.join(map(size_text, sizes))} fits, with {behind:.3g} pots behind"
    return f"{words}{', so neither player can bet' * none}" if sizes else ""

  def lines(self) -> list[str]:
    """The text of each line of betting, as `BettingState.line`."""
    return [state.line for state in self.public_states]

  def bayesian_form(self) -> CardGame:
    """The game as a card game, without visiting its histories."""
    remarks = {"left out": text} if (text := self.left_out()) else {}
    deal = self._ranges.deal
    names = HoldemNames(self.header, self.lines, deal, remarks)
    return CardGame(Betting.of_states(self.public_states, self.unit), deal, names, self)


class HoldemSubgameState(PokerState):
  """A history: the cards dealt and the place in the betting tree; see `base.State`."""

  def __init__(self, game: HoldemSubgameGame):
    super().__init__(game)
    self.hands: tuple[int, ...] = ()  #: indices, in the game's ranges, of the hands dealt so far
    self.node = 0  #: index of the public state

  @property
  def public_state(self) -> betting.BettingState:
    """The place in the betting tree."""
    return self.get_game().public_states[self.node]

  @property
  def line(self) -> str:
    """The bets and public cards so far, "x b200 c | 2c", or which deal comes next."""
    game = self.get_game()
    return game.line(self.node, self.runout) if self._dealt else game.turns[len(self.hands)]

  @property
  def moves(self) -> list[int]:
    """The players' actions so far."""
    actions, state, states = [], self.public_state, self.get_game().public_states
    while state.parent >= 0:
      actions += [state.action] * (state.action != betting.ANY_CARD)
      state = states[state.parent]
    return actions[::-1]

  @property
  def _dealt(self) -> bool:
    return len(self.hands) == NUM_PLAYERS

  def hole(self, player: int) -> list[int]:
    """The cards of the hand of `player`, none before it is dealt."""
    dealt = player < len(self.hands)
    return self.get_game().ranges[player].cards[self.hands[player]].tolist() if dealt else []

  def bet_sizes(self) -> dict[int, float]:
    """The legal actions but a fold: what each adds after calling, over the pot after the call; 0 for a call.

    For `ps_cfr_spiel.abstractions.Translation`.
    """
    states, public = self.get_game().public_states, self.public_state
    chips = {action: max(states[child].spent) for action, child in public.children.items()}
    return betting.sizes_in_pots(chips, max(public.spent))

  def _legal_actions(self, player: int) -> list[int]:
    return list(self.public_state.children)

  def chance_outcomes(self) -> list[tuple[int, float]]:
    if self._dealt:
      live = self.live_cards()
      return [(self.get_game().deck.index(card), 1 / len(live)) for card in live]
    weights = self.get_game().deal_weights(self.hands)
    (hands,) = weights.nonzero()
    return list(zip(hands.tolist(), (weights[hands] / weights.sum()).tolist(), strict=True))

  def _apply_action(self, action: int) -> None:
    """Deal a hand or a card, or bets; raises ValueError if illegal, which OpenSpiel does not check."""
    if self._dealt and self.public_state.player == betting.CHANCE:
      deck, live = self.get_game().deck, self.live_cards()
      if not (0 <= action < len(deck) and deck[action] in live):
        legal = list(map(deck.index, live))
        raise ValueError(f"illegal action {action} at {self}; legal are the cards {legal}")
      self.node, self.runout = self.public_state.children[betting.ANY_CARD], (*self.runout, deck[action])
    elif self._dealt:
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
    game = self.get_game()
    if player == CHANCE:
      dealt = (
        cards.card_names([game.deck[action]]) if self._dealt else game.ranges[len(self.hands)].names[action]
      )
      return f"Deal {dealt}"
    return game.public_states[self.public_state.children[action]].label


base.register(HoldemSubgameGame, HoldemSubgameState, HoldemSubgameObserver)
