"""Games of OpenSpiel whose forms are written down here: too large to enumerate, they are compiled from these.

`form_of` finds the form of any game: the game's own, or one from `DESCRIBED` by the game's name and
parameters. A game that is small enough is enumerated.
"""

import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyspiel

from ps_cfr_spiel.arguments import declared
from ps_cfr_spiel.cards.poker import (
  BayesianForm,
  Betting,
  CardDeal,
  CardGame,
  Deal,
  Names,
  StateNames,
  cards_of,
  is_by_name,
  read_card_game,
)
from ps_cfr_spiel.compilation.compiler.line_games import End, LineGame, LineRules, ListedLines
from ps_cfr_spiel.compilation.histories import past_remark, remembered
from ps_cfr_spiel.memory import LINE, check_needs
from ps_cfr_spiel.tree import TERMINAL

WALKED = 500_000  # histories; up to this number, a second or two, a described game is enumerated
SMALL = ("kuhn_poker", "leduc_poker")  # described games with fewer histories, whatever their parameters
BOARDS = 100_000  # with five cards in a deck of hold'em that is compiled
LIARS_DICE = "liars_dice"
SHOWN = 2  # rounds; of later public cards the strings of poker games forget the order


def form_of(game: pyspiel.Game) -> BayesianForm | None:
  """The form of a game, or None for a game to be enumerated.

  The form must be of the game's own class: one that derives from it may have other rules (`declared`).
  """
  if (describes := declared(game, "bayesian_form")) is not None:
    form = describes()
    if not isinstance(form, BayesianForm):
      raise TypeError(
        f"{type(game).__name__}.bayesian_form() must return an object of a class that derives from "
        f"ps_cfr_spiel.cards.poker.BayesianForm, got {form!r}."
      )
    if not isinstance(form, CardGame) and (missing := form.missing()):
      raise TypeError(
        f"{type(game).__name__}.bayesian_form() lacks {', '.join(missing)}; a form has all of "
        f"{', '.join(form.NEEDED)}. Set them as ps_cfr_spiel.cards.poker.BayesianForm describes them."
      )
    return form
  if isinstance(game, pyspiel.Game) and game.get_type().short_name in SMALL:
    return None
  form = describe(game)
  return form if form is not None and form.histories > WALKED else None


def describe(game: pyspiel.Game) -> CardGame[Any] | None:
  """The form from `DESCRIBED`, for a game of any size; None without, or for other parameters."""
  make = DESCRIBED.get(game.get_type().short_name) if isinstance(game, pyspiel.Game) else None
  return None if make is None or not is_by_name(game) else make(game)


