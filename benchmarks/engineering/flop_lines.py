"""Flops that stand for all 1,755: the error of averages over them, on three lines of play.

  python -m benchmarks.engineering.flop_lines --file flop_lines.jsonl

The lines are pots raised once, twice and three times before the flop. On every flop each player may bet once,
one size; later streets are checked down. That is a game of the matrix of the hands' equities, solved here by
CFR+ (Tammelin 2014) in numpy, apart from the package's solvers. Compared are averages over all flops and over
a subset: how often a player bets or calls at the four decisions, and the EV of player 0.
"""

import argparse
import itertools
import json
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.engineering.flop_subsets import APART, COUNTS, HANDS
from ps_cfr_spiel.cards.poker import cards, next_boards, representatives, strengths

ITERATIONS = 60
DECISIONS = "bet", "bet after a check", "call after a check", "call"


class Spot(NamedTuple):
  """A pot, the one bet, and both ranges."""

  pot: float
  bet: float
  ranges: str


SPOTS = {
  "three times": Spot(48, 76, "QQ+, AK, A5s; TT-KK, AQs+, AKo"),
  "twice": Spot(20, 40, "JJ+, AKs, AQs, A5s, KQs, AKo; 88-JJ, AJs-AQs, KJs+, QJs, JTs"),
  "once": Spot(6, 3, "44-99, A8s-ATs, KTs+, QTs+, JTs, T9s; 77+, A9s+, KTs+, QTs+, JTs"),
}


def equities(flop: cards.Board, mine: np.ndarray, theirs: np.ndarray) -> np.ndarray:
  """float[H, H']: wins less losses of hands (numbers), as a share of all turns and rivers that both leave."""
  rest = [card for card in range(52) if card not in flop]
  runouts = np.array(list(itertools.combinations(rest, 2)))
  boards = np.concatenate([np.broadcast_to(flop, (len(runouts), 3)), runouts], 1)
  every = np.union1d(mine, theirs)
  rank = np.asarray(strengths(boards, HANDS[every]))
  possible = ~(HANDS[every][None, :, :, None] == runouts[:, None, None]).any((2, 3))
  first, second = np.searchsorted(every, mine), np.searchsorted(every, theirs)
  rank = np.where(possible, rank, np.nan).T.copy()  # nan neither wins nor loses
  wins = [np.count_nonzero(x > rank[second], 1) - np.count_nonzero(x < rank[second], 1) for x in rank[first]]
  count = possible[:, first].T.astype(float) @ possible[:, second]
  return np.array(wins) / np.maximum(count, 1)


def solved(flop: cards.Board, spot: Spot) -> np.ndarray:
  """Deals, player 0's EV, exploitability (both over the pot), and the shares of `DECISIONS`."""
  weights = cards.range_weights(spot.ranges, flop)
  mine, theirs = (np.flatnonzero(w) for w in weights)
  deals = weights[0][mine, None] * weights[1][theirs] * APART[np.ix_(mine, theirs)]
  total = deals.sum()
  deals = deals / total
  wins = deals * equities(flop, mine, theirs)
  leaves = spot.pot / 2 * deals, spot.pot / 2 * wins, (spot.pot / 2 + spot.bet) * wins
  sizes = len(mine), len(theirs), len(mine), len(theirs)
  regrets, sums = [[np.zeros((n, 2)) for n in sizes] for _ in range(2)]
  for iteration in range(1, ITERATIONS + 1):
    for player in (0, 1):
      now = [matched(one) for one in regrets]
      for k, worth in worths(now, player, *leaves).items():
        regrets[k] = np.maximum(regrets[k] + worth - (now[k] * worth).sum(1, keepdims=True), 0)
    now = [matched(one) for one in regrets]
    for k in range(4):
      sums[k] += iteration * now[k] * (now[0][:, :1] if k == 2 else 1)  # one's own check comes before
  bet, second, third, call = average = [matched(one) for one in sums]
  value = (bet * worths(average, 0, *leaves)[0]).sum()
  average[2] = np.eye(2)[worths(average, 0, *leaves)[2].argmax(1)]  # of a best response
  best = worths(average, 0, *leaves)[0].max(1).sum()
  average[2] = third
  best += sum(worth.max(1).sum() for worth in worths(average, 1, *leaves).values())
  checked, there = bet[:, 0] @ deals, bet[:, 1] @ deals
  called = (bet[:, 0] * third[:, 1]) @ deals
  shares = (
    there.sum(),
    checked @ second[:, 1] / checked.sum(),
    called @ second[:, 1] / (checked @ second[:, 1]),
    there @ call[:, 1] / there.sum(),
  )
  return np.array((total, 0.5 + value / spot.pot, best / 2 / spot.pot, *shares))


