"""Estimates of a game's size before the enumeration, from random paths through it.

A *probe* goes from the root to an end and chooses uniformly among the children of each state. The sum over
its states of the product of the numbers of choices before them is an unbiased estimate X of the number N of
histories (Knuth 1975, "Estimating the Efficiency of Backtrack Programs", Theorem 1). Most probes fall far
below N and few far above it, so their mean says little about its own error. A bet does: under the hypothesis
N <= n, a stake of the share s of a fortune on every X being at most n pays (1 - s) + s X / n in turn, at most
1 on average. So the fortune of the other side grows to f with a probability of at most 1 / f if N <= n
(Ville's inequality), for any distribution of X: a large fortune refutes n.
"""

import dataclasses
import math
import random
import statistics
import time

import pyspiel

PROBES, FEWEST = 256, 16
SECONDS = 0.5  # for all probes together, once `FEWEST` of them are done
STAKE = 0.25  # s
FORTUNE = 1e9  # that refutes: one wrong refusal in 10^9
LONGEST = 20_000  # moves of a probe; chess ends after 17,695
ENOUGH = 1e6  # a probe ends when its estimate exceeds n this many times: the rest of the path cannot matter


@dataclasses.dataclass(frozen=True)
class SizeEstimate:
  """An estimate of the number of histories of a game."""

  count: float  #: the mean of the probes
  probes: int  #: their number
  cut: bool  #: whether a probe was ended early; then `count` is a lower bound at best
  exceeds: bool  #: whether the probes refute the hypothesis that there are at most `most` histories
  endless: bool = False  #: whether every probe had `LONGEST` moves


def estimate_size(game: pyspiel.Game, most: float) -> SizeEstimate:
  """SizeEstimate the number of histories of a game, and test whether it surely exceeds `most`."""
  rng, start = random.Random(0), time.perf_counter()
  sizes: list[float] = []
  endless = True
  fortune = 0.0  # its logarithm
  while len(sizes) < PROBES and (len(sizes) < FEWEST or time.perf_counter() < start + SECONDS):
    state = game.new_initial_state()
    sizes.append(probe(state, rng, ENOUGH * most))
    endless &= state.move_number() >= LONGEST
    fortune += math.log(1 - STAKE + STAKE * sizes[-1] / most)
  cut = max(sizes) >= ENOUGH * most
  exceeds = endless or fortune >= math.log(FORTUNE)
  return SizeEstimate(statistics.fmean(sizes), len(sizes), cut, exceeds, endless)


def probe(state: pyspiel.State, rng: random.Random, enough: float) -> float:
  """The estimate of one probe, or a partial sum: its first above `enough`, or of `LONGEST` moves.

  `state`, the root, is changed.
  """
  size = width = 1.0
  while size < enough and state.move_number() < LONGEST:
    player = state.current_player()
    if player == pyspiel.PlayerId.CHANCE:
      choices = [action for action, probability in state.chance_outcomes() if probability > 0]
    else:
      choices = state.legal_actions() if player >= 0 else []
    if not choices:
      break
    width *= len(choices)
    size += width
    state.apply_action(rng.choice(choices))
  return size