class DiceDeal(Deal):
  """The dice of liar's dice for two: a hand is a player's secret roll.

  A showdown is a call, which contests the last bid: that enough dice show its face, the highest face
  counting as any. With player 0's dice alone as the strength of a hand, and those that player 1 lacks as the
  strength of the other, the stronger hand wins. So each of the K bids is a showdown of its own.
  """

  def __init__(self, dice: int, sides: int, bids: np.ndarray):
    """`dice` of each player, and the bids, int[K, 2]: how many dice, and the face, from 1."""
    self._dice, self._sides, self._bids = dice, sides, bids
    hands = list(itertools.combinations_with_replacement(range(sides), dice))
    ways = [math.factorial(dice) / math.prod(map(math.factorial, Counter(hand).values())) for hand in hands]
    self.weights, self.hands, self.actions = np.tile(ways, (2, 1)), hands, hands
    self.held = np.arange(len(hands)), np.arange(len(hands))
    number = np.stack([np.arange(len(hands), dtype=np.int32)] * 2, 1)
    self.cards = number, number + np.int32(len(hands))  # no hand keeps another from the other player

  def showdowns(self, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """See `Deal`."""
    faces = range(self._sides)
    shown = np.array([[face in (bid, self._sides - 1) for face in faces] for bid in self._bids[:, 1] - 1])
    counts = np.array([[hand.count(face) for face in faces] for hand in self.hands])
    showing = shown.astype(int) @ counts.T  # [K, H]
    # 2 found0 > 2 (quantity - found1) - 1 if the bid is true; they are never equal.
    lacking = 2 * (self._bids[:, :1] - showing) - 1
    return (2 * showing)[:, first].astype(np.int32), lacking[:, second].astype(np.int32)

  def histories(self, lines: Sequence[int]) -> int:
    """See `Deal`: the dice are rolled one by one."""
    rolls = [self._sides**n for n in range(2 * self._dice + 1)]
    return sum(rolls[:-1]) + rolls[-1] * lines[0]


class DiceNames(Names):
  """The strings of liar's dice, "12 1-1 2-2": the own dice, and the bids."""

  advice = "Use fewer dice or fewer faces"

  def __init__(self, hands: Sequence[Sequence[int]], bids: Sequence[str]):
    """Take the faces of each hand, from 0, and the names of the bids."""
    self._hands, self._bids = ["".join(str(face + 1) for face in hand) for hand in hands], bids

  def hand(self, hand: int) -> str:
    return self._hands[hand]

  def infostate(self, player: int, line: int, runout: Sequence[int], hand: int) -> str:
    return " ".join([self._hands[hand], *(name for bid, name in enumerate(self._bids) if line >> bid & 1)])

  @functools.cached_property
  def _numbers(self) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """The numbers of hands and of bids by their names."""
    return {name: h for h, name in enumerate(self._hands)}, {n: b for b, n in enumerate(self._bids)}

  def find(self, player: int, infostate: str) -> tuple[int, tuple[int, ...], int]:
    hands, bids = self._numbers
    dice, *said = infostate.split(" ")
    return sum(1 << bids[name] for name in said), (), hands[dice]


class Bids(LineRules):
  """The lines of liar's dice with K bids, numbered as by `_bidding`, which are too many to be listed."""

  largest = 1.0

  def __init__(self, bids: int):
    """Take K."""
    self._bids = bids

  def after(self, line: int, action: int) -> int:
    called = action == self._bids  # the call is the action after all bids
    return (1 << self._bids) - 1 + line if called else line | 1 << action

  def end(self, line: int) -> End:
    made = line + 1 - (1 << self._bids)
    # Player 0 wins by a true bid of their own, and player 1 by one of theirs.
    return End(0.0, 2.0 * (made.bit_count() % 2) - 1, made.bit_length() - 1)


def _bidding(bids: int) -> Betting:
  """The lines of liar's dice with K bids, each higher than the one before, so that lines are sets of bids.

  As a number, a set is the sum of 2^bid; 2^K + n - 1 is the end by a call after the bids n.
  """
  turn, last = np.zeros(1 << bids, np.int32), np.full(1 << bids, -1, np.int32)
  for bid in range(bids):
    turn[1 << bid : 2 << bid] = 1 - turn[: 1 << bid]
    last[1 << bid : 2 << bid] = bid
  number, ends, none = np.arange(1, len(last)), len(last) - 1, np.zeros(len(last))
  return Betting.create(
    parent=np.concatenate([[-1], number - (1 << last[1:].astype(np.int64)), number]),
    action=np.append(last, np.full(ends, bids)),  # the call is the action after all bids
    player=np.append(turn, np.full(ends, TERMINAL)),
    fold_payoff=np.zeros(len(last) + ends),
    showdown_payoff=np.append(none, 2.0 * turn[1:] - 1),  # as in `Bids`
    showdown_index=np.append(none, last[1:]),
  )


def _dealt_cards(game: pyspiel.Game) -> CardGame | None:
  """The game; None for other cards."""
  try:
    _, _, public = cards_of(game)
    if public[0] or {*public[1:]} - {1}:
      return None
    card_game = read_card_game(game)
  except ValueError:
    return None
  if len(public) <= SHOWN:
    return card_game
  betting, deal, past = card_game.betting, card_game.deal, {"infostates": past_remark(game)}
  return CardGame(betting, deal, StateNames(game, betting, deal, remembered, past))


def _holdem(game: pyspiel.Game) -> CardGame | None:
  """The game; None for a deck with too many boards, or for bets of any size."""
  try:
    deck, hole, public = cards_of(game)
    fits = CardDeal.create(deck, hole, public).boards[-1] <= BOARDS
    return read_card_game(game) if fits else None
  except ValueError:
    return None


def _liars_dice(game: pyspiel.Game) -> CardGame:
  """The game; TooLarge where its lines of bids would not fit into memory."""
  deal, names, count = _dice(game)
  needs = {"for the public tree": LINE * (2 ** (count + 1) - 1)}
  check_needs(str(game), needs, None, DiceNames.advice)  # before the lines are made
  return CardGame(_bidding(count), deal, names)


def _dice(game: pyspiel.Game) -> tuple[DiceDeal, DiceNames, int]:
  """The deal, the names, and the number of bids of liar's dice."""
  given = game.get_parameters()
  state = game.new_initial_state()
  while state.is_chance_node():
    state.apply_action(0)
  bids = [state.action_to_string(bid) for bid in state.legal_actions()]
  numbers = np.array([[int(part) for part in name.split("-")] for name in bids])
  deal = DiceDeal(given["numdice"], given["dice_sides"], numbers)
  return deal, DiceNames(deal.hands, bids), len(bids)


def line_game(game: pyspiel.Game) -> LineGame | None:
  """The lines of a card game for two, of any size; None with public cards, rake or without a form."""
  if isinstance(game, pyspiel.Game) and game.get_type().short_name == LIARS_DICE:
    deal, names, count = _dice(game)
    return LineGame(Bids(count), deal, names)
  form = form_of(game) or describe(game)
  if not isinstance(form, CardGame) or len(form.deal.boards) > 1 or not form.betting.zero_sum:
    return None
  return LineGame(ListedLines(form.betting), form.deal, form.names)


DESCRIBED: Mapping[str, Callable[[Any], Any]] = {
  LIARS_DICE: _liars_dice,
  "holdem": _holdem,
  "kuhn_poker": _dealt_cards,
  "leduc_poker": _dealt_cards,
  "universal_poker": _dealt_cards,
}