def matched(regrets: np.ndarray) -> np.ndarray:
  """Regret matching, or a mean strategy from its sums."""
  total = regrets.sum(1, keepdims=True)
  return np.where(total > 0, regrets / np.maximum(total, 1e-30), 0.5)


def worths(
  play: list[np.ndarray], player: int, fold: np.ndarray, shown: np.ndarray, called: np.ndarray
) -> dict[int, np.ndarray]:
  """Counterfactual values [H, 2] of the player's decisions, by their numbers in `DECISIONS`.

  Leaves are chips of player 0 times the probability of a deal: if player 1 folds, if all is checked, after a
  call.
  """
  first, second, third, fourth = play
  if player == 0:
    answer = np.stack([-(fold @ second[:, 1]), called @ second[:, 1]], 1)
    check = shown @ second[:, 0] + (third * answer).sum(1)
    return {0: np.stack([check, fold @ fourth[:, 0] + called @ fourth[:, 1]], 1), 2: answer}
  checked, there = first[:, 0], first[:, 1]
  bet = (checked * third[:, 0]) @ fold - (checked * third[:, 1]) @ called
  return {1: np.stack([-(checked @ shown), bet], 1), 3: np.stack([-(there @ fold), -(there @ called)], 1)}


def kept_flops(path: Path) -> dict[tuple[str, str], list[float]]:
  """The flops that a file has, by line and flop; ValueError if one was solved with another spot or loop."""
  flops = {}
  for number, text in enumerate(path.read_text().splitlines(), start=1):
    (name, *settings, flop), row = json.loads(text)
    if settings != (now := settings_of(name)):
      raise ValueError(
        f"{path}, line {number}: solved with {settings}, the line {name!r} is {now}; name a new file."
      )
    flops[name, flop] = row
  return flops


def settings_of(name: str) -> list[float | str]:
  """The numbers that a line's results depend on, as a file has them."""
  return [*SPOTS[name], ITERATIONS]


def main() -> None:
  """Print a table for each line."""
  parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
  parser.add_argument("--file", type=Path, required=True, help="of solved flops; a later call continues it")
  parser.add_argument("--raised", nargs="+", choices=SPOTS, default=[*SPOTS])
  arguments = parser.parse_args()
  arguments.file.touch()
  try:
    known = kept_flops(arguments.file)
  except ValueError as error:
    parser.error(str(error))
  for name in arguments.raised:
    spot, began, rows = SPOTS[name], time.process_time(), {}
    boards = [(flop, float(weight)) for flop, weight in next_boards((), 3, spot.ranges)]
    with arguments.file.open("a", buffering=1) as file:
      for flop, _ in boards:
        key = name, cards.card_names(flop)
        if key not in known:
          known[key] = solved(flop, spot).tolist()
          file.write(json.dumps(((name, *settings_of(name), key[1]), known[key])) + "\n")
        rows[flop] = np.array(known[key])

    def means(some: list[tuple[cards.Board, float]], rows: dict = rows) -> np.ndarray:
      """EV and shares; a share counts by how often play comes to its decision."""
      table = np.array([rows[flop] for flop, _ in some])
      deals = table[:, 0] * [weight for _, weight in some]
      shares = table[:, 3:]
      checks = deals * (1 - shares[:, 0])
      reach = deals, deals, checks, checks * shares[:, 1], deals * shares[:, 0]
      return np.array(
        [np.average(x, weights=w) for x, w in zip(table[:, [1, 3, 4, 5, 6]].T, reach, strict=True)]
      )

    whole, worst = means(boards), 100 * max(row[2] for row in rows.values())
    seconds = time.process_time() - began
    print(f"raised {name}: {spot}; {len(rows):,} flops, {seconds:.0f} s, exploitability at most {worst:.3f}%")
    print(f"{'flops':>8}{'EV':>8}" + "".join(f"{text:>20}" for text in DECISIONS))
    for count in COUNTS:
      error = 100 * np.abs(means(representatives(boards, count)) - whole)
      print(f"{count:>8}{error[0]:>8.2f}" + "".join(f"{x:>20.2f}" for x in error[1:]))
    print(f"{'all':>8}{100 * whole[0]:>8.2f}" + "".join(f"{100 * x:>20.2f}" for x in whole[1:]), flush=True)


if __name__ == "__main__":
  main()
