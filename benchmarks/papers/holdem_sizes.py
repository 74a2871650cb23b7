"""Sizes of heads-up hold'em, counted without enumerating it: Table 13.3 of Schmid (2021).

  python -m benchmarks.papers.holdem_sizes [--stack 20000] [--blind 100]

Prints how many histories, infostates and public states of limit and of no-limit hold'em have a player to act.
Betting does not depend on the cards, so the decisions of a round are counted once, and each has every deal of
the cards, as in Johanson (2013). With the stacks of the competition this takes 3.4 GB.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.machine import describe, flags

DECK, HAND, PUBLIC = 52, 2, (0, 3, 1, 1)  # cards: all, of a player, and dealt to the board before each round
MOST_BETS = 4  # in a round of limit hold'em, the big blind being one
ROUNDS = len(PUBLIC)


class Sizes(NamedTuple):
  """Numbers of the histories, infostates and public states in which a player acts."""

  histories: float
  infostates: float
  public_states: float


def sizes(decisions: Sequence[float]) -> Sizes:
  """The sizes of a game, given the number of its decisions of betting in each round."""
  return Sizes(*(sum(n * d for n, d in zip(decisions, deals(hands), strict=True)) for hands in (2, 1, 0)))


def deals(hands: int) -> Iterator[float]:
  """For each round, the number of deals of the board and of `hands` hands."""
  left, ways = DECK, 1
  for cards in (HAND,) * hands:
    ways, left = ways * math.comb(left, cards), left - cards
  for cards in PUBLIC:
    ways, left = ways * math.comb(left, cards), left - cards
    yield float(ways)


def limit_decisions() -> list[float]:
  """Decisions of betting in each round of limit hold'em."""

  def below(bets: int, closing: bool) -> tuple[int, int]:
    """(decisions, ways to the next round) from a decision on; with `closing` a check ends the round."""
    decisions, ways = (1, 1) if closing else tuple(np.add((1, 0), below(bets, closing=True)))
    if bets < MOST_BETS:
      decisions, ways = np.add((decisions, ways), below(bets + 1, closing=True))
    return int(decisions), int(ways)

  ways, counts = 1, []
  for number in range(ROUNDS):
    decisions, on = below(bets=int(number == 0), closing=False)
    counts.append(float(ways * decisions))
    ways *= on
  return counts


def no_limit_decisions(stack: int, blind: int) -> list[float]:
  """Decisions of betting in each round of no-limit hold'em by whole chips, as floats.

  A player who has put in x and faces y has ways to be there that depend on x and y alone: the next raise is
  at least y - x, the last one. `blind` is the big blind.
  """
  begun = np.zeros(stack + 1)  # ways in which a round begins, by the chips of each player
  begun[blind] = 1  # preflop: one may call the blind and the other raise still, as after a check
  faced = np.zeros((stack + 1, stack + 1))  # of [y, x]
  counts = []
  for _ in range(ROUNDS):
    counts.append(2 * begun[:stack].sum())  # the first decision, and the one after a check
    following = begun.copy()
    for y in range(stack):
      last_at_most = np.cumsum(faced[y, :y][::-1])  # [k - 1]: ways to face y by a raise of at most k
      larger = np.arange(1, stack - y + 1)  # raises to y + 1, ..., all in
      ways = np.full(len(larger), 2 * begun[y])
      if y:
        ways += last_at_most[np.minimum(larger, y) - 1]
        ways[-1] = 2 * begun[y] + last_at_most[-1]  # all in is always allowed
      ways[: blind - 1][larger[: blind - 1] < len(larger)] = 0
      faced[y + 1 :, y] = ways
      following[y] += faced[y].sum()
    counts[-1] += faced.sum()
    following[stack] = 0  # both are all in
    begun = following
  return counts


def main() -> None:
  options = flags(__doc__, stack=20_000, blind=100)
  print(describe())
  print(f"\n{'':>10}" + "".join(f"{name.replace('_', ' '):>16}" for name in Sizes._fields))
  for name, decisions in (
    ("limit", limit_decisions()),
    ("no-limit", no_limit_decisions(options.stack, options.blind)),
  ):
    print(f"{name:>10}" + "".join(f"{size:>16.3g}" for size in sizes(decisions)))


if __name__ == "__main__":
  main()
