"""Sequential halving: the best of some actions by noisy values, the budget going to the better ones.

Karnin, Koren and Somekh 2013, Algorithm 1: rounds of equal cost, after each of which the worse half is out.
All actions of a round are tried from the same particles, so the noise of the hidden cards is common to
them.
"""

import math
import time
from collections.abc import Callable

import numpy as np

CHUNK = 4096  # rollouts between two looks at the clock


def halving(
  values: Callable[[np.ndarray, int], np.ndarray],
  actions: int,
  rollouts: int | None,
  seconds: float | None,
  bonus: np.ndarray | float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
  """Estimated values [A] of A actions, and bool[A], whether one was still in at the end.

  `values` leads from numbers of actions int[m] and a number n of repetitions to [m, n]. About `rollouts` of
  them are made, none begins after `seconds`, and at least one of each action is made. `bonus`, [A], is added
  to the values where actions are compared.
  """
  bonus = np.broadcast_to(bonus, actions)
  left, rounds = np.arange(actions), max(math.ceil(math.log2(max(actions, 1))), 1)
  total, tries, began = np.zeros(actions), np.zeros(actions), time.perf_counter()
  for number in range(rounds):
    share = math.inf if rollouts is None else max(rollouts // (rounds * len(left)), 1)
    while share > 0:
      each = int(min(share, max(CHUNK // len(left), 1)))
      total[left] += values(left, each).sum(1)
      tries[left] += each
      share -= each
      if seconds is not None and time.perf_counter() - began >= seconds * (number + 1) / rounds:
        break
    if number < rounds - 1:
      worth = total[left] / tries[left] + bonus[left]
      left = np.sort(left[np.argsort(-worth, kind="stable")[: math.ceil(len(left) / 2)]])
  return total / tries, np.isin(np.arange(actions), left)
