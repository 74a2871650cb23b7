"""Flops that stand for all 1,755: the error of averages over them, on the flop, before any bet.

  python -m benchmarks.engineering.flop_subsets

For pairs of ranges it averages, over all flops and over each subset, the share of deals in which the first
player is ahead, half of ties included, and in which the first player has four cards of a suit, or trips or
better. Play is not solved.
"""

import argparse

import numpy as np

from ps_cfr_spiel.cards.poker import cards, deals_on, next_boards, representatives, strengths

COUNTS = 25, 49, 95, 184
RANGES = (
  "77+ AT+ KQ;22+ A2s+ KTs+ QTs+ JTs T9s",
  "22+ A2s+ K9s+ QTs+ JTs ATo+ KQo;22-TT A2s-AQs 54s 65s 76s 87s 98s",
  "99+ AQs+ 98s 87s;88-22 AJs-ATs KQs QJs",
)
NAMES = "ahead", "four to a flush", "trips or better"
HANDS = np.array(cards.ALL_HANDS)
APART = (HANDS[:, None, :, None] != HANDS[None, :, None]).all((2, 3))  # hands that share no card


def measured(board: cards.Board, ranges: str, trips: float) -> np.ndarray:
  """The three shares on a flop; `trips` is the least strength of trips."""
  weights = cards.range_weights(ranges, board)
  mine, theirs = (np.flatnonzero(w) for w in weights)
  rank = np.asarray(strengths(np.array([board]), HANDS))[0]
  deals = weights[0][mine, None] * weights[1][theirs] * APART[np.ix_(mine, theirs)]
  ahead = (1 + np.sign(rank[mine, None] - rank[theirs])) / 2
  suits = [(HANDS[mine] % 4 == suit).sum(1) + sum(card % 4 == suit for card in board) for suit in range(4)]
  shares = (deals * ahead).sum(), deals[np.max(suits, 0) >= 4].sum(), deals[rank[mine] >= trips].sum()
  return np.array(shares) / deals.sum()


def main() -> None:
  """Print the table."""
  argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
  hand, board = (np.array([cards.parse_cards(text)]) for text in ("2d2h", "2c4h3d"))
  trips = float(np.asarray(strengths(board, hand))[0, 0])
  boards = [(flop, float(weight)) for flop, weight in next_boards((), 3, RANGES[0])]
  every = {flop: np.array([measured(flop, ranges, trips) for ranges in RANGES]) for flop, _ in boards}
  deals = {flop: np.array([deals_on(flop, ranges) for ranges in RANGES]) for flop, _ in boards}

  def mean(some: list[tuple[cards.Board, float]]) -> np.ndarray:
    weights = np.array([weight * deals[flop] for flop, weight in some])
    return (weights[..., None] * [every[flop] for flop, _ in some]).sum(0) / weights.sum(0)[:, None]

  whole = mean(boards)
  print("points of a percent, of the pair of ranges with the largest error")
  print(f"{'flops':>6}" + "".join(f"{name:>18}" for name in NAMES))
  for count in COUNTS:
    errors = 100 * np.abs(mean(representatives(boards, count)) - whole).max(0)
    print(f"{count:>6}" + "".join(f"{error:>18.2f}" for error in errors))
  print(f"{'all':>6}" + "".join(f"{share:>18.2f}" for share in 100 * whole[0]), "for the first pair")


if __name__ == "__main__":
  main()
