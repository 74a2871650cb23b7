"""How large a game is, before it is walked: estimates from random ways through it.

A *probe* goes from the root to an end and chooses uniformly among the children of each state. The sum over
its states of the product of the numbers of choices before them is an unbiased estimate X of the number N of
histories (Knuth 1975, "Estimating the Efficiency of Backtrack Programs", Theorem 1). Most probes fall far
below N and few far above it, so that a mean of them says little about its own error. A bet does: who believes
in N <= n and stakes the share s of a fortune on every X being at most n, pays (1 - s) + s X / n in turn,
which is at most 1 on average. So the fortune of the other side grows to f with a probability of at most 1 / f
if N <= n (Ville's inequality), whatever X is distributed like: a large one refutes n.
"""

import dataclasses
import math
import random
import statistics
import time

import pyspiel

from ps_cfr_spiel.histories import game_laws

PROBES, FEWEST = 256, 16
SECONDS = 0.5  # for all probes together, once `FEWEST` of them are done
STAKE = 0.25  # s
FORTUNE = 1e9  # that refutes: one wrong refusal in 10^9
ENOUGH = 1e6  # a probe ends when its estimate is so many times n: it is far too large however it goes on


@dataclasses.dataclass(frozen=True)
class Estimate:
  """How many histories a game has.

  Attributes:
    count: the mean of the probes.
    probes: their number.
    cut: whether one of them was ended early, so that `count` is a lower bound at best.
    exceeds: whether they refute that there are at most as many as `estimate` was asked about.
  """

  count: float
  probes: int
  cut: bool
  exceeds: bool


def estimate(game: pyspiel.Game, most: float) -> Estimate:
  """Estimates how many histories a game has, and whether there are surely more than `most`."""
  rng, start = random.Random(0), time.perf_counter()
  sizes: list[float] = []
  fortune = 0.0  # its logarithm
  while len(sizes) < PROBES and (len(sizes) < FEWEST or time.perf_counter() < start + SECONDS):
    sizes.append(probe(game.new_initial_state(), rng, ENOUGH * most))
    fortune += math.log(1 - STAKE + STAKE * sizes[-1] / most)
  cut = max(sizes) >= ENOUGH * most
  return Estimate(statistics.fmean(sizes), len(sizes), cut, fortune >= math.log(FORTUNE))


def probe(state: pyspiel.State, rng: random.Random, enough: float) -> float:
  """The estimate of one probe, or the first of its sums above `enough`; the root's `state` goes the way."""
  size = width = 1.0
  while size < enough:
    player = state.current_player()
    if player == pyspiel.PlayerId.CHANCE:
      choices = [action for action, probability in state.chance_outcomes() if probability > 0]
    else:
      choices = state.legal_actions() if player in game_laws.PLAYERS else []
    if not choices:
      break
    width *= len(choices)
    size += width
    state.apply_action(rng.choice(choices))
  return size
