"""Lists of boards for reports: the next boards of a spot up to the names of suits, and their deals."""

import functools
import itertools

import numpy as np

from ps_cfr_spiel.cards.poker import cards
from ps_cfr_spiel.cards.poker.deals import CardDeal
from ps_cfr_spiel.cards.poker.situations import compatible
from ps_cfr_spiel.cards.poker.suits import Deck, renamings


def deals_on(board: cards.Board, ranges: str) -> float:
  """The number of pairs of hands that can be dealt on a board, each times its weights in the ranges.

  ValueError if `cards.parse_range` rejects a range.
  """
  first, second = _before_any_card(ranges) * cards.unblocked(board)
  return float((first * compatible(second)).sum())


_before_any_card = functools.lru_cache(maxsize=4)(functools.partial(cards.range_weights, board=()))


def next_boards(board: cards.Board, count: int, ranges: str) -> list[tuple[cards.Board, int]]:
  """The boards after `count` more cards, one for each class, and the number of boards in the class.

  The boards of a class are one game with other names of suits; ranges in which suits differ split classes.
  The highest cards of a class stand for it. Boards on which no two hands can be dealt are left out.
  ValueError if `cards.parse_ranges` rejects the ranges.
  """
  deal = CardDeal.create(Deck.of(cards.WHOLE_DECK), 2, (0,), board, cards.range_weights(ranges, board))
  swaps = renamings(deal.deck)[deal.stay]
  rest = [card for card in reversed(cards.WHOLE_DECK) if card not in board]
  more = np.array(list(itertools.combinations(rest, count)))
  images = -np.sort(-swaps[:, more], -1) @ len(cards.WHOLE_DECK) ** np.arange(count)[::-1]
  highest = images.max(0)
  _, members, size = np.unique(highest, return_inverse=True, return_counts=True)
  shown = np.flatnonzero(images[0] == highest)  # the first renaming changes nothing
  boards = [((*board, *more[k].tolist()), int(size[members[k]])) for k in shown]
  return [(new, weight) for new, weight in boards if deals_on(new, ranges) > 0]
