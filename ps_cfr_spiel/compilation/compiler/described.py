"""Games of OpenSpiel whose forms are written down here: too large to enumerate, they are compiled from these.

`form_of` finds the form of any game: the game's own, or one from `DESCRIBED` by the game's name and
parameters. A game that is small enough is enumerated.
"""

import functools
import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyspiel

from ps_cfr_spiel.arguments import declared
from ps_cfr_spiel.cards.poker import (
  BayesianForm,
  Betting,
  CardGame,
  card_sets,
  cards_of,
  is_by_name,
  read_card_game,
)
from ps_cfr_spiel.compilation.histories import past_remark, remembered
from ps_cfr_spiel.tree import CHANCE, TERMINAL, LazySequence, information_state_string

WALKED = 500_000  # histories; up to this number, a second or two, a described game is enumerated
BOARDS = 100_000  # with five cards in a deck of hold'em that is compiled
SHOWN = 2  # rounds; of later public cards the strings of poker games forget the order
PRIVATE, PUBLIC, CARDS = map(
  re.compile, (r"\[Private: ([^\]]*)\]", r"\[Public: ([^\]]*)\]", r"\[(Private|Public): [^\]]*\]")
)


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
    if missing := form.missing():
      raise TypeError(
        f"{type(game).__name__}.bayesian_form() lacks {', '.join(missing)}; a form has all of "
        f"{', '.join(form.NEEDED)}. Set them as ps_cfr_spiel.cards.poker.BayesianForm describes them."
      )
    return form
  form = describe(game)
  return form if form is not None and form.histories > WALKED else None


def describe(game: pyspiel.Game) -> Any:
  """The form from `DESCRIBED`, for a game of any size; None without, or for other parameters."""
  make = DESCRIBED.get(game.get_type().short_name) if isinstance(game, pyspiel.Game) else None
  return None if make is None or not is_by_name(game) else make(game)


class LiarsDiceForm(BayesianForm):
  """Liar's dice of two: both roll dice in secret, then they bid in turn until one calls the other a liar.

  There are K bids, each higher than the one before, so the public states after bids are the sets of bids. As
  a number, a set is the sum of 2^bid; 2^K + n - 1 is the end after the bids n. A call contests
  the last bid: that enough dice show its face, the highest face counting as any. With player 0's dice alone
  as the strength of a type, and those that player 1 lacks as the strength of the other, this is a showdown.

  Attributes:
    bids: K.
    histories: the number of histories that an enumeration would visit.
    size: N.
  """

  advice = "Use fewer dice or fewer faces"

  def __init__(self, dice: int, sides: int, names: Sequence[str]):
    """The form for `dice` of each player, by the bids' names, such as "2-1" for two dice that show 1."""
    self.bids, self._bid_names = len(names), list(names)
    hands = list(itertools.combinations_with_replacement(range(sides), dice))
    self.size = 2 ** (self.bids + 1) - 1
    rolls = [sides**n for n in range(2 * dice + 1)]
    self.histories = sum(rolls[:-1]) + rolls[-1] * self.size
    ways = [math.factorial(dice) / math.prod(map(math.factorial, Counter(hand).values())) for hand in hands]
    texts = ["".join(str(face + 1) for face in hand) for hand in hands]
    types, weights = tuple(texts), np.array(ways)
    self.types, self.weights, self.deals = (types, types), (weights, weights), (hands, hands)
    number = np.arange(len(hands))
    first, second = (np.stack([number, number], 1) + k * len(hands) for k in (0, 1))  # no card is shared
    self.cards = (first.astype(np.int32), second.astype(np.int32))
    bids = np.array([[int(part) for part in name.split("-")] for name in names])
    shown = np.array([[(face in (bid, sides - 1)) for face in range(sides)] for bid in bids[:, 1] - 1])
    counts = np.array([[hand.count(face) for face in range(sides)] for hand in hands])
    showing = shown.astype(int) @ counts.T  # [K, H]
    # 2 found0 > 2 (quantity - found1) - 1 if the bid is true; they are never equal.
    self.strength = ((2 * showing).astype(np.int32), (2 * (bids[:, :1] - showing) - 1).astype(np.int32))

  @property
  def decisions(self) -> int:
    """The number of public states in which a player acts."""
    return 2**self.bids

  @functools.cached_property
  def _last(self) -> np.ndarray:
    """int32[2^K]: the last bid of each set, -1 of the empty one."""
    last = np.full(self.decisions, -1, np.int32)
    for bid in range(self.bids):
      last[1 << bid : 2 << bid] = bid
    return last

  @functools.cached_property
  def betting(self) -> Betting:
    number, last = np.arange(1, self.decisions), self._last[1:].astype(np.int64)
    ends, none = self.decisions - 1, np.zeros(self.decisions)
    return Betting.create(
      parent=np.concatenate([[-1], number - (1 << last), number]),
      action=np.append(self._last, np.full(ends, self.bids)),  # the call is the action after all bids
      player=np.append(self._turn, np.full(ends, TERMINAL)),
      fold_payoff=np.zeros(self.size),
      # Player 0 wins by a true bid of their own, and player 1 by one of theirs.
      showdown_payoff=np.append(none, 2.0 * self._turn[1:] - 1),
      showdown_index=np.append(none, self._last[1:]),
    )

  @functools.cached_property
  def _turn(self) -> np.ndarray:
    turn = np.zeros(self.decisions, np.int32)
    for bid in range(self.bids):
      turn[1 << bid : 2 << bid] = 1 - turn[: 1 << bid]
    return turn

  @functools.cached_property
  def infostates(self) -> Sequence[Sequence[str]]:
    return LazySequence(self.size, self._names)

  def _names(self, state: int) -> tuple[str, ...]:
    if state >= self.decisions:
      return ()
    said = "".join(f" {name}" for bid, name in enumerate(self._bid_names) if state >> bid & 1)
    return tuple(dice + said for dice in self.types[0])

  @functools.cached_property
  def _numbers(self) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """The numbers of types and of bids by their names."""
    return {name: h for h, name in enumerate(self.types[0])}, {n: b for b, n in enumerate(self._bid_names)}

  def find(self, player: int, infostate: str) -> tuple[int, tuple[int, ...], int]:
    """See `BayesianForm`."""
    types, bids = self._numbers
    dice, *said = infostate.split(" ")
    state, h = sum(1 << bids[name] for name in said), types[dice]
    known = state < self.decisions and self._turn[state] == player and self._names(state)[h] == infostate
    if not known:
      raise ValueError(f"No information state of player {player}: {infostate!r}.")
    return state, (), h


