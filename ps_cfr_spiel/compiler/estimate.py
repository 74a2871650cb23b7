"""How large a game is, before it is walked: estimates from random ways through it.

A *probe* goes from the root to an end and chooses uniformly among the children of each state. The sum over
its states of the product of the numbers of choices before them is an unbiased estimate of the number of
histories (Knuth 1975, "Estimating the Efficiency of Backtrack Programs", Theorem 1). Its spread can be
enormous, but not towards large values: being unbiased and positive, an estimate of a game of N histories is
c N or more with a probability of at most 1 / c (Markov). All of at least half of K probes are so large only
with a probability below 2^K / c^(K/2), for K = 64 and c = 16 below 10^-19: that refutes a size.
"""

import random
import statistics
import time
from collections.abc import Sequence

import pyspiel

from ps_cfr_spiel.compiler import game_laws

PROBES, FEWEST = 64, 16
SECONDS = 2.0  # for all probes together, if `FEWEST` of them are done
SURE = 16  # c


def probe_sizes(game: pyspiel.Game, enough: float) -> list[float]:
  """The estimates of `PROBES` probes, or of fewer if states are slow; the same in every call.

  Args:
    game: the game.
    enough: a probe ends when its estimate, which grows on its way, has come to so much.
  """
  rng, start = random.Random(0), time.perf_counter()
  sizes: list[float] = []
  while len(sizes) < PROBES and (len(sizes) < FEWEST or time.perf_counter() < start + SECONDS):
    sizes.append(_probe(game.new_initial_state(), rng, enough))
  return sizes


def surely_exceeds(sizes: Sequence[float], count: float) -> bool:
  """Do the probes show that there are more than `count` histories?"""
  return statistics.median_low(sizes) >= SURE * count


def _probe(state: pyspiel.State, rng: random.Random, enough: float) -> float:
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
