"""The kinds of hands in order of their equity against a random hand before the flop, exactly.

  python -m benchmarks.engineering.hand_order

A board of each class up to the names of suits counts as often as the class has boards, with all 990 opponents
on it. A line is a kind, its number of combos and its equity; the order is that of `15%` in ranges.
"""

import itertools

import numpy as np

from benchmarks.machine import flags
from ps_cfr_spiel.cards.poker import RANKS, cards, strengths

TOGETHER = 64  # boards
BOARDS, OPPONENTS = 2_118_760, 990  # of a hand, and of a hand and a board


def boards_up_to_suits() -> tuple[np.ndarray, np.ndarray]:
  """int[B, 5] and int[B]: a board of each class, and the number of boards in it."""
  boards = np.array(list(itertools.combinations(cards.WHOLE_DECK, cards.BOARD_SIZE)), np.int8)
  least = np.full(len(boards), np.iinfo(np.int64).max)
  for suits in itertools.permutations(range(len(cards.SUITS))):
    named = np.sort(boards // 4 * 4 + np.array(suits, np.int8)[boards % 4], axis=1)
    least = np.minimum(least, named.astype(np.int64) @ 52 ** np.arange(cards.BOARD_SIZE)[::-1])
  _, first, count = np.unique(least, return_index=True, return_counts=True)
  return boards[first].astype(np.int32), count


def points(board: np.ndarray, strength: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
  """int[H] and int[H]: the hands beside a board, and two points for each opponent beaten, one for a tie."""
  live = np.flatnonzero(cards.unblocked(board))
  _, rank = np.unique(strength[live], return_inverse=True)
  ranks, own = rank.max() + 1, cards.ALL_HANDS[live].T
  every = np.bincount(rank, minlength=ranks)
  held = sum(np.bincount(card * ranks + rank, minlength=52 * ranks) for card in own).reshape(52, ranks)
  below = [count.cumsum(-1) - count for count in (every, held)]
  weaker = below[0][rank] - sum(below[1][card, rank] for card in own)
  same = every[rank] - sum(held[card, rank] for card in own) + 1  # the hand itself went twice
  return live, 2 * weaker + same


def main() -> None:
  flags(__doc__)
  boards, count = boards_up_to_suits()
  won = np.zeros(len(cards.ALL_HANDS), np.int64)
  for start in range(0, len(boards), TOGETHER):
    some = boards[start : start + TOGETHER]
    for k, (board, strength) in enumerate(zip(some, strengths(some, cards.ALL_HANDS), strict=True), start):
      live, found = points(board, strength)
      won[live] += count[k] * found
  kinds: dict[str, list[int]] = {}
  for (high, low), total in zip(cards.ALL_HANDS.tolist(), won.tolist(), strict=True):
    suited = "" if high // 4 == low // 4 else "s" if high % 4 == low % 4 else "o"
    kinds.setdefault(RANKS[high // 4] + RANKS[low // 4] + suited, []).append(total)
  for kind, totals in sorted(kinds.items(), key=lambda item: -sum(item[1]) / len(item[1])):
    print(kind, len(totals), sum(totals) / len(totals) / (2 * BOARDS * OPPONENTS))


if __name__ == "__main__":
  main()