class DealtCardsForm(BayesianForm):
  """Poker of two whose hands are dealt first, with public cards before each later round.

  Betting does not depend on the cards (`poker.CardGame`), and a showdown is won by the better hand. Strings
  of infostates are the game's own, of states that are dealt and played on request; after two public cards
  they forget the order of these, and infostates are the players' pasts, as in an enumeration.

  Attributes:
    histories: about the number that an enumeration would visit.
    size: the number of public states.
  """

  advice = "Use fewer cards, rounds or raises"

  deals: tuple[list[list[int]], list[list[int]]]
  named: Callable[[Any, int], str]

  def __init__(self, game: pyspiel.Game, card_game: CardGame):
    self._game, self._deal, deck = game, card_game.deal, card_game.deal.deck.size
    self.betting, deal = card_game.betting, card_game.deal
    hands = card_sets(deck, deal.hole)
    self.live = deck - 2 * deal.hole
    of_street = np.bincount(self.betting.street, minlength=len(deal.public)).tolist()
    pairs = len(hands) * math.comb(deck - deal.hole, deal.hole)
    self.size = sum(n * boards for n, boards in zip(of_street, _boards(deck, deal.public), strict=True))
    orders = [math.perm(self.live, came) for came in np.cumsum(deal.public).tolist()]  # card by card
    self.histories = 1 + pairs * sum(n * ways for n, ways in zip(of_street, orders, strict=True))
    types, weights = tuple(deal.deck.names(hand) for hand in hands), np.ones(len(hands))
    self.types, self.weights, self.deals = (types, types), (weights, weights), (hands.tolist(),) * 2
    dummies = (np.full((len(hands), 2 - deal.hole), deck + player) for player in (0, 1))
    first, second = (np.concatenate([hands, dummy], 1).astype(np.int32) for dummy in dummies)
    self.cards = (first, second)
    forgets = len(deal.public) > SHOWN
    self.named = remembered if forgets else information_state_string
    self.remarks = {"infostates": past_remark(game)} if forgets else {}

  @functools.cached_property
  def runouts(self) -> tuple[np.ndarray, ...]:
    dealt = [np.zeros((1, 0), np.int32)]
    for count in self._deal.public[1:]:
      sets = card_sets(self._deal.deck.size, count)
      free = ~(dealt[-1][:, None, :, None] == sets[None, :, None, :]).any((2, 3))
      before, new = np.nonzero(free)
      dealt.append(np.concatenate([dealt[-1][before], sets[new]], 1))
    return tuple(dealt)

  def strengths(self) -> tuple[np.ndarray, np.ndarray]:
    both = self._deal.strengths(self.runouts[-1])
    return both, both

  def infostate(self, line: int, runout: Sequence[int], type_index: int) -> str:
    betting, hands = self.betting, self.deals[0]
    player = int(betting.player[line])
    hand_dealt, taken = hands[type_index], {*hands[type_index], *runout}
    other = next(hand for hand in hands if taken.isdisjoint(hand))
    state, moves, cards = self._game.new_initial_state(), [], list(runout)
    while betting.parent[line] >= 0:
      above = int(betting.parent[line])
      dealt = self._deal.public[betting.street[line]] if betting.player[above] == CHANCE else 0
      moves += [cards.pop() for _ in range(dealt)] or [int(betting.action[line])]
      line = above
    for action in [*(hand_dealt + other if player == 0 else other + hand_dealt), *moves[::-1]]:
      state.apply_action(int(action))
    return self.named(state, player)

  @functools.cached_property
  def _keys(self) -> tuple[Mapping[tuple[int, str], int], Mapping[str, int], Mapping[str, int]]:
    """The lines by player and the last string without cards, and the types and cards by their texts."""
    lines, betting = {}, self.betting
    for line in np.flatnonzero(betting.player >= 0).tolist():
      cards = [c for c in range(self._deal.deck.size) if c not in self.deals[0][0]][: betting.street[line]]
      name = self.infostate(line, cards, 0)
      lines[int(betting.player[line]), CARDS.sub("", name.split("\n")[-1])] = line
    first = int(np.flatnonzero(betting.player >= 0)[0])
    private = {_shown(self.infostate(first, (), h), PRIVATE)[0]: h for h in range(len(self.types[0]))}
    then = next(int(line) for line in np.flatnonzero((betting.player >= 0) & (betting.street == 1)))
    public = {}
    for card in range(self._deal.deck.size):
      h = next(h for h, hand in enumerate(self.deals[0]) if card not in hand)
      public[_shown(self.infostate(then, (card,), h), PUBLIC)[-1]] = card
    return lines, private, public

  def find(self, player: int, infostate: str) -> tuple[int, tuple[int, ...], int]:
    lines, private, public = self._keys
    line = lines[player, CARDS.sub("", infostate.split("\n")[-1])]
    runout, seen = [], ""
    for text in _shown(infostate, PUBLIC):
      if text != seen:
        seen, new = text, text
        for name in (name for name, card in public.items() if card in runout):
          new = new.replace(name, "", 1)
        runout.append(public[new])
    h = private[_shown(infostate, PRIVATE)[0]]
    if len(runout) != self.betting.street[line] or {*runout} & {*self.deals[0][h]}:
      raise ValueError("a hand with a card of the board")
    if self.infostate(line, runout, h) != infostate:
      raise ValueError("another string")
    return line, tuple(runout), h


