"""Particles: the hidden states that a player holds possible, weighted by Bayes' rule.

A particle is a state that fits everything the player has seen; its weight is the probability with which
chance and the other players' policy lead there. Every step expands all particles by all moves that fit, so
weights are exact up to `most` particles. Beyond, the set is thinned without bias: large weights stay, small
ones survive with a common weight (Fearnhead and Clifford 2003, Section 3.3). `HiddenStates` is the contract
of a game; `hidden_states` fulfils it for any game of OpenSpiel.
"""

import functools
from typing import Any

import numpy as np
import pyspiel

from ps_cfr_spiel.keyed_game import HiddenStates, Weighted

AGAIN = 10  # times the number of particles, when all are gone


class Particles:
  """The particles of one player, who follows a game."""

  def __init__(self, form: HiddenStates, player: int, most: int, seed: int = 0):
    """Nothing is followed yet; at most `most` particles, thinned by random numbers from `seed`."""
    self.form, self.player, self.most, self.seed = form, player, most, seed
    self._seen: list[Any] = []
    self.hidden = np.empty(0, object)  #: [n, ...], as the game represents them; empty if nothing fits
    self.weights = np.empty(0)  #: float64[n], their probabilities; they sum to 1
    #: the probability with which chance and the others lead to all of them, where the player plays so.
    self.total = 1.0

  def __len__(self) -> int:
    return len(self.weights)

  def follow(self, state: pyspiel.State) -> None:
    """Brings the particles to a decision of the player; from the last one on where `state` continues it.

    After all have died out they are made anew, once, with a limit ten times higher. The result depends on the
    player's observations and the seed alone.
    """
    seen = self.form.seen(state, self.player)
    alive = self._continued(seen) == 0 or len(self) > 0
    self.observe(seen)
    if alive and not len(self):
      self._advance(seen, 0, AGAIN * self.most)
      self.hidden, self.weights = thinned(self.hidden, self.weights, self.most, self._random(len(seen)))
      self._seen = seen

  def observe(self, seen: list[Any]) -> None:
    """Brings the particles to the end of the player's observations.

    All may be gone; `weights * total`, 0 for particles that are not there, is right on average.
    """
    self._advance(seen, self._continued(seen), self.most)
    self._seen = seen

  def _continued(self, seen: list[Any]) -> int:
    """The number of observations that are known already."""
    known = len(self._seen)
    return known if seen[:known] == self._seen else 0

  def draw(self, count: int, random: np.random.Generator) -> np.ndarray:
    """int[count] numbers of particles by their weights, drawn systematically and in random order."""
    points = (np.arange(count) + random.random()) / count
    drawn = np.searchsorted(self.weights.cumsum(), points, "right")
    return random.permutation(np.minimum(drawn, len(self) - 1))

  def _advance(self, seen: list[Any], known: int, most: int) -> None:
    self._seen = []  # until all are there: an exception's leftovers are begun anew
    self.total = self.total if known else 1.0
    for number in range(known, len(seen)):
      thin = functools.partial(thinned, most=most, random=self._random(number))
      if number == 0:
        particles = self.form.begin(seen[0])
      elif len(self):
        particles = self.form.step(self.hidden, self.weights, self.player, seen[number], thin)
      else:
        return
      self.hidden, self.weights = thin(*particles)
      summed = self.weights.sum()
      self.weights, self.total = self.weights / summed, self.total * float(summed)

  def _random(self, number: int) -> np.random.Generator:
    return np.random.default_rng([self.seed, number])


def thinned(hidden: np.ndarray, weights: np.ndarray, most: int, random: np.random.Generator) -> Weighted:
  """At most `most` of some hidden states, with weights whose expectations and sum are those given.

  The threshold c solves sum(min(w / c, 1)) = most: weights above it stay, the others survive with
  probability w / c, drawn systematically, and then weigh c.
  """
  there = weights > 0
  if not there.all():
    hidden, weights = hidden[there], weights[there]
  if len(weights) <= most:
    return hidden, weights
  order = np.sort(weights)
  below = order.cumsum()
  kept = most - np.arange(len(order))[::-1]  # places that larger weights leave
  last = np.flatnonzero((kept > 0) & (kept * order <= below))[-1]
  threshold = below[last] / kept[last]
  small = weights <= order[last]
  marks = np.floor((weights[small] / threshold).cumsum() + random.random())
  survives = ~small
  survives[small] = np.diff(marks, prepend=0) > 0
  return hidden[survives], np.where(small, threshold, weights)[survives]
