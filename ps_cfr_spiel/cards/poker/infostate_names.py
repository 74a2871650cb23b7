"""The infostate strings of card games: by playing a game's states, or as those of hold'em are written."""

import functools
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyspiel

from ps_cfr_spiel.cards.poker.betting import CHANCE
from ps_cfr_spiel.cards.poker.betting_lines import Betting
from ps_cfr_spiel.cards.poker.card_game import Names
from ps_cfr_spiel.cards.poker.deals import CardDeal

ADVICE = "Use fewer cards, rounds or raises"
PRIVATE, PUBLIC, CARDS = map(
  re.compile, (r"\[Private: ([^\]]*)\]", r"\[Public: ([^\]]*)\]", r"\[(Private|Public): [^\]]*\]")
)


class StateNames(Names):
  """The strings of OpenSpiel's poker games, of states that are dealt and played on request.

  `find` takes strings of games with one public card before each later round.
  """

  advice = ADVICE

  def __init__(
    self,
    game: pyspiel.Game,
    betting: Betting,
    deal: CardDeal,
    named: Callable[[Any, int], str] | None = None,
    remarks: Mapping[str, str] | None = None,
  ):
    self._game, self._betting, self._deal, self._hands = game, betting, deal, deal.hands.tolist()
    self.named, self.remarks = named, remarks or {}

  def hand(self, hand: int) -> str:
    return self._deal.deck.names(self._hands[hand])

  def infostate(self, player: int, line: int, runout: Sequence[int], hand: int) -> str:
    betting, cards, taken = self._betting, self._hands[hand], {*self._hands[hand], *runout}
    other = next(cards for cards in self._hands if taken.isdisjoint(cards))
    state, moves, left = self._game.new_initial_state(), [], list(runout)
    while betting.parent[line] >= 0:
      above = int(betting.parent[line])
      dealt = self._deal.public[betting.street[line]] if betting.player[above] == CHANCE else 0
      moves += [left.pop() for _ in range(dealt)] or [int(betting.action[line])]
      line = above
    for action in [*(cards + other if player == 0 else other + cards), *moves[::-1]]:
      state.apply_action(action)
    return state.information_state_string(player) if self.named is None else self.named(state, player)

  @functools.cached_property
  def _keys(self) -> tuple[Mapping[tuple[int, str], int], Mapping[str, int], Mapping[str, int]]:
    """The lines by player and the last string without cards, and the hands and cards by their texts."""
    lines, betting, deck = {}, self._betting, range(self._deal.deck.size)
    for line in np.flatnonzero(betting.player >= 0).tolist():
      cards, player = [c for c in deck if c not in self._hands[0]], int(betting.player[line])
      name = self.infostate(player, line, cards[: betting.street[line]], 0)
      lines[player, CARDS.sub("", name.split("\n")[-1])] = line

    def first_string(street: int, runout: Sequence[int], hand: int) -> str:
      line = next(line for line in lines.values() if betting.street[line] == street)
      return self.infostate(int(betting.player[line]), line, runout, hand)

    private = {_shown(first_string(0, (), h), PRIVATE)[0]: h for h in range(len(self._hands))}
    public = {}
    for card in deck if self._deal.streets > 1 else ():
      h = next(h for h, hand in enumerate(self._hands) if card not in hand)
      public[_shown(first_string(1, (card,), h), PUBLIC)[-1]] = card
    return lines, private, public

  def find(self, player: int, infostate: str) -> tuple[int, tuple[int, ...], int] | None:
    lines, private, public = self._keys
    if len(private) < len(self._hands):  # as in "0pb" of Kuhn poker, cards are not in brackets
      return None
    line = lines[player, CARDS.sub("", infostate.split("\n")[-1])]
    runout, seen = [], ""
    for text in _shown(infostate, PUBLIC):
      if text != seen:
        seen, new = text, text
        for name in (name for name, card in public.items() if card in runout):
          new = new.replace(name, "", 1)
        runout.append(public[new])
    return line, tuple(runout), private[_shown(infostate, PRIVATE)[0]]


def _shown(name: str, pattern: re.Pattern[str]) -> list[str]:
  """The texts of cards in an infostate's name, in order, without empty ones; [""] without cards."""
  return [text for text in pattern.findall(name) if text] or [""]


class HoldemNames(Names):
  """The strings of `holdem` and its subgames, "p0 AsKd | 9s7c5s4h pot 200 stack 20000 | x x | 2c | b200"."""

  def __init__(
    self,
    header: str,
    lines: Callable[[], Sequence[str]],
    deal: CardDeal,
    remarks: Mapping[str, str] | None = None,
    advice: str | None = None,
  ):
    """`lines` gives the text of each line of betting when it is first asked for, as `BettingState.line`."""
    self._header, self._make, self._deal = header, lines, deal
    self.remarks, self.advice = remarks or {}, Names.advice if advice is None else advice

  @functools.cached_property
  def _cards(self) -> list[str]:
    text = self._deal.deck.names(np.arange(self._deal.deck.size))
    return ["".join(pair) for pair in zip(text[::2], text[1::2], strict=True)]

  @functools.cached_property
  def _hands(self) -> list[str]:
    return ["".join(self._cards[card] for card in hand[::-1]) for hand in self._deal.hands.tolist()]

  @functools.cached_property
  def _lines(self) -> Sequence[str]:
    return self._make()

  def hand(self, hand: int) -> str:
    return self._hands[hand]

  def infostate(self, player: int, line: int, runout: Sequence[int], hand: int) -> str:
    ends = itertools.pairwise(itertools.accumulate(self._deal.public))
    names = ("".join(self._cards[card] for card in runout[start:end]) for start, end in ends)
    public = self._lines[line].format(*names)
    return " | ".join(filter(None, (f"p{player} {self._hands[hand]}", self._header, public)))

  @functools.cached_property
  def _keys(self) -> tuple[Mapping[str, int], Mapping[str, int], Mapping[str, int]]:
    """The numbers of lines, hands and cards by their texts."""
    lines, hands, deck = (
      {text: number for number, text in enumerate(texts)} for texts in (self._lines, self._hands, self._cards)
    )
    return lines, hands, deck

  def find(self, player: int, infostate: str) -> tuple[int, tuple[int, ...], int]:
    lines, hands, deck = self._keys
    private, _, *streets = infostate.split(" | ")
    line = lines[" | ".join("{}" if place % 2 else text for place, text in enumerate(streets))]
    came = "".join(streets[1::2])
    runout = tuple(deck[came[k : k + 2]] for k in range(0, len(came), 2))
    return line, runout, hands[private.partition(" ")[2]]
