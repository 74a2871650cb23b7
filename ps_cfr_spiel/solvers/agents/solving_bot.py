"""Policies that search, and the bot that solves at its turn and draws its action from the strategy."""

import time
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from ps_cfr_spiel.arguments import check_integer, check_player
from ps_cfr_spiel.policy import check_turn


class SolvingBot(pyspiel.Bot):
  """A bot that plays a policy, the base class of this package's bots."""

  def __init__(self, player: int, seed: int | None, policy: Any = None):
    """See the class; `seed` is that of the choice among actions, None for one of its own."""
    super().__init__()
    self.player = player  #: its seat
    self.policy = policy  #: None for a subclass that overrides `probabilities`
    self.seconds: list[float] = []  #: duration of each of its decisions so far
    self._random = np.random.default_rng(seed)

  def probabilities(self, state: pyspiel.State) -> dict[int, float]:
    """Probability of every legal action at a state in which it is the player's turn."""
    return self.policy.action_probabilities(state, self.player)

  def provides_policy(self) -> bool:
    return True

  def get_policy(self, state: pyspiel.State) -> list[tuple[int, float]]:
    """(action, probability) for every legal action; ValueError if it is not the player's turn."""
    check_turn(state, self.player)
    return list(self.probabilities(state).items())

  def step_with_policy(self, state: pyspiel.State) -> tuple[list[tuple[int, float]], int]:
    began = time.perf_counter()
    policy = self.get_policy(state)
    self.seconds.append(time.perf_counter() - began)
    actions, probabilities = zip(*policy, strict=True)
    return policy, int(self._random.choice(actions, p=np.array(probabilities) / sum(probabilities)))

  def step(self, state: pyspiel.State) -> int:
    return self.step_with_policy(state)[1]

  def restart_at(self, state: pyspiel.State) -> None:
    """A new match begins at a state; the next decision needs nothing but the state it is asked about."""
    self.restart()


class SearchPolicy(openspiel_policy.Policy):
  """A policy of both players that searches when it is asked."""

  def bot(self, player: int, seed: int | None = None) -> SolvingBot:
    """A bot that searches at each decision; `seed` is of its choice among actions, ValueError if wrong."""
    seed = None if seed is None else check_integer("seed", seed, 0)
    return SolvingBot(check_player(player), seed, self)
