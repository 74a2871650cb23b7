"""The size of a dealt game and of its abstractions, counted before anything is made."""

import math
from typing import NamedTuple

import numpy as np

from ps_cfr_spiel.cards.poker import Betting, CardDeal, count_classes
from ps_cfr_spiel.cards.poker import hand_classes as classes_of_hands

TABLES, BYTES = 2, 4  # regrets and averages, in float32


class Sizes(NamedTuple):
  """Sizes of a game, round by round."""

  lines: np.ndarray  #: int[R], lines of betting at which a player acts
  boards: np.ndarray  #: int[R], runouts of public cards
  classes: np.ndarray  #: int[R], the same up to names of suits
  hands: np.ndarray  #: int[R], pairs of a hand and a runout
  hand_classes: np.ndarray  #: int[R], the same up to names of suits
  actions: np.ndarray  #: int[R], actions of all these lines together
  most: int  #: most actions of any line

  @property
  def infostates(self) -> int:
    """The number of infostates of both players."""
    return int(self.lines @ self.hands)

  @property
  def infostate_classes(self) -> int:
    """The number of infostates of both players, up to names of suits."""
    return int(self.lines @ self.hand_classes)

  @property
  def bytes(self) -> int:
    """The size of a float for each action of each infostate, in regrets and averages."""
    return TABLES * BYTES * int(self.actions @ self.hands)

  def abstract_infostates(self, clusters: int, buckets: int, clustered_round: int = 1) -> int:
    """Abstract infostates with `buckets` per cluster and round; before the clustered round up to suits."""
    later = clusters * buckets * self.lines[clustered_round:].sum()
    return int(self.lines[:clustered_round] @ self.hand_classes[:clustered_round] + later)

  def abstract_bytes(self, clusters: int, buckets: int, clustered_round: int = 1) -> int:
    """The size of the tables of such an abstraction, which have room for most actions in every cell."""
    return TABLES * BYTES * self.most * self.abstract_infostates(clusters, buckets, clustered_round)


def measure(betting: Betting, deal: CardDeal) -> Sizes:
  """The sizes of a game."""
  deck, rounds = deal.deck, range(deal.streets)
  acts = betting.player >= 0
  lines = np.bincount(betting.street[acts], minlength=len(rounds))
  moves = np.bincount(betting.street[acts], betting.moves[acts], minlength=len(rounds)).astype(int)
  boards, hands, classes, hand_classes = [], [], [], []
  for number in rounds:
    cards = deal.public[1 : number + 1]
    left = [deck.size - len(deal.board) - sum(cards[:k]) for k in range(len(cards) + 1)]
    boards.append(math.prod(math.comb(n, size) for n, size in zip(left, cards, strict=False)))
    hands.append(boards[-1] * math.comb(left[-1], deal.hole))
    if not deal.board:
      classes.append(count_classes(deck, cards))
      hand_classes.append(count_classes(deck, (deal.hole, *cards)))
  if deal.board:
    of_hands = [classes_of_hands(deck, deal.hole, after) for after in deal.classes(len(rounds))]
    classes, hand_classes = [len(x) for x in of_hands], [int((x.max(1) + 1).sum()) for x in of_hands]
  counts = [np.array(column) for column in (boards, classes, hands, hand_classes)]
  return Sizes(lines, *counts, actions=moves, most=int(betting.moves.max()))
