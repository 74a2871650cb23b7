"""Lists of boards for reports: all next boards of a spot up to the names of suits, or some for all."""

import functools
import itertools
from collections.abc import Sequence

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


def representatives(
  boards: Sequence[tuple[cards.Board, float]], count: int
) -> list[tuple[cards.Board, float]]:
  """Some of many boards that stand for all: the middles of `count` parts of equal weight, each with a part's.

  Boards are in the order of their largest number of cards of one suit, of pairs, and of ranks from high to
  low, so shares of boards by these are nearly those of all. Asked for all boards, it returns
  them unchanged. ValueError if there are fewer boards, or a board may be the middle of two parts.
  """
  if count == len(boards):
    return list(boards)
  weights = [weight for _, weight in boards]
  most = int(sum(weights) // max(weights, default=1))
  if not 1 <= count <= most:
    raise ValueError(
      f"{count:,} of {len(boards):,} boards cannot stand for all; choose 1 to {most:,}, or all "
      f"{len(boards):,}: between these the heaviest board would be chosen twice."
    )
  ordered = sorted(boards, key=lambda board: _texture(board[0]))
  ends = np.cumsum([weight for _, weight in ordered])
  middles = (np.arange(count) + 0.5) * ends[-1] / count
  return [(ordered[k][0], float(ends[-1] / count)) for k in np.searchsorted(ends, middles)]


def _texture(board: cards.Board) -> tuple[int, ...]:
  """The most cards of one suit, the number of ranks, and the ranks from high to low."""
  ranks = sorted((card // 4 for card in board), reverse=True)
  return max(sum(card % 4 == suit for card in board) for suit in range(4)), len(set(ranks)), *ranks