class HoldemForm(DealtCardsForm):
  """The whole of hold'em in a small deck; infostates have the game's own names."""

  def __init__(self, game: pyspiel.Game, card_game: CardGame):
    super().__init__(game, card_game)
    types = tuple(self._deal.deck.names(hand[::-1]) for hand in self.deals[0])
    self.types, self.named, self.remarks = (types, types), information_state_string, {}

  @functools.cached_property
  def _lines(self) -> Mapping[tuple[int, tuple[str, ...]], int]:
    """The lines by player and the moves on each street."""
    lines, betting = {}, self.betting
    for line in np.flatnonzero(betting.player >= 0).tolist():
      cards = self.runouts[betting.street[line]][0].tolist()
      h = next(h for h, hand in enumerate(self.deals[0]) if {*hand}.isdisjoint(cards))
      lines[int(betting.player[line]), tuple(self.infostate(line, cards, h).split(" | ")[2::2])] = line
    return lines

  def find(self, player: int, infostate: str) -> tuple[int, tuple[int, ...], int]:
    """See `BayesianForm`."""
    private, *public = infostate.split(" | ")
    line, runout = self._lines[player, tuple(public[1::2])], self._deal.deck.find("".join(public[2::2]))
    h = self.types[player].index(private.partition(" ")[2])
    if {*runout} & {*self.deals[0][h]} or self.infostate(line, runout, h) != infostate:
      raise ValueError("another string")
    return line, runout, h


def _boards(cards: int, public: Sequence[int]) -> list[int]:
  """The ways in which public cards may come out of some cards up to each round."""
  left = (cards - np.cumsum([0, *public])).tolist()
  return np.cumprod([math.comb(n, count) for n, count in zip(left, public, strict=False)]).tolist()


def _shown(name: str, pattern: re.Pattern[str]) -> list[str]:
  """The texts of cards in an infostate's name, in order, without empty ones; [""] without cards."""
  return [text for text in pattern.findall(name) if text] or [""]


def _dealt_cards(game: pyspiel.Game) -> DealtCardsForm | None:
  """The form, or None for other cards."""
  try:
    _, _, public = cards_of(game)
    if public[0] or not public[1:] or {*public[1:]} != {1}:
      return None
    card_game = read_card_game(game)
  except ValueError:
    return None
  return DealtCardsForm(game, card_game)


def _holdem(game: pyspiel.Game) -> HoldemForm | None:
  """The form; None for a deck with too many boards, or for bets of any size."""
  try:
    deck, _, public = cards_of(game)
    fits = _boards(deck.size, public)[-1] <= BOARDS
    return HoldemForm(game, read_card_game(game)) if fits else None
  except ValueError:
    return None


def _liars_dice(game: pyspiel.Game) -> LiarsDiceForm:
  given = game.get_parameters()
  state = game.new_initial_state()
  while state.is_chance_node():
    state.apply_action(0)
  names = [state.action_to_string(bid) for bid in state.legal_actions()]
  return LiarsDiceForm(given["numdice"], given["dice_sides"], names)


DESCRIBED: Mapping[str, Callable[[Any], Any]] = {
  "liars_dice": _liars_dice,
  "holdem": _holdem,
  "leduc_poker": _dealt_cards,
  "universal_poker": _dealt_cards,
}
